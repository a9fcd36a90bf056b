//! A sign of life for long inputs.

use core::convert::Infallible;
use core::time::Duration;
use std::io::{self, Write};
use std::sync::mpsc::{Receiver, RecvTimeoutError};

use crate::Counters;

/// Inputs that take less stay silent.
const FIRST: Duration = Duration::from_secs(4);
const EVERY: Duration = Duration::from_secs(2);

/// Prints what was counted so far, again and again until the other end of `ended` hangs up.
///
/// This has a thread of its own: the reader may be the one that waits, on a slow pipe.
pub(crate) fn watch(all: &Counters, ended: &Receiver<Infallible>) {
    let mut wait = FIRST;
    while let Err(RecvTimeoutError::Timeout) = ended.recv_timeout(wait) {
        let (packets, bytes) = (all.packets(), all.bytes());
        let _ = writeln!(
            io::stderr(),
            "flows: {packets} packets, {bytes} bytes so far"
        );
        wait = EVERY;
    }
}
