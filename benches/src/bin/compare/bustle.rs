//! The public harness `bustle` (<https://github.com/jonhoo/bustle>) with the mixes of conc-map-bench
//! (<https://github.com/xacrimon/conc-map-bench>), for comparison with what others published. Its keys are disjoint
//! per thread, its tables presized, and about three in eight of its look-ups hit (it rounds its keys up to a power of
//! two). The capacity is smaller than theirs, 2^25, which fits no round of many peers into minutes. As there, an
//! operation takes a guard of its own.

use std::sync::Arc;

use anyhow::Result;
use bustle::{Collection, CollectionHandle, Measurement, Mix, Workload};
use nulls_benches::adapters::{Papaya, Session, Table, Visitor, for_each_table};
use nulls_benches::contest::Timing;
use nulls_benches::progress::Progress;
use nulls_benches::record;
use nulls_benches::score::{self, Cell, Duel};
use nulls_benches::workloads::key;

use crate::options::Options;

/// Name, shares of reads, inserts, removals and updates, and how full the table is at the beginning.
const MIXES: [(&str, [u8; 4], f64); 3] = [
    ("read-heavy", [98, 1, 1, 0], 0.75),
    ("exchange", [10, 40, 40, 10], 0.75),
    ("rapid-grow", [5, 80, 5, 10], 0.0),
];

pub(crate) fn command(options: &Options) -> Result<()> {
    let log2 = options.by_scale(10, 19, 22);
    let rounds = options.rounds(3, 9);
    let mut peers = Peers {
        options,
        list: Vec::new(),
    };
    for_each_table(&mut peers)?;
    let mut progress = Progress::new();
    let mut duels = Vec::new();
    for (name, shares, full) in MIXES {
        for threads in [1, 2] {
            let cell = Cell {
                workload: format!("bustle-{name}"),
                entries: 1 << log2,
                threads,
                presized: true,
            };
            if !options.wants(&cell.name()) {
                continue;
            }
            let mut workload = Workload::new(threads, mix(shares));
            workload.initial_capacity_log2(log2).prefill_fraction(full);
            let timings = contest(&peers.list, workload, threads, rounds, |round| {
                progress.tell(|| format!("{}: round {round} of {rounds}", cell.name()));
            });
            score::print(&cell.name(), Papaya::NAME, &score::scores(&timings));
            duels.extend(Duel::all(&cell, &timings));
            options.write(&duels)?;
        }
    }
    Ok(())
}

fn mix([read, insert, remove, update]: [u8; 4]) -> Mix {
    Mix {
        read,
        insert,
        remove,
        update,
        upsert: 0,
    }
}

/// Rounds interleaved, the order rotated by one each; the same seed for all peers of a round.
fn contest(
    peers: &[Peer],
    mut workload: Workload,
    threads: usize,
    rounds: usize,
    mut progress: impl FnMut(usize),
) -> Vec<Timing> {
    let mut timings: Vec<_> = peers.iter().map(Peer::timing).collect();
    for round in 0..rounds {
        progress(round);
        let mut seed = [0; 32];
        seed[..8].copy_from_slice(&key(round).to_le_bytes());
        workload.seed(seed);
        for turn in 0..peers.len() {
            let at = (round + turn) % peers.len();
            let measured = (peers[at].run)(&workload);
            // Its own `latency` is the same in whole nanoseconds.
            let ops_a_thread = measured.total_ops as f64 / threads as f64;
            let time = measured.spent.as_secs_f64() * 1e9 / ops_a_thread;
            timings[at].times.push(time);
        }
    }
    timings
}

struct Peer {
    name: &'static str,
    version: &'static str,
    run: fn(&Workload) -> Measurement,
}

impl Peer {
    fn timing(&self) -> Timing {
        Timing {
            name: self.name.to_owned(),
            version: self.version,
            times: Vec::new(),
            missed: 0,
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
                run: Workload::run_silently::<Driven<T>>,
            });
        }
        Ok(())
    }
}

/// A table as the harness wants it: collection and handle in one, since a handle cannot borrow.
struct Driven<T>(Arc<T>);

impl<T: Table> Collection for Driven<T> {
    type Handle = Self;

    fn with_capacity(capacity: usize) -> Self {
        Self(Arc::new(T::with_capacity(capacity)))
    }

    fn pin(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<T: Table> CollectionHandle for Driven<T> {
    type Key = u64;

    fn get(&mut self, key: &u64) -> bool {
        self.0.pin().get(key).is_some()
    }

    fn insert(&mut self, key: &u64) -> bool {
        self.0.pin().insert(*key, 0)
    }

    fn remove(&mut self, key: &u64) -> bool {
        self.0.pin().remove(key)
    }

    fn update(&mut self, key: &u64) -> bool {
        self.0.pin().update(*key)
    }
}
