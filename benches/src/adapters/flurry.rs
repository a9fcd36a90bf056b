use super::{Hasher, Session, Table, hasher};

pub struct Flurry(flurry::HashMap<u64, u64, Hasher>);

pub struct Pinned<'t>(flurry::HashMapRef<'t, u64, u64, Hasher>);

impl Table for Flurry {
    const NAME: &'static str = "flurry";
    const PACKAGE: &'static str = "flurry";

    type Session<'t> = Pinned<'t>;

    fn with_capacity(capacity: usize) -> Self {
        Self(flurry::HashMap::with_capacity_and_hasher(
            capacity,
            hasher(),
        ))
    }

    #[inline]
    fn pin(&self) -> Pinned<'_> {
        Pinned(self.0.pin())
    }
}

impl Session for Pinned<'_> {
    #[inline]
    fn get(&self, key: &u64) -> Option<u64> {
        self.0.get(key).copied()
    }

    #[inline]
    fn insert(&self, key: u64, value: u64) -> bool {
        self.0.insert(key, value).is_none()
    }

    #[inline]
    fn add(&self, key: u64, value: u64) -> bool {
        self.0.try_insert(key, value).is_ok()
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
        self.0
            .compute_if_present(&key, |_, value| Some(value + 1))
            .is_some()
    }
}
