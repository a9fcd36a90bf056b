//! Closures, destructors and loops over references that use the map they came from, or another whose closures do the
//! same the other way round: none of it can deadlock.

#![cfg(all(feature = "std", not(nulls_loom)))]

mod common;

use core::cell::Cell;
use core::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;

use common::{Kind, Map, Rng, TestState, Watchdog, for_each_kind, for_kinds, sized};
use nulls::{Collector, Compute, Growth, NullsHashMapRef, NullsHashTable, Operation, Pin};

type Numbers = Map<u64, u64>;

/// Uses the map in every way that takes a lock or could wait for one: from inside a closure, on the key that the
/// closure is about, on another of its bucket (with a constant hasher), and on all.
fn use_the_map<G: Pin>(m: &NullsHashMapRef<'_, u64, u64, TestState, G>, salt: u64) {
    let key = 500 + salt % 50;
    m.insert(key, salt);
    m.update(key, |value| value + 1);
    m.compute(key + 1, |found| match found {
        Some(_) => Operation::Remove,
        None => Operation::Insert(salt),
    });
    m.get_or_insert(key + 2, salt);
    m.replace(key + 2, salt).ok();
    m.remove_if(&(key + 2), |_, _| salt.is_multiple_of(2)).ok();
    m.remove(&key);
    m.retain(|&k, _| k != key + 3);
    assert!(m.iter().count() < 10_000);
}

#[test]
fn every_closure_may_use_its_own_map() {
    let _watchdog = Watchdog::seconds(30);
    for_each_kind(|kind| {
        let map: Numbers = kind.map();
        let m = map.pin();
        for key in 0..30 {
            m.insert(key, key);
        }
        for key in 0..30 {
            let mut runs = 0;
            m.update(key, |value| {
                runs += 1;
                use_the_map(&m, key);
                value + 100
            });
            m.compute(key, |found| {
                runs += 1;
                use_the_map(&m, key);
                Operation::Insert(found.expect("present") + 100)
            });
            m.get_or_insert_with(key + 100, || {
                runs += 1;
                use_the_map(&m, key);
                key
            });
            m.compute(key + 200, |found| {
                runs += 1;
                use_the_map(&m, key);
                assert_eq!(found, None);
                Operation::Insert(key)
            });
            let removed = m.remove_if(&(key + 200), |_, _| {
                runs += 1;
                use_the_map(&m, key);
                true
            });
            assert!(matches!(removed, Ok(Some(_))));
            assert_eq!(runs, 5, "nobody changed these keys meanwhile");
        }
        m.retain(|&key, value| {
            use_the_map(&m, key + *value);
            key < 130
        });
        let mut entries = Vec::new();
        for (&key, &value) in &m {
            use_the_map(&m, key);
            if key < 500 {
                entries.push((key, value));
            }
        }
        entries.sort_unstable();
        let expected = (0..30).map(|key| (key, key + 200));
        let expected = expected.chain((0..30).map(|key| (key + 100, key)));
        assert!(
            entries.into_iter().eq(expected),
            "exactly what the calls left"
        );
    });
}

