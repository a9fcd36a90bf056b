//! `quick`: look-ups, updates and churn of `nulls` and its peers, relative to papaya.

use std::path::PathBuf;

use anyhow::Result;
use clap::Parser;
use nulls_benches::adapters::{Papaya, Table, Visitor, for_each_table};
use nulls_benches::contest::{self, Contender, Work};
use nulls_benches::progress::Progress;
use nulls_benches::record::{self, rounded};
use nulls_benches::score;
use nulls_benches::workloads::{Script, Workload};
use serde::Serialize;

const ENTRIES: [usize; 2] = [100_000, 2_000_000];
const THREADS: [usize; 2] = [1, 2];
const WORKLOADS: [Workload; 4] = [
    Workload::Hit,
    Workload::Miss,
    Workload::Mix,
    Workload::Churn,
];

/// Workload, entries, threads.
type Cell = (Workload, usize, usize);

fn cell_name((workload, entries, threads): Cell) -> String {
    format!("{}/{entries}/{threads}", workload.name())
}

/// Compares nulls with its peers: the same work in one process, rounds interleaved.
///
/// Times are wall-clock time per operation and thread (of the slowest thread): the reciprocal of a
/// thread's throughput, not a latency. Ratios are papaya's time by the table's time: above 1 is faster
/// than papaya. "by round" is the median of the ratios within each round, with their quartiles.
#[derive(Parser)]
struct Args {
    /// Few and short rounds: less than two minutes for everything.
    #[arg(long, conflicts_with = "once")]
    quick: bool,
    /// Everything once at a tiny size: do all tables answer right? The times mean nothing.
    #[arg(long)]
    once: bool,
    /// Only the cells whose name (such as churn/100000/2: workload, entries, threads) contains this.
    #[arg(long, value_name = "FILTER")]
    only: Option<String>,
    /// Only the peers whose names contain one of these, and papaya.
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    peers: Vec<String>,
    /// Rounds that count, in each cell.
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..))]
    rounds: Option<u16>,
    /// Make tables of the right size at once, instead of letting them grow.
    #[arg(long)]
    presize: bool,
    /// Write a CSV record.
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,
}

impl Args {
    fn rounds(&self) -> usize {
        let default = if self.once {
            1
        } else if self.quick {
            5
        } else {
            21
        };
        self.rounds.map_or(default, usize::from)
    }

    fn cells(&self) -> Vec<Cell> {
        let mut cells = Vec::new();
        for &entries in if self.once { &[1_000][..] } else { &ENTRIES } {
            for workload in WORKLOADS {
                cells.extend(THREADS.map(|threads| (workload, entries, threads)));
            }
        }
        cells.retain(|cell| {
            self.only
                .as_ref()
                .is_none_or(|only| cell_name(*cell).contains(only))
        });
        cells
    }

    /// Operations that a thread makes in a round.
    fn ops(&self, entries: usize) -> usize {
        match entries {
            ..10_000 => 2 * entries,
            _ if self.quick => 200_000,
            _ => 1_000_000,
        }
    }
}

#[derive(Serialize)]
struct Row {
    peer: String,
    peer_version: &'static str,
    workload: &'static str,
    entries: usize,
    threads: usize,
    presized: bool,
    rounds: usize,
    ns_per_op: f64,
    ratio_to_papaya: f64,
    ratio_p25: f64,
    ratio_p75: f64,
}

/// Tables of one size, filled.
struct Lineup<'a> {
    args: &'a Args,
    entries: usize,
    contenders: Vec<Contender>,
}

impl<'a> Lineup<'a> {
    fn new(args: &'a Args, entries: usize) -> Result<Self> {
        let mut lineup = Self {
            args,
            entries,
            contenders: Vec::new(),
        };
        for_each_table(&mut lineup)?;
        Ok(lineup)
    }
}

impl Visitor for Lineup<'_> {
    fn visit<T: Table>(&mut self) -> Result<()> {
        let Args { peers, presize, .. } = self.args;
        let wanted = |name: &String| T::NAME.contains(name.as_str());
        if peers.is_empty() || T::NAME == Papaya::NAME || peers.iter().any(wanted) {
            let table = T::with_capacity(if *presize { self.entries } else { 0 });
            self.contenders
                .push(Contender::new(T::NAME, table, self.entries)?);
        }
        Ok(())
    }
}

fn main() -> Result<()> {
    let args = Args::parse();
    let rounds = args.rounds();
    let cells = args.cells();
    let mut progress = Progress::new();
    let mut rows = Vec::new();
    let mut unchanged: Option<Lineup<'_>> = None;
    for (at, &cell @ (workload, entries, threads)) in cells.iter().enumerate() {
        let name = cell_name(cell);
        let mut tell = |what: &str| {
            progress.tell(|| format!("cell {} of {}, {name}: {what}", at + 1, cells.len()));
        };
        tell("filling tables");
        let lineup = match unchanged.take_if(|lineup| lineup.entries == entries) {
            Some(lineup) => lineup,
            None => Lineup::new(&args, entries)?,
        };
        let mut script = Script::new(workload, entries, threads, args.ops(entries));
        let contenders: Vec<_> = lineup.contenders.iter().collect();
        let timings = contest::run(&mut script, &contenders, rounds, |round| {
            tell(&format!("round {round} of {rounds}"));
        })?;
        let scores = score::scores(&timings);
        score::print(&name, Papaya::NAME, &scores);
        rows.extend(scores.into_iter().zip(&timings).map(|(score, timing)| Row {
            peer: score.name,
            peer_version: timing.version,
            workload: workload.name(),
            entries,
            threads,
            presized: args.presize,
            rounds,
            ns_per_op: rounded(score.time[1]),
            ratio_to_papaya: rounded(score.ratio[1]),
            ratio_p25: rounded(score.ratio[0]),
            ratio_p75: rounded(score.ratio[2]),
        }));
        unchanged = Some(lineup).filter(|_| script.only_reads());
    }
    args.record
        .map_or(Ok(()), |file| record::write_csv(&file, &rows))
}
