//! Translates addresses and ports, as a router before many hosts does: two [`InlineHashMap`]s, many
//! threads.
//!
//! ```text
//! cargo run --release --example nat                        # a million conversations, made up
//! cargo run --release --example nat -- --batch --json      # the same, looked up 32 at a time
//! cargo run --release --example nat -- capture.pcap.gz
//! ```
//!
//! The translator itself is in `translator/`, which says how it works and which RFCs it follows.
//! In short:
//!
//! * An outbound packet is looked up in the forward map; an inbound one in the reverse map, and
//!   dropped if it is not there. Neither takes a lock or writes shared memory.
//! * A new conversation takes a port by **inserting into the reverse map**, where only one thread can
//!   be first; so there is no list of free ports to lock, to leak from or to get out of step.
//! * A mapping expires by the clock of the packets. A sweeper removes such mappings while the
//!   workers go on.
//!
//! The other files are the surroundings: `traffic.rs` (traffic without a file), `replay.rs` and
//! `headers.rs` (that of a capture, whose files are read by the modules of `flows`), `step.rs` and
//! `burst.rs` (packets on their way to a worker), `worker.rs` (translates and measures), `clock.rs`
//! (time and the sweeper), `progress.rs` and `report.rs`.
//!
//! [`InlineHashMap`]: nulls::InlineHashMap

mod burst;
#[path = "../flows/capture.rs"]
mod capture;
mod clock;
#[path = "../flows/error.rs"]
mod error;
mod headers;
#[path = "../flows/input.rs"]
mod input;
mod progress;
mod replay;
mod report;
mod step;
mod traffic;
mod translator;
mod worker;

use core::convert::Infallible;
use core::num::NonZero;
use core::sync::atomic::AtomicU64;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::mpsc::{self, Receiver, SyncSender};
use std::thread::{self, ScopedJoinHandle};

use clap::Parser;

use crate::capture::Capture;
use crate::clock::Clock;
use crate::error::{CaptureError, Failure};
use crate::replay::{Replay, Seen};
use crate::report::Report;
use crate::step::Step;
use crate::traffic::{Plan, Traffic};
use crate::translator::{Nat, PORTS, Pool};
use crate::worker::{Shared, Tally};

/// The first external address; RFC 5737 gives its network to examples.
const EXTERNAL: [u8; 4] = [203, 0, 113, 1];

/// Batches that may wait for one worker: enough that it never idles, few enough to bound memory.
const WAITING_BATCHES: usize = 4;

/// Translates addresses and ports of a capture or of made-up traffic, and tells how fast.
#[derive(Debug, Parser)]
#[command(name = "nat")]
struct Args {
    /// A pcap or pcapng file, plain or gzip; without it, traffic is generated
    file: Option<PathBuf>,

    /// Print one JSON object instead of text
    #[arg(long)]
    json: bool,

    /// Look the packets of a burst up together
    #[arg(long)]
    batch: bool,

    /// Worker threads [default: as many as there are processors]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    threads: Option<u16>,

    /// External addresses, each of which has 64,512 ports for each remote end
    #[arg(long, value_name = "N", default_value_t = 4,
          value_parser = clap::value_parser!(u8).range(1..=254))]
    addresses: u8,

    /// A tenth of the conversations and packets
    #[arg(long, conflicts_with_all = ["file", "flows", "packets"])]
    quick: bool,

    /// Conversations at a time, when there is no file [default: 1000000]
    #[arg(long, value_name = "N", conflicts_with = "file",
          value_parser = clap::value_parser!(u32).range(1..=100_000_000))]
    flows: Option<u32>,

    /// How many packets to generate [default: 20 times the conversations]
    #[arg(long, value_name = "N", conflicts_with = "file")]
    packets: Option<u64>,

    /// Of a hundred generated packets, how many end a conversation in favour of a new one
    #[arg(long, value_name = "PERCENT", default_value_t = 2, conflicts_with = "file",
          value_parser = clap::value_parser!(u32).range(0..=100))]
    churn: u32,

    /// How long the link takes for the generated packets, by the clock that mappings expire by
    #[arg(long, value_name = "SECONDS", default_value_t = 900, conflicts_with = "file",
          value_parser = clap::value_parser!(u32).range(1..=10_000_000))]
    seconds: u32,
}

impl Args {
    fn threads(&self) -> u16 {
        let available = || {
            let processors = thread::available_parallelism().map_or(1, NonZero::get);
            u16::try_from(processors).map_or(1024, |processors| processors.min(1024))
        };
        self.threads.unwrap_or_else(available)
    }

    fn pool(&self) -> Pool {
        let [a, b, c, first] = EXTERNAL;
        let addresses = (0..self.addresses).map(|more| [a, b, c, first + more]);
        Pool::new(addresses.collect(), PORTS)
    }

