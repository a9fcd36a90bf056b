//! Several threads at once: what is there is found, what is replaced is never absent, an iteration meets each entry
//! once, no count is lost and nothing is removed twice.
//!
//! Sizes are for a few seconds in all. The seeds are fixed and printed; what the scheduler does is not.

#![cfg(all(feature = "std", not(nulls_loom)))]
#![allow(clippy::std_instead_of_alloc, reason = "a test is a program of std")]
#![allow(clippy::too_many_lines, reason = "threads that share what they borrow")]

mod common;

use core::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::collections::{HashSet, VecDeque};
use std::sync::Barrier;
use std::thread;

use common::{Kind, Map, Rng, TestState, for_kinds, sized};
use nulls::{Collector, Compute, Growth, NullsHashMap, NullsHashTable, Operation};

const KEYS: u64 = if cfg!(miri) { 20 } else { 120 };

fn rounds(full: usize) -> usize {
    sized(full, 40)
}

/// Kinds under which small tables grow, chain, and recycle lines.
fn small_kinds() -> impl Iterator<Item = Kind> {
    Kind::all().into_iter().filter(|kind| kind.capacity <= 1)
}

/// Sets a flag when it is dropped, so that a panicking thread does not leave others waiting.
struct SetOnDrop<'a>(&'a AtomicBool);

impl Drop for SetOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Release);
    }
}

// ---- permanent keys ----

/// Permanent keys are found by every look-up and met once by every iteration, while two writers churn others. A key
/// of theirs comes once and goes once, so no iteration may meet one twice either.
fn permanent_among_churn(kind: &Kind, permanent: u64, rounds: usize, rng: &Rng) {
    let map: Map<u64, u64> = kind.map();
    for key in 0..permanent {
        map.pin().insert(key, key * 3);
    }
    let writers = 2;
    let left = AtomicU64::new(writers);
    thread::scope(|s| {
        for n in 0..writers {
            let (map, left) = (&map, &left);
            s.spawn(move || {
                // How many of this writer's keys are there at once swings, so that lines come and go.
                let mut alive = VecDeque::new();
                let mut rng = rng.fork(n);
                for i in 0..rounds as u64 {
                    let key = permanent + i * writers + n;
                    let m = map.pin();
                    assert_eq!(m.insert(key, key * 3), None);
                    alive.push_back(key);
                    let keep = rng.below(permanent + 1);
                    while alive.len() as u64 > keep {
                        let key = alive.pop_front().expect("not empty");
                        assert_eq!(m.remove(&key), Some(&(key * 3)));
                    }
                    if i % 64 == 0 {
                        // Permanent keys are replaced too, which is no absence.
                        let key = rng.below(permanent);
                        assert_eq!(m.insert(key, key * 3), Some(&(key * 3)));
                    }
                }
                left.fetch_sub(1, Ordering::Release);
            });
        }
        for n in 0..2 {
            let (map, left, mut rng) = (&map, &left, rng.fork(100 + n));
            s.spawn(move || {
                let mut seen = vec![0_u32; usize::try_from(permanent).expect("few")];
                let mut others = HashSet::new();
                loop {
                    let last = left.load(Ordering::Acquire) == 0;
                    for _ in 0..50 {
                        let m = map.pin();
                        let key = rng.below(permanent);
                        assert_eq!(m.get(&key), Some(&(key * 3)), "a permanent key was missed");
                        assert!(m.contains_key(&key));
                        assert_eq!(m.get(&(u64::MAX - key)), None);
                    }
                    seen.fill(0);
                    others.clear();
                    for (&key, &value) in &map.pin() {
                        assert_eq!(value, key * 3);
                        match usize::try_from(key).ok().and_then(|i| seen.get_mut(i)) {
                            Some(times) => *times += 1,
                            None => assert!(others.insert(key), "key {key} was met twice"),
                        }
                    }
                    assert!(
                        seen.iter().all(|&times| times == 1),
                        "permanent keys were met {seen:?} times"
                    );
                    if last {
                        break;
                    }
                }
            });
        }
    });
    let m = map.pin();
    m.retain(|&key, _| key < permanent);
    assert_eq!(
        (map.len() as u64, m.iter().count() as u64),
        (permanent, permanent)
    );
}

#[test]
fn permanent_keys_are_found_among_churn() {
    let rng = Rng::new(0x5eed_0020);
    for_kinds(small_kinds(), |kind| {
        permanent_among_churn(kind, KEYS, rounds(12_000), &rng);
    });
    // Few keys in few buckets: a line is taken and given back all the time.
    for_kinds(small_kinds(), |kind| {
        permanent_among_churn(kind, 8, rounds(12_000), &rng);
    });
}

