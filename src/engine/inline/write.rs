//! Changing entries, each in a bucket whose lock is held.

use core::hash::{BuildHasher, Hash};

use super::super::Table;
use super::super::bucket::{Bucket, Place};
use super::super::bulk::visit_many;
use super::super::hash::HashParts;
use super::super::layout::Layout;
use super::super::memory::AllocError;
use super::super::sweep::Cursor;
use super::{Inline, InlineSweep, Plain, Words, locked_words, store_words, word};
use crate::reclaim::Reclaim;
use crate::sync::Ordering;

/// An entry of a locked bucket, and where it is.
type Found<'a, K, V, S> = Option<(Place<'a, Inline<K, V, S>>, Words<K, V>)>;

/// What came of an insertion.
pub(crate) enum Inserted<K, V> {
    New,
    /// This equal entry was there.
    Found(K, V),
}

impl<K: Plain + Hash, V: Plain, S: BuildHasher> Table<Inline<K, V, S>> {
    /// Inserts if no entry of this hash is equal.
    pub(crate) fn try_insert<G: Reclaim>(
        &self,
        guard: &G,
        parts: HashParts,
        (key, value): (&K, &V),
        eq: impl FnMut(&K) -> bool,
    ) -> Result<Inserted<K, V>, AllocError> {
        let root = self.root_for_writing(guard)?;
        let bucket = Bucket::lock(root, parts.bits);
        if let Some((_, found)) = find_locked(&bucket, parts, eq) {
            return Ok(Inserted::Found(found.key(), found.value()));
        }
        self.fill(guard, bucket, parts, &Words::new(key, value))?;
        Ok(Inserted::New)
    }

    /// Inserts, or gives the first equal entry another value and returns its old one. The key that is
    /// stored stays.
    pub(crate) fn upsert<G: Reclaim>(
        &self,
        guard: &G,
        parts: HashParts,
        (key, value): (&K, &V),
        eq: impl FnMut(&K) -> bool,
    ) -> Result<Option<V>, AllocError> {
        let root = self.root_for_writing(guard)?;
        let mut bucket = Bucket::lock(root, parts.bits);
        if let Some((place, old)) = find_locked(&bucket, parts, eq) {
            put_at(&mut bucket, place, parts, &old.with_value(value))?;
            return Ok(Some(old.value()));
        }
        self.fill(guard, bucket, parts, &Words::new(key, value))?;
        Ok(None)
    }

    /// Gives the first entry of this hash that `eq` accepts another value, and returns its old one.
    pub(crate) fn replace<G: Reclaim>(
        &self,
        guard: &G,
        parts: HashParts,
        value: &V,
        mut eq: impl FnMut(&K) -> bool,
    ) -> Result<Option<V>, AllocError> {
        // A key that is absent costs no write, and `eq` does not run under the lock.
        while let Some(found) = self.find_words(guard, parts, &mut eq) {
            let root = self.root_for_writing(guard)?;
            let mut bucket = Bucket::lock(root, parts.bits);
            let same_key = |words: &Words<K, V>| words.is_same_key(&found);
            if let Some((place, old)) = find_place(&bucket, parts, same_key) {
                put_at(&mut bucket, place, parts, &old.with_value(value))?;
                return Ok(Some(old.value()));
            }
        }
        Ok(None)
    }

    /// Puts `new` in the place of `old` under `key`, if those very bytes are still there.
    pub(crate) fn replace_exact<G: Reclaim>(
        &self,
        guard: &G,
        parts: HashParts,
        (key, old): (&K, &V),
        new: &V,
    ) -> Result<bool, AllocError> {
        let old = Words::new(key, old);
        let root = self.root_for_writing(guard)?;
        let mut bucket = Bucket::lock(root, parts.bits);
        let Some((place, words)) = find_place(&bucket, parts, |words| words.is_same(&old)) else {
            return Ok(false);
        };
        put_at(&mut bucket, place, parts, &words.with_value(new))?;
        Ok(true)
    }

