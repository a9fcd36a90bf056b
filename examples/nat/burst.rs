//! The packets that a worker translates in one go.

use core::iter::Peekable;

use crate::step::{Kind, Step};
use crate::translator::{BURST, Endpoint, Signal, Tuple};

/// Where the remote ends of a worker's conversations send to: the external endpoint that they saw
/// last, by number of the conversation. `None` as long as they saw none.
#[derive(Debug, Default)]
pub(crate) struct Peers(Vec<Option<Endpoint>>);

impl Peers {
    pub(crate) fn saw(&mut self, flow: u32, external: Endpoint) {
        let flow = flow as usize;
        if flow >= self.0.len() {
            self.0.resize((flow + 1).next_power_of_two(), None);
        }
        self.0[flow] = Some(external);
    }

    fn destination(&self, flow: u32) -> Option<Endpoint> {
        self.0.get(flow as usize).copied().flatten()
    }
}

/// Up to [`BURST`] packets, those of either interface by themselves.
#[derive(Debug, Default)]
pub(crate) struct Burst {
    /// When the last of them came, in seconds of the link's clock.
    pub(crate) at: u32,
    pub(crate) outbound: Vec<Tuple>,
    pub(crate) signals: Vec<Signal>,
    /// The numbers of their conversations.
    pub(crate) flows: Vec<u32>,
    pub(crate) inbound: Vec<Tuple>,
    /// Whom they are meant for; the translator has to find that out.
    pub(crate) meant_for: Vec<Option<Endpoint>>,
}

impl Burst {
    pub(crate) fn len(&self) -> usize {
        self.outbound.len() + self.inbound.len()
    }

    /// Takes the next packets. `false` if there are none.
    ///
    /// The burst ends before an answer to an end that did not send yet: nobody answers a packet that
    /// is still in the translator.
    pub(crate) fn fill(
        &mut self,
        steps: &mut Peekable<impl Iterator<Item = Step>>,
        peers: &Peers,
    ) -> bool {
        self.clear();
        while self.len() < BURST
            && let Some(step) = steps.next_if(|step| self.len() == 0 || is_timely(step, peers))
        {
            self.at = step.at;
            self.push(step.kind, peers);
        }
        self.len() > 0
    }

    fn clear(&mut self) {
        self.outbound.clear();
        self.signals.clear();
        self.flows.clear();
        self.inbound.clear();
        self.meant_for.clear();
    }

    fn push(&mut self, kind: Kind, peers: &Peers) {
        match kind {
            Kind::Outbound {
                flow,
                inside,
                signal,
            } => {
                self.outbound.push(inside);
                self.signals.push(signal);
                self.flows.push(flow);
            }
            Kind::Answer { flow, inside } => {
                // An end that saw no packet, since the first one was refused, has nowhere to send
                // to. Port 0 is never in use.
                let destination = peers.destination(flow).unwrap_or_default();
                self.inbound.push(inside.with_local(destination));
                self.meant_for.push(Some(inside.local()));
            }
            Kind::Unsolicited { outside } => {
                self.inbound.push(outside);
                self.meant_for.push(None);
            }
        }
    }
}

fn is_timely(step: &Step, peers: &Peers) -> bool {
    match step.kind {
        Kind::Answer { flow, .. } => peers.destination(flow).is_some(),
        _ => true,
    }
}
