//! Guards: of the wrong collector, nested, refreshed, forgotten, of threads that die, and in thread-local storage.

#![cfg(all(feature = "std", not(nulls_loom)))]
#![allow(clippy::cast_possible_truncation, reason = "small numbers")]
#![allow(
    clippy::std_instead_of_alloc,
    clippy::std_instead_of_core,
    reason = "a test is a program of std"
)]

mod common;

use core::cell::{Cell, RefCell};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::Output;
use std::sync::Barrier;
use std::thread;

use common::{Counted, Ledger, Rng, ignore, is_child, run_child, sized};
use nulls::hash::KeyedState;
use nulls::{Collector, Guard, NullsHashMap, NullsHashTable};

type CountedMap = NullsHashMap<u32, Counted>;

fn map_on(collector: &Collector) -> CountedMap {
    NullsHashMap::builder().collector(collector.clone()).build()
}

/// A collector that frees what is removed as soon as no guard is in the way.
fn prompt() -> Collector {
    Collector::builder().batch_size(1).build()
}

// ---- whose guard ----

fn assert_panics_with_the_rule(call: impl FnOnce()) {
    let payload = catch_unwind(AssertUnwindSafe(call)).expect_err("another collector's guard");
    let message = payload
        .downcast_ref::<&str>()
        .map(ToString::to_string)
        .or_else(|| payload.downcast_ref::<String>().cloned())
        .expect("a message");
    assert!(
        message.contains("with_guard") && message.contains("collector"),
        "the message names the rule: {message}"
    );
}

#[test]
fn a_guard_of_another_collector_is_refused() {
    let (mine, other) = (Collector::new(), Collector::new());
    let map = map_on(&mine);
    map.pin().insert(1, Ledger::new().make());
    let table: NullsHashTable<u32> = NullsHashTable::builder().collector(mine.clone()).build();
    let guard = other.guard();
    assert_panics_with_the_rule(|| ignore(map.with_guard(&guard)));
    assert_panics_with_the_rule(|| ignore(table.with_guard(&guard)));
    // A clone is the same collector, and a clone of the map is on it too.
    let clone = mine.clone();
    let guard = clone.guard();
    assert_eq!(map.with_guard(&guard).iter().count(), 1);
    assert_eq!(map.clone().with_guard(&guard).iter().count(), 1);
    assert_eq!(table.with_guard(&guard).iter().count(), 0);
}

#[test]
fn a_map_without_a_shared_collector_takes_no_guard() {
    let collector = Collector::new();
    let guard = collector.guard();
    let map: NullsHashMap<u32, u32> = NullsHashMap::new();
    let table: NullsHashTable<u32> = NullsHashTable::new();
    // Before it has one of its own, and after.
    for _ in 0..2 {
        assert_panics_with_the_rule(|| ignore(map.with_guard(&guard)));
        assert_panics_with_the_rule(|| ignore(table.with_guard(&guard)));
        map.pin().insert(1, 1);
        table.pin().insert(1, 1);
    }
    assert_eq!((map.len(), table.len()), (1, 2));
}

// ---- nested ----

#[test]
fn nested_guards_keep_until_the_last_is_gone() {
    // The order in which they go does not matter.
    for outer_first in [false, true] {
        let ledger = Ledger::new();
        let collector = prompt();
        let map = map_on(&collector);
        map.pin().insert(1, ledger.make());
        let (outer, inner) = (collector.guard(), collector.guard());
        let view = map.pin();
        let kept = view.get(&1).expect("inserted");
        map.with_guard(&inner).remove(&1);
        let (first, second) = if outer_first {
            (outer, inner)
        } else {
            (inner, outer)
        };
        drop(first);
        assert_eq!((kept.id, ledger.dropped()), (0, 0));
        drop(second);
        assert_eq!((kept.id, ledger.dropped()), (0, 0));
        drop(view);
        ledger.assert_each_dropped_once();
    }
}

#[test]
fn refresh_of_a_nested_guard_does_nothing() {
    let ledger = Ledger::new();
    let collector = prompt();
    let map = map_on(&collector);
    map.pin().insert(1, ledger.make());
    let outer = collector.guard();
    let kept = map.with_guard(&outer);
    let kept = kept.get(&1).expect("inserted");
    let mut inner = collector.guard();
    map.with_guard(&inner).remove(&1);
    inner.refresh();
    assert_eq!((kept.id, ledger.dropped()), (0, 0));
    drop(inner);
    assert_eq!((kept.id, ledger.dropped()), (0, 0));
    drop(outer);
    ledger.assert_each_dropped_once();
}

