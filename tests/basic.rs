//! Every public method of map and table, alone and in random sequences against std's collections.

#![cfg(all(feature = "std", not(nulls_loom)))]
#![allow(clippy::too_many_lines, reason = "one match over all calls")]
#![allow(clippy::cast_possible_truncation, reason = "small numbers")]
#![allow(
    clippy::std_instead_of_alloc,
    clippy::std_instead_of_core,
    reason = "a test is a program of std"
)]

mod common;

use core::hash::{BuildHasher, Hash, Hasher};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::error::Error;
use std::hash::RandomState;

use common::{Kind, Map, Rng, TestState, for_each_kind, for_kinds, sized};
use nulls::hash::KeyedState;
use nulls::{
    Collector, Compute, Growth, InsertError, NullsHashMap, NullsHashMapRef, NullsHashTable,
    Operation, Pin, Stats,
};
use proptest::prelude::*;
use proptest::test_runner::{RngAlgorithm, TestRng, TestRunner};

/// Runs `test` on values that are the same in every run.
fn check<S: Strategy>(cases: usize, strategy: &S, test: impl Fn(S::Value)) {
    let config = ProptestConfig {
        cases: u32::try_from(cases).expect("a small number"),
        failure_persistence: None,
        ..ProptestConfig::default()
    };
    let rng = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
    TestRunner::new_with_rng(config, rng)
        .run(strategy, |value| {
            test(value);
            Ok(())
        })
        .unwrap_or_else(|error| panic!("{error}"));
}

// ---- the map in random sequences ----

#[derive(Clone, Copy, Debug)]
enum Call {
    Insert(u16, u32),
    TryInsert(u16, u32),
    GetOrInsert(u16, u32),
    GetOrInsertWith(u16, u32),
    Update(u16, u32),
    Compute(u16, u32),
    Replace(u16, u32),
    Remove(u16),
    RemoveEntry(u16),
    RemoveIf(u16, bool),
    Look(u16),
    Retain(u32),
    Clear,
    Reserve(usize),
    CompareAll,
}

fn calls() -> impl Strategy<Value = Vec<Call>> {
    let key = || prop_oneof![3 => 0_u16..12, 1 => 0_u16..500];
    let value = any::<u32>;
    let call = prop_oneof![
        8 => (key(), value()).prop_map(|(k, v)| Call::Insert(k, v)),
        2 => (key(), value()).prop_map(|(k, v)| Call::TryInsert(k, v)),
        2 => (key(), value()).prop_map(|(k, v)| Call::GetOrInsert(k, v)),
        2 => (key(), value()).prop_map(|(k, v)| Call::GetOrInsertWith(k, v)),
        2 => (key(), value()).prop_map(|(k, v)| Call::Update(k, v)),
        4 => (key(), value()).prop_map(|(k, v)| Call::Compute(k, v)),
        2 => (key(), value()).prop_map(|(k, v)| Call::Replace(k, v)),
        4 => key().prop_map(Call::Remove),
        1 => key().prop_map(Call::RemoveEntry),
        2 => (key(), any::<bool>()).prop_map(|(k, yes)| Call::RemoveIf(k, yes)),
        6 => key().prop_map(Call::Look),
        1 => (2_u32..5).prop_map(Call::Retain),
        1 => Just(Call::CompareAll),
    ];
    // Rare ones, which would keep the map small if they were not.
    let call = prop_oneof![
        60 => call,
        1 => Just(Call::Clear),
        1 => (0_usize..300).prop_map(Call::Reserve),
    ];
    prop::collection::vec(call, 0..400)
}

fn look<S: BuildHasher, G: Pin>(
    m: &NullsHashMapRef<'_, u16, u32, S, G>,
    model: &HashMap<u16, u32>,
    key: u16,
) {
    assert_eq!(m.get(&key), model.get(&key));
    assert_eq!(m.get_key_value(&key), model.get_key_value(&key));
    assert_eq!(m.contains_key(&key), model.contains_key(&key));
}

fn compare_all<S: BuildHasher>(map: &NullsHashMap<u16, u32, S>, model: &HashMap<u16, u32>) {
    let m = map.pin();
    assert_eq!(map.len(), model.len());
    assert_eq!(map.is_empty(), model.is_empty());
    assert_eq!(map.stats().entries, model.len());
    let sorted: BTreeMap<_, _> = model.iter().collect();

    // A collection into a map would hide an entry that comes twice.
    let mut entries: Vec<_> = m.iter().collect();
    entries.sort_unstable();
    assert!(entries.iter().copied().eq(sorted));
    let mut entries_again: Vec<_> = (&m).into_iter().collect();
    entries_again.sort_unstable();
    assert_eq!(entries, entries_again);
    let mut keys: Vec<_> = m.keys().collect();
    keys.sort_unstable();
    assert!(keys.iter().eq(entries.iter().map(|(key, _)| key)));
    let mut values: Vec<_> = m.values().collect();
    values.sort_unstable();
    let mut expected: Vec<_> = model.values().collect();
    expected.sort_unstable();
    assert_eq!(values, expected);
}

