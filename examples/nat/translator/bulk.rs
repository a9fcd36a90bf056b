//! Bursts: the look-ups of many packets at once, whose cache lines are fetched at the same time.

use super::{Endpoint, Refused, Signal, Tuple, View};

/// The most packets of a burst.
pub(crate) const BURST: usize = 32;

impl View<'_> {
    /// As [`outbound`](View::outbound), for a burst: the external endpoints, in order.
    ///
    /// # Panics
    ///
    /// If there are more than [`BURST`], or not as many signals as tuples.
    pub(crate) fn outbound_many(
        &self,
        inside: &[Tuple],
        signals: &[Signal],
        now: u32,
        mut done: impl FnMut(Result<Endpoint, Refused>),
    ) {
        assert_eq!(inside.len(), signals.len());
        let mut found = [None; BURST];
        let found = &mut found[..inside.len()];
        self.forward.get_many_into(inside, found);
        for ((inside, &signal), found) in inside.iter().zip(signals).zip(found) {
            done(match *found {
                Some(mapping) => self.hit(inside, mapping, signal, now),
                // Looked up again: an earlier packet of the burst may have made it.
                None => self.outbound(inside, signal, now),
            });
        }
    }

    /// As [`inbound`](View::inbound), for a burst.
    ///
    /// # Panics
    ///
    /// If the slices are not of one length.
    pub(crate) fn inbound_many(&self, outside: &[Tuple], inside: &mut [Option<Endpoint>]) {
        self.reverse.get_many_into(outside, inside);
    }
}
