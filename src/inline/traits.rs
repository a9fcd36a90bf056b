//! std's traits for an inline map.

use core::fmt;
use core::hash::{BuildHasher, Hash};
use std::collections::hash_map::RandomState;

use super::InlineHashMap;
use crate::engine::Plain;

/// An empty map; allocates nothing.
impl<K, V, S: Default> Default for InlineHashMap<K, V, S> {
    fn default() -> Self {
        Self::with_hasher(S::default())
    }
}

impl<K, V, S> fmt::Debug for InlineHashMap<K, V, S>
where
    K: Plain + Hash + fmt::Debug,
    V: Plain + fmt::Debug,
    S: BuildHasher,
{
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.pin().iter()).finish()
    }
}

/// A copy of the entries that an iteration meets, with a hasher of the same keys. A shared collector
/// is shared by the copy.
impl<K: Plain + Hash + Eq, V: Plain, S: BuildHasher + Clone> Clone for InlineHashMap<K, V, S> {
    fn clone(&self) -> Self {
        let clone = Self::from_options(self.options(), self.hasher().clone());
        clone.pin().extend_from(self.pin().iter());
        clone
    }
}

/// Equal if an iteration over either meets only entries that are in the other. Exact while nobody
/// writes.
impl<K: Plain + Hash + Eq, V: Plain + PartialEq, S: BuildHasher> PartialEq
    for InlineHashMap<K, V, S>
{
    fn eq(&self, other: &Self) -> bool {
        let (a, b) = (self.pin(), other.pin());
        self.len() == other.len() && a.iter().all(|(key, value)| b.get(&key) == Some(value))
    }
}

impl<K: Plain + Hash + Eq, V: Plain + Eq, S: BuildHasher> Eq for InlineHashMap<K, V, S> {}

impl<K, V, S> FromIterator<(K, V)> for InlineHashMap<K, V, S>
where
    K: Plain + Hash + Eq,
    V: Plain,
    S: BuildHasher + Default,
{
    fn from_iter<I: IntoIterator<Item = (K, V)>>(entries: I) -> Self {
        let entries = entries.into_iter();
        let map = Self::with_capacity_and_hasher(entries.size_hint().0, S::default());
        map.pin().extend_from(entries);
        map
    }
}

impl<K: Plain + Hash + Eq, V: Plain, S: BuildHasher> Extend<(K, V)> for InlineHashMap<K, V, S> {
    fn extend<I: IntoIterator<Item = (K, V)>>(&mut self, entries: I) {
        self.pin().extend_from(entries);
    }
}

/// The same on a shared map.
impl<K: Plain + Hash + Eq, V: Plain, S: BuildHasher> Extend<(K, V)> for &InlineHashMap<K, V, S> {
    fn extend<I: IntoIterator<Item = (K, V)>>(&mut self, entries: I) {
        self.pin().extend_from(entries);
    }
}

impl<K: Plain + Hash + Eq, V: Plain, const N: usize> From<[(K, V); N]>
    for InlineHashMap<K, V, RandomState>
{
    fn from(entries: [(K, V); N]) -> Self {
        entries.into_iter().collect()
    }
}
