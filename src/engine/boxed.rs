//! The boxed layout: a slot is a pointer to a node of its own, which holds the entry.
//!
//! The slot pointer decides, the tag filters (P2): insertion stores the tag, then the pointer;
//! removal stores null, then clears the tag; replacement swaps the pointer and touches nothing
//! else. A reader takes null for free. So tag 0 proves absence, and between tag and pointer a
//! reader sees the entry as not yet there. A slot is written only when nothing can fail any more,
//! and what was once in a slot is only ever retired, never freed at once.
//!
//! No closure of the caller's but an equality test runs under a bucket's lock. What changes an
//! entry that was found runs its closure first and then locks, and acts only if that very node is
//! still there: the guard keeps the node, so its address cannot belong to another.

use core::fmt;
use core::marker::PhantomData;
use core::mem::needs_drop;
use core::ptr::{self, NonNull};

use alloc::boxed::Box;
use alloc::vec::Vec;

use super::bucket::{Bucket, Place};
use super::chain::{End, Walk};
use super::hash::{HashParts, StoredBits};
use super::layout::Layout;
use super::line::Line;
use super::memory::{AllocError, try_box};
use super::meta::{Meta, Slots};
use super::prefetch::prefetch;
use super::sweep::{Cursor, Disturbed, Interval, read_chain};
use super::{Array, Table};
use crate::reclaim::{Reclaim, Retired, catch};
use crate::sync::{AtomicPtr, Ordering};

/// Slots of a boxed line: six pointers, beside control word and link.
const SLOTS: usize = if cfg!(nulls_loom) { 2 } else { 6 };

/// An entry on the heap.
#[repr(C)]
pub(crate) struct Node<T> {
    bits: StoredBits,
    /// Room for the count of owned handles, which the table does not give out yet. With it the
    /// header is eight bytes, and would be for most `T` without it.
    _shares: u32,
    value: T,
}

impl<T> Node<T> {
    /// A node on the heap, or the value back.
    pub(crate) fn new(parts: HashParts, value: T) -> Result<Box<Self>, T> {
        try_box(Self {
            bits: parts.bits,
            _shares: 1,
            value,
        })
        .map_err(|node| node.value)
    }

    #[inline]
    pub(crate) fn value(&self) -> &T {
        &self.value
    }

    pub(crate) fn into_value(self) -> T {
        self.value
    }
}

// SAFETY: `catch` does not unwind.
unsafe impl<T> Retired for Node<T> {
    unsafe fn reclaim(node: NonNull<Self>) {
        // SAFETY: nodes are boxes (`Box::into_raw` in `fill` and `replace_at`), and by the caller
        // nobody can reach this one.
        let node = unsafe { Box::from_raw(node.as_ptr()) };
        if needs_drop::<T>() {
            catch(|| drop(node));
        }
    }
}

/// Entries as nodes.
pub(crate) struct Boxed<T>(PhantomData<T>);

// SAFETY: the table owns its entries and gives them to whoever has it; garbage is dropped by
// threads that hold a guard, which borrow the table or, with a shared collector, were promised `T:
// Send`.
unsafe impl<T: Send> Send for Table<Boxed<T>> {}

// SAFETY: a shared table gives out `&T` (hence `Sync`) and drops entries that another thread
// inserted (hence `Send`).
unsafe impl<T: Send + Sync> Sync for Table<Boxed<T>> {}

// SAFETY: #1 null pointers are valid, and six of them with two words are 64 bytes; #2 six slots,
// and every method goes through `slot`, which the caller keeps in bounds; #3 a node's bits never
// change.
unsafe impl<T> Layout for Boxed<T> {
    const SLOTS: usize = SLOTS;

    type Slots = [AtomicPtr<Node<T>>; SLOTS];

    #[cfg(nulls_loom)]
    fn new_slots() -> Self::Slots {
        core::array::from_fn(|_| AtomicPtr::new(ptr::null_mut()))
    }

    unsafe fn stored_bits(slots: &Self::Slots, slot: usize) -> StoredBits {
        // Ordering: Relaxed, by the lock that the caller holds or held when the entry was stored.
        let node = slots[slot].load(Ordering::Relaxed);
        // SAFETY: by the caller the slot holds a live entry, hence no null.
        unsafe { (*node).bits }
    }

    fn prefetch(slots: &Self::Slots, slot: usize) {
        // Ordering: Relaxed; a hint.
        prefetch(slots[slot].load(Ordering::Relaxed));
    }

