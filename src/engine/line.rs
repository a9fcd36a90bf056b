//! One cache line of a bucket, and the links that join lines into a chain.
//!
//! ```text
//!  0        8                                        56        64
//! ├─ meta ──┼─ slots (six entry pointers, boxed) ────┼─ link ──┤
//! ```
//!
//! The first line of a bucket, its *home line*, lies in the array; overflow lines lie in the
//! array's chunks. `link` holds the address of the next line, or ends the chain in a *nulls
//! marker*: the address of the chain's home line with bit 0 set (I4). A reader that was carried
//! into another chain, because the line it stood on was recycled, knows by a marker that is not its
//! own.
//!
//! | field | written by | read by |
//! |---|---|---|
//! | `meta` | the holder of the home's lock bit, Release; the lock bit by compare-exchange, Acquire | anyone: SeqCst for the first load of an attempt, Acquire after |
//! | `slots` | the holder of the home's lock bit | anyone, as the layout says |
//! | `link` | the holder of the home's lock bit, Release | anyone, Acquire |

use core::fmt;
use core::ptr::NonNull;

use super::layout::Layout;
use super::meta::Meta;
use crate::sync::{AtomicPtr, AtomicU64, Ordering};

/// A home line or an overflow line. All zeros is an empty bucket: no tag, no lock, no link.
#[repr(C, align(64))]
pub(crate) struct Line<L: Layout> {
    meta: AtomicU64,
    pub(super) slots: L::Slots,
    /// In the front of a bucket without *has-link*: not read, maybe null.
    link: AtomicPtr<Self>,
}

#[cfg(all(not(nulls_loom), target_pointer_width = "64"))]
const _: () = assert!(size_of::<Line<super::boxed::Boxed<u64>>>() == 64);

/// Where a link leads.
pub(crate) enum Link<'a, L: Layout> {
    Line(&'a Line<L>),
    Marker(Marker),
}

/// The end of a chain: names the bucket whose chain it is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Marker(usize);

impl<L: Layout> Line<L> {
    #[cfg(nulls_loom)]
    pub(super) fn new_for_loom() -> Self {
        Self {
            meta: AtomicU64::new(0),
            slots: L::new_slots(),
            link: AtomicPtr::new(core::ptr::null_mut()),
        }
    }

    /// The first load of an attempt, and the first after each restart.
    ///
    /// Ordering: SeqCst. Together with the root's load it decides which entries a reader can find,
    /// so it must be in one total order with the store that made the reader's guard active and
    /// with the barrier of whoever retires: with Acquire the guard's store could still be on
    /// its way when this load reads the old word, and the collector would free what the old
    /// word shows. (Loom takes SeqCst for Acquire and cannot tell; this rests on the argument
    /// and on Miri.)
    #[inline]
    pub(super) fn meta_first(&self) -> Meta {
        Meta::from_word(self.meta.load(Ordering::SeqCst))
    }

    /// Ordering: Acquire pairs with the Release of `store_meta`: whoever sees a tag, a link bit or
    /// *moved* sees what the writer stored before it.
    #[inline]
    pub(super) fn meta(&self) -> Meta {
        Meta::from_word(self.meta.load(Ordering::Acquire))
    }

    /// Ordering: Relaxed; for waiting only, `try_lock` decides.
    #[inline]
    pub(super) fn meta_hint(&self) -> Meta {
        Meta::from_word(self.meta.load(Ordering::Relaxed))
    }

    /// For the holder of the home's lock only (I3).
    ///
    /// Ordering: Release, whatever is stored: publishes what precedes it (a null before a tag is
    /// cleared, a link before *has-link*, the next array's entries before *moved*) to every
    /// Acquire load of the word, and the whole critical section to the next holder of the lock.
    #[inline]
    pub(super) fn store_meta(&self, meta: Meta) {
        self.meta.store(meta.word(), Ordering::Release);
    }

    /// Sets the lock bit if the word is still `seen`.
    ///
    /// Ordering: Acquire pairs with the Release of the last holder's `store_meta`. A
    /// compare-exchange and never a store: as a read-modify-write it continues the release
    /// sequence, so a reader that acquires the locked word sees what the previous holder
    /// published.
    #[inline]
    pub(super) fn try_lock(&self, seen: Meta) -> bool {
        debug_assert!(!seen.is_locked() && !seen.is_moved());
        self.meta
            .compare_exchange_weak(
                seen.word(),
                seen.locked().word(),
                Ordering::Acquire,
                Ordering::Relaxed,
            )
            .is_ok()
    }

    /// The marker of this home line.
    #[inline]
    pub(super) fn marker(&self) -> Marker {
        Marker(core::ptr::from_ref(self).addr() | 1)
    }

    /// Where the chain goes on.
    ///
    /// Ordering: Acquire pairs with `store_link`: the line behind the link is seen empty, or as
    /// filled since, but not as it was in its former chain; and, as each link read brings the
    /// writers' earlier sections with it, lines that stay in a chain are met in their order
    /// (I5).
    ///
    /// # Safety
    ///
    /// 1. The link is set: this is a linked overflow line, or the last line of a front whose home was
    ///    seen with *has-link*.
    /// 2. The line's array lives for `'a`.
    #[inline]
    pub(super) unsafe fn link<'a>(&self) -> Link<'a, L> {
        let link = self.link.load(Ordering::Acquire);
        debug_assert!(!link.is_null(), "a link that is read is never null");
        if link.addr() & 1 == 1 {
            return Link::Marker(Marker(link.addr()));
        }
        // SAFETY: not a marker, so the address of a line of the same array (#1: links are set by
        // `store_link` and `copy_link` only), which lives for `'a` (#2).
        Link::Line(unsafe { &*link })
    }

    /// Where the link leads, maybe nowhere; for prefetching only.
    #[inline]
    pub(super) fn link_hint(&self) -> *const Self {
        // Ordering: Relaxed; a hint.
        self.link.load(Ordering::Relaxed)
    }

    /// Ordering: Release publishes the line that is linked, pairs with `link`.
    #[inline]
    pub(super) fn store_link(&self, next: NonNull<Self>) {
        self.link.store(next.as_ptr(), Ordering::Release);
    }

    /// Ends the chain of `home` here.
    ///
    /// Ordering: Release, as for `store_link`.
    #[inline]
    pub(super) fn store_marker(&self, home: &Self) {
        let marker = core::ptr::from_ref(home)
            .cast_mut()
            .map_addr(|address| address | 1);
        self.link.store(marker, Ordering::Release);
    }

    /// Makes this line's link what `from`'s is.
    ///
    /// Ordering: Relaxed load, as the caller holds the lock under which `from` was written; Release
    /// as for `store_link`.
    #[inline]
    pub(super) fn copy_link(&self, from: &Self) {
        self.link
            .store(from.link.load(Ordering::Relaxed), Ordering::Release);
    }
}

impl<L: Layout> fmt::Debug for Line<L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Line")
            .field("meta", &self.meta_hint())
            .finish_non_exhaustive()
    }
}