#[test]
#[ignore = "the same for minutes"]
fn permanent_keys_are_found_among_churn_for_long() {
    for seed in 0..4 {
        let rng = Rng::new(0x5eed_0021 + seed);
        for_kinds(Kind::all(), |kind| {
            permanent_among_churn(kind, 120, 50_000, &rng);
            permanent_among_churn(kind, 8, 200_000, &rng);
        });
    }
}

/// All keys come and go, each time under another value, so that lines come and go at all places of the chains. What
/// was there before an iteration and is still there after it was met once; nothing was met twice.
fn each_insertion_is_met_once(kind: &Kind, keys: u64, rounds: usize, rng: &Rng) {
    let map: Map<u64, u64> = kind.map();
    let writers = 2;
    let left = AtomicU64::new(writers);
    thread::scope(|s| {
        for n in 0..writers {
            let (map, left, mut rng) = (&map, &left, rng.fork(n));
            s.spawn(move || {
                for i in 0..rounds as u64 {
                    // Each writer has its keys, so it knows what happens to them.
                    let key = rng.below(keys / writers) * writers + n;
                    let m = map.pin();
                    if m.remove(&key).is_none() {
                        assert_eq!(m.insert(key, i), None);
                    }
                }
                left.fetch_sub(1, Ordering::Release);
            });
        }
        for _ in 0..2 {
            let (map, left) = (&map, &left);
            s.spawn(move || {
                let values = |before: &mut Vec<Option<u64>>| {
                    before.clear();
                    let m = map.pin();
                    before.extend((0..keys).map(|key| m.get(&key).copied()));
                };
                let (mut before, mut after, mut met) = (Vec::new(), Vec::new(), Vec::new());
                let mut last = false;
                while !last {
                    last = left.load(Ordering::Acquire) == 0;
                    values(&mut before);
                    met.clear();
                    met.extend(map.pin().iter().map(|(&key, &value)| (key, value)));
                    values(&mut after);
                    met.sort_unstable();
                    assert!(
                        met.windows(2).all(|pair| pair[0] != pair[1]),
                        "an entry was met twice: {met:?}"
                    );
                    for ((key, before), after) in (0..).zip(&before).zip(&after) {
                        if let Some(value) = before.filter(|_| before == after) {
                            let there = met.binary_search(&(key, value)).is_ok();
                            assert!(there, "{key} was there and was not met: {met:?}");
                        }
                    }
                }
            });
        }
    });
}

#[test]
fn an_iteration_meets_each_entry_once_among_churn() {
    let rng = Rng::new(0x5eed_0029);
    for_kinds(small_kinds(), |kind| {
        // The more lines change hands under an iteration's feet, the better: four buckets do most of it.
        let rounds = rounds(if kind.growth == Growth::Fixed {
            600_000
        } else {
            20_000
        });
        each_insertion_is_met_once(kind, KEYS, rounds, &rng);
    });
}

// ---- growth ----

/// One writer fills a map from empty. Whatever it has inserted is found and iterated from then on, through every
/// migration; with `jumps` some of them are by a factor of eight.
fn found_while_growing(kind: &Kind, entries: u64, jumps: bool, rng: &Rng) {
    let map: Map<u64, u64> = kind.map();
    let published = AtomicU64::new(0);
    let failed = AtomicBool::new(false);
    let migrations = AtomicU32::new(0);
    thread::scope(|s| {
        let (map, published, failed, migrations) = (&map, &published, &failed, &migrations);
        s.spawn(move || {
            for key in 0..entries {
                assert_eq!(map.pin().insert(key, !key), None);
                published.store(key + 1, Ordering::Release);
                if jumps && key.is_power_of_two() {
                    map.reserve(usize::try_from(key).expect("few") * 4);
                }
                if failed.load(Ordering::Relaxed) {
                    return;
                }
            }
        });
        for n in 0..2 {
            let mut rng = rng.fork(n);
            s.spawn(move || {
                let failure = SetOnDrop(failed);
                loop {
                    let before = published.load(Ordering::Acquire);
                    if before == 0 {
                        thread::yield_now();
                        continue;
                    }
                    let m = map.pin();
                    for _ in 0..30 {
                        let known = published.load(Ordering::Acquire);
                        // Recent keys more often than old ones.
                        let reach = 1 + rng.below(known);
                        let key = known - 1 - rng.below(reach);
                        assert_eq!(m.get(&key), Some(&!key), "key {key} of {known} was missed");
                    }
                    if rng.below(20) == 0 || before == entries {
                        let mut seen = vec![0_u8; usize::try_from(entries).expect("few")];
                        for (&key, _) in &m {
                            seen[usize::try_from(key).expect("few")] += 1;
                        }
                        let there = usize::try_from(before).expect("few");
                        assert!(seen[..there].iter().all(|&times| times == 1));
                        assert!(seen[there..].iter().all(|&times| times <= 1));
                    }
                    migrations.fetch_add(u32::from(map.stats().migrating), Ordering::Relaxed);
                    if before == entries {
                        break;
                    }
                }
                // Only a panic leaves it set.
                core::mem::forget(failure);
            });
        }
    });
    assert_eq!(map.len() as u64, entries);
    println!(
        "{}: {} reads in a migration",
        kind.name,
        migrations.into_inner()
    );
}

