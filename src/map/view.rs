//! The view of a map: all that touches entries.

use core::fmt;
use core::hash::{BuildHasher, Hash};
use std::collections::hash_map::RandomState;

use equivalent::Equivalent;

use super::modify::{Change, Changed, same_key};
use super::{Compute, Iter, Keys, NullsHashMap, Operation, Values};
use crate::engine::{Boxed, HashParts, Node, Table};
use crate::error::InsertError;
use crate::prehashed::Prehashed;
use crate::reclaim::{Guard, Pin};
use crate::table::{self, into_insert_error, out_of_memory};

/// A [`NullsHashMap`] inside a read section: made by [`pin`](NullsHashMap::pin) or
/// [`with_guard`](NullsHashMap::with_guard).
///
/// References to keys and values borrow the view. They stay valid as long as it does, whatever
/// other threads remove.
///
/// # Closures
///
/// No closure runs under a lock, so it may do anything, with this map too. The price: an `FnMut`
/// closure is run again when another writer changed the same key meanwhile, and cannot move a
/// captured value out (clone or build it). `FnOnce` closures run at most once a call. If a closure
/// panics, the map is as it was (after `retain`, as far as it had come).
///
/// `Hash` runs before and `Drop` after any lock. Only `Eq` runs under a bucket's lock, where
/// absence has to be proved: it must neither write to a table nor pin one of another collector. If
/// it panics nothing is locked or changed; if it lies, keys are not found or found twice, and
/// nothing worse (a call may go on as long as `Eq` goes on contradicting itself).
///
/// # Progress
///
/// Look-ups and iteration take no lock and wait for nobody; they begin again only because a writer
/// finished something. Writers lock one bucket for a few stores and comparisons, and wait while
/// another thread holds that lock; if the map is growing they also move up to 32 buckets.
///
/// # Memory
///
/// The forms that insert abort when the allocator refuses memory for an entry, as std's collections
/// do; those that begin with `try_` hand key and value back. A map that gets no memory to grow goes
/// on, fuller.
pub struct NullsHashMapRef<'m, K, V, S = RandomState, G = Guard<'m>> {
    pub(super) map: &'m NullsHashMap<K, V, S>,
    guard: G,
}

impl<'m, K, V, S, G: Pin> NullsHashMapRef<'m, K, V, S, G> {
    #[inline]
    pub(super) fn new(map: &'m NullsHashMap<K, V, S>, guard: G) -> Self {
        Self { map, guard }
    }

    #[inline]
    pub(super) fn engine(&self) -> &Table<Boxed<(K, V)>> {
        &self.map.table.engine
    }

    #[inline]
    pub(super) fn guard(&self) -> &Guard<'_> {
        self.guard.guard()
    }

    /// All entries.
    ///
    /// ```
    /// let map = nulls::NullsHashMap::from([(1, "one"), (2, "two")]);
    /// let mut entries: Vec<_> = map.pin().iter().map(|(&k, &v)| (k, v)).collect();
    /// entries.sort();
    /// assert_eq!(entries, [(1, "one"), (2, "two")]);
    /// ```
    pub fn iter(&self) -> Iter<'_, K, V> {
        Iter {
            entries: table::Iter::new(self.engine(), self.guard()),
        }
    }

    /// All keys; see [`iter`](Self::iter).
    pub fn keys(&self) -> Keys<'_, K, V> {
        Keys {
            entries: self.iter(),
        }
    }

    /// All values; see [`iter`](Self::iter).
    pub fn values(&self) -> Values<'_, K, V> {
        Values {
            entries: self.iter(),
        }
    }

    /// Keeps the entries that `keep` accepts.
    ///
    /// Not one instant: entries are looked at one after the other, as by [`iter`](Self::iter). One
    /// that is replaced while `keep` looks at it is left to its successor. If `keep` panics,
    /// what it removed before stays removed.
    ///
    /// ```
    /// let map: nulls::NullsHashMap<u32, u32> = (0..10).map(|i| (i, i * i)).collect();
    /// let m = map.pin();
    /// m.retain(|_, square| square % 2 == 0);
    /// assert_eq!(map.len(), 5);
    /// ```
    pub fn retain(&self, mut keep: impl FnMut(&K, &V) -> bool) {
        self.engine()
            .retain(self.guard(), |(key, value)| keep(key, value));
    }

    /// Removes all entries, bucket by bucket: not at one instant, and what is inserted meanwhile
    /// may stay.
    pub fn clear(&self) {
        self.engine().clear(self.guard());
    }
}

