//! How a 64-bit hash is divided: home bucket, tag, stored bits, position.
//!
//! The home bucket comes from the *low* bits (after the table's shift) and the tag from a *mix of
//! the whole hash*: the monotone hashes of neighbouring ports share all their high bits, so a tag
//! cut from the top would be one tag for all of them.

use core::num::NonZeroU8;

/// The most buckets an array may have: the home index must lie within the stored bits.
pub(crate) const MAX_BUCKETS: usize = 1 << 31;

/// A slot's one-byte fingerprint. Never 0, which means "free".
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Tag(NonZeroU8);

impl Tag {
    /// Multiplication by an odd constant near 2^64/φ: the top byte depends on every bit of the hash
    /// and differs between a hash and its neighbours.
    #[inline]
    const fn of(hash: u64) -> Self {
        let byte = (hash.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) as u8;
        match NonZeroU8::new(byte) {
            Some(byte) => Self(byte),
            None => Self(NonZeroU8::MIN),
        }
    }

    #[inline]
    pub(super) const fn from_byte(byte: u8) -> Option<Self> {
        match NonZeroU8::new(byte) {
            Some(byte) => Some(Self(byte)),
            None => None,
        }
    }

    #[inline]
    pub(super) const fn byte(self) -> u8 {
        self.0.get()
    }
}

/// The 32 bits of a hash that an entry keeps: `(hash >> shift) as u32`. They hold every home index
/// an array can ask for, so an entry moves between arrays without its key being hashed again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct StoredBits(u32);

impl StoredBits {
    #[inline]
    pub(crate) const fn home(self, mask: u32) -> usize {
        (self.0 & mask) as usize
    }

    /// The entry's place in the order of every sweep: the stored bits reversed, from the top of a
    /// `u64` down, so that a bucket of an array of any size is one interval (see
    /// [`super::sweep`]).
    #[inline]
    pub(crate) const fn position(self) -> u64 {
        (self.0 as u64).reverse_bits()
    }
}

/// A hash, divided for one table.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HashParts {
    pub(crate) bits: StoredBits,
    pub(crate) tag: Tag,
}

impl HashParts {
    #[inline]
    #[expect(
        clippy::cast_possible_truncation,
        reason = "32 bits are what is stored"
    )]
    pub(crate) const fn new(hash: u64, shift: u32) -> Self {
        Self {
            bits: StoredBits((hash >> shift) as u32),
            tag: Tag::of(hash),
        }
    }
}

#[cfg(all(test, feature = "std", not(nulls_loom)))]
mod tests {
    use super::*;

    #[test]
    fn tags_of_neighbours_differ() {
        for start in [
            0u64,
            1,
            0xdead_beef,
            u64::MAX - 70_000,
            0x9e37_79b9_7f4a_7c15,
        ] {
            for step in 0..65_536u64 {
                let hash = start.wrapping_add(step);
                assert_ne!(Tag::of(hash), Tag::of(hash.wrapping_add(1)));
            }
        }
    }

    #[test]
    fn tags_use_every_bit_of_the_hash() {
        for bit in 0..64 {
            let differ = (0..256u64)
                .map(|i| i.wrapping_mul(0x2545_f491_4f6c_dd1d))
                .filter(|&h| Tag::of(h) != Tag::of(h ^ (1 << bit)))
                .count();
            assert!(differ > 0, "bit {bit} never changes the tag");
        }
    }

    #[test]
    fn positions_order_buckets_as_intervals() {
        let bits = HashParts::new(0b1011, 0).bits;
        assert_eq!(bits.position() >> 60, 0b1101);
        assert_eq!(bits.home(0b11), 0b11);
        assert_eq!(HashParts::new(0b1011 << 7, 7).bits, bits);
    }
}
