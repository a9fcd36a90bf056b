//! How fast a connect finds the last free local port, on four builds of a connection table.
//!
//! ```text
//! cargo run --release --example port_scan -- [--quick] [--json] [--flows N]
//! ```
//!
//! From each of 28,232 local ports but one there is a flow to the same peer, address and port; a
//! million other flows are in the table as well. A connect to that peer tries one port after the
//! other, from a random one on, until the table says that its 4-tuple is free. It must come upon
//! *the* free port; then it takes that, and another one is released. What is shown is the time of
//! such a scan divided by the candidates from its first port to the free one: the median of rounds,
//! in each of which every build scans for the same time. All tables have room for the same number
//! of entries, and a keyed hash of their own.
//!
//! | build | a candidate costs |
//! |---|---|
//! | `locked-random` | the keyed hash of the 4-tuple, a lock, a bucket and an entry, both anywhere in memory |
//! | `lockfree-random` | the same without the lock |
//! | `monotone` | one addition, the *next* bucket, an entry anywhere in memory |
//! | `monotone-line` | one addition, half a bucket |
//!
//! `locked-random` is what the kernel did until 2025. Its locks are as those of the kernel's table:
//! spin locks of four bytes, not padded, as many as a page holds, chosen by the low bits of the
//! hash. They stay in the cache; a lock for every bucket would cost one miss more.
//!
//! Where the speed comes from:
//!
//! * Nearly all the time of the random builds is waiting for memory, so leaving out the lock helps
//!   little here, where nobody else wants it.
//! * [`MonotoneState`] hashes all but the port and **adds the port**. A connect computes one keyed
//!   hash; the buckets of its candidates lie side by side, and the processor fetches them ahead.
//! * An entry found still has to be compared. `monotone-line` leaves that out: a tag that matches
//!   means *probably taken*, and is passed over; a missing one **proves** *free*. With a shift, two
//!   consecutive ports share a bucket, hence a cache line. Only if all ports look taken, because the
//!   free one has the tag of another flow in its bucket (one connect in 50 or so), does a second
//!   pass compare the entries. Its time is in the figure.

use core::hash::BuildHasher;
use core::hint;
use core::net::Ipv4Addr;
use core::ops::RangeInclusive;
use core::sync::atomic::{AtomicU32, Ordering};
use core::time::Duration;
use std::time::Instant;

use clap::Parser;
use nulls::hash::{KeyedState, MonotoneState};
use nulls::{NullsHashTable, NullsHashTableRef};
use serde_json::json;

/// Linux's default for `ip_local_port_range`.
const PORTS: RangeInclusive<u16> = 32_768..=60_999;
const PORT_COUNT: u32 = 28_232;

/// `monotone-line` has 2^1 consecutive ports a bucket. A bucket has six slots, and four of them are
/// other flows' on average: with 2^2 ports most need a second line, with 2^3 all.
const SHIFT: u32 = 1;

/// For how long a build scans in one round. The same for all: a busy system interrupts the one that
/// takes longer more often.
const SLICE: Duration = Duration::from_millis(20);

/// Measures how fast a connect finds the last free local port, on four builds of a connection table.
#[derive(Debug, Parser)]
#[command(name = "port_scan")]
struct Args {
    /// Print one JSON object instead of text
    #[arg(long)]
    json: bool,

    /// Measure 5 rounds instead of 41
    #[arg(long)]
    quick: bool,

    /// How many other flows are in the table
    #[arg(long, value_name = "N", default_value_t = 1_000_000)]
    flows: u32,
}

/// A 4-tuple. The local port comes last, so that [`MonotoneState`] adds it to the derived hash.
#[derive(Clone, Copy, Hash, PartialEq, Eq)]
struct Flow {
    local: u32,
    remote: u32,
    remote_port: u16,
    local_port: u16,
}

/// The flow from a local port to the one peer.
const fn candidate(local_port: u16) -> Flow {
    Flow {
        local: Ipv4Addr::new(192, 0, 2, 1).to_bits(),
        remote: Ipv4Addr::new(198, 51, 100, 1).to_bits(),
        remote_port: 443,
        local_port,
    }
}