/// What `Call::Compute` does with a value or its absence: all three operations come up.
fn compute(found: Option<&u32>, new: u32) -> Operation<u32> {
    match (found, new % 5) {
        (_, 0) => Operation::Abort,
        (_, 1 | 2) => Operation::Remove,
        (Some(old), _) => Operation::Insert(old ^ new),
        (None, _) => Operation::Insert(new),
    }
}

fn apply(kind: &Kind, map: &Map<u16, u32>, model: &mut HashMap<u16, u32>, call: Call) {
    let m = map.pin();
    match call {
        Call::Insert(k, v) => assert_eq!(m.insert(k, v).copied(), model.insert(k, v)),
        Call::TryInsert(k, v) => match m.try_insert(k, v) {
            Ok(value) => {
                assert_eq!(*value, v);
                assert_eq!(model.insert(k, v), None);
            }
            Err(InsertError::Occupied(pair, value)) => {
                assert_eq!((pair, Some(value)), ((k, v), model.get(&k)));
            }
            Err(other) => panic!("{other}"),
        },
        Call::GetOrInsert(k, v) => {
            assert_eq!(m.get_or_insert(k, v), model.entry(k).or_insert(v));
        }
        Call::GetOrInsertWith(k, v) => {
            let (mut ours, mut std) = (0, 0);
            let value = m.get_or_insert_with(k, || {
                ours += 1;
                v
            });
            let expected = model.entry(k).or_insert_with(|| {
                std += 1;
                v
            });
            assert_eq!((value, ours), (&*expected, std));
        }
        Call::Update(k, v) => {
            let expected = model.get_mut(&k).map(|value| {
                *value ^= v;
                &*value
            });
            assert_eq!(m.update(k, |value| value ^ v), expected);
        }
        Call::Compute(k, v) => {
            let mut seen = Vec::new();
            let outcome = m.compute(k, |found| {
                seen.push(found.copied());
                compute(found, v)
            });
            let before = model.get(&k).copied();
            assert_eq!(seen, [before]);
            match (before, compute(before.as_ref(), v)) {
                (None, Operation::Insert(value)) => {
                    model.insert(k, value);
                    assert_eq!(outcome, Compute::Inserted(&k, &value));
                }
                (Some(old), Operation::Insert(value)) => {
                    model.insert(k, value);
                    let (old, new) = ((&k, &old), (&k, &value));
                    assert_eq!(outcome, Compute::Updated { old, new });
                }
                (Some(old), Operation::Remove) => {
                    model.remove(&k);
                    assert_eq!(outcome, Compute::Removed(&k, &old));
                }
                (None, Operation::Remove) | (_, Operation::Abort) => {
                    assert_eq!(outcome, Compute::Aborted);
                }
            }
        }
        Call::Replace(k, v) => match model.get_mut(&k) {
            Some(value) => {
                assert_eq!(m.replace(k, v), Ok(&*value));
                *value = v;
            }
            None => assert_eq!(m.replace(k, v), Err((k, v))),
        },
        Call::Remove(k) => assert_eq!(m.remove(&k).copied(), model.remove(&k)),
        Call::RemoveEntry(k) => {
            let removed = m.remove_entry(&k).map(|(&k, &v)| (k, v));
            assert_eq!(removed, model.remove_entry(&k));
        }
        Call::RemoveIf(k, yes) => {
            let removed = m.remove_if(&k, |_, _| yes);
            match model.get(&k).copied() {
                None => assert_eq!(removed, Ok(None)),
                Some(value) if yes => {
                    assert_eq!(removed, Ok(Some((&k, &value))));
                    model.remove(&k);
                }
                Some(value) => assert_eq!(removed, Err((&k, &value))),
            }
        }
        Call::Look(k) => look(&m, model, k),
        Call::Retain(n) => {
            let keep = |k: &u16, v: &u32| !(u32::from(*k) ^ *v).is_multiple_of(n);
            m.retain(keep);
            model.retain(|k, v| keep(k, v));
        }
        Call::Clear => {
            m.clear();
            model.clear();
        }
        Call::Reserve(n) => {
            map.reserve(n);
            assert!(map.capacity() >= model.len() + n || kind.growth == Growth::Fixed);
        }
        Call::CompareAll => compare_all(map, model),
    }
    assert_eq!(map.len(), model.len());
}

#[test]
fn random_calls_on_a_map_agree_with_std() {
    check(sized(64, 2), &calls(), |calls| {
        for_each_kind(|kind| {
            let map = kind.map();
            let mut model = HashMap::new();
            for &call in &calls {
                apply(kind, &map, &mut model, call);
            }
            compare_all(&map, &model);
            for key in 0..500 {
                look(&map.pin(), &model, key);
            }
        });
    });
}

/// As the test before, but of one long sequence over more keys, so that each kind grows or chains a
/// good deal.
#[test]
fn a_long_run_on_a_map_agrees_with_std() {
    let rng = Rng::new(0x5eed_0001);
    for_each_kind(|kind| {
        let mut rng = rng.clone();
        let map = kind.map();
        let mut model = HashMap::new();
        for i in 0..sized(30_000, 300) {
            let keys = if i < sized(20_000, 200) { 2000 } else { 200 };
            let key = u16::try_from(rng.below(keys)).expect("below 2000");
            let value = rng.next() as u32;
            let call = match rng.below(8) {
                0..4 => Call::Insert(key, value),
                4 => Call::Compute(key, value),
                5 => Call::Remove(key),
                6 => Call::Look(key),
                _ => Call::GetOrInsert(key, value),
            };
            apply(kind, &map, &mut model, call);
        }
        compare_all(&map, &model);
        assert!(map.len() > sized(1000, 10));
    });
}

