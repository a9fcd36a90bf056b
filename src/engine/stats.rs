//! A walk over the whole table that counts.

use core::fmt;

use super::array::Array;
use super::layout::Layout;
use super::{Cursor, Table};
use crate::reclaim::Reclaim;

/// What a table is made of at the moment, by a walk over all its buckets.
///
/// Under writers the figures are of no single instant.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Stats {
    /// Entries met.
    pub entries: usize,
    /// Buckets of the root array.
    pub buckets: usize,
    /// Buckets that have at least one overflow line, so that a miss in them reads more than one
    /// line.
    pub linked_buckets: usize,
    /// Lines of the longest chain.
    pub longest_chain: usize,
    /// Overflow lines allocated, in use or not.
    pub overflow_lines: usize,
    /// Bytes of arrays and overflow lines, without the entries' own nodes.
    pub table_bytes: usize,
    /// Whether entries are moving to a larger array.
    pub migrating: bool,
}

impl fmt::Display for Stats {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} entries in {} buckets, {} of them linked (longest chain {} lines), {} overflow lines, {} table bytes{}",
            self.entries,
            self.buckets,
            self.linked_buckets,
            self.longest_chain,
            self.overflow_lines,
            self.table_bytes,
            if self.migrating { ", migrating" } else { "" },
        )
    }
}

impl<L: Layout> Table<L> {
    /// Walks the table. Takes no lock of a bucket.
    pub(crate) fn stats<G: Reclaim>(&self, guard: &G) -> Stats {
        let mut stats = Stats::default();
        let mut next = self.root(guard);
        stats.buckets = next.map_or(0, Array::buckets);
        while let Some(array) = next {
            stats.overflow_lines += array.pool.usage().0;
            stats.table_bytes += array.bytes();
            next = array.next();
            stats.migrating |= next.is_some();
        }
        let mut cursor = Cursor::start();
        let mut entries = 0;
        let mut lines = 0;
        loop {
            let step = self.read_step(guard, &mut cursor, |line| {
                if let Some((_, meta)) = line {
                    entries += meta.occupied(L::SLOTS).len();
                    lines += 1;
                } else {
                    (entries, lines) = (0, 0);
                }
                Ok(())
            });
            if step.is_none() {
                return stats;
            }
            stats.entries += entries;
            stats.linked_buckets += usize::from(lines > L::LINES);
            stats.longest_chain = stats.longest_chain.max(lines);
        }
    }
}
