//! `NullsHashMap` as the models use it.

use nulls::{NullsHashMap, NullsHashMapRef};

use crate::entry::Entry;
use crate::hasher::Identity;
use crate::shared::{Pin, Shared};

/// A map that all threads of a model share.
#[derive(Clone)]
pub struct Map(Shared<NullsHashMap<u64, Entry, Identity>>);

impl Map {
    /// An empty map of one bucket that has been used.
    pub fn new() -> Self {
        let map = NullsHashMap::with_capacity_and_hasher(2, Identity::default());
        let map = Self(Shared::new(map));
        drop(map.pin());
        map
    }

    /// Enters a read section.
    pub fn pin(&self) -> MapView<'_> {
        MapView {
            view: self.0.pin(),
            map: &self.0,
        }
    }
}

impl Pin for Map {
    type View<'a> = MapView<'a>;

    fn pin(&self) -> Self::View<'_> {
        self.pin()
    }
}

impl Default for Map {
    fn default() -> Self {
        Self::new()
    }
}

/// A [`Map`] inside a read section.
pub struct MapView<'m> {
    view: NullsHashMapRef<'m, u64, Entry, Identity>,
    map: &'m Shared<NullsHashMap<u64, Entry, Identity>>,
}

impl MapView<'_> {
    fn entry(&self, key: u64, value: u64) -> Entry {
        Entry::new(key, value, self.map.drops())
    }

    /// The value under `key`.
    pub fn get(&self, key: u64) -> Option<u64> {
        self.view.get(&key).map(Entry::value)
    }

    /// Puts `value` under `key` and returns the value that it replaced.
    pub fn put(&self, key: u64, value: u64) -> Option<u64> {
        let old = self.view.insert(key, self.entry(key, value));
        old.map(Entry::value)
    }

    /// Inserts if `key` is absent; otherwise returns the value there is.
    pub fn try_insert(&self, key: u64, value: u64) -> Result<(), u64> {
        match self.view.try_insert(key, self.entry(key, value)) {
            Ok(_) => Ok(()),
            Err(nulls::InsertError::Occupied(_, found)) => Err(found.value()),
            Err(_) => unreachable!("there is memory"),
        }
    }

    /// Adds one to the value under `key`, if it is there, and returns the sum.
    pub fn add_one(&self, key: u64) -> Option<u64> {
        let new = self
            .view
            .update(key, |old| self.entry(key, old.value() + 1));
        new.map(Entry::value)
    }

    /// Removes `key` and returns the value.
    pub fn remove(&self, key: u64) -> Option<u64> {
        self.view.remove(&key).map(Entry::value)
    }
}
