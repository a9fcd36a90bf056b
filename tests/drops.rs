//! Each value is dropped once, whichever way it leaves, and never while somebody can see it; destructors may use the
//! table they come from, and may panic.

#![cfg(all(feature = "std", not(nulls_loom)))]
#![allow(clippy::cast_possible_truncation, reason = "small numbers")]
#![allow(
    clippy::std_instead_of_alloc,
    clippy::std_instead_of_core,
    reason = "a test is a program of std"
)]

mod common;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::thread;

use common::{Counted, Kind, Ledger, Map, Rng, TestState, Watchdog, for_each_kind, sized};
use nulls::{Collector, Growth, InsertError, NullsHashMap, NullsHashTable, Operation};

/// `caught_panics` counts for the whole process.
static CAUGHT_PANICS: Mutex<()> = Mutex::new(());

fn alone() -> MutexGuard<'static, ()> {
    CAUGHT_PANICS.lock().unwrap_or_else(PoisonError::into_inner)
}

// ---- every way out ----

/// Runs `leave` on a map of `n` entries, whose values are all made by the ledger, then drops map and collector.
fn leaving(n: u32, leave: impl Fn(&Map<u32, Counted>, &Ledger)) {
    for_each_kind(|kind| {
        let ledger = Ledger::new();
        // A collector of this test's own, or what is pending would stay with the kind.
        let kind = Kind {
            collector: kind
                .collector
                .as_ref()
                .map(|_| Collector::builder().batch_size(1).build()),
            ..kind.clone()
        };
        let map = kind.map();
        for key in 0..n {
            map.pin().insert(key, ledger.make());
        }
        leave(&map, &ledger);
        ledger.assert_none_dropped_twice();
        let (there, gone) = (map.len(), ledger.dropped());
        assert!(
            gone <= ledger.made() - there,
            "an entry was dropped that is still there"
        );
        drop(map);
        drop(kind);
        ledger.assert_each_dropped_once();
    });
}

#[test]
fn dropped_with_the_map() {
    leaving(0, |_, _| ());
    leaving(1, |_, _| ());
    leaving(500, |_, _| ());
}

#[test]
fn dropped_after_replacement() {
    leaving(100, |map, ledger| {
        let m = map.pin();
        for key in 0..100 {
            let old = m.insert(key, ledger.make()).expect("inserted before");
            assert_eq!(ledger.drops_of(old.id), 0, "it is borrowed");
            let old = m.replace(key, ledger.make()).expect("inserted before");
            assert_eq!(ledger.drops_of(old.id), 0);
            let old = m.get(&key).expect("inserted before");
            m.update(key, |_| ledger.make());
            assert_eq!(ledger.drops_of(old.id), 0);
            m.compute(key, |_| Operation::Insert(ledger.make()));
            assert_eq!(ledger.drops_of(old.id), 0);
        }
    });
}

#[test]
fn dropped_after_removal() {
    leaving(100, |map, ledger| {
        let m = map.pin();
        for key in 0..100 {
            let value = m.get(&key).expect("inserted");
            match key % 4 {
                0 => assert!(m.remove(&key).is_some()),
                1 => assert!(m.remove_entry(&key).is_some()),
                2 => assert!(m.remove_if(&key, |_, _| true).is_ok()),
                _ => drop(m.compute(key, |_| Operation::Remove)),
            }
            assert_eq!(ledger.drops_of(value.id), 0, "it is borrowed");
        }
        assert_eq!(ledger.dropped(), 0);
    });
}

#[test]
fn dropped_by_retain_and_clear() {
    leaving(300, |map, _| map.pin().retain(|key, _| key % 3 == 0));
    leaving(300, |map, _| map.pin().clear());
    leaving(300, |map, ledger| {
        let m = map.pin();
        m.retain(|_, _| false);
        assert_eq!(ledger.dropped(), 0, "the view is still there");
        m.clear();
        for key in 0..50 {
            m.insert(key, ledger.make());
        }
        m.clear();
        m.clear();
    });
}

#[test]
fn a_rejected_value_comes_back_or_is_dropped() {
    leaving(10, |map, ledger| {
        let m = map.pin();
        let value = ledger.make();
        let id = value.id;
        let Err(InsertError::Occupied((_, value), _)) = m.try_insert(1, value) else {
            panic!("occupied");
        };
        assert_eq!((value.id, ledger.drops_of(id)), (id, 0));
        let (_, value) = m.replace(99, value).expect_err("absent");
        assert_eq!((value.id, ledger.drops_of(id)), (id, 0));
        m.get_or_insert(1, value);
        assert_eq!(ledger.drops_of(id), 1);
        assert_eq!(ledger.dropped(), 1);
    });
}

