use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use hashbrown::hash_map::Entry;

use super::{Hasher, Session, Table, hasher};

type Map = hashbrown::HashMap<u64, u64, Hasher>;

/// What one would write without a concurrent map. The lock is taken for each operation.
pub struct RwLockMap(RwLock<Map>);

impl RwLockMap {
    #[inline]
    fn read(&self) -> RwLockReadGuard<'_, Map> {
        self.0.read().unwrap_or_else(PoisonError::into_inner)
    }

    #[inline]
    fn write(&self) -> RwLockWriteGuard<'_, Map> {
        self.0.write().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Table for RwLockMap {
    const NAME: &'static str = "RwLock<hashbrown>";
    const PACKAGE: &'static str = "hashbrown";

    type Session<'t> = &'t Self;

    fn with_capacity(capacity: usize) -> Self {
        Self(RwLock::new(Map::with_capacity_and_hasher(
            capacity,
            hasher(),
        )))
    }

    #[inline]
    fn pin(&self) -> &Self {
        self
    }
}

impl Session for &RwLockMap {
    #[inline]
    fn get(&self, key: &u64) -> Option<u64> {
        self.read().get(key).copied()
    }

    #[inline]
    fn insert(&self, key: u64, value: u64) -> bool {
        self.write().insert(key, value).is_none()
    }

    #[inline]
    fn add(&self, key: u64, value: u64) -> bool {
        match self.write().entry(key) {
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
        self.write().remove(key).is_some()
    }

    #[inline]
    fn update(&self, key: u64) -> bool {
        self.write()
            .get_mut(&key)
            .map(|value| *value += 1)
            .is_some()
    }
}