/// A closure that changes the very entry it is asked about: it is asked again, about what is there now.
#[test]
fn a_closure_that_changes_its_own_key_runs_again() {
    let _watchdog = Watchdog::seconds(30);
    for_each_kind(|kind| {
        let map: Numbers = kind.map();
        let m = map.pin();
        let first = || {
            let first = Cell::new(true);
            move || first.replace(false)
        };

        m.insert(1, 10);
        let once = first();
        let updated = m.update(1, |value| {
            if once() {
                m.insert(1, 20);
            }
            value + 1
        });
        assert_eq!(updated, Some(&21));

        let once = first();
        let updated = m.update(1, |value| {
            if once() {
                m.remove(&1);
            }
            value + 1
        });
        assert_eq!(
            (updated, m.get(&1)),
            (None, None),
            "gone while the closure ran"
        );

        let once = first();
        let outcome = m.compute(1, |found| {
            if once() {
                m.insert(1, 30);
            }
            Operation::Insert(found.map_or(1, |value| value + 1))
        });
        assert_eq!(
            outcome,
            Compute::Updated {
                old: (&1, &30),
                new: (&1, &31)
            }
        );

        let once = first();
        let outcome = m.compute(1, |found| {
            if once() {
                m.insert(1, 40);
                return Operation::Remove;
            }
            assert_eq!(found, Some(&40));
            Operation::Abort
        });
        assert_eq!((outcome, m.get(&1)), (Compute::Aborted, Some(&40)));

        let once = first();
        let removed = m.remove_if(&1, |_, &value| {
            if once() {
                m.insert(1, 50);
            }
            value == 40
        });
        assert_eq!((removed, m.get(&1)), (Err((&1, &50)), Some(&50)));

        // `get_or_insert_with` runs its closure once and takes the winner.
        let got = m.get_or_insert_with(2, || {
            m.insert(2, 60);
            61
        });
        assert_eq!((got, m.get(&2), map.len()), (&60, Some(&60), 2));

        // A sweep leaves an entry that was replaced meanwhile to its successor, and takes none twice.
        m.retain(|&key, &value| {
            if key == 1 {
                m.insert(1, value + 1);
            } else {
                m.remove(&2);
            }
            false
        });
        assert_eq!((m.get(&1), m.get(&2), map.len()), (Some(&51), None, 1));
    });
}

/// An entry that is gone when the closure is through was removed by somebody else, not by this call.
#[test]
fn a_closure_that_removes_its_own_key() {
    let _watchdog = Watchdog::seconds(30);
    for_each_kind(|kind| {
        let map: Numbers = kind.map();
        let m = map.pin();
        m.insert(1, 10);
        let removed = m.remove_if(&1, |_, _| m.remove(&1).is_some());
        assert_eq!((removed, map.len()), (Ok(None), 0));

        m.insert(1, 20);
        let mut seen = Vec::new();
        let outcome = m.compute(1, |found| {
            seen.push(found.copied());
            m.remove(&1);
            Operation::Remove
        });
        assert_eq!((outcome, map.len()), (Compute::Aborted, 0));
        assert_eq!(seen, [Some(20), None]);

        m.insert(1, 30);
        m.retain(|_, _| m.remove(&1).is_none());
        assert_eq!((map.len(), m.iter().count()), (0, 0));
    });
}

/// Each closure of one map changes the other, whose closure changes the first, and so on: on each level other keys,
/// since a closure that always changes its own key is run for ever.
fn there_and_back<A: Pin, B: Pin>(
    one: &NullsHashMapRef<'_, u64, u64, TestState, A>,
    other: &NullsHashMapRef<'_, u64, u64, TestState, B>,
    key: u64,
    depth: u32,
) {
    if depth == 0 {
        return;
    }
    let deeper = || there_and_back(other, one, key + 100, depth - 1);
    one.compute(key, |found| {
        deeper();
        Operation::Insert(found.map_or(1, |value| value + 1))
    });
    one.get_or_insert_with(key + 10, || {
        other.insert(key + 10, 1);
        one.remove(&(key + 11));
        deeper();
        1
    });
    let _ = one.remove_if(&(key + 10), |_, _| {
        other.remove(&(key + 10));
        depth.is_multiple_of(2)
    });
    for (&key, _) in one {
        assert!(key < 10_000);
        other.get(&key);
    }
}

#[test]
fn two_maps_whose_closures_use_each_other() {
    let _watchdog = Watchdog::seconds(30);
    for_kinds(
        Kind::all().into_iter().filter(|kind| kind.capacity <= 1),
        |kind| {
            let (a, b): (Numbers, Numbers) = (kind.map(), kind.map());
            thread::scope(|s| {
                for n in 0..4 {
                    // Two threads go from a to b, two the other way, all over the same few keys.
                    let (one, other) = if n % 2 == 0 { (&a, &b) } else { (&b, &a) };
                    s.spawn(move || {
                        for i in 0..sized(300, 10) as u64 {
                            there_and_back(&one.pin(), &other.pin(), i % 3, 3);
                            one.pin().retain(|&key, _| {
                                other.pin().update(key, |value| {
                                    one.pin().remove(&(key + 20));
                                    value + 1
                                });
                                i % 16 != 0
                            });
                        }
                    });
                }
            });
            for map in [&a, &b] {
                assert_eq!(map.len(), map.pin().iter().count());
            }
        },
    );
}

