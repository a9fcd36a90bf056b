//! A look-up in an inline map writes nothing into the map's memory, nor into its collector's: shown by the processor, as
//! `read_only.rs` does for the other map.

#![cfg(all(feature = "std", target_os = "linux", not(miri), not(nulls_loom)))]
#![allow(
    clippy::std_instead_of_alloc,
    clippy::std_instead_of_core,
    reason = "a test is a program of std"
)]

mod common;

#[path = "common/arena.rs"]
mod arena;

use core::fmt::Debug;
use core::ptr;
use std::os::unix::process::ExitStatusExt;

use arena::{Arena, SIGSEGV, arena, in_arena, read_only};
use common::{InlineMap, Kind, TestState, is_child, run_child};
use nulls::{Growth, InlineHashMapRef, Operation, Plain};

/// Values of one word and of several.
trait Value: Plain + PartialEq + Debug {
    fn of(key: u64) -> Self;
}

impl Value for u64 {
    fn of(key: u64) -> Self {
        !key
    }
}

impl<const N: usize> Value for [u64; N] {
    fn of(key: u64) -> Self {
        [!key; N]
    }
}

/// A map of so many entries, itself and all it owns in the arena.
fn map_in_arena<V: Value>(kind: &Kind, entries: u64) -> &'static InlineMap<u64, V> {
    in_arena(|| {
        let map: &InlineMap<u64, V> = Box::leak(Box::new(kind.inline()));
        for key in 0..entries {
            map.pin().insert(key, V::of(key));
        }
        map
    })
}

fn look_up_everything<V: Value>(map: &'static InlineMap<u64, V>, entries: u64) {
    let m = in_arena(|| map.pin());
    let met = read_only(|| {
        for i in 0..50_000 {
            let (hit, miss) = (i % entries, entries + i);
            assert_eq!(m.get(&hit), Some(V::of(hit)));
            assert_eq!(m.get(&miss), None);
            assert_eq!(m.get_key_value(&hit), Some((hit, V::of(hit))));
            assert!(m.contains_key(&hit) && !m.contains_key(&miss));
            assert_eq!(m.get_many([&hit, &miss]), [Some(V::of(hit)), None]);
        }
        // Calls that find nothing to do.
        assert_eq!(m.remove(&entries), None);
        assert_eq!(m.remove_many(&[entries, entries + 1]), 0);
        assert_eq!(m.update(entries, |value| *value), None);
        assert_eq!(m.replace(entries, V::of(0)), Err((entries, V::of(0))));
        assert_eq!(m.get_or_insert(0, V::of(1)), V::of(0));
        assert!(m.try_insert(0, V::of(1)).is_err());
        m.compute(0, |_| Operation::Abort);
        assert_eq!(m.remove_if(&0, |_, _| false), Err((0, V::of(0))));
        m.retain(|_, _| true);
        // What an iteration gathers is on the heap, as the flag is off.
        let met = m.iter().filter(|&(key, value)| value == V::of(key));
        (met.count(), m.keys().count(), map.len())
    });
    let entries = usize::try_from(entries).expect("few");
    assert_eq!(met, (entries, entries, entries));
}

fn look_ups_write_nothing_in<V: Value>() {
    let map = map_in_arena::<V>(&Kind::plain(), 1000);
    assert!(Arena::holds(ptr::from_ref(map).cast_mut().cast()));
    look_up_everything(map, 1000);
    // One line after the other: keys in overflow lines, of one hash and of several.
    for hasher in [TestState::Sip, TestState::Constant, TestState::OneBucket] {
        let kind = Kind {
            hasher,
            growth: Growth::Fixed,
            capacity: 1,
            ..Kind::plain()
        };
        let map = map_in_arena::<V>(&kind, 40);
        assert!(map.stats().longest_chain > 2);
        look_up_everything(map, 40);
    }
}

#[test]
fn look_ups_write_nothing() {
    let _arena = arena();
    look_ups_write_nothing_in::<u64>();
    look_ups_write_nothing_in::<[u64; 2]>();
    look_ups_write_nothing_in::<[u64; 5]>();
}

#[test]
fn look_ups_in_the_middle_of_a_migration_write_nothing() {
    let _arena = arena();
    let map = map_in_arena::<u64>(&Kind::plain(), 0);
    let mut entries = 0;
    for size in [1000, 5000] {
        in_arena(|| {
            while entries < size || !map.stats().migrating {
                map.pin().insert(entries, u64::of(entries));
                entries += 1;
            }
        });
        let m = in_arena(|| map.pin());
        read_only(|| {
            for key in 0..2 * entries {
                assert_eq!(m.get(&key), (key < entries).then(|| u64::of(key)));
            }
            assert_eq!(m.iter().count() as u64, entries);
        });
        assert!(map.stats().migrating, "look-ups do not help");
    }
}

// ---- what does write ----

type View = InlineHashMapRef<'static, u64, u64, TestState>;

/// Runs this test again in a process of its own, where `write` is done while the arena cannot be written.
fn dies_of(test: &str, write: impl FnOnce(&View)) {
    if is_child(test) {
        let _arena = arena();
        let map = map_in_arena::<u64>(&Kind::plain(), 100);
        let m = in_arena(|| map.pin());
        read_only(|| {
            assert_eq!(m.get(&1), Some(!1));
            println!("read");
            write(&m);
            println!("written");
        });
        return;
    }
    let output = run_child(test, test);
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(said.contains("read") && !said.contains("written"), "{said}");
    assert_eq!(output.status.signal(), Some(SIGSEGV), "{output:?}");
}

#[test]
fn insert_dies() {
    dies_of("insert_dies", |m| {
        m.insert(1000, 0);
    });
}

#[test]
fn update_dies() {
    dies_of("update_dies", |m| {
        m.update(1, |value| value + 1);
    });
}

#[test]
fn remove_dies() {
    dies_of("remove_dies", |m| {
        m.remove(&1);
    });
}
