//! Growth: how entries move to a larger array while everyone goes on.
//!
//! A migration starts when the load is reached (never by chain length: a constant hasher must not
//! double for ever). From then on every writer that comes moves up to [`MOVE_BATCH`] buckets, while
//! it holds no lock. Readers never help and never wait: a bucket is in the old array until its
//! *moved* flag is set and in the new one after (I7), and all that it was stays readable where it
//! was. There is one migration at a time (P16); whoever finds the last bucket moved swings the
//! root, and who wins that retires the old array, lines, chunks and all (I6).
//!
//! A mover that gets no memory for overflow lines leaves its bucket where it is; the cursor wraps,
//! and another mover tries again. Nothing waits for it.

use core::ptr::NonNull;

use alloc::vec::Vec;

use super::array::Array;
use super::bucket::Bucket;
use super::layout::{Layout, Move, MoveError, Relocate};
use super::memory::AllocError;
use super::{Growth, Table};
use crate::reclaim::Reclaim;
use crate::sync::{Backoff, Ordering};

/// Buckets that one writing call moves at most.
pub(crate) const MOVE_BATCH: usize = if cfg!(nulls_loom) { 1 } else { 32 };

/// Buckets of the first array of a table that was given no capacity.
const FIRST_BUCKETS: usize = if cfg!(nulls_loom) { 1 } else { 4 };

/// From this many buckets on, a table counts its entries in stripes.
const STRIPED_FROM: usize = 256;

/// How many buckets hold `entries` within the growth load.
pub(super) fn buckets_for<L: Layout>(entries: usize) -> Result<usize, AllocError> {
    let eighths = entries.checked_mul(8).ok_or(AllocError)?;
    Ok(eighths.div_ceil(L::GROWTH_LOAD).max(FIRST_BUCKETS))
}

/// How many entries an array holds within the growth load.
pub(super) fn room_in<L: Layout>(array: &Array<L>) -> usize {
    // In another order it could overflow on a 32-bit machine, or lose what is over eight buckets.
    array.buckets() / 8 * L::GROWTH_LOAD + array.buckets() % 8 * L::GROWTH_LOAD / 8
}

impl<L: Layout> Table<L> {
    /// Makes a first array of at least `buckets` buckets, unless there is one.
    pub(super) fn install_root(&self, buckets: usize) -> Result<(), AllocError> {
        let array = Array::new(buckets)?;
        self.spread_counter(&array);
        self.publish_root(array);
        Ok(())
    }

    fn spread_counter(&self, array: &Array<L>) {
        if array.buckets() >= STRIPED_FROM {
            self.count.spread();
        }
    }

    fn swing_root<G: Reclaim>(&self, guard: &G, root: &Array<L>, next: &Array<L>) {
        let old = core::ptr::from_ref(root).cast_mut();
        let new = core::ptr::from_ref(next).cast_mut();
        // Ordering: AcqRel; Release publishes all that was moved, pairs with the SeqCst load in
        // `root`. Before the old array is retired: who enters after that must not find it
        // (I6).
        if self
            .root
            .compare_exchange(old, new, Ordering::AcqRel, Ordering::Relaxed)
            .is_ok()
        {
            // SAFETY: #1 the root was a box leaked by `publish_root` or `set_next`; #2 it is
            // unreachable now that root has swung, and the compare-exchange succeeds
            // once; #3 an array borrows nothing, and no entry is dropped with it.
            unsafe { guard.retire_at_once(NonNull::from(root)) };
        }
    }
}