#[test]
fn whatever_is_inserted_is_found_while_the_map_grows() {
    let rng = Rng::new(0x5eed_0022);
    let growing = || {
        Kind::all().into_iter().filter(|kind| {
            kind.capacity == 0 && matches!(kind.hasher, TestState::Sip | TestState::Identity)
        })
    };
    for jumps in [false, true] {
        for_kinds(growing(), |kind| {
            // Under a shift of 32 consecutive hashes share one bucket, but these are mixed.
            found_while_growing(kind, sized(20_000, 60) as u64, jumps, &rng);
        });
    }
}

/// Several writers grow a map together, each with keys of its own, and remove every other one again.
#[test]
fn writers_grow_a_map_together() {
    let rng = Rng::new(0x5eed_0023);
    for_kinds(
        small_kinds().filter(|kind| matches!(kind.hasher, TestState::Sip)),
        |kind| {
            let map: Map<u64, u64> = kind.map();
            let each = if kind.growth == Growth::Fixed {
                sized(500, 20)
            } else {
                sized(20_000, 40)
            };
            let each = each as u64;
            thread::scope(|s| {
                for n in 0..4 {
                    let (map, mut rng) = (&map, rng.fork(n));
                    s.spawn(move || {
                        for i in 0..each {
                            let key = i * 4 + n;
                            let m = map.pin();
                            assert_eq!(m.insert(key, i), None);
                            assert_eq!(m.get(&key), Some(&i));
                            if i % 2 == 1 {
                                assert_eq!(m.remove(&(key - 4)), Some(&(i - 1)));
                            }
                            if rng.below(each) < 3 {
                                map.reserve(usize::try_from(rng.below(each)).expect("few"));
                            }
                        }
                    });
                }
            });
            assert_eq!(
                (map.len() as u64, map.stats().entries as u64),
                (each * 2, each * 2)
            );
            let m = map.pin();
            for key in 0..each * 4 {
                assert_eq!(m.get(&key).is_some(), (key / 4) % 2 == 1);
            }
        },
    );
}

// ---- replacement ----

/// Keys whose values are replaced all the time, in four ways, while others come and go around them and the map grows.
/// Readers see a value always, and of one key never an older one than before.
#[test]
fn a_replaced_key_is_never_absent() {
    let rng = Rng::new(0x5eed_0024);
    for_kinds(small_kinds(), |kind| {
        let map: Map<u64, u64> = kind.map();
        let keys = 8;
        for key in 0..keys {
            map.pin().insert(key, 0);
        }
        let done = AtomicBool::new(false);
        thread::scope(|s| {
            let (map, done) = (&map, &done);
            s.spawn(move || {
                let _done = SetOnDrop(done);
                for value in 1..rounds(30_000) as u64 {
                    let m = map.pin();
                    let key = value % keys;
                    let old = match value / keys % 4 {
                        0 => *m.insert(key, value).expect("present"),
                        1 => *m.replace(key, value).expect("present"),
                        2 => {
                            let mut seen = 0;
                            m.update(key, |&old| {
                                seen = old;
                                value
                            });
                            seen
                        }
                        _ => match m.compute(key, |_| Operation::Insert(value)) {
                            Compute::Updated { old, .. } => *old.1,
                            other => panic!("present, but {other:?}"),
                        },
                    };
                    assert_eq!(old, value.saturating_sub(keys));
                }
            });
            let mut writer_rng = rng.fork(9);
            s.spawn(move || {
                let mut next = 100;
                while !done.load(Ordering::Acquire) {
                    let m = map.pin();
                    m.insert(next, 0);
                    if kind.growth == Growth::Fixed || writer_rng.below(4) > 0 || next > 20_000 {
                        m.remove(&next);
                        m.remove(&(100 + writer_rng.below(next - 99)));
                    }
                    next += 1;
                }
            });
            for n in 0..2 {
                let mut rng = rng.fork(n);
                s.spawn(move || {
                    let mut last = vec![0; usize::try_from(keys).expect("few")];
                    while !done.load(Ordering::Acquire) {
                        let m = map.pin();
                        for _ in 0..100 {
                            let i = rng.index(last.len());
                            let &value = m.get(&(i as u64)).expect("a replaced key was absent");
                            assert!(value >= last[i], "an older value came back");
                            last[i] = value;
                        }
                        if rng.below(8) == 0 {
                            let mut seen = vec![0; last.len()];
                            for (&key, &value) in &m {
                                if key < keys {
                                    let i = usize::try_from(key).expect("few");
                                    seen[i] += 1;
                                    assert!(value >= last[i]);
                                }
                            }
                            assert!(seen.iter().all(|&times| times == 1), "{seen:?}");
                        }
                    }
                });
            }
        });
    });
}

