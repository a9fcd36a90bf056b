//! Counts the TCP and UDP conversations of a capture: several threads, one shared map.
//!
//! ```text
//! cargo run --release --example flows -- capture.pcap.gz --threads 4
//! cargo run --release --example flows -- --json            # generates traffic itself
//! ```
//!
//! How the threads share the map, all of it in this file:
//!
//! * There is **one** [`NullsHashMap`], in [`Survey`]. Every worker borrows it by `&`; there is no
//!   lock around it and no copy of it to merge afterwards.
//! * A worker **pins** the map once for a batch of frames ([`Survey::count`]). The view it gets is
//!   where look-ups and inserts live, and the references they return borrow that view.
//! * Almost every frame belongs to a conversation that is already there, so the hot path is `get`,
//!   which takes no lock. Only a miss goes on to `get_or_insert_with`.
//! * What changes with every frame is **inside the value**: [`Counters`] are atomics, so counting
//!   is not a write to the map, and two workers never lose each other's update.
//!
//! The other files are the surroundings: `input.rs` (plain or gzip bytes), `capture.rs` (pcap and
//! pcapng), `packet.rs` (frame to key), `generate.rs` (traffic without a file), `batch.rs`,
//! `progress.rs` and `report.rs`.

mod batch;
mod capture;
mod error;
mod generate;
mod input;
mod packet;
mod progress;
mod report;

use core::convert::Infallible;
use core::num::NonZero;
use core::sync::atomic::{AtomicU64, Ordering};
use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::mpsc::{self, SyncSender};
use std::thread;

use clap::Parser;
use nulls::NullsHashMap;

use crate::batch::Batch;
use crate::capture::{Capture, Frame};
use crate::error::{CaptureError, Failure};
use crate::generate::Traffic;
use crate::packet::{FlowKey, Packet};

/// The most worker threads that may be asked for.
const MAX_THREADS: u16 = 1024;

/// Batches that may wait for one worker: enough that it never idles, few enough to bound memory.
const WAITING_BATCHES: usize = 4;

/// Counts the TCP and UDP conversations of a capture, on several threads that share one map.
#[derive(Debug, Parser)]
#[command(name = "flows")]
struct Args {
    /// A pcap or pcapng file, plain or gzip; without it, traffic is generated
    file: Option<PathBuf>,

    /// Print one JSON object instead of text
    #[arg(long)]
    json: bool,

    /// Worker threads [default: as many as there are processors]
    #[arg(long, value_name = "N",
          value_parser = clap::value_parser!(u16).range(1..=i64::from(MAX_THREADS)))]
    threads: Option<u16>,

    /// How many packets to generate when there is no file
    #[arg(
        long,
        value_name = "N",
        default_value_t = 4_000_000,
        conflicts_with = "file"
    )]
    packets: u64,
}

impl Args {
    fn input_name(&self) -> String {
        match &self.file {
            Some(path) => path.display().to_string(),
            None => "generated traffic".to_owned(),
        }
    }

    fn threads(&self) -> usize {
        let available = || thread::available_parallelism().map_or(1, NonZero::get);
        self.threads
            .map_or_else(available, usize::from)
            .min(usize::from(MAX_THREADS))
    }
}

/// What is known of one conversation: the value in the map.
///
/// Readers of a concurrent map get `&V`, so whatever shall change under a shared reference has to
/// be an atomic. `Relaxed` is enough: each counter stands for itself, and the sums are read only
/// after the workers have been joined.
#[derive(Debug, Default)]
struct Counters {
    packets: AtomicU64,
    bytes: AtomicU64,
}

impl Counters {
    fn add(&self, packets: u64, bytes: u64) {
        self.packets.fetch_add(packets, Ordering::Relaxed);
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    fn packets(&self) -> u64 {
        self.packets.load(Ordering::Relaxed)
    }

    fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }
}

/// Sums over all frames, whether or not they belong to a conversation.
#[derive(Debug, Default)]
struct Totals {
    all: Counters,
    /// The IP packets among them that belong to no TCP or UDP conversation.
    other_ip: Counters,
    /// The frames that carry no readable IP header.
    not_ip: Counters,
}

impl Totals {
    fn add(&self, more: &Self) {
        self.all.add(more.all.packets(), more.all.bytes());
        self.other_ip
            .add(more.other_ip.packets(), more.other_ip.bytes());
        self.not_ip.add(more.not_ip.packets(), more.not_ip.bytes());
    }
}

/// Everything the workers share.
struct Survey {
    flows: NullsHashMap<FlowKey, Counters>,
    totals: Totals,
}

