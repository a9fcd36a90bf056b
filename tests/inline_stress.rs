//! Several threads at once on an inline map: no value is torn, what is there is found, what is updated is never absent
//! and never older than before, an iteration meets each entry once, and no count is lost.
//!
//! Sizes are for a few seconds in all. The seeds are fixed and printed; what the scheduler does is not.

#![cfg(all(feature = "std", not(nulls_loom)))]
#![allow(clippy::std_instead_of_alloc, reason = "a test is a program of std")]

mod common;

use core::fmt::Debug;
use core::hash::Hash;
use core::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::collections::VecDeque;
use std::thread;

use common::{InlineMap, Kind, Rng, TestState, for_kinds, sized};
use nulls::{Growth, InlineCompute, InlineHashMapRef, InsertError, Operation, Plain};

fn rounds(full: usize) -> u64 {
    sized(full, 40) as u64
}

// ---- entries ----

/// Keys, told by a number.
trait Key: Plain + Eq + Hash + Debug + Send {
    fn of(number: u64) -> Self;
    fn number(self) -> u64;
}

impl Key for u64 {
    fn of(number: u64) -> Self {
        number
    }

    fn number(self) -> u64 {
        self
    }
}

/// Five words, whose value is one more: two lines of one slot.
impl Key for [u8; 40] {
    fn of(number: u64) -> Self {
        let mut key = [0xa5; 40];
        key[..8].copy_from_slice(&number.to_le_bytes());
        key[32..].copy_from_slice(&number.to_be_bytes());
        key
    }

    fn number(self) -> u64 {
        let number = u64::from_le_bytes(self[..8].try_into().expect("eight bytes"));
        assert_eq!(self, Self::of(number), "a torn key");
        number
    }
}

/// Values all of whose words are made of one number.
trait Value: Plain + PartialEq + Debug + Send {
    fn of(number: u64) -> Self;
    /// Panics if the words are not of one value.
    fn number(self) -> u64;
}

impl Value for u64 {
    fn of(number: u64) -> Self {
        number
    }

    fn number(self) -> u64 {
        self
    }
}

impl<const N: usize> Value for [u64; N] {
    fn of(number: u64) -> Self {
        core::array::from_fn(|i| number.wrapping_mul(2 * i as u64 + 1) ^ i as u64)
    }

    fn number(self) -> u64 {
        assert_eq!(self, Self::of(self[0]), "a torn value");
        self[0]
    }
}

/// The number of a value that belongs to a key: which one it is, and the how-manieth.
fn belonging(key: u64, round: u64) -> u64 {
    key << 40 | round
}

fn assert_belongs<K: Key, V: Value>(key: K, value: V) {
    let number = value.number();
    assert_eq!(number >> 40, key.number(), "the value of another key");
}

type View<'m, K, V> = InlineHashMapRef<'m, K, V, TestState>;

/// Kinds under which small maps grow, chain, and recycle lines.
fn small_kinds() -> impl Iterator<Item = Kind> {
    Kind::all()
        .into_iter()
        .filter(|kind| kind.capacity <= 1 && kind.collector.is_none())
}

/// Sets a flag when it is dropped, so that a panicking thread does not leave others waiting.
struct SetOnDrop<'a>(&'a AtomicBool);

impl Drop for SetOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Release);
    }
}

/// Counts down when it is dropped, likewise.
struct Writing<'a>(&'a AtomicU64);

impl Drop for Writing<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Release);
    }
}

// ---- whole values ----

/// Writes a key in the way that `round` says.
fn write_one_way<K: Key, V: Value>(m: &View<'_, K, V>, key: u64, round: u64) {
    let (k, value) = (K::of(key), V::of(belonging(key, round)));
    match round % 8 {
        0 => drop(m.insert(k, value)),
        1 => {
            if let Some(old) = m.remove(&k) {
                assert_belongs(k, old);
            }
            m.insert(k, value);
        }
        2 => drop(m.compute(k, |found| match found {
            Some(_) if round.is_multiple_of(16) => Operation::Remove,
            _ => Operation::Insert(value),
        })),
        _ => drop(m.update(k, |&old| {
            assert_belongs(k, old);
            value
        })),
    }
}