// ---- counts ----

#[test]
fn no_count_is_lost() {
    let rng = Rng::new(0x5eed_0025);
    for_kinds(small_kinds(), |kind| {
        let map: Map<u64, u64> = kind.map();
        let (threads, each) = (4, rounds(5000) as u64);
        let runs = AtomicU64::new(0);
        thread::scope(|s| {
            for n in 0..threads {
                let (map, runs, mut rng) = (&map, &runs, rng.fork(n));
                s.spawn(move || {
                    for _ in 0..each {
                        let key = rng.below(3);
                        let m = map.pin();
                        if rng.below(2) == 0 {
                            m.compute(key, |found| {
                                runs.fetch_add(1, Ordering::Relaxed);
                                Operation::Insert(found.map_or(1, |count| count + 1))
                            });
                        } else {
                            m.get_or_insert(key, 0);
                            let add = |count: &u64| {
                                runs.fetch_add(1, Ordering::Relaxed);
                                count + 1
                            };
                            assert!(m.update(key, add).is_some());
                        }
                    }
                });
            }
        });
        let total: u64 = map.pin().values().sum();
        assert_eq!(total, threads * each);
        assert!(runs.into_inner() >= total);
        assert!(map.len() <= 3);
    });
}

/// Counting down to removal and up from absence: what was added is what was taken and what is left.
#[test]
fn counts_survive_removal_and_return() {
    let rng = Rng::new(0x5eed_0026);
    for_kinds(small_kinds(), |kind| {
        let map: Map<u64, u64> = kind.map();
        let (added, taken) = (AtomicU64::new(0), AtomicU64::new(0));
        thread::scope(|s| {
            for n in 0..4 {
                let (map, added, taken, mut rng) = (&map, &added, &taken, rng.fork(n));
                s.spawn(move || {
                    for _ in 0..rounds(5000) {
                        let key = rng.below(3);
                        let m = map.pin();
                        if rng.below(2) == 0 {
                            m.compute(key, |found| {
                                Operation::Insert(found.map_or(1, |count| count + 1))
                            });
                            added.fetch_add(1, Ordering::Relaxed);
                        } else {
                            let outcome = m.compute(key, |found| match found {
                                None => Operation::Abort,
                                Some(1) => Operation::Remove,
                                Some(count) => Operation::Insert(count - 1),
                            });
                            let took = match outcome {
                                Compute::Aborted => 0,
                                Compute::Removed(_, &left) => left,
                                Compute::Updated { old, new } => old.1 - new.1,
                                Compute::Inserted(..) => panic!("nothing was to be inserted"),
                            };
                            assert!(took <= 1);
                            taken.fetch_add(took, Ordering::Relaxed);
                        }
                    }
                });
            }
        });
        let left: u64 = map.pin().values().sum();
        assert_eq!(added.into_inner(), taken.into_inner() + left);
        assert!(map.pin().values().all(|&count| count > 0));
    });
}

// ---- races for one entry ----

