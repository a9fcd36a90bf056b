//! Looking entries up and iterating over them: no lock, no store, no waiting.

use core::fmt;

use alloc::vec::Vec;

use super::super::bulk::visit_many;
use super::super::chain::{End, Walk};
use super::super::hash::{HashParts, StoredBits};
use super::super::layout::leads_on;
use super::super::line::Line;
use super::super::meta::Meta;
use super::super::sweep::{Cursor, Disturbed, Interval, read_chain};
use super::super::{Array, Table};
use super::{Boxed, Node, SLOTS, load};
use crate::reclaim::Reclaim;

impl<T> Table<Boxed<T>> {
    /// The first entry of this hash that `eq` accepts.
    ///
    /// Takes no lock, writes no shared memory, waits for nobody. One line for a miss, two for a
    /// hit, if the bucket has no overflow line.
    #[inline]
    pub(crate) fn find<'g, G: Reclaim>(
        &self,
        guard: &'g G,
        parts: HashParts,
        eq: impl FnMut(&T) -> bool,
    ) -> Option<&'g Node<T>> {
        find_from(guard, self.root(guard)?, parts, eq)
    }

    /// Many look-ups, their lines fetched at the same time: calls `found` with what each of `count`
    /// finds, in order.
    #[inline]
    pub(crate) fn find_many<'g, G: Reclaim>(
        &self,
        guard: &'g G,
        count: usize,
        parts: impl FnMut(usize) -> HashParts,
        mut eq: impl FnMut(usize, &T) -> bool,
        mut found: impl FnMut(usize, Option<&'g Node<T>>),
    ) where
        T: 'g,
    {
        let Some(root) = self.root(guard) else {
            return (0..count).for_each(|number| found(number, None));
        };
        visit_many(root, count, parts, |number, parts| {
            let node = find_from(guard, root, parts, |entry| eq(number, entry));
            found(number, node);
        });
    }

    /// Whether an entry of this hash may be there, by tags alone: `false` is certain.
    #[inline]
    pub(crate) fn maybe_contains<G: Reclaim>(&self, guard: &G, parts: HashParts) -> bool {
        let Some(array) = self.root(guard) else {
            return false;
        };
        let meta = array.home(parts.bits).meta_first();
        let has_tag = |meta: Meta| !meta.matches(parts.tag, SLOTS).is_empty();
        has_tag(meta)
            || leads_on::<Boxed<T>>(meta, parts.tag)
                && find_beyond(array, meta, parts, &mut |_, meta| {
                    has_tag(meta).then_some(())
                })
                .is_some()
    }

    /// The entries that agree with `parts` in stored bits and tag.
    pub(crate) fn find_all<'g, G: Reclaim>(&self, guard: &'g G, parts: HashParts) -> Vec<&'g T> {
        let mut found = Vec::new();
        if let Some(root) = self.root(guard) {
            read_bucket(root, parts.bits, |line| match line {
                Some((line, meta)) => found.extend(
                    meta.matches_exactly(parts.tag, SLOTS)
                        .filter_map(|slot| load(guard, line, slot))
                        .filter(|node| node.bits == parts.bits)
                        .map(Node::value),
                ),
                None => found.clear(),
            });
        }
        found
    }

    /// The next entry of a sweep.
    #[inline]
    pub(crate) fn sweep_next<'g, G: Reclaim>(
        &self,
        guard: &'g G,
        sweep: &mut Sweep<'g, T>,
    ) -> Option<&'g Node<T>> {
        loop {
            while let Some(node) = sweep.nodes.pop() {
                if sweep.interval.contains(node.bits.position()) {
                    return Some(node);
                }
            }
            sweep.interval = self.sweep_bucket(guard, sweep)?;
        }
    }

    fn sweep_bucket<'g, G: Reclaim>(
        &self,
        guard: &'g G,
        sweep: &mut Sweep<'g, T>,
    ) -> Option<Interval> {
        let nodes = &mut sweep.nodes;
        let interval = self.read_step(guard, &mut sweep.cursor, |line| {
            match line {
                Some((line, meta)) => nodes.extend(
                    meta.occupied(SLOTS)
                        .filter_map(|slot| load(guard, line, slot)),
                ),
                None => nodes.clear(),
            }
            Ok(())
        });
        // They are taken from the end: the home line's first, so that `retain` empties a long chain
        // from the front and finds each entry there.
        nodes.reverse();
        interval
    }
}

