//! Sizes, hashers, equality tests and types at the edges of what is allowed.

#![cfg(all(feature = "std", not(nulls_loom)))]
#![allow(clippy::cast_possible_truncation, reason = "small numbers")]
#![allow(
    clippy::std_instead_of_alloc,
    clippy::std_instead_of_core,
    reason = "a test is a program of std"
)]

mod common;

use core::cell::Cell;
use core::fmt::Debug;
use core::hash::{BuildHasher, Hash, Hasher};
use core::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::collections::HashSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::thread;

use common::{Kind, Ledger, Map, Rng, TestState, Watchdog, for_each_kind, sized};
use nulls::{Compute, Growth, NullsHashMap, NullsHashTable, Operation};

/// What a panic said.
fn message(call: impl FnOnce()) -> String {
    let payload = catch_unwind(AssertUnwindSafe(call)).expect_err("this panics");
    match payload.downcast::<String>() {
        Ok(message) => *message,
        Err(payload) => (*payload.downcast_ref::<&str>().expect("a message")).to_string(),
    }
}

// ---- sizes ----

#[test]
fn an_impossible_capacity_panics_with_a_message() {
    // The second would be 2^32 buckets, one power of two above what an array may have.
    let too_many = (1_usize << 31).checked_mul(5).map(|most| most + 1);
    for capacity in [Some(usize::MAX), too_many].into_iter().flatten() {
        let expected = format!("no memory for a capacity of {capacity}");
        for message in [
            message(|| drop(NullsHashMap::<u8, u8>::with_capacity(capacity))),
            message(|| drop(NullsHashMap::<u8, u8>::builder().capacity(capacity).build())),
            message(|| drop(NullsHashTable::<u8>::with_capacity(capacity))),
            message(|| {
                let hasher = TestState::Sip;
                drop(NullsHashMap::<u8, u8, _>::with_capacity_and_hasher(
                    capacity, hasher,
                ));
            }),
        ] {
            assert!(message.starts_with(&expected), "{message}");
        }
    }
}

#[test]
fn an_impossible_reservation_is_an_error_and_changes_nothing() {
    for kind in [
        Kind::plain(),
        Kind {
            capacity: 100,
            ..Kind::plain()
        },
    ] {
        let map: Map<u32, u32> = kind.map();
        for more in [usize::MAX, usize::MAX - 1, usize::MAX / 2] {
            let error = map.try_reserve(more).expect_err("too many");
            assert_eq!(
                error.to_string(),
                format!("no memory for {more} more entries")
            );
            assert_eq!(
                message(|| map.reserve(more)),
                format!("no memory for {more} more entries")
            );
        }
        map.pin().insert(1, 1);
        let before = map.stats();
        assert!(map.try_reserve(usize::MAX).is_err());
        assert_eq!(map.stats(), before);
        assert_eq!(map.pin().get(&1), Some(&1));
    }
}

#[test]
fn nothing_is_found_in_an_empty_map_by_any_call() {
    for_each_kind(|kind| {
        let map: Map<u32, u32> = kind.map();
        // Without an array, without entries, and with entries gone.
        for _ in 0..3 {
            let m = map.pin();
            assert_eq!(
                (m.get(&1), m.get_key_value(&1), m.contains_key(&1)),
                (None, None, false)
            );
            assert_eq!((m.remove(&1), m.remove_entry(&1)), (None, None));
            assert_eq!(m.remove_if(&1, |_, _| true), Ok(None));
            assert_eq!((m.update(1, |v| *v), m.replace(1, 1)), (None, Err((1, 1))));
            assert_eq!(m.compute(1, |_| Operation::Remove), Compute::Aborted);
            m.retain(|_, _| unreachable!("there is no entry"));
            m.clear();
            assert_eq!(
                (m.iter().next(), map.len(), map.stats().entries),
                (None, 0, 0)
            );
            map.reserve(0);
            for key in 0..50 {
                m.insert(key, key);
            }
            m.retain(|_, _| false);
        }
        let table = kind.table::<u32>();
        let t = table.pin();
        assert!(!t.maybe_contains(1));
        assert_eq!((t.find(1, |_| true), t.remove(1, |_| true)), (None, None));
        assert_eq!((t.iter_hash(1).next(), t.iter().next()), (None, None));
        assert_eq!(t.replace(1, |_| true, 2), Err(2));
        t.retain(|_| unreachable!("there is no entry"));
        t.clear();
    });
}

