//! An entry, and its words: the bytes of the key, then those of the value, then zeros.

use bytemuck::{AnyBitPattern, NoUninit, bytes_of, cast_slice, cast_slice_mut, pod_read_unaligned};

/// Words of a line that hold entries.
pub(super) const LINE_WORDS: usize = 6;

/// Plain data: any bytes are a value, and no byte is padding. What an
/// [`InlineHashMap`](crate::InlineHashMap) can hold.
///
/// Implemented for whatever is [`bytemuck::NoUninit`] and [`bytemuck::AnyBitPattern`]: integers and
/// floats, arrays of them, `()`, and structs without padding for which both are derived. `bool`,
/// `char`, references and enums are not: keep them as integers.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not plain data, so it cannot lie in an `InlineHashMap`",
    note = "derive `bytemuck::NoUninit` and `bytemuck::AnyBitPattern` for a struct without padding, or take a `NullsHashMap`"
)]
pub trait Plain: NoUninit + AnyBitPattern {}

impl<T: NoUninit + AnyBitPattern> Plain for T {}

/// A key and its value. As any bytes are one, they may be made of words that were torn; they are
/// shown to the caller's code only when they have been validated.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entry<K, V> {
    pub(crate) key: K,
    pub(crate) value: V,
}

impl<K: Plain, V: Plain> Entry<K, V> {
    /// The entry of `count` words.
    #[inline]
    pub(super) fn from_words(count: usize, mut word: impl FnMut(usize) -> u64) -> Self {
        let mut words = [0; LINE_WORDS];
        for (number, place) in words.iter_mut().enumerate().take(count) {
            *place = word(number);
        }
        let (key, value) = cast_slice(&words).split_at(size_of::<K>());
        Self {
            key: pod_read_unaligned(key),
            value: pod_read_unaligned(&value[..size_of::<V>()]),
        }
    }

    #[inline]
    pub(super) fn words(&self) -> [u64; LINE_WORDS] {
        let mut words = [0; LINE_WORDS];
        let (key, value) = cast_slice_mut(&mut words).split_at_mut(size_of::<K>());
        key.copy_from_slice(bytes_of(&self.key));
        value[..size_of::<V>()].copy_from_slice(bytes_of(&self.value));
        words
    }

    /// Whether the keys are the same bytes.
    #[inline]
    pub(super) fn has_same_key(&self, other: &Self) -> bool {
        bytes_of(&self.key) == bytes_of(&other.key)
    }

    /// Whether keys and values are the same bytes.
    #[inline]
    pub(super) fn is_same(&self, other: &Self) -> bool {
        self.has_same_key(other) && bytes_of(&self.value) == bytes_of(&other.value)
    }
}

#[cfg(all(test, feature = "std", not(nulls_loom)))]
mod tests {
    use super::*;

    #[test]
    fn keys_and_values_come_back() {
        let entry = Entry {
            key: [1u8, 2, 3],
            value: 0x0405_0607u32,
        };
        let words = entry.words();
        let again = Entry::<[u8; 3], u32>::from_words(1, |number| words[number]);
        assert!(entry.is_same(&again));
        let other = Entry { value: 9, ..again };
        assert!(entry.has_same_key(&other) && !entry.is_same(&other));
        let nothing = Entry { key: (), value: () };
        assert_eq!(nothing.words(), [0; LINE_WORDS]);
    }
}
