//! Keys and values of the two maps: plain data without padding.

use core::hash::{Hash, Hasher};

use bytemuck::{Pod, Zeroable};
use nulls::hash::MonotoneKey;

/// Protocol numbers, as in the IPv4 header.
pub(crate) const TCP: u16 = 6;
pub(crate) const UDP: u16 = 17;

/// A port of an IPv4 address. 6 bytes.
///
/// The address is four bytes and not a `u32`, whose alignment would cost padding, which bytemuck
/// refuses.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, Ord, PartialEq, PartialOrd, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct Endpoint {
    pub(crate) address: [u8; 4],
    pub(crate) port: u16,
}

/// Both ends of a conversation and its protocol, seen from one side of the translator. 14 bytes.
///
/// The *local* end is the one that is translated: the inside host's in a key of the forward map, the
/// translator's own in one of the reverse map. The remote end is the same in both.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct Tuple {
    local_address: [u8; 4],
    remote: Endpoint,
    protocol: u16,
    local_port: u16,
}

impl Tuple {
    pub(crate) const fn new(protocol: u16, local: Endpoint, remote: Endpoint) -> Self {
        Self {
            local_address: local.address,
            remote,
            protocol,
            local_port: local.port,
        }
    }

    pub(crate) const fn protocol(&self) -> u16 {
        self.protocol
    }

    pub(crate) const fn local(&self) -> Endpoint {
        Endpoint {
            address: self.local_address,
            port: self.local_port,
        }
    }

    /// The same conversation with its ends exchanged.
    pub(crate) const fn reversed(self) -> Self {
        Self::new(self.protocol, self.remote, self.local())
    }

    /// The same conversation seen from the other side of the translator.
    pub(crate) const fn with_local(self, local: Endpoint) -> Self {
        Self::new(self.protocol, local, self.remote)
    }
}

/// By hand, since a derived one feeds each array and each field to the hasher by itself: three words
/// instead of nine calls. The local port comes last, as [`MonotoneKey`] demands.
impl Hash for Tuple {
    #[inline]
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.hash_base(state);
        state.write_u16(self.local_port);
    }
}

impl MonotoneKey for Tuple {
    #[inline]
    fn hash_base<H: Hasher>(&self, state: &mut H) {
        let [local, remote] = [self.local_address, self.remote.address].map(u32::from_be_bytes);
        state.write_u64(u64::from(local) << 32 | u64::from(remote));
        state.write_u32(u32::from(self.remote.port) << 16 | u32::from(self.protocol));
    }

    fn port(&self) -> u16 {
        self.local_port
    }
}
