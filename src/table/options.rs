//! What a table can be built with.

use core::fmt;
use core::marker::PhantomData;

use super::NullsHashTable;
use crate::engine::{Growth, Layout, Table};
use crate::reclaim::{Collector, TableCollector};

/// The choices that map and table share.
#[derive(Debug, Default)]
pub(crate) struct Options {
    pub(crate) capacity: usize,
    pub(crate) collector: Option<Collector>,
    pub(crate) growth: Growth,
    pub(crate) shift: u32,
}

impl Options {
    /// Those of an empty table of the same kind, with room for as many entries: same shift and growth
    /// policy, same collector if it was given one.
    pub(crate) fn of<L: Layout>(engine: &Table<L>, collector: &TableCollector) -> Self {
        let growth = engine.growth();
        Self {
            capacity: if growth == Growth::Fixed {
                engine.capacity(&collector.get_or_make().guard())
            } else {
                engine.len()
            },
            collector: collector.given().cloned(),
            growth,
            shift: engine.shift(),
        }
    }

    /// # Panics
    ///
    /// If `shift` is above 32.
    pub(crate) fn set_shift(&mut self, shift: u32) {
        assert!(shift <= 32, "`shift` takes at most 32 of 64 hash bits");
        self.shift = shift;
    }
}

/// Sets a [`NullsHashTable`] up.
pub struct TableBuilder<T> {
    options: Options,
    entries: PhantomData<fn(T)>,
}

impl<T> TableBuilder<T> {
    pub(super) fn new() -> Self {
        Self {
            options: Options::default(),
            entries: PhantomData,
        }
    }

    /// Room for so many entries before the table grows (0 by default: nothing is allocated before
    /// the first insertion).
    #[must_use]
    pub fn capacity(mut self, entries: usize) -> Self {
        self.options.capacity = entries;
        self
    }

    /// Shares a collector with other tables. What is removed may then be dropped by any thread that
    /// uses any of them, at any time before the collector goes.
    #[must_use]
    pub fn collector(mut self, collector: Collector) -> Self
    where
        T: Send + 'static,
    {
        self.options.collector = Some(collector);
        self
    }

    /// When the table takes a larger array.
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

    /// Makes the table.
    ///
    /// # Panics
    ///
    /// If the capacity cannot be, or there is no memory for it.
    pub fn build(self) -> NullsHashTable<T> {
        NullsHashTable::from_options(self.options)
    }
}

impl<T> fmt::Debug for TableBuilder<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.options.fmt(f)
    }
}
