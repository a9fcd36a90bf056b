//! An entry as words: the bytes of the key, then those of the value, then zeros.

use core::fmt;
use core::marker::PhantomData;

use bytemuck::{AnyBitPattern, NoUninit};

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

/// The words of an entry.
#[derive(Clone, Copy)]
pub(super) struct Words<K, V> {
    words: [u64; LINE_WORDS],
    entry: PhantomData<fn() -> (K, V)>,
}

impl<K, V> Words<K, V> {
    #[inline]
    pub(super) fn from_fn(count: usize, mut word: impl FnMut(usize) -> u64) -> Self {
        let mut words = [0; LINE_WORDS];
        for (number, place) in words.iter_mut().enumerate().take(count) {
            *place = word(number);
        }
        Self {
            words,
            entry: PhantomData,
        }
    }

    #[inline]
    pub(super) fn words(&self, count: usize) -> &[u64] {
        &self.words[..count]
    }

    /// The bytes of an entry, however many of them are its own.
    #[inline]
    fn bytes(&self) -> &[u8] {
        bytemuck::cast_slice(&self.words)
    }
}

impl<K: Plain, V: Plain> Words<K, V> {
    #[inline]
    pub(super) fn new(key: &K, value: &V) -> Self {
        let mut entry = Self::from_fn(0, |_| 0);
        entry.bytes_mut()[..size_of::<K>()].copy_from_slice(bytemuck::bytes_of(key));
        entry.with_value(value)
    }

    /// The same key with another value.
    #[inline]
    pub(super) fn with_value(mut self, value: &V) -> Self {
        let key = size_of::<K>();
        self.bytes_mut()[key..key + size_of::<V>()].copy_from_slice(bytemuck::bytes_of(value));
        self
    }

    #[inline]
    pub(super) fn key(&self) -> K {
        bytemuck::pod_read_unaligned(&self.bytes()[..size_of::<K>()])
    }

    #[inline]
    pub(super) fn value(&self) -> V {
        let key = size_of::<K>();
        bytemuck::pod_read_unaligned(&self.bytes()[key..key + size_of::<V>()])
    }

    /// Whether the keys are the same bytes.
    #[inline]
    pub(super) fn is_same_key(&self, other: &Self) -> bool {
        let key = size_of::<K>();
        self.bytes()[..key] == other.bytes()[..key]
    }

    /// Whether keys and values are the same bytes.
    #[inline]
    pub(super) fn is_same(&self, other: &Self) -> bool {
        self.words == other.words
    }

    #[inline]
    fn bytes_mut(&mut self) -> &mut [u8] {
        bytemuck::cast_slice_mut(&mut self.words)
    }
}

impl<K, V> fmt::Debug for Words<K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Words").field(&self.words).finish()
    }
}

#[cfg(all(test, feature = "std", not(nulls_loom)))]
mod tests {
    use super::*;

    #[test]
    fn keys_and_values_come_back() {
        let words = Words::new(&[1u8, 2, 3], &0x0405_0607u32);
        assert_eq!((words.key(), words.value()), ([1, 2, 3], 0x0405_0607));
        let other = words.with_value(&9);
        assert_eq!((other.key(), other.value()), ([1, 2, 3], 9));
        assert!(words.is_same_key(&other) && !words.is_same(&other));
        let nothing = Words::new(&(), &());
        assert!(nothing.is_same(&Words::new(&(), &())));
    }
}
