//! What the threads do, and what must come out of it.

use std::hint::black_box;
use std::ops::Range;

use anyhow::{Result, ensure};
use clap::ValueEnum;

use crate::adapters::{Session, Table};

/// A thread takes a new session after this many operations: often enough for peers that reclaim to
/// get rid of their garbage, seldom enough not to measure sessions.
pub const PIN_EVERY: usize = 64;

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Workload {
    /// Look-ups of present keys.
    Hit,
    /// Look-ups of absent keys.
    Miss,
    /// Look-up, update, look-up, update, all of present keys.
    Mix,
    /// One operation removes a thread's oldest key *and* inserts a new one.
    Churn,
}

impl Workload {
    pub const ALL: [Self; 4] = [Self::Hit, Self::Miss, Self::Mix, Self::Churn];

    pub fn name(self) -> &'static str {
        match self {
            Self::Hit => "hit",
            Self::Miss => "miss",
            Self::Mix => "mix",
            Self::Churn => "churn",
        }
    }

    /// Whether a table is afterwards what it was.
    pub fn only_reads(self) -> bool {
        matches!(self, Self::Hit | Self::Miss)
    }
}

/// The `i`-th key. A permutation of `u64` (the finalizer of `SplitMix64`), so that keys are distinct and
/// look random to every hasher without a table of them that would compete for the cache.
#[inline]
pub fn key(i: usize) -> u64 {
    let x = (i as u64).wrapping_add(0x9e37_79b9_7f4a_7c15);
    let x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

/// The value that goes in with a key, so that an answer can be checked.
#[inline]
pub fn value(key: u64) -> u64 {
    key.rotate_left(32)
}

/// `range`'s keys in a random order.
pub fn shuffled(range: Range<usize>, seed: u64) -> Vec<u64> {
    let mut keys: Vec<_> = range.map(key).collect();
    fastrand::Rng::with_seed(seed).shuffle(&mut keys);
    keys
}

/// Puts the first `entries` keys into an empty table.
pub fn fill(table: &impl Table, entries: usize) -> Result<()> {
    for start in (0..entries).step_by(PIN_EVERY) {
        let session = table.pin();
        for i in start..entries.min(start + PIN_EVERY) {
            ensure!(
                session.insert(key(i), value(key(i))),
                "a new key was present"
            );
        }
    }
    Ok(())
}

/// One workload on one size of table: the same work for every peer.
pub struct Script {
    workload: Workload,
    entries: usize,
    /// Operations that each thread makes in a round.
    ops: usize,
    /// For each thread, the keys it looks up: whole rounds of `ops` keys, walked in circles. Random
    /// permutations, made beforehand and read in order, so that picking a key costs next to nothing.
    /// Empty for churn, whose keys come from [`key`].
    walks: Vec<Vec<u64>>,
}

/// What a thread counted in one round.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Operations (in churn: removals and insertions) that found what they should.
    pub good: u64,
    /// Sum of the values read; zero where it cannot be known beforehand.
    pub sum: u64,
}

impl Script {
    /// `ops` must be even: a mix is made of pairs. `entries` is rounded down to a multiple of `threads`.
    pub fn new(workload: Workload, entries: usize, threads: usize, ops: usize) -> Self {
        assert!(ops.is_multiple_of(2) && entries >= threads);
        let entries = entries / threads * threads;
        let range = match workload {
            Workload::Hit | Workload::Mix => 0..entries,
            Workload::Miss => entries..2 * entries,
            Workload::Churn => 0..0,
        };
        let walks = (0..threads)
            .map(|thread| {
                let order = shuffled(range.clone(), thread as u64);
                let rounds = order.len().div_ceil(ops);
                order.iter().copied().cycle().take(rounds * ops).collect()
            })
            .collect();
        Self {
            workload,
            entries,
            ops,
            walks,
        }
    }

    pub fn workload(&self) -> Workload {
        self.workload
    }

    pub fn entries(&self) -> usize {
        self.entries
    }