/// Looks keys up, their hashes in hand: most of the time goes into reading words.
fn read_whole_values<K: Key, V: Value>(map: &InlineMap<K, V>, keys: u64, rng: &mut Rng) {
    let hash = |key| (K::of(key), map.hash_key(&K::of(key)));
    let keys: Vec<_> = (0..keys).map(hash).collect();
    let m = map.pin();
    let offset = rng.index(keys.len());
    for i in 0..500 {
        let (key, hash) = keys[(i + offset) % keys.len()];
        if let Some(value) = m.get_hashed(hash, &key) {
            assert_belongs(key, value);
        }
    }
    for (key, value) in m.iter().take(20) {
        assert_belongs(key, value);
    }
}

/// Writers update, remove and insert the same few keys; readers see whole values of the right key. With `growing`
/// others come until the map has grown many times.
fn no_value_is_torn<K: Key, V: Value>(
    kind: &Kind,
    keys: u64,
    rounds: u64,
    growing: bool,
    rng: &Rng,
) {
    let map: InlineMap<K, V> = kind.inline();
    let writing = AtomicU64::new(2);
    thread::scope(|s| {
        let (map, writing) = (&map, &writing);
        for n in 0..2 {
            let mut rng = rng.fork(n);
            s.spawn(move || {
                let _writing = Writing(writing);
                for first in (0..rounds).step_by(50) {
                    let m = map.pin();
                    for round in first..first + 50 {
                        write_one_way(&m, rng.below(keys), round);
                        if growing {
                            let key = keys + 2 * round + n;
                            m.insert(K::of(key), V::of(belonging(key, round)));
                        }
                    }
                }
            });
        }
        for n in 0..2 {
            let mut rng = rng.fork(10 + n);
            s.spawn(move || {
                while writing.load(Ordering::Acquire) > 0 {
                    read_whole_values(map, keys, &mut rng);
                }
            });
        }
    });
}

/// In one bucket, with tags that differ and with one tag for all; one key, which stays in the home line or leaves it at
/// each update, and several.
#[test]
fn no_value_is_torn_in_one_bucket() {
    let rng = Rng::new(0x5eed_0050);
    let in_one_bucket = [TestState::OneBucket, TestState::Constant].map(|hasher| Kind {
        hasher,
        ..Kind::plain()
    });
    for_kinds(in_one_bucket, |kind| {
        for keys in [1, 4] {
            let rounds = rounds(60_000);
            no_value_is_torn::<u64, [u64; 2]>(kind, keys, rounds, false, &rng);
            no_value_is_torn::<u64, [u64; 4]>(kind, keys, rounds / 2, false, &rng);
            no_value_is_torn::<u64, u64>(kind, keys, rounds / 4, false, &rng);
            no_value_is_torn::<[u8; 40], u64>(kind, keys, rounds / 8, false, &rng);
        }
    });
}

#[test]
fn no_value_is_torn_while_the_map_grows() {
    let rng = Rng::new(0x5eed_0051);
    let kind = Kind::plain();
    for _ in 0..2 {
        no_value_is_torn::<u64, [u64; 2]>(&kind, 2, rounds(20_000), true, &rng);
        no_value_is_torn::<u64, [u64; 4]>(&kind, 2, rounds(20_000), true, &rng);
        no_value_is_torn::<[u8; 40], u64>(&kind, 2, rounds(10_000), true, &rng);
    }
    // One chain that gets longer, and is moved time and again.
    let kind = Kind {
        hasher: TestState::OneBucket,
        ..Kind::plain()
    };
    no_value_is_torn::<u64, [u64; 2]>(&kind, 4, rounds(300), true, &rng);
}

// ---- permanent keys ----

/// Keys come and go around the permanent ones, so that lines come and go too.
fn churn<K: Key, V: Value>(
    map: &InlineMap<K, V>,
    keys: impl Iterator<Item = u64>,
    most: u64,
    mut rng: Rng,
) {
    let mut alive = VecDeque::new();
    for key in keys {
        let m = map.pin();
        assert_eq!(m.insert(K::of(key), V::of(belonging(key, 0))), None);
        alive.push_back(key);
        let keep = rng.below(most + 1);
        while alive.len() as u64 > keep {
            let key = alive.pop_front().expect("not empty");
            let removed = m.remove(&K::of(key)).expect("nobody else removes it");
            assert_belongs(K::of(key), removed);
        }
        if let Some(replaced) = rng.below(most).checked_sub(most / 2) {
            // Permanent keys are updated too, which is no absence.
            assert!(m.update(K::of(replaced), |&value| value).is_some());
        }
    }
}