    fn plan(&self) -> Plan {
        let default = if self.quick { 100_000 } else { 1_000_000 };
        let flows = self.flows.unwrap_or(default);
        let default = 20 * u64::from(flows);
        Plan {
            flows,
            packets: self.packets.unwrap_or(default),
            seconds: self.seconds,
            churn: self.churn,
        }
    }

    fn shared(&self) -> Shared {
        Shared {
            nat: Nat::new(self.pool()),
            clock: Clock::default(),
            packets: AtomicU64::new(0),
            batch: self.batch,
        }
    }
}

/// Lets `traffic` start workers and feed them, with the sweeper and the progress line beside them.
///
/// The scope lets all of them borrow what they share.
fn with_company<R>(shared: &Shared, traffic: impl FnOnce() -> R) -> R {
    thread::scope(|scope| {
        let (running, ended) = mpsc::channel::<Infallible>();
        scope.spawn(move || clock::sweep(&shared.nat, &shared.clock, &ended));
        let (watched, ended) = mpsc::channel::<Infallible>();
        scope.spawn(move || progress::watch(&shared.nat, &shared.packets, &ended));

        let result = traffic();
        // Hanging up is the signal to finish.
        drop((running, watched));
        result
    })
}

fn generated(shared: &Shared, plan: Plan, threads: u16) -> Tally {
    with_company(shared, || {
        thread::scope(|scope| {
            let start_worker = |worker| {
                let traffic = Traffic::new(plan, worker, threads.into());
                scope.spawn(move || worker::work(shared, traffic))
            };
            let workers: Vec<_> = (0..threads.into()).map(start_worker).collect();
            join(workers)
        })
    })
}

/// The calling thread is the reader.
fn replayed(
    shared: &Shared,
    capture: &mut Capture,
    threads: u16,
) -> (Tally, Seen, Result<(), CaptureError>) {
    with_company(shared, || {
        thread::scope(|scope| {
            let start_worker = |_| {
                let (queue, steps): (SyncSender<Vec<Step>>, Receiver<_>) =
                    mpsc::sync_channel(WAITING_BATCHES);
                let work = move || worker::work(shared, steps.into_iter().flatten());
                (queue, scope.spawn(work))
            };
            let (queues, workers): (_, Vec<_>) = (0..threads).map(start_worker).unzip();
            let mut replay = Replay::new(queues);
            let outcome = replay.run(capture);
            let seen = replay.seen;
            drop(replay);
            (join(workers), seen, outcome)
        })
    })
}

fn join(workers: Vec<ScopedJoinHandle<'_, Tally>>) -> Tally {
    let mut sum = Tally::new();
    for worker in workers {
        match worker.join() {
            Ok(tally) => sum.add(&tally),
            Err(panic) => std::panic::resume_unwind(panic),
        }
    }
    sum
}

/// Lets all mappings expire. Then both maps must be empty, or a port has leaked.
fn assert_no_leaks(nat: &Nat) {
    let [forward, reverse] = nat.len();
    assert_eq!(forward, reverse, "each mapping is in both maps");
    nat.expire(u32::MAX);
    assert_eq!(nat.len(), [0, 0], "no mapping and no port is left behind");
}

fn run(args: &Args) -> Result<(), Failure> {
    match &args.file {
        None => run_generated(args),
        Some(path) => run_capture(args, path),
    }
}

fn run_generated(args: &Args) -> Result<(), Failure> {
    let (shared, threads) = (args.shared(), args.threads());
    let tally = generated(&shared, args.plan(), threads);
    let report = Report::new(&shared, tally, Seen::default(), threads.into());
    finish(args, &shared, &report)
}

fn run_capture(args: &Args, path: &Path) -> Result<(), Failure> {
    let input = || path.display().to_string();
    let mut capture = Capture::open(path).map_err(|error| Failure::Foreign {
        input: input(),
        error,
    })?;
    let (shared, threads) = (args.shared(), args.threads());
    let (tally, seen, outcome) = replayed(&shared, &mut capture, threads);
    let report = Report::new(&shared, tally, seen, threads.into());

    // The intact beginning of a damaged file is reported like a whole one; the complaint follows.
    finish(args, &shared, &report)?;
    outcome.map_err(|error| Failure::Damaged {
        input: input(),
        error,
        packets: report.packets(),
    })
}

fn finish(args: &Args, shared: &Shared, report: &Report) -> Result<(), Failure> {
    assert_no_leaks(&shared.nat);
    report.print(args.json).map_err(Failure::Output)
}

fn main() -> ExitCode {
    match run(&Args::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            // Not `eprintln!`, which panics when nobody reads the other end.
            let _ = writeln!(io::stderr(), "nat: {failure}");
            ExitCode::from(2)
        }
    }
}
