use dashmap::Entry;

use super::{Hasher, Session, Table, hasher};

pub struct DashMap(dashmap::DashMap<u64, u64, Hasher>);

impl Table for DashMap {
    const NAME: &'static str = "dashmap";
    const PACKAGE: &'static str = "dashmap";

    type Session<'t> = &'t Self;

    fn with_capacity(capacity: usize) -> Self {
        Self(dashmap::DashMap::with_capacity_and_hasher(
            capacity,
            hasher(),
        ))
    }

    #[inline]
    fn pin(&self) -> &Self {
        self
    }
}

impl Session for &DashMap {
    #[inline]
    fn get(&self, key: &u64) -> Option<u64> {
        self.0.get(key).map(|value| *value)
    }

    #[inline]
    fn insert(&self, key: u64, value: u64) -> bool {
        self.0.insert(key, value).is_none()
    }

    #[inline]
    fn add(&self, key: u64, value: u64) -> bool {
        match self.0.entry(key) {
            Entry::Vacant(entry) => {
                entry.insert(value);
                true
            }
            Entry::Occupied(_) => false,
        }
    }

    #[inline]
    fn put(&self, key: u64, value: u64) -> bool {
        self.insert(key, value)
    }

    #[inline]
    fn remove(&self, key: &u64) -> bool {
        self.0.remove(key).is_some()
    }

    #[inline]
    fn update(&self, key: u64) -> bool {
        self.0.get_mut(&key).map(|mut value| *value += 1).is_some()
    }
}
