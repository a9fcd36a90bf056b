//! A writer that stands still while it holds a bucket's lock keeps no reader waiting, and no writer of other buckets.

#![cfg(all(feature = "std", not(nulls_loom)))]

mod common;

use core::cell::Cell;
use core::hash::{Hash, Hasher};
use core::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::thread;

use common::{Kind, Map, TestState, Watchdog, sized};
use nulls::{Growth, NullsHashTable};

thread_local! {
    /// Whether comparisons on this thread park it.
    static PARKS: Cell<bool> = const { Cell::new(false) };
}

static PARKED: AtomicBool = AtomicBool::new(false);
static RELEASED: AtomicBool = AtomicBool::new(false);

/// Stands still until it is released, if this is the thread that is to.
fn park() {
    if PARKS.replace(false) {
        PARKED.store(true, Ordering::Release);
        while !RELEASED.load(Ordering::Acquire) {
            thread::park();
        }
    }
}

#[derive(Debug)]
struct Key(u64);

impl PartialEq for Key {
    fn eq(&self, other: &Self) -> bool {
        park();
        self.0 == other.0
    }
}

impl Eq for Key {}

impl Hash for Key {
    fn hash<H: Hasher>(&self, state: &mut H) {
        // Keys below 1,000 share one hash; those from 1,000 on share its bucket, those from 2,000 on do not.
        let hash = match self.0 {
            0..1000 => 0,
            1000..2000 => self.0 << 32,
            _ => self.0 << 3 | 1,
        };
        state.write_u64(hash);
    }
}

/// One test in this binary: the flags above are for one parked writer.
#[test]
fn readers_go_on_in_the_very_bucket() {
    let _watchdog = Watchdog::seconds(60);
    let map: Map<Key, u64> = Kind {
        hasher: TestState::Identity,
        growth: Growth::Fixed,
        capacity: 40,
        ..Kind::plain()
    }
    .map();
    let n = 10;
    for key in 0..n {
        map.pin().insert(Key(key), key);
    }
    // In the same bucket and of another hash; and an entry in another bucket.
    map.pin().insert(Key(1000), 1000);
    map.pin().insert(Key(2000), 2000);
    assert_eq!(
        (map.stats().linked_buckets, map.stats().longest_chain),
        (1, 2)
    );
    let table: NullsHashTable<u64> = NullsHashTable::new();
    table.pin().insert(1, 1);

    thread::scope(|s| {
        let map = &map;
        let (sender, receiver) = channel();
        let writer = s.spawn(move || {
            PARKS.set(true);
            // Compared with the entries of its hash under the lock, where absence is proved.
            let inserted = map.pin().insert(Key(n), n).is_none();
            sender.send(inserted).expect("the test waits");
        });
        while !PARKED.load(Ordering::Acquire) {
            thread::yield_now();
        }

        // Another writer of the bucket does wait: the lock is held indeed.
        let (second_sender, second) = channel();
        s.spawn(move || {
            map.pin().insert(Key(n + 1), n + 1);
            second_sender.send(()).expect("the test waits");
        });

        let m = map.pin();
        for i in 0..sized(1_000_000, 500) as u64 {
            let key = i % n;
            match i % 5 {
                0 | 1 => assert_eq!(m.get(&Key(key)), Some(&key)),
                // Of the same hash, and of the same bucket only.
                2 => assert_eq!(m.get(&Key(500 + key)), None),
                3 => assert_eq!(m.get(&Key(1500 + key)), None),
                _ => assert!(m.contains_key(&Key(1000))),
            }
        }
        for _ in 0..sized(1000, 5) {
            let mut keys: Vec<_> = m.keys().map(|key| key.0).collect();
            keys.sort_unstable();
            assert!(keys.into_iter().eq((0..n).chain([1000, 2000])));
            assert_eq!(map.len(), 12);
        }
        assert_eq!(map.stats().entries, 12);
        // Calls that find nothing to do take no lock, in this bucket either.
        assert_eq!(m.remove(&Key(501)), None);
        assert_eq!(m.update(Key(501), |_| unreachable!("absent")), None);
        assert!(m.replace(Key(501), 0).is_err());
        assert!(m.try_insert(Key(1), 0).is_err());
        assert_eq!(m.get_or_insert(Key(1), 0), &1);
        assert_eq!(m.remove_if(&Key(1), |_, _| false), Err((&Key(1), &1)));
        m.retain(|_, _| true);
        // Writers of other buckets, and of other tables, go on too.
        for i in 0..sized(100_000, 100) as u64 {
            assert_eq!(m.insert(Key(2001), i).copied(), i.checked_sub(1));
        }
        assert_eq!(m.remove(&Key(2000)), Some(&2000));
        table.pin().insert(2, 2);
        // And to this very bucket nothing has happened.
        assert!(receiver.try_recv().is_err(), "the writer is still parked");
        assert!(second.try_recv().is_err(), "the second writer waits for it");
        assert!(!m.contains_key(&Key(n)) && !m.contains_key(&Key(n + 1)));

        RELEASED.store(true, Ordering::Release);
        writer.thread().unpark();
        assert_eq!(receiver.recv(), Ok(true));
        assert_eq!(second.recv(), Ok(()));
        assert_eq!(
            (m.get(&Key(n)), m.get(&Key(n + 1))),
            (Some(&n), Some(&(n + 1)))
        );
        assert_eq!(map.len(), 14);
    });
}
