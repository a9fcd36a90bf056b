//! Many keys at once.

use core::hash::{BuildHasher, Hash};

use equivalent::Equivalent;

use super::NullsHashMapRef;
use super::modify::same_key;
use crate::engine::{HashParts, Node};
use crate::prehashed::Prehashed;
use crate::reclaim::Pin;
use crate::table::{assert_as_many, out_of_memory};

impl<K: Hash + Eq, V, S: BuildHasher, G: Pin> NullsHashMapRef<'_, K, V, S, G> {
    /// The values under several keys.
    ///
    /// Each is looked up as by [`get`](Self::get), but their cache lines are fetched at the same time:
    /// in a map larger than the caches that is several times as fast as one after the other.
    ///
    /// ```
    /// let map = nulls::NullsHashMap::from([(1, "one"), (2, "two")]);
    /// assert_eq!(map.pin().get_many([&1, &2, &3]), [Some(&"one"), Some(&"two"), None]);
    /// ```
    pub fn get_many<Q, const N: usize>(&self, keys: [&Q; N]) -> [Option<&V>; N]
    where
        Q: Hash + Equivalent<K> + ?Sized,
    {
        let mut found = [None; N];
        self.find_many(|i| self.map.parts(keys[i]), |i| keys[i], &mut found);
        found
    }

    /// The values under several keys, put into `out`; otherwise as [`get_many`](Self::get_many).
    ///
    /// # Panics
    ///
    /// If `keys` and `out` are not of one length.
    ///
    /// ```
    /// let map: nulls::NullsHashMap<u32, u32> = (0..100).map(|i| (i, i * i)).collect();
    /// let m = map.pin();
    /// let keys: Vec<u32> = (90..110).collect();
    /// let mut squares = vec![None; keys.len()];
    /// m.get_many_into(&keys, &mut squares);
    /// assert_eq!(squares[9], Some(&9801));
    /// assert_eq!(squares[10], None);
    /// ```
    pub fn get_many_into<'v, Q>(&'v self, keys: &[Q], out: &mut [Option<&'v V>])
    where
        Q: Hash + Equivalent<K>,
    {
        assert_as_many(keys, out);
        self.find_many(|i| self.map.parts(&keys[i]), |i| &keys[i], out);
    }

    /// As [`get_many_into`](Self::get_many_into), with the hashes in hand.
    ///
    /// # Panics
    ///
    /// If the three are not of one length.
    pub fn get_many_hashed_into<'v, Q>(
        &'v self,
        hashes: &[Prehashed<S>],
        keys: &[Q],
        out: &mut [Option<&'v V>],
    ) where
        Q: Equivalent<K>,
    {
        assert_as_many(hashes, keys);
        assert_as_many(keys, out);
        let parts = |i: usize| self.engine().parts(hashes[i].hash);
        self.find_many(parts, |i| &keys[i], out);
    }

    #[inline]
    fn find_many<'v, 'k, Q: Equivalent<K> + ?Sized + 'k>(
        &'v self,
        parts: impl FnMut(usize) -> HashParts,
        key: impl Fn(usize) -> &'k Q,
        out: &mut [Option<&'v V>],
    ) {
        let (engine, guard) = (self.engine(), self.guard());
        let count = out.len();
        let eq = |i: usize, (k, _): &(K, V)| key(i).equivalent(k);
        engine.find_many(guard, count, parts, eq, |i, found| {
            out[i] = found.map(|node| &node.value().1);
        });
    }

    /// Inserts several entries, each as by [`insert`](Self::insert), and returns how many keys were
    /// absent. Their cache lines are fetched at the same time.
    ///
    /// ```
    /// let map = nulls::NullsHashMap::from([(1, "one")]);
    /// let m = map.pin();
    /// assert_eq!(m.insert_many([(1, "uno"), (2, "due")]), 1);
    /// ```
    pub fn insert_many(&self, entries: impl IntoIterator<Item = (K, V)>) -> usize {
        let entries = entries.into_iter();
        self.insert_each(entries.map(|(key, value)| (self.map.parts(&key), key, value)))
    }

    /// As [`insert_many`](Self::insert_many), with the hashes in hand.
    pub fn insert_many_hashed(
        &self,
        entries: impl IntoIterator<Item = (Prehashed<S>, K, V)>,
    ) -> usize {
        let entries = entries.into_iter();
        let parts = |hash: Prehashed<S>| self.engine().parts(hash.hash);
        self.insert_each(entries.map(|(hash, key, value)| (parts(hash), key, value)))
    }

    fn insert_each(&self, entries: impl Iterator<Item = (HashParts, K, V)>) -> usize {
        let (engine, guard) = (self.engine(), self.guard());
        let nodes = entries.map(|(parts, key, value)| {
            let Ok(node) = Node::new(parts, (key, value)) else {
                out_of_memory::<(K, V)>()
            };
            (parts, node)
        });
        let mut absent = 0;
        engine.visit_each(guard, nodes, |parts, node| {
            match engine.upsert(guard, parts, node, same_key) {
                Ok(old) => absent += usize::from(old.is_none()),
                Err(_) => out_of_memory::<(K, V)>(),
            }
        });
        absent
    }

    /// Removes the entries under several keys, each as by [`remove`](Self::remove), and returns how
    /// many there were. Their cache lines are fetched at the same time.
    ///
    /// ```
    /// let map = nulls::NullsHashMap::from([(1, "one"), (2, "two")]);
    /// assert_eq!(map.pin().remove_many(&[2, 3]), 1);
    /// ```
    pub fn remove_many<Q: Hash + Equivalent<K>>(&self, keys: &[Q]) -> usize {
        self.remove_each(|i| self.map.parts(&keys[i]), keys)
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
        let eq = |i: usize, (k, _): &(K, V)| keys[i].equivalent(k);
        engine.remove_many(guard, keys.len(), parts, eq)
    }
}
