//! Changing entries, each in a bucket whose lock is held.

use core::hash::{BuildHasher, Hash};

use super::super::Table;
use super::super::bucket::{Bucket, Place};
use super::super::bulk::visit_many;
use super::super::hash::HashParts;
use super::super::layout::Layout;
use super::super::memory::AllocError;
use super::super::sweep::Cursor;
use super::{Entry, Inline, InlineSweep, Plain, load_locked, store, word};
use crate::reclaim::Reclaim;
use crate::sync::Ordering;

/// An entry of a locked bucket, and where it is.
type Found<'a, K, V, S> = Option<(Place<'a, Inline<K, V, S>>, Entry<K, V>)>;

/// What came of an insertion.
pub(crate) enum Inserted<V> {
    New,
    /// An equal entry was there, of this value.
    Found(V),
}

impl<K: Plain + Hash, V: Plain, S: BuildHasher> Table<Inline<K, V, S>> {
    /// Inserts if no entry of this hash is equal.
    pub(crate) fn try_insert<G: Reclaim>(
        &self,
        guard: &G,
        parts: HashParts,
        entry: Entry<K, V>,
        eq: impl FnMut(&K) -> bool,
    ) -> Result<Inserted<V>, AllocError> {
        let root = self.root_for_writing(guard)?;
        let bucket = Bucket::lock(root, parts.bits);
        if let Some((_, found)) = find_locked(&bucket, parts, eq) {
            return Ok(Inserted::Found(found.value));
        }
        self.fill(guard, bucket, parts, &entry)?;
        Ok(Inserted::New)
    }

    /// Inserts, or gives the first equal entry another value and returns its old one. The key that is
    /// stored stays.
    pub(crate) fn upsert<G: Reclaim>(
        &self,
        guard: &G,
        parts: HashParts,
        entry: Entry<K, V>,
        eq: impl FnMut(&K) -> bool,
    ) -> Result<Option<V>, AllocError> {
        let root = self.root_for_writing(guard)?;
        let mut bucket = Bucket::lock(root, parts.bits);
        if let Some((place, old)) = find_locked(&bucket, parts, eq) {
            put_at(&mut bucket, place, parts, old.key, entry.value)?;
            return Ok(Some(old.value));
        }
        self.fill(guard, bucket, parts, &entry)?;
        Ok(None)
    }

    /// Gives the first entry of this hash that `eq` accepts another value, and returns its old one.
    pub(crate) fn replace<G: Reclaim>(
        &self,
        guard: &G,
        parts: HashParts,
        value: V,
        mut eq: impl FnMut(&K) -> bool,
    ) -> Result<Option<V>, AllocError> {
        // A key that is absent costs no write, and `eq` does not run under the lock.
        while let Some(found) = self.find(guard, parts, &mut eq) {
            let root = self.root_for_writing(guard)?;
            let mut bucket = Bucket::lock(root, parts.bits);
            let same_key = |other: &Entry<K, V>| other.has_same_key(&found);
            if let Some((place, old)) = find_place(&bucket, parts, same_key) {
                put_at(&mut bucket, place, parts, old.key, value)?;
                return Ok(Some(old.value));
            }
        }
        Ok(None)
    }

    /// Gives `old` the value `new`, if its very bytes are still there.
    pub(crate) fn replace_exact<G: Reclaim>(
        &self,
        guard: &G,
        parts: HashParts,
        old: &Entry<K, V>,
        new: V,
    ) -> Result<bool, AllocError> {
        let root = self.root_for_writing(guard)?;
        let mut bucket = Bucket::lock(root, parts.bits);
        let Some((place, _)) = find_place(&bucket, parts, |other| other.is_same(old)) else {
            return Ok(false);
        };
        put_at(&mut bucket, place, parts, old.key, new)?;
        Ok(true)
    }

    /// Removes the entry of these very bytes, if it is still there.
    pub(crate) fn remove_exact<G: Reclaim>(
        &self,
        guard: &G,
        parts: HashParts,
        entry: &Entry<K, V>,
    ) -> bool {
        self.take_out(guard, parts, |other| other.is_same(entry))
            .is_some()
    }

    /// Removes the first entry of this hash that `eq` accepts.
    pub(crate) fn remove<G: Reclaim>(
        &self,
        guard: &G,
        parts: HashParts,
        mut eq: impl FnMut(&K) -> bool,
    ) -> Option<Entry<K, V>> {
        // A key that is absent costs no write, and `eq` does not run under the lock.
        loop {
            let found = self.find(guard, parts, &mut eq)?;
            let removed = self.take_out(guard, parts, |other| other.has_same_key(&found));
            if removed.is_some() {
                return removed;
            }
        }
    }

    /// Many removals, their lines fetched at the same time. Returns how many entries there were.
    pub(crate) fn remove_many<G: Reclaim>(
        &self,
        guard: &G,
        count: usize,
        parts: impl FnMut(usize) -> HashParts,
        mut eq: impl FnMut(usize, &K) -> bool,
    ) -> usize {
        let Some(root) = self.root(guard) else {
            return 0;
        };
        let mut removed = 0;
        visit_many(root, count, parts, |number, parts| {
            let entry = self.remove(guard, parts, |key| eq(number, key));
            removed += usize::from(entry.is_some());
        });
        removed
    }

