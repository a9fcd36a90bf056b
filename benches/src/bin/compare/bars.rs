//! The performance bars: what nulls has to reach (`design.md` §7), in one table.

use anyhow::{Result, ensure};
use nulls_benches::adapters::{Papaya, Table};
use nulls_benches::record::rounded;
use nulls_benches::score::{Cell, Duel, best_peer};
use nulls_benches::workloads::{Script, Workload};
use serde::Serialize;

use crate::cells::{self, Plan};
use crate::grid::{self, HUGE};
use crate::options::Options;
use crate::records::{BytesRow, GrowthRow};
use crate::{bytes, growth};

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Without tables of 16 million entries and without flurry, few and short rounds: less than two minutes.
    #[arg(long)]
    quick: bool,
    /// Rounds that count.
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..))]
    rounds: Option<u16>,
    /// Write a CSV record of the verdicts.
    #[arg(long, value_name = "FILE")]
    record: Option<std::path::PathBuf>,
}

const BOXED: &str = "nulls";
const INLINE: &str = "nulls-inline";

/// How much faster than whom a map has to be.
struct Bar {
    name: &'static str,
    subject: &'static str,
    rival: Rival,
    workloads: &'static [Workload],
    entries: &'static [usize],
    threads: &'static [usize],
    demand: Demand,
}

#[derive(Clone, Copy)]
enum Rival {
    Papaya,
    /// The quickest map of others in that cell.
    BestPeer,
}

/// Of the rival's time by the subject's.
#[derive(Clone, Copy)]
enum Demand {
    /// In the geometric mean over the cells of a form (grown, presized).
    Mean(f64),
    /// In every cell.
    Each(f64),
}

const SIZES: &[usize] = &[100_000, 2_000_000, HUGE];
const LARGE_SIZES: &[usize] = &[2_000_000, HUGE];

/// A row more here is a bar more: the cells it needs are measured.
const BARS: &[Bar] = &[
    Bar {
        name: "boxed: hit and miss, mean",
        subject: BOXED,
        rival: Rival::Papaya,
        workloads: &[Workload::Hit, Workload::Miss],
        entries: SIZES,
        threads: &[1, 2],
        demand: Demand::Mean(1.1),
    },
    Bar {
        name: "boxed: hit and miss",
        subject: BOXED,
        rival: Rival::Papaya,
        workloads: &[Workload::Hit, Workload::Miss],
        entries: SIZES,
        threads: &[1, 2],
        demand: Demand::Each(0.9),
    },
    Bar {
        name: "boxed: churn",
        subject: BOXED,
        rival: Rival::Papaya,
        workloads: &[Workload::Churn],
        entries: SIZES,
        threads: &[2],
        demand: Demand::Each(2.0),
    },
    Bar {
        name: "inline: hit",
        subject: INLINE,
        rival: Rival::BestPeer,
        workloads: &[Workload::Hit],
        entries: LARGE_SIZES,
        threads: &[2],
        demand: Demand::Each(1.5),
    },
    Bar {
        name: "inline: miss",
        subject: INLINE,
        rival: Rival::BestPeer,
        workloads: &[Workload::Miss],
        entries: LARGE_SIZES,
        threads: &[2],
        demand: Demand::Each(0.9),
    },
    Bar {
        name: "inline: churn and 50/50",
        subject: INLINE,
        rival: Rival::BestPeer,
        workloads: &[Workload::Mix, Workload::Churn],
        entries: LARGE_SIZES,
        threads: &[2],
        demand: Demand::Each(1.5),
    },
];

/// Upper bounds of bytes an entry, in the mean over a doubling.
const BYTES: [(&str, f64); 2] = [(BOXED, 48.0), (INLINE, 40.0)];

/// Upper bounds of the 99.9th percentile of reads while a table grows, by the final table's.
const GROWTH: [(&str, f64); 2] = [(BOXED, 2.0), (INLINE, 2.0)];

/// One row of the result, and of the record.
#[derive(Debug, Serialize)]
struct Verdict {
    bar: String,
    cell: String,
    rival: String,
    value: f64,
    p25: Option<f64>,
    p75: Option<f64>,
    bound: String,
    result: &'static str,
}

