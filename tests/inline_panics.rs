//! Panics in `Hash`, `Eq` and closures of an inline map: the map is as it was, and nothing stays
//! locked. A `Hash` or an `Eq` that breaks its contract: wrong answers, and nothing worse.

#![cfg(all(feature = "std", not(nulls_loom)))]
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

use bytemuck::{Pod, Zeroable};
use common::{InlineMap, Kind, Rng, TestState, Watchdog, for_kinds, ignore, sized};
use nulls::{InlineHashMap, InlineHashMapRef, Operation};

thread_local! {
    /// How many hashes are left on this thread before one panics.
    static FUSE: Cell<Option<usize>> = const { Cell::new(None) };
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(transparent)]
struct Key(u64);

impl Hash for Key {
    fn hash<H: Hasher>(&self, state: &mut H) {
        let fuse = FUSE.take();
        assert_ne!(fuse, Some(0), "a key that cannot be hashed");
        FUSE.set(fuse.map(|left| left - 1));
        self.0.hash(state);
    }
}

/// A mover hashes keys that others inserted. One that cannot be hashed keeps its bucket where it is,
/// and the others go on; once it can be, the migration ends by itself.
#[test]
fn a_hash_that_panics_in_a_mover_only_delays_the_migration() {
    let _watchdog = Watchdog::seconds(60);
    let map: InlineHashMap<Key, u64, TestState> = InlineHashMap::default();
    let m = map.pin();
    let mut keys = 0;
    while keys < 2000 || !map.stats().migrating {
        m.insert(Key(keys), keys);
        keys += 1;
    }
    // The first hash is that of the key, the others are of keys that move: of 32 buckets a call.
    for left in [1, 10, 40] {
        FUSE.set(Some(left));
        let call = AssertUnwindSafe(|| m.insert(Key(0), 0));
        assert!(catch_unwind(call).is_err());
        assert!(map.stats().migrating);
    }
    assert!((0..keys).all(|key| m.get(&Key(key)) == Some(key)));
    // Far more writes than the array has buckets.
    for _ in 0..10 * keys {
        m.insert(Key(0), 0);
    }
    let stats = map.stats();
    assert!(!stats.migrating, "the migration never ends: {stats}");
}

// ---- panics wherever the caller's code runs ----

/// How many calls of the caller's code are left on this thread before one panics.
fn burn() {
    let fuse = BURN.take();
    assert_ne!(fuse, Some(0), "the caller's code");
    BURN.set(fuse.map(|left| left - 1));
}

thread_local! {
    static BURN: Cell<Option<usize>> = const { Cell::new(None) };
}

/// A key whose `Hash` and `Eq` burn the fuse.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(transparent)]
struct Fused(u64);

impl PartialEq for Fused {
    fn eq(&self, other: &Self) -> bool {
        burn();
        self.0 == other.0
    }
}

impl Eq for Fused {}

impl Hash for Fused {
    fn hash<H: Hasher>(&self, state: &mut H) {
        burn();
        self.0.hash(state);
    }
}

/// Two lines a bucket, and updates that need a free slot.
type Value = [u64; 2];
type FusedMap = InlineMap<Fused, Value>;
type View<'m> = InlineHashMapRef<'m, Fused, Value, TestState>;

const ENTRIES: u64 = 20;
const PRESENT: u64 = 3;
const ABSENT: u64 = 1000;
const NEW: Value = [7, 8];

/// Kinds in which a few buckets hold all, so that whatever stays locked is met, and others.
fn kinds() -> impl Iterator<Item = Kind> {
    Kind::all().into_iter().filter(|kind| {
        kind.collector.is_none() && matches!(kind.hasher, TestState::Sip | TestState::Constant)
    })
}

fn filled(kind: &Kind) -> FusedMap {
    let map: FusedMap = kind.inline();
    for key in 0..ENTRIES {
        map.pin().insert(Fused(key), [key, !key]);
    }
    map
}

fn snapshot(map: &FusedMap) -> Vec<(u64, Value)> {
    let mut entries: Vec<_> = map
        .pin()
        .iter()
        .map(|(key, value)| (key.0, value))
        .collect();
    entries.sort_unstable();
    entries
}

/// Another thread writes to each bucket, which hangs if one is locked.
fn assert_nothing_is_locked(map: &FusedMap) {
    thread::scope(|s| {
        s.spawn(|| {
            let m = map.pin();
            for key in 2000..2064 {
                assert_eq!(m.insert(Fused(key), NEW), None);
                assert_eq!(m.remove(&Fused(key)), Some(NEW));
            }
        });
    });
}