#[test]
fn the_smallest_table_holds_any_number() {
    let map: Map<usize, usize> = Kind {
        growth: Growth::Fixed,
        capacity: 1,
        ..Kind::plain()
    }
    .map();
    let m = map.pin();
    let n = sized(4000, 100);
    for key in 0..n {
        assert_eq!(m.insert(key, key), None);
    }
    let stats = map.stats();
    assert_eq!(
        (stats.buckets, stats.linked_buckets, stats.entries),
        (4, 4, n)
    );
    assert!(stats.longest_chain >= n / 24);
    assert!((0..n).all(|key| m.get(&key) == Some(&key)));
    assert_eq!(
        m.iter().map(|(&key, _)| key).collect::<HashSet<_>>().len(),
        n
    );
    for key in 0..n {
        assert_eq!(m.remove(&key), Some(&key));
    }
    assert_eq!((map.stats().linked_buckets, map.len()), (0, 0));
}

// ---- hashers ----

/// Growth goes by load: 20,000 entries of one hash lie in one chain, however large the array is.
#[test]
fn a_constant_hasher_does_not_double_for_ever() {
    let _watchdog = Watchdog::seconds(60);
    let map: Map<usize, usize> = Kind {
        hasher: TestState::Constant,
        ..Kind::plain()
    }
    .map();
    let m = map.pin();
    let n = sized(20_000, 200);
    for key in 0..n {
        assert_eq!(m.insert(key, key), None);
    }
    let stats = map.stats();
    assert!(stats.buckets <= (n / 5).next_power_of_two() * 2, "{stats}");
    assert_eq!((stats.entries, stats.linked_buckets), (n, 1));
    assert_eq!(stats.longest_chain, n.div_ceil(6));
    assert!(stats.overflow_lines <= n / 3, "{stats}");
    for key in (0..n).step_by(97) {
        assert_eq!(m.get(&key), Some(&key));
    }
    let mut keys: Vec<_> = m.keys().copied().collect();
    keys.sort_unstable();
    assert!(keys.into_iter().eq(0..n));
    m.retain(|key, _| key % 2 == 0);
    assert_eq!(map.len(), n / 2);
    m.clear();
    assert_eq!((map.len(), map.stats().linked_buckets), (0, 0));
}

/// Stored bits and tags differ, the bucket does not.
#[test]
fn every_key_in_one_bucket() {
    let map: Map<usize, usize> = Kind {
        hasher: TestState::OneBucket,
        ..Kind::plain()
    }
    .map();
    let m = map.pin();
    let n = sized(5000, 200);
    for key in 0..n {
        m.insert(key, key);
        if key % 500 == 0 {
            assert_eq!(map.stats().linked_buckets, usize::from(key > 6));
        }
    }
    assert!((0..n).all(|key| m.get(&key) == Some(&key)));
    assert!((n..n + 1000).all(|key| m.get(&key).is_none()));
    for key in (0..n).rev() {
        assert_eq!(m.remove(&key), Some(&key));
    }
    assert_eq!((m.iter().next(), map.stats().linked_buckets), (None, 0));
}

/// Hashes that are equal in all 32 stored bits and in the tag, and yet not equal, are told apart by `Eq` alone.
#[test]
fn hashes_that_agree_in_bits_and_tag() {
    // Adding this leaves the low 32 bits and, the product being below 2^56, most often the tag.
    let hashes: Vec<u64> = (0..1 << 12).map(|high| high << 32 | 5).collect();
    let table = NullsHashTable::new();
    let t = table.pin();
    for &hash in &hashes {
        t.insert(hash, hash);
    }
    for &hash in &hashes {
        assert_eq!(t.find(hash, |&found| found == hash), Some(&hash));
    }
    assert!(
        hashes.iter().any(|&hash| t.iter_hash(hash).count() > 1),
        "some do agree"
    );
    for &hash in &hashes {
        assert_eq!(t.remove(hash, |&found| found == hash), Some(&hash));
    }
    assert!(table.is_empty());
}

