//! The view of an inline map: all that touches entries.

use core::alloc::Layout as MemoryLayout;
use core::fmt;
use core::hash::{BuildHasher, Hash};
use std::collections::hash_map::RandomState;

use alloc::alloc::handle_alloc_error;
use equivalent::Equivalent;

use super::{InlineCompute, InlineHashMap, Iter, Keys, Values};
use crate::engine::{AllocError, Entry, Inline, Inserted, Plain, Table};
use crate::error::InsertError;
use crate::map::Operation;
use crate::prehashed::Prehashed;
use crate::reclaim::{Guard, Pin};

/// An [`InlineHashMap`] inside a read section: made by [`pin`](InlineHashMap::pin) or
/// [`with_guard`](InlineHashMap::with_guard).
///
/// Keys and values are copied out; nothing that is returned borrows the view.
///
/// # Closures
///
/// No closure runs under a lock, so it may do anything, with this map too. The price: an `FnMut`
/// closure is run again when another writer changed the same entry meanwhile. `FnOnce` closures run
/// at most once a call. If a closure panics, the map is as it was (after `retain`, as far as it had
/// come).
///
/// `Hash` never runs under a lock; a writer that helps the map grow hashes keys that others
/// inserted. `Eq` runs under a bucket's lock where absence has to be proved: it must neither write to
/// a table nor pin one of another collector. If either panics nothing is locked or changed; if `Eq`
/// lies, keys are not found or found twice, and nothing worse.
///
/// An update keeps the key that is stored, if it is equal to the one given but not the same.
///
/// # Progress
///
/// Look-ups and iteration take no lock and wait for nobody; they begin again only because a writer
/// finished something. Writers lock one bucket for a few stores and comparisons, and wait while
/// another thread holds that lock; if the map is growing they also move up to 32 buckets.
///
/// # Memory
///
/// Nothing is allocated but arrays and overflow lines. The forms that begin with `try_` report that
/// the allocator refused one; the others abort then, as std's collections do. A map that gets no
/// memory to grow goes on, fuller.
pub struct InlineHashMapRef<'m, K, V, S = RandomState, G = Guard<'m>> {
    pub(super) map: &'m InlineHashMap<K, V, S>,
    guard: G,
}

impl<'m, K, V, S, G: Pin> InlineHashMapRef<'m, K, V, S, G> {
    #[inline]
    pub(super) fn new(map: &'m InlineHashMap<K, V, S>, guard: G) -> Self {
        Self { map, guard }
    }

    #[inline]
    pub(super) fn engine(&self) -> &Table<Inline<K, V, S>> {
        &self.map.engine
    }

    #[inline]
    pub(super) fn guard(&self) -> &Guard<'_> {
        self.guard.guard()
    }
}

impl<K: Plain + Hash, V: Plain, S: BuildHasher, G: Pin> InlineHashMapRef<'_, K, V, S, G> {
    /// All entries.
    ///
    /// ```
    /// let map = nulls::InlineHashMap::from([(1, 10), (2, 20)]);
    /// let mut entries: Vec<_> = map.pin().iter().collect();
    /// entries.sort();
    /// assert_eq!(entries, [(1, 10), (2, 20)]);
    /// ```
    pub fn iter(&self) -> Iter<'_, K, V, S> {
        Iter::new(self.engine(), self.guard())
    }

    /// All keys; see [`iter`](Self::iter).
    pub fn keys(&self) -> Keys<'_, K, V, S> {
        Keys {
            entries: self.iter(),
        }
    }

    /// All values; see [`iter`](Self::iter).
    pub fn values(&self) -> Values<'_, K, V, S> {
        Values {
            entries: self.iter(),
        }
    }

    /// Keeps the entries that `keep` accepts.
    ///
    /// Not one instant: entries are looked at one after the other, as by [`iter`](Self::iter). One
    /// that is updated while `keep` looks at it is left alone. If `keep` panics, what it removed
    /// before stays removed.
    ///
    /// ```
    /// let map: nulls::InlineHashMap<u32, u32> = (0..10).map(|i| (i, i * i)).collect();
    /// let m = map.pin();
    /// m.retain(|_, square| square % 2 == 0);
    /// assert_eq!(map.len(), 5);
    /// ```
    pub fn retain(&self, keep: impl FnMut(&K, &V) -> bool) {
        self.engine().retain(self.guard(), keep);
    }

    /// Removes all entries, bucket by bucket: not at one instant, and what is inserted meanwhile may
    /// stay.
    pub fn clear(&self) {
        self.engine().clear(self.guard());
    }
}

