//! The view of a table: all that touches entries.

use core::fmt;

use super::{Iter, IterHash, NullsHashTable, out_of_memory};
use crate::engine::{Boxed, Node, Table, TryInsertError};
use crate::error::InsertError;
use crate::reclaim::{Guard, Pin};

/// A [`NullsHashTable`] inside a read section: made by [`pin`](NullsHashTable::pin) or
/// [`with_guard`](NullsHashTable::with_guard).
///
/// References to entries borrow the view. They stay valid as long as it does, whatever other
/// threads remove.
///
/// # Equality tests
///
/// Where absence has to be proved, `eq` runs under a bucket's lock: it must neither write to a
/// table nor pin one of another collector. It may panic: nothing is locked or changed then.
///
/// # Progress
///
/// Look-ups and iteration take no lock and wait for nobody; they begin again only because a writer
/// finished something. Writers lock one bucket for a few stores and comparisons, and wait while
/// another thread holds that lock; if the table is growing they also move up to 32 buckets.
pub struct NullsHashTableRef<'m, T, G = Guard<'m>> {
    table: &'m NullsHashTable<T>,
    guard: G,
}

impl<'m, T, G: Pin> NullsHashTableRef<'m, T, G> {
    #[inline]
    pub(super) fn new(table: &'m NullsHashTable<T>, guard: G) -> Self {
        Self { table, guard }
    }

    #[inline]
    pub(super) fn engine(&self) -> &Table<Boxed<T>> {
        &self.table.engine
    }

