//! Changing entries, each in a bucket whose lock is held.

use core::ptr::{self, NonNull};

use alloc::boxed::Box;
use alloc::vec::Vec;

use super::super::Table;
use super::super::bucket::{Bucket, Place};
use super::super::bulk::visit_many;
use super::super::hash::{HashParts, Tag};
use super::super::memory::AllocError;
use super::super::meta::Meta;
use super::super::sweep::Cursor;
use super::{Boxed, Node, SLOTS, Sweep};
use crate::reclaim::Reclaim;
use crate::sync::{AtomicPtr, Ordering};

/// Why nothing was inserted; the node comes back.
pub(crate) enum TryInsertError<'g, T> {
    /// An equal entry is there.
    Occupied(&'g T, Box<Node<T>>),
    /// No memory for the array or an overflow line.
    NoMemory(Box<Node<T>>),
}

impl<T> Table<Boxed<T>> {
    /// Inserts without looking for an equal entry.
    pub(crate) fn insert<'g, G: Reclaim>(
        &self,
        guard: &'g G,
        parts: HashParts,
        node: Box<Node<T>>,
    ) -> Result<&'g T, Box<Node<T>>> {
        match self.root_for_writing(guard) {
            Ok(root) => self.fill(guard, Bucket::lock(root, parts.bits), parts, node),
            Err(AllocError) => Err(node),
        }
    }

    /// Inserts if no entry of this hash is equal: `eq` is given the new value and the one found.
    pub(crate) fn try_insert<'g, G: Reclaim>(
        &self,
        guard: &'g G,
        parts: HashParts,
        node: Box<Node<T>>,
        mut eq: impl FnMut(&T, &T) -> bool,
    ) -> Result<&'g T, TryInsertError<'g, T>> {
        let Ok(root) = self.root_for_writing(guard) else {
            return Err(TryInsertError::NoMemory(node));
        };
        let bucket = Bucket::lock(root, parts.bits);
        match find_locked(&bucket, parts, |found| eq(&node.value, found)) {
            Some((_, found)) => Err(TryInsertError::Occupied(&found.value, node)),
            None => self
                .fill(guard, bucket, parts, node)
                .map_err(TryInsertError::NoMemory),
        }
    }

    /// Inserts, or replaces the first equal entry and returns it: `eq` is given the new value and
    /// the one found.
    pub(crate) fn upsert<'g, G: Reclaim>(
        &self,
        guard: &'g G,
        parts: HashParts,
        node: Box<Node<T>>,
        mut eq: impl FnMut(&T, &T) -> bool,
    ) -> Result<Option<&'g T>, Box<Node<T>>> {
        let Ok(root) = self.root_for_writing(guard) else {
            return Err(node);
        };
        let bucket = Bucket::lock(root, parts.bits);
        match find_locked(&bucket, parts, |found| eq(&node.value, found)) {
            Some((place, old)) => {
                replace_at(guard, bucket, place, old, node);
                Ok(Some(&old.value))
            }
            None => self.fill(guard, bucket, parts, node).map(|_| None),
        }
    }

    /// Puts `new` in the place of `old`, if that very node, which was found by `parts`, is still in
    /// the table. Readers see one or the other.
    pub(crate) fn replace_exact<'g, G: Reclaim>(
        &self,
        guard: &'g G,
        parts: HashParts,
        old: &'g Node<T>,
        new: Box<Node<T>>,
    ) -> Result<&'g T, Box<Node<T>>> {
        let Ok(root) = self.root_for_writing(guard) else {
            return Err(new);
        };
        let bucket = Bucket::lock(root, parts.bits);
        match find_exact(&bucket, old, Some(parts.tag)) {
            Some(place) => Ok(&replace_at(guard, bucket, place, old, new).value),
            None => Err(new),
        }
    }

    /// Removes `node`, which was found by `parts`, if it is still in the table.
    pub(crate) fn remove_exact<G: Reclaim>(
        &self,
        guard: &G,
        parts: HashParts,
        node: &Node<T>,
    ) -> bool {
        self.take_out(guard, node, Some(parts.tag))
    }

    /// Removes `node`, whose tag may be known, if it is still in the table.
    #[inline]
    fn take_out<G: Reclaim>(&self, guard: &G, node: &Node<T>, tag: Option<Tag>) -> bool {
        let Ok(root) = self.root_for_writing(guard) else {
            return false;
        };
        let mut bucket = Bucket::lock(root, node.bits);
        let Some(place) = find_exact(&bucket, node, tag) else {
            return false;
        };
        // Ordering: Release, null included: whoever finds null has everything before it.
        slot_of(place).store(ptr::null_mut(), Ordering::Release);
        bucket.clear_tag(place);
        drop(bucket);
        self.count.add(guard.stripe(), -1);
        // SAFETY: #1 nodes are boxes; #2 the node was in its one place (I7) and is not any more,
        // the lock is free, and only who takes a node out under the lock retires it; #3 by the
        // table's bounds on `T`.
        unsafe { guard.retire(NonNull::from(node)) };
        true
    }

    /// Removes the first entry of this hash that `eq` accepts.
    pub(crate) fn remove<'g, G: Reclaim>(
        &self,
        guard: &'g G,
        parts: HashParts,
        mut eq: impl FnMut(&T) -> bool,
    ) -> Option<&'g T> {
        // A key that is absent costs no write, and `eq` does not run under the lock.
        loop {
            let node = self.find(guard, parts, &mut eq)?;
            if self.remove_exact(guard, parts, node) {
                return Some(&node.value);
            }
        }
    }

    /// Many removals, their lines fetched at the same time. Returns how many entries there were.
    pub(crate) fn remove_many<G: Reclaim>(
        &self,
        guard: &G,
        count: usize,
        parts: impl FnMut(usize) -> HashParts,
        mut eq: impl FnMut(usize, &T) -> bool,
    ) -> usize {
        let Some(root) = self.root(guard) else {
            return 0;
        };
        let mut removed = 0;
        visit_many(root, count, parts, |number, parts| {
            let entry = self.remove(guard, parts, |entry| eq(number, entry));
            removed += usize::from(entry.is_some());
        });
        removed
    }

    /// Removes every entry that `keep` refuses. One that is replaced meanwhile is left to its
    /// successor.
    pub(crate) fn retain<G: Reclaim>(&self, guard: &G, mut keep: impl FnMut(&T) -> bool) {
        let mut sweep = Sweep::new();
        while let Some(node) = self.sweep_next(guard, &mut sweep) {
            if !keep(&node.value) {
                // The tag is not known here: the slot may have been another entry's when it was read.
                self.take_out(guard, node, None);
            }
        }
    }

    /// Empties each bucket, one after the other.
    pub(crate) fn clear<G: Reclaim>(&self, guard: &G) {
        let mut cursor = Cursor::start();
        let mut nodes = Vec::new();
        while let Some(stop) = self.stop(guard, &mut cursor) {
            if stop.array.front(stop.index).is_untouched() {
                cursor.advance(stop.interval);
                continue;
            }
            let Ok(mut bucket) = Bucket::lock_in(stop.array, stop.index) else {
                continue;
            };
            let entries = bucket.places(|meta| meta.occupied(SLOTS)).count();
            if nodes.capacity() < entries {
                drop(bucket);
                nodes.reserve(2 * entries);
                continue;
            }
            for place in bucket.places(|meta| meta.occupied(SLOTS)) {
                // Ordering: Relaxed load by the lock; Release as in `take_out`.
                nodes.extend(NonNull::new(slot_of(place).load(Ordering::Relaxed)));
                slot_of(place).store(ptr::null_mut(), Ordering::Release);
            }
            bucket.clear_tags();
            drop(bucket);
            cursor.advance(stop.interval);
            self.count.add(guard.stripe(), -entries.cast_signed());
            for node in nodes.drain(..) {
                // SAFETY: as in `take_out`.
                unsafe { guard.retire(node) };
            }
        }
    }

    /// Stores a node in a free place of its locked bucket, which is unlocked then.
    fn fill<'g, G: Reclaim>(
        &self,
        guard: &'g G,
        mut bucket: Bucket<'g, Boxed<T>>,
        parts: HashParts,
        node: Box<Node<T>>,
    ) -> Result<&'g T, Box<Node<T>>> {
        let place = match bucket.free_place() {
            Some(place) => place,
            None => match bucket.reserve_line() {
                Ok(mut reserved) => bucket.add_line(&mut reserved),
                Err(AllocError) => return Err(node),
            },
        };
        let overflows = !bucket.front.contains(place.line);
        bucket.set_tag(place, parts.tag);
        let node = Box::into_raw(node);
        // Ordering: Release publishes the node (I1); with Relaxed a reader could follow the pointer
        // to a node without hash, key and value. After the tag: see the module's header.
        slot_of(place).store(node, Ordering::Release);
        drop(bucket);
        let before = self.count.add(guard.stripe(), 1);
        if overflows {
            self.consider_growth(guard, before);
        }
        // SAFETY: even if another thread removes the node, the guard was active before it was
        // published.
        Ok(unsafe { &(*node).value })
    }
}

