//! Iteration over an inline map.

use core::fmt;
use core::hash::{BuildHasher, Hash};
use core::iter::FusedIterator;
use std::collections::hash_map::RandomState;

use crate::engine::{Inline, InlineSweep, Plain, Table};
use crate::reclaim::Guard;

/// All entries of an inline map by copy, in no order that means anything; made by
/// [`iter`](super::InlineHashMapRef::iter).
///
/// Takes no lock and waits for nobody. Every entry that is there from the first call of `next` to
/// the last is yielded exactly once, even while the map grows; one that comes, goes or is updated
/// meanwhile is yielded at most once, with either value. A key that is removed and inserted again is
/// another entry.
pub struct Iter<'v, K, V, S = RandomState> {
    engine: &'v Table<Inline<K, V, S>>,
    guard: &'v Guard<'v>,
    sweep: InlineSweep<K, V>,
}

impl<'v, K, V, S> Iter<'v, K, V, S> {
    pub(super) fn new(engine: &'v Table<Inline<K, V, S>>, guard: &'v Guard<'_>) -> Self {
        Self {
            engine,
            guard,
            sweep: InlineSweep::new(),
        }
    }
}

impl<K: Plain + Hash, V: Plain, S: BuildHasher> Iterator for Iter<'_, K, V, S> {
    type Item = (K, V);

    #[inline]
    fn next(&mut self) -> Option<(K, V)> {
        let (_, entry) = self.engine.sweep_inline(self.guard, &mut self.sweep)?;
        Some((entry.key, entry.value))
    }
}

impl<K: Plain + Hash, V: Plain, S: BuildHasher> FusedIterator for Iter<'_, K, V, S> {}

impl<K, V, S> fmt::Debug for Iter<'_, K, V, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Iter").finish_non_exhaustive()
    }
}

/// All keys of an inline map, as [`Iter`] meets them.
#[derive(Debug)]
pub struct Keys<'v, K, V, S = RandomState> {
    pub(super) entries: Iter<'v, K, V, S>,
}

impl<K: Plain + Hash, V: Plain, S: BuildHasher> Iterator for Keys<'_, K, V, S> {
    type Item = K;

    #[inline]
    fn next(&mut self) -> Option<K> {
        Some(self.entries.next()?.0)
    }
}

impl<K: Plain + Hash, V: Plain, S: BuildHasher> FusedIterator for Keys<'_, K, V, S> {}

/// All values of an inline map, as [`Iter`] meets them.
#[derive(Debug)]
pub struct Values<'v, K, V, S = RandomState> {
    pub(super) entries: Iter<'v, K, V, S>,
}

impl<K: Plain + Hash, V: Plain, S: BuildHasher> Iterator for Values<'_, K, V, S> {
    type Item = V;

    #[inline]
    fn next(&mut self) -> Option<V> {
        Some(self.entries.next()?.1)
    }
}

impl<K: Plain + Hash, V: Plain, S: BuildHasher> FusedIterator for Values<'_, K, V, S> {}
