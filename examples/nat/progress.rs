//! A sign of life for long runs.

use core::convert::Infallible;
use core::sync::atomic::{AtomicU64, Ordering};
use core::time::Duration;
use std::io::{self, Write};
use std::sync::mpsc::{Receiver, RecvTimeoutError};

use crate::translator::Nat;

/// Runs that take less stay silent.
const FIRST: Duration = Duration::from_secs(4);
const EVERY: Duration = Duration::from_secs(2);

/// Prints how far the run has come, again and again until the other end of `ended` hangs up.
pub(crate) fn watch(nat: &Nat, packets: &AtomicU64, ended: &Receiver<Infallible>) {
    let mut wait = FIRST;
    while let Err(RecvTimeoutError::Timeout) = ended.recv_timeout(wait) {
        let packets = packets.load(Ordering::Relaxed);
        let [mappings, _] = nat.len();
        let _ = writeln!(
            io::stderr(),
            "nat: {packets} packets so far, {mappings} mappings at the moment"
        );
        wait = EVERY;
    }
}