// ---- the map, method by method ----

/// A key that is more than what it is compared by.
#[derive(Clone, Copy, Debug)]
struct Named {
    id: u32,
    name: &'static str,
}

impl PartialEq for Named {
    fn eq(&self, other: &Self) -> bool {
        self.id == other.id
    }
}

impl Eq for Named {}

impl Hash for Named {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.id.hash(state);
    }
}

const OLD: Named = Named { id: 1, name: "old" };
const NEW: Named = Named { id: 1, name: "new" };

/// Which key is stored, and under which value, after `call` on a map with `OLD`.
fn stored_after(call: impl FnOnce(&NullsHashMapRef<'_, Named, u32>)) -> (&'static str, u32) {
    let map: NullsHashMap<Named, u32> = NullsHashMap::from([(OLD, 10)]);
    let m = map.pin();
    call(&m);
    assert_eq!(map.len(), 1);
    let (key, &value) = m.get_key_value(&NEW).expect("an equal key");
    (key.name, value)
}

#[test]
fn writes_replace_the_key_with_the_value() {
    let after = stored_after(|m| assert_eq!(m.insert(NEW, 11), Some(&10)));
    assert_eq!(after, ("new", 11));
    let after = stored_after(|m| assert_eq!(m.replace(NEW, 11), Ok(&10)));
    assert_eq!(after, ("new", 11));
    let after = stored_after(|m| assert_eq!(m.update(NEW, |v| v + 1), Some(&11)));
    assert_eq!(after, ("new", 11));
    let after = stored_after(|m| {
        let Compute::Updated { old, new } = m.compute(NEW, |_| Operation::Insert(11)) else {
            panic!("there is an entry");
        };
        assert_eq!(
            (old.0.name, *old.1, new.0.name, *new.1),
            ("old", 10, "new", 11)
        );
    });
    assert_eq!(after, ("new", 11));
}

#[test]
fn calls_that_change_nothing_keep_the_key() {
    let after = stored_after(|m| {
        let Err(InsertError::Occupied((key, value), there)) = m.try_insert(NEW, 11) else {
            panic!("there is an entry");
        };
        assert_eq!((key.name, value, *there), ("new", 11, 10));
    });
    assert_eq!(after, ("old", 10));
    let after = stored_after(|m| assert_eq!(m.get_or_insert(NEW, 11), &10));
    assert_eq!(after, ("old", 10));
    let after = stored_after(|m| {
        m.get_or_insert_with(NEW, || unreachable!("the key is there"));
    });
    assert_eq!(after, ("old", 10));
    let after = stored_after(|m| {
        assert_eq!(m.compute(NEW, |_| Operation::Abort), Compute::Aborted);
    });
    assert_eq!(after, ("old", 10));
    let after = stored_after(|m| {
        let (key, _) = m
            .remove_if(&NEW, |key, _| key.name == "new")
            .expect_err("not accepted");
        assert_eq!(key.name, "old");
    });
    assert_eq!(after, ("old", 10));
}

#[test]
fn closures_see_the_entry_and_run_once_without_contention() {
    let map: Map<u32, u32> = Kind::plain().map();
    let m = map.pin();
    m.insert(1, 10);
    let mut runs = 0;
    let mut count = |expected: Option<&u32>, found: Option<&u32>| {
        assert_eq!(found, expected);
        runs += 1;
    };
    m.update(1, |v| {
        count(Some(&10), Some(v));
        11
    });
    m.update(2, |_| unreachable!("absent"));
    m.compute(1, |found| {
        count(Some(&11), found);
        Operation::Abort
    });
    m.compute(2, |found| {
        count(None, found);
        Operation::Abort
    });
    assert_eq!(
        m.remove_if(&1, |k, v| {
            count(Some(&11), Some(v));
            *k == 2
        }),
        Err((&1, &11))
    );
    assert_eq!(m.remove_if(&2, |_, _| unreachable!("absent")), Ok(None));
    m.retain(|k, v| {
        assert_eq!(*k, 1);
        count(Some(&11), Some(v));
        true
    });
    assert_eq!(runs, 5);
}

/// Equal to a pair, and no `Borrow` of one.
#[derive(Hash)]
struct Halves<'a>(&'a str, &'a str);
impl equivalent::Equivalent<(String, String)> for Halves<'_> {
    fn equivalent(&self, (a, b): &(String, String)) -> bool {
        self.0 == a && self.1 == b
    }
}

