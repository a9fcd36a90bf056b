//! Hashers from good to useless: an input picks one.

use core::hash::{BuildHasher, Hasher};

use arbitrary::{Arbitrary, Result, Unstructured};

/// What becomes of a key's number.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Quality {
    /// All bits depend on all.
    Good,
    /// One hash for all keys: one chain, and all tags match.
    Constant,
    /// Eight hashes.
    LowBits,
    /// One bucket, but different tags.
    HighBits,
    /// Neighbours are neighbours, as under monotone hashes.
    Identity,
}

impl Arbitrary<'_> for Quality {
    fn arbitrary(u: &mut Unstructured<'_>) -> Result<Self> {
        Ok(match u.int_in_range(0..=4)? {
            0 => Self::Good,
            1 => Self::Constant,
            2 => Self::LowBits,
            3 => Self::HighBits,
            _ => Self::Identity,
        })
    }
}

impl Quality {
    /// Whether chains get so long that a large input takes seconds.
    pub(crate) fn is_slow(self) -> bool {
        matches!(self, Self::Constant | Self::LowBits | Self::HighBits)
    }
}

impl BuildHasher for Quality {
    type Hasher = Hash;

    fn build_hasher(&self) -> Hash {
        Hash {
            quality: *self,
            number: 0,
        }
    }
}

pub(crate) struct Hash {
    quality: Quality,
    number: u64,
}

impl Hasher for Hash {
    /// A key of another type has its number in its lowest, or first, two bytes.
    fn write(&mut self, bytes: &[u8]) {
        self.write_u16(u16::from_le_bytes([bytes[0], bytes[1]]));
    }

    fn write_u16(&mut self, number: u16) {
        self.number = number.into();
    }

    fn write_u32(&mut self, key: u32) {
        self.write(&key.to_le_bytes());
    }

    fn write_u64(&mut self, key: u64) {
        self.write(&key.to_le_bytes());
    }

    /// The length of an array.
    fn write_usize(&mut self, _: usize) {}

    fn finish(&self) -> u64 {
        match self.quality {
            Quality::Good => {
                let mixed = self.number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
                (mixed ^ (mixed >> 31)).wrapping_mul(0xbf58_476d_1ce4_e5b9)
            }
            Quality::Constant => 0x0123_4567_89ab_cdef,
            Quality::LowBits => self.number % 8,
            Quality::HighBits => self.number << 48,
            Quality::Identity => self.number,
        }
    }
}