pub(crate) fn command(args: &Args) -> Result<()> {
    let options = Options {
        quick: args.quick,
        rounds: args.rounds,
        ..Options::default()
    };
    let mut duels = Vec::new();
    for &entries in sizes(&options, SIZES) {
        let with_peers = Options {
            peers: rivals(&options, entries),
            ..options.clone()
        };
        duels.extend(cells::measure(&with_peers, plans(&with_peers, entries))?);
    }
    let ours = Options {
        only: Some(BOXED.to_owned()),
        ..options.clone()
    };
    let mut verdicts: Vec<_> = BARS
        .iter()
        .flat_map(|bar| bar.verdicts(&options, &duels))
        .collect();
    verdicts.extend(bytes_verdicts(&bytes::measure(&ours)?));
    verdicts.extend(growth_verdicts(&growth::measure(&ours)?));
    print(&verdicts);
    let result = Options {
        record: args.record.clone(),
        ..Options::default()
    };
    result.write(&verdicts)?;
    let failed = verdicts.iter().filter(|row| row.result != PASS).count();
    ensure!(failed == 0, "{failed} of {} rows failed", verdicts.len());
    Ok(())
}

fn print(verdicts: &[Verdict]) {
    println!(
        "{:<36}{:<26}{:<20}{:>8}  {:<14}{:<8}",
        "bar", "cell", "against", "value", "quartiles", "bound"
    );
    for row in verdicts {
        let spread = match (row.p25, row.p75) {
            (Some(low), Some(high)) => format!("{low:.2}..{high:.2}"),
            _ => String::new(),
        };
        println!(
            "{:<36}{:<26}{:<20}{:>8.2}  {spread:<14}{:<8}{}",
            row.bar, row.cell, row.rival, row.value, row.bound, row.result
        );
    }
}

/// Every cell of a size that some bar asks for, those that share tables one after the other.
fn plans(options: &Options, entries: usize) -> Vec<Plan<Script>> {
    let mut plans = Vec::new();
    for presized in [false, true] {
        for workload in Workload::ALL {
            for threads in [1, 2] {
                let wanted = BARS.iter().any(|bar| {
                    bar.workloads.contains(&workload)
                        && bar.entries.contains(&entries)
                        && bar.threads.contains(&threads)
                });
                if wanted {
                    plans.push(grid::plan(options, workload, entries, threads, presized));
                }
            }
        }
    }
    plans
}

/// Whom the bars need at a size, as a filter of names: papaya alone, if no bar asks for the best peer.
fn rivals(options: &Options, entries: usize) -> Vec<String> {
    let best = BARS
        .iter()
        .any(|bar| matches!(bar.rival, Rival::BestPeer) && bar.entries.contains(&entries));
    let names: &[&str] = match (best, options.quick) {
        (false, _) => &["papaya"],
        (true, true) => &["scc", "dashmap", "RwLock"],
        (true, false) => &[],
    };
    names.iter().map(|name| (*name).to_owned()).collect()
}

/// A quick run leaves the largest size out.
fn sizes<'s>(options: &Options, sizes: &'s [usize]) -> impl Iterator<Item = &'s usize> {
    let quick = options.quick;
    sizes
        .iter()
        .filter(move |entries| !quick || **entries < HUGE)
}

impl Bar {
    fn verdicts(&self, options: &Options, duels: &[Duel]) -> Vec<Verdict> {
        match self.demand {
            Demand::Each(bound) => self
                .cells(options)
                .map(|cell| {
                    let duel = self.duel(duels, &cell);
                    let ratio = duel.map(|duel| [duel.ratio_p25, duel.ratio, duel.ratio_p75]);
                    self.verdict(cell.name(), duel.map(|duel| &duel.peer), ratio, bound)
                })
                .collect(),
            Demand::Mean(bound) => [false, true]
                .map(|presized| {
                    let duels: Option<Vec<_>> = self
                        .cells(options)
                        .filter(|cell| cell.presized == presized)
                        .map(|cell| self.duel(duels, &cell))
                        .collect();
                    let form = if presized { "presized" } else { "grown" };
                    let peer = duels.as_ref().and_then(|duels| Some(&duels.first()?.peer));
                    let mean = duels.as_deref().map(mean);
                    self.verdict(format!("all/{form}"), peer, mean, bound)
                })
                .into(),
        }
    }