    unsafe fn copy(from: &Self::Slots, slot: usize, to: &Self::Slots, to_slot: usize) {
        // Ordering: Relaxed, by the lock of the old bucket. Release publishes the node to readers
        // of the new one: they come by *moved* or the new root, but also, on a recycled
        // line, from another bucket.
        to[to_slot].store(from[slot].load(Ordering::Relaxed), Ordering::Release);
    }

    unsafe fn drop_entry(slots: &Self::Slots, slot: usize) {
        // Ordering: Relaxed; exclusive access.
        if let Some(node) = NonNull::new(slots[slot].load(Ordering::Relaxed)) {
            // SAFETY: by the caller.
            unsafe { Node::reclaim(node) };
        }
    }
}

/// Why nothing was inserted; the node comes back.
pub(crate) enum TryInsertError<'g, T> {
    /// An equal entry is there.
    Occupied(&'g T, Box<Node<T>>),
    /// No memory for the array or an overflow line.
    NoMemory(Box<Node<T>>),
}

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
        mut eq: impl FnMut(&T) -> bool,
    ) -> Option<&'g Node<T>> {
        let array = self.root(guard)?;
        let home = array.home(parts.bits);
        let meta = home.meta_first();
        let found = find_in_line(guard, home, meta, parts, &mut eq);
        if found.is_some() || meta.is_whole_chain() {
            return found;
        }
        find_beyond(guard, array, meta, parts, &mut eq)
    }

    /// Whether an entry of this hash may be there, by tags alone: `false` is certain.
    #[inline]
    pub(crate) fn maybe_contains<G: Reclaim>(&self, guard: &G, parts: HashParts) -> bool {
        let Some(array) = self.root(guard) else {
            return false;
        };
        let meta = array.home(parts.bits).meta_first();
        if !meta.matches(parts.tag, SLOTS).is_empty() {
            return true;
        }
        !meta.is_whole_chain() && maybe_beyond(array, parts)
    }

    /// The entries that agree with `parts` in stored bits and tag.
    pub(crate) fn find_all<'g, G: Reclaim>(&self, guard: &'g G, parts: HashParts) -> Vec<&'g T> {
        let mut found = Vec::new();
        if let Some(root) = self.root(guard) {
            read_bucket(root, parts.bits, |line| match line {
                Some((line, meta)) => found.extend(
                    meta.matches(parts.tag, SLOTS)
                        .filter(|&slot| meta.tag(slot) == Some(parts.tag))
                        .filter_map(|slot| load(guard, line, slot))
                        .filter(|node| node.bits == parts.bits)
                        .map(Node::value),
                ),
                None => found.clear(),
            });
        }
        found
    }

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
        match find_exact(&bucket, old, |meta| meta.matches(parts.tag, SLOTS)) {
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
        self.take_out(guard, node, |meta| meta.matches(parts.tag, SLOTS))
    }

    /// Removes `node`, if it is still in the table, in one of the places that `slots` picks.
    #[inline]
    fn take_out<G: Reclaim>(
        &self,
        guard: &G,
        node: &Node<T>,
        slots: impl Fn(Meta) -> Slots,
    ) -> bool {
        let Ok(root) = self.root_for_writing(guard) else {
            return false;
        };
        let mut bucket = Bucket::lock(root, node.bits);
        let Some(place) = find_exact(&bucket, node, slots) else {
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

    /// Removes every entry that `keep` refuses. One that is replaced meanwhile is left to its
    /// successor.
    pub(crate) fn retain<G: Reclaim>(&self, guard: &G, mut keep: impl FnMut(&T) -> bool) {
        let mut sweep = Sweep::new();
        while let Some(node) = self.sweep_next(guard, &mut sweep) {
            if !keep(&node.value) {
                // The tag is not known here: the slot may have been another entry's when it was read.
                self.take_out(guard, node, |meta| meta.occupied(SLOTS));
            }
        }
    }

    /// Empties each bucket, one after the other.
    pub(crate) fn clear<G: Reclaim>(&self, guard: &G) {
        let mut cursor = Cursor::start();
        let mut nodes = Vec::new();
        while let Some(stop) = self.stop(guard, &cursor) {
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
        self.read_step(guard, &mut sweep.cursor, |line| match line {
            Some((line, meta)) => {
                nodes.extend(
                    meta.occupied(SLOTS)
                        .filter_map(|slot| load(guard, line, slot)),
                );
            }
            None => nodes.clear(),
        })
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
        let overflows = !ptr::eq(place.line, bucket.home);
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

/// The slot's word.
#[inline]
fn slot_of<T>(place: Place<'_, Boxed<T>>) -> &AtomicPtr<Node<T>> {
    // SAFETY: places are made from the slots of a word's tags, of which there are SLOTS.
    unsafe { place.line.slots.get_unchecked(place.slot) }
}

/// The node in a slot, for a reader.
#[inline]
fn load<'g, T, G: Reclaim>(
    guard: &'g G,
    line: &'g Line<Boxed<T>>,
    slot: usize,
) -> Option<&'g Node<T>> {
    // SAFETY: slots come from a word's tags, of which there are SLOTS.
    let pointer = unsafe { line.slots.get_unchecked(slot) };
    // Ordering: a `protect`; it pairs with the Release stores of slots (I1).
    let node = guard.protect(pointer);
    // SAFETY: null, or a node that was published whole and, if it was unlinked, retired after the
    // guard was entered: it was found by the root and a home word loaded under the guard (I6).
    unsafe { node.as_ref() }
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

/// Goes on where the home line of `array`, whose word was `meta`, did not decide: to the next array
/// if the bucket has moved (tested first: a moved bucket's link leads to entries that may be gone),
/// along the link otherwise.
///
/// A walk needs no second look at the home line: a moved bucket's lines stay as they are until the
/// array goes.
#[cold]
#[inline(never)]
fn find_beyond<'g, T, G: Reclaim>(
    guard: &'g G,
    mut array: &'g Array<Boxed<T>>,
    mut meta: Meta,
    parts: HashParts,
    eq: &mut impl FnMut(&T) -> bool,
) -> Option<&'g Node<T>> {
    loop {
        if meta.is_moved() {
            array = array.next().expect("moved buckets have a next array");
        } else if meta.has_link() {
            // SAFETY: #1 has-link is set; #2 the array is borrowed for `'g`.
            let mut walk = unsafe { Walk::behind(array.home(parts.bits)) };
            let end = loop {
                match walk.step() {
                    Ok(line) => {
                        let found = find_in_line(guard, line, line.meta(), parts, eq);
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
        let found = find_in_line(guard, home, meta, parts, eq);
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
        match read_chain(array.home(bits), &mut read) {
            Ok(()) => return,
            Err(Disturbed::Moved) => {
                array = array.next().expect("moved buckets have a next array");
            }
            Err(Disturbed::Recycled) => {}
        }
    }
}

/// Whether the tag is anywhere in the bucket of `parts`, where its home line did not decide.
#[cold]
fn maybe_beyond<T>(array: &Array<Boxed<T>>, parts: HashParts) -> bool {
    let mut maybe = false;
    read_bucket(array, parts.bits, |line| match line {
        Some((_, meta)) => maybe |= !meta.matches(parts.tag, SLOTS).is_empty(),
        None => maybe = false,
    });
    maybe
}

/// The first equal entry of a locked bucket.
#[inline]
fn find_locked<'g, T>(
    bucket: &Bucket<'g, Boxed<T>>,
    parts: HashParts,
    mut eq: impl FnMut(&T) -> bool,
) -> Option<(Place<'g, Boxed<T>>, &'g Node<T>)> {
    let matching = |meta: Meta| meta.matches(parts.tag, SLOTS);
    bucket.find_place(matching, |place| {
        // Ordering: Relaxed; slots are written under the lock.
        let node = slot_of(place).load(Ordering::Relaxed);
        // SAFETY: null, or an entry of a locked bucket: nobody can unlink it before the unlock,
        // and then the guard that the caller holds keeps it.
        let node = unsafe { node.as_ref() }?;
        (node.bits == parts.bits && eq(&node.value)).then_some((place, node))
    })
}

/// Where that very node is in its locked bucket, among the places that `slots` picks.
#[inline]
fn find_exact<'g, T>(
    bucket: &Bucket<'g, Boxed<T>>,
    node: &Node<T>,
    slots: impl Fn(Meta) -> Slots,
) -> Option<Place<'g, Boxed<T>>> {
    bucket.find_place(slots, |place| {
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

impl<T> fmt::Debug for Sweep<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sweep")
            .field("cursor", &self.cursor)
            .finish_non_exhaustive()
    }
}