/// The slot's word.
#[inline]
fn slot_of<T>(place: Place<'_, Boxed<T>>) -> &AtomicPtr<Node<T>> {
    // SAFETY: places are made from the slots of a word's tags, of which there are SLOTS.
    unsafe { place.line.slots.get_unchecked(place.slot) }
}

/// The first equal entry of a locked bucket.
#[inline]
fn find_locked<'g, T>(
    bucket: &Bucket<'g, Boxed<T>>,
    parts: HashParts,
    mut eq: impl FnMut(&T) -> bool,
) -> Option<(Place<'g, Boxed<T>>, &'g Node<T>)> {
    let matching = |meta: Meta| meta.matches(parts.tag, SLOTS);
    bucket.find_place(bucket.may_be_behind(parts.tag), matching, |place| {
        // Ordering: Relaxed; slots are written under the lock.
        let node = slot_of(place).load(Ordering::Relaxed);
        // SAFETY: null, or an entry of a locked bucket: nobody can unlink it before the unlock,
        // and then the guard that the caller holds keeps it.
        let node = unsafe { node.as_ref() }?;
        (node.bits == parts.bits && eq(&node.value)).then_some((place, node))
    })
}

/// Where that very node, whose tag may be known, is in its locked bucket.
#[inline]
fn find_exact<'g, T>(
    bucket: &Bucket<'g, Boxed<T>>,
    node: &Node<T>,
    tag: Option<Tag>,
) -> Option<Place<'g, Boxed<T>>> {
    let slots = |meta: Meta| match tag {
        Some(tag) => meta.matches(tag, SLOTS),
        None => meta.occupied(SLOTS),
    };
    let behind = tag.map_or_else(|| bucket.has_behind(), |tag| bucket.may_be_behind(tag));
    bucket.find_place(behind, slots, |place| {
        // Ordering: Relaxed; slots are written under the lock.
        ptr::eq(slot_of(place).load(Ordering::Relaxed), node).then_some(place)
    })
}

/// Swaps `old`, which is at `place`, for `new` in one store, unlocks, and retires `old`.
fn replace_at<'g, T, G: Reclaim>(
    guard: &'g G,
    bucket: Bucket<'g, Boxed<T>>,
    place: Place<'g, Boxed<T>>,
    old: &'g Node<T>,
    new: Box<Node<T>>,
) -> &'g Node<T> {
    let new = Box::into_raw(new);
    // Ordering: Release publishes the node (I1), as in `fill`. One store: a reader never sees
    // absence (I8).
    slot_of(place).store(new, Ordering::Release);
    drop(bucket);
    // SAFETY: as in `take_out`.
    unsafe { guard.retire(NonNull::from(old)) };
    // SAFETY: as in `fill`.
    unsafe { &*new }
}
