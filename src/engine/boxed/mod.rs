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

use core::marker::PhantomData;
use core::mem::needs_drop;
use core::ptr::NonNull;

use alloc::boxed::Box;
use alloc::vec::Vec;

use super::array::Array;
use super::bucket::{Bucket, Place};
use super::hash::{HashParts, StoredBits};
use super::layout::{Layout, Move, MoveError, Relocate};
use super::line::Line;
use super::memory::try_box;
use super::prefetch::prefetch;
use super::{Growth, Table};
use crate::reclaim::{Reclaim, Retired, catch};
use crate::sync::{AtomicPtr, Ordering};

mod read;
mod write;

pub(crate) use read::Sweep;
pub(crate) use write::TryInsertError;

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

impl<T> Table<Boxed<T>> {
    #[cfg(not(nulls_loom))]
    pub(crate) const fn boxed(shift: u32, growth: Growth) -> Self {
        Self::new(shift, growth, Boxed(PhantomData))
    }

    #[cfg(nulls_loom)]
    pub(crate) fn boxed(shift: u32, growth: Growth) -> Self {
        Self::new(shift, growth, Boxed(PhantomData))
    }
}

// SAFETY: the table owns its entries and gives them to whoever has it; garbage is dropped by threads
// that hold a guard, which borrow the table or, with a shared collector, were promised a `T` that is
// `Send`.
unsafe impl<T: Send> Send for Table<Boxed<T>> {}

// SAFETY: a shared table gives out `&T` (hence `Sync`) and drops entries that another thread
// inserted (hence `Send`).
unsafe impl<T: Send + Sync> Sync for Table<Boxed<T>> {}

// SAFETY: #1 null pointers are valid, and six of them with two words are 64 bytes; #2 six slots of one
// line, and the indexing here is checked.
unsafe impl<T> Layout for Boxed<T> {
    const SLOTS: usize = SLOTS;
    const LINES: usize = 1;
    const VERSIONED: bool = false;
    /// Five of six slots: fuller, and a third of all look-ups would read an overflow line; emptier,
    /// and a `u64` to `u64` entry would cost more than 48 bytes in the mean.
    const GROWTH_LOAD: usize = 8 * if cfg!(nulls_loom) { 2 } else { 5 };
    const NEEDS_DROP: bool = true;

    type Slots = [AtomicPtr<Node<T>>; SLOTS];

    #[cfg(nulls_loom)]
    fn new_slots() -> Self::Slots {
        core::array::from_fn(|_| AtomicPtr::new(core::ptr::null_mut()))
    }

    const INDIRECT: bool = true;

    #[inline]
    fn prefetch(slots: &Self::Slots, slot: usize) {
        // Ordering: Relaxed; a hint.
        prefetch(slots[slot].load(Ordering::Relaxed));
    }

    unsafe fn drop_entry(slots: &Self::Slots, slot: usize) {
        // Ordering: Relaxed; exclusive access.
        if let Some(node) = NonNull::new(slots[slot].load(Ordering::Relaxed)) {
            // SAFETY: by the caller.
            unsafe { Node::reclaim(node) };
        }
    }
}

// SAFETY: every tagged slot of the locked bucket, once; the bits are the node's own.
unsafe impl<T> Relocate for Boxed<T> {
    fn lock_to_move<'a>(
        _: &Table<Self>,
        array: &'a Array<Self>,
        index: usize,
        moves: &mut Vec<Move<'a, Self>>,
    ) -> Result<Bucket<'a, Self>, MoveError> {
        let bucket = Bucket::lock_in(array, index)?;
        let places = || bucket.places(|meta| meta.occupied(SLOTS));
        moves
            .try_reserve(places().count())
            .map_err(|_| MoveError::NoMemory)?;
        moves.extend(places().filter_map(|from| {
            let tag = bucket.meta_of(from.line).tag(from.slot)?;
            // Ordering: Relaxed; slots are written under the lock.
            let node = from.line.slots[from.slot].load(Ordering::Relaxed);
            // SAFETY: tagged under the lock, so the slot holds an entry, alive while the lock is
            // held.
            let bits = unsafe { (*node).bits };
            Some(Move { from, tag, bits })
        }));
        Ok(bucket)
    }

    unsafe fn copy<'a>(entry: &Move<'a, Self>, bucket: &mut Bucket<'a, Self>, to: Place<'a, Self>) {
        let Place { line, slot } = entry.from;
        bucket.set_tag(to, entry.tag);
        // Ordering: Relaxed, by the lock of the old bucket. Release publishes the node to readers
        // of the new one: they come by *moved* or the new root, but also, on a recycled
        // line, from another bucket.
        let node = line.slots[slot].load(Ordering::Relaxed);
        to.line.slots[to.slot].store(node, Ordering::Release);
    }
}

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
