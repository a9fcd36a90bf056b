//! `NullsHashTable`: entries under hashes that the caller gives.

use core::fmt;

use alloc::alloc::handle_alloc_error;
use core::alloc::Layout as MemoryLayout;

use crate::engine::{Boxed, Growth, Node, Stats, Table};
use crate::error::TryReserveError;
use crate::reclaim::{Guard, TableCollector};

mod bulk;
mod iter;
mod options;
mod view;

pub use iter::{Iter, IterHash};
pub(crate) use options::Options;
pub use options::TableBuilder;
pub use view::NullsHashTableRef;
pub(crate) use view::into_insert_error;

/// A concurrent hash table to which the caller gives hashes and equality tests, as to
/// `hashbrown::HashTable`.
///
/// Duplicates are allowed. It is what [`NullsHashMap`](crate::NullsHashMap) is made of, and the
/// place for entries whose key is part of a larger thing, that are found by several hashes, or that
/// share one: all that touches entries is on the view returned by [`pin`](Self::pin).
///
/// Readers take no lock, wait for nobody and write no shared memory; a writer locks one bucket.
///
/// # Hashes
///
/// The bucket is taken from the low bits (after the builder's [`shift`](TableBuilder::shift)), one
/// more tag byte from a mix of all 64, and 32 bits are stored with the entry. Give well-mixed
/// hashes under a secret key wherever somebody else chooses what is hashed.
///
/// # Examples
///
/// ```
/// use nulls::NullsHashTable;
/// use std::hash::{BuildHasher, RandomState};
///
/// struct Session { id: u64, user: &'static str }
///
/// let hashes = RandomState::new();
/// let table: NullsHashTable<Session> = NullsHashTable::new();
/// let t = table.pin();
/// t.insert(hashes.hash_one(7_u64), Session { id: 7, user: "ann" });
///
/// let found = t.find(hashes.hash_one(7_u64), |session| session.id == 7);
/// assert_eq!(found.map(|session| session.user), Some("ann"));
/// ```
pub struct NullsHashTable<T> {
    // Before the collector: entries still in the table are dropped before those that wait for
    // their grace period.
    pub(crate) engine: Table<Boxed<T>>,
    collector: TableCollector,
}

impl<T> NullsHashTable<T> {
    /// An empty table. Allocates nothing.
    #[cfg(not(nulls_loom))]
    pub const fn new() -> Self {
        Self {
            engine: Table::boxed(0, Growth::Auto),
            collector: TableCollector::unset(),
        }
    }

    /// An empty table.
    #[cfg(nulls_loom)]
    pub fn new() -> Self {
        Self {
            engine: Table::boxed(0, Growth::Auto),
            collector: TableCollector::unset(),
        }
    }

    /// An empty table with room for `capacity` entries before it grows.
    ///
    /// # Panics
    ///
    /// If so many entries cannot be, or there is no memory for them.
    pub fn with_capacity(capacity: usize) -> Self {
        Self::builder().capacity(capacity).build()
    }

    /// Sets a table up.
    ///
    /// ```
    /// use nulls::{Growth, NullsHashTable};
    ///
    /// let table: NullsHashTable<u64> =
    ///     NullsHashTable::builder().capacity(1000).growth(Growth::Fixed).build();
    /// assert!(table.capacity() >= 1000);
    /// ```
    pub fn builder() -> TableBuilder<T> {
        TableBuilder::new()
    }

    pub(crate) fn from_options(options: Options) -> Self {
        let table = Self {
            engine: Table::boxed(options.shift, options.growth),
            collector: options
                .collector
                .map_or_else(TableCollector::unset, TableCollector::new),
        };
        table.engine.preallocate_or_panic(options.capacity);
        table
    }

    /// Enters a read section and returns the view through which entries are read and written.
    ///
    /// The first call makes the table's collector, if it was given none. Keep the view for a batch
    /// of operations rather than one each, and not much longer: it keeps all that is removed
    /// meanwhile from being freed.
    ///
    /// The view belongs to its thread, and what it finds cannot outlive it:
    ///
    /// ```compile_fail
    /// let table: nulls::NullsHashTable<u64> = nulls::NullsHashTable::new();
    /// let found = { let t = table.pin(); t.find(1, |_| true) };
    /// println!("{found:?}");
    /// ```
    ///
    /// ```
    /// let table: nulls::NullsHashTable<u64> = nulls::NullsHashTable::new();
    /// let t = table.pin();
    /// let found = t.find(1, |_| true);
    /// println!("{found:?}");
    /// ```
    #[inline]
    pub fn pin(&self) -> NullsHashTableRef<'_, T> {
        NullsHashTableRef::new(self, self.collector.get_or_make().guard())
    }

    /// The view under a guard of a collector that this table shares with others.
    ///
    /// # Panics
    ///
    /// If the guard is of another collector, which it always is if this table was given none.
    #[inline]
    pub fn with_guard<'m>(
        &'m self,
        guard: &'m Guard<'_>,
    ) -> NullsHashTableRef<'m, T, &'m Guard<'m>> {
        self.collector.assert_guard(guard);
        NullsHashTableRef::new(self, guard)
    }

    /// An empty table of the same kind, with room for as many entries: same shift and growth policy,
    /// same collector if it was given one.
    pub(crate) fn clone_empty(&self) -> Self {
        Self::from_options(Options::of(&self.engine, &self.collector))
    }

    pub(crate) fn collector(&self) -> &TableCollector {
        &self.collector
    }

    /// How many entries there are: a sum of counters, exact while nobody writes.
    #[inline]
    pub fn len(&self) -> usize {
        self.engine.len()
    }

    /// Whether there are no entries; as exact as [`len`](Self::len).
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many entries fit before the table takes a larger array.
    pub fn capacity(&self) -> usize {
        self.engine.capacity(&self.collector.get_or_make().guard())
    }

    /// Makes room for `additional` entries more, finishing in this thread whatever migration that
    /// takes. Of no effect on a table of fixed size that has its array.
    ///
    /// # Panics
    ///
    /// If so many entries cannot be, or there is no memory for them.
    pub fn reserve(&self, additional: usize) {
        if let Err(error) = self.try_reserve(additional) {
            panic!("{error}");
        }
    }

    /// As [`reserve`](Self::reserve).
    ///
    /// # Errors
    ///
    /// If so many entries cannot be, or there is no memory for them; the table is as usable as
    /// before.
    pub fn try_reserve(&self, additional: usize) -> Result<(), TryReserveError> {
        let guard = self.collector.get_or_make().guard();
        self.engine
            .reserve(&guard, additional)
            .map_err(|_| TryReserveError {
                entries: additional,
            })
    }

    /// Counts what the table is made of. Walks all buckets.
    pub fn stats(&self) -> Stats {
        self.engine.stats(&self.collector.get_or_make().guard())
    }
}

impl<T> Default for NullsHashTable<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T: fmt::Debug> fmt::Debug for NullsHashTable<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.pin().iter()).finish()
    }
}

/// # Panics
///
/// If the two are not of one length.
#[inline]
pub(crate) fn assert_as_many<A, B>(a: &[A], b: &[B]) {
    assert_eq!(a.len(), b.len(), "as many of the one as of the other");
}

/// What the plain inserting forms do when the allocator refuses memory.
#[cold]
pub(crate) fn out_of_memory<T>() -> ! {
    handle_alloc_error(MemoryLayout::new::<Node<T>>())
}
