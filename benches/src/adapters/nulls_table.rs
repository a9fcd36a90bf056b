use std::hash::BuildHasher;

use nulls::{NullsHashTable, NullsHashTableRef};

use super::{Hasher, Session, Table, hasher};

/// The table under hashes that its caller computes, with the map's hasher.
pub struct NullsTable {
    table: NullsHashTable<(u64, u64)>,
    hasher: Hasher,
}

pub struct Pinned<'t> {
    table: NullsHashTableRef<'t, (u64, u64)>,
    hasher: &'t Hasher,
}

impl Table for NullsTable {
    const NAME: &'static str = "nulls-table";
    const PACKAGE: &'static str = "nulls";

    type Session<'t> = Pinned<'t>;

    fn with_capacity(capacity: usize) -> Self {
        Self {
            table: NullsHashTable::with_capacity(capacity),
            hasher: hasher(),
        }
    }

    #[inline]
    fn pin(&self) -> Pinned<'_> {
        Pinned {
            table: self.table.pin(),
            hasher: &self.hasher,
        }
    }
}

impl Session for Pinned<'_> {
    #[inline]
    fn get(&self, key: &u64) -> Option<u64> {
        let hash = self.hasher.hash_one(key);
        let entry = self.table.find(hash, |entry| entry.0 == *key);
        entry.map(|entry| entry.1)
    }

    #[inline]
    fn insert(&self, key: u64, value: u64) -> bool {
        self.add(key, value)
    }

    #[inline]
    fn add(&self, key: u64, value: u64) -> bool {
        let hash = self.hasher.hash_one(key);
        let added = self
            .table
            .try_insert(hash, (key, value), |entry| entry.0 == key);
        added.is_ok()
    }

    #[inline]
    fn put(&self, key: u64, value: u64) -> bool {
        let hash = self.hasher.hash_one(key);
        let same = |entry: &(u64, u64)| entry.0 == key;
        self.table.replace(hash, same, (key, value)).is_err() && self.add(key, value)
    }

    #[inline]
    fn remove(&self, key: &u64) -> bool {
        let hash = self.hasher.hash_one(key);
        self.table.remove(hash, |entry| entry.0 == *key).is_some()
    }

    #[inline]
    fn update(&self, key: u64) -> bool {
        let hash = self.hasher.hash_one(key);
        let same = |entry: &(u64, u64)| entry.0 == key;
        let Some(&(_, value)) = self.table.find(hash, same) else {
            return false;
        };
        self.table.replace(hash, same, (key, value + 1)).is_ok()
    }
}
