//! Operations with the hash in hand.

use core::hash::{BuildHasher, Hash};

use equivalent::Equivalent;

use super::view::out_of_memory;
use super::{InlineHashMap, InlineHashMapRef};
use crate::engine::{AllocError, Entry, Plain};
use crate::hash::{Monotone, MonotoneKey};
use crate::prehashed::Prehashed;
use crate::reclaim::Pin;

impl<K: Hash + Eq, V, S: BuildHasher> InlineHashMap<K, V, S> {
    /// The hash of a key under this map's hasher, for the methods that take one.
    ///
    /// ```
    /// let map = nulls::InlineHashMap::new();
    /// let hash = map.hash_key(&7);
    /// let m = map.pin();
    /// if m.get_hashed(hash, &7).is_none() {
    ///     m.insert_hashed(hash, 7, 1);
    /// }
    /// assert_eq!(m.get(&7), Some(1));
    /// ```
    #[inline]
    pub fn hash_key<Q: Hash + Equivalent<K> + ?Sized>(&self, key: &Q) -> Prehashed<S> {
        Prehashed::new(self.hasher().hash_one(key))
    }

    /// The hash of a key as if its port were 0, to which ports can be added; see [`Prehashed`].
    #[inline]
    pub fn hash_base<Q>(&self, key: &Q) -> Prehashed<S>
    where
        Q: MonotoneKey + Equivalent<K> + ?Sized,
        S: Monotone,
    {
        Prehashed::of_base(self.hasher(), key)
    }
}

impl<K: Plain + Hash + Eq, V: Plain, S: BuildHasher, G: Pin> InlineHashMapRef<'_, K, V, S, G> {
    /// As [`get`](Self::get).
    #[inline]
    pub fn get_hashed<Q>(&self, hash: Prehashed<S>, key: &Q) -> Option<V>
    where
        Q: Equivalent<K> + ?Sized,
    {
        Some(self.find_hashed(hash, key)?.value)
    }

    /// As [`contains_key`](Self::contains_key).
    #[inline]
    pub fn contains_hashed<Q>(&self, hash: Prehashed<S>, key: &Q) -> bool
    where
        Q: Equivalent<K> + ?Sized,
    {
        self.find_hashed(hash, key).is_some()
    }

    /// As [`insert`](Self::insert).
    pub fn insert_hashed(&self, hash: Prehashed<S>, key: K, value: V) -> Option<V> {
        let parts = self.engine().parts(hash.hash);
        self.engine()
            .upsert(self.guard(), parts, Entry { key, value }, |k| *k == key)
            .unwrap_or_else(|AllocError| out_of_memory())
    }

    /// As [`remove`](Self::remove).
    pub fn remove_hashed<Q>(&self, hash: Prehashed<S>, key: &Q) -> Option<V>
    where
        Q: Equivalent<K> + ?Sized,
    {
        let parts = self.engine().parts(hash.hash);
        let removed = self
            .engine()
            .remove(self.guard(), parts, |k| key.equivalent(k))?;
        Some(removed.value)
    }
}