impl<L: Relocate> Table<L> {
    /// The root array, made if there is none, for an operation that writes; a migration under way
    /// is helped on first.
    #[inline]
    pub(super) fn root_for_writing<'g, G: Reclaim>(
        &self,
        guard: &'g G,
    ) -> Result<&'g Array<L>, AllocError> {
        let Some(root) = self.root(guard) else {
            return self.make_root(guard);
        };
        if root.next().is_some() {
            self.help(guard, root);
        }
        Ok(root)
    }

    #[cold]
    fn make_root<'g, G: Reclaim>(&self, guard: &'g G) -> Result<&'g Array<L>, AllocError> {
        self.install_root(FIRST_BUCKETS)?;
        Ok(self
            .root(guard)
            .expect("a root array, once there is one, is only ever replaced"))
    }

    /// Called after an insertion that found its home line full, with no lock held: starts a
    /// migration if the load says so. `before` is what this writer's stripe of the count was
    /// before; the sum of all stripes is only taken every eighth time, unless the table is
    /// small.
    #[cold]
    pub(super) fn consider_growth<G: Reclaim>(&self, guard: &G, before: isize) {
        let Some(root) = self.root(guard) else { return };
        if self.growth == Growth::Fixed || root.next().is_some() {
            return;
        }
        let often = root.buckets() <= 64 || before % 8 == 0;
        if often && self.count.sum() > room_in(root) {
            // Without memory the table goes on, fuller.
            let _ = self.start_migration(root, root.buckets() * 2);
        }
    }

    /// Starts the migration of `root` to an array of `buckets` buckets. `root` is the root array:
    /// one that was root and is no more has a next array, and nothing happens.
    fn start_migration(&self, root: &Array<L>, buckets: usize) -> Result<(), AllocError> {
        let next = Array::new(buckets)?;
        debug_assert!(next.buckets() > root.buckets());
        self.spread_counter(&next);
        root.set_next(next);
        Ok(())
    }

    /// Moves some buckets, and swings the root if they were the last.
    #[cold]
    #[inline(never)]
    pub(super) fn help<G: Reclaim>(&self, guard: &G, root: &Array<L>) {
        let batch = MOVE_BATCH.min(root.buckets());
        // Without memory a bucket stays: whoever helps next tries again.
        let _ = self.move_some(guard, root, batch);
    }

    /// Finishes the migration of `root`, in this thread.
    fn finish_migration<G: Reclaim>(&self, guard: &G, root: &Array<L>) -> Result<(), AllocError> {
        // One pass over all buckets waits for each one's lock, so afterwards every bucket has moved
        // or has failed to for want of memory.
        self.move_some(guard, root, root.buckets())?;
        // The count may be short of a mover that has not come to count what it moved. This thread
        // has seen *moved* in every bucket, and need not wait for it.
        if let Some(next) = root.next() {
            self.swing_root(guard, root, next);
        }
        Ok(())
    }

    /// Moves up to `count` buckets from the cursor on.
    fn move_some<G: Reclaim>(
        &self,
        guard: &G,
        root: &Array<L>,
        count: usize,
    ) -> Result<(), AllocError> {
        let Some(next) = root.next() else {
            return Ok(());
        };
        // Ordering: Relaxed; a hint that spreads the movers out.
        let start = root.migration.cursor.fetch_add(count, Ordering::Relaxed);
        let mut tally = Tally {
            table: self,
            guard,
            root,
            next,
            moved: 0,
        };
        let mut moves = Vec::new();
        let mut result = Ok(());
        prefetch_bucket(root, start);
        for i in 0..count {
            let index = start.wrapping_add(i);
            prefetch_bucket(root, index.wrapping_add(1));
            moves.clear();
            match self.move_bucket(root, next, index & root.mask() as usize, &mut moves) {
                Ok(()) => tally.moved += 1,
                Err(MoveError::Moved) => {}
                Err(MoveError::NoMemory) => result = Err(AllocError),
            }
        }
        result
    }

    /// Makes room for `additional` entries more, finishing in this thread whatever migration that
    /// takes.
    pub(crate) fn reserve<G: Reclaim>(
        &self,
        guard: &G,
        additional: usize,
    ) -> Result<(), AllocError> {
        let entries = self.len().checked_add(additional).ok_or(AllocError)?;
        let wanted = buckets_for::<L>(entries)?
            .checked_next_power_of_two()
            .ok_or(AllocError)?;
        let backoff = Backoff::new();
        loop {
            let Some(root) = self.root(guard) else {
                self.install_root(wanted)?;
                continue;
            };
            if root.next().is_some() {
                self.finish_migration(guard, root)?;
                // Another mover may still have to count what it has moved.
                backoff.snooze();
            } else if root.buckets() >= wanted || self.growth == Growth::Fixed {
                return Ok(());
            } else {
                self.start_migration(root, wanted)?;
            }
        }
    }

    /// Moves bucket `index` of `old` to the buckets of `new` that its entries' bits name.
    fn move_bucket<'a>(
        &self,
        old: &'a Array<L>,
        new: &'a Array<L>,
        index: usize,
        moves: &mut Vec<Move<'a, L>>,
    ) -> Result<(), MoveError> {
        let from = L::lock_to_move(self, old, index, moves)?;
        // However the entries divide, their new chains need no more lines beside the homes than one
        // dense chain of all of them would. Obtained before the first store.
        let lines = moves.len().div_ceil(L::SLOTS).saturating_sub(L::LINES);
        let mut reserved = new.pool.reserve(lines, new.buckets())?;
        for entry in moves {
            // The old index and more bits of the hash: never a bucket that is not this mover's
            // alone.
            let target = entry.bits.home(new.mask() & !old.mask()) | index;
            let mut to = Bucket::of_mover(new, target);
            let free = to
                .free_place_in_front()
                .unwrap_or_else(|| to.add_line(&mut reserved));
            // SAFETY: the entry's bucket is locked, and the target is this mover's.
            unsafe { L::copy(entry, &mut to, free) };
        }
        from.set_moved();
        Ok(())
    }
}