/// All ports, from `start` on and around.
fn ports(start: u16) -> impl Iterator<Item = u16> {
    (start..=*PORTS.end()).chain(*PORTS.start()..start)
}

/// A table, and the hash under the secret of that table.
struct Table<S> {
    flows: NullsHashTable<Flow>,
    hasher: S,
}

impl<S: BuildHasher> Table<S> {
    fn new(hasher: S, shift: u32, flows: &[Flow]) -> Self {
        let builder = NullsHashTable::builder();
        let table = Self {
            flows: builder.shift(shift).capacity(flows.len()).build(),
            hasher,
        };
        for &flow in flows {
            table.insert(flow);
        }
        table
    }

    fn insert(&self, flow: Flow) {
        self.flows.pin().insert(self.hasher.hash_one(flow), flow);
    }

    /// Takes one port and releases another.
    fn exchange(&self, taken: u16, released: u16) {
        self.insert(candidate(taken));
        let released = candidate(released);
        let hash = self.hasher.hash_one(released);
        self.flows.pin().remove(hash, |found| *found == released);
    }
}

/// The exact test: compares the entries that have this hash.
fn is_free(t: &NullsHashTableRef<'_, Flow>, hash: u64, flow: Flow) -> bool {
    t.find(hash, |found| *found == flow).is_none()
}

/// Spin locks as the kernel's: taken by an atomic exchange, released by a plain store.
struct Locks([AtomicU32; 1024]);

impl Locks {
    fn hold<R>(&self, hash: u64, work: impl FnOnce() -> R) -> R {
        let lock = &self.0[(hash % 1024) as usize];
        while lock.swap(1, Ordering::Acquire) != 0 {
            hint::spin_loop();
        }
        let result = work();
        lock.store(0, Ordering::Release);
        result
    }
}

struct Tables {
    locks: Locks,
    random: Table<KeyedState>,
    monotone: Table<MonotoneState>,
    line: Table<MonotoneState>,
}

/// Finds a free port, trying `start` first.
type Scan = fn(&Tables, start: u16) -> Option<u16>;

const BUILDS: [(&str, Scan); 4] = [
    ("locked-random", Tables::locked_random),
    ("lockfree-random", Tables::lockfree_random),
    ("monotone", Tables::monotone),
    ("monotone-line", Tables::monotone_line),
];

impl Tables {
    fn new(flows: &[Flow]) -> Self {
        Self {
            locks: Locks([const { AtomicU32::new(0) }; 1024]),
            random: Table::new(KeyedState::new(), 0, flows),
            monotone: Table::new(MonotoneState::new(), 0, flows),
            line: Table::new(MonotoneState::new(), SHIFT, flows),
        }
    }

    fn locked_random(&self, start: u16) -> Option<u16> {
        let t = self.random.flows.pin();
        ports(start).find(|&port| {
            let hash = self.random.hasher.hash_one(candidate(port));
            self.locks.hold(hash, || is_free(&t, hash, candidate(port)))
        })
    }

    fn lockfree_random(&self, start: u16) -> Option<u16> {
        let t = self.random.flows.pin();
        ports(start).find(|&port| {
            let hash = self.random.hasher.hash_one(candidate(port));
            is_free(&t, hash, candidate(port))
        })
    }

    fn monotone(&self, start: u16) -> Option<u16> {
        let t = self.monotone.flows.pin();
        let base = self.monotone.hasher.hash_one(candidate(0));
        ports(start).find(|&port| is_free(&t, base.wrapping_add(port.into()), candidate(port)))
    }

    fn monotone_line(&self, start: u16) -> Option<u16> {
        let t = self.line.flows.pin();
        let base = self.line.hasher.hash_one(candidate(0));
        let hash = |port: u16| base.wrapping_add(port.into());
        ports(start)
            .find(|&port| !t.maybe_contains(hash(port)))
            .or_else(|| ports(start).find(|&port| is_free(&t, hash(port), candidate(port))))
    }
}