#[test]
fn dropped_in_mid_migration() {
    // The map is dropped after every hundredth insertion of a growing one: some of these are in a migration.
    let mut migrating = 0;
    for n in (100..sized(6000, 400)).step_by(100) {
        let ledger = Ledger::new();
        let map: Map<usize, Counted> = Kind::plain().map();
        for key in 0..n {
            map.pin().insert(key, ledger.make());
        }
        // A few more until one is under way, if it begins soon.
        let mut key = n;
        while !map.stats().migrating && key < n + 100 {
            map.pin().insert(key, ledger.make());
            key += 1;
        }
        migrating += usize::from(map.stats().migrating);
        map.pin().remove(&1);
        drop(map);
        ledger.assert_each_dropped_once();
    }
    assert!(
        migrating >= 3,
        "{migrating} of the maps were in a migration"
    );
}

#[test]
fn dropped_by_a_table() {
    for_each_kind(|kind| {
        let ledger = Ledger::new();
        let table: NullsHashTable<Counted> = Kind {
            collector: None,
            ..kind.clone()
        }
        .table();
        let t = table.pin();
        for hash in 0..200 {
            t.insert(hash % 50, ledger.make());
        }
        for hash in 0..10 {
            let old = t.remove(hash, |_| true).expect("four of each hash");
            assert_eq!(ledger.drops_of(old.id), 0);
            assert!(t.replace(hash, |_| true, ledger.make()).is_ok());
            drop(
                t.replace(hash, |_| false, ledger.make())
                    .expect_err("none is equal"),
            );
            let Err(error) = t.try_insert(hash, ledger.make(), |_| true) else {
                panic!("occupied");
            };
            drop(error.into_inner());
            assert!(t.try_insert(hash, ledger.make(), |_| false).is_ok());
        }
        t.retain(|value| value.id % 2 == 0);
        ledger.assert_none_dropped_twice();
        drop(t);
        drop(table);
        ledger.assert_each_dropped_once();
    });
}

#[test]
fn a_clone_drops_its_own() {
    leaving(100, |map, ledger| {
        let clone = map.clone();
        assert_eq!(ledger.made(), 200);
        clone.pin().remove(&1);
    });
}

// ---- when ----

/// With a shared collector, what was removed is dropped when no guard can see it, of whatever table.
#[test]
fn a_guard_keeps_what_was_removed_under_it() {
    let ledger = Ledger::new();
    let collector = Collector::builder().batch_size(1).build();
    let map: NullsHashMap<u32, Counted> =
        NullsHashMap::builder().collector(collector.clone()).build();
    for key in 0..100 {
        map.pin().insert(key, ledger.make());
    }
    let guard = collector.guard();
    let m = map.with_guard(&guard);
    let seen: Vec<_> = (0..50).map(|key| m.get(&key).expect("inserted")).collect();
    thread::scope(|s| {
        s.spawn(|| {
            let m = map.pin();
            for key in 0..100 {
                m.remove(&key);
            }
        });
    });
    assert_eq!((map.len(), ledger.dropped()), (0, 0));
    assert!(seen.iter().enumerate().all(|(id, value)| value.id == id));
    drop(guard);
    ledger.assert_each_dropped_once();
    drop(map);
    drop(collector);
    ledger.assert_each_dropped_once();
}

/// Dropping the map drops what is in it; what was removed before goes with the collector at the latest.
#[test]
fn a_shared_collector_outlives_the_map() {
    let ledger = Ledger::new();
    let collector = Collector::builder().batch_size(1000).build();
    let map: NullsHashMap<u32, Counted> =
        NullsHashMap::builder().collector(collector.clone()).build();
    for key in 0..100 {
        map.pin().insert(key, ledger.make());
    }
    let guard = collector.guard();
    for key in 0..50 {
        map.with_guard(&guard).remove(&key);
    }
    assert_eq!(ledger.dropped(), 0);
    drop(map);
    assert_eq!(ledger.dropped(), 50, "entries go with the map");
    guard.flush();
    assert_eq!(ledger.dropped(), 50, "the guard is still there");
    drop(guard);
    ledger.assert_each_dropped_once();
    drop(collector);
    ledger.assert_each_dropped_once();
}

#[test]
fn refresh_lets_go() {
    let ledger = Ledger::new();
    let collector = Collector::builder().batch_size(1).build();
    let map: NullsHashMap<u32, Counted> =
        NullsHashMap::builder().collector(collector.clone()).build();
    let mut guard = collector.guard();
    map.with_guard(&guard).insert(1, ledger.make());
    map.with_guard(&guard).remove(&1);
    assert_eq!(ledger.dropped(), 0);
    guard.refresh();
    ledger.assert_each_dropped_once();
}

