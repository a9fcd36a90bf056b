//! Closures, `Hash` and loops that use the inline map they came from, or another whose closures do the same the other way
//! round: none of it can deadlock.

#![cfg(all(feature = "std", not(nulls_loom)))]

mod common;

use core::cell::{Cell, RefCell};
use core::hash::{Hash, Hasher};
use std::thread;

use bytemuck::{Pod, Zeroable};
use common::{InlineMap, Kind, Rng, TestState, Watchdog, for_each_kind, for_kinds, sized};
use nulls::{InlineCompute, InlineHashMapRef, Operation, Pin};

/// More than one word: updates take another slot.
type Value = [u64; 2];
type Numbers = InlineMap<u64, Value>;

fn value(n: u64) -> Value {
    [n, !n]
}

/// Uses the map in every way that takes a lock or could wait for one: from inside a closure, on keys of the bucket that
/// the closure is about (with a constant hasher), and on all.
fn use_the_map<G: Pin>(m: &InlineHashMapRef<'_, u64, Value, TestState, G>, salt: u64) {
    let key = 500 + salt % 50;
    m.insert(key, value(salt));
    m.update(key, |old| value(old[0] + 1));
    m.compute(key + 1, |found| match found {
        Some(_) => Operation::Remove,
        None => Operation::Insert(value(salt)),
    });
    m.get_or_insert(key + 2, value(salt));
    m.replace(key + 2, value(salt)).ok();
    m.remove_if(&(key + 2), |_, _| salt.is_multiple_of(2)).ok();
    m.insert_many([(key + 4, value(salt)), (key + 5, value(salt))]);
    m.remove_many(&[key, key + 4]);
    m.retain(|&k, _| k != key + 3);
    assert!(m.iter().count() < 10_000);
}

/// Calls with closures that all use the map, on the key `key` and on absent ones. How often closures ran.
fn closures_use_the_map<G: Pin>(
    m: &InlineHashMapRef<'_, u64, Value, TestState, G>,
    key: u64,
) -> u32 {
    let runs = Cell::new(0);
    let run = || {
        runs.set(runs.get() + 1);
        use_the_map(m, key);
    };
    m.update(key, |old| {
        run();
        value(old[0] + 100)
    });
    m.compute(key, |found| {
        run();
        Operation::Insert(value(found.expect("present")[0] + 100))
    });
    m.get_or_insert_with(key + 100, || {
        run();
        value(key)
    });
    m.compute(key + 200, |found| {
        run();
        assert_eq!(found, None);
        Operation::Insert(value(key))
    });
    let removed = m.remove_if(&(key + 200), |_, _| {
        run();
        true
    });
    assert_eq!(removed, Ok(Some((key + 200, value(key)))));
    runs.get()
}

#[test]
fn every_closure_may_use_its_own_map() {
    let _watchdog = Watchdog::seconds(30);
    for_each_kind(|kind| {
        let map: Numbers = kind.inline();
        let m = map.pin();
        m.extend_with((0..30).map(|key| (key, value(key))));
        for key in 0..30 {
            assert_eq!(
                closures_use_the_map(&m, key),
                5,
                "nobody else changed these keys"
            );
        }
        m.retain(|&key, found| {
            use_the_map(&m, key + found[0]);
            key < 130
        });
        let mut entries = Vec::new();
        for (key, found) in &m {
            use_the_map(&m, key);
            if key < 500 {
                entries.push((key, found));
            }
        }
        entries.sort_unstable();
        let expected = (0..30).map(|key| (key, value(key + 200)));
        let expected = expected.chain((0..30).map(|key| (key + 100, value(key))));
        assert!(
            entries.into_iter().eq(expected),
            "exactly what the calls left"
        );
    });
}

/// `insert_many` takes its entries from an iterator, which is the caller's code too.
trait ExtendWith {
    fn extend_with(&self, entries: impl Iterator<Item = (u64, Value)>);
}

impl<G: Pin> ExtendWith for InlineHashMapRef<'_, u64, Value, TestState, G> {
    fn extend_with(&self, entries: impl Iterator<Item = (u64, Value)>) {
        self.insert_many(entries.inspect(|&(key, _)| use_the_map(self, key)));
    }
}