/// Every value that was inserted leaves once: by a removal, by a replacement, or with the map.
#[test]
fn each_value_is_removed_once() {
    let rng = Rng::new(0x5eed_0027);
    for_kinds(small_kinds(), |kind| {
        let (threads, each) = (4, rounds(6000));
        let map: Map<u64, usize> = kind.map();
        let left: Vec<AtomicU32> = (0..threads * each).map(|_| AtomicU32::new(0)).collect();
        let inserted = AtomicUsize::new(0);
        thread::scope(|s| {
            for n in 0..threads {
                let (map, left, inserted) = (&map, &left, &inserted);
                let mut rng = rng.fork(n as u64);
                let gone = |value: usize| {
                    assert_eq!(left[value].fetch_add(1, Ordering::Relaxed), 0, "gone twice");
                };
                s.spawn(move || {
                    for i in 0..each {
                        let (key, value) = (rng.below(4), n * each + i);
                        let m = map.pin();
                        let put = || inserted.fetch_add(1, Ordering::Relaxed);
                        match rng.below(10) {
                            0..3 => {
                                put();
                                if let Some(&old) = m.insert(key, value) {
                                    gone(old);
                                }
                            }
                            3 => {
                                if m.try_insert(key, value).is_ok() {
                                    put();
                                }
                            }
                            4 => {
                                if let Ok(&old) = m.replace(key, value) {
                                    put();
                                    gone(old);
                                }
                            }
                            5 => {
                                if let Compute::Removed(_, &old) =
                                    m.compute(key, |_| Operation::Remove)
                                {
                                    gone(old);
                                }
                            }
                            6 => {
                                if let Ok(Some((_, &old))) = m.remove_if(&key, |_, v| v % 2 == 0) {
                                    assert!(old % 2 == 0);
                                    gone(old);
                                }
                            }
                            _ => {
                                if let Some((_, &old)) = m.remove_entry(&key) {
                                    gone(old);
                                }
                            }
                        }
                    }
                });
            }
        });
        for (_, &value) in &map.pin() {
            assert_eq!(
                left[value].fetch_add(1, Ordering::Relaxed),
                0,
                "gone and there"
            );
        }
        let gone = left
            .iter()
            .filter(|left| left.load(Ordering::Relaxed) == 1)
            .count();
        assert_eq!(gone, inserted.into_inner());
        assert_eq!(map.len(), map.pin().iter().count());
    });
}

/// Of several inserters of one absent key one wins, and all see its value.
#[test]
fn one_inserter_wins() {
    let threads = 4;
    for_kinds(small_kinds(), |kind| {
        let map: Map<u64, u64> = kind.map();
        let keys = rounds(300) as u64;
        let (won, made) = (AtomicU64::new(0), AtomicU64::new(0));
        let barrier = Barrier::new(usize::try_from(threads).expect("few"));
        let seen: Vec<Vec<u64>> = thread::scope(|s| {
            let workers: Vec<_> = (0..threads)
                .map(|n| {
                    let (map, won, made, barrier) = (&map, &won, &made, &barrier);
                    s.spawn(move || {
                        (0..keys)
                            .map(|key| {
                                if key % 16 == 0 {
                                    barrier.wait();
                                }
                                let m = map.pin();
                                let value = n << 32 | key;
                                if key % 2 == 0 {
                                    let result = m.try_insert(key, value);
                                    won.fetch_add(u64::from(result.is_ok()), Ordering::Relaxed);
                                } else {
                                    let got = *m.get_or_insert_with(key, || {
                                        made.fetch_add(1, Ordering::Relaxed);
                                        value
                                    });
                                    won.fetch_add(u64::from(got == value), Ordering::Relaxed);
                                }
                                *m.get(&key).expect("inserted by someone")
                            })
                            .collect()
                    })
                })
                .collect();
            workers
                .into_iter()
                .map(|worker| worker.join().expect("no panic"))
                .collect()
        });
        assert_eq!(won.into_inner(), keys);
        assert!(made.into_inner() >= keys / 2);
        assert!(
            seen.iter().all(|values| *values == seen[0]),
            "all see the winner's value"
        );
        assert_eq!(map.len() as u64, keys);
    });
}

/// Concurrent `clear`s and sweeps take each entry once; `len` ends where iteration does.
#[test]
fn clear_and_retain_race_with_writers() {
    let rng = Rng::new(0x5eed_0028);
    for_kinds(small_kinds(), |kind| {
        let map: Map<u64, u64> = kind.map();
        thread::scope(|s| {
            for n in 0..4 {
                let (map, mut rng) = (&map, rng.fork(n));
                s.spawn(move || {
                    for _ in 0..rounds(3000) {
                        let m = map.pin();
                        match rng.below(40) {
                            0 => m.clear(),
                            1 => m.retain(|key, _| key % 3 == 0),
                            2 => assert!(m.iter().count() <= 2000),
                            3..8 => drop(m.remove(&rng.below(300))),
                            _ => drop(m.insert(rng.below(300), 0)),
                        }
                    }
                });
            }
        });
        let m = map.pin();
        assert_eq!(
            (map.len(), map.stats().entries),
            (m.iter().count(), m.iter().count())
        );
        m.clear();
        assert_eq!((map.len(), m.iter().count()), (0, 0));
    });
}