/// All permanent keys are found, and met exactly once.
fn check_permanent<K: Key, V: Value>(map: &InlineMap<K, V>, permanent: u64, rng: &mut Rng) {
    let m = map.pin();
    for _ in 0..50 {
        let key = rng.below(permanent);
        let value = m.get(&K::of(key)).expect("a permanent key was missed");
        assert_belongs(K::of(key), value);
        assert!(m.contains_key(&K::of(key)));
        assert_eq!(m.get(&K::of(u64::MAX - key)), None);
    }
    let mut numbers: Vec<_> = m.keys().map(Key::number).collect();
    numbers.sort_unstable();
    assert!(
        numbers.windows(2).all(|pair| pair[0] < pair[1]),
        "an entry was met twice: {numbers:?}"
    );
    let met = numbers.iter().take_while(|&&number| number < permanent);
    assert_eq!(met.count() as u64, permanent, "a permanent key was not met");
}

fn permanent_among_churn<K: Key, V: Value>(kind: &Kind, permanent: u64, rounds: u64, rng: &Rng) {
    let map: InlineMap<K, V> = kind.inline();
    for key in 0..permanent {
        map.pin().insert(K::of(key), V::of(belonging(key, 0)));
    }
    let writing = AtomicU64::new(2);
    thread::scope(|s| {
        let (map, writing) = (&map, &writing);
        for n in 0..2 {
            let rng = rng.fork(n);
            s.spawn(move || {
                let _writing = Writing(writing);
                let keys = (0..rounds).map(|i| permanent + 2 * i + n);
                churn(map, keys, permanent, rng);
            });
        }
        for n in 0..2 {
            let mut rng = rng.fork(100 + n);
            s.spawn(move || {
                while writing.load(Ordering::Acquire) > 0 {
                    check_permanent(map, permanent, &mut rng);
                }
                check_permanent(map, permanent, &mut rng);
            });
        }
    });
    map.pin().retain(|key, _| key.number() < permanent);
    assert_eq!(map.len() as u64, permanent);
    check_permanent(&map, permanent, &mut rng.fork(7));
}

#[test]
fn permanent_keys_are_found_among_churn() {
    let rng = Rng::new(0x5eed_0052);
    for_kinds(small_kinds(), |kind| {
        for permanent in [60, 8] {
            permanent_among_churn::<u64, u64>(kind, permanent, rounds(3000), &rng);
            permanent_among_churn::<u64, [u64; 2]>(kind, permanent, rounds(3000), &rng);
            permanent_among_churn::<[u8; 40], u64>(kind, permanent, rounds(2000), &rng);
        }
    });
}

/// One writer fills a map from empty. Whatever it has inserted is found and met from then on, through every migration;
/// with `jumps` some of them are by a factor of eight.
fn found_while_growing<K: Key, V: Value>(kind: &Kind, entries: u64, jumps: bool, rng: &Rng) {
    let map: InlineMap<K, V> = kind.inline();
    let (published, done) = (AtomicU64::new(0), AtomicBool::new(false));
    thread::scope(|s| {
        let (map, published, done) = (&map, &published, &done);
        s.spawn(move || {
            let _done = SetOnDrop(done);
            for key in 0..entries {
                let value = V::of(belonging(key, 0));
                assert_eq!(map.pin().insert(K::of(key), value), None);
                published.store(key + 1, Ordering::Release);
                if jumps && key.is_power_of_two() {
                    map.reserve(usize::try_from(key).expect("few") * 4);
                }
            }
        });
        for n in 0..2 {
            let mut rng = rng.fork(n);
            s.spawn(move || {
                while !done.load(Ordering::Acquire) {
                    let known = published.load(Ordering::Acquire);
                    let m = map.pin();
                    for _ in 0..known.min(30) {
                        // Recent keys more often than old ones.
                        let reach = 1 + rng.below(known);
                        let key = known - 1 - rng.below(reach);
                        let value = m.get(&K::of(key));
                        assert_belongs(K::of(key), value.expect("a key was missed"));
                    }
                    if known > 0 && rng.below(20) == 0 {
                        check_permanent(map, known, &mut rng);
                    }
                }
            });
        }
    });
    check_permanent(&map, entries, &mut rng.fork(7));
}

