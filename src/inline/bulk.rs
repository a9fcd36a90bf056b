//! Many keys at once.

use core::hash::{BuildHasher, Hash};

use equivalent::Equivalent;

use super::InlineHashMapRef;
use super::view::out_of_memory;
use crate::engine::{AllocError, Entry, HashParts, Plain};
use crate::prehashed::Prehashed;
use crate::reclaim::Pin;
use crate::table::assert_as_many;

impl<K: Plain + Hash + Eq, V: Plain, S: BuildHasher, G: Pin> InlineHashMapRef<'_, K, V, S, G> {
    /// The values under several keys.
    ///
    /// Each is looked up as by [`get`](Self::get), but their cache lines are fetched at the same time:
    /// in a map larger than the caches that is several times as fast as one after the other.
    ///
    /// ```
    /// let map = nulls::InlineHashMap::from([(1, 10), (2, 20)]);
    /// assert_eq!(map.pin().get_many([&1, &2, &3]), [Some(10), Some(20), None]);
    /// ```
    pub fn get_many<Q, const N: usize>(&self, keys: [&Q; N]) -> [Option<V>; N]
    where
        Q: Hash + Equivalent<K> + ?Sized,
    {
        let mut found = [None; N];
        let parts = |i: usize| self.engine().parts_of(keys[i]);
        self.find_many(parts, |i| keys[i], &mut found);
        found
    }

    /// The values under several keys, put into `out`; otherwise as [`get_many`](Self::get_many).
    ///
    /// # Panics
    ///
    /// If `keys` and `out` are not of one length.
    ///
    /// ```
    /// let map: nulls::InlineHashMap<u32, u32> = (0..100).map(|i| (i, i * i)).collect();
    /// let keys: Vec<u32> = (90..110).collect();
    /// let mut squares = vec![None; keys.len()];
    /// map.pin().get_many_into(&keys, &mut squares);
    /// assert_eq!(squares[9], Some(9801));
    /// assert_eq!(squares[10], None);
    /// ```
    pub fn get_many_into<Q: Hash + Equivalent<K>>(&self, keys: &[Q], out: &mut [Option<V>]) {
        assert_as_many(keys, out);
        let parts = |i: usize| self.engine().parts_of(&keys[i]);
        self.find_many(parts, |i| &keys[i], out);
    }

    /// As [`get_many_into`](Self::get_many_into), with the hashes in hand.
    ///
    /// # Panics
    ///
    /// If the three are not of one length.
    pub fn get_many_hashed_into<Q: Equivalent<K>>(
        &self,
        hashes: &[Prehashed<S>],
        keys: &[Q],
        out: &mut [Option<V>],
    ) {
        assert_as_many(hashes, keys);
        assert_as_many(keys, out);
        let parts = |i: usize| self.engine().parts(hashes[i].hash);
        self.find_many(parts, |i| &keys[i], out);
    }

    #[inline]
    fn find_many<'k, Q: Equivalent<K> + ?Sized + 'k>(
        &self,
        parts: impl FnMut(usize) -> HashParts,
        key: impl Fn(usize) -> &'k Q,
        out: &mut [Option<V>],
    ) {
        let (engine, guard) = (self.engine(), self.guard());
        let count = out.len();
        let eq = |i: usize, k: &K| key(i).equivalent(k);
        engine.find_many(guard, count, parts, eq, |i, found| out[i] = found);
    }

    /// Inserts several entries, each as by [`insert`](Self::insert), and returns how many keys were
    /// absent. Their cache lines are fetched at the same time.
    ///
    /// ```
    /// let map = nulls::InlineHashMap::from([(1, 10)]);
    /// assert_eq!(map.pin().insert_many([(1, 11), (2, 20)]), 1);
    /// ```
    pub fn insert_many(&self, entries: impl IntoIterator<Item = (K, V)>) -> usize {
        let parts = |key: &K| self.engine().parts_of(key);
        let entries = entries.into_iter();
        self.insert_each(entries.map(|(key, value)| (parts(&key), (key, value))))
    }

    /// As [`insert_many`](Self::insert_many), with the hashes in hand.
    pub fn insert_many_hashed(
        &self,
        entries: impl IntoIterator<Item = (Prehashed<S>, K, V)>,
    ) -> usize {
        let parts = |hash: Prehashed<S>| self.engine().parts(hash.hash);
        let entries = entries.into_iter();
        self.insert_each(entries.map(|(hash, key, value)| (parts(hash), (key, value))))
    }

    fn insert_each(&self, entries: impl Iterator<Item = (HashParts, (K, V))>) -> usize {
        let (engine, guard) = (self.engine(), self.guard());
        let mut absent = 0;
        engine.visit_each(guard, entries, |parts, (key, value)| {
            let old = engine
                .upsert(guard, parts, Entry { key, value }, |k| *k == key)
                .unwrap_or_else(|AllocError| out_of_memory());
            absent += usize::from(old.is_none());
        });
        absent
    }

    /// Removes the entries under several keys, each as by [`remove`](Self::remove), and returns how
    /// many there were. Their cache lines are fetched at the same time.
    ///
    /// ```
    /// let map = nulls::InlineHashMap::from([(1, 10), (2, 20)]);
    /// assert_eq!(map.pin().remove_many(&[2, 3]), 1);
    /// ```
    pub fn remove_many<Q: Hash + Equivalent<K>>(&self, keys: &[Q]) -> usize {
        self.remove_each(|i| self.engine().parts_of(&keys[i]), keys)
    }

    /// As [`remove_many`](Self::remove_many), with the hashes in hand.
    ///
    /// # Panics
    ///
    /// If the two are not of one length.
    pub fn remove_many_hashed<Q: Equivalent<K>>(
        &self,
        hashes: &[Prehashed<S>],
        keys: &[Q],
    ) -> usize {
        assert_as_many(hashes, keys);
        self.remove_each(|i| self.engine().parts(hashes[i].hash), keys)
    }

    fn remove_each<Q: Equivalent<K>>(
        &self,
        parts: impl FnMut(usize) -> HashParts,
        keys: &[Q],
    ) -> usize {
        let (engine, guard) = (self.engine(), self.guard());
        let eq = |i: usize, k: &K| keys[i].equivalent(k);
        engine.remove_many(guard, keys.len(), parts, eq)
    }
}
