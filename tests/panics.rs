//! Panics in `Hash`, `Eq`, `Clone`, `Drop` and in closures: the map is as it was, nothing is lost or leaked, and
//! nothing stays locked.

#![cfg(all(feature = "std", not(nulls_loom)))]
#![allow(clippy::cast_possible_truncation, reason = "small numbers")]
#![allow(
    clippy::std_instead_of_alloc,
    clippy::std_instead_of_core,
    reason = "a test is a program of std"
)]

mod common;

use core::cell::Cell;
use core::hash::{Hash, Hasher};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::thread;

use common::{Counted, Kind, Ledger, Map, TestState, Watchdog, for_kinds, ignore, sized};
use nulls::{Growth, NullsHashMap, NullsHashMapRef, NullsHashTable, Operation};

/// What a fuse burns at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum At {
    Hash,
    Eq,
    Clone,
    Closure,
}

thread_local! {
    /// How many of these calls are left on this thread before one panics.
    static FUSE: Cell<Option<(At, usize)>> = const { Cell::new(None) };
}

fn burn(at: At) {
    match FUSE.get() {
        Some((wanted, 0)) if wanted == at => {
            FUSE.set(None);
            panic!("the fuse burned at {at:?}");
        }
        Some((wanted, left)) if wanted == at => FUSE.set(Some((at, left - 1))),
        _ => {}
    }
}

/// Runs `call` until it panics at the `n`th of the calls that burn the fuse; whether it did.
fn panics(at: At, n: usize, call: impl FnOnce()) -> bool {
    FUSE.set(Some((at, n)));
    let result = catch_unwind(AssertUnwindSafe(call));
    FUSE.set(None);
    result.is_err()
}

#[derive(Debug)]
struct Key(u32);

impl PartialEq for Key {
    fn eq(&self, other: &Self) -> bool {
        burn(At::Eq);
        self.0 == other.0
    }
}

impl Eq for Key {}

impl Hash for Key {
    fn hash<H: Hasher>(&self, state: &mut H) {
        burn(At::Hash);
        self.0.hash(state);
    }
}

impl Clone for Key {
    fn clone(&self) -> Self {
        burn(At::Clone);
        Self(self.0)
    }
}

type KeyMap = Map<Key, Counted>;
type View<'m> = NullsHashMapRef<'m, Key, Counted, TestState>;

const ENTRIES: u32 = 20;
const PRESENT: u32 = 3;
const ABSENT: u32 = 1000;

/// Kinds in which one bucket holds all, so that whatever stays locked is met, and others.
fn kinds() -> impl Iterator<Item = Kind> {
    Kind::all().into_iter().filter(|kind| {
        kind.collector.is_none() && matches!(kind.hasher, TestState::Sip | TestState::Constant)
    })
}

/// Keys and the identity of their values.
fn snapshot(map: &KeyMap) -> Vec<(u32, usize)> {
    let mut entries: Vec<_> = map
        .pin()
        .iter()
        .map(|(key, value)| (key.0, value.id))
        .collect();
    entries.sort_unstable();
    entries
}

/// Another thread writes to each bucket, which hangs if one is locked.
fn assert_nothing_is_locked(map: &KeyMap, ledger: &Ledger) {
    let before = snapshot(map);
    thread::scope(|s| {
        s.spawn(|| {
            let m = map.pin();
            for key in 0..64 {
                assert!(m.insert(Key(2000 + key), ledger.make()).is_none());
                assert!(m.remove(&Key(2000 + key)).is_some());
            }
        });
    });
    assert_eq!(snapshot(map), before);
}