// ---- tables ----

/// Duplicates of one hash, told apart by `eq`: the permanent ones are found and iterated while others come and go.
#[test]
fn permanent_duplicates_are_found() {
    for growth in [Growth::Auto, Growth::Fixed] {
        let table: NullsHashTable<u64> = NullsHashTable::builder()
            .capacity(1)
            .growth(growth)
            .collector(Collector::builder().batch_size(16).build())
            .build();
        let hash = |i: u64| i % 3 * 4;
        let permanent = 30;
        for i in 0..permanent {
            table.pin().insert(hash(i), i);
        }
        let done = AtomicBool::new(false);
        thread::scope(|s| {
            let (table, done) = (&table, &done);
            s.spawn(move || {
                let _done = SetOnDrop(done);
                for i in 0..rounds(30_000) as u64 {
                    let t = table.pin();
                    let entry = permanent + i;
                    t.insert(hash(entry), entry);
                    if i % 20 >= 10 {
                        for entry in [entry, entry - 10] {
                            assert!(t.remove(hash(entry), |&found| found == entry).is_some());
                        }
                    }
                }
            });
            for _ in 0..2 {
                s.spawn(move || {
                    while !done.load(Ordering::Acquire) {
                        let t = table.pin();
                        for i in 0..permanent {
                            assert_eq!(t.find(hash(i), |&found| found == i), Some(&i));
                            assert!(t.maybe_contains(hash(i)));
                        }
                        for start in 0..3 {
                            let mut found: Vec<_> = t
                                .iter_hash(hash(start))
                                .copied()
                                .filter(|&i| i < permanent)
                                .collect();
                            found.sort_unstable();
                            assert!(found.into_iter().eq((start..permanent).step_by(3)));
                        }
                        let mut all: Vec<_> = t.iter().copied().collect();
                        let total = all.len();
                        all.sort_unstable();
                        all.dedup();
                        assert_eq!(all.len(), total, "an entry was met twice");
                        assert!(
                            all.into_iter()
                                .take_while(|&i| i < permanent)
                                .eq(0..permanent)
                        );
                    }
                });
            }
        });
    }
}

/// Two tables under one collector and one guard, entries wandering from the one to the other.
#[test]
fn entries_wander_between_tables_under_one_guard() {
    let collector = Collector::builder().batch_size(8).build();
    let build = || -> NullsHashMap<u64, String> {
        NullsHashMap::builder().collector(collector.clone()).build()
    };
    let maps = [build(), build()];
    let keys = 50;
    for key in 0..keys {
        maps[0].pin().insert(key, key.to_string());
    }
    let done = AtomicBool::new(false);
    thread::scope(|s| {
        let (maps, done, collector) = (&maps, &done, &collector);
        for n in 0..2 {
            s.spawn(move || {
                let _done = SetOnDrop(done);
                for i in 0..rounds(20_000) as u64 {
                    let guard = collector.guard();
                    let (a, b) = (maps[0].with_guard(&guard), maps[1].with_guard(&guard));
                    // Each writer has its keys, so that a key is on the way by one hand only.
                    let key = i % (keys / 2) * 2 + n;
                    let (from, to) = if a.contains_key(&key) {
                        (&a, &b)
                    } else {
                        (&b, &a)
                    };
                    let value = from.get(&key).expect("in one of the two");
                    assert_eq!(to.insert(key, value.clone()), None);
                    assert_eq!(from.remove(&key), Some(value));
                }
            });
        }
        s.spawn(move || {
            while !done.load(Ordering::Acquire) {
                let guard = collector.guard();
                let (a, b) = (maps[0].with_guard(&guard), maps[1].with_guard(&guard));
                for key in 0..keys {
                    // It may wander behind the look-up's back, but what is found is whole.
                    for found in [a.get(&key), b.get(&key)].into_iter().flatten() {
                        assert_eq!(*found, key.to_string());
                    }
                }
            }
        });
    });
    assert_eq!((maps[0].len() + maps[1].len()) as u64, keys);
}