#[test]
fn refresh_lets_go_of_what_others_removed() {
    let ledger = Ledger::new();
    // A batch needs an entry for each active guard.
    let collector = Collector::builder().batch_size(4).build();
    let map = map_on(&collector);
    let mut guard = collector.guard();
    for round in 0..10 {
        for key in 0..4 {
            map.with_guard(&guard).insert(key, ledger.make());
        }
        thread::scope(|s| {
            s.spawn(|| map.pin().clear());
        });
        assert_eq!(ledger.dropped(), 4 * round);
        guard.refresh();
        assert_eq!(ledger.dropped(), 4 * (round + 1));
        // And it is a guard still.
        assert!(map.with_guard(&guard).get(&1).is_none());
    }
}

#[test]
fn flush_hands_over_a_batch_that_is_not_full() {
    let ledger = Ledger::new();
    let collector = Collector::builder().batch_size(1000).build();
    let map = map_on(&collector);
    for key in 0..10 {
        map.pin().insert(key, ledger.make());
    }
    map.pin().clear();
    drop(collector.guard());
    assert_eq!(ledger.dropped(), 0, "the batch is not full");
    let guard = collector.guard();
    guard.flush();
    assert_eq!(ledger.dropped(), 0, "the guard is still there");
    drop(guard);
    ledger.assert_each_dropped_once();
}

#[test]
fn guards_of_one_collector_do_not_hold_up_another() {
    let (mine, other) = (prompt(), prompt());
    let ledger = Ledger::new();
    let map = map_on(&mine);
    let _other = other.guard();
    map.pin().insert(1, ledger.make());
    map.pin().remove(&1);
    ledger.assert_each_dropped_once();
}

// ---- threads that end ----

#[test]
fn a_thread_that_panics_gives_its_guard_back() {
    let ledger = Ledger::new();
    let collector = prompt();
    let map = map_on(&collector);
    for round in 0..20 {
        map.pin().insert(1, ledger.make());
        let died = thread::scope(|s| {
            s.spawn(|| {
                let guard = collector.guard();
                let view = map.with_guard(&guard);
                let value = view.get(&1).expect("inserted");
                map.pin().remove(&1);
                assert_eq!(ledger.drops_of(value.id), 0);
                panic!("this thread dies under its guard");
            })
            .join()
        });
        assert!(died.is_err());
        assert_eq!(
            ledger.dropped(),
            round + 1,
            "no guard is in the way any more"
        );
    }
}

/// Slots of threads that have ended are used again, by as many threads as one likes.
#[test]
fn threads_come_and_go() {
    let rng = Rng::new(0x5eed_0050);
    let ledger = Ledger::new();
    let collector = Collector::builder().batch_size(64).build();
    let map = map_on(&collector);
    for round in 0..sized(100, 5) as u64 {
        thread::scope(|s| {
            for n in 0..4 {
                let (map, ledger, mut rng) = (&map, &ledger, rng.fork(round * 4 + n));
                s.spawn(move || {
                    for _ in 0..20 {
                        let key = rng.below(50) as u32;
                        map.pin().insert(key, ledger.make());
                        if let Some(value) = map.pin().remove(&(key + 1)) {
                            assert_eq!(ledger.drops_of(value.id), 0);
                        }
                    }
                });
            }
        });
    }
    drop(map);
    drop(collector);
    ledger.assert_each_dropped_once();
}

#[test]
fn what_a_thread_left_behind_goes_with_the_collector() {
    let ledger = Ledger::new();
    let map: CountedMap = NullsHashMap::new();
    for key in 0..100 {
        map.pin().insert(key, ledger.make());
    }
    thread::scope(|s| {
        s.spawn(|| map.pin().clear());
    });
    assert!(map.is_empty());
    drop(map);
    ledger.assert_each_dropped_once();
}

// ---- guards that never end ----

/// A forgotten guard keeps what is removed from then on, as long as its thread lives; then it ends
/// the process, as its slot would go to another thread with it.
#[test]
#[cfg(target_os = "linux")]
#[cfg_attr(miri, ignore = "starts a process")]
fn a_forgotten_guard_leaks_and_aborts_at_the_end_of_its_thread() {
    use std::os::unix::process::ExitStatusExt;

    let test = "a_forgotten_guard_leaks_and_aborts_at_the_end_of_its_thread";
    if is_child(test) {
        let thread = thread::spawn(|| {
            let ledger = Ledger::new();
            let collector = prompt();
            let map = map_on(&collector);
            map.pin().insert(1, ledger.make());
            core::mem::forget(map.pin());
            map.pin().remove(&1);
            assert_eq!(ledger.dropped(), 0);
            println!("forgotten");
        });
        drop(thread.join());
        println!("survived");
        return;
    }
    let output = run_child(test, test);
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(
        said.contains("forgotten") && !said.contains("survived"),
        "{}",
        everything(&output)
    );
    assert!(
        String::from_utf8_lossy(&output.stderr).contains("a guard outlives its thread"),
        "{}",
        everything(&output)
    );
    assert_eq!(output.status.signal(), Some(6), "{}", everything(&output));
}