/// Random numbers, the same in every run.
struct Dice(u64);

impl Dice {
    fn roll(&mut self) -> u64 {
        self.0 += 1;
        KeyedState::with_keys(1, 2).hash_one(self.0)
    }

    fn port(&mut self) -> u16 {
        PORTS.start() + (self.roll() % 28_232) as u16
    }

    /// A flow from anywhere to a server on port 443.
    fn flow(&mut self) -> Flow {
        Flow {
            remote: (self.roll() >> 32) as u32,
            remote_port: (self.roll() >> 48) as u16,
            ..candidate(443)
        }
    }
}

/// All ports but the free one to the one peer, and other flows: in random order, as connections that
/// come and go have entries anywhere in memory.
fn flows(free: u16, others: u32, dice: &mut Dice) -> Vec<Flow> {
    let taken = ports(*PORTS.start()).filter(|&port| port != free);
    let mut flows: Vec<_> = taken.map(candidate).collect();
    flows.extend((0..others).map(|_| dice.flow()));
    flows.sort_by_cached_key(|_| dice.roll());
    flows
}

struct Measurement {
    tables: Tables,
    free: u16,
    dice: Dice,
    candidates: u64,
}

impl Measurement {
    fn new(others: u32) -> Self {
        let mut dice = Dice(0);
        let free = dice.port();
        Self {
            tables: Tables::new(&flows(free, others, &mut dice)),
            free,
            dice,
            candidates: 0,
        }
    }

    /// Connects until a [`SLICE`] has gone by in scans; returns nanoseconds a candidate.
    fn round(&mut self, scan: Scan) -> f64 {
        let (mut time, mut candidates) = (Duration::ZERO, 0);
        while time < SLICE {
            let start = self.dice.port();
            let begun = Instant::now();
            let found = scan(&self.tables, start);
            time += begun.elapsed();
            assert_eq!(found, Some(self.free), "there is one free port");
            let distance = u32::from(self.free) + PORT_COUNT - u32::from(start);
            candidates += distance % PORT_COUNT + 1;
            self.take_free_port();
        }
        self.candidates += u64::from(candidates);
        time.as_secs_f64() * 1e9 / f64::from(candidates)
    }

    fn take_free_port(&mut self) {
        let released = self.dice.port();
        if released != self.free {
            self.tables.random.exchange(self.free, released);
            self.tables.monotone.exchange(self.free, released);
            self.tables.line.exchange(self.free, released);
            self.free = released;
        }
    }

    /// The median of the rounds of each build. One round of each after the other, so that whatever
    /// else the system does hits all of them.
    fn medians(&mut self, rounds: usize) -> [f64; BUILDS.len()] {
        let mut times = BUILDS.map(|_| Vec::new());
        for _ in 0..rounds {
            for ((_, scan), times) in BUILDS.iter().zip(&mut times) {
                times.push(self.round(*scan));
            }
        }
        times.map(|mut times| {
            times.sort_by(f64::total_cmp);
            times[times.len() / 2]
        })
    }
}

fn main() {
    let args = Args::parse();
    let mut measurement = Measurement::new(args.flows);
    let medians = measurement.medians(if args.quick { 5 } else { 41 });
    let rows = BUILDS.iter().zip(medians).map(|((name, _), ns)| (name, ns));

    if args.json {
        let builds: Vec<_> = rows
            .map(|(name, ns)| json!({ "build": name, "ns_per_candidate": ns }))
            .collect();
        let candidates = measurement.candidates;
        println!(
            "{}",
            json!({ "ports": PORT_COUNT, "flows": args.flows, "candidates": candidates, "builds": builds })
        );
        return;
    }
    println!("{PORT_COUNT} ports, {} other flows", args.flows);
    println!("{:<16} {:>12} {:>7}", "build", "ns/candidate", "ratio");
    for (name, ns) in rows {
        println!("{name:<16} {ns:>12.1} {:>6.1}x", medians[0] / ns);
    }
}
