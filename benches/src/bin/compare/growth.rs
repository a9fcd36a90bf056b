//! What growing costs single operations. One thread fills a table from empty and times every insert; another one
//! looks up keys that are there and times every read. Then the same reads again of the final table, while the
//! other core reads random memory: what the machine alone makes of them.
//!
//! Each operation takes a guard of its own, so that what a guard's end frees counts as its time. A clock
//! is read before and after each (two dozen nanoseconds, part of all figures). The loops are closed: after a slow
//! operation the next one begins late, so these are times of service and not of response; `arrivals` has those.

use std::hint::{black_box, spin_loop};
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::Instant;

use anyhow::{Result, ensure};
use nulls_benches::adapters::{Session, Table, Visitor, for_each_table};
use nulls_benches::latency::{Latencies, Percentiles};
use nulls_benches::progress::Progress;
use nulls_benches::record::{self, quartiles, rounded};
use nulls_benches::workloads::{key, value};

use crate::options::Options;
use crate::records::GrowthRow as Row;

pub(crate) fn command(options: &Options) -> Result<()> {
    let rows = measure(options)?;
    println!(
        "{:<20}{:<28}{:>10}{:>10}{:>10}{:>12}  p99.9 × final",
        "ns", "", "p50", "p99", "p99.9", "max"
    );
    for row in &rows {
        print!(
            "{:<20}{:<28}{:>10}{:>10}{:>10}{:>12}",
            row.peer, row.case, row.p50, row.p99, row.p999, row.max
        );
        match (row.times_final, row.times_final_p25, row.times_final_p75) {
            (Some(ratio), Some(low), Some(high)) => println!("  {ratio:.2} ({low:.2}..{high:.2})"),
            _ => println!(),
        }
    }
    Ok(())
}

/// Prints nothing, but writes the record.
pub(crate) fn measure(options: &Options) -> Result<Vec<Row>> {
    let entries = options.by_scale(20_000, 500_000, 4_000_000);
    let rounds = options.rounds(3, 15);
    let words = options.by_scale(1 << 10, 1 << 24, 1 << 25);
    let memory: Vec<u64> = (0..words).map(key).collect();
    let mut peers = Peers {
        options,
        list: Vec::new(),
    };
    for_each_table(&mut peers)?;
    let mut results: Vec<Vec<Round>> = peers.list.iter().map(|_| Vec::new()).collect();
    let mut progress = Progress::new();
    for round in 0..rounds {
        for turn in 0..peers.list.len() {
            let at = (round + turn) % peers.list.len();
            let peer = &peers.list[at];
            progress.tell(|| format!("round {round} of {rounds}: {}", peer.name));
            results[at].push((peer.run)(entries, &memory)?);
        }
    }
    let rows: Vec<_> = peers
        .list
        .iter()
        .zip(&results)
        .flat_map(|(peer, rounds)| peer.rows(entries, rounds))
        .collect();
    options.write(&rows)?;
    Ok(rows)
}

/// One table's growth.
struct Round {
    inserts: Latencies,
    reads_growing: Latencies,
    reads_final: Latencies,
}

impl Round {
    /// How many times that of the final table the growing table's 99.9th percentile is.
    fn ratio(&self) -> f64 {
        let p999 = |reads: &Latencies| reads.quantile(0.999);
        p999(&self.reads_growing) / p999(&self.reads_final)
    }
}

struct Peer {
    name: &'static str,
    version: &'static str,
    run: fn(usize, &[u64]) -> Result<Round>,
}