#[test]
fn ten_thousand_maps_share_a_collector() {
    let ledger = Ledger::new();
    let collector = Collector::builder().batch_size(16).build();
    let maps: Vec<CountedMap> = (0..sized(10_000, 50)).map(|_| map_on(&collector)).collect();
    let guard = collector.guard();
    for (i, map) in (0..).zip(&maps) {
        let m = map.with_guard(&guard);
        m.insert(i, ledger.make());
        assert_eq!(
            m.insert(i, ledger.make())
                .map(|old| ledger.drops_of(old.id)),
            Some(0)
        );
    }
    assert_eq!(ledger.dropped(), 0);
    drop(guard);
    assert!(
        maps.iter()
            .enumerate()
            .all(|(i, map)| map.pin().contains_key(&(i as u32)))
    );
    drop(maps);
    drop(collector);
    ledger.assert_each_dropped_once();
}

/// A map with a collector of its own, for each of many, by many threads.
#[test]
fn many_maps_with_collectors_of_their_own() {
    let maps: Vec<NullsHashMap<u32, u32>> =
        (0..sized(500, 10)).map(|_| NullsHashMap::new()).collect();
    thread::scope(|s| {
        for n in 0..3 {
            let maps = &maps;
            s.spawn(move || {
                for map in maps {
                    let m = map.pin();
                    m.insert(n, n);
                    assert_eq!(m.get(&n), Some(&n));
                }
            });
        }
    });
    assert!(maps.iter().all(|map| map.len() == 3));
}

// ---- thread-local storage ----

/// What the destructors of these tests' threads use.
static SEEN: NullsHashMap<u32, u32, KeyedState> =
    NullsHashMap::with_hasher(KeyedState::with_keys(3, 4));

/// Uses the map when the thread's locals are destroyed.
struct UsesTheMap {
    key: Cell<u32>,
}

impl Drop for UsesTheMap {
    fn drop(&mut self) {
        let m = SEEN.pin();
        let key = self.key.get();
        assert_eq!(m.remove(&key), Some(&key));
        m.insert(key + 100, key);
        m.update(key + 100, |value| value + 1);
        assert!(m.iter().any(|(&found, _)| found == key + 100));
        // Another guard within, and one more after.
        SEEN.pin().insert(key + 200, key);
        drop(m);
        SEEN.pin().insert(key + 300, key);
        SEEN.reserve(100);
    }
}

thread_local! {
    static LOCAL: UsesTheMap = const { UsesTheMap { key: Cell::new(0) } };
}

/// In a process of its own, since a panic in such a destructor ends the process.
fn passes_in_a_child(test: &str, body: impl FnOnce()) {
    if is_child(test) {
        body();
        println!("the body has ended");
        return;
    }
    let output = run_child(test, test);
    assert!(output.status.success(), "{}", everything(&output));
    assert!(String::from_utf8_lossy(&output.stdout).contains("the body has ended"));
}

fn everything(output: &Output) -> String {
    let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
    format!(
        "{}\n{}\n{}",
        output.status,
        text(&output.stdout),
        text(&output.stderr)
    )
}

fn assert_destructors_ran(keys: &[u32]) {
    let m = SEEN.pin();
    for key in keys {
        assert_eq!(m.get(key), None);
        assert_eq!(m.get(&(key + 100)), Some(&(key + 1)));
        assert_eq!(m.get(&(key + 200)), Some(key));
        assert_eq!(m.get(&(key + 300)), Some(key));
    }
}

/// Made before the thread's first pin, so destroyed after this crate's own thread-locals.
#[test]
#[cfg_attr(miri, ignore = "starts a process")]
fn a_destructor_of_a_thread_local_made_before_the_first_pin_may_use_a_map() {
    passes_in_a_child(
        "a_destructor_of_a_thread_local_made_before_the_first_pin_may_use_a_map",
        || {
            for key in [1, 2, 3] {
                SEEN.pin().insert(key, key);
                let thread = thread::spawn(move || {
                    LOCAL.with(|local| local.key.set(key));
                    assert_eq!(SEEN.pin().get(&key), Some(&key));
                });
                assert!(thread.join().is_ok());
            }
            assert_destructors_ran(&[1, 2, 3]);
        },
    );
}