    /// Removes every entry that `keep` refuses. One that is updated meanwhile is left alone.
    pub(crate) fn retain<G: Reclaim>(&self, guard: &G, mut keep: impl FnMut(&K, &V) -> bool) {
        let mut sweep = InlineSweep::new();
        while let Some((parts, entry)) = self.sweep_inline(guard, &mut sweep) {
            if !keep(&entry.key, &entry.value) {
                self.take_out(guard, parts, |other| other.is_same(&entry));
            }
        }
    }

    /// Empties each bucket, one after the other.
    pub(crate) fn clear<G: Reclaim>(&self, guard: &G) {
        let mut cursor = Cursor::start();
        while let Some(stop) = self.stop(guard, &mut cursor) {
            if !stop.array.front(stop.index).is_untouched() {
                let Ok(mut bucket) = Bucket::lock_in(stop.array, stop.index) else {
                    continue;
                };
                let entries = bucket
                    .places(|meta| meta.occupied(Inline::<K, V, S>::SLOTS))
                    .count();
                if entries > 0 {
                    bucket.clear_tags();
                    self.count.add(guard.stripe(), -entries.cast_signed());
                }
            }
            cursor.advance(stop.interval);
        }
    }

    fn take_out<G: Reclaim>(
        &self,
        guard: &G,
        parts: HashParts,
        accept: impl FnMut(&Entry<K, V>) -> bool,
    ) -> Option<Entry<K, V>> {
        let Ok(root) = self.root_for_writing(guard) else {
            return None;
        };
        let mut bucket = Bucket::lock(root, parts.bits);
        let (place, entry) = find_place(&bucket, parts, accept)?;
        bucket.clear_tag(place);
        drop(bucket);
        self.count.add(guard.stripe(), -1);
        Some(entry)
    }

    /// Stores an entry in a free place of its locked bucket, which is unlocked then.
    fn fill<'g, G: Reclaim>(
        &self,
        guard: &'g G,
        mut bucket: Bucket<'g, Inline<K, V, S>>,
        parts: HashParts,
        entry: &Entry<K, V>,
    ) -> Result<(), AllocError> {
        let place = free_place(&mut bucket)?;
        let overflows = !bucket.front.contains(place.line);
        store(place, entry);
        bucket.set_tag(place, parts.tag);
        drop(bucket);
        let before = self.count.add(guard.stripe(), 1);
        if overflows {
            self.consider_growth(guard, before);
        }
        Ok(())
    }
}

/// A free place in a locked bucket, in a new line if need be.
#[inline]
fn free_place<'a, K, V, S>(
    bucket: &mut Bucket<'a, Inline<K, V, S>>,
) -> Result<Place<'a, Inline<K, V, S>>, AllocError> {
    match bucket.free_place() {
        Some(place) => Ok(place),
        None => Ok(bucket.add_line(&mut bucket.reserve_line()?)),
    }
}

/// The first equal entry of a locked bucket.
#[inline]
fn find_locked<'a, K: Plain, V: Plain, S>(
    bucket: &Bucket<'a, Inline<K, V, S>>,
    parts: HashParts,
    mut eq: impl FnMut(&K) -> bool,
) -> Found<'a, K, V, S> {
    find_place(bucket, parts, |entry| eq(&entry.key))
}

/// The first entry of this tag, in a locked bucket, that `accept` accepts.
#[inline]
fn find_place<'a, K: Plain, V: Plain, S>(
    bucket: &Bucket<'a, Inline<K, V, S>>,
    parts: HashParts,
    mut accept: impl FnMut(&Entry<K, V>) -> bool,
) -> Found<'a, K, V, S> {
    let slots = Inline::<K, V, S>::SLOTS;
    bucket.find_place(
        bucket.may_be_behind(parts.tag),
        |meta| meta.matches_exactly(parts.tag, slots),
        |place| {
            let entry = load_locked(place);
            accept(&entry).then_some((place, entry))
        },
    )
}

/// Gives the entry at `place` of a locked bucket, whose key is `key`, another value.
#[inline]
fn put_at<'a, K: Plain, V: Plain, S>(
    bucket: &mut Bucket<'a, Inline<K, V, S>>,
    place: Place<'a, Inline<K, V, S>>,
    parts: HashParts,
    key: K,
    value: V,
) -> Result<(), AllocError> {
    let entry = Entry { key, value };
    if Inline::<K, V, S>::IN_PLACE {
        let number = Inline::<K, V, S>::VALUE_WORD;
        if number < Inline::<K, V, S>::WORDS {
            // Ordering: Release; who reads the value has what came before it (pairs with the fence in
            // `load`). The one exception to I2: no other word changes, so nothing can be torn, and the
            // version need not change.
            word(place, number).store(entry.words()[number], Ordering::Release);
        }
        return Ok(());
    }
    // In the same line both tags change in one store.
    let to = match bucket.free_place_in(place.line) {
        Some(to) => to,
        None => free_place(bucket)?,
    };
    store(to, &entry);
    bucket.move_tag(place, to, parts.tag);
    Ok(())
}
