//! Readers while connections arrive. A full table; readers look up what is in it without a pause; one thread has a
//! connection arrive at each tick of a clock: a new key comes and the oldest goes. Its latency counts from the
//! tick, not from when the thread got round to it, so that what queues behind a slow operation shows
//! (no coordinated omission).

use std::hint::spin_loop;
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use nulls_benches::adapters::{Session, Table, Visitor, for_each_table};
use nulls_benches::latency::{Latencies, Percentiles};
use nulls_benches::progress::Progress;
use nulls_benches::record::{self, quartiles, rounded};
use nulls_benches::workloads::{PIN_EVERY, fill, key, value};

use crate::options::Options;
use crate::records::ArrivalsRow as Row;

const ARRIVALS_PER_SECOND: u32 = 100_000;

/// Readers stay this far from the oldest keys, which go next.
const MARGIN: usize = 500;

pub(crate) fn command(options: &Options) -> Result<()> {
    let load = Load {
        entries: options.by_scale(1_000, 200_000, 1_000_000),
        arrivals: options.by_scale(1_000, ARRIVALS_PER_SECOND as usize, 500_000),
    };
    let rounds = options.rounds(3, 9);
    let mut peers = Peers {
        options,
        list: Vec::new(),
    };
    for_each_table(&mut peers)?;
    let mut progress = Progress::new();
    let mut rows = Vec::new();
    for readers in [1, 3] {
        if !options.wants(&format!("{readers} readers")) {
            continue;
        }
        let mut results: Vec<Vec<Round>> = peers.list.iter().map(|_| Vec::new()).collect();
        for round in 0..rounds {
            for turn in 0..peers.list.len() {
                let at = (round + turn) % peers.list.len();
                let peer = &peers.list[at];
                progress.tell(|| {
                    format!(
                        "{readers} readers, round {round} of {rounds}: {}",
                        peer.name
                    )
                });
                results[at].push((peer.run)(load, readers)?);
            }
        }
        let new = peers.list.iter().zip(&results);
        let new: Vec<_> = new
            .map(|(peer, rounds)| peer.row(load, readers, rounds))
            .collect();
        print(readers, &new);
        rows.extend(new);
        options.write(&rows)?;
    }
    Ok(())
}

fn print(readers: usize, rows: &[Row]) {
    println!(
        "{:<20}{:>12}{:>13}{:>13}{:>13}{:>13}{:>10}",
        format!("{readers} readers"),
        "p50 ns",
        "p99",
        "p99.9",
        "max",
        "service p99",
        "Mreads/s"
    );
    for row in rows {
        println!(
            "  {:<18}{:>12}{:>13}{:>13}{:>13}{:>13}{:>10.2}",
            row.peer,
            row.p50,
            row.p99,
            row.p999,
            row.max,
            row.service_p99,
            row.reads_per_second / 1e6
        );
    }
    println!();
}

#[derive(Clone, Copy)]
struct Load {
    entries: usize,
    arrivals: usize,
}

struct Round {
    /// From the tick.
    response: Latencies,
    /// From when the thread began.
    service: Latencies,
    reads_per_second: f64,
}

struct Peer {
    name: &'static str,
    version: &'static str,
    run: fn(Load, usize) -> Result<Round>,
}

impl Peer {
    fn row(&self, load: Load, readers: usize, rounds: &[Round]) -> Row {
        let percentiles = |part: fn(&Round) -> &Latencies| {
            Percentiles::of(&rounds.iter().map(part).collect::<Vec<_>>())
        };
        let response = percentiles(|round| &round.response);
        let reads: Vec<_> = rounds.iter().map(|round| round.reads_per_second).collect();
        Row {
            peer: self.name.to_owned(),
            peer_version: self.version.to_owned(),
            entries: load.entries,
            readers,
            oversubscribed: thread::available_parallelism()
                .is_ok_and(|processors| readers + 1 > processors.get()),
            arrivals_per_second: ARRIVALS_PER_SECOND,
            rounds: rounds.len(),
            samples: rounds.iter().map(|round| round.response.count()).sum(),
            p50: response.p50,
            p99: response.p99,
            p999: response.p999,
            max: response.max,
            service_p99: percentiles(|round| &round.service).p99,
            reads_per_second: rounded(quartiles(&reads)[1]),
        }
    }
}