#[test]
fn two_maps_under_one_guard() {
    let _watchdog = Watchdog::seconds(30);
    let collector = Collector::builder().batch_size(4).build();
    let kind = Kind {
        hasher: TestState::Constant,
        collector: Some(collector.clone()),
        ..Kind::plain()
    };
    let (a, b): (Numbers, Numbers) = (kind.map(), kind.map());
    thread::scope(|s| {
        for n in 0..3 {
            let (a, b, collector) = (&a, &b, &collector);
            s.spawn(move || {
                for i in 0..sized(300, 10) as u64 {
                    let guard = collector.guard();
                    let (x, y) = (a.with_guard(&guard), b.with_guard(&guard));
                    if (i + n) % 2 == 0 {
                        there_and_back(&x, &y, i % 3, 3);
                    } else {
                        there_and_back(&y, &x, i % 3, 3);
                    }
                }
            });
        }
    });
    assert_eq!(
        a.len() + b.len(),
        a.pin().iter().count() + b.pin().iter().count()
    );
}

/// The sum of two counters stays right when each is changed from inside the other's closure.
#[test]
fn nested_updates_are_all_made() {
    let _watchdog = Watchdog::seconds(30);
    let (a, b): (Numbers, Numbers) = (Kind::plain().map(), Kind::plain().map());
    a.pin().insert(0, 0);
    b.pin().insert(0, 0);
    let inner_runs = AtomicU64::new(0);
    let each = sized(2000, 20) as u64;
    thread::scope(|s| {
        for n in 0..4 {
            let (one, other) = if n % 2 == 0 { (&a, &b) } else { (&b, &a) };
            let inner_runs = &inner_runs;
            s.spawn(move || {
                for _ in 0..each {
                    one.pin().update(0, |outer| {
                        // A closure may run more than once: what it does beside its result is counted as it is done.
                        other.pin().update(0, |inner| inner + 1);
                        inner_runs.fetch_add(1, Ordering::Relaxed);
                        outer + 1
                    });
                }
            });
        }
    });
    let sum = a.pin().get(&0).expect("there") + b.pin().get(&0).expect("there");
    assert_eq!(sum, 4 * each + inner_runs.into_inner());
}

/// References, iterators and views of one map are held while everything in it is written.
#[test]
fn references_are_held_across_writes() {
    let _watchdog = Watchdog::seconds(30);
    for_each_kind(|kind| {
        let map: Map<u64, String> = kind.map();
        let m = map.pin();
        for key in 0..40 {
            m.insert(key, key.to_string());
        }
        let held: Vec<_> = (0..40).map(|key| m.get(&key).expect("there")).collect();
        let mut iters = vec![m.iter(), m.iter()];
        let (mut keys, mut values) = (m.keys(), m.values());
        let mut met = 0;
        for key in 0..40 {
            iters[0].next();
            m.insert(key, "new".to_string());
            iters[1].next();
            m.remove(&((key + 20) % 40));
            met += usize::from(keys.next().is_some()) + usize::from(values.next().is_some());
            m.insert(key + 100, "more".to_string());
            let again = map.pin();
            again.update(key, |value| value.clone() + "er");
            if key == 30 {
                again.clear();
                map.reserve(500);
            }
        }
        assert!(met >= 40, "{met}");
        for (key, value) in held.iter().enumerate() {
            assert_eq!(**value, key.to_string());
        }
        for iter in iters {
            for (key, value) in iter {
                assert!(!value.is_empty() && *key < 200);
            }
        }
    });
}

