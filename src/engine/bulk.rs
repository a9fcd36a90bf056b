//! Many operations at once: the lines that they will read are asked for before they are needed.
//!
//! A look-up in a table larger than the caches waits for one line, or for two, one after the other,
//! and little of the next ones is begun meanwhile. Here the home line of an operation is asked for
//! [`AHEAD`] operations before its turn, and, where entries lie outside of the line, the entries half
//! way: so many lines are on their way at any time.

use alloc::collections::VecDeque;

use super::Table;
use super::array::Array;
use super::hash::HashParts;
use super::layout::{Layout, leads_on};
use super::prefetch::prefetch;
use crate::reclaim::Reclaim;

/// How many operations before its turn the home line of an operation is asked for. A power of two.
const AHEAD: usize = 16;
const HALF_WAY: usize = AHEAD / 2;

impl<L: Layout> Table<L> {
    /// Asks for the home line of a hash.
    #[inline]
    pub(crate) fn prefetch<G: Reclaim>(&self, guard: &G, parts: HashParts) {
        if let Some(root) = self.root(guard) {
            prefetch_front(root, parts);
        }
    }

    /// Calls `visit` with every entry and its hash, in order.
    #[inline]
    pub(crate) fn visit_each<G: Reclaim, E>(
        &self,
        guard: &G,
        entries: impl Iterator<Item = (HashParts, E)>,
        mut visit: impl FnMut(HashParts, E),
    ) {
        let mut ahead = VecDeque::with_capacity(AHEAD);
        for (parts, entry) in entries {
            if ahead.len() == AHEAD
                && let Some((parts, entry)) = ahead.pop_front()
            {
                visit(parts, entry);
            }
            self.prefetch(guard, parts);
            ahead.push_back((parts, entry));
        }
        for (parts, entry) in ahead {
            visit(parts, entry);
        }
    }
}

/// Calls `visit` with every number below `count` and its hash, in order. The lines asked for are
/// those of `array`; wrong ones, if their buckets have moved.
#[inline]
pub(super) fn visit_many<L: Layout>(
    array: &Array<L>,
    count: usize,
    mut parts: impl FnMut(usize) -> HashParts,
    mut visit: impl FnMut(usize, HashParts),
) {
    let mut ring = [HashParts::new(0, 0); AHEAD];
    for (number, place) in ring.iter_mut().enumerate().take(count) {
        *place = parts(number);
        prefetch_front(array, *place);
    }
    for parts in ring.iter().take(HALF_WAY.min(count)) {
        prefetch_behind(array, *parts);
    }
    for number in 0..count {
        if number + HALF_WAY < count {
            prefetch_behind(array, ring[(number + HALF_WAY) % AHEAD]);
        }
        let place = &mut ring[number % AHEAD];
        visit(number, *place);
        if number + AHEAD < count {
            *place = parts(number + AHEAD);
            prefetch_front(array, *place);
        }
    }
}

#[inline]
fn prefetch_front<L: Layout>(array: &Array<L>, parts: HashParts) {
    let front = array.front(parts.bits.home(array.mask()));
    prefetch(front.home);
    if L::LINES > 1 {
        prefetch(front.last);
    }
}

/// Asks for what a home line leads to, which should have come by now: the entries behind matching
/// tags, and the first overflow line.
#[inline]
fn prefetch_behind<L: Layout>(array: &Array<L>, parts: HashParts) {
    let front = array.front(parts.bits.home(array.mask()));
    let meta = front.home.meta_hint();
    if L::INDIRECT {
        for slot in meta.matches(parts.tag, L::SLOTS) {
            L::prefetch(&front.home.slots, slot);
        }
    }
    if meta.has_link() && leads_on::<L>(meta, parts.tag) {
        prefetch(front.last.link_hint());
    }
}
