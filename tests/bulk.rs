//! Many keys at once, and hashes in hand: the same answers as one key after the other.

#![cfg(all(feature = "std", not(nulls_loom)))]
#![allow(
    clippy::std_instead_of_alloc,
    clippy::std_instead_of_core,
    reason = "a test is a program of std"
)]

mod common;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::thread;

use common::sized;
use nulls::hash::{KeyedState, MonotoneState};
use nulls::{InlineHashMap, NullsHashMap, NullsHashTable};

/// Around the size of a chunk, and many chunks.
const LENGTHS: [usize; 7] = [0, 1, 31, 32, 33, 64, 1000];

fn keys(count: usize) -> Vec<u64> {
    (0..count as u64).collect()
}

#[test]
fn a_map_finds_many_as_it_finds_each() {
    let map: NullsHashMap<u64, u64> = (0..2000).step_by(3).map(|i| (i, i * i)).collect();
    let m = map.pin();
    for count in LENGTHS {
        let keys = keys(count);
        let each: Vec<_> = keys.iter().map(|key| m.get(key)).collect();
        let mut many = vec![Some(&7); count];
        m.get_many_into(&keys, &mut many);
        assert_eq!(many, each);
        let hashes: Vec<_> = keys.iter().map(|key| map.hash_key(key)).collect();
        many.fill(None);
        m.get_many_hashed_into(&hashes, &keys, &mut many);
        assert_eq!(many, each);
    }
    assert_eq!(m.get_many([&0, &1, &3]), [Some(&0), None, Some(&9)]);
}

#[test]
fn an_inline_map_finds_many_as_it_finds_each() {
    let one_line: InlineHashMap<u64, u64> = (0..2000).step_by(3).map(|i| (i, i * i)).collect();
    let two_lines: InlineHashMap<u64, [u64; 3]> =
        (0..2000).step_by(3).map(|i| (i, [i; 3])).collect();
    let (one, two) = (one_line.pin(), two_lines.pin());
    for count in LENGTHS {
        let keys = keys(count);
        let mut many = vec![Some(7); count];
        one.get_many_into(&keys, &mut many);
        assert_eq!(
            many,
            keys.iter().map(|key| one.get(key)).collect::<Vec<_>>()
        );
        let hashes: Vec<_> = keys.iter().map(|key| two_lines.hash_key(key)).collect();
        let mut many = vec![None; count];
        two.get_many_hashed_into(&hashes, &keys, &mut many);
        assert_eq!(
            many,
            keys.iter().map(|key| two.get(key)).collect::<Vec<_>>()
        );
    }
    assert_eq!(one.get_many([&0, &1, &3]), [Some(0), None, Some(9)]);
}

#[test]
fn a_table_finds_many_as_it_finds_each() {
    let table = NullsHashTable::new();
    let t = table.pin();
    t.insert_many((0..2000_u64).step_by(3).map(|i| (i << 7, i)));
    for count in LENGTHS {
        let hashes: Vec<_> = keys(count).iter().map(|i| i << 7).collect();
        let each: Vec<_> = hashes
            .iter()
            .map(|&hash| t.find(hash, |&i| i << 7 == hash))
            .collect();
        let mut many = vec![None; count];
        t.find_many_into(&hashes, |index, &i| i << 7 == hashes[index], &mut many);
        assert_eq!(many, each);
        t.prefetch(7);
    }
}

#[test]
fn what_was_inserted_at_once_is_removed_at_once() {
    for count in LENGTHS {
        let (map, inline, table) = (
            NullsHashMap::<u64, u64>::new(),
            InlineHashMap::<u64, u64>::new(),
            NullsHashTable::new(),
        );
        let (m, i, t) = (map.pin(), inline.pin(), table.pin());
        let entries = || keys(count).into_iter().map(|key| (key, key + 1));
        assert_eq!(m.insert_many(entries()), count);
        assert_eq!(m.insert_many(entries()), 0);
        assert_eq!(i.insert_many(entries()), count);
        assert_eq!(i.insert_many(entries()), 0);
        t.insert_many(entries());
        assert_eq!(
            (map.len(), inline.len(), table.len()),
            (count, count, count)
        );

        let half: Vec<_> = keys(2 * count).into_iter().step_by(2).collect();
        let gone = count.div_ceil(2);
        assert_eq!(m.remove_many(&half), gone);
        assert_eq!(i.remove_many(&half), gone);
        assert_eq!(t.remove_many(&half, |_, _| true), gone);
        assert_eq!(map.len(), count - gone);
        assert!(m.keys().all(|key| key % 2 == 1) && i.keys().all(|key| key % 2 == 1));
    }
}

