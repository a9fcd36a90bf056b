//! `batch_size`: what the collector's batch size is worth to churn on two threads.

use std::path::PathBuf;

use anyhow::Result;
use clap::Parser;
use nulls::Collector;
use nulls_benches::adapters::Nulls;
use nulls_benches::contest::{self, Contender};
use nulls_benches::progress::Progress;
use nulls_benches::record::{self, rounded};
use nulls_benches::score;
use nulls_benches::workloads::{Script, Workload};
use serde::Serialize;

const SIZES: [usize; 7] = [32, 64, 128, 256, 512, 1024, 2048];
const THREADS: usize = 2;

/// Churn on two threads for each batch size of the collector, rounds interleaved.
///
/// Times are wall-clock time per operation (a removal and an insertion) and thread, of the slowest
/// thread: the reciprocal of a thread's throughput, not a latency. Ratios are the time at a batch size of 32
/// by the time: above 1 is faster. The larger the batches, the more garbage waits in them.
#[derive(Parser)]
struct Args {
    /// Entries in each table.
    #[arg(long, default_value_t = 100_000)]
    entries: usize,
    /// Operations that each thread makes in a round.
    #[arg(long, default_value_t = 500_000)]
    ops: usize,
    /// Rounds that count.
    #[arg(long, default_value_t = 21, value_parser = clap::value_parser!(u16).range(1..))]
    rounds: u16,
    /// Write a CSV record.
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,
}

#[derive(Serialize)]
struct Row {
    nulls_version: &'static str,
    batch_size: usize,
    workload: &'static str,
    entries: usize,
    threads: usize,
    rounds: usize,
    ns_per_op: f64,
    ratio_to_32: f64,
    ratio_p25: f64,
    ratio_p75: f64,
}

fn main() -> Result<()> {
    let args = Args::parse();
    let rounds = usize::from(args.rounds);
    let mut progress = Progress::new();
    let mut script = Script::new(Workload::Churn, args.entries, THREADS, args.ops);
    let contenders = SIZES.map(|size| {
        let collector = Collector::builder().batch_size(size).build();
        let table = Nulls::with_collector(script.entries(), collector);
        Contender::new(format!("batches of {size}"), table, script.entries())
    });
    let contenders: Vec<Contender> = contenders.into_iter().collect::<Result<_>>()?;
    let contenders: Vec<_> = contenders.iter().collect();
    let timings = contest::run(&mut script, &contenders, rounds, |round| {
        progress.tell(|| format!("round {round} of {rounds}"));
    })?;
    let scores = score::scores(&timings);
    score::print(
        &format!("churn/{}/{THREADS}", script.entries()),
        "32",
        &scores,
    );
    let rows: Vec<_> = SIZES
        .iter()
        .zip(scores)
        .map(|(&batch_size, score)| Row {
            nulls_version: record::version("nulls"),
            batch_size,
            workload: script.workload().name(),
            entries: script.entries(),
            threads: THREADS,
            rounds,
            ns_per_op: rounded(score.time[1]),
            ratio_to_32: rounded(score.ratio[1]),
            ratio_p25: rounded(score.ratio[0]),
            ratio_p75: rounded(score.ratio[2]),
        })
        .collect();
    args.record
        .map_or(Ok(()), |file| record::write_csv(&file, &rows))
}
