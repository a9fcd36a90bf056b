//! For how long a mapping lives without packets, on a clock that the caller brings.

use bytemuck::{Pod, Zeroable};

use super::tuple::TCP;

/// RFC 4787, REQ-5: not less than two minutes, five recommended.
const UDP_TIMEOUT: u32 = 5 * 60;
/// RFC 5382, REQ-5: not less than two hours and four minutes, so that keep-alives every two hours
/// keep a connection.
const TCP_TIMEOUT: u32 = (2 * 60 + 4) * 60;
/// RFC 5382, REQ-5: connections that are only half open, or are closing: not less than four minutes.
const TCP_TRANSITORY_TIMEOUT: u32 = 4 * 60;

/// What an outbound packet says about its connection.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Signal {
    /// UDP, or TCP without any of the flags below.
    Data,
    /// SYN.
    Open,
    /// FIN or RST.
    Close,
}

const ESTABLISHED: u32 = 0;
const OPENING: u32 = 1;
const CLOSING: u32 = 2;

/// When a mapping ends (upper 30 bits, in seconds), and the state of its connection (lower two).
///
/// Four bytes, so that key and mapping together are 24 and a line of the table holds two.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(transparent)]
pub(crate) struct Lease([u8; 4]);

impl Lease {
    /// The lease of a mapping that is made by this packet. It may be the middle of a connection: a
    /// translator that was restarted has to pick those up.
    pub(crate) fn new(protocol: u16, signal: Signal, now: u32) -> Self {
        let state = next_state(ESTABLISHED, signal);
        Self::until(now + granted(timeout(protocol, state)), state)
    }

    /// What this packet makes of the lease; `None` if it is good as it is.
    ///
    /// A lease is an eighth longer than the timeout, and is renewed when that eighth is used up. So a
    /// busy conversation writes to the table once in a while and not with every packet, and still no
    /// mapping lives shorter than the timeout after its last packet.
    pub(crate) fn renewed(self, protocol: u16, signal: Signal, now: u32) -> Option<Self> {
        let state = next_state(self.state(), signal);
        let timeout = timeout(protocol, state);
        let is_good = state == self.state() && self.ends() >= now + timeout;
        (!is_good).then(|| Self::until(now + granted(timeout), state))
    }

    pub(crate) fn has_ended(self, now: u32) -> bool {
        self.ends() <= now
    }

    fn until(ends: u32, state: u32) -> Self {
        Self((ends << 2 | state).to_ne_bytes())
    }

    fn ends(self) -> u32 {
        u32::from_ne_bytes(self.0) >> 2
    }

    fn state(self) -> u32 {
        u32::from_ne_bytes(self.0) & 3
    }
}

fn next_state(state: u32, signal: Signal) -> u32 {
    match (state, signal) {
        (_, Signal::Open) => OPENING,
        (_, Signal::Close) => CLOSING,
        // The third packet of the handshake.
        (OPENING, Signal::Data) => ESTABLISHED,
        (_, Signal::Data) => state,
    }
}

const fn timeout(protocol: u16, state: u32) -> u32 {
    match (protocol, state) {
        (TCP, ESTABLISHED) => TCP_TIMEOUT,
        (TCP, _) => TCP_TRANSITORY_TIMEOUT,
        _ => UDP_TIMEOUT,
    }
}

const fn granted(timeout: u32) -> u32 {
    timeout + timeout / 8
}
