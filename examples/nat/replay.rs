//! A capture as traffic.

use std::collections::HashMap;
use std::sync::mpsc::SyncSender;

use crate::capture::{Capture, Frame};
use crate::error::CaptureError;
use crate::headers;
use crate::step::{Kind, Step};
use crate::translator::{Signal, Tuple};

/// The link's clock during a replay: so many packets are a second. (Timestamps are left alone: a
/// replay is faster than life, and some captures have none.)
const PACKETS_PER_SECOND: u64 = 10_000;

/// Steps are handed over so many at a time.
const FULL: usize = 1024;

/// Frames that went past the translator, and what all frames came to.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Seen {
    pub(crate) packets: u64,
    pub(crate) bytes: u64,
    /// Not TCP or UDP over IPv4, or a later fragment.
    pub(crate) passed: u64,
}

/// Deals the packets of a capture out to workers, a whole conversation to one of them.
pub(crate) struct Replay {
    /// Numbers of the conversations, by their inside tuples.
    flows: HashMap<Tuple, u32>,
    queues: Vec<Queue>,
    pub(crate) seen: Seen,
}

struct Queue {
    waiting: Vec<Step>,
    worker: SyncSender<Vec<Step>>,
}

impl Queue {
    /// If nobody listens, that worker has panicked, and the scope is about to pass it on.
    fn hand_over(&mut self) {
        let _ = self.worker.send(core::mem::take(&mut self.waiting));
    }
}

impl Replay {
    pub(crate) fn new(workers: Vec<SyncSender<Vec<Step>>>) -> Self {
        let queue = |worker| Queue {
            waiting: Vec::new(),
            worker,
        };
        Self {
            flows: HashMap::new(),
            queues: workers.into_iter().map(queue).collect(),
            seen: Seen::default(),
        }
    }

    /// Reads the capture to its end. At the end as well as at damage: the packets before it count.
    pub(crate) fn run(&mut self, capture: &mut Capture) -> Result<(), CaptureError> {
        let outcome = loop {
            match capture.next_frame() {
                Ok(Some(frame)) => self.frame(&frame),
                ended => break ended.map(drop),
            }
        };
        self.queues.iter_mut().for_each(Queue::hand_over);
        outcome
    }

    fn frame(&mut self, frame: &Frame<'_>) {
        let at = u32::try_from(self.seen.packets / PACKETS_PER_SECOND).unwrap_or(u32::MAX);
        self.seen.packets += 1;
        self.seen.bytes += u64::from(frame.wire_len);
        match headers::parse(frame) {
            Some((sent, signal)) => self.packet(at, sent, signal),
            None => self.seen.passed += 1,
        }
    }

    /// Whoever sends the first packet of a conversation is inside.
    fn packet(&mut self, at: u32, sent: Tuple, signal: Signal) {
        let answered = sent.reversed();
        let (flow, inside) = match self.flows.get(&answered) {
            Some(&flow) if answered != sent => (flow, answered),
            _ => (self.number(sent), sent),
        };
        let workers = u32::try_from(self.queues.len()).unwrap_or(u32::MAX);
        let queue = &mut self.queues[(flow % workers) as usize];
        let flow = flow / workers;
        let kind = if inside == sent {
            Kind::Outbound {
                flow,
                inside,
                signal,
            }
        } else {
            Kind::Answer { flow, inside }
        };
        queue.waiting.push(Step { at, kind });
        if queue.waiting.len() >= FULL {
            queue.hand_over();
        }
    }

    fn number(&mut self, inside: Tuple) -> u32 {
        let next = u32::try_from(self.flows.len()).expect("fewer than 2^32 conversations");
        *self.flows.entry(inside).or_insert(next)
    }
}