#[test]
fn keys_are_looked_up_by_borrowed_and_equivalent_forms() {
    let map = NullsHashMap::new();
    let m = map.pin();
    m.insert("one".to_string(), 1);
    assert_eq!(m.get("one"), Some(&1));
    assert_eq!(m.get_key_value("one"), Some((&"one".to_string(), &1)));
    assert!(m.contains_key("one") && !m.contains_key("two"));
    assert_eq!(
        m.remove_if("one", |_, &v| v == 2),
        Err((&"one".to_string(), &1))
    );
    assert_eq!(m.remove_entry("one"), Some((&"one".to_string(), &1)));
    assert_eq!(m.remove("one"), None);

    let pairs = NullsHashMap::from([(("a".to_string(), "b".to_string()), 3)]);
    let p = pairs.pin();
    assert_eq!(p.get(&Halves("a", "b")), Some(&3));
    assert_eq!(p.get(&Halves("b", "a")), None);
    assert_eq!(p.remove(&Halves("a", "b")), Some(&3));
}

#[test]
fn references_outlast_what_happens_to_their_entries() {
    for_each_kind(|kind| {
        let map: Map<u32, String> = kind.map();
        let m = map.pin();
        for key in 0..100 {
            m.insert(key, key.to_string());
        }
        let values: Vec<_> = (0..100).map(|key| m.get(&key).expect("inserted")).collect();
        let replaced: Vec<_> = (0..50)
            .map(|key| m.insert(key, "new".to_string()).expect("inserted"))
            .collect();
        let removed: Vec<_> = (50..75)
            .map(|key| m.remove(&key).expect("inserted"))
            .collect();
        m.clear();
        map.reserve(5000);
        for (key, value) in values.iter().enumerate() {
            assert_eq!(**value, key.to_string());
        }
        assert!(
            replaced
                .iter()
                .chain(&removed)
                .zip(&values)
                .all(|(a, b)| core::ptr::eq(*a, *b))
        );
    });
}

#[test]
fn iterators_end_and_stay_ended() {
    let map: Map<u32, u32> = Kind::plain().map();
    let m = map.pin();
    assert_eq!(m.iter().next(), None);
    m.insert(1, 2);
    let (mut iter, mut keys, mut values) = (m.iter(), m.keys(), m.values());
    assert_eq!(
        (iter.next(), keys.next(), values.next()),
        (Some((&1, &2)), Some(&1), Some(&2))
    );
    for _ in 0..3 {
        assert_eq!(
            (iter.next(), keys.next(), values.next()),
            (None, None, None)
        );
    }
    m.insert(3, 4);
    assert_eq!(iter.next(), None);
    assert_eq!(
        format!("{iter:?} {keys:?} {values:?}"),
        "Iter { .. } Keys { .. } Values { .. }"
    );
}

#[test]
fn an_entry_inserted_behind_or_before_an_iterator_comes_at_most_once() {
    for_each_kind(|kind| {
        let map: Map<u32, u32> = kind.map();
        let m = map.pin();
        for key in 0..50 {
            m.insert(key, 0);
        }
        let mut seen = HashMap::new();
        let mut next = 1000;
        for (&key, _) in &m {
            *seen.entry(key).or_insert(0) += 1;
            if next < 1200 {
                m.insert(next, 0);
                next += 1;
            }
        }
        assert!(seen.values().all(|&times| times == 1));
        assert!((0..50).all(|key| seen.contains_key(&key)));
    });
}

#[test]
fn views_of_one_map_show_the_same() {
    let collector = Collector::new();
    let (a, b) = (
        NullsHashMap::<u32, u32>::builder()
            .collector(collector.clone())
            .build(),
        NullsHashMap::<u32, String>::builder()
            .collector(collector.clone())
            .build(),
    );
    let guard = collector.guard();
    let (x, y) = (a.with_guard(&guard), b.with_guard(&guard));
    let nested = a.pin();
    x.insert(1, 2);
    y.insert(2, "three".to_string());
    assert_eq!(
        nested.get(&1).and_then(|two| y.get(two)),
        Some(&"three".to_string())
    );
    drop(nested);
    assert_eq!(x.get(&1), Some(&2));
    assert_eq!(b.pin().len_by_iteration(), 1);
}

trait LenByIteration {
    fn len_by_iteration(&self) -> usize;
}

impl<K, V, S, G: Pin> LenByIteration for NullsHashMapRef<'_, K, V, S, G> {
    fn len_by_iteration(&self) -> usize {
        self.iter().count()
    }
}

// ---- the map as a whole ----

static STATIC: NullsHashMap<u32, &str, KeyedState> =
    NullsHashMap::with_hasher(KeyedState::with_keys(1, 2));

#[test]
fn constructors() {
    assert_eq!(STATIC.pin().insert(1, "one"), None);
    assert_eq!(STATIC.pin().get(&1), Some(&"one"));

    let new: NullsHashMap<u32, u32> = NullsHashMap::new();
    assert_eq!((new.len(), new.is_empty(), new.capacity()), (0, true, 0));
    let default: NullsHashMap<u32, u32, TestState> = NullsHashMap::default();
    assert_eq!((default.len(), default.capacity()), (0, 0));

    for capacity in [1, 20, 21, 1000, 4096] {
        let plain: NullsHashMap<u64, u64> = NullsHashMap::with_capacity(capacity);
        let with_hasher = NullsHashMap::with_capacity_and_hasher(capacity, TestState::Sip);
        let built = NullsHashMap::builder()
            .capacity(capacity)
            .hasher(TestState::Sip)
            .build();
        let buckets = plain.stats().buckets;
        for map in [&with_hasher, &built] {
            assert_eq!(map.stats().buckets, buckets);
            assert!(map.capacity() >= capacity);
            let m = map.pin();
            for key in 0..capacity as u64 {
                m.insert(key, key);
            }
            assert_eq!(
                (map.len(), map.stats().buckets),
                (capacity, buckets),
                "it has grown"
            );
        }
    }
}