#[test]
fn threads_drop_each_value_once() {
    let rng = Rng::new(0x5eed_0010);
    for batch_size in [1, 16, 512] {
        for growth in [Growth::Auto, Growth::Fixed] {
            let ledger = Ledger::new();
            let collector = Collector::builder().batch_size(batch_size).build();
            let kind = Kind {
                growth,
                capacity: 1,
                collector: Some(collector),
                ..Kind::plain()
            };
            let map: Map<u64, Counted> = kind.map();
            thread::scope(|s| {
                for n in 0..3 {
                    let (map, ledger, mut rng) = (&map, &ledger, rng.fork(n));
                    s.spawn(move || {
                        for _ in 0..sized(4000, 60) {
                            let m = map.pin();
                            let key = rng.below(200);
                            match rng.below(8) {
                                0..3 => {
                                    if let Some(old) = m.insert(key, ledger.make()) {
                                        assert_eq!(ledger.drops_of(old.id), 0);
                                    }
                                }
                                3 => drop(m.get_or_insert_with(key, || ledger.make())),
                                4 => drop(m.update(key, |_| ledger.make())),
                                5 => drop(m.try_insert(key, ledger.make())),
                                6 => m.retain(|k, _| k % 50 != key % 50),
                                _ => {
                                    if let Some(old) = m.remove(&key) {
                                        assert_eq!(ledger.drops_of(old.id), 0);
                                    }
                                }
                            }
                        }
                    });
                }
            });
            drop(map);
            drop(kind);
            ledger.assert_each_dropped_once();
        }
    }
}

// ---- destructors that use the map ----

type Shared = Arc<NullsHashMap<u32, Restless, TestState>>;

/// A value whose destructor writes to, reads and iterates the map it was in, as long as there is one.
struct Restless {
    key: u32,
    map: Weak<NullsHashMap<u32, Self, TestState>>,
    counted: Counted,
    ledger: Ledger,
    /// How many more values this one makes when it goes.
    generations: u32,
}

impl Drop for Restless {
    fn drop(&mut self) {
        let Some(map) = self.map.upgrade() else {
            return;
        };
        let m = map.pin();
        if self.generations > 0 {
            m.insert(
                self.key,
                restless(&map, &self.ledger, self.key, self.generations - 1),
            );
            m.remove(&(self.key + 1));
            m.get_or_insert_with(self.key + 2, || {
                restless(&map, &self.ledger, self.key + 2, 0)
            });
        }
        assert!(m.iter().count() < 10_000);
        assert!(
            m.get(&self.key)
                .is_none_or(|value| value.counted.id < usize::MAX)
        );
    }
}

fn restless(map: &Shared, ledger: &Ledger, key: u32, generations: u32) -> Restless {
    Restless {
        key,
        map: Arc::downgrade(map),
        counted: ledger.make(),
        ledger: ledger.clone(),
        generations,
    }
}

/// A destructor that ran under a lock of its bucket would wait for itself.
#[test]
fn destructors_may_use_their_map() {
    let _watchdog = Watchdog::seconds(60);
    for hasher in [TestState::Sip, TestState::Constant] {
        for batch_size in [1, 4, 64] {
            let ledger = Ledger::new();
            let collector = Collector::builder().batch_size(batch_size).build();
            let map: Shared = Arc::new(
                Kind {
                    hasher,
                    collector: Some(collector),
                    ..Kind::plain()
                }
                .map(),
            );
            let insert = |key, generations| {
                map.pin()
                    .insert(key, restless(&map, &ledger, key, generations));
            };
            for key in 0..60 {
                insert(key, 2);
            }
            for key in 0..60 {
                insert(key, 2);
                map.pin().replace(key, restless(&map, &ledger, key, 1)).ok();
                map.pin().update(key, |_| restless(&map, &ledger, key, 1));
                map.pin()
                    .try_insert(key, restless(&map, &ledger, key, 1))
                    .ok();
                map.pin()
                    .get_or_insert(key, restless(&map, &ledger, key, 1));
            }
            for key in 0..20 {
                map.pin().remove(&key);
            }
            map.pin().retain(|key, _| key % 2 == 0);
            map.reserve(2000);
            map.pin().clear();
            assert_eq!(map.pin().iter().count(), map.len());
            drop(map);
            ledger.assert_each_dropped_once();
        }
    }
}

/// The same with threads, whose guards free each other's values.
#[test]
fn destructors_may_use_their_map_while_others_do() {
    let _watchdog = Watchdog::seconds(60);
    let rng = Rng::new(0x5eed_0011);
    let ledger = Ledger::new();
    let collector = Collector::builder().batch_size(8).build();
    let map: Shared = Arc::new(
        Kind {
            collector: Some(collector),
            ..Kind::plain()
        }
        .map(),
    );
    thread::scope(|s| {
        for n in 0..3 {
            let (map, ledger, mut rng) = (&map, &ledger, rng.fork(n));
            s.spawn(move || {
                for _ in 0..sized(1500, 30) {
                    let key = rng.below(64) as u32;
                    let m = map.pin();
                    match rng.below(3) {
                        0 => drop(m.remove(&key)),
                        1 => drop(m.insert(key, restless(map, ledger, key, 1))),
                        _ => drop(m.update(key, |_| restless(map, ledger, key, 1))),
                    }
                }
            });
        }
    });
    assert_eq!(map.pin().iter().count(), map.len());
    drop(map);
    ledger.assert_each_dropped_once();
}

