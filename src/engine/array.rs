//! An array of buckets, and all that goes with it: its overflow lines, its successor, the state of
//! its migration.
//!
//! | field | written by | read by |
//! |---|---|---|
//! | `lines`, `mask` | `new` | anyone who has the array |
//! | `next` | once, by compare-exchange, when a migration starts | anyone, Acquire |
//! | `cursor` | movers, Relaxed: a hint | movers |
//! | `moved` | movers, AcqRel | movers: full means that root may swing |

use core::fmt;
use core::ptr::{self, NonNull};

use alloc::boxed::Box;

use super::hash::{MAX_BUCKETS, StoredBits};
use super::layout::Layout;
use super::line::Line;
use super::memory::{AllocError, Lines, try_box};
use super::pool::Pool;
use crate::reclaim::Retired;
use crate::sync::{AtomicPtr, AtomicUsize, CachePadded, Ordering};

/// In the order of use: what every operation reads comes first, in one cache line that is written
/// once in the array's life, when its migration starts; what movers and overflowing writers write
/// has lines of its own.
#[repr(C)]
pub(crate) struct Array<L: Layout> {
    /// The home lines' address again, beside the mask: a look-up reads these two words.
    first: NonNull<Line<L>>,
    mask: u32,
    /// The array that entries are moving to; null until a migration starts, and never null again.
    next: AtomicPtr<Self>,
    lines: Lines<L>,
    pub(super) migration: CachePadded<Migration>,
    pub(super) pool: CachePadded<Pool<L>>,
}

/// The lines of a bucket that lie side by side in the array: the home line alone, or two.
pub(crate) struct Front<'a, L: Layout> {
    /// The first: its word has the lock, *moved*, *has-link* and the bucket's version.
    pub(super) home: &'a Line<L>,
    /// The last, maybe the home line too: its link leads to the overflow lines.
    pub(super) last: &'a Line<L>,
}

impl<L: Layout> Clone for Front<'_, L> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<L: Layout> Copy for Front<'_, L> {}

impl<L: Layout> Front<'_, L> {
    #[inline]
    pub(super) fn contains(&self, line: &Line<L>) -> bool {
        ptr::eq(line, self.home) || ptr::eq(line, self.last)
    }

    /// Whether the bucket has never had an entry, so that its memory was never written.
    #[inline]
    pub(super) fn is_untouched(&self) -> bool {
        self.home.meta().is_zero() && self.last.meta().is_zero()
    }
}

/// How far the move to the next array has come.
pub(super) struct Migration {
    /// Where the next mover begins. A hint: it wraps, and only a bucket's lock claims a bucket.
    pub(super) cursor: AtomicUsize,
    /// Buckets moved.
    pub(super) moved: AtomicUsize,
}

// SAFETY: an array is lines and counters, all written by the protocol; what its entries allow is
// decided by the table's own `Send` and `Sync`.
unsafe impl<L: Layout> Send for Array<L> {}

// SAFETY: as for `Send`.
unsafe impl<L: Layout> Sync for Array<L> {}

impl<L: Layout> Array<L> {
    /// An array of at least `buckets` empty buckets.
    pub(super) fn new(buckets: usize) -> Result<Box<Self>, AllocError> {
        let buckets = buckets.checked_next_power_of_two().ok_or(AllocError)?;
        if buckets > MAX_BUCKETS {
            return Err(AllocError);
        }
        let lines = Lines::new(buckets * L::LINES)?;
        #[expect(clippy::cast_possible_truncation, reason = "MAX_BUCKETS is 2^31")]
        let mask = (buckets - 1) as u32;
        let array = Self {
            first: lines.first(),
            mask,
            next: AtomicPtr::new(ptr::null_mut()),
            lines,
            migration: CachePadded::new(Migration {
                cursor: AtomicUsize::new(0),
                moved: AtomicUsize::new(0),
            }),
            pool: CachePadded::new(Pool::new()),
        };
        try_box(array).map_err(|_| AllocError)
    }

    #[inline]
    pub(super) fn buckets(&self) -> usize {
        self.mask as usize + 1
    }

    #[inline]
    pub(super) fn mask(&self) -> u32 {
        self.mask
    }

    /// The home line of an entry.
    #[inline]
    pub(super) fn home(&self, bits: StoredBits) -> &Line<L> {
        self.bucket(bits.home(self.mask))
    }

    /// The home line of bucket `index`, which wraps.
    #[inline]
    pub(super) fn bucket(&self, index: usize) -> &Line<L> {
        self.line(index, 0)
    }

    /// The lines of bucket `index`, which wraps, that lie in the array.
    #[inline]
    pub(super) fn front(&self, index: usize) -> Front<'_, L> {
        Front {
            home: self.line(index, 0),
            last: self.line(index, L::LINES - 1),
        }
    }

    /// Line `number`, below `LINES`, of bucket `index`.
    #[inline]
    fn line(&self, index: usize, number: usize) -> &Line<L> {
        let index = index & self.mask as usize;
        // SAFETY: masked, so inside the array's lines, of which each bucket has `LINES`.
        let line = unsafe { self.first.add(index * L::LINES + number) };
        // SAFETY: lines are initialised (zeros are valid), only ever shared, and live as long as
        // the array.
        unsafe { line.as_ref() }
    }

    /// The next array, once a migration has started.
    ///
    /// Ordering: Acquire pairs with the Release in `set_next`; with Relaxed the array could be seen
    /// before its lines.
    #[inline]
    pub(super) fn next(&self) -> Option<&Self> {
        let next = self.next.load(Ordering::Acquire);
        // SAFETY: null, or an array that was published here. It is retired only after it was root
        // in its turn, later than `self` (I6, in order), so it lives at least as long as
        // whoever has a reference to `self`.
        unsafe { next.as_ref() }
    }

    /// Starts a migration to `next`, unless one has been started: then `next`, which nobody has
    /// seen, is dropped.
    pub(super) fn set_next(&self, next: Box<Self>) {
        let next = Box::into_raw(next);
        // Ordering: Release publishes the array, pairs with `next`.
        let result =
            self.next
                .compare_exchange(ptr::null_mut(), next, Ordering::Release, Ordering::Relaxed);
        if result.is_err() {
            // SAFETY: from `into_raw` above, never visible.
            drop(unsafe { Box::from_raw(next) });
        }
    }

    /// Takes the next array, for dropping the table.
    ///
    /// # Safety
    ///
    /// The caller has exclusive access to the table.
    pub(super) unsafe fn take_next(&self) -> Option<Box<Self>> {
        // Ordering: Relaxed; exclusive access.
        let next = self.next.load(Ordering::Relaxed);
        // SAFETY: from `Box::into_raw` in `set_next`; this array is being dropped, so it is taken
        // once.
        (!next.is_null()).then(|| unsafe { Box::from_raw(next) })
    }

    /// Bytes asked of the allocator for this array and its overflow lines.
    pub(super) fn bytes(&self) -> usize {
        size_of::<Self>() + self.lines.bytes() + self.pool.usage().2
    }
}

// SAFETY: frees words only, no value of the caller's: cannot unwind.
unsafe impl<L: Layout> Retired for Array<L> {
    unsafe fn reclaim(array: NonNull<Self>) {
        // Its entries have all moved to the next array and are not this one's to drop; overflow
        // lines go with it.
        //
        // SAFETY: arrays are boxes, by the caller nobody can reach this one.
        drop(unsafe { Box::from_raw(array.as_ptr()) });
    }
}

impl<L: Layout> fmt::Debug for Array<L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Array")
            .field("buckets", &self.buckets())
            .finish_non_exhaustive()
    }
}