/// A sweep over all entries, between two of them.
pub(crate) struct Sweep<'g, T> {
    cursor: Cursor,
    interval: Interval,
    /// What is left of the current bucket.
    nodes: Vec<&'g Node<T>>,
}

impl<T> Sweep<'_, T> {
    pub(crate) fn new() -> Self {
        Self {
            cursor: Cursor::start(),
            interval: Interval::EMPTY,
            nodes: Vec::new(),
        }
    }
}

/// Looks an entry up from `array` on, which was root when it was loaded under the guard.
#[inline]
fn find_from<'g, T, G: Reclaim>(
    guard: &'g G,
    array: &'g Array<Boxed<T>>,
    parts: HashParts,
    mut eq: impl FnMut(&T) -> bool,
) -> Option<&'g Node<T>> {
    let home = array.home(parts.bits);
    let meta = home.meta_first();
    let found = find_in_line(guard, home, meta, parts, &mut eq);
    if found.is_some() || !leads_on::<Boxed<T>>(meta, parts.tag) {
        return found;
    }
    find_beyond(array, meta, parts, &mut |line, meta| {
        find_in_line(guard, line, meta, parts, &mut eq)
    })
}

#[inline]
fn find_in_line<'g, T, G: Reclaim>(
    guard: &'g G,
    line: &'g Line<Boxed<T>>,
    meta: Meta,
    parts: HashParts,
    eq: &mut impl FnMut(&T) -> bool,
) -> Option<&'g Node<T>> {
    meta.matches(parts.tag, SLOTS)
        .filter_map(|slot| load(guard, line, slot))
        .find(|node| node.bits == parts.bits && eq(&node.value))
}

/// Goes on where the home line of `array`, whose word was `meta`, did not decide, until `look` finds
/// something in a line: to the next array
/// if the bucket has moved (tested first: a moved bucket's link leads to entries that may be gone),
/// along the link otherwise.
///
/// A walk needs no second look at the home line: a moved bucket's lines stay as they are until the
/// array goes.
#[cold]
#[inline(never)]
fn find_beyond<'g, T, R>(
    mut array: &'g Array<Boxed<T>>,
    mut meta: Meta,
    parts: HashParts,
    look: &mut impl FnMut(&'g Line<Boxed<T>>, Meta) -> Option<R>,
) -> Option<R> {
    loop {
        if meta.is_moved() {
            array = array.next().expect("moved buckets have a next array");
        } else if leads_on::<Boxed<T>>(meta, parts.tag) {
            let front = array.front(parts.bits.home(array.mask()));
            // SAFETY: #1 has-link as it was seen; #2 the array is borrowed for `'g`.
            let mut walk = unsafe { Walk::behind(front, meta.has_link()) };
            let end = loop {
                match walk.step() {
                    Ok(line) => {
                        let found = look(line, line.meta());
                        if found.is_some() {
                            return found;
                        }
                    }
                    Err(end) => break end,
                }
            };
            if end == End::Own {
                return None;
            }
        } else {
            return None;
        }
        let home = array.home(parts.bits);
        meta = home.meta_first();
        let found = look(home, meta);
        if found.is_some() {
            return found;
        }
    }
}

/// Reads the whole chain of an entry's bucket, in whichever array it is, until it was read
/// undisturbed; `read` as for [`read_chain`].
fn read_bucket<'g, T>(
    root: &'g Array<Boxed<T>>,
    bits: StoredBits,
    mut read: impl FnMut(Option<(&'g Line<Boxed<T>>, Meta)>),
) {
    let mut array = root;
    loop {
        read(None);
        let mut read_line = |line| {
            read(line);
            Ok(())
        };
        match read_chain(array.front(bits.home(array.mask())), &mut read_line) {
            Ok(_) => return,
            Err(Disturbed::Moved) => {
                array = array.next().expect("moved buckets have a next array");
            }
            Err(Disturbed::Changed) => {}
        }
    }
}

impl<T> fmt::Debug for Sweep<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sweep")
            .field("cursor", &self.cursor)
            .finish_non_exhaustive()
    }
}
