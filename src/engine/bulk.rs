//! Many operations at once: the lines that they will read are asked for before the first is read.
//!
//! A look-up in a table larger than the caches waits for one line, or for two, one after the other.
//! Of a chunk of look-ups all home lines are fetched at the same time, then all nodes, and then they
//! are looked at; the chunk is small enough that nothing fetched has to go before it is used.

use alloc::vec::Vec;

use super::Table;
use super::hash::HashParts;
use super::layout::Layout;
use super::prefetch::prefetch;
use crate::reclaim::Reclaim;

/// Operations whose lines are fetched at the same time.
const CHUNK: usize = 32;

impl<L: Layout> Table<L> {
    /// Asks for the home line of a hash.
    #[inline]
    pub(crate) fn prefetch<G: Reclaim>(&self, guard: &G, parts: HashParts) {
        if let Some(root) = self.root(guard) {
            let front = root.front(parts.bits.home(root.mask()));
            prefetch(front.home);
            if L::LINES > 1 {
                prefetch(front.last);
            }
        }
    }

    /// Asks for what lies behind the matching tags of a home line, which should have come by now.
    #[inline]
    fn prefetch_entries<G: Reclaim>(&self, guard: &G, parts: HashParts) {
        if let Some(root) = self.root(guard) {
            let home = root.home(parts.bits);
            for slot in home.meta_hint().matches(parts.tag, L::SLOTS) {
                L::prefetch(&home.slots, slot);
            }
        }
    }

    /// Calls `visit` with every entry and its hash, in order, a chunk at a time.
    #[inline]
    pub(crate) fn in_chunks_of<G: Reclaim, E>(
        &self,
        guard: &G,
        entries: impl IntoIterator<Item = (HashParts, E)>,
        mut visit: impl FnMut(HashParts, E),
    ) {
        let mut entries = entries.into_iter();
        let mut chunk = Vec::with_capacity(CHUNK);
        loop {
            chunk.extend(entries.by_ref().take(CHUNK));
            for &(parts, _) in &chunk {
                self.prefetch(guard, parts);
            }
            if chunk.is_empty() {
                return;
            }
            for (parts, entry) in chunk.drain(..) {
                visit(parts, entry);
            }
        }
    }

    /// Calls `visit` with every number below `count` and its hash, in order, a chunk at a time.
    #[inline]
    pub(crate) fn in_chunks<G: Reclaim>(
        &self,
        guard: &G,
        count: usize,
        mut parts: impl FnMut(usize) -> HashParts,
        mut visit: impl FnMut(usize, HashParts),
    ) {
        let mut chunk = [HashParts::new(0, 0); CHUNK];
        for first in (0..count).step_by(CHUNK) {
            let chunk = &mut chunk[..CHUNK.min(count - first)];
            for (place, number) in chunk.iter_mut().zip(first..) {
                *place = parts(number);
                self.prefetch(guard, *place);
            }
            if L::INDIRECT {
                for &parts in &*chunk {
                    self.prefetch_entries(guard, parts);
                }
            }
            for (&parts, number) in chunk.iter().zip(first..) {
                visit(number, parts);
            }
        }
    }
}