#[test]
fn a_shift_of_32_takes_the_upper_half() {
    let table: NullsHashTable<u64> = NullsHashTable::builder()
        .shift(32)
        .capacity(40)
        .growth(Growth::Fixed)
        .build();
    let t = table.pin();
    // 2^32 consecutive hashes share a bucket.
    for low in 0..12 {
        t.insert(low * 0x1000_0001, low);
    }
    assert_eq!(table.stats().linked_buckets, 1);
    for high in 1..8 {
        t.insert(high << 32, 100 + high);
    }
    let stats = table.stats();
    assert_eq!(
        (stats.buckets, stats.linked_buckets, stats.entries),
        (8, 1, 19)
    );
    assert_eq!(t.find(3 << 32, |_| true), Some(&103));
    assert_eq!(t.find(3 * 0x1000_0001, |_| true), Some(&3));
}

#[test]
fn a_shift_of_33_panics() {
    let expected = "`shift` takes at most 32 of 64 hash bits";
    assert_eq!(
        message(|| drop(NullsHashMap::<u8, u8>::builder().shift(33))),
        expected
    );
    assert_eq!(
        message(|| drop(NullsHashTable::<u8>::builder().shift(33))),
        expected
    );
    assert_eq!(
        message(|| drop(NullsHashTable::<u8>::builder().shift(u32::MAX))),
        expected
    );
}

/// Panics every `every`th time.
#[derive(Clone)]
struct Panicking<'a> {
    calls: &'a AtomicUsize,
    every: usize,
}

impl BuildHasher for Panicking<'_> {
    type Hasher = <TestState as BuildHasher>::Hasher;

    fn build_hasher(&self) -> Self::Hasher {
        assert!(
            !(self.calls.fetch_add(1, Relaxed) + 1).is_multiple_of(self.every),
            "a hasher that panics"
        );
        TestState::Sip.build_hasher()
    }
}

#[test]
fn hashers_that_panic() {
    let calls = AtomicUsize::new(0);
    let hasher = Panicking {
        calls: &calls,
        every: 3,
    };
    let map = NullsHashMap::<u32, u32>::builder().hasher(hasher).build();
    let mut model = std::collections::HashMap::new();
    let mut panics = 0;
    let mut rng = Rng::new(0x5eed_0003);
    for _ in 0..sized(3000, 60) {
        let (key, value, what) = (rng.below(200) as u32, rng.next() as u32, rng.below(4));
        let result = catch_unwind(AssertUnwindSafe(|| {
            let m = map.pin();
            match what {
                0 => m.remove(&key).copied(),
                1 => m.update(key, |v| v ^ value).copied(),
                _ => m.insert(key, value).copied(),
            }
        }));
        match result {
            Err(_) => panics += 1,
            Ok(was) => match what {
                0 => assert_eq!(was, model.remove(&key)),
                1 => assert_eq!(
                    was,
                    model.get_mut(&key).map(|v| {
                        *v ^= value;
                        *v
                    })
                ),
                _ => assert_eq!(was, model.insert(key, value)),
            },
        }
        assert_eq!(map.len(), model.len());
    }
    assert!(panics > sized(500, 10));
    let mut entries: Vec<_> = map.pin().iter().map(|(&k, &v)| (k, v)).collect();
    entries.sort_unstable();
    let mut expected: Vec<_> = model.into_iter().collect();
    expected.sort_unstable();
    assert_eq!(entries, expected);
}

// ---- equality that lies ----

#[derive(Clone, Copy, Debug)]
enum Lie {
    AllEqual,
    NoneEqual,
    Random,
}

thread_local! {
    static LIE: Cell<(Lie, u64)> = const { Cell::new((Lie::NoneEqual, 1)) };
}

#[derive(Debug)]
struct Liar(u32);

impl PartialEq for Liar {
    fn eq(&self, _: &Self) -> bool {
        let (lie, state) = LIE.get();
        let state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        LIE.set((lie, state));
        match lie {
            Lie::AllEqual => true,
            Lie::NoneEqual => false,
            Lie::Random => state >> 63 == 1,
        }
    }
}

impl Eq for Liar {}

impl Hash for Liar {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.hash(state);
    }
}

