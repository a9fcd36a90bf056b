//! Rounds of one piece of work, interleaved over several tables.

use std::sync::Barrier;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

use crate::adapters::Table;
use crate::record;
use crate::workloads::{Script, fill};

/// What the threads do in each round, the same for every table, and what must come out of it.
pub trait Work: Sync + 'static {
    fn threads(&self) -> usize;

    /// Operations that each thread makes in a round.
    fn ops(&self) -> usize;

    /// Whether tables are afterwards what they were.
    fn only_reads(&self) -> bool;

    /// Whether there is nothing but look-ups of present keys, which floors can answer too.
    fn only_hits(&self) -> bool;

    /// Called before each round, outside the measured time.
    fn prepare(&mut self, _round: usize) {}

    /// One thread's part of one round: the measured code.
    fn run(&self, table: &impl Table, thread: usize, round: usize) -> Tally;

    /// Whether a thread's answers were right. How many present keys it missed, if the peer is one that
    /// `may_miss` them; an error if anything else is wrong.
    fn verify(&self, thread: usize, round: usize, tally: &Tally, may_miss: bool) -> Result<u64>;

    /// Whether the table holds what `rounds` rounds must leave in it, in which it grew by `grown`
    /// entries according to its answers.
    fn verify_contents(&self, table: &impl Table, rounds: usize, grown: i64) -> Result<()>;
}

/// What a thread counted in one round.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Operations (in churn: removals and insertions) that found what they should.
    pub good: u64,
    /// Sum of the values read; zero where it cannot be known beforehand.
    pub sum: u64,
    /// Values that nobody stored under the key.
    pub wrong: u64,
    /// Entries added less entries removed, where that cannot be known beforehand.
    pub grown: i64,
}

/// A table that is filled and ready. The one dynamic call is per round, never per operation.
pub struct Contender<W = Script> {
    name: String,
    version: &'static str,
    table: Box<dyn Rounds<W>>,
}

impl<W: Work> Contender<W> {
    /// Fills an empty table.
    pub fn new<T: Table>(name: impl Into<String>, table: T, entries: usize) -> Result<Self> {
        let name = name.into();
        fill(&table, entries).with_context(|| name.clone())?;
        Ok(Self {
            name,
            version: record::version(T::PACKAGE),
            table: Box::new(table),
        })
    }

    pub fn name(&self) -> &str {
        &self.name
    }
}

/// One round of one table.
struct Round {
    /// What the slowest thread needed, from the start that all threads wait for.
    time: Duration,
    missed: u64,
    grown: i64,
}

trait Rounds<W> {
    fn round(&self, work: &W, round: usize) -> Result<Round>;
    fn verify_contents(&self, work: &W, rounds: usize, grown: i64) -> Result<()>;
}

impl<T: Table, W: Work> Rounds<W> for T {
    fn round(&self, work: &W, round: usize) -> Result<Round> {
        let start = Barrier::new(work.threads());
        let part = |thread| {
            start.wait();
            let start = Instant::now();
            let tally = work.run(self, thread, round);
            (start.elapsed(), tally)
        };
        let results: Vec<(Duration, Tally)> = thread::scope(|scope| {
            let threads: Vec<_> = (0..work.threads())
                .map(|thread| scope.spawn(move || part(thread)))
                .collect();
            threads
                .into_iter()
                .map(|thread| thread.join().expect("no peer panics"))
                .collect()
        });
        let mut missed = 0;
        for (thread, (_, tally)) in results.iter().enumerate() {
            missed += work
                .verify(thread, round, tally, T::MISSES_UPDATED)
                .with_context(|| format!("round {round}"))?;
        }
        Ok(Round {
            time: results
                .iter()
                .map(|(time, _)| *time)
                .max()
                .unwrap_or_default(),
            missed,
            grown: results.iter().map(|(_, tally)| tally.grown).sum(),
        })
    }

    fn verify_contents(&self, work: &W, rounds: usize, grown: i64) -> Result<()> {
        work.verify_contents(self, rounds, grown)
    }
}

/// One contender's measurements. All times are wall-clock time per operation of a thread (of the
/// slowest): the reciprocal of a thread's throughput, not a latency.
#[derive(Debug)]
pub struct Timing {
    pub name: String,
    pub version: &'static str,
    /// In nanoseconds, one a round.
    pub times: Vec<f64>,
    /// Look-ups of present keys that found nothing, where a peer's nature allows it.
    pub missed: u64,
}

/// Lets all contenders do one round after the other, the order rotated by one each round, and checks
/// all answers. `progress` is told the round that begins. With more than one round, one more is made
/// beforehand and not counted.
pub fn run<W: Work>(
    work: &mut W,
    contenders: &[&Contender<W>],
    rounds: usize,
    mut progress: impl FnMut(usize),
) -> Result<Vec<Timing>> {
    let warm_up = usize::from(rounds > 1);
    let mut timings: Vec<_> = contenders
        .iter()
        .map(|contender| empty(contender))
        .collect();
    let mut grown = vec![0; contenders.len()];
    for round in 0..warm_up + rounds {
        progress(round);
        work.prepare(round);
        for turn in 0..contenders.len() {
            let at = (round + turn) % contenders.len();
            let Contender { name, table, .. } = contenders[at];
            let done = table.round(work, round).with_context(|| name.clone())?;
            timings[at].missed += done.missed;
            grown[at] += done.grown;
            if round >= warm_up {
                let time = done.time.as_secs_f64() * 1e9 / work.ops() as f64;
                timings[at].times.push(time);
            }
        }
    }
    for (Contender { name, table, .. }, grown) in contenders.iter().zip(grown) {
        table
            .verify_contents(work, warm_up + rounds, grown)
            .with_context(|| name.clone())?;
    }
    Ok(timings)
}

fn empty<W>(contender: &Contender<W>) -> Timing {
    Timing {
        name: contender.name.clone(),
        version: contender.version,
        times: Vec::new(),
        missed: 0,
    }
}
