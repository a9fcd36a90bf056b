//! What the threads do, and what must come out of it.

use std::hint::black_box;
use std::ops::Range;

use anyhow::{Result, ensure};
use clap::ValueEnum;

use crate::adapters::{Session, Table};
use crate::contest::{Tally, Work};
use crate::zipf;

/// A thread takes a new session after this many operations: often enough for peers that reclaim to
/// get rid of their garbage, seldom enough not to measure sessions.
pub const PIN_EVERY: usize = 64;

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Workload {
    /// Look-ups of present keys.
    Hit,
    /// Look-ups of absent keys.
    Miss,
    /// Look-ups of present keys, some far more often than others.
    Zipf,
    /// 19 look-ups, then an update, all of present keys.
    Read95,
    /// Look-up, update, look-up, update, all of present keys.
    Mix,
    /// One operation removes a thread's oldest key *and* inserts a new one.
    Churn,
}

impl Workload {
    pub const ALL: [Self; 6] = [
        Self::Hit,
        Self::Miss,
        Self::Zipf,
        Self::Read95,
        Self::Mix,
        Self::Churn,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Self::Hit => "hit",
            Self::Miss => "miss",
            Self::Zipf => "zipf",
            Self::Read95 => "read95",
            Self::Mix => "mix",
            Self::Churn => "churn",
        }
    }

    /// How many operations there are for one update.
    fn operations_an_update(self) -> Option<usize> {
        match self {
            Self::Read95 => Some(20),
            Self::Mix => Some(2),
            _ => None,
        }
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

impl Script {
    /// `ops` must be a multiple of 20, and of 2 for a mix: it is made of such groups. `entries` is rounded
    /// down to a multiple of `threads`.
    pub fn new(workload: Workload, entries: usize, threads: usize, ops: usize) -> Self {
        let group = workload.operations_an_update().unwrap_or(1);
        assert!(ops.is_multiple_of(group) && entries >= threads);
        let entries = entries / threads * threads;
        let walks = (0..threads as u64)
            .map(|thread| {
                let order = match workload {
                    Workload::Hit | Workload::Read95 | Workload::Mix => {
                        shuffled(0..entries, thread)
                    }
                    Workload::Miss => shuffled(entries..2 * entries, thread),
                    Workload::Zipf => {
                        let ranks = zipf::ranks(entries, thread);
                        ranks.map(key).take(entries.max(ops)).collect()
                    }
                    Workload::Churn => Vec::new(),
                };
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

    /// What `run` must return.
    fn expected(&self, thread: usize, round: usize) -> Tally {
        let ops = self.ops as u64;
        let (good, sum) = match self.workload {
            Workload::Hit | Workload::Zipf => (ops, sum(self.window(thread, round))),
            Workload::Miss => (0, 0),
            Workload::Read95 | Workload::Mix => (ops, 0),
            Workload::Churn => (2 * ops, 0),
        };
        Tally {
            good,
            sum,
            ..Tally::default()
        }
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

    fn churn(&self, table: &impl Table, thread: usize, round: usize) -> u64 {
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
        good
    }
}

impl Work for Script {
    fn threads(&self) -> usize {
        self.walks.len()
    }

    fn ops(&self) -> usize {
        self.ops
    }

    fn only_reads(&self) -> bool {
        self.only_hits() || self.workload == Workload::Miss
    }

    fn only_hits(&self) -> bool {
        matches!(self.workload, Workload::Hit | Workload::Zipf)
    }

    fn run(&self, table: &impl Table, thread: usize, round: usize) -> Tally {
        let good = match self.workload {
            Workload::Hit | Workload::Miss | Workload::Zipf => {
                return look_up(table, self.window(thread, round));
            }
            Workload::Read95 => mix::<20>(table, self.window(thread, round)),
            Workload::Mix => mix::<2>(table, self.window(thread, round)),
            Workload::Churn => self.churn(table, thread, round),
        };
        Tally {
            good,
            ..Tally::default()
        }
    }

    fn verify(&self, thread: usize, round: usize, tally: &Tally, may_miss: bool) -> Result<u64> {
        let expected = self.expected(thread, round);
        if may_miss && self.workload.operations_an_update().is_some() {
            return Ok(expected.good - tally.good);
        }
        ensure!(*tally == expected, "{tally:?} instead of {expected:?}");
        Ok(0)
    }

    fn verify_contents(&self, table: &impl Table, rounds: usize, _grown: i64) -> Result<()> {
        let live: Vec<u64> = match self.workload {
            Workload::Churn => (0..self.threads())
                .flat_map(|thread| {
                    self.live(rounds)
                        .map(move |turn| self.churn_key(thread, turn))
                })
                .collect(),
            _ => (0..self.entries).map(key).collect(),
        };
        let updates = match self.workload.operations_an_update() {
            Some(group) => rounds * self.threads() * (self.ops / group),
            None => 0,
        };
        let expected = Tally {
            good: live.len() as u64,
            sum: sum(&live).wrapping_add(updates as u64),
            ..Tally::default()
        };
        let found = look_up(table, &live);
        ensure!(
            found == expected,
            "contents: {found:?} instead of {expected:?}"
        );
        Ok(())
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

/// Look-ups, and an update of the last key of every `GROUP`. How many keys were there.
fn mix<const GROUP: usize>(table: &impl Table, keys: &[u64]) -> u64 {
    let mut good = 0;
    for keys in keys.chunks(PIN_EVERY / GROUP * GROUP) {
        let session = table.pin();
        for group in keys.chunks_exact(GROUP) {
            let (last, reads) = group.split_last().expect("a group has two keys or more");
            for key in reads {
                good += u64::from(black_box(session.get(key)).is_some());
            }
            good += u64::from(session.update(*last));
        }
    }
    good
}
