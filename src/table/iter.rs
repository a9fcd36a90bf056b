//! Iteration over a table.

use core::fmt;
use core::iter::FusedIterator;

use alloc::vec::{self, Vec};

use crate::engine::{Boxed, Sweep, Table};
use crate::reclaim::Guard;

/// All entries of a table, in no order that means anything.
///
/// Takes no lock and waits for nobody. Every entry that is there from the first call of `next` to
/// the last is yielded exactly once, even while the table grows; one that comes, goes or is
/// replaced meanwhile is yielded at most once, with either value. A key that is removed and inserted
/// again is another entry.
pub struct Iter<'v, T> {
    engine: &'v Table<Boxed<T>>,
    guard: &'v Guard<'v>,
    sweep: Sweep<'v, T>,
}

impl<'v, T> Iter<'v, T> {
    pub(crate) fn new(engine: &'v Table<Boxed<T>>, guard: &'v Guard<'_>) -> Self {
        Self {
            engine,
            guard,
            sweep: Sweep::new(),
        }
    }
}

impl<'v, T> Iterator for Iter<'v, T> {
    type Item = &'v T;

    #[inline]
    fn next(&mut self) -> Option<&'v T> {
        Some(self.engine.sweep_next(self.guard, &mut self.sweep)?.value())
    }
}

impl<T> FusedIterator for Iter<'_, T> {}

impl<T> fmt::Debug for Iter<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Iter").finish_non_exhaustive()
    }
}

/// The entries that agree with a hash in the stored bits and the tag. Compare their keys.
pub struct IterHash<'v, T> {
    found: vec::IntoIter<&'v T>,
}

impl<'v, T> IterHash<'v, T> {
    pub(crate) fn new(found: Vec<&'v T>) -> Self {
        Self {
            found: found.into_iter(),
        }
    }
}

impl<'v, T> Iterator for IterHash<'v, T> {
    type Item = &'v T;

    fn next(&mut self) -> Option<&'v T> {
        self.found.next()
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.found.size_hint()
    }
}

impl<T> ExactSizeIterator for IterHash<'_, T> {}

impl<T> FusedIterator for IterHash<'_, T> {}

impl<T> fmt::Debug for IterHash<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("IterHash")
            .field("left", &self.len())
            .finish()
    }
}