/// Every call of a view on one key.
fn each_call(test: impl Fn(&str, &dyn Fn(&View<'_>, Fused))) {
    test("get", &|m, key| ignore(m.get(&key)));
    test("get_key_value", &|m, key| ignore(m.get_key_value(&key)));
    test("contains_key", &|m, key| ignore(m.contains_key(&key)));
    test("get_many", &|m, key| ignore(m.get_many([&key, &key])));
    test("insert", &|m, key| ignore(m.insert(key, NEW)));
    test("try_upsert", &|m, key| ignore(m.try_upsert(key, NEW)));
    test("try_insert", &|m, key| ignore(m.try_insert(key, NEW)));
    test("get_or_insert", &|m, key| ignore(m.get_or_insert(key, NEW)));
    test("get_or_insert_with", &|m, key| {
        m.get_or_insert_with(key, || {
            burn();
            NEW
        });
    });
    test("update", &|m, key| {
        m.update(key, |_| {
            burn();
            NEW
        });
    });
    test("compute, insert", &|m, key| {
        m.compute(key, |_| {
            burn();
            Operation::Insert(NEW)
        });
    });
    test("compute, remove", &|m, key| {
        m.compute(key, |_| {
            burn();
            Operation::Remove
        });
    });
    test("replace", &|m, key| ignore(m.replace(key, NEW)));
    test("remove", &|m, key| ignore(m.remove(&key)));
    test("remove_entry", &|m, key| ignore(m.remove_entry(&key)));
    test("remove_many", &|m, key| ignore(m.remove_many(&[key])));
    test("remove_if", &|m, key| {
        ignore(m.remove_if(&key, |_, _| {
            burn();
            true
        }));
    });
}

/// Lets a call panic at each point where it runs the caller's code, until it gets through. How many there were.
fn panics_at_each_point(
    kind: &Kind,
    name: &str,
    key: u64,
    call: &dyn Fn(&View<'_>, Fused),
) -> usize {
    let map = filled(kind);
    let before = snapshot(&map);
    for n in 0.. {
        assert!(n < 10_000, "{name} never gets through");
        BURN.set(Some(n));
        let result = catch_unwind(AssertUnwindSafe(|| call(&map.pin(), Fused(key))));
        BURN.set(None);
        if result.is_ok() {
            return n;
        }
        assert_eq!(snapshot(&map), before, "{name} on {key}, {n}th point");
        assert_eq!(map.len(), before.len());
        assert_nothing_is_locked(&map);
    }
    unreachable!("it gets through or fails")
}

#[test]
fn a_panic_changes_and_locks_nothing_wherever_it_comes_from() {
    let _watchdog = Watchdog::seconds(60);
    for_kinds(kinds(), |kind| {
        each_call(|name, call| {
            for key in [PRESENT, ABSENT] {
                let points = panics_at_each_point(kind, name, key, call);
                assert!(points >= 1, "{name} runs the caller's code");
            }
        });
    });
}

/// `retain` has removed what it has removed; an iteration that panics has changed nothing.
#[test]
fn a_panic_in_retain_keeps_what_it_has_not_come_to() {
    let _watchdog = Watchdog::seconds(60);
    for_kinds(kinds(), |kind| {
        for n in [1, 7, 25] {
            let map = filled(kind);
            let before = snapshot(&map);
            let mut refused = Vec::new();
            BURN.set(Some(n));
            let retain = AssertUnwindSafe(|| {
                map.pin().retain(|key, _| {
                    burn();
                    refused.push(key.0);
                    false
                });
            });
            assert!(catch_unwind(retain).is_err());
            BURN.set(None);
            let left: Vec<_> = before
                .into_iter()
                .filter(|(key, _)| !refused.contains(key))
                .collect();
            assert_eq!((snapshot(&map), map.len()), (left.clone(), left.len()));
            assert_nothing_is_locked(&map);
        }
    });
}

// ---- contracts that are broken ----

thread_local! {
    /// Chance for keys that have no hash or no equality of their own.
    static CHANCE: Cell<u64> = const { Cell::new(1) };
}

fn chance(one_in: u64) -> bool {
    CHANCE.set(
        CHANCE
            .get()
            .wrapping_mul(0x5851_f42d_4c95_7f2d)
            .wrapping_add(1),
    );
    (CHANCE.get() >> 33).is_multiple_of(one_in)
}

/// Of 32 keys. `LIES`: now and then it is hashed as another, or equal to another, or not to itself.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(transparent)]
struct Liar<const HASH: bool, const EQ: bool>(u64);

impl<const HASH: bool, const EQ: bool> PartialEq for Liar<HASH, EQ> {
    fn eq(&self, other: &Self) -> bool {
        (self.0 == other.0) != (EQ && chance(4))
    }
}

impl<const HASH: bool, const EQ: bool> Eq for Liar<HASH, EQ> {}

impl<const HASH: bool, const EQ: bool> Hash for Liar<HASH, EQ> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (self.0 + u64::from(HASH && chance(4))).hash(state);
    }
}

/// Every write, at random. Any answer will do, if it is a value that somebody wrote.
fn do_anything<const HASH: bool, const EQ: bool>(
    map: &InlineMap<Liar<HASH, EQ>, Value>,
    rounds: usize,
    mut rng: Rng,
) {
    CHANCE.set(rng.next());
    let assert_whole = |value: Value| assert_eq!(value[0], !value[1], "a torn value");
    for round in 0..rounds as u64 {
        let (m, key) = (map.pin(), Liar(rng.below(32)));
        let value = [round, !round];
        match rng.below(11) {
            0 | 1 => m.insert(key, value).into_iter().for_each(assert_whole),
            2 => m.remove(&key).into_iter().for_each(assert_whole),
            3 => ignore(m.update(key, |_| value)),
            4 => ignore(m.compute(key, |found| match found {
                Some(_) => Operation::Remove,
                None => Operation::Insert(value),
            })),
            5 => ignore(m.replace(key, value)),
            6 => assert_whole(m.get_or_insert(key, value)),
            7 => ignore(m.insert_many([(key, value), (key, value)])),
            8 => ignore(m.remove_many(&[key, Liar(rng.below(32))])),
            9 if round % 64 == 0 => m.retain(|key, _| key.0 % 2 == 0),
            _ => m.get(&key).into_iter().for_each(assert_whole),
        }
        if round % 64 == 0 {
            m.values().for_each(assert_whole);
        }
    }
}

fn lies_are_survived<const HASH: bool, const EQ: bool>(rng: &Rng) {
    let _watchdog = Watchdog::seconds(60);
    for_kinds(Kind::all(), |kind| {
        let map: InlineMap<Liar<HASH, EQ>, Value> = kind.inline();
        thread::scope(|s| {
            for n in 0..2 {
                let (map, rng) = (&map, rng.fork(n));
                s.spawn(move || do_anything(map, sized(5000, 50), rng));
            }
        });
        // What is counted is what is there, whether it is found or not; and all of it can go.
        assert_eq!(map.len(), map.stats().entries);
        map.pin().clear();
        assert_eq!((map.len(), map.stats().entries), (0, 0));
    });
}

#[test]
fn a_random_hash_gives_wrong_answers_only() {
    lies_are_survived::<true, false>(&Rng::new(0x5eed_0060));
}

#[test]
fn an_equality_that_lies_gives_wrong_answers_only() {
    lies_are_survived::<false, true>(&Rng::new(0x5eed_0061));
    lies_are_survived::<true, true>(&Rng::new(0x5eed_0062));
}

thread_local! {
    /// What the next hash of a [`Fickle`] key is, and what all others are.
    static FICKLE: Cell<(u64, u64)> = const { Cell::new((0, 0)) };
}

/// Its hash changes between two calls and stays so: no chance ends a loop that waits for it to come back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(transparent)]
struct Fickle(u64);

impl Hash for Fickle {
    fn hash<H: Hasher>(&self, state: &mut H) {
        let (now, later) = FICKLE.get();
        FICKLE.set((later, later));
        now.hash(state);
    }
}

type FickleCall = fn(&InlineHashMapRef<'_, Fickle, u64, TestState>, &Cell<u32>);

/// Every call ends, also if the hash that it began with is not the one that a second look gives.
#[test]
fn no_call_waits_for_a_hash_to_come_back() {
    let each: [(&str, FickleCall); 5] = [
        ("update", |m, runs| {
            m.update(Fickle(1), |value| {
                count_run(runs);
                value + 1
            });
        }),
        ("compute", |m, runs| {
            m.compute(Fickle(1), |found| {
                count_run(runs);
                found.map_or(Operation::Insert(1), |_| Operation::Remove)
            });
        }),
        ("replace", |m, _| ignore(m.replace(Fickle(1), 2))),
        ("remove", |m, _| ignore(m.remove(&Fickle(1)))),
        ("remove_if", |m, runs| {
            ignore(m.remove_if(&Fickle(1), |_, _| {
                count_run(runs);
                true
            }));
        }),
    ];
    for (name, call) in each {
        let map: InlineMap<Fickle, u64> = InlineHashMap::default();
        FICKLE.set((2, 2));
        map.pin().insert(Fickle(1), 1);
        FICKLE.set((1, 2));
        let runs = Cell::new(0);
        let result = catch_unwind(AssertUnwindSafe(|| call(&map.pin(), &runs)));
        assert!(
            result.is_ok(),
            "{name} does not end: its closure ran {} times",
            runs.get()
        );
    }
}

fn count_run(runs: &Cell<u32>) {
    runs.set(runs.get() + 1);
    assert!(runs.get() < 1000, "the closure is run again and again");
}
