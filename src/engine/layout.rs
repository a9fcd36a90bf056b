//! The seam between what all tables share and how entries lie in a line.
//!
//! Locking, chains, markers, overflow lines, growth and sweeps are the same for every table. A
//! layout says how many slots a line has, what a slot is made of, and how an entry is copied to
//! another line and freed in the end. The boxed layout (`super::boxed`) is one pointer a slot; an
//! inline layout keeps key and value words in the line.

use super::hash::StoredBits;

/// How entries lie in a line.
///
/// # Safety
///
/// 1. `Slots` is valid when all bytes are zero, and a line made of it is at most 64 bytes.
/// 2. `SLOTS` is at most 6, and every method is sound for slots below it.
/// 3. `stored_bits` returns the same for an entry as long as it lives, wherever it is copied.
pub(crate) unsafe trait Layout: Sized {
    /// Slots, hence tags, in a line.
    const SLOTS: usize;

    /// What a line holds between its control word and its link.
    type Slots;

    #[cfg(nulls_loom)]
    fn new_slots() -> Self::Slots;

    /// The hash bits of the entry in `slot`, by which it finds its bucket in an array of another
    /// size.
    ///
    /// # Safety
    ///
    /// The slot holds an entry that stays alive during the call.
    unsafe fn stored_bits(slots: &Self::Slots, slot: usize) -> StoredBits;

    /// Asks the processor to fetch what `stored_bits` will read.
    fn prefetch(slots: &Self::Slots, slot: usize);

    /// Makes the entry in `slot` of `from` reachable in `to_slot` of `to` too. The old slot does
    /// not change.
    ///
    /// # Safety
    ///
    /// 1. The slot holds an entry; the caller holds the lock of its bucket.
    /// 2. `to_slot` is tagged and holds no entry, in a line only the caller writes.
    unsafe fn copy(from: &Self::Slots, slot: usize, to: &Self::Slots, to_slot: usize);

    /// Drops the entry in `slot`.
    ///
    /// # Safety
    ///
    /// The slot holds an entry, the caller has exclusive access to the table, and the entry is not
    /// used again.
    unsafe fn drop_entry(slots: &Self::Slots, slot: usize);
}
