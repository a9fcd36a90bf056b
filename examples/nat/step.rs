//! What happens on the link, one packet after the other.

use crate::translator::{Signal, Tuple};

/// A packet of the traffic. A worker makes it the packet that the translator gets to see.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Step {
    /// When, in seconds of the link's clock.
    pub(crate) at: u32,
    pub(crate) kind: Kind,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Kind {
    /// An inside host sends.
    Outbound {
        /// The number of the conversation, counted from 0 in each worker.
        flow: u32,
        inside: Tuple,
        signal: Signal,
    },
    /// The remote end of a conversation sends, to whatever endpoint the last outbound packet came
    /// from.
    Answer { flow: u32, inside: Tuple },
    /// Somebody sends to an external endpoint on their own account.
    Unsolicited { outside: Tuple },
}
