//! `NullsHashMap`: a [`NullsHashTable`] of pairs and a hasher.

use core::hash::{BuildHasher, Hash};
use std::collections::hash_map::RandomState;

use crate::engine::{HashParts, Stats};
use crate::error::TryReserveError;
use crate::reclaim::Guard;
use crate::table::NullsHashTable;

mod builder;
mod bulk;
mod compute;
mod hashed;
mod iter;
mod modify;
mod traits;
mod view;

pub use builder::Builder;
pub use compute::{Compute, Operation};
pub use iter::{Iter, Keys, Values};
pub use view::NullsHashMapRef;

/// A concurrent hash map: one heap node an entry, `&V` tied to a guard.
///
/// All that touches entries is on the view returned by [`pin`](Self::pin). Readers take no lock,
/// wait for nobody and write no shared memory; a writer locks one bucket. Nothing that is called
/// inside a closure, in a `Drop`, or while references are held can deadlock, on this map or on
/// another.
///
/// The default hasher is std's: keys that an attacker chooses do not choose their bucket.
///
/// # Examples
///
/// ```
/// use nulls::NullsHashMap;
/// use std::net::SocketAddr;
/// use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
///
/// let packets: NullsHashMap<SocketAddr, AtomicU64> = NullsHashMap::new();
///
/// std::thread::scope(|s| {
///     for _ in 0..2 {
///         s.spawn(|| {
///             let m = packets.pin();
///             for port in 1..=1000 {
///                 let peer = SocketAddr::from(([192, 0, 2, 1], port));
///                 m.get_or_insert_with(peer, AtomicU64::default).fetch_add(1, Relaxed);
///             }
///         });
///     }
/// });
///
/// assert_eq!(packets.len(), 1000);
/// assert!(packets.pin().values().all(|count| count.load(Relaxed) == 2));
/// ```
pub struct NullsHashMap<K, V, S = RandomState> {
    pub(crate) table: NullsHashTable<(K, V)>,
    hasher: S,
}

impl<K, V> NullsHashMap<K, V> {
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
    /// use nulls::{NullsHashMap, hash::KeyedState};
    ///
    /// let map: NullsHashMap<u32, String, KeyedState> =
    ///     NullsHashMap::builder().capacity(100).hasher(KeyedState::new()).build();
    /// assert!(map.capacity() >= 100);
    /// ```
    pub fn builder() -> Builder<K, V> {
        Builder::new(RandomState::new())
    }
}

impl<K, V, S> NullsHashMap<K, V, S> {
    /// An empty map with this hasher. Allocates nothing, so it can be a `static`:
    ///
    /// ```
    /// use nulls::{NullsHashMap, hash::KeyedState};
    ///
    /// // A fixed key is for keys that no adversary chooses.
    /// static NAMES: NullsHashMap<u32, &str, KeyedState> =
    ///     NullsHashMap::with_hasher(KeyedState::with_keys(1, 2));
    ///
    /// NAMES.pin().insert(1, "one");
    /// assert_eq!(NAMES.pin().get(&1), Some(&"one"));
    /// ```
    #[cfg(not(nulls_loom))]
    pub const fn with_hasher(hasher: S) -> Self {
        Self {
            table: NullsHashTable::new(),
            hasher,
        }
    }

    /// An empty map with this hasher.
    #[cfg(nulls_loom)]
    pub fn with_hasher(hasher: S) -> Self {
        Self {
            table: NullsHashTable::new(),
            hasher,
        }
    }

    /// An empty map with this hasher and room for `capacity` entries before it grows.
    ///
    /// # Panics
    ///
    /// If so many entries cannot be, or there is no memory for them.
    pub fn with_capacity_and_hasher(capacity: usize, hasher: S) -> Self {
        Self {
            table: NullsHashTable::with_capacity(capacity),
            hasher,
        }
    }

    /// Enters a read section and returns the view through which entries are read and written.
    ///
    /// The first call makes the map's collector, if it was given none. Keep the view for a batch of
    /// operations rather than one each, and not much longer: it keeps all that is removed
    /// meanwhile from being freed.
    ///
    /// # Complexity
    ///
    /// One store to a line of this thread's own, one atomic exchange on it when the view is
    /// dropped.
    ///
    /// What is found cannot outlive the view:
    ///
    /// ```compile_fail
    /// let map: nulls::NullsHashMap<u32, String> = nulls::NullsHashMap::new();
    /// let name = map.pin().get(&1);
    /// println!("{name:?}");
    /// ```
    ///
    /// ```
    /// let map: nulls::NullsHashMap<u32, String> = nulls::NullsHashMap::new();
    /// let m = map.pin();
    /// let name = m.get(&1);
    /// println!("{name:?}");
    /// ```
    #[inline]
    pub fn pin(&self) -> NullsHashMapRef<'_, K, V, S> {
        NullsHashMapRef::new(self, self.table.collector().get_or_make().guard())
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
    ) -> NullsHashMapRef<'m, K, V, S, &'m Guard<'m>> {
        self.table.collector().assert_guard(guard);
        NullsHashMapRef::new(self, guard)
    }

    /// The hasher.
    pub fn hasher(&self) -> &S {
        &self.hasher
    }

    /// How many entries there are: a sum of counters, exact while nobody writes.
    #[inline]
    pub fn len(&self) -> usize {
        self.table.len()
    }

    /// Whether there are no entries; as exact as [`len`](Self::len).
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.table.is_empty()
    }

    /// How many entries fit before the map takes a larger array.
    pub fn capacity(&self) -> usize {
        self.table.capacity()
    }

    /// Makes room for `additional` entries more, finishing in this thread whatever migration that
    /// takes. Of no effect on a map of fixed size that has its array.
    ///
    /// # Panics
    ///
    /// If so many entries cannot be, or there is no memory for them.
    pub fn reserve(&self, additional: usize) {
        self.table.reserve(additional);
    }

    /// As [`reserve`](Self::reserve).
    ///
    /// # Errors
    ///
    /// If so many entries cannot be, or there is no memory for them; the map is as usable as
    /// before.
    pub fn try_reserve(&self, additional: usize) -> Result<(), TryReserveError> {
        self.table.try_reserve(additional)
    }

    /// Counts what the map is made of. Walks all buckets.
    pub fn stats(&self) -> Stats {
        self.table.stats()
    }
}

impl<K, V, S: BuildHasher> NullsHashMap<K, V, S> {
    /// The hash of a key, divided for this map. Calls the caller's `Hash`; no lock is ever held.
    #[inline]
    fn parts<Q: Hash + ?Sized>(&self, key: &Q) -> HashParts {
        self.table.engine.parts(self.hasher.hash_one(key))
    }
}
