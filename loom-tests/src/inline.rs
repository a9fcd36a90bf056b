//! `InlineHashMap` as the models use it: keys are their own hashes, and keys and values are numbers
//! that take one word or several.
//!
//! Under loom a line has two slots. A map without capacity begins with one bucket, and one with
//! `Growth::Auto` starts a migration when an insertion that found no room in the array leaves more
//! than two entries a bucket. From then on each writing call moves one bucket first.

use std::hash::Hash;

use nulls::{Growth, InlineHashMap, InlineHashMapRef, InsertError};

use crate::hasher::Identity;
use crate::plain::{Numbered, Wanted};
use crate::shared::{Pin, Shared};

/// The key in one word and the value in another: it is updated in its place.
pub type TwoWords = InlineMap<u64, u64>;

/// Two words, the value in both: an update writes it to another slot.
pub type Split = InlineMap<u32, [u32; 3]>;

/// Three words, the value in two: an update writes it to another slot, and a bucket is two lines
/// side by side.
pub type Wide = InlineMap<u64, [u64; 2]>;

/// Four words, three of them the value: a line has room for one entry, so that every update moves
/// it to another line.
pub type OneSlot = InlineMap<u64, [u64; 3]>;

/// Two words, the key in both.
pub type Keys = InlineMap<[u64; 2], ()>;

/// A map that all threads of a model share.
pub struct InlineMap<K, V>(Shared<InlineHashMap<K, V, Identity>>);

impl<K, V> Clone for InlineMap<K, V> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<K: Numbered + Hash + Eq, V: Numbered> InlineMap<K, V> {
    /// A map of so many buckets (a power of two) that never grows.
    pub fn fixed(buckets: usize) -> Self {
        Self::with_buckets(buckets, Growth::Fixed)
    }

    /// A map of so many buckets (a power of two) at first.
    pub fn growing(buckets: usize) -> Self {
        Self::with_buckets(buckets, Growth::Auto)
    }

    fn with_buckets(buckets: usize, growth: Growth) -> Self {
        let builder = InlineHashMap::builder().hasher(Identity::default());
        let map = builder.growth(growth).capacity(2 * buckets).build();
        let map = Self(Shared::new(map));
        drop(map.pin());
        map
    }

    /// Inserts keys in this order, each its own value.
    #[must_use]
    pub fn with(self, keys: impl IntoIterator<Item = u64>) -> Self {
        let m = self.pin();
        for key in keys {
            m.put(key, key);
        }
        drop(m);
        self
    }

    /// Removes keys.
    #[must_use]
    pub fn without(self, keys: impl IntoIterator<Item = u64>) -> Self {
        let m = self.pin();
        for key in keys {
            assert!(m.remove(key).is_some());
        }
        drop(m);
        self
    }

    /// Enters a read section.
    pub fn pin(&self) -> InlineView<'_, K, V> {
        InlineView(self.0.pin())
    }

    /// As the map's.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// As the map's.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// As the map's.
    pub fn stats(&self) -> nulls::Stats {
        self.0.stats()
    }
}

impl<K: Numbered + Hash + Eq, V: Numbered> Pin for InlineMap<K, V> {
    type View<'a> = InlineView<'a, K, V>;

    fn pin(&self) -> Self::View<'_> {
        self.pin()
    }
}

/// An [`InlineMap`] inside a read section.
pub struct InlineView<'m, K, V>(InlineHashMapRef<'m, K, V, Identity>);

impl<K: Numbered + Hash + Eq, V: Numbered> InlineView<'_, K, V> {
    /// The value under `key`.
    pub fn get(&self, key: u64) -> Option<u64> {
        Some(self.0.get(&Wanted(key))?.number())
    }

    /// What two look-ups in turn return.
    pub fn get_twice(&self, key: u64) -> [Option<u64>; 2] {
        [self.get(key), self.get(key)]
    }

    /// Puts `value` under `key` and returns the value that it replaced.
    pub fn put(&self, key: u64, value: u64) -> Option<u64> {
        Some(self.0.insert(K::of(key), V::of(value))?.number())
    }

    /// Inserts if `key` is absent; otherwise returns the value there is.
    pub fn try_insert(&self, key: u64, value: u64) -> Result<(), u64> {
        match self.0.try_insert(K::of(key), V::of(value)) {
            Ok(()) => Ok(()),
            Err(InsertError::Occupied(_, found)) => Err(found.number()),
            Err(_) => unreachable!("there is memory"),
        }
    }

    /// Adds one to the value under `key`, if it is there, and returns the sum.
    pub fn add_one(&self, key: u64) -> Option<u64> {
        let new = self.0.update(K::of(key), |old| V::of(old.number() + 1));
        Some(new?.number())
    }

    /// Removes `key` and returns the value.
    pub fn remove(&self, key: u64) -> Option<u64> {
        Some(self.0.remove(&Wanted(key))?.number())
    }

    /// The keys that an iteration yields, sorted.
    ///
    /// # Panics
    ///
    /// If a key or a value is torn.
    pub fn keys(&self) -> Vec<u64> {
        let whole = |(key, value): (K, V)| {
            value.number();
            key.number()
        };
        let mut keys: Vec<_> = self.0.iter().map(whole).collect();
        keys.sort_unstable();
        keys
    }

    /// Keeps the entries that `keep` accepts.
    pub fn retain(&self, mut keep: impl FnMut(u64, u64) -> bool) {
        self.0
            .retain(|key, value| keep(key.number(), value.number()));
    }

    /// Removes all entries.
    pub fn clear(&self) {
        self.0.clear();
    }
}