struct Peers<'a> {
    options: &'a Options,
    list: Vec<Peer>,
}

impl Visitor for Peers<'_> {
    fn visit<T: Table>(&mut self) -> Result<()> {
        if self.options.wants_table(T::NAME) {
            self.list.push(Peer {
                name: T::NAME,
                version: record::version(T::PACKAGE),
                run: round::<T>,
            });
        }
        Ok(())
    }
}

/// The window of keys that are in the table moves: what the threads know of it.
struct Window {
    entries: usize,
    /// How many keys have gone or go next, and as many have come.
    gone: AtomicUsize,
    over: AtomicBool,
}

fn round<T: Table>(load: Load, readers: usize) -> Result<Round> {
    let table = T::with_capacity(0);
    fill(&table, load.entries)?;
    let window = Window {
        entries: load.entries,
        gone: AtomicUsize::new(0),
        over: AtomicBool::new(false),
    };
    let start = Barrier::new(readers + 1);
    thread::scope(|scope| {
        let (table, window, start) = (&table, &window, &start);
        let readers: Vec<_> = (0..readers as u64)
            .map(|seed| scope.spawn(move || read(table, window, start, seed)))
            .collect();
        start.wait();
        let begun = Instant::now();
        let arrived = arrive(table, window, load.arrivals);
        window.over.store(true, Ordering::Relaxed);
        let mut reads = 0;
        for reader in readers {
            reads += reader.join().expect("no peer panics")?;
        }
        let (response, service) = arrived?;
        Ok(Round {
            response,
            service,
            reads_per_second: reads as f64 / begun.elapsed().as_secs_f64(),
        })
    })
}

/// One arrival a tick.
fn arrive(table: &impl Table, window: &Window, arrivals: usize) -> Result<(Latencies, Latencies)> {
    let tick = Duration::from_secs(1) / ARRIVALS_PER_SECOND;
    let (mut response, mut service) = (Latencies::new()?, Latencies::new()?);
    let mut due = Instant::now();
    let mut good = 0;
    for old in 0..arrivals {
        due += tick;
        let mut begun = Instant::now();
        while begun < due {
            spin_loop();
            begun = Instant::now();
        }
        let new = key(window.entries + old);
        let session = table.pin();
        good += usize::from(session.insert(new, value(new)));
        window.gone.store(old + 1, Ordering::Release);
        good += usize::from(session.remove(&key(old)));
        drop(session);
        let done = Instant::now();
        response.add(done - due);
        service.add(done - begun);
    }
    ensure!(good == 2 * arrivals, "an arrival or departure failed");
    Ok((response, service))
}

/// Reads keys that are there until the arrivals are over. How many.
fn read(table: &impl Table, window: &Window, start: &Barrier, seed: u64) -> Result<u64> {
    let mut rng = fastrand::Rng::with_seed(seed);
    let mut made = 0;
    start.wait();
    while !window.over.load(Ordering::Relaxed) {
        // No key of the batch is so old that it goes while the batch lasts, unless the reader stands still.
        let oldest = window.gone.load(Ordering::Acquire);
        let session = table.pin();
        let mut missed = 0;
        for _ in 0..PIN_EVERY {
            let key = key(oldest + rng.usize(MARGIN..window.entries));
            missed += usize::from(session.get(&key) != Some(value(key)));
        }
        drop(session);
        let went = window.gone.load(Ordering::Acquire) - oldest;
        ensure!(
            missed == 0 || went >= MARGIN,
            "{missed} present keys missed"
        );
        made += PIN_EVERY as u64;
    }
    Ok(made)
}
