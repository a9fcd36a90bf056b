use super::{Hasher, Session, Table, hasher};

pub struct SccMap(scc::HashMap<u64, u64, Hasher>);

impl Table for SccMap {
    const NAME: &'static str = "scc::HashMap";
    const PACKAGE: &'static str = "scc";

    type Session<'t> = &'t Self;

    fn with_capacity(capacity: usize) -> Self {
        Self(scc::HashMap::with_capacity_and_hasher(capacity, hasher()))
    }

    #[inline]
    fn pin(&self) -> &Self {
        self
    }
}

impl Session for &SccMap {
    #[inline]
    fn get(&self, key: &u64) -> Option<u64> {
        self.0.read_sync(key, |_, value| *value)
    }

    #[inline]
    fn insert(&self, key: u64, value: u64) -> bool {
        self.0.insert_sync(key, value).is_ok()
    }

    #[inline]
    fn add(&self, key: u64, value: u64) -> bool {
        self.insert(key, value)
    }

    #[inline]
    fn put(&self, key: u64, value: u64) -> bool {
        self.0.upsert_sync(key, value).is_none()
    }

    #[inline]
    fn remove(&self, key: &u64) -> bool {
        self.0.remove_sync(key).is_some()
    }

    #[inline]
    fn update(&self, key: u64) -> bool {
        self.0.update_sync(&key, |_, value| *value += 1).is_some()
    }
}
