//! A thread that translates packets, and measures how fast.

use core::sync::atomic::{AtomicU64, Ordering};
use core::time::Duration;
use std::time::Instant;

use hdrhistogram::Histogram;

use crate::burst::{Burst, Peers};
use crate::clock::Clock;
use crate::step::Step;
use crate::translator::{BURST, Endpoint, Nat, Refused, View};

/// A minute in nanoseconds; what takes longer counts as that.
const LONGEST: u64 = 60_000_000_000;

/// What became of the packets of a worker, and how long that took.
#[derive(Debug)]
pub(crate) struct Tally {
    pub(crate) packets: u64,
    pub(crate) translated: u64,
    /// Of these, answers that came so late that the port had another owner: its mapping expired, and
    /// the remote end could not know.
    pub(crate) misdirected: u64,
    /// Inbound packets without a mapping.
    pub(crate) unsolicited: u64,
    /// Outbound packets that got no mapping.
    pub(crate) refused: u64,
    /// Time in the translator, without that of making the traffic up.
    pub(crate) busy: Duration,
    /// Nanoseconds of a packet.
    pub(crate) latency: Histogram<u64>,
}

impl Tally {
    pub(crate) fn new() -> Self {
        Self {
            packets: 0,
            translated: 0,
            misdirected: 0,
            unsolicited: 0,
            refused: 0,
            busy: Duration::ZERO,
            latency: Histogram::new_with_bounds(1, LONGEST, 3).expect("these bounds are possible"),
        }
    }

    pub(crate) fn add(&mut self, more: &Self) {
        self.packets += more.packets;
        self.translated += more.translated;
        self.misdirected += more.misdirected;
        self.unsolicited += more.unsolicited;
        self.refused += more.refused;
        self.busy += more.busy;
        self.latency += &more.latency;
    }

    fn time(&mut self, since: Instant, packets: usize) {
        let nanoseconds = u64::try_from(since.elapsed().as_nanos()).unwrap_or(u64::MAX);
        self.latency
            .saturating_record_n(nanoseconds, packets as u64);
    }
}

/// What the threads of a run share.
pub(crate) struct Shared {
    pub(crate) nat: Nat,
    pub(crate) clock: Clock,
    /// For the progress line.
    pub(crate) packets: AtomicU64,
    /// Whether packets of a burst are looked up together.
    pub(crate) batch: bool,
}

/// Where the translator sent the packets of a burst.
struct Results {
    external: Vec<Result<Endpoint, Refused>>,
    inside: Vec<Option<Endpoint>>,
}

/// Translates packets until there are no more.
pub(crate) fn work(shared: &Shared, steps: impl Iterator<Item = Step>) -> Tally {
    let mut steps = steps.peekable();
    let (mut burst, mut peers, mut tally) = (Burst::default(), Peers::default(), Tally::new());
    let mut results = Results {
        external: Vec::with_capacity(BURST),
        inside: Vec::with_capacity(BURST),
    };
    while burst.fill(&mut steps, &peers) {
        results.external.clear();
        results.inside.clear();

        let begun = Instant::now();
        let now = shared.clock.advance(burst.at);
        let view = shared.nat.pin();
        if shared.batch {
            together(&view, &burst, now, &mut results);
            // All packets of a burst wait for the last one.
            tally.time(begun, burst.len());
        } else {
            one_by_one(&view, &burst, now, &mut results, &mut tally);
        }
        drop(view);
        tally.busy += begun.elapsed();

        deliver(&burst, &results, &mut peers, &mut tally);
        let packets = burst.len() as u64;
        shared.packets.fetch_add(packets, Ordering::Relaxed);
    }
    tally
}

fn together(view: &View<'_>, burst: &Burst, now: u32, results: &mut Results) {
    let Results { external, inside } = results;
    view.outbound_many(&burst.outbound, &burst.signals, now, |end| {
        external.push(end);
    });
    inside.resize(burst.inbound.len(), None);
    view.inbound_many(&burst.inbound, inside);
}

/// Takes the time of one packet in each burst, another one each time: looking at the clock takes as
/// long as half a packet.
fn one_by_one(view: &View<'_>, burst: &Burst, now: u32, results: &mut Results, tally: &mut Tally) {
    let timed = usize::try_from(tally.latency.len()).unwrap_or(0) % burst.len();
    let mut begun = None;
    let mut number = 0;
    let mut tick = |tally: &mut Tally| {
        if let Some(begun) = begun.take() {
            tally.time(begun, 1);
        }
        if number == timed {
            begun = Some(Instant::now());
        }
        number += 1;
    };
    for (inside, &signal) in burst.outbound.iter().zip(&burst.signals) {
        tick(tally);
        results.external.push(view.outbound(inside, signal, now));
    }
    for outside in &burst.inbound {
        tick(tally);
        results.inside.push(view.inbound(outside));
    }
    tick(tally);
}

/// Looks whether each packet arrived where it should, and lets the remote ends know where to answer
/// to.
fn deliver(burst: &Burst, results: &Results, peers: &mut Peers, tally: &mut Tally) {
    tally.packets += burst.len() as u64;
    for (&flow, external) in burst.flows.iter().zip(&results.external) {
        match external {
            Ok(external) => {
                peers.saw(flow, *external);
                tally.translated += 1;
            }
            Err(Refused::PortsExhausted | Refused::NoMemory) => tally.refused += 1,
        }
    }
    for (meant_for, inside) in burst.meant_for.iter().zip(&results.inside) {
        match inside {
            Some(_) => {
                tally.translated += 1;
                tally.misdirected += u64::from(inside != meant_for);
            }
            None => tally.unsolicited += 1,
        }
    }
}
