//! Traffic for when there is no file: the same packets every time.
//!
//! A few conversations carry most of the packets and very many carry next to none, and so it is with
//! servers: the chance falls with the rank as in Zipf's law. Conversations end and new ones begin;
//! and there is somebody who scans the external addresses.

use crate::step::{Kind, Step};
use crate::translator::{Endpoint, PORTS, Signal, TCP, Tuple, UDP};

/// Inside hosts are in 10.0.0.0/8, and have so many conversations each.
const FLOWS_PER_HOST: u32 = 64;
/// Each of them has so many ports for itself, and takes the next one when it begins anew.
const PORTS_PER_FLOW: u32 = 64_512 / FLOWS_PER_HOST;
/// Servers are in 198.18.0.0/15, which RFC 2544 gives to measurements.
const SERVERS: u32 = 4096;
/// Of so many packets one is a scanner's.
const SCAN_EVERY: u32 = 100;

/// What the traffic of a run is like.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Plan {
    pub(crate) flows: u32,
    pub(crate) packets: u64,
    /// For how long the link takes to carry them.
    pub(crate) seconds: u32,
    /// Of a hundred packets, how many begin a conversation in the place of an older one.
    pub(crate) churn: u32,
}

/// The part of the traffic that goes through one worker.
///
/// As with receive-side scaling, all packets of a conversation go through the same worker.
pub(crate) struct Traffic {
    plan: Plan,
    worker: u32,
    workers: u32,
    flows: Vec<Flow>,
    /// The number of the next packet of this worker among all packets.
    number: u64,
    dice: Dice,
}

/// A place that one conversation after the other takes.
#[derive(Clone, Copy, Default)]
struct Flow {
    generation: u32,
    has_begun: bool,
}

impl Traffic {
    pub(crate) fn new(plan: Plan, worker: u32, workers: u32) -> Self {
        let flows = plan.flows.div_ceil(workers);
        Self {
            plan,
            worker,
            workers,
            flows: vec![Flow::default(); flows as usize],
            number: worker.into(),
            dice: Dice(u64::from(worker) << 32),
        }
    }

    fn len(&self) -> u32 {
        self.plan.flows.div_ceil(self.workers)
    }

    fn kind(&mut self) -> Kind {
        if self.dice.below(SCAN_EVERY) == 0 {
            return self.scan();
        }
        if self.dice.below(100) < self.plan.churn {
            let flow = self.dice.below(self.len());
            return self.churn(flow);
        }
        let flow = self.dice.rank(self.len());
        self.packet(flow)
    }

    /// A packet of the conversation in this place, in either direction.
    fn packet(&mut self, flow: u32) -> Kind {
        let inside = self.tuple(flow);
        if !core::mem::replace(&mut self.flows[flow as usize].has_begun, true) {
            return outbound(flow, inside, Signal::Open);
        }
        if self.dice.below(2) == 0 {
            outbound(flow, inside, Signal::Data)
        } else {
            Kind::Answer { flow, inside }
        }
    }

    /// The last packet of the conversation in this place, or the first of the next one.
    fn churn(&mut self, flow: u32) -> Kind {
        let inside = self.tuple(flow);
        let place = &mut self.flows[flow as usize];
        if !place.has_begun {
            return self.packet(flow);
        }
        place.generation += 1;
        place.has_begun = false;
        outbound(flow, inside, Signal::Close)
    }

    fn scan(&mut self) -> Kind {
        let local = Endpoint {
            address: crate::EXTERNAL,
            port: port(self.dice.below(64_512)),
        };
        Kind::Unsolicited {
            outside: Tuple::new(TCP, local, server(self.dice.below(SERVERS), 54_321)),
        }
    }

    /// The inside tuple of the conversation in this place. No two have the same at a time.
    fn tuple(&self, flow: u32) -> Tuple {
        let number = flow * self.workers + self.worker;
        let generation = self.flows[flow as usize].generation;
        let (host, place) = (number / FLOWS_PER_HOST, number % FLOWS_PER_HOST);
        let [_, a, b, c] = host.to_be_bytes();
        let local = Endpoint {
            address: [10, a, b, c],
            port: port(place * PORTS_PER_FLOW + generation % PORTS_PER_FLOW),
        };
        // The server is the same whoever asks for the tuple of this generation.
        let mut dice = Dice(u64::from(number) << 32 | u64::from(generation) | 1 << 63);
        let remote = dice.rank(SERVERS);
        match dice.below(4) {
            0 => Tuple::new(UDP, local, server(remote, 53)),
            _ => Tuple::new(TCP, local, server(remote, 443)),
        }
    }
}

impl Iterator for Traffic {
    type Item = Step;

    fn next(&mut self) -> Option<Step> {
        let Plan {
            packets, seconds, ..
        } = self.plan;
        if self.number >= packets {
            return None;
        }
        let at = u128::from(self.number) * u128::from(seconds) / u128::from(packets);
        self.number += u64::from(self.workers);
        Some(Step {
            at: u32::try_from(at).unwrap_or(u32::MAX),
            kind: self.kind(),
        })
    }
}

fn outbound(flow: u32, inside: Tuple, signal: Signal) -> Kind {
    let signal = match inside.protocol() {
        TCP => signal,
        _ => Signal::Data,
    };
    Kind::Outbound {
        flow,
        inside,
        signal,
    }
}

fn server(number: u32, port: u16) -> Endpoint {
    let [_, _, high, low] = number.to_be_bytes();
    let address = [198, 18, high, low];
    Endpoint { address, port }
}

/// The port with this number, which is below 64,512.
fn port(number: u32) -> u16 {
    let [_, _, high, low] = number.to_be_bytes();
    PORTS.start() + u16::from_be_bytes([high, low])
}

/// `SplitMix64`: random numbers, the same in every run.
struct Dice(u64);

impl Dice {
    fn roll(&mut self) -> u32 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let x = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((x ^ (x >> 31)) >> 32) as u32
    }

    fn below(&mut self, bound: u32) -> u32 {
        ((u64::from(self.roll()) * u64::from(bound)) >> 32) as u32
    }

    /// A rank from 0 to `count` - 1.
    ///
    /// First one of the octaves 1, 2..4, 4..8 and so on, each as likely as the other, then a rank
    /// within it: a rank twice as high is half as likely. In integers, for the same packets on every
    /// machine.
    fn rank(&mut self, count: u32) -> u32 {
        loop {
            let octave = 1 << self.below(count.ilog2() + 1);
            let rank = octave | self.roll() & (octave - 1);
            if rank <= count {
                return rank - 1;
            }
        }
    }
}
