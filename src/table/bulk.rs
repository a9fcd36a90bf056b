//! Many hashes at once.

use super::{NullsHashTableRef, assert_as_many, out_of_memory};
use crate::engine::Node;
use crate::reclaim::Pin;

impl<T, G: Pin> NullsHashTableRef<'_, T, G> {
    /// Asks the processor to fetch the line that [`find`](Self::find) of this hash reads first. Returns
    /// at once; pays if there is something else to do before the look-up.
    #[inline]
    pub fn prefetch(&self, hash: u64) {
        let engine = self.engine();
        engine.prefetch(self.guard(), engine.parts(hash));
    }

    /// For each of several hashes the first entry that `eq` accepts, put into `out`. `eq` is given the
    /// index of the hash and an entry.
    ///
    /// Each is looked up as by [`find`](Self::find), but their cache lines are fetched at the same
    /// time: in a table larger than the caches that is several times as fast as one after the other.
    ///
    /// # Panics
    ///
    /// If `hashes` and `out` are not of one length.
    ///
    /// ```
    /// let table = nulls::NullsHashTable::new();
    /// let t = table.pin();
    /// t.insert_many((0..100_u64).map(|i| (i * 7, i)));
    /// let mut found = [None; 3];
    /// t.find_many_into(&[0, 7, 8], |_, _| true, &mut found);
    /// assert_eq!(found, [Some(&0), Some(&1), None]);
    /// ```
    pub fn find_many_into<'v>(
        &'v self,
        hashes: &[u64],
        eq: impl FnMut(usize, &T) -> bool,
        out: &mut [Option<&'v T>],
    ) {
        assert_as_many(hashes, out);
        let (engine, guard) = (self.engine(), self.guard());
        let parts = |i: usize| engine.parts(hashes[i]);
        engine.find_many(guard, hashes.len(), parts, eq, |i, found| {
            out[i] = found.map(Node::value);
        });
    }

    /// Inserts several entries under their hashes, each as by [`insert`](Self::insert). Their cache
    /// lines are fetched at the same time.
    pub fn insert_many(&self, entries: impl IntoIterator<Item = (u64, T)>) {
        let (engine, guard) = (self.engine(), self.guard());
        let nodes = entries.into_iter().map(|(hash, value)| {
            let parts = engine.parts(hash);
            let Ok(node) = Node::new(parts, value) else {
                out_of_memory::<T>()
            };
            (parts, node)
        });
        engine.visit_each(guard, nodes, |parts, node| {
            if engine.insert(guard, parts, node).is_err() {
                out_of_memory::<T>()
            }
        });
    }

    /// Removes for each of several hashes the first entry that `eq` accepts, and returns how many there
    /// were. `eq` is given the index of the hash and an entry.
    ///
    /// ```
    /// let table = nulls::NullsHashTable::new();
    /// let t = table.pin();
    /// t.insert_many([(1, "a"), (2, "b")]);
    /// assert_eq!(t.remove_many(&[2, 3], |_, _| true), 1);
    /// ```
    pub fn remove_many(&self, hashes: &[u64], eq: impl FnMut(usize, &T) -> bool) -> usize {
        let (engine, guard) = (self.engine(), self.guard());
        let parts = |i: usize| engine.parts(hashes[i]);
        engine.remove_many(guard, hashes.len(), parts, eq)
    }
}