/// Every call of the map on a key that is there and on one that is not.
fn each_call(test: impl Fn(&str, &dyn Fn(&View<'_>, u32, &Ledger))) {
    let closure = || burn(At::Closure);
    test("get", &|m, key, _| ignore(m.get(&Key(key))));
    test("get_key_value", &|m, key, _| {
        ignore(m.get_key_value(&Key(key)));
    });
    test("contains_key", &|m, key, _| {
        ignore(m.contains_key(&Key(key)));
    });
    test("insert", &|m, key, l| ignore(m.insert(Key(key), l.make())));
    test("try_insert", &|m, key, l| {
        ignore(m.try_insert(Key(key), l.make()));
    });
    test("get_or_insert", &|m, key, l| {
        ignore(m.get_or_insert(Key(key), l.make()));
    });
    test("get_or_insert_with", &|m, key, l| {
        m.get_or_insert_with(Key(key), || {
            closure();
            l.make()
        });
    });
    test("update", &|m, key, l| {
        m.update(Key(key), |_| {
            closure();
            l.make()
        });
    });
    test("compute, insert", &|m, key, l| {
        m.compute(Key(key), |_| {
            closure();
            Operation::Insert(l.make())
        });
    });
    test("compute, remove", &|m, key, _| {
        m.compute(Key(key), |_| {
            closure();
            Operation::Remove
        });
    });
    test("replace", &|m, key, l| {
        ignore(m.replace(Key(key), l.make()));
    });
    test("remove", &|m, key, _| ignore(m.remove(&Key(key))));
    test("remove_entry", &|m, key, _| {
        ignore(m.remove_entry(&Key(key)));
    });
    test("remove_if", &|m, key, _| {
        ignore(m.remove_if(&Key(key), |_, _| {
            closure();
            true
        }));
    });
}

/// Lets every call panic at each point where it runs the caller's code, until it gets through.
fn check_all_calls(at: At) -> usize {
    let _watchdog = Watchdog::seconds(60);
    let points = Cell::new(0);
    for_kinds(kinds(), |kind| {
        each_call(|name, call| {
            for key in [PRESENT, ABSENT] {
                let ledger = Ledger::new();
                let map: KeyMap = kind.map();
                for key in 0..ENTRIES {
                    map.pin().insert(Key(key), ledger.make());
                }
                let before = snapshot(&map);
                for n in 0.. {
                    assert!(n < 10_000, "{name} never gets through");
                    if !panics(at, n, || call(&map.pin(), key, &ledger)) {
                        break;
                    }
                    points.set(points.get() + 1);
                    assert_eq!(snapshot(&map), before, "{name} on {key}, {n}th {at:?}");
                    assert_eq!(map.len(), before.len());
                }
                assert_nothing_is_locked(&map, &ledger);
                drop(map);
                ledger.assert_each_dropped_once();
            }
        });
    });
    points.get()
}

#[test]
fn in_hash() {
    // 14 calls, present and absent, in each kind.
    assert_eq!(check_all_calls(At::Hash), 14 * 2 * kinds().count());
}

#[test]
fn in_eq() {
    // Under one hash for all an absent key is compared with each entry.
    assert!(check_all_calls(At::Eq) > 14 * kinds().count() + 14 * ENTRIES as usize);
}

#[test]
fn in_closures() {
    // `get_or_insert_with` on the absent key, `update` and `remove_if` on the present one, `compute` on both.
    assert_eq!(
        check_all_calls(At::Closure),
        (1 + 1 + 1 + 4) * kinds().count()
    );
}

/// The one place where `Eq` runs under a lock is the proof of absence; there the panic must unlock.
#[test]
fn in_eq_under_the_lock() {
    let _watchdog = Watchdog::seconds(60);
    let map: KeyMap = Kind {
        hasher: TestState::Constant,
        ..Kind::plain()
    }
    .map();
    let ledger = Ledger::new();
    for key in 0..ENTRIES {
        map.pin().insert(Key(key), ledger.make());
    }
    // `insert` looks under the lock only, so each of its comparisons is there.
    for n in 0..ENTRIES as usize {
        assert!(panics(At::Eq, n, || {
            map.pin().insert(Key(ABSENT), ledger.make());
        }));
        assert_nothing_is_locked(&map, &ledger);
    }
    // A migration passes by the bucket too.
    map.reserve(10_000);
    assert!(!map.stats().migrating);
    assert_eq!(map.len(), ENTRIES as usize);
    drop(map);
    ledger.assert_each_dropped_once();
}

#[test]
fn in_the_equality_test_of_a_table() {
    let _watchdog = Watchdog::seconds(60);
    let table = NullsHashTable::new();
    let ledger = Ledger::new();
    for _ in 0..20 {
        table.pin().insert(1, ledger.make());
    }
    let eq = |_: &Counted| {
        burn(At::Eq);
        false
    };
    let mut points = 0;
    for n in 0..100 {
        let t = table.pin();
        points += usize::from(panics(At::Eq, n, || ignore(t.find(1, eq))));
        points += usize::from(panics(At::Eq, n, || ignore(t.remove(1, eq))));
        points += usize::from(panics(At::Eq, n, || {
            ignore(t.replace(1, eq, ledger.make()));
        }));
        points += usize::from(panics(At::Eq, n, || {
            if let Ok(inserted) = t.try_insert(1, ledger.make(), eq) {
                let id = inserted.id;
                t.remove(1, |value| value.id == id);
            }
        }));
    }
    // `try_insert` looks twice: without the lock, and under it.
    assert_eq!(points, 20 * 3 + 40);
    assert_eq!(table.len(), 20);
    thread::scope(|s| {
        s.spawn(|| assert!(table.pin().remove(1, |_| true).is_some()));
    });
    drop(table);
    ledger.assert_each_dropped_once();
}

#[test]
fn in_retain_keeps_what_was_done() {
    let _watchdog = Watchdog::seconds(60);
    for_kinds(kinds(), |kind| {
        for n in 0..ENTRIES as usize {
            let ledger = Ledger::new();
            let map: KeyMap = kind.map();
            for key in 0..ENTRIES {
                map.pin().insert(Key(key), ledger.make());
            }
            let mut expected = snapshot(&map);
            let mut calls = 0;
            let panicked = panics(At::Closure, n, || {
                map.pin().retain(|key, _| {
                    burn(At::Closure);
                    calls += 1;
                    if key.0 % 2 == 1 {
                        expected.retain(|&(other, _)| other != key.0);
                    }
                    key.0 % 2 == 0
                });
            });
            assert!(panicked);
            assert_eq!(calls, n);
            assert_eq!(snapshot(&map), expected);
            assert_eq!(map.len(), expected.len());
            assert_nothing_is_locked(&map, &ledger);
            drop(map);
            ledger.assert_each_dropped_once();

            let table = kind.table();
            for hash in 0..20 {
                table.pin().insert(hash, hash);
            }
            assert!(panics(At::Closure, n, || table.pin().retain(|_| {
                burn(At::Closure);
                false
            })));
            assert_eq!((table.len(), table.pin().iter().count()), (20 - n, 20 - n));
        }
    });
}

#[test]
fn in_clone_leaves_the_original() {
    for_kinds(kinds(), |kind| {
        let ledger = Ledger::new();
        let map: KeyMap = kind.map();
        for key in 0..ENTRIES {
            map.pin().insert(Key(key), ledger.make());
        }
        let before = snapshot(&map);
        for n in 0..ENTRIES as usize {
            assert!(panics(At::Clone, n, || drop(map.clone())));
            // What the unfinished clone had taken went with it.
            assert_eq!(ledger.dropped() + before.len(), ledger.made());
        }
        assert!(!panics(At::Clone, ENTRIES as usize, || drop(map.clone())));
        assert_eq!(snapshot(&map), before);
        assert_nothing_is_locked(&map, &ledger);
        drop(map);
        ledger.assert_each_dropped_once();
    });
}

#[test]
fn in_hash_or_eq_while_cloning_or_comparing() {
    let ledger = Ledger::new();
    let map: KeyMap = Kind {
        hasher: TestState::Constant,
        ..Kind::plain()
    }
    .map();
    for key in 0..ENTRIES {
        map.pin().insert(Key(key), ledger.make());
    }
    let other: Map<Key, u32> = Kind::plain().map();
    let same: Map<Key, u32> = Kind::plain().map();
    for at in [At::Hash, At::Eq] {
        for n in 0..5 {
            assert!(panics(at, n, || drop(map.clone())), "{at:?} {n}");
            other.pin().clear();
            for key in 0..ENTRIES {
                other.pin().insert(Key(key), key);
                same.pin().insert(Key(key), key);
            }
            assert!(panics(at, n, || assert!(other == same)), "{at:?} {n}");
        }
    }
    assert!(other == same);
    assert_eq!(map.len(), ENTRIES as usize);
    drop(map);
    ledger.assert_each_dropped_once();
}

#[test]
fn in_the_iterator_of_extend_and_collect() {
    let ledger = Ledger::new();
    let entries = || {
        (0..50).map(|key| {
            burn(At::Closure);
            (key, ledger.make())
        })
    };
    let mut map: NullsHashMap<u32, Counted> = NullsHashMap::new();
    for n in 0..50 {
        map.pin().clear();
        assert!(panics(At::Closure, n, || map.extend(entries())));
        assert_eq!(map.len(), n, "what came before stays");
        assert!(panics(At::Closure, n, || drop(
            entries().collect::<NullsHashMap<_, _>>()
        )));
    }
    drop(map);
    ledger.assert_each_dropped_once();
}

/// A loop over a map that panics in the middle leaves a usable map and no guard behind.
#[test]
fn in_a_loop_under_a_view() {
    let ledger = Ledger::new();
    let collector = nulls::Collector::builder().batch_size(1).build();
    let map: NullsHashMap<u32, Counted> =
        NullsHashMap::builder().collector(collector.clone()).build();
    for key in 0..50 {
        map.pin().insert(key, ledger.make());
    }
    for n in 0..50 {
        assert!(panics(At::Closure, n, || {
            let m = map.pin();
            for (key, _) in &m {
                burn(At::Closure);
                assert!(m.get(key).is_some());
            }
        }));
    }
    // If a guard had been left active, what is removed now could not be dropped.
    map.pin().clear();
    drop(collector.guard());
    assert_eq!(ledger.dropped(), 50);
}

/// Panics while the table grows: the migration goes on with the next writer.
#[test]
fn in_calls_during_a_migration() {
    let _watchdog = Watchdog::seconds(60);
    let ledger = Ledger::new();
    let map: KeyMap = Kind {
        growth: Growth::Auto,
        ..Kind::plain()
    }
    .map();
    let mut panicked = 0;
    let n = u32::try_from(sized(6000, 200)).expect("small");
    for key in 0..n {
        map.pin().insert(Key(key), ledger.make());
        if map.stats().migrating || key % 100 == 0 {
            for at in [At::Hash, At::Eq, At::Closure] {
                panicked += u32::from(panics(at, 0, || {
                    map.pin().compute(Key(key), |_| {
                        burn(At::Closure);
                        Operation::Remove
                    });
                }));
                if map.len() as u32 <= key {
                    // It got through: it was not the key's hash that it asked about.
                    map.pin().insert(Key(key), ledger.make());
                }
            }
        }
    }
    assert!(panicked > n / 40);
    assert_eq!((map.len(), snapshot(&map).len()), (n as usize, n as usize));
    assert!((0..n).all(|key| map.pin().get(&Key(key)).is_some()));
    drop(map);
    ledger.assert_each_dropped_once();
}