#[test]
fn a_builder_is_made_of_what_it_was_given() {
    let builder = NullsHashMap::<u32, u32>::builder()
        .capacity(100)
        .growth(Growth::Fixed)
        .shift(3)
        .hasher(TestState::Constant);
    let shown = format!("{builder:?}");
    for part in ["capacity: 100", "Fixed", "shift: 3"] {
        assert!(shown.contains(part), "{shown}");
    }
    let map = builder.build();
    assert_eq!(map.hasher().hash_one(1), map.hasher().hash_one(2));
    assert_eq!(format!("{:?}", map.hasher()), "Constant");

    let table = NullsHashTable::<u32>::builder()
        .capacity(100)
        .growth(Growth::Fixed)
        .shift(3);
    assert!(format!("{table:?}").contains("capacity: 100"));
    assert!(table.build().capacity() >= 100);
}

#[test]
fn reserve_makes_room_at_once_and_keeps_entries() {
    for_each_kind(|kind| {
        let map: Map<u32, u32> = kind.map();
        let m = map.pin();
        for key in 0..100 {
            m.insert(key, key);
        }
        let before = map.stats();
        for more in [0, 1, 1000, 3000] {
            map.reserve(more);
            assert_eq!(map.try_reserve(more), Ok(()));
            let stats = map.stats();
            if kind.growth == Growth::Fixed {
                assert_eq!(stats.buckets, before.buckets);
            } else {
                assert!(map.capacity() >= 100 + more);
                assert!(!stats.migrating, "reserve finishes what it starts");
            }
            assert!(stats.buckets >= before.buckets, "reserve does not shrink");
            assert!((0..100).all(|key| m.get(&key) == Some(&key)));
            assert_eq!((map.len(), m.len_by_iteration()), (100, 100));
        }
        let buckets = map.stats().buckets;
        for key in 100..1000 {
            m.insert(key, key);
        }
        assert_eq!(map.stats().buckets, buckets, "there was room for these");
    });
}

#[test]
fn stats_count_what_is_there() {
    let map: Map<u64, u64> = Kind {
        hasher: TestState::Identity,
        growth: Growth::Fixed,
        capacity: 40,
        ..Kind::plain()
    }
    .map();
    let m = map.pin();
    assert_eq!(map.capacity(), 40);
    let line = 64;
    // Bucket 0 of 8: two full lines and one entry more. Bucket 1: one line. The others: empty.
    for i in 0..13 {
        m.insert(8 * i, 0);
    }
    for i in 0..6 {
        m.insert(8 * i + 1, 0);
    }
    let stats = map.stats();
    assert_eq!((stats.entries, stats.buckets), (19, 8));
    assert_eq!((stats.linked_buckets, stats.longest_chain), (1, 3));
    assert!(!stats.migrating);
    assert!((2..=8).contains(&stats.overflow_lines));
    assert!(stats.table_bytes >= (8 + stats.overflow_lines) * line);
    assert!(stats.table_bytes <= (8 + stats.overflow_lines) * line + 1024);
    let shown = stats.to_string();
    let start = "19 entries in 8 buckets, 1 of them linked (longest chain 3 lines)";
    assert!(shown.starts_with(start), "{shown}");
    assert!(format!("{stats:?}").contains("linked_buckets: 1"));

    let empty: NullsHashMap<u64, u64> = NullsHashMap::new();
    assert_eq!(empty.stats(), Stats::default());
}

#[test]
fn a_growing_map_says_so() {
    let map: Map<u32, u32> = Kind::plain().map();
    let m = map.pin();
    let mut migrations = 0;
    let mut migrating = false;
    for key in 0..100_000 {
        m.insert(key, key);
        if key % 16 == 0 && key < 20_000 {
            let now = map.stats().migrating;
            migrations += u32::from(now && !migrating);
            migrating = now;
        }
    }
    assert!(migrations > 3, "{migrations} migrations seen");
    // The load is what `Growth::Auto` says, and no growth was left behind.
    let stats = map.stats();
    assert!(stats.entries <= stats.buckets * 6, "{stats}");
    assert!(stats.buckets <= 100_000, "{stats}");
}