#[test]
fn whatever_is_inserted_is_found_while_the_map_grows() {
    let rng = Rng::new(0x5eed_0053);
    let entries = rounds(20_000);
    for jumps in [false, true] {
        for hasher in [TestState::Sip, TestState::Identity] {
            let kind = Kind {
                hasher,
                ..Kind::plain()
            };
            found_while_growing::<u64, u64>(&kind, entries, jumps, &rng);
            found_while_growing::<u64, [u64; 2]>(&kind, entries, jumps, &rng);
            found_while_growing::<[u8; 40], u64>(&kind, entries / 2, jumps, &rng);
        }
    }
}

// ---- updates ----

/// Gives a key that is present the value of `round`, in one of four ways, and returns the old one.
fn replace_one_way<K: Key, V: Value>(map: &InlineMap<K, V>, key: K, way: u64, round: u64) -> u64 {
    let m = map.pin();
    let new = V::of(round);
    let old = match way % 4 {
        0 => m.insert(key, new).expect("present"),
        1 => m.replace(key, new).expect("present"),
        2 => {
            let mut seen = new;
            let updated = m.update(key, |&old| {
                seen = old;
                new
            });
            assert_eq!(updated, Some(new));
            seen
        }
        _ => match m.compute(key, |_| Operation::Insert(new)) {
            InlineCompute::Updated { old, .. } => old,
            other => panic!("present, but {other:?}"),
        },
    };
    old.number()
}

/// Keys come and most of them go again; the map grows, unless it is fixed or has grown enough.
fn come_and_go<K: Key, V: Value>(
    map: &InlineMap<K, V>,
    grows: bool,
    done: &AtomicBool,
    mut rng: Rng,
) {
    let mut next = 100;
    while !done.load(Ordering::Acquire) {
        let m = map.pin();
        m.insert(K::of(next), V::of(0));
        if !grows || next > 10_000 || rng.below(4) > 0 {
            m.remove(&K::of(next));
            m.remove(&K::of(100 + rng.below(next - 99)));
        }
        next += 1;
    }
}

/// Looks updated keys up, and at all of them by an iteration: none is absent, none older than this thread knows.
fn watch<K: Key, V: Value>(map: &InlineMap<K, V>, last: &mut [u64], rng: &mut Rng) {
    let m = map.pin();
    for _ in 0..100 {
        let i = rng.index(last.len());
        let value = m.get(&K::of(i as u64)).expect("an updated key was absent");
        assert!(value.number() >= last[i], "an older value came back");
        last[i] = value.number();
    }
    let mut seen = vec![0; last.len()];
    for (key, value) in &m {
        let i = usize::try_from(key.number()).expect("few");
        if let Some(times) = seen.get_mut(i) {
            *times += 1;
            assert!(value.number() >= last[i], "an older value was met");
        }
    }
    assert!(seen.iter().all(|&times| times == 1), "met {seen:?} times");
}

fn updated_keys_are_there<K: Key, V: Value>(kind: &Kind, rounds: u64, rng: &Rng) {
    let map: InlineMap<K, V> = kind.inline();
    let keys = 8;
    for key in 0..keys {
        map.pin().insert(K::of(key), V::of(0));
    }
    let grows = kind.growth == Growth::Auto && matches!(kind.hasher, TestState::Sip);
    let done = AtomicBool::new(false);
    thread::scope(|s| {
        let (map, done) = (&map, &done);
        s.spawn(move || {
            let _done = SetOnDrop(done);
            for round in 1..rounds {
                let old = replace_one_way(map, K::of(round % keys), round / keys, round);
                assert_eq!(old, round.saturating_sub(keys));
            }
        });
        let others = rng.fork(9);
        s.spawn(move || come_and_go(map, grows, done, others));
        for n in 0..2 {
            let mut rng = rng.fork(n);
            s.spawn(move || {
                let mut last = vec![0; usize::try_from(keys).expect("few")];
                while !done.load(Ordering::Acquire) {
                    watch(map, &mut last, &mut rng);
                }
            });
        }
    });
}