impl<K: Hash + Eq, V, S: BuildHasher, G: Pin> NullsHashMapRef<'_, K, V, S, G> {
    /// The entry under `key`.
    #[inline]
    pub(super) fn find<Q: Equivalent<K> + ?Sized>(
        &self,
        hash: Prehashed<S>,
        key: &Q,
    ) -> Option<&Node<(K, V)>> {
        let parts = self.engine().parts(hash.hash);
        self.engine()
            .find(self.guard(), parts, |(k, _)| key.equivalent(k))
    }

    /// The value under `key`.
    ///
    /// # Complexity
    ///
    /// Two cache lines when it is there and one when it is not, in a bucket without overflow lines;
    /// no atomic read-modify-write, no store to the map's memory.
    ///
    /// ```
    /// let map = nulls::NullsHashMap::from([("a".to_string(), 1)]);
    /// let m = map.pin();
    /// assert_eq!(m.get("a"), Some(&1));
    /// assert_eq!(m.get("b"), None);
    /// ```
    #[inline]
    pub fn get<Q: Hash + Equivalent<K> + ?Sized>(&self, key: &Q) -> Option<&V> {
        self.get_hashed(self.map.hash_key(key), key)
    }

    /// The key that is stored, and the value.
    #[inline]
    pub fn get_key_value<Q: Hash + Equivalent<K> + ?Sized>(&self, key: &Q) -> Option<(&K, &V)> {
        let (key, value) = self.find(self.map.hash_key(key), key)?.value();
        Some((key, value))
    }

    /// Whether there is an entry under `key`; as cheap as [`get`](Self::get).
    #[inline]
    pub fn contains_key<Q: Hash + Equivalent<K> + ?Sized>(&self, key: &Q) -> bool {
        self.contains_hashed(self.map.hash_key(key), key)
    }

    /// Puts `value` under `key` and returns the value that it replaced.
    ///
    /// The key is replaced too. Readers see the old value or the new one, never absence.
    ///
    /// ```
    /// let map = nulls::NullsHashMap::new();
    /// let m = map.pin();
    /// assert_eq!(m.insert(1, "one"), None);
    /// assert_eq!(m.insert(1, "uno"), Some(&"one"));
    /// ```
    pub fn insert(&self, key: K, value: V) -> Option<&V> {
        self.upsert(self.map.parts(&key), key, value)
    }

    pub(super) fn upsert(&self, parts: HashParts, key: K, value: V) -> Option<&V> {
        // On its way while the node is allocated.
        self.engine().prefetch(self.guard(), parts);
        let Ok(node) = Node::new(parts, (key, value)) else {
            out_of_memory::<(K, V)>()
        };
        match self.engine().upsert(self.guard(), parts, node, same_key) {
            Ok(old) => Some(&old?.1),
            Err(_) => out_of_memory::<(K, V)>(),
        }
    }

    /// Inserts if `key` is absent, and returns the value that is then there.
    ///
    /// # Errors
    ///
    /// [`Occupied`](InsertError::Occupied) with the value that is there;
    /// [`AllocFailed`](InsertError::AllocFailed). Both hand key and value back.
    ///
    /// ```
    /// use nulls::{InsertError, NullsHashMap};
    ///
    /// let map = NullsHashMap::new();
    /// let m = map.pin();
    /// assert_eq!(m.try_insert(1, "one"), Ok(&"one"));
    /// assert_eq!(m.try_insert(1, "uno"), Err(InsertError::Occupied((1, "uno"), &"one")));
    /// ```
    pub fn try_insert(&self, key: K, value: V) -> Result<&V, InsertError<(K, V), &V>> {
        let parts = self.map.parts(&key);
        if let Some(found) = self.engine().find(self.guard(), parts, |(k, _)| *k == key) {
            return Err(InsertError::Occupied((key, value), &found.value().1));
        }
        let node = Node::new(parts, (key, value)).map_err(InsertError::AllocFailed)?;
        match self
            .engine()
            .try_insert(self.guard(), parts, node, same_key)
        {
            Ok((_, value)) => Ok(value),
            Err(error) => Err(match into_insert_error(error) {
                InsertError::Occupied(pair, (_, found)) => InsertError::Occupied(pair, found),
                InsertError::Full(pair) => InsertError::Full(pair),
                InsertError::AllocFailed(pair) => InsertError::AllocFailed(pair),
            }),
        }
    }

    /// The value under `key`; `value`, inserted, if there was none.
    ///
    /// ```
    /// let map = nulls::NullsHashMap::new();
    /// let m = map.pin();
    /// assert_eq!(m.get_or_insert(1, "one"), &"one");
    /// assert_eq!(m.get_or_insert(1, "uno"), &"one");
    /// ```
    pub fn get_or_insert(&self, key: K, value: V) -> &V {
        self.get_or_insert_with(key, || value)
    }

    /// The value under `key`; what `make` returns, inserted, if there was none.
    ///
    /// `make` runs at most once, with no lock held. If another thread inserts meanwhile, its value
    /// is returned and what was made is dropped: a value that must be made only once belongs
    /// into a `OnceLock` in `V`.
    ///
    /// ```
    /// let map = nulls::NullsHashMap::new();
    /// let m = map.pin();
    /// assert_eq!(m.get_or_insert_with(1, || "one"), &"one");
    /// assert_eq!(m.get_or_insert_with(1, || unreachable!("there is one")), &"one");
    /// ```
    pub fn get_or_insert_with(&self, key: K, make: impl FnOnce() -> V) -> &V {
        let parts = self.map.parts(&key);
        if let Some(found) = self.engine().find(self.guard(), parts, |(k, _)| *k == key) {
            return &found.value().1;
        }
        let Ok(node) = Node::new(parts, (key, make())) else {
            out_of_memory::<(K, V)>()
        };
        match self
            .engine()
            .try_insert(self.guard(), parts, node, same_key)
            .map_err(into_insert_error)
        {
            Ok((_, value)) | Err(InsertError::Occupied(_, (_, value))) => value,
            Err(InsertError::Full(_) | InsertError::AllocFailed(_)) => out_of_memory::<(K, V)>(),
        }
    }

    /// Replaces the value under `key` by what `f` makes of it and returns the new value; `None` if
    /// there is none.
    ///
    /// The key is replaced too. Readers see the old value or the new one, never absence. `f` runs
    /// again if another writer changed the entry meanwhile.
    ///
    /// ```
    /// let map = nulls::NullsHashMap::from([(1, 10)]);
    /// let m = map.pin();
    /// assert_eq!(m.update(1, |value| value + 1), Some(&11));
    /// assert_eq!(m.update(2, |value| value + 1), None);
    /// ```
    pub fn update(&self, key: K, mut f: impl FnMut(&V) -> V) -> Option<&V> {
        match self.modify(key, |found| {
            found.map_or(Change::Keep, |value| Change::Put(f(value)))
        }) {
            Changed::Replaced { new, .. } => Some(&new.1),
            _ => None,
        }
    }

    /// Inserts, replaces, removes or leaves the entry under `key`, as `f` says when it sees the
    /// value or its absence.
    ///
    /// `f` runs again if another writer changed the entry meanwhile.
    ///
    /// ```
    /// use nulls::{Compute, NullsHashMap, Operation};
    ///
    /// let map = NullsHashMap::new();
    /// let m = map.pin();
    /// let count_down = |found: Option<&u32>| match found {
    ///     None => Operation::Insert(1),
    ///     Some(0) => Operation::Remove,
    ///     Some(n) => Operation::Insert(n - 1),
    /// };
    /// assert_eq!(m.compute("a", count_down), Compute::Inserted(&"a", &1));
    /// assert_eq!(m.compute("a", count_down), Compute::Updated { old: (&"a", &1), new: (&"a", &0) });
    /// assert_eq!(m.compute("a", count_down), Compute::Removed(&"a", &0));
    /// assert_eq!(m.compute("a", |_| Operation::Abort), Compute::Aborted);
    /// ```
    pub fn compute(
        &self,
        key: K,
        mut f: impl FnMut(Option<&V>) -> Operation<V>,
    ) -> Compute<'_, K, V> {
        let changed = self.modify(key, |found| match f(found) {
            Operation::Insert(value) => Change::Put(value),
            Operation::Remove => Change::Remove,
            Operation::Abort => Change::Keep,
        });
        match changed {
            Changed::Inserted((key, value)) => Compute::Inserted(key, value),
            Changed::Replaced { old, new } => Compute::Updated {
                old: (&old.0, &old.1),
                new: (&new.0, &new.1),
            },
            Changed::Removed((key, value)) => Compute::Removed(key, value),
            Changed::Kept => Compute::Aborted,
        }
    }

    pub(super) fn extend_from(&self, entries: impl IntoIterator<Item = (K, V)>) {
        for (key, value) in entries {
            self.insert(key, value);
        }
    }

    fn modify<'v>(
        &'v self,
        key: K,
        f: impl FnMut(Option<&'v V>) -> Change<V>,
    ) -> Changed<'v, K, V> {
        match self.map.modify(self.guard(), key, f) {
            Ok(changed) => changed,
            Err(_) => out_of_memory::<(K, V)>(),
        }
    }

    /// Replaces the value under `key`, if there is one, and returns it. One store: readers never
    /// see absence.
    ///
    /// # Errors
    ///
    /// Key and value, if `key` is absent.
    ///
    /// ```
    /// let map = nulls::NullsHashMap::from([(1, "one")]);
    /// let m = map.pin();
    /// assert_eq!(m.replace(1, "uno"), Ok(&"one"));
    /// assert_eq!(m.replace(2, "due"), Err((2, "due")));
    /// ```
    pub fn replace(&self, key: K, value: V) -> Result<&V, (K, V)> {
        let parts = self.map.parts(&key);
        let (mut key, mut value) = (key, value);
        loop {
            let Some(old) = self.engine().find(self.guard(), parts, |(k, _)| *k == key) else {
                return Err((key, value));
            };
            let Ok(node) = Node::new(parts, (key, value)) else {
                out_of_memory::<(K, V)>()
            };
            match self.engine().replace_exact(self.guard(), parts, old, node) {
                Ok(_) => return Ok(&old.value().1),
                Err(node) => (key, value) = node.into_value(),
            }
        }
    }

    /// Removes the entry under `key` and returns its value. An absent key costs no write.
    ///
    /// The value is dropped when no guard can see it any more.
    ///
    /// ```
    /// let map = nulls::NullsHashMap::from([(1, "one")]);
    /// let m = map.pin();
    /// assert_eq!(m.remove(&1), Some(&"one"));
    /// assert_eq!(m.remove(&1), None);
    /// ```
    pub fn remove<Q: Hash + Equivalent<K> + ?Sized>(&self, key: &Q) -> Option<&V> {
        Some(self.remove_entry(key)?.1)
    }

    /// Removes the entry under `key` and returns it.
    pub fn remove_entry<Q: Hash + Equivalent<K> + ?Sized>(&self, key: &Q) -> Option<(&K, &V)> {
        let parts = self.map.parts(key);
        let (key, value) = self
            .engine()
            .remove(self.guard(), parts, |(k, _)| key.equivalent(k))?;
        Some((key, value))
    }

    /// Removes the entry under `key` if `f` accepts it, and returns it; `Ok(None)` if there is
    /// none.
    ///
    /// `f` runs again if another writer replaced the entry meanwhile.
    ///
    /// # Errors
    ///
    /// The entry, if `f` refuses it.
    ///
    /// ```
    /// let map = nulls::NullsHashMap::from([(1, 10)]);
    /// let m = map.pin();
    /// assert_eq!(m.remove_if(&1, |_, &value| value > 10), Err((&1, &10)));
    /// assert_eq!(m.remove_if(&1, |_, &value| value == 10), Ok(Some((&1, &10))));
    /// assert_eq!(m.remove_if(&1, |_, _| true), Ok(None));
    /// ```
    pub fn remove_if<Q: Hash + Equivalent<K> + ?Sized>(
        &self,
        key: &Q,
        mut f: impl FnMut(&K, &V) -> bool,
    ) -> Result<Option<(&K, &V)>, (&K, &V)> {
        let parts = self.map.parts(key);
        loop {
            let Some(node) = self
                .engine()
                .find(self.guard(), parts, |(k, _)| key.equivalent(k))
            else {
                return Ok(None);
            };
            let (k, v) = node.value();
            if !f(k, v) {
                return Err((k, v));
            }
            if self.engine().remove_exact(self.guard(), parts, node) {
                return Ok(Some((k, v)));
            }
        }
    }
}

impl<'v, K, V, S, G: Pin> IntoIterator for &'v NullsHashMapRef<'_, K, V, S, G> {
    type Item = (&'v K, &'v V);
    type IntoIter = Iter<'v, K, V>;

    fn into_iter(self) -> Iter<'v, K, V> {
        self.iter()
    }
}

impl<K: fmt::Debug, V: fmt::Debug, S, G: Pin> fmt::Debug for NullsHashMapRef<'_, K, V, S, G> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter()).finish()
    }
}