#[test]
fn clone_is_a_copy() {
    for_each_kind(|kind| {
        let map: Map<u32, String> = kind.map();
        for key in 0..200 {
            map.pin().insert(key, key.to_string());
        }
        let clone = map.clone();
        assert_eq!(clone, map);
        clone.pin().insert(1, "changed".to_string());
        clone.pin().remove(&2);
        map.pin().insert(3, "changed too".to_string());
        let m = map.pin();
        assert_eq!(m.get(&1), Some(&"1".to_string()));
        assert_eq!(m.get(&2), Some(&"2".to_string()));
        assert_eq!(clone.pin().get(&3), Some(&"3".to_string()));
        assert_eq!((map.len(), clone.len()), (200, 199));
        if let Some(collector) = &kind.collector {
            // A shared collector is shared by the copy.
            let guard = collector.guard();
            assert_eq!(clone.with_guard(&guard).get(&4), Some(&"4".to_string()));
        }
    });
}

/// A fixed map with room for 4000 must not be copied into one that has room for 20.
#[test]
fn clone_of_a_fixed_map_has_its_size() {
    let map: Map<u32, u32> = Kind {
        growth: Growth::Fixed,
        capacity: 4000,
        ..Kind::plain()
    }
    .map();
    map.pin().insert(1, 1);
    assert_eq!(map.clone().stats().buckets, map.stats().buckets);
}

#[test]
fn equality_is_of_entries() {
    let map =
        |entries: &[(u32, u32)]| -> NullsHashMap<u32, u32> { entries.iter().copied().collect() };
    let one = map(&[(1, 2), (3, 4)]);
    assert_eq!(one, map(&[(3, 4), (1, 2)]));
    assert_eq!(one, one);
    assert_ne!(one, map(&[(1, 2)]));
    assert_ne!(one, map(&[(1, 2), (3, 5)]));
    assert_ne!(one, map(&[(1, 2), (4, 4)]));
    assert_ne!(one, map(&[(1, 2), (3, 4), (5, 6)]));
    assert_eq!(map(&[]), map(&[]));
    // Another hasher and another size are no difference; a value that is not equal to itself is
    // one.
    let nan = NullsHashMap::<u32, f64>::from([(1, f64::NAN)]);
    assert!(nan != nan.clone());
}

#[test]
fn collecting_and_extending() {
    let entries = (0..100_u32).map(|i| (i % 40, i));
    let expected: HashMap<u32, u32> = entries.clone().collect();
    let collected: NullsHashMap<u32, u32> = entries.clone().collect();
    let with_hasher: NullsHashMap<u32, u32, TestState> = entries.clone().collect();
    let mut extended: NullsHashMap<u32, u32> = NullsHashMap::new();
    extended.extend(entries.clone());
    let shared: NullsHashMap<u32, u32> = NullsHashMap::new();
    (&shared).extend(entries);
    for map in [&collected, &extended, &shared] {
        assert_eq!(map.len(), 40);
        assert!(
            expected
                .iter()
                .all(|(key, value)| map.pin().get(key) == Some(value))
        );
    }
    assert_eq!(with_hasher.pin().get(&7), expected.get(&7));

    let array = NullsHashMap::from([(1, "one"), (2, "two"), (1, "uno")]);
    assert_eq!((array.len(), array.pin().get(&1)), (2, Some(&"uno")));
}

