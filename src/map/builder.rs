//! What a map can be built with.

use core::fmt;
use core::marker::PhantomData;
use std::collections::hash_map::RandomState;

use super::NullsHashMap;
use crate::engine::Growth;
use crate::reclaim::Collector;
use crate::table::{NullsHashTable, Options};

/// Sets a [`NullsHashMap`] up.
pub struct Builder<K, V, S = RandomState> {
    options: Options,
    hasher: S,
    entries: PhantomData<fn(K, V)>,
}

impl<K, V, S> Builder<K, V, S> {
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
    pub fn hasher<S2>(self, hasher: S2) -> Builder<K, V, S2> {
        Builder {
            options: self.options,
            hasher,
            entries: PhantomData,
        }
    }

    /// Shares a collector with other tables. What is removed may then be dropped by any thread that
    /// uses any of them, at any time before the collector goes:
    ///
    /// ```compile_fail
    /// use std::rc::Rc;
    /// let collector = nulls::Collector::new();
    /// let map = nulls::NullsHashMap::<u32, Rc<u32>>::builder().collector(collector).build();
    /// ```
    ///
    /// ```
    /// use std::sync::Arc;
    /// let collector = nulls::Collector::new();
    /// let map = nulls::NullsHashMap::<u32, Arc<u32>>::builder().collector(collector).build();
    /// ```
    #[must_use]
    pub fn collector(mut self, collector: Collector) -> Self
    where
        K: Send + 'static,
        V: Send + 'static,
    {
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
    pub fn build(self) -> NullsHashMap<K, V, S> {
        NullsHashMap {
            table: NullsHashTable::from_options(self.options),
            hasher: self.hasher,
        }
    }
}

impl<K, V, S> fmt::Debug for Builder<K, V, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.options.fmt(f)
    }
}