#[test]
fn a_hash_in_hand_does_for_every_operation() {
    let map: NullsHashMap<String, u32, KeyedState> = NullsHashMap::default();
    let m = map.pin();
    let hash = map.hash_key("a");
    assert_eq!(hash, map.hash_key(&"a".to_string()));
    assert_eq!(m.insert_hashed(hash, "a".into(), 1), None);
    assert_eq!(m.get("a"), Some(&1));
    assert!(m.maybe_contains_hashed(hash));
    assert_eq!(m.remove_hashed(hash, "a"), Some(&1));
    assert_eq!(m.insert_many_hashed([(hash, "a".to_string(), 2)]), 1);
    assert_eq!(m.remove_many_hashed(&[hash], &["a".to_string()]), 1);

    let map: InlineHashMap<u32, u32> = InlineHashMap::new();
    let m = map.pin();
    let hash = map.hash_key(&1);
    assert_eq!(m.insert_hashed(hash, 1, 2), None);
    assert_eq!(m.get(&1), Some(2));
    assert_eq!(m.remove_hashed(hash, &1), Some(2));
    assert_eq!(m.insert_many_hashed([(hash, 1, 3)]), 1);
    assert_eq!(m.remove_many_hashed(&[hash], &[1]), 1);
}

#[test]
fn a_port_is_added_to_a_hash() {
    let map: NullsHashMap<(u32, u16), (), MonotoneState> = NullsHashMap::default();
    let base = map.hash_base(&(7, 443));
    for port in [0, 1, 443, u16::MAX] {
        assert_eq!(base + port, map.hash_key(&(7, port)));
    }
}

#[test]
fn lengths_that_differ_are_a_bug_of_the_caller() {
    let map: NullsHashMap<u64, u64> = NullsHashMap::new();
    let inline: InlineHashMap<u64, u64> = InlineHashMap::new();
    let table: NullsHashTable<u64> = NullsHashTable::new();
    let (m, i, t) = (map.pin(), inline.pin(), table.pin());
    let refuses = |call: &dyn Fn()| assert!(catch_unwind(AssertUnwindSafe(call)).is_err());
    refuses(&|| m.get_many_into(&[1, 2], &mut [None]));
    refuses(&|| i.get_many_into(&[1], &mut [None, None]));
    refuses(&|| t.find_many_into(&[1], |_, _| true, &mut []));
    refuses(&|| m.get_many_hashed_into(&[], &[1], &mut [None]));
    refuses(&|| i.get_many_hashed_into(&[map_hash(&inline)], &[1], &mut []));
}

fn map_hash(map: &InlineHashMap<u64, u64>) -> nulls::Prehashed<std::hash::RandomState> {
    map.hash_key(&1)
}

/// Permanent keys are all found, however the map grows and churns meanwhile.
#[test]
fn many_are_found_while_the_map_grows() {
    let map: NullsHashMap<u64, u64> = (0..500).map(|i| (i, i)).collect();
    let inline: InlineHashMap<u64, u64> = (0..500).map(|i| (i, i)).collect();
    let rounds = sized(60, 2);
    thread::scope(|s| {
        s.spawn(|| {
            for round in (1_u64..).take(rounds) {
                let more = |i| (round * 1000 + i, i);
                map.pin().insert_many((0..500).map(more));
                inline.pin().insert_many((0..500).map(more));
            }
        });
        let permanent = keys(500);
        for _ in 0..rounds {
            let m = map.pin();
            let mut found = vec![None; 500];
            m.get_many_into(&permanent, &mut found);
            assert!(
                found
                    .iter()
                    .zip(&permanent)
                    .all(|(found, key)| *found == Some(key))
            );
            let mut found = vec![None; 500];
            inline.pin().get_many_into(&permanent, &mut found);
            assert!(
                found
                    .iter()
                    .zip(&permanent)
                    .all(|(found, key)| *found == Some(*key))
            );
        }
    });
    assert_eq!((map.len(), inline.len()), (500 * (1 + rounds), map.len()));
}