#[test]
fn debug_shows_entries() {
    let map = NullsHashMap::from([(1, "one")]);
    assert_eq!(
        format!("{map:?} {:?}", map.pin()),
        r#"{1: "one"} {1: "one"}"#
    );
    let table = NullsHashTable::new();
    table.pin().insert(1, "one");
    assert_eq!(format!("{table:?} {:?}", table.pin()), r#"["one"] ["one"]"#);
    let t = table.pin();
    assert_eq!(format!("{:?}", t.iter()), "Iter { .. }");
    assert_eq!(format!("{:?}", t.iter_hash(1)), "IterHash { left: 1 }");
    for shown in [
        format!("{:?}", Collector::builder().batch_size(7)),
        format!("{:?}", Collector::builder().batch_size(7).build()),
    ] {
        assert!(shown.contains("batch_size: 7"), "{shown}");
    }
    assert_eq!(
        format!("{:?}", Collector::default().guard()),
        "Guard { .. }"
    );
}

#[test]
fn errors_speak() {
    let map = NullsHashMap::from([(1, "one")]);
    let m = map.pin();
    let error = m.try_insert(1, "uno").expect_err("occupied");
    let boxed: Box<dyn Error + '_> = Box::new(error);
    assert_eq!(boxed.to_string(), "an equal entry is already there");
    assert_eq!(error.into_inner(), (1, "uno"));
    let full: InsertError<_, ()> = InsertError::Full(1);
    assert_eq!(full.to_string(), "the table may not hold more entries");
    assert_eq!(full.into_inner(), 1);
    let refused: InsertError<_, ()> = InsertError::AllocFailed(2);
    assert_eq!(refused.to_string(), "the allocator refused memory");
    assert_eq!(refused.into_inner(), 2);
    let error = map.try_reserve(usize::MAX).expect_err("too many");
    assert_eq!(
        error.to_string(),
        format!("no memory for {} more entries", usize::MAX)
    );
    let _: Box<dyn Error> = Box::new(error);
}

// ---- the table ----

#[derive(Clone, Copy, Debug)]
enum TableCall {
    Insert(usize),
    TryInsert(usize, u32),
    Replace(usize, u32),
    Remove(usize, u32),
    Find(usize, u32),
    IterHash(usize),
    Retain(u32),
    Clear,
    Reserve(usize),
    CompareAll,
}

/// Hashes that share buckets, stored bits or tags with others. (Two that share bits and tag are one
/// to `iter_hash`.)
const HASHES: [u64; 10] = [
    0,
    1,
    2,
    0x4000,
    0x1_0000_0000,
    0x7_0000_0001,
    0x8000_0000_0000_0000,
    u64::MAX,
    u64::MAX - 8,
    0x9e37_79b9_7f4a_7c15,
];

fn table_calls() -> impl Strategy<Value = Vec<TableCall>> {
    let hash = || prop_oneof![2 => 0_usize..2, 1 => 0..HASHES.len()];
    // The second number picks among the entries of a hash, those divisible by it.
    let pick = || 1_u32..4;
    let call = prop_oneof![
        8 => hash().prop_map(TableCall::Insert),
        3 => (hash(), pick()).prop_map(|(h, n)| TableCall::TryInsert(h, n)),
        3 => (hash(), pick()).prop_map(|(h, n)| TableCall::Replace(h, n)),
        6 => (hash(), pick()).prop_map(|(h, n)| TableCall::Remove(h, n)),
        4 => (hash(), pick()).prop_map(|(h, n)| TableCall::Find(h, n)),
        2 => hash().prop_map(TableCall::IterHash),
        1 => (2_u32..4).prop_map(TableCall::Retain),
        1 => Just(TableCall::CompareAll),
    ];
    let call = prop_oneof![
        60 => call,
        1 => Just(TableCall::Clear),
        1 => (0_usize..100).prop_map(TableCall::Reserve),
    ];
    prop::collection::vec(call, 0..300)
}

type Entry = (u64, u32);

/// The entries of a table, and the number of the next one.
#[derive(Default)]
struct Model {
    entries: HashSet<Entry>,
    next: u32,
}

impl Model {
    fn new_entry(&mut self, hash: u64) -> Entry {
        self.next += 1;
        (hash, self.next)
    }

    fn any(&self, hash: u64, n: u32) -> bool {
        self.entries.iter().any(|&entry| matches(entry, hash, n))
    }
}

fn matches((hash, number): Entry, wanted: u64, n: u32) -> bool {
    hash == wanted && number.is_multiple_of(n)
}

fn apply_to_table(table: &NullsHashTable<Entry>, model: &mut Model, call: TableCall) {
    let t = table.pin();
    match call {
        TableCall::Insert(h) => {
            let entry = model.new_entry(HASHES[h]);
            assert_eq!(t.insert(entry.0, entry), &entry);
            model.entries.insert(entry);
        }
        TableCall::TryInsert(h, n) => {
            let entry = model.new_entry(HASHES[h]);
            match t.try_insert(entry.0, entry, |&found| matches(found, entry.0, n)) {
                Ok(inserted) => {
                    assert!(!model.any(entry.0, n));
                    assert_eq!(inserted, &entry);
                    model.entries.insert(entry);
                }
                Err(InsertError::Occupied(back, found)) => {
                    assert_eq!(back, entry);
                    assert!(model.entries.contains(found) && matches(*found, entry.0, n));
                }
                Err(other) => panic!("{other}"),
            }
        }
        TableCall::Replace(h, n) => {
            let entry = model.new_entry(HASHES[h]);
            match t.replace(entry.0, |&found| matches(found, entry.0, n), entry) {
                Ok(old) => {
                    assert!(matches(*old, entry.0, n) && model.entries.remove(old));
                    model.entries.insert(entry);
                }
                Err(back) => assert_eq!((back, model.any(entry.0, n)), (entry, false)),
            }
        }
        TableCall::Remove(h, n) => match t.remove(HASHES[h], |&found| matches(found, HASHES[h], n))
        {
            Some(removed) => {
                assert!(matches(*removed, HASHES[h], n) && model.entries.remove(removed));
            }
            None => assert!(!model.any(HASHES[h], n)),
        },
        TableCall::Find(h, n) => match t.find(HASHES[h], |&found| matches(found, HASHES[h], n)) {
            Some(found) => {
                assert!(matches(*found, HASHES[h], n) && model.entries.contains(found));
                assert!(t.maybe_contains(HASHES[h]));
            }
            None => assert!(!model.any(HASHES[h], n)),
        },
        TableCall::IterHash(h) => {
            let iter = t.iter_hash(HASHES[h]);
            let (left, hint) = (iter.len(), iter.size_hint());
            let found: Vec<_> = iter.filter(|entry| entry.0 == HASHES[h]).copied().collect();
            assert_eq!(hint, (left, Some(left)));
            let set: HashSet<_> = found.iter().copied().collect();
            assert_eq!(found.len(), set.len(), "an entry came twice");
            let expected = model
                .entries
                .iter()
                .copied()
                .filter(|entry| entry.0 == HASHES[h]);
            assert_eq!(set, expected.collect());
            assert!(t.maybe_contains(HASHES[h]) || set.is_empty());
        }
        TableCall::Retain(n) => {
            t.retain(|entry| entry.1 % n != 0);
            model.entries.retain(|entry| entry.1 % n != 0);
        }
        TableCall::Clear => {
            t.clear();
            model.entries.clear();
        }
        TableCall::Reserve(n) => table.reserve(n),
        TableCall::CompareAll => {
            let all: Vec<_> = t.iter().copied().collect();
            assert_eq!(all.len(), model.entries.len());
            assert_eq!(all.iter().copied().collect::<HashSet<_>>(), model.entries);
            assert_eq!((&t).into_iter().count(), all.len());
            assert_eq!(table.stats().entries, all.len());
        }
    }
    assert_eq!(
        (table.len(), table.is_empty()),
        (model.entries.len(), model.entries.is_empty())
    );
}

#[test]
fn random_calls_on_a_table_agree_with_a_set() {
    check(sized(64, 2), &table_calls(), |calls| {
        // The hasher is of no use here, so neither are the kinds that differ by it.
        let kinds = Kind::all();
        for_kinds(
            kinds
                .into_iter()
                .filter(|kind| matches!(kind.hasher, TestState::Sip)),
            |kind| {
                let table = kind.table();
                let mut model = Model::default();
                for &call in &calls {
                    apply_to_table(&table, &mut model, call);
                }
                apply_to_table(&table, &mut model, TableCall::CompareAll);
            },
        );
    });
}

#[test]
fn a_table_keeps_duplicates() {
    for_each_kind(|kind| {
        let table = kind.table();
        let t = table.pin();
        for i in 0..50 {
            t.insert(7, i);
        }
        assert_eq!(
            (table.len(), t.iter_hash(7).count(), t.iter().count()),
            (50, 50, 50)
        );
        let mut seen: Vec<_> = t.iter_hash(7).copied().collect();
        seen.sort_unstable();
        assert!(seen.into_iter().eq(0..50));
        assert_eq!(t.find(7, |&i| i == 31), Some(&31));
        assert_eq!(t.iter_hash(8).count(), 0);
        for left in (0..50).rev() {
            assert!(t.remove(7, |_| true).is_some());
            assert_eq!((table.len(), t.iter_hash(7).count()), (left, left));
        }
        assert_eq!(t.remove(7, |_| true), None);
    });
}

#[test]
fn an_equality_test_is_asked_about_its_own_hash_only() {
    for_each_kind(|kind| {
        let table = kind.table();
        let t = table.pin();
        for hash in 0..300_u64 {
            t.insert(hash << 32 | hash, hash);
        }
        for hash in 0..300_u64 {
            let (bits, mut asked) = (hash << 32 | hash, Vec::new());
            assert_eq!(
                t.find(bits, |&found| {
                    asked.push(found);
                    false
                }),
                None
            );
            // With a shift of 32, what is stored of this hash is what is above.
            assert_eq!(asked, [hash]);
        }
    });
}

#[test]
fn a_table_by_reference_to_a_shared_guard() {
    static TABLE: NullsHashTable<u32> = NullsHashTable::new();
    TABLE.pin().insert(1, 1);
    assert_eq!(TABLE.len(), 1);

    let collector = Collector::builder().batch_size(0).build();
    let table: NullsHashTable<String> = NullsHashTable::builder()
        .collector(collector.clone())
        .build();
    let mut guard = collector.guard();
    table.with_guard(&guard).insert(1, "one".to_string());
    guard.refresh();
    let t = table.with_guard(&guard);
    let one = t.remove(1, |_| true);
    guard.flush();
    assert_eq!(one, Some(&"one".to_string()));
    assert!(table.is_empty());
    let default: NullsHashTable<u32> = NullsHashTable::default();
    let presized: NullsHashTable<u32> = NullsHashTable::with_capacity(100);
    assert_eq!((default.capacity(), presized.capacity() >= 100), (0, true));
    presized.reserve(1000);
    assert_eq!(presized.try_reserve(1000), Ok(()));
    assert!(presized.capacity() >= 1000);
}

#[test]
fn maybe_contains_never_denies_what_is_there() {
    let rng = Rng::new(0x5eed_0002);
    for_each_kind(|kind| {
        let mut rng = rng.clone();
        let table = kind.table();
        let t = table.pin();
        let hashes: Vec<_> = (0..sized(1000, 50))
            .map(|i| kind.hash(&(i as u64)))
            .collect();
        assert!(!t.maybe_contains(hashes[0]));
        for &hash in &hashes {
            t.insert(hash, hash);
        }
        assert!(hashes.iter().all(|&hash| t.maybe_contains(hash)));
        if kind.capacity == 4000 {
            // Well-filled, but not so that every tag is taken: nearly all absent hashes are known
            // to be.
            let wrong = (0..10_000).filter(|_| t.maybe_contains(rng.next())).count();
            assert!(wrong < 500, "{wrong} of 10,000");
        }
        t.clear();
        assert!(!hashes.iter().any(|&hash| t.maybe_contains(hash)));
    });
}

#[test]
fn the_default_hasher_differs_from_map_to_map() {
    let (a, b): (NullsHashMap<u32, u32>, NullsHashMap<u32, u32>) = Default::default();
    let _: &RandomState = a.hasher();
    assert_ne!(a.hasher().hash_one(1), b.hasher().hash_one(1));
}
