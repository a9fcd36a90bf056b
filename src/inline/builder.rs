//! What an inline map can be built with.

use core::fmt;
use core::marker::PhantomData;
use std::collections::hash_map::RandomState;

use super::InlineHashMap;
use crate::engine::Growth;
use crate::reclaim::Collector;
use crate::table::Options;

/// Sets an [`InlineHashMap`] up.
pub struct InlineBuilder<K, V, S = RandomState> {
    options: Options,
    hasher: S,
    entries: PhantomData<fn(K, V)>,
}

impl<K, V, S> InlineBuilder<K, V, S> {
    pub(super) fn new(hasher: S) -> Self {
        Self {
            options: Options::default(),
            hasher,
            entries: PhantomData,
        }
    }

    /// Room for so many entries before the map grows (0 by default: nothing is allocated before the
    /// first insertion).
    #[must_use]
    pub fn capacity(mut self, entries: usize) -> Self {
        self.options.capacity = entries;
        self
    }

    /// Another hasher.
    #[must_use]
    pub fn hasher<S2>(self, hasher: S2) -> InlineBuilder<K, V, S2> {
        InlineBuilder {
            options: self.options,
            hasher,
            entries: PhantomData,
        }
    }

    /// Shares a collector with other tables: one guard serves them all.
    #[must_use]
    pub fn collector(mut self, collector: Collector) -> Self {
        self.options.collector = Some(collector);
        self
    }

    /// When the map takes a larger array.
    #[must_use]
    pub fn growth(mut self, growth: Growth) -> Self {
        self.options.growth = growth;
        self
    }

    /// Leaves the lowest `shift` bits of each hash out when a bucket is chosen, so that 2^`shift`
    /// consecutive hashes share one (0 by default). For [monotone hashes](crate::hash), whose
    /// neighbours are scanned together.
    ///
    /// # Panics
    ///
    /// If `shift` is above 32.
    #[must_use]
    pub fn shift(mut self, shift: u32) -> Self {
        self.options.set_shift(shift);
        self
    }

    /// Makes the map.
    ///
    /// # Panics
    ///
    /// If the capacity cannot be, or there is no memory for it.
    pub fn build(self) -> InlineHashMap<K, V, S> {
        InlineHashMap::from_options(self.options, self.hasher)
    }
}

impl<K, V, S> fmt::Debug for InlineBuilder<K, V, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.options.fmt(f)
    }
}
