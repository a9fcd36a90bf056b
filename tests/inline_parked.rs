//! A writer that stands still while it holds the lock of a bucket of an inline map keeps no reader waiting, and no writer
//! of other buckets.

#![cfg(all(feature = "std", not(nulls_loom)))]

mod common;

use core::cell::Cell;
use core::hash::{Hash, Hasher};
use core::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::thread;

use bytemuck::{Pod, Zeroable};
use common::{InlineMap, Kind, TestState, Watchdog, sized};
use nulls::{Growth, Plain};

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

#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(transparent)]
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

const SAME_HASH: u64 = 10;

type Map<V> = InlineMap<Key, V>;

/// A million reads of the bucket whose lock is held; and calls that find nothing to do take no lock.
fn read_the_locked_bucket<V: Plain + PartialEq + core::fmt::Debug>(
    map: &Map<V>,
    value: fn(u64) -> V,
) {
    let m = map.pin();
    for i in 0..sized(1_000_000, 500) as u64 {
        let key = i % SAME_HASH;
        match i % 5 {
            0 | 1 => assert_eq!(m.get(&Key(key)), Some(value(key))),
            // Of the same hash, and of the same bucket only.
            2 => assert_eq!(m.get(&Key(500 + key)), None),
            3 => assert_eq!(m.get(&Key(1500 + key)), None),
            _ => assert!(m.contains_key(&Key(1000))),
        }
    }
    for _ in 0..sized(1000, 5) {
        let mut keys: Vec<_> = m.keys().map(|key| key.0).collect();
        keys.sort_unstable();
        assert!(keys.into_iter().eq((0..SAME_HASH).chain([1000, 2000])));
    }
    assert_eq!(map.stats().entries, 12);
    assert_eq!(m.remove(&Key(501)), None);
    assert_eq!(m.update(Key(501), |_| unreachable!("absent")), None);
    assert!(m.replace(Key(501), value(0)).is_err());
    assert!(m.try_insert(Key(1), value(0)).is_err());
    assert_eq!(m.get_or_insert(Key(1), value(0)), value(1));
    assert_eq!(m.get_many([&Key(1), &Key(501)]), [Some(value(1)), None]);
    m.retain(|_, _| true);
}

/// Nothing has come yet, and the bucket is as it was.
fn assert_both_wait<V: Plain>(map: &Map<V>, first: &Receiver<bool>, second: &Receiver<bool>) {
    assert!(first.try_recv().is_err(), "the writer is still parked");
    assert!(second.try_recv().is_err(), "the second writer waits for it");
    let m = map.pin();
    assert!(!m.contains_key(&Key(SAME_HASH)) && !m.contains_key(&Key(SAME_HASH + 1)));
}

fn readers_go_on<V: Plain + PartialEq + core::fmt::Debug + Send>(value: fn(u64) -> V) {
    PARKED.store(false, Ordering::Release);
    RELEASED.store(false, Ordering::Release);
    let map: Map<V> = Kind {
        hasher: TestState::Identity,
        growth: Growth::Fixed,
        capacity: 16,
        ..Kind::plain()
    }
    .inline();
    let entries = (0..SAME_HASH).chain([1000, 2000]);
    map.pin()
        .insert_many(entries.map(|key| (Key(key), value(key))));
    assert_eq!(map.stats().linked_buckets, 1);

    thread::scope(|s| {
        let map = &map;
        let write = |key: u64, parks: bool| {
            let (sender, receiver) = channel();
            let writer = s.spawn(move || {
                PARKS.set(parks);
                // Compared with the entries of its hash under the lock, where absence is proved.
                let inserted = map.pin().insert(Key(key), value(key)).is_none();
                sender.send(inserted).expect("the test waits");
            });
            (writer, receiver)
        };
        let (writer, first) = write(SAME_HASH, true);
        while !PARKED.load(Ordering::Acquire) {
            thread::yield_now();
        }
        // Another writer of the bucket does wait: the lock is held indeed.
        let (_, second) = write(SAME_HASH + 1, false);

        read_the_locked_bucket(map, value);
        // Writers of other buckets go on too.
        let m = map.pin();
        for i in 0..sized(100_000, 100) as u64 {
            assert_eq!(m.insert(Key(2001), value(i)), i.checked_sub(1).map(value));
        }
        assert_eq!(m.remove(&Key(2000)), Some(value(2000)));
        assert_both_wait(map, &first, &second);

        RELEASED.store(true, Ordering::Release);
        writer.thread().unpark();
        assert_eq!((first.recv(), second.recv()), (Ok(true), Ok(true)));
        for key in SAME_HASH..SAME_HASH + 2 {
            assert_eq!(m.get(&Key(key)), Some(value(key)));
        }
        assert_eq!(map.len(), 14);
    });
}

/// One test in this binary: the flags above are for one parked writer.
#[test]
fn readers_go_on_in_the_very_bucket() {
    let _watchdog = Watchdog::seconds(60);
    readers_go_on(|key| key);
    readers_go_on(|key| [key, !key]);
}