    #[inline]
    pub(super) fn guard(&self) -> &Guard<'_> {
        self.guard.guard()
    }

    /// The first entry of this hash that `eq` accepts. About once in 2^40 `eq` is asked of an entry
    /// of another hash: it has to compare keys.
    ///
    /// # Complexity
    ///
    /// One cache line for a miss, two for a hit, in a bucket without overflow lines.
    ///
    /// ```
    /// let table = nulls::NullsHashTable::new();
    /// let t = table.pin();
    /// t.insert(42, ("a", 1));
    /// t.insert(42, ("b", 2));
    /// assert_eq!(t.find(42, |entry| entry.0 == "b"), Some(&("b", 2)));
    /// assert_eq!(t.find(43, |entry| entry.0 == "b"), None);
    /// ```
    #[inline]
    pub fn find(&self, hash: u64, eq: impl FnMut(&T) -> bool) -> Option<&T> {
        let engine = self.engine();
        engine
            .find(self.guard(), engine.parts(hash), eq)
            .map(Node::value)
    }

    /// The entries that agree with `hash` in its stored 32 bits and in the tag: those of this hash,
    /// and once in 2^40 another. Compare their keys.
    ///
    /// ```
    /// let table = nulls::NullsHashTable::new();
    /// let t = table.pin();
    /// t.insert(42, "a");
    /// t.insert(42, "b");
    /// let mut found: Vec<_> = t.iter_hash(42).copied().collect();
    /// found.sort();
    /// assert_eq!(found, ["a", "b"]);
    /// ```
    pub fn iter_hash(&self, hash: u64) -> IterHash<'_, T> {
        let engine = self.engine();
        IterHash::new(engine.find_all(self.guard(), engine.parts(hash)))
    }

    /// Whether an entry of this hash may be there, by tags alone: `false` is certain, `true` is
    /// wrong once in about 50 times in a well-filled table.
    ///
    /// # Complexity
    ///
    /// One cache line in a bucket without overflow lines; consecutive hashes of a table with a
    /// `shift` share it.
    ///
    /// ```
    /// let table = nulls::NullsHashTable::new();
    /// let t = table.pin();
    /// t.insert(42, ());
    /// assert!(t.maybe_contains(42));
    /// assert!(!t.maybe_contains(43));
    /// ```
    #[inline]
    pub fn maybe_contains(&self, hash: u64) -> bool {
        let engine = self.engine();
        engine.maybe_contains(self.guard(), engine.parts(hash))
    }

    /// Inserts `value`, without looking for an equal one, and returns it.
    ///
    /// Aborts when the allocator refuses memory, as std's collections do.
    pub fn insert(&self, hash: u64, value: T) -> &T {
        let engine = self.engine();
        let parts = engine.parts(hash);
        // On its way while the node is allocated.
        engine.prefetch(self.guard(), parts);
        let Ok(node) = Node::new(parts, value) else {
            out_of_memory::<T>()
        };
        let Ok(value) = engine.insert(self.guard(), parts, node) else {
            out_of_memory::<T>()
        };
        value
    }

    /// Inserts `value` if `eq` accepts no entry of this hash.
    ///
    /// # Errors
    ///
    /// [`Occupied`](InsertError::Occupied) with the equal entry;
    /// [`AllocFailed`](InsertError::AllocFailed). Both hand the value back.
    ///
    /// ```
    /// let table = nulls::NullsHashTable::new();
    /// let t = table.pin();
    /// assert!(t.try_insert(42, ("a", 1), |entry| entry.0 == "a").is_ok());
    /// let error = t.try_insert(42, ("a", 2), |entry| entry.0 == "a").unwrap_err();
    /// assert_eq!(error, nulls::InsertError::Occupied(("a", 2), &("a", 1)));
    /// ```
    pub fn try_insert(
        &self,
        hash: u64,
        value: T,
        mut eq: impl FnMut(&T) -> bool,
    ) -> Result<&T, InsertError<T, &T>> {
        let (engine, guard) = (self.engine(), self.guard());
        let parts = engine.parts(hash);
        if let Some(found) = engine.find(guard, parts, &mut eq) {
            return Err(InsertError::Occupied(value, found.value()));
        }
        let node = Node::new(parts, value).map_err(InsertError::AllocFailed)?;
        engine
            .try_insert(guard, parts, node, |_, found| eq(found))
            .map_err(into_insert_error)
    }

    /// Puts `value` in the place of the first entry of this hash that `eq` accepts, in one store,
    /// and returns the old one.
    ///
    /// # Errors
    ///
    /// The value, if there is none.
    ///
    /// ```
    /// let table = nulls::NullsHashTable::new();
    /// let t = table.pin();
    /// t.insert(42, 1);
    /// assert_eq!(t.replace(42, |&entry| entry == 1, 2), Ok(&1));
    /// assert_eq!(t.replace(42, |&entry| entry == 1, 3), Err(3));
    /// ```
    pub fn replace(
        &self,
        hash: u64,
        mut eq: impl FnMut(&T) -> bool,
        mut value: T,
    ) -> Result<&T, T> {
        let (engine, guard) = (self.engine(), self.guard());
        let parts = engine.parts(hash);
        loop {
            let Some(old) = engine.find(guard, parts, &mut eq) else {
                return Err(value);
            };
            let Ok(node) = Node::new(parts, value) else {
                out_of_memory::<T>()
            };
            match engine.replace_exact(guard, parts, old, node) {
                Ok(_) => return Ok(old.value()),
                Err(node) => value = node.into_value(),
            }
        }
    }

    /// Removes the first entry of this hash that `eq` accepts and returns it. An absent one costs
    /// no write.
    ///
    /// ```
    /// let table = nulls::NullsHashTable::new();
    /// let t = table.pin();
    /// t.insert(42, 1);
    /// assert_eq!(t.remove(42, |&entry| entry == 1), Some(&1));
    /// assert_eq!(t.remove(42, |&entry| entry == 1), None);
    /// ```
    pub fn remove(&self, hash: u64, eq: impl FnMut(&T) -> bool) -> Option<&T> {
        let engine = self.engine();
        engine.remove(self.guard(), engine.parts(hash), eq)
    }

    /// Keeps the entries that `keep` accepts. It runs outside every lock and may use this table.
    ///
    /// An entry that is replaced while `keep` looks at it is left to its successor. If `keep`
    /// panics, what it removed before stays removed.
    pub fn retain(&self, keep: impl FnMut(&T) -> bool) {
        self.engine().retain(self.guard(), keep);
    }

    /// Removes all entries, bucket by bucket: not at one instant.
    pub fn clear(&self) {
        self.engine().clear(self.guard());
    }

    /// All entries.
    ///
    /// ```
    /// let table = nulls::NullsHashTable::new();
    /// let t = table.pin();
    /// t.insert(1, "a");
    /// t.insert(2, "b");
    /// assert_eq!(t.iter().count(), 2);
    /// ```
    pub fn iter(&self) -> Iter<'_, T> {
        Iter::new(self.engine(), self.guard())
    }
}

impl<'v, T, G: Pin> IntoIterator for &'v NullsHashTableRef<'_, T, G> {
    type Item = &'v T;
    type IntoIter = Iter<'v, T>;

    fn into_iter(self) -> Iter<'v, T> {
        self.iter()
    }
}

impl<T: fmt::Debug, G: Pin> fmt::Debug for NullsHashTableRef<'_, T, G> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

pub(crate) fn into_insert_error<T>(error: TryInsertError<'_, T>) -> InsertError<T, &T> {
    match error {
        TryInsertError::Occupied(found, node) => InsertError::Occupied(node.into_value(), found),
        TryInsertError::NoMemory(node) => InsertError::AllocFailed(node.into_value()),
    }
}