    pub fn ops(&self) -> usize {
        self.ops
    }

    pub fn threads(&self) -> usize {
        self.walks.len()
    }

    /// One thread's part of one round: the measured code.
    pub fn run(&self, table: &impl Table, thread: usize, round: usize) -> Tally {
        match self.workload {
            Workload::Hit | Workload::Miss => look_up(table, self.window(thread, round)),
            Workload::Mix => mix(table, self.window(thread, round)),
            Workload::Churn => self.churn(table, thread, round),
        }
    }

    /// What `run` must return.
    pub fn expected(&self, thread: usize, round: usize) -> Tally {
        let ops = self.ops as u64;
        match self.workload {
            Workload::Hit => Tally {
                good: ops,
                sum: sum(self.window(thread, round)),
            },
            Workload::Miss => Tally::default(),
            Workload::Mix => Tally { good: ops, sum: 0 },
            Workload::Churn => Tally {
                good: 2 * ops,
                sum: 0,
            },
        }
    }

    /// Whether the table holds what `rounds` rounds must leave in it.
    pub fn check_contents(&self, table: &impl Table, rounds: usize) -> Result<()> {
        let live: Vec<u64> = match self.workload {
            Workload::Churn => (0..self.threads())
                .flat_map(|thread| {
                    self.live(rounds)
                        .map(move |turn| self.churn_key(thread, turn))
                })
                .collect(),
            _ => (0..self.entries).map(key).collect(),
        };
        let updates = match self.workload {
            Workload::Mix => rounds * self.threads() * (self.ops / 2),
            _ => 0,
        };
        let expected = Tally {
            good: live.len() as u64,
            sum: sum(&live).wrapping_add(updates as u64),
        };
        let found = look_up(table, &live);
        ensure!(
            found == expected,
            "contents: {found:?} instead of {expected:?}"
        );
        Ok(())
    }

    fn window(&self, thread: usize, round: usize) -> &[u64] {
        let walk = &self.walks[thread];
        let start = round * self.ops % walk.len();
        &walk[start..start + self.ops]
    }

    /// In churn a thread owns a queue of keys: this is the one it removes at `turn`.
    #[inline]
    fn churn_key(&self, thread: usize, turn: usize) -> u64 {
        key(thread + turn * self.threads())
    }

    /// The turns whose keys are in the table after `rounds` rounds: the next to go, to the newest.
    fn live(&self, rounds: usize) -> Range<usize> {
        let oldest = rounds * self.ops;
        oldest..oldest + self.entries / self.threads()
    }

    fn churn(&self, table: &impl Table, thread: usize, round: usize) -> Tally {
        let Range { start, end } = self.live(round);
        let mut good = 0;
        for done in (0..self.ops).step_by(PIN_EVERY) {
            let session = table.pin();
            for done in done..self.ops.min(done + PIN_EVERY) {
                let new = self.churn_key(thread, end + done);
                good += u64::from(session.remove(&self.churn_key(thread, start + done)));
                good += u64::from(session.insert(new, value(new)));
            }
        }
        Tally { good, sum: 0 }
    }
}

fn sum(keys: &[u64]) -> u64 {
    keys.iter()
        .fold(0, |sum, &key| sum.wrapping_add(value(key)))
}

fn look_up(table: &impl Table, keys: &[u64]) -> Tally {
    let mut tally = Tally::default();
    for keys in keys.chunks(PIN_EVERY) {
        let session = table.pin();
        for key in keys {
            if let Some(value) = session.get(key) {
                tally.good += 1;
                tally.sum = tally.sum.wrapping_add(value);
            }
        }
    }
    tally
}

fn mix(table: &impl Table, keys: &[u64]) -> Tally {
    let mut tally = Tally::default();
    for keys in keys.chunks(PIN_EVERY) {
        let session = table.pin();
        for pair in keys.chunks_exact(2) {
            tally.good += u64::from(black_box(session.get(&pair[0])).is_some());
            tally.good += u64::from(session.update(pair[1]));
        }
    }
    tally
}