// ---- destructors that panic ----

/// Counted, and panics when dropped if it is told to.
struct Explosive {
    counted: Counted,
    explodes: bool,
}

impl Drop for Explosive {
    fn drop(&mut self) {
        assert!(!self.explodes, "value {} explodes", self.counted.id);
    }
}

fn explosive(ledger: &Ledger, every: u32, key: u32) -> Explosive {
    Explosive {
        counted: ledger.make(),
        explodes: key.is_multiple_of(every),
    }
}

#[test]
fn a_panic_in_a_deferred_destructor_is_counted_and_costs_nothing_else() {
    let _alone = alone();
    for batch_size in [1, 8, 512] {
        let before = Collector::caught_panics();
        let ledger = Ledger::new();
        let collector = Collector::builder().batch_size(batch_size).build();
        let map: NullsHashMap<u32, Explosive> =
            NullsHashMap::builder().collector(collector.clone()).build();
        for key in 0..300 {
            map.pin().insert(key, explosive(&ledger, 10, key));
        }
        // Replaced, removed, retained, cleared; all in deferred destructors, none of which unwinds into the caller.
        for key in 0..50 {
            map.pin().insert(key, explosive(&ledger, 10, key));
            map.pin().update(key, |_| explosive(&ledger, 10, key));
        }
        for key in 50..100 {
            assert!(map.pin().remove(&key).is_some());
        }
        map.pin().retain(|&key, _| !(100..150).contains(&key));
        map.pin().clear();
        assert!(map.is_empty());
        for key in 0..50 {
            map.pin().insert(key, explosive(&ledger, 10, key));
        }
        // The rest: entries that are in the map when it goes, and what waits in the collector.
        drop(map);
        drop(collector);
        ledger.assert_each_dropped_once();
        let exploded = 30 + 5 + 5 + 5;
        assert_eq!(Collector::caught_panics() - before, exploded);
    }
}

#[test]
fn a_panic_in_the_destructor_of_a_live_map_of_its_own_collector() {
    let _alone = alone();
    let before = Collector::caught_panics();
    let ledger = Ledger::new();
    let map: NullsHashMap<u32, Explosive> = NullsHashMap::new();
    for key in 0..1000 {
        map.pin().insert(key, explosive(&ledger, 3, key));
    }
    for key in 0..300 {
        map.pin().remove(&key);
    }
    drop(map);
    ledger.assert_each_dropped_once();
    assert_eq!(Collector::caught_panics() - before, 334);
}

/// A value that comes back to the caller is dropped by the caller, and its panic is the caller's.
#[test]
fn a_panic_of_a_value_that_was_not_taken_is_the_callers() {
    let _alone = alone();
    let before = Collector::caught_panics();
    let ledger = Ledger::new();
    let map: NullsHashMap<u32, Explosive> = NullsHashMap::new();
    map.pin().insert(1, explosive(&ledger, 2, 1));
    let result = catch_unwind(AssertUnwindSafe(|| {
        map.pin().get_or_insert(1, explosive(&ledger, 1, 1));
    }));
    assert!(result.is_err());
    assert_eq!(Collector::caught_panics(), before);
    // The bucket is free: another thread writes to it.
    thread::scope(|s| {
        s.spawn(|| {
            assert!(map.pin().insert(1, explosive(&ledger, 2, 1)).is_some());
        });
    });
    assert_eq!(map.len(), 1);
    drop(map);
    ledger.assert_each_dropped_once();
}

/// A payload whose own destructor panics must not get through either.
#[test]
fn a_panic_payload_that_panics() {
    struct Payload;
    impl Drop for Payload {
        fn drop(&mut self) {
            panic!("the payload explodes too");
        }
    }
    struct Value(#[expect(dead_code, reason = "dropped, not read")] Counted);
    impl Drop for Value {
        fn drop(&mut self) {
            std::panic::panic_any(Payload);
        }
    }
    let _alone = alone();
    let before = Collector::caught_panics();
    let ledger = Ledger::new();
    let map: NullsHashMap<u32, Value> = NullsHashMap::new();
    for key in 0..10 {
        map.pin().insert(key, Value(ledger.make()));
    }
    map.pin().remove(&1);
    drop(map);
    ledger.assert_each_dropped_once();
    assert_eq!(Collector::caught_panics() - before, 10);
}