#[test]
#[cfg_attr(miri, ignore = "starts a process")]
fn a_destructor_of_a_thread_local_made_after_the_first_pin_may_use_a_map() {
    passes_in_a_child(
        "a_destructor_of_a_thread_local_made_after_the_first_pin_may_use_a_map",
        || {
            SEEN.pin().insert(11, 11);
            let thread = thread::spawn(|| {
                assert_eq!(SEEN.pin().get(&11), Some(&11));
                LOCAL.with(|local| local.key.set(11));
            });
            assert!(thread.join().is_ok());
            assert_destructors_ran(&[11]);
        },
    );
}

/// The thread's first pin is in the destructor.
#[test]
#[cfg_attr(miri, ignore = "starts a process")]
fn a_destructor_of_a_thread_local_may_be_the_first_to_pin() {
    passes_in_a_child(
        "a_destructor_of_a_thread_local_may_be_the_first_to_pin",
        || {
            SEEN.pin().insert(21, 21);
            let thread = thread::spawn(|| LOCAL.with(|local| local.key.set(21)));
            assert!(thread.join().is_ok());
            assert_destructors_ran(&[21]);
        },
    );
}

fn leaked_collector() -> &'static Collector {
    Box::leak(Box::new(prompt()))
}

thread_local! {
    static KEPT: RefCell<Option<Guard<'static>>> = const { RefCell::new(None) };
}

/// A guard that outlives its thread's slot would share it with the next thread: it ends the process instead.
#[test]
#[cfg(target_os = "linux")]
#[cfg_attr(miri, ignore = "starts a process")]
fn a_guard_in_a_thread_local_made_before_the_first_pin_aborts() {
    use std::os::unix::process::ExitStatusExt;

    let test = "a_guard_in_a_thread_local_made_before_the_first_pin_aborts";
    if is_child(test) {
        let collector = leaked_collector();
        let thread = thread::spawn(|| {
            // Registers its destructor first, so it runs last.
            KEPT.with(|kept| kept.borrow_mut().take());
            KEPT.with(|kept| *kept.borrow_mut() = Some(collector.guard()));
            println!("kept");
        });
        drop(thread.join());
        println!("survived");
        return;
    }
    let output = run_child(test, test);
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(
        said.contains("kept") && !said.contains("survived"),
        "{}",
        everything(&output)
    );
    assert_eq!(output.status.signal(), Some(6), "{}", everything(&output));
}

/// Made after the first pin it is destroyed before the slot is given back, which is all right.
#[test]
#[cfg(target_os = "linux")]
#[cfg_attr(miri, ignore = "starts a process")]
fn a_guard_in_a_thread_local_made_after_the_first_pin_is_dropped_in_time() {
    passes_in_a_child(
        "a_guard_in_a_thread_local_made_after_the_first_pin_is_dropped_in_time",
        || {
            let ledger = Ledger::new();
            let collector = leaked_collector();
            let map = map_on(collector);
            map.pin().insert(1, ledger.make());
            thread::scope(|s| {
                let thread = s.spawn(|| {
                    let guard = collector.guard();
                    KEPT.with(|kept| *kept.borrow_mut() = Some(guard));
                    map.pin().remove(&1);
                });
                assert!(thread.join().is_ok());
            });
            assert_eq!(ledger.dropped(), 1);
        },
    );
}

/// A view that is kept across the end of other threads which used the same map.
#[test]
fn a_guard_outlasts_other_threads() {
    let ledger = Ledger::new();
    let collector = prompt();
    let map = map_on(&collector);
    map.pin().insert(1, ledger.make());
    let (seen, removed) = (Barrier::new(2), Barrier::new(2));
    thread::scope(|s| {
        s.spawn(|| {
            let view = map.pin();
            let value = view.get(&1).expect("inserted");
            seen.wait();
            removed.wait();
            assert_eq!((value.id, ledger.drops_of(value.id)), (0, 0));
        });
        seen.wait();
        for _ in 0..4 {
            thread::scope(|s| {
                s.spawn(|| {
                    map.pin().insert(2, ledger.make());
                    map.pin().remove(&1);
                    map.pin().remove(&2);
                });
            });
        }
        assert_eq!(ledger.drops_of(0), 0);
        removed.wait();
    });
    drop(map);
    drop(collector);
    ledger.assert_each_dropped_once();
}