/// A closure that changes the very entry it is asked about: it is asked again, about what is there now.
#[test]
fn a_closure_that_changes_its_own_key_runs_again() {
    let _watchdog = Watchdog::seconds(30);
    for_each_kind(|kind| {
        let map: Numbers = kind.inline();
        let m = map.pin();
        m.insert(1, value(10));
        let seen = RefCell::new(Vec::new());
        let first_of = |found: Option<&Value>| {
            seen.borrow_mut().push(found.copied());
            seen.borrow().len() == 1
        };

        let updated = m.update(1, |found| {
            if first_of(Some(found)) {
                m.insert(1, value(20));
            }
            value(found[0] + 1)
        });
        assert_eq!(updated, Some(value(21)));
        assert_eq!(seen.take(), [Some(value(10)), Some(value(20))]);

        let computed = m.compute(1, |found| {
            if first_of(found) {
                m.remove(&1);
            }
            Operation::Insert(value(30))
        });
        assert_eq!(computed, InlineCompute::Inserted(value(30)));
        assert_eq!(seen.take(), [Some(value(21)), None]);

        let removed = m.remove_if(&1, |_, found| {
            if first_of(Some(found)) {
                m.insert(1, value(40));
            }
            true
        });
        assert_eq!(removed, Ok(Some((1, value(40)))));
        assert_eq!(seen.take(), [Some(value(30)), Some(value(40))]);

        let updated = m.update(1, |_| unreachable!("absent"));
        assert_eq!((updated, m.len_by_iteration()), (None, 0));
    });
}

trait Len {
    fn len_by_iteration(&self) -> usize;
}

impl<G: Pin> Len for InlineHashMapRef<'_, u64, Value, TestState, G> {
    fn len_by_iteration(&self) -> usize {
        self.iter().count()
    }
}

/// What nobody sees does not count: an entry that was changed and changed back is the same entry.
#[test]
fn a_closure_that_changes_its_key_and_back_does_not_run_again() {
    let map: Numbers = Kind::plain().inline();
    let m = map.pin();
    m.insert(1, value(1));
    let mut runs = 0;
    let updated = m.update(1, |found| {
        runs += 1;
        m.insert(1, value(2));
        m.remove(&1);
        m.insert(1, *found);
        value(3)
    });
    assert_eq!((updated, runs), (Some(value(3)), 1));
}

thread_local! {
    /// What hashing a key does beside.
    static ALSO: RefCell<Option<&'static InlineMap<Key, u64>>> = const { RefCell::new(None) };
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(transparent)]
struct Key(u64);

impl Hash for Key {
    fn hash<H: Hasher>(&self, state: &mut H) {
        // Not again in the hashes of what it does.
        if let Some(map) = ALSO.take() {
            let m = map.pin();
            let beside = Self(1 << 32 | self.0);
            m.insert(beside, self.0);
            m.update(beside, |value| value + 1);
            m.remove(&beside);
            m.get(self);
            drop(m);
            ALSO.set(Some(map));
        }
        self.0.hash(state);
    }
}

/// `Hash` runs in movers too, on keys of other callers, and with no lock held: it may write to the very map.
#[test]
fn a_hash_may_use_its_own_map_also_when_entries_move() {
    let _watchdog = Watchdog::seconds(60);
    for_kinds(
        [TestState::Sip, TestState::OneBucket, TestState::Constant].map(|hasher| Kind {
            hasher,
            ..Kind::plain()
        }),
        |kind| {
            let map: &'static InlineMap<Key, u64> = Box::leak(Box::new(kind.inline()));
            let keys = sized(400, 40) as u64;
            thread::scope(|s| {
                for n in 0..2 {
                    s.spawn(move || {
                        ALSO.set(Some(map));
                        for key in (n..keys).step_by(2) {
                            assert_eq!(map.pin().insert(Key(key), key), None);
                        }
                        map.reserve(1000);
                        ALSO.set(None);
                    });
                }
            });
            assert!((0..keys).all(|key| map.pin().get(&Key(key)) == Some(key)));
            assert_eq!(map.len() as u64, keys);
        },
    );
}

/// Two maps whose closures use each other: no order of locks, as no closure runs under one.
#[test]
fn closures_of_two_maps_use_each_other() {
    let _watchdog = Watchdog::seconds(60);
    let rng = Rng::new(0x5eed_0063);
    for_each_kind(|kind| {
        let (a, b): (Numbers, Numbers) = (kind.inline(), kind.inline());
        let each = sized(2000, 30);
        thread::scope(|s| {
            for (n, (one, other)) in [(0, (&a, &b)), (1, (&b, &a))] {
                let mut rng = rng.fork(n);
                s.spawn(move || {
                    for _ in 0..each {
                        let key = rng.below(4);
                        one.pin().get_or_insert(key, value(0));
                        one.pin().update(key, |old| {
                            other.pin().get_or_insert(key, value(0));
                            other.pin().update(key, |old| value(old[0] + 1));
                            value(old[0] + 1)
                        });
                    }
                });
            }
        });
        let sum = |map: &Numbers| map.pin().values().map(|value| value[0]).sum::<u64>();
        // Each round counts once in its own map, and at least once in the other.
        assert!(sum(&a) >= 2 * each as u64 && sum(&b) >= 2 * each as u64);
    });
}
