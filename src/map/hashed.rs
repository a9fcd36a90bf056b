//! Operations with the hash in hand.

use core::hash::{BuildHasher, Hash};

use equivalent::Equivalent;

use super::{NullsHashMap, NullsHashMapRef};
use crate::hash::{Monotone, MonotoneKey};
use crate::prehashed::Prehashed;
use crate::reclaim::Pin;

impl<K: Hash + Eq, V, S: BuildHasher> NullsHashMap<K, V, S> {
    /// The hash of a key under this map's hasher, for the methods that take one.
    ///
    /// ```
    /// let map = nulls::NullsHashMap::new();
    /// let hash = map.hash_key("a");
    /// let m = map.pin();
    /// if m.get_hashed(hash, "a").is_none() {
    ///     m.insert_hashed(hash, "a".to_string(), 1);
    /// }
    /// assert_eq!(m.get("a"), Some(&1));
    /// ```
    #[inline]
    pub fn hash_key<Q: Hash + Equivalent<K> + ?Sized>(&self, key: &Q) -> Prehashed<S> {
        Prehashed::new(self.hasher.hash_one(key))
    }

    /// The hash of a key as if its port were 0, to which ports can be added; see [`Prehashed`].
    #[inline]
    pub fn hash_base<Q>(&self, key: &Q) -> Prehashed<S>
    where
        Q: MonotoneKey + Equivalent<K> + ?Sized,
        S: Monotone,
    {
        Prehashed::of_base(&self.hasher, key)
    }
}

impl<K: Hash + Eq, V, S: BuildHasher, G: Pin> NullsHashMapRef<'_, K, V, S, G> {
    /// As [`get`](Self::get).
    #[inline]
    pub fn get_hashed<Q>(&self, hash: Prehashed<S>, key: &Q) -> Option<&V>
    where
        Q: Equivalent<K> + ?Sized,
    {
        Some(&self.find(hash, key)?.value().1)
    }

    /// As [`contains_key`](Self::contains_key).
    #[inline]
    pub fn contains_hashed<Q>(&self, hash: Prehashed<S>, key: &Q) -> bool
    where
        Q: Equivalent<K> + ?Sized,
    {
        self.find(hash, key).is_some()
    }

    /// Whether an entry of this hash may be there, by tags alone: `false` is certain. One line of a
    /// map with a [`shift`](super::Builder::shift) answers for several neighbours.
    #[inline]
    pub fn maybe_contains_hashed(&self, hash: Prehashed<S>) -> bool {
        let engine = self.engine();
        engine.maybe_contains(self.guard(), engine.parts(hash.hash))
    }

    /// As [`insert`](Self::insert).
    pub fn insert_hashed(&self, hash: Prehashed<S>, key: K, value: V) -> Option<&V> {
        self.upsert(self.engine().parts(hash.hash), key, value)
    }

    /// As [`remove`](Self::remove).
    pub fn remove_hashed<Q>(&self, hash: Prehashed<S>, key: &Q) -> Option<&V>
    where
        Q: Equivalent<K> + ?Sized,
    {
        let engine = self.engine();
        let (_, value) = engine.remove(self.guard(), engine.parts(hash.hash), |(k, _)| {
            key.equivalent(k)
        })?;
        Some(value)
    }
}