    fn cells(&self, options: &Options) -> impl Iterator<Item = Cell> {
        let mut cells = Vec::new();
        for &entries in sizes(options, self.entries) {
            for presized in [false, true] {
                for workload in self.workloads {
                    cells.extend(self.threads.iter().map(|&threads| Cell {
                        workload: workload.name().to_owned(),
                        entries,
                        threads,
                        presized,
                    }));
                }
            }
        }
        cells.into_iter()
    }

    fn duel<'d>(&self, duels: &'d [Duel], cell: &Cell) -> Option<&'d Duel> {
        let mut of_cell = duels
            .iter()
            .filter(|duel| duel.subject == self.subject && duel.cell() == *cell);
        match self.rival {
            Rival::Papaya => of_cell.find(|duel| duel.peer == Papaya::NAME),
            Rival::BestPeer => best_peer(of_cell, self.subject),
        }
    }

    fn verdict(
        &self,
        cell: String,
        rival: Option<&String>,
        ratio: Option<[f64; 3]>,
        bound: f64,
    ) -> Verdict {
        let [low, median, high] = ratio.unwrap_or([f64::NAN; 3]);
        Verdict {
            bar: self.name.to_owned(),
            cell,
            rival: rival.map_or("not in this build", |peer| peer).to_owned(),
            value: rounded(median),
            p25: ratio.map(|_| rounded(low)),
            p75: ratio.map(|_| rounded(high)),
            bound: format!("≥ {bound}"),
            result: result(median >= bound),
        }
    }
}

const PASS: &str = "PASS";

/// What was not measured has not passed: comparisons with NaN are false.
fn result(passed: bool) -> &'static str {
    if passed { PASS } else { "FAIL" }
}

/// The geometric means of quartiles.
fn mean(duels: &[&Duel]) -> [f64; 3] {
    let mean = |part: fn(&Duel) -> f64| {
        let logs: f64 = duels.iter().map(|duel| part(duel).ln()).sum();
        (logs / duels.len() as f64).exp()
    };
    [
        mean(|duel| duel.ratio_p25),
        mean(|duel| duel.ratio),
        mean(|duel| duel.ratio_p75),
    ]
}

fn bytes_verdicts(rows: &[BytesRow]) -> Vec<Verdict> {
    let verdict = |(subject, bound): (&str, f64)| {
        let steps: Vec<_> = rows
            .iter()
            .filter(|row| row.peer == subject)
            .cloned()
            .collect();
        // NaN if there are none.
        let value = bytes::mean(&steps);
        Verdict {
            bar: format!("bytes an entry: {subject}"),
            cell: "mean over a doubling".to_owned(),
            rival: "itself".to_owned(),
            value: rounded(value),
            p25: None,
            p75: None,
            bound: format!("≤ {bound}"),
            result: result(value <= bound),
        }
    };
    BYTES.map(verdict).into()
}

fn growth_verdicts(rows: &[GrowthRow]) -> Vec<Verdict> {
    let verdict = |(subject, bound): (&str, f64)| {
        let row = rows
            .iter()
            .find(|row| row.peer == subject && row.case == GrowthRow::WHILE_GROWING);
        let value = row.and_then(|row| row.times_final).unwrap_or(f64::NAN);
        Verdict {
            bar: format!("growth, reads' p99.9: {subject}"),
            cell: row.map_or_else(String::new, |row| format!("{} entries", row.entries)),
            rival: "its final table".to_owned(),
            value,
            p25: row.and_then(|row| row.times_final_p25),
            p75: row.and_then(|row| row.times_final_p75),
            bound: format!("≤ {bound}"),
            result: result(value <= bound),
        }
    };
    GROWTH.map(verdict).into()
}

#[cfg(test)]
mod tests {
    use super::{BARS, Demand, Options};

    #[test]
    fn what_is_not_measured_fails() {
        for bar in BARS {
            let verdicts = bar.verdicts(&Options::default(), &[]);
            assert!(!verdicts.is_empty());
            assert!(
                verdicts.iter().all(|row| row.result == "FAIL"),
                "{}",
                bar.name
            );
        }
    }

    #[test]
    fn a_quick_run_skips_the_largest_size() {
        let quick = Options {
            quick: true,
            ..Options::default()
        };
        let rows = |options| -> usize {
            let each = BARS
                .iter()
                .filter(|bar| matches!(bar.demand, Demand::Each(_)));
            each.map(|bar| bar.verdicts(options, &[]).len()).sum()
        };
        assert!(rows(&quick) < rows(&Options::default()));
    }
}
