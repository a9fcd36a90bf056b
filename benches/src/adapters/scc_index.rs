use scc::hash_index::Entry;

use super::{Hasher, Session, Table, hasher};

pub struct SccIndex(scc::HashIndex<u64, u64, Hasher>);

pub struct Pinned<'t> {
    index: &'t scc::HashIndex<u64, u64, Hasher>,
    guard: scc::Guard,
}

impl Table for SccIndex {
    const NAME: &'static str = "scc::HashIndex";
    const PACKAGE: &'static str = "scc";
    // `OccupiedEntry::update` fills another slot, then marks the old one: a reader may pass between them.
    const MISSES_UPDATED: bool = true;

    type Session<'t> = Pinned<'t>;

    fn with_capacity(capacity: usize) -> Self {
        Self(scc::HashIndex::with_capacity_and_hasher(capacity, hasher()))
    }

    #[inline]
    fn pin(&self) -> Pinned<'_> {
        Pinned {
            index: &self.0,
            guard: scc::Guard::new(),
        }
    }
}

impl Session for Pinned<'_> {
    #[inline]
    fn get(&self, key: &u64) -> Option<u64> {
        self.index.peek(key, &self.guard).copied()
    }

    #[inline]
    fn insert(&self, key: u64, value: u64) -> bool {
        self.index.insert_sync(key, value).is_ok()
    }

    #[inline]
    fn add(&self, key: u64, value: u64) -> bool {
        self.insert(key, value)
    }

    #[inline]
    fn put(&self, key: u64, value: u64) -> bool {
        match self.index.entry_sync(key) {
            Entry::Occupied(mut entry) => {
                entry.update(value);
                false
            }
            Entry::Vacant(entry) => {
                entry.insert_entry(value);
                true
            }
        }
    }

    #[inline]
    fn remove(&self, key: &u64) -> bool {
        self.index.remove_sync(key)
    }

    #[inline]
    fn update(&self, key: u64) -> bool {
        match self.index.entry_sync(key) {
            Entry::Occupied(mut entry) => {
                let value = entry.get() + 1;
                entry.update(value);
                true
            }
            Entry::Vacant(_) => false,
        }
    }
}