/// In its place (values of one word), or in another slot or line (larger ones).
#[test]
fn an_updated_key_is_never_absent_older_or_met_twice() {
    let rng = Rng::new(0x5eed_0054);
    for_kinds(small_kinds(), |kind| {
        updated_keys_are_there::<u64, u64>(kind, rounds(8000), &rng);
        updated_keys_are_there::<u64, [u64; 2]>(kind, rounds(8000), &rng);
        updated_keys_are_there::<u64, [u64; 5]>(kind, rounds(8000), &rng);
        updated_keys_are_there::<[u8; 40], u64>(kind, rounds(4000), &rng);
    });
}

// ---- counts ----

fn count_on_several_threads<V: Value>(kind: &Kind, each: u64, rng: &Rng) {
    let map: InlineMap<u64, V> = kind.inline();
    let (threads, runs) = (4, AtomicU64::new(0));
    thread::scope(|s| {
        for n in 0..threads {
            let (map, runs, mut rng) = (&map, &runs, rng.fork(n));
            s.spawn(move || {
                let one_more = |count: V| {
                    runs.fetch_add(1, Ordering::Relaxed);
                    V::of(count.number() + 1)
                };
                for _ in 0..each {
                    let key = rng.below(3);
                    let m = map.pin();
                    if rng.below(2) == 0 {
                        m.compute(key, |found| {
                            Operation::Insert(one_more(found.copied().unwrap_or_else(|| V::of(0))))
                        });
                    } else {
                        m.get_or_insert(key, V::of(0));
                        assert!(m.update(key, |&count| one_more(count)).is_some());
                    }
                }
            });
        }
    });
    let total: u64 = map.pin().values().map(Value::number).sum();
    assert_eq!(total, threads * each, "an update was lost");
    assert!(runs.into_inner() >= total);
    assert!(map.len() <= 3);
}

#[test]
fn no_count_is_lost() {
    let rng = Rng::new(0x5eed_0055);
    for_kinds(small_kinds(), |kind| {
        count_on_several_threads::<u64>(kind, rounds(8000), &rng);
        count_on_several_threads::<[u64; 2]>(kind, rounds(8000), &rng);
        count_on_several_threads::<[u64; 5]>(kind, rounds(4000), &rng);
    });
}

/// Counting down to removal and up from absence: what was added is what was taken and what is left.
fn counts_up_and_down<V: Value>(kind: &Kind, each: u64, rng: &Rng) {
    let map: InlineMap<u64, V> = kind.inline();
    let (added, taken) = (AtomicU64::new(0), AtomicU64::new(0));
    thread::scope(|s| {
        for n in 0..4 {
            let (map, added, taken, mut rng) = (&map, &added, &taken, rng.fork(n));
            s.spawn(move || {
                for _ in 0..each {
                    let key = rng.below(3);
                    let m = map.pin();
                    if rng.below(2) == 0 {
                        m.compute(key, |found| {
                            let count = found.map_or(0, |count| count.number());
                            Operation::Insert(V::of(count + 1))
                        });
                        added.fetch_add(1, Ordering::Relaxed);
                    } else {
                        let done =
                            m.compute(key, |found| match found.map(|count| count.number()) {
                                None => Operation::Abort,
                                Some(1) => Operation::Remove,
                                Some(count) => Operation::Insert(V::of(count - 1)),
                            });
                        let changed = done != InlineCompute::Aborted;
                        taken.fetch_add(u64::from(changed), Ordering::Relaxed);
                    }
                }
            });
        }
    });
    let left: u64 = map.pin().values().map(Value::number).sum();
    assert_eq!(added.into_inner(), taken.into_inner() + left);
}

#[test]
fn counts_survive_removal_and_return() {
    let rng = Rng::new(0x5eed_0056);
    for_kinds(small_kinds(), |kind| {
        counts_up_and_down::<u64>(kind, rounds(5000), &rng);
        counts_up_and_down::<[u64; 2]>(kind, rounds(5000), &rng);
    });
}