/// How many buckets a mover has moved. Counted when it is dropped, so also if the `Hash` of an inline
/// key panics in the middle: what is moved would otherwise never be counted, and the migration never
/// end.
struct Tally<'a, L: Layout, G: Reclaim> {
    table: &'a Table<L>,
    guard: &'a G,
    root: &'a Array<L>,
    next: &'a Array<L>,
    moved: usize,
}

impl<L: Layout, G: Reclaim> Drop for Tally<'_, L, G> {
    fn drop(&mut self) {
        // Ordering: AcqRel; the thread that finds the count full has every mover's stores behind it
        // when it publishes the next array as root. With Relaxed a reader that comes by the new root
        // could find a bucket still empty.
        let counted = &self.root.migration.moved;
        let before = counted.fetch_add(self.moved, Ordering::AcqRel);
        if before + self.moved == self.root.buckets() {
            self.table.swing_root(self.guard, self.root, self.next);
        }
    }
}

/// Fetches what moving bucket `index` will read: its entries' stored bits, each in a line of its
/// own.
fn prefetch_bucket<L: Layout>(array: &Array<L>, index: usize) {
    if cfg!(nulls_loom) || !L::INDIRECT {
        // A model would only try more orders of loads that decide nothing.
        return;
    }
    let home = array.bucket(index);
    for slot in home.meta_hint().occupied(L::SLOTS) {
        L::prefetch(&home.slots, slot);
    }
}

#[cfg(all(test, feature = "std", not(nulls_loom)))]
mod tests {
    use super::*;
    use crate::engine::boxed::Boxed;
    use crate::engine::hash::{HashParts, StoredBits};

    #[test]
    fn a_target_is_where_a_reader_looks() {
        let bits: StoredBits = HashParts::new(0xdead_beef_1234_5678, 0).bits;
        for (old, new) in [(0u32, 1u32), (3, 7), (3, 0xff), (0xffff, 0x1_ffff)] {
            let index = bits.home(old);
            assert_eq!(bits.home(new & !old) | index, bits.home(new));
        }
    }

    #[test]
    fn capacity_is_within_the_growth_load() {
        for entries in [0, 1, 5, 20, 21, 1000, 1 << 20] {
            let buckets = buckets_for::<Boxed<u64>>(entries).expect("not too many");
            let array = Array::<Boxed<u64>>::new(buckets).expect("a small array");
            assert!(room_in(&array) >= entries);
        }
        assert!(buckets_for::<Boxed<u64>>(usize::MAX).is_err());
    }
}
