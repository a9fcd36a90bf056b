//! `InlineHashMap`: plain data that lies in the table's own lines.

use core::hash::{BuildHasher, Hash};
use std::collections::hash_map::RandomState;

use crate::engine::{Growth, Inline, Plain, Stats, Table};
use crate::error::TryReserveError;
use crate::reclaim::{Guard, TableCollector};
use crate::table::Options;

mod builder;
mod bulk;
mod compute;
mod hashed;
mod iter;
mod traits;
mod view;

pub use builder::InlineBuilder;
pub use compute::InlineCompute;
pub use iter::{Iter, Keys, Values};
pub use view::InlineHashMapRef;

/// A concurrent hash map whose entries are plain data and lie in the bucket's own cache line.
///
/// A look-up reads one line, whether it hits or misses, and copies the value out; an insertion
/// allocates nothing and a removal retires nothing. For port numbers, addresses, counters, indices
/// into arrays of one's own: up to 48 bytes of key and value together. For anything larger, or that
/// has a destructor, or that is to be changed through a reference, take a
/// [`NullsHashMap`](crate::NullsHashMap).
///
/// Readers take no lock, wait for nobody and write no shared memory; a writer locks one bucket. A
/// look-up returns a value that one insertion or update wrote, whole, however long it is.
///
/// # Plain data
///
/// Keys and values are [`bytemuck::NoUninit`] and [`bytemuck::AnyBitPattern`]: integers, arrays of
/// them, `()`, and structs without padding for which both are derived. What has padding does not
/// compile:
///
/// ```compile_fail
/// let map: nulls::InlineHashMap<(u8, u32), u64> = nulls::InlineHashMap::new();
/// map.pin().insert((1, 2), 3);
/// ```
///
/// and neither does what is too large:
///
/// ```compile_fail
/// let map: nulls::InlineHashMap<[u8; 48], u64> = nulls::InlineHashMap::new();
/// map.pin().insert([0; 48], 3);
/// ```
///
/// ```
/// let map: nulls::InlineHashMap<[u8; 40], u64> = nulls::InlineHashMap::new();
/// map.pin().insert([0; 40], 3);
/// ```
///
/// | key and value together | entries of a line | lines of a bucket |
/// |---|---|---|
/// | up to 8 bytes | 4 | 1 |
/// | up to 16 bytes | 3 | 1 |
/// | up to 24 bytes | 2 | 2, side by side |
/// | up to 48 bytes | 1 | 2, side by side |
///
/// # Examples
///
/// ```
/// use nulls::InlineHashMap;
///
/// // Which worker has a connection, by its 64-bit identifier.
/// let owners: InlineHashMap<u64, u32> = InlineHashMap::new();
/// let o = owners.pin();
/// assert_eq!(o.insert(0x1234_5678, 3), None);
/// assert_eq!(o.get(&0x1234_5678), Some(3));
/// assert_eq!(o.insert(0x1234_5678, 4), Some(3));
/// assert_eq!(o.remove(&0x1234_5678), Some(4));
/// assert!(owners.is_empty());
/// ```
pub struct InlineHashMap<K, V, S = RandomState> {
    engine: Table<Inline<K, V, S>>,
    /// Of the arrays only: entries are never retired.
    collector: TableCollector,
}

impl<K, V> InlineHashMap<K, V> {
    /// An empty map. Allocates nothing.
    pub fn new() -> Self {
        Self::with_hasher(RandomState::new())
    }

    /// An empty map with room for `capacity` entries before it grows.
    ///
    /// # Panics
    ///
    /// If so many entries cannot be, or there is no memory for them.
    pub fn with_capacity(capacity: usize) -> Self {
        Self::with_capacity_and_hasher(capacity, RandomState::new())
    }

    /// Sets a map up.
    ///
    /// ```
    /// use nulls::{InlineHashMap, hash::KeyedState};
    ///
    /// let map: InlineHashMap<u32, u32, KeyedState> =
    ///     InlineHashMap::builder().capacity(100).hasher(KeyedState::new()).build();
    /// assert!(map.capacity() >= 100);
    /// ```
    pub fn builder() -> InlineBuilder<K, V> {
        InlineBuilder::new(RandomState::new())
    }
}

