//! Rounds of one workload, interleaved over several tables.

use std::sync::Barrier;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};

use crate::adapters::Table;
use crate::record::quartiles;
use crate::workloads::{Script, Tally, Workload, fill};

/// A table that is filled and ready. The one dynamic call is per round, never per operation.
pub struct Contender {
    name: String,
    table: Box<dyn Rounds>,
}

impl Contender {
    /// Fills an empty table.
    pub fn new<T: Table>(name: impl Into<String>, table: T, entries: usize) -> Result<Self> {
        let name = name.into();
        fill(&table, entries).with_context(|| name.clone())?;
        Ok(Self {
            name,
            table: Box::new(table),
        })
    }
}

trait Rounds {
    fn round(&self, script: &Script, round: usize) -> Result<(Duration, u64)>;
    fn check(&self, script: &Script, rounds: usize) -> Result<()>;
}

impl<T: Table> Rounds for T {
    /// The time that the slowest thread needed, from the start all threads wait for, and how many
    /// look-ups missed a key, if the peer is one that may.
    fn round(&self, script: &Script, round: usize) -> Result<(Duration, u64)> {
        let start = Barrier::new(script.threads());
        let work = |thread| {
            start.wait();
            let start = Instant::now();
            let tally = script.run(self, thread, round);
            (start.elapsed(), tally)
        };
        let results: Vec<(Duration, Tally)> = thread::scope(|scope| {
            let threads: Vec<_> = (0..script.threads())
                .map(|thread| scope.spawn(move || work(thread)))
                .collect();
            threads
                .into_iter()
                .map(|thread| thread.join().expect("no peer panics"))
                .collect()
        });
        let mut missed = 0;
        for (thread, (_, tally)) in results.iter().enumerate() {
            let expected = script.expected(thread, round);
            if T::MISSES_UPDATED && script.workload() == Workload::Mix {
                missed += expected.good - tally.good;
            } else {
                ensure!(
                    *tally == expected,
                    "round {round}: {tally:?} instead of {expected:?}"
                );
            }
        }
        let slowest = results.iter().map(|(time, _)| *time).max();
        Ok((slowest.unwrap_or_default(), missed))
    }

    fn check(&self, script: &Script, rounds: usize) -> Result<()> {
        script.check_contents(self, rounds)
    }
}

/// One contender's measurements. All times are wall-clock time per operation of a thread (of the
/// slowest): the reciprocal of a thread's throughput, not a latency.
#[derive(Debug)]
pub struct Score {
    pub name: String,
    /// Quartiles, in nanoseconds.
    pub time: [f64; 3],
    /// Median time of the first contender by that of this one: above one is faster than the first.
    pub ratio_of_medians: f64,
    /// Quartiles of the ratios within each round.
    pub ratio: [f64; 3],
    /// Look-ups of present keys that found nothing, where a peer's nature allows it.
    pub missed: u64,
}

/// Lets all contenders do one round after the other, the order rotated by one each round, and checks
/// all answers. `progress` is told the round that begins. With more than one round, one more is made
/// beforehand and not counted.
pub fn run(
    script: &Script,
    contenders: &[Contender],
    rounds: usize,
    mut progress: impl FnMut(usize),
) -> Result<Vec<Score>> {
    let warm_up = usize::from(rounds > 1);
    let mut results = vec![(Vec::with_capacity(rounds), 0); contenders.len()];
    for round in 0..warm_up + rounds {
        progress(round);
        for turn in 0..contenders.len() {
            let at = (round + turn) % contenders.len();
            let Contender { name, table } = &contenders[at];
            let (time, unseen) = table.round(script, round).with_context(|| name.clone())?;
            let (times, missed) = &mut results[at];
            *missed += unseen;
            if round >= warm_up {
                times.push(time.as_secs_f64() * 1e9 / script.ops() as f64);
            }
        }
    }
    for Contender { name, table } in contenders {
        table
            .check(script, warm_up + rounds)
            .with_context(|| name.clone())?;
    }
    let (first, _) = &results[0];
    let score = |(contender, (times, missed)): (&Contender, &(Vec<f64>, u64))| {
        let ratios: Vec<f64> = first
            .iter()
            .zip(times)
            .map(|(first, own)| first / own)
            .collect();
        Score {
            name: contender.name.clone(),
            time: quartiles(times),
            ratio_of_medians: quartiles(first)[1] / quartiles(times)[1],
            ratio: quartiles(&ratios),
            missed: *missed,
        }
    };
    Ok(contenders.iter().zip(&results).map(score).collect())
}

/// Prints a cell's table. `first` is whom the ratios refer to.
pub fn print(title: &str, first: &str, scores: &[Score]) {
    println!(
        "{title:<20}{:>9}{:>14}{:>12}{:>15}",
        "ns/op",
        format!("× {first}"),
        "by round",
        "quartiles"
    );
    for Score {
        name,
        time,
        ratio_of_medians,
        ratio: [low, median, high],
        missed,
    } in scores
    {
        print!(
            "  {name:<18}{:>9.1}{ratio_of_medians:>14.2}{median:>12.2}",
            time[1]
        );
        let quartiles = format!("{low:.2}..{high:.2}");
        let remark = if *missed > 0 {
            format!("  present keys missed: {missed}")
        } else {
            String::new()
        };
        println!("{quartiles:>15}{remark}");
    }
    println!();
}

/// Tells on stderr how far a program is, at most every four seconds.
pub struct Progress {
    begun: Instant,
    told: Instant,
}

impl Progress {
    const EVERY: Duration = Duration::from_secs(4);

    #[expect(clippy::new_without_default, reason = "it starts a clock")]
    pub fn new() -> Self {
        let now = Instant::now();
        Self {
            begun: now,
            told: now,
        }
    }

    pub fn tell(&mut self, what: impl FnOnce() -> String) {
        if self.told.elapsed() >= Self::EVERY {
            self.told = Instant::now();
            eprintln!("[{:>4} s] {}", self.begun.elapsed().as_secs(), what());
        }
    }
}