/// Wrong answers, but no entry is lost or dropped twice, `len` agrees with iteration, and nothing hangs.
fn live_with(lie: Lie, hasher: TestState, threads: u64, rng: &Rng) {
    let ledger = Ledger::new();
    let map: Map<Liar, common::Counted> = Kind {
        hasher,
        ..Kind::plain()
    }
    .map();
    thread::scope(|s| {
        for n in 0..threads {
            let (map, ledger, mut rng) = (&map, &ledger, rng.fork(n));
            s.spawn(move || {
                LIE.set((lie, rng.next()));
                for _ in 0..sized(3000, 50) {
                    let m = map.pin();
                    let key = Liar(rng.below(100) as u32);
                    match rng.below(10) {
                        0..4 => drop(m.insert(key, ledger.make())),
                        4 => drop(m.try_insert(key, ledger.make())),
                        5 => drop(m.update(key, |_| ledger.make())),
                        6 => drop(m.compute(key, |found| match found {
                            Some(_) => Operation::Remove,
                            None => Operation::Insert(ledger.make()),
                        })),
                        7 => drop(m.get_or_insert_with(key, || ledger.make())),
                        8 => drop(m.remove(&key)),
                        _ => drop(m.get(&key)),
                    }
                }
            });
        }
    });
    assert_eq!(map.pin().iter().count(), map.len());
    assert_eq!(map.stats().entries, map.len());
    ledger.assert_none_dropped_twice();
    map.pin().retain(|key, _| key.0 % 2 == 0);
    map.pin().clear();
    assert_eq!(map.len(), 0);
    drop(map);
    ledger.assert_each_dropped_once();
}

#[test]
fn equality_that_lies_costs_wrong_answers_only() {
    let _watchdog = Watchdog::seconds(60);
    let rng = Rng::new(0x5eed_0004);
    for lie in [Lie::AllEqual, Lie::NoneEqual, Lie::Random] {
        for hasher in [TestState::Sip, TestState::Constant] {
            live_with(lie, hasher, 1, &rng);
            live_with(lie, hasher, 3, &rng);
        }
    }
}

// ---- keys and values ----

/// A life of a map of some type, which is what differs between the tests below.
fn live<K: Hash + Eq + Debug + Send + 'static, V: PartialEq + Debug + Send + 'static>(
    keys: usize,
    key: impl Fn(usize) -> K,
    value: impl Fn(usize) -> V,
) {
    for_each_kind(|kind| {
        let map: Map<K, V> = kind.map();
        let m = map.pin();
        for i in 0..keys {
            assert_eq!(m.insert(key(i), value(i)), None);
        }
        for i in 0..keys {
            assert_eq!(m.get(&key(i)), Some(&value(i)));
            assert_eq!(m.insert(key(i), value(i + 1)), Some(&value(i)));
            assert!(aligned(m.get(&key(i)).expect("inserted")));
            assert!(aligned(m.get_key_value(&key(i)).expect("inserted").0));
        }
        assert_eq!((map.len(), m.iter().count()), (keys, keys));
        for i in 0..keys {
            assert_eq!(m.remove(&key(i)), Some(&value(i + 1)));
        }
        assert!(map.is_empty());
        m.insert(key(0), value(0));
    });
}

fn aligned<T>(reference: &T) -> bool {
    core::ptr::from_ref(reference)
        .addr()
        .is_multiple_of(align_of::<T>())
}

#[test]
fn zero_sized_keys_and_values() {
    live(1, |_| (), |i| i);
    live(100, |i| i, |_| ());
    live(1, |_| (), |_| ());
    live(1, |_| [0_u64; 0], |_| [0_u128; 0]);

    let set: NullsHashTable<()> = NullsHashTable::new();
    let t = set.pin();
    for hash in 0..100 {
        t.insert(hash, ());
    }
    assert_eq!((set.len(), t.iter().count()), (100, 100));
    assert!((0..100).all(|hash| t.remove(hash, |()| true).is_some()));
    assert!(set.is_empty());
}

#[test]
fn over_aligned_keys_and_values() {
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    #[repr(align(64))]
    struct Line(usize);
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    #[repr(align(128))]
    struct TwoLines(u8);
    live(100, Line, |i| i);
    live(100, |i| i as u8, |i| TwoLines(i as u8));
    live(100, Line, |i| TwoLines(i as u8));
    live(100, |i| i, Line);
}

#[test]
fn values_of_a_page() {
    live(sized(60, 10), |i| i, |i| [i as u8; 4096]);
    live(sized(60, 10), |i| [i as u8; 4096], |i| i);
}

#[test]
fn keys_and_values_that_own_and_borrow() {
    live(60, |i| vec![i; 3], |i| Some(Box::new(i)));
    // Not `'static`, and not `Send`: a map with a collector of its own takes them.
    let names = ["one".to_string(), "two".to_string()];
    let map = NullsHashMap::new();
    let m = map.pin();
    for name in &names {
        m.insert(name.as_str(), std::rc::Rc::new(name.len()));
    }
    assert_eq!(m.get("two").map(|length| **length), Some(3));
}
