//! Looking entries up and iterating over them: no lock, no store, no waiting.

use core::fmt;
use core::hash::{BuildHasher, Hash};

use alloc::vec::Vec;

use super::super::Table;
use super::super::array::Array;
use super::super::bucket::Place;
use super::super::bulk::visit_many;
use super::super::chain::{End, Walk};
use super::super::hash::{HashParts, Tag};
use super::super::layout::{Layout, leads_on};
use super::super::line::Line;
use super::super::meta::Meta;
use super::super::sweep::{Cursor, Disturbed, Interval};
use super::{Entry, Inline, Plain, load};
use crate::reclaim::Reclaim;

/// What an undisturbed look at a line found.
type Found<K, V> = Result<Option<Entry<K, V>>, Disturbed>;

impl<K: Plain, V: Plain, S> Table<Inline<K, V, S>> {
    /// The first entry of this hash that `eq` accepts, by copy.
    ///
    /// Takes no lock, writes no shared memory, waits for nobody. One line for hit and miss, if the
    /// bucket has one.
    #[inline]
    pub(crate) fn find<G: Reclaim>(
        &self,
        guard: &G,
        parts: HashParts,
        eq: impl FnMut(&K) -> bool,
    ) -> Option<Entry<K, V>> {
        find_from(self.root(guard)?, parts, eq)
    }

    /// Many look-ups, their lines fetched at the same time: calls `found` with the value that each of
    /// `count` finds, in order.
    #[inline]
    pub(crate) fn find_many<G: Reclaim>(
        &self,
        guard: &G,
        count: usize,
        parts: impl FnMut(usize) -> HashParts,
        mut eq: impl FnMut(usize, &K) -> bool,
        mut found: impl FnMut(usize, Option<V>),
    ) {
        let Some(root) = self.root(guard) else {
            return (0..count).for_each(|number| found(number, None));
        };
        visit_many(root, count, parts, |number, parts| {
            let entry = find_from(root, parts, |key| eq(number, key));
            found(number, entry.map(|entry| entry.value));
        });
    }
}

/// Looks an entry up from `array` on, which was root when it was loaded under the guard.
#[inline]
fn find_from<K: Plain, V: Plain, S>(
    array: &Array<Inline<K, V, S>>,
    parts: HashParts,
    mut eq: impl FnMut(&K) -> bool,
) -> Option<Entry<K, V>> {
    let home = array.home(parts.bits);
    let meta = home.meta_first();
    match find_in_line(home, meta, parts.tag, &mut eq) {
        Ok(Some(entry)) => Some(entry),
        Ok(None) if !leads_on::<Inline<K, V, S>>(meta, parts.tag) => None,
        _ => find_beyond(array, parts, &mut eq),
    }
}

#[inline]
fn find_in_line<K: Plain, V: Plain, S>(
    line: &Line<Inline<K, V, S>>,
    meta: Meta,
    tag: Tag,
    eq: &mut impl FnMut(&K) -> bool,
) -> Found<K, V> {
    // Exactly: what a free slot holds may be half written, and pass.
    for slot in meta.matches_exactly(tag, Inline::<K, V, S>::SLOTS) {
        let entry = load(Place { line, slot }, meta)?;
        if eq(&entry.key) {
            return Ok(Some(entry));
        }
    }
    Ok(None)
}

/// Looks beyond the home line of `array`, and begins again wherever it is disturbed: another writer
/// has finished something then.
#[cold]
#[inline(never)]
fn find_beyond<K: Plain, V: Plain, S>(
    mut array: &Array<Inline<K, V, S>>,
    parts: HashParts,
    eq: &mut impl FnMut(&K) -> bool,
) -> Option<Entry<K, V>> {
    loop {
        let home = array.home(parts.bits);
        let meta = home.meta_first();
        if meta.is_moved() {
            array = array.next().expect("moved buckets have a next array");
            continue;
        }
        if let Ok(found) = find_in_chain(array, meta, parts, eq) {
            return found;
        }
    }
}

/// Looks through the chain of a bucket that has not moved and whose home word is `meta`.
#[inline]
fn find_in_chain<K: Plain, V: Plain, S>(
    array: &Array<Inline<K, V, S>>,
    meta: Meta,
    parts: HashParts,
    eq: &mut impl FnMut(&K) -> bool,
) -> Found<K, V> {
    let front = array.front(parts.bits.home(array.mask()));
    let found = find_in_line(front.home, meta, parts.tag, eq)?;
    if found.is_some() || !leads_on::<Inline<K, V, S>>(meta, parts.tag) {
        return Ok(found);
    }
    // SAFETY: #1 has-link as it was seen; #2 the array is borrowed.
    let mut walk = unsafe { Walk::behind(front, meta.has_link()) };
    let found = loop {
        match walk.step() {
            Ok(line) => {
                let found = find_in_line(line, line.meta(), parts.tag, eq)?;
                if found.is_some() {
                    break found;
                }
            }
            Err(End::Own) => break None,
            Err(End::Foreign) => return Err(Disturbed::Changed),
        }
    };
    // Hit and miss alike (1.5): an update may be moving the entry from one line to another, so that
    // this walk has missed it in both, or has found what the next one will not yet find.
    if front.home.meta().is_same(meta) {
        Ok(found)
    } else {
        Err(Disturbed::Changed)
    }
}

/// A sweep over all entries, between two of them.
pub(crate) struct InlineSweep<K, V> {
    cursor: Cursor,
    interval: Interval,
    /// What is left of the current bucket.
    entries: Vec<(HashParts, Entry<K, V>)>,
}

impl<K, V> InlineSweep<K, V> {
    pub(crate) fn new() -> Self {
        Self {
            cursor: Cursor::start(),
            interval: Interval::EMPTY,
            entries: Vec::new(),
        }
    }
}

impl<K: Plain + Hash, V: Plain, S: BuildHasher> Table<Inline<K, V, S>> {
    /// The next entry of a sweep, and its hash.
    pub(crate) fn sweep_inline<G: Reclaim>(
        &self,
        guard: &G,
        sweep: &mut InlineSweep<K, V>,
    ) -> Option<(HashParts, Entry<K, V>)> {
        loop {
            while let Some((parts, entry)) = sweep.entries.pop() {
                if sweep.interval.contains(parts.bits.position()) {
                    return Some((parts, entry));
                }
            }
            sweep.interval = self.sweep_bucket(guard, sweep)?;
        }
    }

    fn sweep_bucket<G: Reclaim>(
        &self,
        guard: &G,
        sweep: &mut InlineSweep<K, V>,
    ) -> Option<Interval> {
        let entries = &mut sweep.entries;
        let interval = self.read_step(guard, &mut sweep.cursor, |line| {
            let Some((line, meta)) = line else {
                entries.clear();
                return Ok(());
            };
            for slot in meta.occupied(Inline::<K, V, S>::SLOTS) {
                let entry = load(Place { line, slot }, meta)?;
                // The second copy of an entry that an update is moving to another line.
                let met = !Inline::<K, V, S>::IN_PLACE
                    && entries.iter().any(|(_, other)| entry.has_same_key(other));
                if !met {
                    entries.push((self.parts_of(&entry.key), entry));
                }
            }
            Ok(())
        });
        entries.reverse();
        interval
    }
}

impl<K, V> fmt::Debug for InlineSweep<K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("InlineSweep")
            .field("cursor", &self.cursor)
            .finish_non_exhaustive()
    }
}