    /// Removes the entry of these very bytes, if it is still there.
    pub(crate) fn remove_exact<G: Reclaim>(
        &self,
        guard: &G,
        parts: HashParts,
        (key, value): (&K, &V),
    ) -> bool {
        let entry = Words::new(key, value);
        self.take_out(guard, parts, |words| words.is_same(&entry))
            .is_some()
    }

    /// Removes the first entry of this hash that `eq` accepts.
    pub(crate) fn remove<G: Reclaim>(
        &self,
        guard: &G,
        parts: HashParts,
        mut eq: impl FnMut(&K) -> bool,
    ) -> Option<(K, V)> {
        // A key that is absent costs no write, and `eq` does not run under the lock.
        loop {
            let found = self.find_words(guard, parts, &mut eq)?;
            let removed = self.take_out(guard, parts, |words| words.is_same_key(&found));
            if let Some(words) = removed {
                return Some((words.key(), words.value()));
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
        while let Some((parts, words)) = self.sweep_words(guard, &mut sweep) {
            if !keep(&words.key(), &words.value()) {
                self.take_out(guard, parts, |other| other.is_same(&words));
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
        accept: impl FnMut(&Words<K, V>) -> bool,
    ) -> Option<Words<K, V>> {
        let Ok(root) = self.root_for_writing(guard) else {
            return None;
        };
        let mut bucket = Bucket::lock(root, parts.bits);
        let (place, words) = find_place(&bucket, parts, accept)?;
        bucket.clear_tag(place);
        drop(bucket);
        self.count.add(guard.stripe(), -1);
        Some(words)
    }

    /// Stores an entry in a free place of its locked bucket, which is unlocked then.
    fn fill<'g, G: Reclaim>(
        &self,
        guard: &'g G,
        mut bucket: Bucket<'g, Inline<K, V, S>>,
        parts: HashParts,
        words: &Words<K, V>,
    ) -> Result<(), AllocError> {
        let place = free_place(&mut bucket)?;
        let overflows = !bucket.front.contains(place.line);
        store_words(place, words);
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
    find_place(bucket, parts, |words| eq(&words.key()))
}

/// The first entry of this tag, in a locked bucket, that `accept` accepts.
#[inline]
fn find_place<'a, K, V, S>(
    bucket: &Bucket<'a, Inline<K, V, S>>,
    parts: HashParts,
    mut accept: impl FnMut(&Words<K, V>) -> bool,
) -> Found<'a, K, V, S> {
    let slots = Inline::<K, V, S>::SLOTS;
    bucket.find_place(
        |meta| meta.matches_exactly(parts.tag, slots),
        |place| {
            let words = locked_words(place);
            accept(&words).then_some((place, words))
        },
    )
}

/// Gives the entry at `place` of a locked bucket these words, whose key is the same.
#[inline]
fn put_at<'a, K: Plain, V: Plain, S>(
    bucket: &mut Bucket<'a, Inline<K, V, S>>,
    place: Place<'a, Inline<K, V, S>>,
    parts: HashParts,
    words: &Words<K, V>,
) -> Result<(), AllocError> {
    type Entries<K, V, S> = Inline<K, V, S>;
    if Entries::<K, V, S>::IN_PLACE {
        let number = Entries::<K, V, S>::VALUE_WORD;
        if let Some(&value) = words.words(Entries::<K, V, S>::WORDS).get(number) {
            // Ordering: Release; who reads the value has what came before it (pairs with the fence in
            // `validated`). The one exception to I2: no other word changes, so nothing can be torn,
            // and the version need not change.
            word(place, number).store(value, Ordering::Release);
        }
        return Ok(());
    }
    // In the same line both tags change in one store.
    let to = match bucket.free_place_in(place.line) {
        Some(to) => to,
        None => free_place(bucket)?,
    };
    store_words(to, words);
    bucket.move_tag(place, to, parts.tag);
    Ok(())
}