/// Threads that hold references and iterators while they write, against each other.
#[test]
fn writers_that_hold_references_do_not_wait_for_each_other() {
    let _watchdog = Watchdog::seconds(30);
    let rng = Rng::new(0x5eed_0040);
    for hasher in [TestState::Sip, TestState::Constant] {
        let map: Map<u64, String> = Kind {
            hasher,
            ..Kind::plain()
        }
        .map();
        thread::scope(|s| {
            for n in 0..4 {
                let (map, mut rng) = (&map, rng.fork(n));
                s.spawn(move || {
                    for _ in 0..sized(400, 10) {
                        let m = map.pin();
                        let key = rng.below(30);
                        let held = m.get_or_insert_with(key, || key.to_string());
                        for (other, value) in m.iter().take(20) {
                            assert_eq!(*value, other.to_string());
                            if other % 3 == n % 3 {
                                m.remove(other);
                            } else {
                                m.insert(*other, other.to_string());
                            }
                            m.get_or_insert_with(*other, || value.clone());
                        }
                        assert_eq!(*held, key.to_string());
                    }
                });
            }
        });
    }
}

/// The equality test runs under the bucket's lock. It may not write, but it may read, this table too.
#[test]
fn an_equality_test_may_read_its_own_table() {
    let _watchdog = Watchdog::seconds(30);
    let table: NullsHashTable<u64> = NullsHashTable::builder()
        .capacity(1)
        .growth(Growth::Fixed)
        .build();
    let t = table.pin();
    let asked = Cell::new(0);
    let eq = |wanted: u64| {
        let (t, asked) = (&t, &asked);
        move |&found: &u64| {
            asked.set(asked.get() + 1);
            assert_eq!(t.find(1, |&other| other == found), Some(&found));
            assert!(t.iter().any(|&other| other == found) && t.maybe_contains(1));
            assert!(t.iter_hash(1).count() == table_len(t));
            found == wanted
        }
    };
    for i in 0..20 {
        assert!(t.try_insert(1, i, eq(i)).is_ok());
        assert!(t.try_insert(1, i, eq(i)).is_err());
    }
    assert_eq!(t.replace(1, eq(5), 100), Ok(&5));
    assert_eq!(t.remove(1, eq(6)), Some(&6));
    assert!(asked.get() > 400, "{}", asked.get());
}

fn table_len<G: Pin>(t: &nulls::NullsHashTableRef<'_, u64, G>) -> usize {
    t.iter().count()
}

/// A closure that hands its work to another thread and waits for it.
#[test]
fn a_closure_may_wait_for_another_thread_that_writes() {
    let _watchdog = Watchdog::seconds(30);
    for hasher in [TestState::Sip, TestState::Constant] {
        let map: Numbers = Kind {
            hasher,
            ..Kind::plain()
        }
        .map();
        for key in 0..20 {
            map.pin().insert(key, key);
        }
        let elsewhere = |work: &(dyn Fn() + Sync)| {
            thread::scope(|s| {
                s.spawn(work);
            });
        };
        let m = map.pin();
        let write = || {
            let m = map.pin();
            for key in 0..20 {
                m.insert(key + 100, key);
                m.remove(&(key + 100));
            }
            map.reserve(map.len() + 1000);
        };
        m.update(1, |value| {
            elsewhere(&write);
            value + 1
        });
        m.compute(50, |found| {
            elsewhere(&write);
            Operation::Insert(found.copied().unwrap_or(7))
        });
        m.get_or_insert_with(51, || {
            elsewhere(&write);
            8
        });
        let removed = m.remove_if(&2, |_, _| {
            elsewhere(&write);
            true
        });
        assert_eq!(removed, Ok(Some((&2, &2))));
        let asked = AtomicBool::new(false);
        m.retain(|&key, _| {
            if !asked.swap(true, Ordering::Relaxed) {
                elsewhere(&write);
            }
            key != 3
        });
        assert_eq!(
            (m.get(&1), m.get(&50), m.get(&51), m.get(&3)),
            (Some(&2), Some(&7), Some(&8), None)
        );
        assert_eq!(map.len(), 20);
    }
}
