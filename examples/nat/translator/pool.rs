//! The translator's own addresses and ports, and in which order they are tried.

use core::hash::{BuildHasher, Hash};
use core::ops::RangeInclusive;

use nulls::hash::KeyedState;

use super::tuple::Tuple;

/// RFC 6056, section 3.2: 1024 and up. Well-known ports are left to the translator itself.
pub(crate) const PORTS: RangeInclusive<u16> = 1024..=u16::MAX;

/// Knows what there is, not what is taken: that is the reverse map's.
#[derive(Debug)]
pub(crate) struct Pool {
    addresses: Vec<[u8; 4]>,
    ports: RangeInclusive<u16>,
    secret: KeyedState,
}

impl Pool {
    /// # Panics
    ///
    /// If there are no addresses or no ports.
    pub(crate) fn new(addresses: Vec<[u8; 4]>, ports: RangeInclusive<u16>) -> Self {
        assert!(!addresses.is_empty() && !ports.is_empty(), "an empty pool");
        Self {
            addresses,
            ports,
            secret: KeyedState::new(),
        }
    }

    /// The address that stands for an inside host: always the same (RFC 4787, REQ-2, "paired"), and
    /// without a table.
    pub(crate) fn address_of(&self, inside: [u8; 4]) -> [u8; 4] {
        self.addresses[usize::from(self.draw(inside, self.addresses.len()))]
    }

    /// All ports, from a random one on and around: RFC 6056, algorithm 1.
    ///
    /// The random number is a keyed hash of the conversation. Nobody outside can guess it, and
    /// there is no generator that the threads would have to share.
    pub(crate) fn candidates(&self, inside: &Tuple) -> impl Iterator<Item = u16> + use<> {
        let (first, last) = (*self.ports.start(), *self.ports.end());
        let start = first + self.draw(inside, self.ports.len());
        (start..=last).chain(first..start)
    }

    /// A number below `bound`, which is 65,536 at most.
    fn draw(&self, of: impl Hash, bound: usize) -> u16 {
        let random = self.secret.hash_one(of) >> 32;
        let scaled = (random * bound as u64) >> 32;
        u16::try_from(scaled).unwrap_or(u16::MAX)
    }
}