impl Survey {
    fn new() -> Self {
        Self {
            flows: NullsHashMap::new(),
            totals: Totals::default(),
        }
    }

    /// Counts a batch of frames. Any number of threads may do so at once.
    fn count(&self, batch: &Batch) {
        // One view a batch: pinning is cheap but not free, and a view that is never dropped would
        // keep removed entries from being freed.
        let flows = self.flows.pin();
        // The sums are shared once a batch too, or all workers would write to one cache line with
        // every frame.
        let sums = Totals::default();

        for frame in batch.frames() {
            let bytes = u64::from(frame.wire_len);
            let counters = match packet::classify(&frame) {
                // Two workers may miss the same key at the same moment. `get_or_insert_with` gives
                // both the one value that made it into the map, so neither count is lost.
                Packet::Conversation(key) => flows
                    .get(&key)
                    .unwrap_or_else(|| flows.get_or_insert_with(key, Counters::default)),
                Packet::OtherIp => &sums.other_ip,
                Packet::NotIp => &sums.not_ip,
            };
            counters.add(1, bytes);
            sums.all.add(1, bytes);
        }
        self.totals.add(&sums);
    }
}

/// Runs `threads` workers over one survey, until the source ends or turns out to be damaged.
///
/// The scope lets the workers borrow the survey, so not even an `Arc` is needed. The calling thread
/// is the reader.
fn count_all(survey: &Survey, source: &mut Source, threads: usize) -> Result<(), CaptureError> {
    thread::scope(|scope| {
        let start_worker = |_| {
            let (queue, batches) = mpsc::sync_channel::<Batch>(WAITING_BATCHES);
            scope.spawn(move || batches.iter().for_each(|batch| survey.count(&batch)));
            queue
        };
        let queues: Vec<_> = (0..threads).map(start_worker).collect();

        let (running, ended) = mpsc::channel::<Infallible>();
        scope.spawn(move || progress::watch(&survey.totals.all, &ended));

        let outcome = deal_out(source, &queues);
        // Hanging up is the signal to finish: to the workers when their queues run dry, and to the
        // progress line at once.
        drop((queues, running));
        outcome
    })
}

/// Reads the source to its end and deals the frames out to the workers in turn, a batch at a time.
///
/// Which worker gets a frame does not matter to the result: all of them count in the same map.
fn deal_out(source: &mut Source, queues: &[SyncSender<Batch>]) -> Result<(), CaptureError> {
    let mut turns = queues.iter().cycle();
    let mut hand_over = |batch| turns.next().is_some_and(|queue| queue.send(batch).is_ok());

    let mut batch = Batch::new();
    loop {
        match source.next_frame() {
            Ok(Some(frame)) => batch.push(&frame),
            // At the end as well as at damage: the frames before it count.
            ended => {
                hand_over(batch);
                return ended.map(drop);
            }
        }
        if batch.is_full() && !hand_over(core::mem::replace(&mut batch, Batch::new())) {
            // Nobody listens: that worker has panicked, and the scope is about to pass it on.
            return Ok(());
        }
    }
}

/// Where the frames come from.
enum Source {
    File(Capture),
    Generated(Traffic),
}

impl Source {
    fn open(args: &Args) -> Result<Self, CaptureError> {
        match &args.file {
            Some(path) => Capture::open(path).map(Self::File),
            None => Ok(Self::Generated(Traffic::new(args.packets))),
        }
    }

    fn next_frame(&mut self) -> Result<Option<Frame<'_>>, CaptureError> {
        match self {
            Self::File(capture) => capture.next_frame(),
            Self::Generated(traffic) => Ok(traffic.next_frame()),
        }
    }
}

fn run(args: &Args) -> Result<(), Failure> {
    let mut source = Source::open(args).map_err(|error| Failure::Foreign {
        input: args.input_name(),
        error,
    })?;

    let survey = Survey::new();
    let threads = args.threads();
    let outcome = count_all(&survey, &mut source, threads);

    // The intact beginning of a damaged file is reported like a whole one; the complaint follows.
    report::print(&survey, threads, args.json).map_err(Failure::Output)?;
    outcome.map_err(|error| Failure::Damaged {
        input: args.input_name(),
        error,
        packets: survey.totals.all.packets(),
    })
}

fn main() -> ExitCode {
    match run(&Args::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            // Not `eprintln!`, which panics when nobody reads the other end.
            let _ = writeln!(io::stderr(), "flows: {failure}");
            ExitCode::from(2)
        }
    }
}
