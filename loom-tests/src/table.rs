//! `NullsHashTable` as the models use it: keys are their own hashes.
//!
//! Under loom a line has two slots, a table without capacity begins with one bucket, and one with
//! `Growth::Auto` starts a migration when an insertion that found its home line full leaves more
//! than two entries a bucket. From then on each writing call moves one bucket first.

use nulls::{Growth, InsertError, NullsHashTable, NullsHashTableRef};

use crate::entry::Entry;
use crate::shared::{Pin, Shared};

/// A table that all threads of a model share.
#[derive(Clone)]
pub struct Table(Shared<NullsHashTable<Entry>>);

impl Table {
    /// A table without an array.
    pub fn new() -> Self {
        Self(Shared::new(NullsHashTable::new()))
    }

    /// A table of so many buckets (a power of two) that never grows.
    pub fn fixed(buckets: usize) -> Self {
        Self::with_buckets(buckets, Growth::Fixed)
    }

    /// A table of so many buckets (a power of two) at first.
    pub fn growing(buckets: usize) -> Self {
        Self::with_buckets(buckets, Growth::Auto)
    }

    fn with_buckets(buckets: usize, growth: Growth) -> Self {
        let builder = NullsHashTable::builder().growth(growth);
        Self(Shared::new(builder.capacity(2 * buckets).build()))
    }

    /// Inserts keys in this order, each its own value.
    #[must_use]
    pub fn with(self, keys: impl IntoIterator<Item = u64>) -> Self {
        let t = self.pin();
        for key in keys {
            t.insert(key, key);
        }
        drop(t);
        self
    }

    /// Removes keys.
    #[must_use]
    pub fn without(self, keys: impl IntoIterator<Item = u64>) -> Self {
        let t = self.pin();
        for key in keys {
            assert_eq!(t.remove(key), Some(key));
        }
        drop(t);
        self
    }

    /// Enters a read section.
    pub fn pin(&self) -> View<'_> {
        View {
            view: self.0.pin(),
            table: &self.0,
        }
    }

    /// As the table's.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// As the table's.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// As the table's.
    pub fn stats(&self) -> nulls::Stats {
        self.0.stats()
    }

    /// As the table's.
    pub fn reserve(&self, additional: usize) {
        self.0.reserve(additional);
    }
}

impl Pin for Table {
    type View<'a> = View<'a>;

    fn pin(&self) -> Self::View<'_> {
        self.pin()
    }
}

impl Default for Table {
    fn default() -> Self {
        Self::new()
    }
}

/// A [`Table`] inside a read section.
pub struct View<'t> {
    view: NullsHashTableRef<'t, Entry>,
    table: &'t Shared<NullsHashTable<Entry>>,
}

impl View<'_> {
    fn entry(&self, key: u64, value: u64) -> Entry {
        Entry::new(key, value, self.table.drops())
    }

    /// The value under `key`.
    pub fn get(&self, key: u64) -> Option<u64> {
        Some(self.view.find(key, |entry| entry.key() == key)?.value())
    }

    /// Inserts, whether `key` is there or not.
    pub fn insert(&self, key: u64, value: u64) {
        self.view.insert(key, self.entry(key, value));
    }

    /// Inserts if `key` is absent; otherwise returns the value there is.
    pub fn try_insert(&self, key: u64, value: u64) -> Result<(), u64> {
        let entry = self.entry(key, value);
        match self.view.try_insert(key, entry, |entry| entry.key() == key) {
            Ok(_) => Ok(()),
            Err(InsertError::Occupied(_, found)) => Err(found.value()),
            Err(_) => unreachable!("there is memory"),
        }
    }

    /// Replaces the value under `key` and returns it, if `key` is there.
    pub fn replace(&self, key: u64, value: u64) -> Option<u64> {
        let entry = self.entry(key, value);
        let old = self.view.replace(key, |entry| entry.key() == key, entry);
        Some(old.ok()?.value())
    }

    /// Removes `key` and returns the value.
    pub fn remove(&self, key: u64) -> Option<u64> {
        Some(self.view.remove(key, |entry| entry.key() == key)?.value())
    }

    /// Whether tags alone say that `key` may be there.
    pub fn maybe_contains(&self, key: u64) -> bool {
        self.view.maybe_contains(key)
    }

    /// How many entries an iteration over the hash of `key` yields that are of `key`.
    pub fn count(&self, key: u64) -> usize {
        let entries = self.view.iter_hash(key);
        entries.filter(|entry| entry.key() == key).count()
    }

    /// What an iteration yields, sorted.
    pub fn keys(&self) -> Vec<u64> {
        let mut keys: Vec<_> = self.view.iter().map(Entry::key).collect();
        keys.sort_unstable();
        keys
    }

    /// Keeps the keys that `keep` accepts.
    pub fn retain(&self, mut keep: impl FnMut(u64) -> bool) {
        self.view.retain(|entry| keep(entry.key()));
    }

    /// Removes all entries.
    pub fn clear(&self) {
        self.view.clear();
    }
}

/// Another key with the tag of `key` and its bucket in every table of up to eight buckets.
pub fn alike(key: u64) -> u64 {
    let tag = |key: u64| key.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56;
    (1..)
        .map(|n| key + 8 * n)
        .find(|&other| tag(other) == tag(key))
        .expect("tags are few")
}
