use nulls::{InlineHashMap, InlineHashMapRef};

use super::planted::planted;
use super::{Hasher, Session, Table, hasher};

pub struct NullsInline(InlineHashMap<u64, u64, Hasher>);

pub struct Pinned<'t>(InlineHashMapRef<'t, u64, u64, Hasher>);

impl Table for NullsInline {
    const NAME: &'static str = "nulls-inline";
    const PACKAGE: &'static str = "nulls";

    type Session<'t> = Pinned<'t>;

    fn with_capacity(capacity: usize) -> Self {
        Self(InlineHashMap::with_capacity_and_hasher(capacity, hasher()))
    }

    #[inline]
    fn pin(&self) -> Pinned<'_> {
        Pinned(self.0.pin())
    }
}

impl Session for Pinned<'_> {
    #[inline]
    fn get(&self, key: &u64) -> Option<u64> {
        planted(*key);
        self.0.get(key)
    }

    #[inline]
    fn insert(&self, key: u64, value: u64) -> bool {
        planted(key);
        self.0.insert(key, value).is_none()
    }

    #[inline]
    fn add(&self, key: u64, value: u64) -> bool {
        planted(key);
        self.0.try_insert(key, value).is_ok()
    }

    #[inline]
    fn put(&self, key: u64, value: u64) -> bool {
        self.insert(key, value)
    }

    #[inline]
    fn remove(&self, key: &u64) -> bool {
        planted(*key);
        self.0.remove(key).is_some()
    }

    #[inline]
    fn update(&self, key: u64) -> bool {
        planted(key);
        self.0.update(key, |&value| value + 1).is_some()
    }
}
