//! The time of the link, by which mappings expire: that of the packets and not of the wall.

use core::convert::Infallible;
use core::sync::atomic::{AtomicU32, Ordering};
use core::time::Duration;
use std::sync::mpsc::{Receiver, RecvTimeoutError};

use crate::translator::Nat;

/// How often expired mappings are looked for, in seconds of the link.
const SWEEP_EVERY: u32 = 30;
/// How often the sweeper looks at the clock, in real time.
const LOOK_EVERY: Duration = Duration::from_millis(5);

/// The time of the latest packet, in seconds. Workers set it, and share it with the sweeper.
#[derive(Debug, Default)]
pub(crate) struct Clock(AtomicU32);

impl Clock {
    /// Sets the clock forward to a packet's time, and returns what it shows: more than that if
    /// another worker is ahead.
    pub(crate) fn advance(&self, at: u32) -> u32 {
        let shown = self.0.load(Ordering::Relaxed);
        if shown >= at {
            return shown;
        }
        // Most packets do not write here: seconds are long.
        self.0.fetch_max(at, Ordering::Relaxed).max(at)
    }
}

/// Removes expired mappings whenever it is time, until the other end of `ended` hangs up.
pub(crate) fn sweep(nat: &Nat, clock: &Clock, ended: &Receiver<Infallible>) {
    let mut next = SWEEP_EVERY;
    while let Err(RecvTimeoutError::Timeout) = ended.recv_timeout(LOOK_EVERY) {
        let now = clock.0.load(Ordering::Relaxed);
        if now >= next {
            nat.expire(now);
            next = now + SWEEP_EVERY;
        }
    }
}
