//! The seam between what all tables share and how entries lie in a line.
//!
//! Locking, chains, markers, overflow lines, growth and sweeps are the same for every table. A
//! layout says how many slots a line has, what a slot is made of, and how entries come into another
//! array and are freed in the end. The boxed layout ([`super::boxed`]) is one pointer a slot; the
//! inline layout ([`super::inline`]) keeps key and value words in the line.

use alloc::vec::Vec;

use super::Table;
use super::array::Array;
use super::bucket::{Bucket, Moved, Place};
use super::hash::{StoredBits, Tag};
use super::memory::AllocError;
use super::meta::Meta;

/// How entries lie in a line.
///
/// # Safety
///
/// 1. `Slots` is valid when all bytes are zero, and a line made of it is at most 64 bytes.
/// 2. `SLOTS` is at most 6, or 4 if `VERSIONED`, and every method is sound for slots below it.
///    `LINES` is 1 or 2.
pub(crate) unsafe trait Layout: Sized {
    /// Slots, hence tags, in a line.
    const SLOTS: usize;

    /// Lines of a bucket that lie side by side in the array.
    const LINES: usize;

    /// Whether a line's word carries a version, which changes with what the line holds.
    const VERSIONED: bool;

    /// Whether the home's word has room to say which tags may be in the lines behind it.
    const FILTERED: bool = !(Self::VERSIONED && Self::SLOTS > 3);

    /// Entries a bucket, on average and in eighths, at which a table grows.
    const GROWTH_LOAD: usize;

    /// What a line holds between its control word and its link.
    type Slots;

    #[cfg(nulls_loom)]
    fn new_slots() -> Self::Slots;

    /// Whether entries lie outside of the line.
    const INDIRECT: bool;

    /// Asks the processor to fetch the entry in `slot`, if it lies outside of the line.
    fn prefetch(slots: &Self::Slots, slot: usize);

    /// Whether `drop_entry` does anything.
    const NEEDS_DROP: bool;

    /// Drops the entry in `slot`.
    ///
    /// # Safety
    ///
    /// The slot holds an entry, the caller has exclusive access to the table, and the entry is not
    /// used again.
    unsafe fn drop_entry(slots: &Self::Slots, slot: usize);
}

/// Whether a miss in a home line whose word is `meta` is to be looked for elsewhere: in the next array
/// or in the lines behind it.
#[inline]
pub(super) fn leads_on<L: Layout>(meta: Meta, tag: Tag) -> bool {
    const { assert!(L::FILTERED || L::LINES == 1) };
    if L::FILTERED {
        meta.may_be_behind(tag, L::SLOTS)
    } else {
        meta.is_moved() || meta.has_link()
    }
}

/// How entries come into another array.
///
/// # Safety
///
/// After `lock_to_move` every entry of the locked bucket is in `moves`, once.
pub(crate) unsafe trait Relocate: Layout {
    /// Locks bucket `index` of `array` and puts its entries into `moves`, which is empty.
    fn lock_to_move<'a>(
        table: &Table<Self>,
        array: &'a Array<Self>,
        index: usize,
        moves: &mut Vec<Move<'a, Self>>,
    ) -> Result<Bucket<'a, Self>, MoveError>;

    /// Makes an entry reachable in a free `place` of `bucket` too. Its old slot does not change.
    ///
    /// # Safety
    ///
    /// The entry's bucket is locked by the caller and `bucket` is a bucket of this mover's.
    unsafe fn copy<'a>(
        entry: &Move<'a, Self>,
        bucket: &mut Bucket<'a, Self>,
        place: Place<'a, Self>,
    );
}

/// An entry on its way to another array.
pub(crate) struct Move<'a, L: Layout> {
    pub(super) from: Place<'a, L>,
    pub(super) tag: Tag,
    pub(super) bits: StoredBits,
}

/// Why a bucket does not move.
pub(crate) enum MoveError {
    /// It has moved already.
    Moved,
    /// It stays where it is.
    NoMemory,
}

impl From<Moved> for MoveError {
    fn from(_: Moved) -> Self {
        Self::Moved
    }
}

impl From<AllocError> for MoveError {
    fn from(_: AllocError) -> Self {
        Self::NoMemory
    }
}
