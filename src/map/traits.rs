//! std's traits for a map.

use core::fmt;
use core::hash::{BuildHasher, Hash};
use std::collections::hash_map::RandomState;

use super::NullsHashMap;

/// An empty map; allocates nothing.
impl<K, V, S: Default> Default for NullsHashMap<K, V, S> {
    fn default() -> Self {
        Self::with_hasher(S::default())
    }
}

impl<K: fmt::Debug, V: fmt::Debug, S> fmt::Debug for NullsHashMap<K, V, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.pin().fmt(f)
    }
}

/// A copy of the entries that an iteration meets, with a hasher of the same keys. A shared
/// collector is shared by the copy. `Clone` of keys and values runs with no lock held.
impl<K: Clone + Hash + Eq, V: Clone, S: BuildHasher + Clone> Clone for NullsHashMap<K, V, S> {
    fn clone(&self) -> Self {
        let clone = Self {
            table: self.table.clone_empty(),
            hasher: self.hasher.clone(),
        };
        clone.pin().extend_from(
            self.pin()
                .iter()
                .map(|(key, value)| (key.clone(), value.clone())),
        );
        clone
    }
}

/// Equal if an iteration over either meets only entries that are in the other. Exact while nobody
/// writes.
impl<K: Hash + Eq, V: PartialEq, S: BuildHasher> PartialEq for NullsHashMap<K, V, S> {
    fn eq(&self, other: &Self) -> bool {
        let (a, b) = (self.pin(), other.pin());
        self.len() == other.len() && a.iter().all(|(key, value)| b.get(key) == Some(value))
    }
}

impl<K: Hash + Eq, V: Eq, S: BuildHasher> Eq for NullsHashMap<K, V, S> {}

impl<K: Hash + Eq, V, S: BuildHasher + Default> FromIterator<(K, V)> for NullsHashMap<K, V, S> {
    fn from_iter<I: IntoIterator<Item = (K, V)>>(entries: I) -> Self {
        let entries = entries.into_iter();
        let map = Self::with_capacity_and_hasher(entries.size_hint().0, S::default());
        map.pin().extend_from(entries);
        map
    }
}

impl<K: Hash + Eq, V, S: BuildHasher> Extend<(K, V)> for NullsHashMap<K, V, S> {
    fn extend<I: IntoIterator<Item = (K, V)>>(&mut self, entries: I) {
        self.pin().extend_from(entries);
    }
}

/// The same on a shared map.
impl<K: Hash + Eq, V, S: BuildHasher> Extend<(K, V)> for &NullsHashMap<K, V, S> {
    fn extend<I: IntoIterator<Item = (K, V)>>(&mut self, entries: I) {
        self.pin().extend_from(entries);
    }
}

impl<K: Hash + Eq, V, const N: usize> From<[(K, V); N]> for NullsHashMap<K, V, RandomState> {
    fn from(entries: [(K, V); N]) -> Self {
        entries.into_iter().collect()
    }
}