impl<K, V, S> InlineHashMap<K, V, S> {
    /// An empty map with this hasher. Allocates nothing, so it can be a `static`:
    ///
    /// ```
    /// use nulls::{InlineHashMap, hash::KeyedState};
    ///
    /// // A fixed key is for keys that no adversary chooses.
    /// static PORTS: InlineHashMap<u16, u64, KeyedState> =
    ///     InlineHashMap::with_hasher(KeyedState::with_keys(1, 2));
    ///
    /// PORTS.pin().insert(80, 1);
    /// assert_eq!(PORTS.pin().get(&80), Some(1));
    /// ```
    #[cfg(not(nulls_loom))]
    pub const fn with_hasher(hasher: S) -> Self {
        Self {
            engine: Table::inline(0, Growth::Auto, hasher),
            collector: TableCollector::unset(),
        }
    }

    /// An empty map with this hasher.
    #[cfg(nulls_loom)]
    pub fn with_hasher(hasher: S) -> Self {
        Self {
            engine: Table::inline(0, Growth::Auto, hasher),
            collector: TableCollector::unset(),
        }
    }

    /// An empty map with this hasher and room for `capacity` entries before it grows.
    ///
    /// # Panics
    ///
    /// If so many entries cannot be, or there is no memory for them.
    pub fn with_capacity_and_hasher(capacity: usize, hasher: S) -> Self {
        let options = Options {
            capacity,
            ..Options::default()
        };
        Self::from_options(options, hasher)
    }

    fn from_options(options: Options, hasher: S) -> Self {
        let map = Self {
            engine: Table::inline(options.shift, options.growth, hasher),
            collector: options
                .collector
                .map_or_else(TableCollector::unset, TableCollector::new),
        };
        map.engine.preallocate_or_panic(options.capacity);
        map
    }

    /// What an empty map of the same kind is built with.
    fn options(&self) -> Options {
        Options::of(&self.engine, &self.collector)
    }

    /// Enters a read section and returns the view through which entries are read and written.
    ///
    /// The first call makes the map's collector, if it was given none. Keep the view for a batch of
    /// operations rather than one each, and not much longer: it keeps an array that the map has
    /// outgrown from being freed.
    ///
    /// # Complexity
    ///
    /// One store to a line of this thread's own, one atomic exchange on it when the view is
    /// dropped.
    #[inline]
    pub fn pin(&self) -> InlineHashMapRef<'_, K, V, S> {
        InlineHashMapRef::new(self, self.collector.get_or_make().guard())
    }

    /// The view under a guard of a collector that this map shares with other tables.
    ///
    /// # Panics
    ///
    /// If the guard is of another collector, which it always is if this map was given none.
    #[inline]
    pub fn with_guard<'m>(
        &'m self,
        guard: &'m Guard<'_>,
    ) -> InlineHashMapRef<'m, K, V, S, &'m Guard<'m>> {
        self.collector.assert_guard(guard);
        InlineHashMapRef::new(self, guard)
    }

    /// The hasher.
    pub fn hasher(&self) -> &S {
        self.engine.hasher()
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

    /// How many entries fit before the map takes a larger array.
    pub fn capacity(&self) -> usize {
        self.engine.capacity(&self.collector.get_or_make().guard())
    }

    /// Counts what the map is made of. Walks all buckets.
    pub fn stats(&self) -> Stats {
        self.engine.stats(&self.collector.get_or_make().guard())
    }
}

impl<K: Plain + Hash, V: Plain, S: BuildHasher> InlineHashMap<K, V, S> {
    /// Makes room for `additional` entries more, finishing in this thread whatever migration that
    /// takes. Of no effect on a map of fixed size that has its array.
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
    /// If so many entries cannot be, or there is no memory for them; the map is as usable as
    /// before.
    pub fn try_reserve(&self, additional: usize) -> Result<(), TryReserveError> {
        let guard = self.collector.get_or_make().guard();
        self.engine
            .reserve(&guard, additional)
            .map_err(|_| TryReserveError {
                entries: additional,
            })
    }
}