impl Peer {
    fn rows(&self, entries: usize, rounds: &[Round]) -> [Row; 3] {
        type Part = fn(&Round) -> &Latencies;
        let cases: [(&str, Part); 3] = [
            ("insert", |round| &round.inserts),
            ("read while growing", |round| &round.reads_growing),
            ("read of the final table", |round| &round.reads_final),
        ];
        let ratios: Vec<_> = rounds.iter().map(Round::ratio).collect();
        let ratios = quartiles(&ratios).map(rounded);
        cases.map(|(case, part)| {
            let Percentiles {
                p50,
                p99,
                p999,
                max,
            } = Percentiles::of(&rounds.iter().map(part).collect::<Vec<_>>());
            let ratio = |at: usize| (case == Row::WHILE_GROWING).then_some(ratios[at]);
            Row {
                peer: self.name.to_owned(),
                peer_version: self.version.to_owned(),
                case: case.to_owned(),
                entries,
                rounds: rounds.len(),
                samples: rounds.iter().map(|round| part(round).count()).sum(),
                p50,
                p99,
                p999,
                max,
                times_final: ratio(1),
                times_final_p25: ratio(0),
                times_final_p75: ratio(2),
            }
        })
    }
}

struct Peers<'a> {
    options: &'a Options,
    list: Vec<Peer>,
}

impl Visitor for Peers<'_> {
    fn visit<T: Table>(&mut self) -> Result<()> {
        if self.options.wants_table(T::NAME) && self.options.wants(T::NAME) {
            self.list.push(Peer {
                name: T::NAME,
                version: record::version(T::PACKAGE),
                run: round::<T>,
            });
        }
        Ok(())
    }
}

fn round<T: Table>(entries: usize, memory: &[u64]) -> Result<Round> {
    let table = T::with_capacity(0);
    let there = AtomicUsize::new(0);
    let start = Barrier::new(2);
    let (inserts, reads_growing) = thread::scope(|scope| {
        let writer = scope.spawn(|| {
            start.wait();
            insert(&table, entries, &there)
        });
        start.wait();
        let reads = read(&table, &there, |_, there| there < entries);
        (writer.join().expect("no peer panics"), reads)
    });
    let reads_growing = reads_growing?;
    let (stop, count) = (AtomicBool::new(false), reads_growing.count());
    let reads_final = thread::scope(|scope| {
        scope.spawn(|| disturb(memory, &stop));
        let reads = read(&table, &there, |made, _| made < count);
        stop.store(true, Ordering::Relaxed);
        reads
    });
    Ok(Round {
        inserts: inserts?,
        reads_growing,
        reads_final: reads_final?,
    })
}

/// Fills the table, and tells in `there` how far it is.
fn insert(table: &impl Table, entries: usize, there: &AtomicUsize) -> Result<Latencies> {
    let mut latencies = Latencies::new()?;
    let mut added = 0;
    for i in 0..entries {
        let (key, value) = (key(i), value(key(i)));
        let start = Instant::now();
        let new = table.pin().insert(key, value);
        latencies.add(start.elapsed());
        added += usize::from(new);
        there.store(i + 1, Ordering::Release);
    }
    ensure!(added == entries, "a new key was present");
    Ok(latencies)
}

/// Reads keys that are there, as long as `go_on` says of the number of reads and of entries.
fn read(
    table: &impl Table,
    there: &AtomicUsize,
    go_on: impl Fn(u64, usize) -> bool,
) -> Result<Latencies> {
    let mut latencies = Latencies::new()?;
    let mut rng = fastrand::Rng::with_seed(1);
    let (mut made, mut wrong) = (0, 0);
    loop {
        let now = there.load(Ordering::Acquire);
        if !go_on(made, now) {
            break;
        }
        if now == 0 {
            spin_loop();
            continue;
        }
        let key = key(rng.usize(..now));
        let start = Instant::now();
        let found = table.pin().get(&key);
        latencies.add(start.elapsed());
        made += 1;
        wrong += u64::from(found != Some(value(key)));
    }
    ensure!(wrong == 0, "{wrong} of {made} reads were wrong");
    Ok(latencies)
}

/// What the other core does while a final table is read: reads of random lines, as inserts make them.
fn disturb(memory: &[u64], stop: &AtomicBool) {
    let mut rng = fastrand::Rng::with_seed(2);
    while !stop.load(Ordering::Relaxed) {
        for _ in 0..64 {
            black_box(memory[rng.usize(..memory.len())]);
        }
    }
}
