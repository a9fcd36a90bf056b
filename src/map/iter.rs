//! Iteration over a map.

use core::fmt;
use core::iter::FusedIterator;

use crate::table;

/// All entries of a map, in no order that means anything; made by
/// [`iter`](super::NullsHashMapRef::iter).
///
/// Takes no lock and waits for nobody. Every entry that is there from the first call of `next` to
/// the last is yielded exactly once, even while the map grows; one that comes, goes or is replaced
/// meanwhile is yielded at most once, with either value. A key that is removed and inserted again is
/// another entry.
pub struct Iter<'v, K, V> {
    pub(super) entries: table::Iter<'v, (K, V)>,
}

impl<'v, K, V> Iterator for Iter<'v, K, V> {
    type Item = (&'v K, &'v V);

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        let (key, value) = self.entries.next()?;
        Some((key, value))
    }
}

impl<K, V> FusedIterator for Iter<'_, K, V> {}

impl<K, V> fmt::Debug for Iter<'_, K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Iter").finish_non_exhaustive()
    }
}

/// All keys of a map, as [`Iter`] meets them.
pub struct Keys<'v, K, V> {
    pub(super) entries: Iter<'v, K, V>,
}

impl<'v, K, V> Iterator for Keys<'v, K, V> {
    type Item = &'v K;

    #[inline]
    fn next(&mut self) -> Option<&'v K> {
        Some(self.entries.next()?.0)
    }
}

impl<K, V> FusedIterator for Keys<'_, K, V> {}

impl<K, V> fmt::Debug for Keys<'_, K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Keys").finish_non_exhaustive()
    }
}

/// All values of a map, as [`Iter`] meets them.
pub struct Values<'v, K, V> {
    pub(super) entries: Iter<'v, K, V>,
}

impl<'v, K, V> Iterator for Values<'v, K, V> {
    type Item = &'v V;

    #[inline]
    fn next(&mut self) -> Option<&'v V> {
        Some(self.entries.next()?.1)
    }
}

impl<K, V> FusedIterator for Values<'_, K, V> {}

impl<K, V> fmt::Debug for Values<'_, K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Values").finish_non_exhaustive()
    }
}