impl<K: Plain + Hash + Eq, V: Plain, S: BuildHasher, G: Pin> InlineHashMapRef<'_, K, V, S, G> {
    #[inline]
    fn find<Q: Hash + Equivalent<K> + ?Sized>(&self, key: &Q) -> Option<Entry<K, V>> {
        self.find_hashed(self.map.hash_key(key), key)
    }

    #[inline]
    pub(super) fn find_hashed<Q>(&self, hash: Prehashed<S>, key: &Q) -> Option<Entry<K, V>>
    where
        Q: Equivalent<K> + ?Sized,
    {
        let parts = self.engine().parts(hash.hash);
        self.engine()
            .find(self.guard(), parts, |k| key.equivalent(k))
    }

    /// The value under `key`.
    ///
    /// # Complexity
    ///
    /// One cache line (two side by side for entries of more than 16 bytes), hit or miss, in a bucket
    /// without overflow lines; no atomic read-modify-write, no store to the map's memory.
    ///
    /// ```
    /// let map = nulls::InlineHashMap::from([(1_u32, 10_u32)]);
    /// let m = map.pin();
    /// assert_eq!(m.get(&1), Some(10));
    /// assert_eq!(m.get(&2), None);
    /// ```
    #[inline]
    pub fn get<Q: Hash + Equivalent<K> + ?Sized>(&self, key: &Q) -> Option<V> {
        Some(self.find(key)?.value)
    }

    /// The key that is stored, and the value.
    #[inline]
    pub fn get_key_value<Q: Hash + Equivalent<K> + ?Sized>(&self, key: &Q) -> Option<(K, V)> {
        let Entry { key, value } = self.find(key)?;
        Some((key, value))
    }

    /// Whether there is an entry under `key`; as cheap as [`get`](Self::get).
    #[inline]
    pub fn contains_key<Q: Hash + Equivalent<K> + ?Sized>(&self, key: &Q) -> bool {
        self.find(key).is_some()
    }

    /// Puts `value` under `key` and returns the value that it replaced.
    ///
    /// Readers see the old value or the new one, never absence.
    ///
    /// ```
    /// let map = nulls::InlineHashMap::new();
    /// let m = map.pin();
    /// assert_eq!(m.insert(1, 10), None);
    /// assert_eq!(m.insert(1, 11), Some(10));
    /// ```
    pub fn insert(&self, key: K, value: V) -> Option<V> {
        self.insert_hashed(self.map.hash_key(&key), key, value)
    }

    /// As [`insert`](Self::insert).
    ///
    /// # Errors
    ///
    /// [`AllocFailed`](InsertError::AllocFailed) with key and value; nothing has changed.
    pub fn try_upsert(&self, key: K, value: V) -> Result<Option<V>, InsertError<(K, V), V>> {
        let parts = self.engine().parts_of(&key);
        self.engine()
            .upsert(self.guard(), parts, Entry { key, value }, |k| *k == key)
            .map_err(|AllocError| InsertError::AllocFailed((key, value)))
    }

    /// Inserts if `key` is absent.
    ///
    /// # Errors
    ///
    /// [`Occupied`](InsertError::Occupied) with the value that is there;
    /// [`AllocFailed`](InsertError::AllocFailed). Both hand key and value back.
    ///
    /// ```
    /// use nulls::{InlineHashMap, InsertError};
    ///
    /// let map = InlineHashMap::new();
    /// let m = map.pin();
    /// assert_eq!(m.try_insert(1, 10), Ok(()));
    /// assert_eq!(m.try_insert(1, 11), Err(InsertError::Occupied((1, 11), 10)));
    /// ```
    pub fn try_insert(&self, key: K, value: V) -> Result<(), InsertError<(K, V), V>> {
        match self.get_or_put(key, value) {
            Ok(None) => Ok(()),
            Ok(Some(found)) => Err(InsertError::Occupied((key, value), found)),
            Err(AllocError) => Err(InsertError::AllocFailed((key, value))),
        }
    }

    /// The value under `key`, or `None` when `value` was put there.
    fn get_or_put(&self, key: K, value: V) -> Result<Option<V>, AllocError> {
        let parts = self.engine().parts_of(&key);
        if let Some(found) = self.engine().find(self.guard(), parts, |k| *k == key) {
            return Ok(Some(found.value));
        }
        let inserted =
            self.engine()
                .try_insert(self.guard(), parts, Entry { key, value }, |k| *k == key)?;
        Ok(match inserted {
            Inserted::New => None,
            Inserted::Found(found) => Some(found),
        })
    }

    /// The value under `key`; `value`, inserted, if there was none.
    ///
    /// ```
    /// let map = nulls::InlineHashMap::new();
    /// let m = map.pin();
    /// assert_eq!(m.get_or_insert(1, 10), 10);
    /// assert_eq!(m.get_or_insert(1, 11), 10);
    /// ```
    pub fn get_or_insert(&self, key: K, value: V) -> V {
        self.get_or_put(key, value)
            .unwrap_or_else(|AllocError| out_of_memory())
            .unwrap_or(value)
    }

    /// The value under `key`; what `make` returns, inserted, if there was none.
    ///
    /// `make` runs at most once, with no lock held. If another thread inserts meanwhile, its value is
    /// returned.
    ///
    /// ```
    /// let map = nulls::InlineHashMap::new();
    /// let m = map.pin();
    /// assert_eq!(m.get_or_insert_with(1, || 10), 10);
    /// assert_eq!(m.get_or_insert_with(1, || unreachable!("there is one")), 10);
    /// ```
    pub fn get_or_insert_with(&self, key: K, make: impl FnOnce() -> V) -> V {
        match self.find(&key) {
            Some(found) => found.value,
            None => self.get_or_insert(key, make()),
        }
    }

    /// Replaces the value under `key` by what `f` makes of it and returns the new value; `None` if
    /// there is none.
    ///
    /// Readers see the old value or the new one, never absence. `f` runs again if another writer
    /// changed the value meanwhile.
    ///
    /// ```
    /// let map = nulls::InlineHashMap::from([(1, 10)]);
    /// let m = map.pin();
    /// assert_eq!(m.update(1, |value| value + 1), Some(11));
    /// assert_eq!(m.update(2, |value| value + 1), None);
    /// ```
    pub fn update(&self, key: K, f: impl FnMut(&V) -> V) -> Option<V> {
        self.try_update(key, f).unwrap_or_else(|_| out_of_memory())
    }

    /// As [`update`](Self::update).
    ///
    /// # Errors
    ///
    /// [`AllocFailed`](InsertError::AllocFailed) with the key and the new value, if the bucket needed
    /// an overflow line for it; nothing has changed. A value that lies in one word of eight bytes
    /// never needs one.
    pub fn try_update(
        &self,
        key: K,
        mut f: impl FnMut(&V) -> V,
    ) -> Result<Option<V>, InsertError<(K, V), V>> {
        let changed = self.try_compute(key, |found| {
            found.map_or(Operation::Abort, |value| Operation::Insert(f(value)))
        })?;
        Ok(match changed {
            InlineCompute::Updated { new, .. } => Some(new),
            _ => None,
        })
    }

    /// Inserts, replaces, removes or leaves the entry under `key`, as `f` says when it sees the value
    /// or its absence.
    ///
    /// `f` runs again if another writer changed the entry meanwhile.
    ///
    /// ```
    /// use nulls::{InlineCompute, InlineHashMap, Operation};
    ///
    /// let map = InlineHashMap::new();
    /// let m = map.pin();
    /// let count_down = |found: Option<&u32>| match found {
    ///     None => Operation::Insert(1),
    ///     Some(0) => Operation::Remove,
    ///     Some(n) => Operation::Insert(n - 1),
    /// };
    /// assert_eq!(m.compute(7, count_down), InlineCompute::Inserted(1));
    /// assert_eq!(m.compute(7, count_down), InlineCompute::Updated { old: 1, new: 0 });
    /// assert_eq!(m.compute(7, count_down), InlineCompute::Removed(0));
    /// assert_eq!(m.compute(7, |_| Operation::Abort), InlineCompute::Aborted);
    /// ```
    pub fn compute(&self, key: K, f: impl FnMut(Option<&V>) -> Operation<V>) -> InlineCompute<V> {
        self.try_compute(key, f).unwrap_or_else(|_| out_of_memory())
    }

    /// As [`compute`](Self::compute).
    ///
    /// # Errors
    ///
    /// [`AllocFailed`](InsertError::AllocFailed) with the key and the value that was to be there;
    /// nothing has changed.
    pub fn try_compute(
        &self,
        key: K,
        mut f: impl FnMut(Option<&V>) -> Operation<V>,
    ) -> Result<InlineCompute<V>, InsertError<(K, V), V>> {
        let (engine, guard) = (self.engine(), self.guard());
        let parts = engine.parts_of(&key);
        loop {
            let found = engine.find(guard, parts, |k| *k == key);
            match (found, f(found.as_ref().map(|entry| &entry.value))) {
                (_, Operation::Abort) | (None, Operation::Remove) => {
                    return Ok(InlineCompute::Aborted);
                }
                (None, Operation::Insert(value)) => {
                    let inserted = engine
                        .try_insert(guard, parts, Entry { key, value }, |k| *k == key)
                        .map_err(|AllocError| InsertError::AllocFailed((key, value)))?;
                    if let Inserted::New = inserted {
                        return Ok(InlineCompute::Inserted(value));
                    }
                }
                (Some(old), Operation::Insert(new)) => {
                    let replaced = engine
                        .replace_exact(guard, parts, &old, new)
                        .map_err(|AllocError| InsertError::AllocFailed((key, new)))?;
                    if replaced {
                        let old = old.value;
                        return Ok(InlineCompute::Updated { old, new });
                    }
                }
                (Some(old), Operation::Remove) => {
                    if engine.remove_exact(guard, parts, &old) {
                        return Ok(InlineCompute::Removed(old.value));
                    }
                }
            }
            // Another writer came between.
        }
    }

    /// Replaces the value under `key`, if there is one, and returns it. Readers never see absence.
    ///
    /// # Errors
    ///
    /// Key and value, if `key` is absent.
    ///
    /// ```
    /// let map = nulls::InlineHashMap::from([(1, 10)]);
    /// let m = map.pin();
    /// assert_eq!(m.replace(1, 11), Ok(10));
    /// assert_eq!(m.replace(2, 20), Err((2, 20)));
    /// ```
    pub fn replace(&self, key: K, value: V) -> Result<V, (K, V)> {
        let parts = self.engine().parts_of(&key);
        self.engine()
            .replace(self.guard(), parts, value, |k| *k == key)
            .unwrap_or_else(|AllocError| out_of_memory())
            .ok_or((key, value))
    }

    /// Removes the entry under `key` and returns its value. An absent key costs no write.
    ///
    /// ```
    /// let map = nulls::InlineHashMap::from([(1, 10)]);
    /// let m = map.pin();
    /// assert_eq!(m.remove(&1), Some(10));
    /// assert_eq!(m.remove(&1), None);
    /// ```
    pub fn remove<Q: Hash + Equivalent<K> + ?Sized>(&self, key: &Q) -> Option<V> {
        Some(self.remove_entry(key)?.1)
    }

    /// Removes the entry under `key` and returns it.
    pub fn remove_entry<Q: Hash + Equivalent<K> + ?Sized>(&self, key: &Q) -> Option<(K, V)> {
        let parts = self.engine().parts_of(key);
        let Entry { key, value } = self
            .engine()
            .remove(self.guard(), parts, |k| key.equivalent(k))?;
        Some((key, value))
    }

    /// Removes the entry under `key` if `f` accepts it, and returns it; `Ok(None)` if there is none.
    ///
    /// `f` runs again if another writer changed the value meanwhile.
    ///
    /// # Errors
    ///
    /// The entry, if `f` refuses it.
    ///
    /// ```
    /// let map = nulls::InlineHashMap::from([(1, 10)]);
    /// let m = map.pin();
    /// assert_eq!(m.remove_if(&1, |_, &value| value > 10), Err((1, 10)));
    /// assert_eq!(m.remove_if(&1, |_, &value| value == 10), Ok(Some((1, 10))));
    /// assert_eq!(m.remove_if(&1, |_, _| true), Ok(None));
    /// ```
    pub fn remove_if<Q: Hash + Equivalent<K> + ?Sized>(
        &self,
        key: &Q,
        mut f: impl FnMut(&K, &V) -> bool,
    ) -> Result<Option<(K, V)>, (K, V)> {
        let parts = self.engine().parts_of(key);
        loop {
            let found = self
                .engine()
                .find(self.guard(), parts, |k| key.equivalent(k));
            let Some(found) = found else {
                return Ok(None);
            };
            let Entry { key: k, value: v } = found;
            if !f(&k, &v) {
                return Err((k, v));
            }
            if self.engine().remove_exact(self.guard(), parts, &found) {
                return Ok(Some((k, v)));
            }
        }
    }

    pub(super) fn extend_from(&self, entries: impl IntoIterator<Item = (K, V)>) {
        for (key, value) in entries {
            self.insert(key, value);
        }
    }
}

/// What the plain forms do when the allocator refuses an array or an overflow line.
#[cold]
pub(super) fn out_of_memory() -> ! {
    handle_alloc_error(MemoryLayout::new::<[u64; 8]>())
}

impl<'v, K: Plain + Hash, V: Plain, S: BuildHasher, G: Pin> IntoIterator
    for &'v InlineHashMapRef<'_, K, V, S, G>
{
    type Item = (K, V);
    type IntoIter = Iter<'v, K, V, S>;

    fn into_iter(self) -> Iter<'v, K, V, S> {
        self.iter()
    }
}

impl<K, V, S, G: Pin> fmt::Debug for InlineHashMapRef<'_, K, V, S, G>
where
    K: Plain + Hash + fmt::Debug,
    V: Plain + fmt::Debug,
    S: BuildHasher,
{
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter()).finish()
    }
}