/// Every value that is inserted, by whichever way, is another. It is there once and removed once at most.
fn insertions_and_removals<V: Value>(kind: &Kind, each: u64, rng: &Rng) {
    let map: InlineMap<u64, V> = kind.inline();
    let threads = 4;
    let mine: Vec<(Vec<u64>, Vec<u64>)> = thread::scope(|s| {
        let racers: Vec<_> = (0..threads)
            .map(|n| {
                let (map, rng) = (&map, rng.fork(n));
                s.spawn(move || insert_and_remove(map, n, each, rng))
            })
            .collect();
        let join = |racer: thread::ScopedJoinHandle<'_, _>| racer.join().expect("no panic");
        racers.into_iter().map(join).collect()
    });
    let (inserted, removed): (Vec<_>, Vec<_>) = mine.into_iter().unzip();
    let mut inserted = inserted.concat();
    let mut gone_or_left = removed.concat();
    gone_or_left.extend(map.pin().values().map(Value::number));
    inserted.sort_unstable();
    gone_or_left.sort_unstable();
    assert_eq!(inserted, gone_or_left, "lost, or there twice");
}

/// The values that this thread has inserted, and those that it has removed.
fn insert_and_remove<V: Value>(
    map: &InlineMap<u64, V>,
    n: u64,
    each: u64,
    mut rng: Rng,
) -> (Vec<u64>, Vec<u64>) {
    let (mut inserted, mut removed) = (Vec::new(), Vec::new());
    for i in 0..each {
        let (key, id) = (rng.below(3), i * 4 + n);
        let (m, value) = (map.pin(), V::of(id));
        match rng.below(5) {
            0 if m.get_or_insert(key, value) == value => inserted.push(id),
            1 if m.get_or_insert_with(key, || value) == value => inserted.push(id),
            2 => match m.try_insert(key, value) {
                Ok(()) => inserted.push(id),
                Err(error) => {
                    assert!(
                        matches!(error, InsertError::Occupied(back, _) if back == (key, value))
                    );
                }
            },
            3 => removed.extend(m.remove(&key).map(Value::number)),
            4 => {
                let wanted = rng.below(2);
                let result = m.remove_if(&key, |_, value| value.number() % 2 == wanted);
                let entry = result.unwrap_or_else(|(_, refused)| {
                    assert_ne!(refused.number() % 2, wanted);
                    None
                });
                removed.extend(entry.map(|(_, value)| {
                    assert_eq!(value.number() % 2, wanted);
                    value.number()
                }));
            }
            _ => {}
        }
    }
    (inserted, removed)
}

#[test]
fn what_is_inserted_once_is_removed_once() {
    let rng = Rng::new(0x5eed_0057);
    for_kinds(small_kinds(), |kind| {
        insertions_and_removals::<u64>(kind, rounds(5000), &rng);
        insertions_and_removals::<[u64; 2]>(kind, rounds(5000), &rng);
    });
}

/// Bulk operations are operations like others: what they say they did is what they did.
#[test]
fn bulk_operations_are_counted_right() {
    let rng = Rng::new(0x5eed_0058);
    for_kinds(small_kinds(), |kind| {
        let map: InlineMap<u64, [u64; 2]> = kind.inline();
        let (inserted, removed) = (AtomicU64::new(0), AtomicU64::new(0));
        thread::scope(|s| {
            for n in 0..3 {
                let (map, inserted, removed, mut rng) = (&map, &inserted, &removed, rng.fork(n));
                s.spawn(move || {
                    for round in 0..rounds(200) {
                        let keys: Vec<u64> = (0..40).map(|_| rng.below(60)).collect();
                        let m = map.pin();
                        let entry = |&key: &u64| (key, Value::of(belonging(key, round)));
                        let new = m.insert_many(keys.iter().map(entry));
                        inserted.fetch_add(new as u64, Ordering::Relaxed);
                        let mut found = vec![None; keys.len()];
                        m.get_many_into(&keys, &mut found);
                        for (&key, value) in keys.iter().zip(found) {
                            value.inspect(|&value| assert_belongs(key, value));
                        }
                        let gone = m.remove_many(&keys[..30]);
                        removed.fetch_add(gone as u64, Ordering::Relaxed);
                    }
                });
            }
        });
        let left = inserted.into_inner() - removed.into_inner();
        assert_eq!(map.len() as u64, left);
        assert_eq!(map.pin().iter().count() as u64, left);
    });
}
