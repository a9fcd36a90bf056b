//! `compare`: nulls and its peers in every respect that `BENCHMARKS.md` reports, the bars that nulls has to
//! pass, and the report itself.

mod arrivals;
mod bars;
mod bustle;
mod bytes;
mod cells;
mod charts;
mod grid;
mod growth;
mod maps;
mod options;
mod parlay;
mod records;
mod report;
mod ycsb;

use anyhow::Result;
use clap::{Parser, Subcommand};
use nulls_benches::counting::Counting;

use crate::options::Options;

/// What is asked for is counted by `bytes` and `maps`.
#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Compares nulls with its peers: the same work in one process, rounds interleaved, answers checked.
///
/// Throughput commands print nanoseconds per operation and thread, and ratios to papaya; records hold the
/// ratio of each peer's time to each of our maps' (above 1: ours is faster). Progress goes to stderr.
#[derive(Parser)]
struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Hits, misses, skewed hits, 95/5, 50/50 and churn over sizes and threads, grown and presized; with the
    /// floors of hits.
    Grid(Options),
    /// Hits of our maps beside the floors: one random line, and two dependent ones.
    Floors(Options),
    /// The grid of parlayhash: sizes, update shares and skew, half of the keys absent.
    Parlay(Options),
    /// YCSB's A, B, C and F at zipf 0.99.
    Ycsb(Options),
    /// The harness `bustle` with the mixes of conc-map-bench.
    Bustle(Options),
    /// Latencies of inserts that grow a table from empty, and of reads meanwhile and afterwards.
    Growth(Options),
    /// Latencies of arriving connections while other threads look up.
    Arrivals(Options),
    /// Bytes an entry, in the mean between two doublings.
    Bytes(Options),
    /// 10,000 empty maps and 10,000 of one entry.
    Maps(Options),
    /// Measures what the performance bars need; fails unless all are passed.
    Bars(bars::Args),
    /// Draws the records as SVG.
    Charts(charts::Args),
    /// Writes the records' tables into BENCHMARKS.md.
    Report(report::Args),
}

fn main() -> Result<()> {
    match Args::parse().command {
        Command::Grid(options) => cells::command(&options, grid::plans(&options)),
        Command::Floors(options) => grid::floors(&options),
        Command::Parlay(options) => cells::command(&options, parlay::plans(&options)),
        Command::Ycsb(options) => cells::command(&options, ycsb::plans(&options)),
        Command::Bustle(options) => bustle::command(&options),
        Command::Growth(options) => growth::command(&options),
        Command::Arrivals(options) => arrivals::command(&options),
        Command::Bytes(options) => bytes::command(&options),
        Command::Maps(options) => maps::command(&options),
        Command::Bars(args) => bars::command(&args),
        Command::Charts(args) => charts::command(&args),
        Command::Report(args) => report::command(&args),
    }
}
