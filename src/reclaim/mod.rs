//! The seam between the engine and reclamation.
//!
//! The engine unlinks objects and hands them over; this module frees them once no guard can still
//! reach them. The engine knows two traits: [`Reclaim`], what a guard can do for it, and
//! [`Retired`], how an object is freed in the end. Two implementations stand behind the same public
//! names `Collector` and `Guard`:
//!
//! * `hyaline` (feature `std`): the `seize` crate.
//! * `tickets` (without `std`, and under loom): a list of guards and a list of garbage under a
//!   lock. It frees each object at the earliest moment allowed, which is what a model wants, and
//!   says so when the engine reaches an object after that moment.
//!
//! The contract of both, on which I6 (retired-after-unlinked) rests: an object retired through a
//! guard is freed after every guard that was active at that moment has gone, provided that it could
//! no longer be found by then.

use core::fmt;
use core::ptr::{self, NonNull};

use alloc::boxed::Box;

use crate::sync::{AtomicPtr, Ordering};

#[cfg(all(feature = "std", not(nulls_loom)))]
mod hyaline;
#[cfg(all(feature = "std", not(nulls_loom)))]
mod thread;
#[cfg(all(feature = "std", not(nulls_loom)))]
pub use hyaline::{Collector, CollectorBuilder, Guard};

#[cfg(any(nulls_loom, not(feature = "std")))]
mod tickets;
#[cfg(any(nulls_loom, not(feature = "std")))]
pub use tickets::{Collector, CollectorBuilder, Guard};

/// An object that can be retired.
///
/// # Safety
///
/// `reclaim` must not unwind: the implementations call it among other objects' and owe those
/// theirs.
pub(crate) unsafe trait Retired: Sized {
    /// Frees the object.
    ///
    /// # Safety
    ///
    /// 1. `object` was allocated as this type's own rules say and has not been freed.
    /// 2. No reference to it exists or will be made.
    unsafe fn reclaim(object: NonNull<Self>);
}

/// What the engine asks of a guard.
///
/// # Safety
///
/// An implementation keeps the contract in the module's header.
pub(crate) unsafe trait Reclaim {
    /// Loads a pointer to an object that may be retired; what it points to stays valid as long as
    /// the guard.
    fn protect<T>(&self, pointer: &AtomicPtr<T>) -> *mut T;

    /// Hands `object` over, to be freed when no guard can reach it.
    ///
    /// # Safety
    ///
    /// 1. `object` meets #1 of [`Retired::reclaim`].
    /// 2. No guard entered from now on can find it, and it is retired once.
    /// 3. It stays valid until the collector is dropped at the latest; so does what it borrows.
    unsafe fn retire<R: Retired>(&self, object: NonNull<R>);

    /// The same for a large object that should leave as soon as it can, not when a batch happens to
    /// be full.
    ///
    /// # Safety
    ///
    /// As for [`retire`](Self::retire).
    unsafe fn retire_at_once<R: Retired>(&self, object: NonNull<R>);

    /// A small number that differs between most threads, for striped counters.
    fn stripe(&self) -> usize;
}

/// Runs a destructor of the caller's inside [`Retired::reclaim`], where a panic must not go on.
pub(crate) fn catch(destructor: impl FnOnce()) {
    #[cfg(all(feature = "std", not(nulls_loom)))]
    hyaline::catch(destructor);
    #[cfg(any(nulls_loom, not(feature = "std")))]
    tickets::catch(destructor);
}

/// A pinned view's hold on a guard: a [`Guard`] of its own or a reference to one. Sealed.
#[expect(
    private_bounds,
    reason = "sealed: unsafe code trusts the two implementations here only"
)]
pub trait Pin: Sealed {}

pub(crate) trait Sealed {
    fn guard(&self) -> &Guard<'_>;
}

impl Pin for Guard<'_> {}

impl Sealed for Guard<'_> {
    #[inline]
    fn guard(&self) -> &Guard<'_> {
        self
    }
}

impl Pin for &Guard<'_> {}

impl Sealed for &Guard<'_> {
    #[inline]
    fn guard(&self) -> &Guard<'_> {
        self
    }
}

/// A table's collector: given, or made when the table is first pinned.
pub(crate) struct TableCollector {
    /// Null, or a leaked box that `drop` takes back. Set once, by compare-exchange; never changed
    /// after.
    collector: AtomicPtr<Collector>,
    /// Whether the collector may be shared with other tables; one that was made here never is.
    given: bool,
}

impl TableCollector {
    #[cfg(not(nulls_loom))]
    pub(crate) const fn unset() -> Self {
        Self {
            collector: AtomicPtr::new(ptr::null_mut()),
            given: false,
        }
    }

    #[cfg(nulls_loom)]
    pub(crate) fn unset() -> Self {
        Self {
            collector: AtomicPtr::new(ptr::null_mut()),
            given: false,
        }
    }

    pub(crate) fn new(collector: Collector) -> Self {
        Self {
            collector: AtomicPtr::new(Box::into_raw(Box::new(collector))),
            given: true,
        }
    }

    /// The collector, if it was given: it may be given to other tables too.
    pub(crate) fn given(&self) -> Option<&Collector> {
        self.get().filter(|_| self.given)
    }

    /// The collector; made now if there is none yet.
    #[inline]
    pub(crate) fn get_or_make(&self) -> &Collector {
        match self.get() {
            Some(collector) => collector,
            None => self.make(),
        }
    }

    /// # Panics
    ///
    /// If the guard is of another collector.
    #[inline]
    pub(crate) fn assert_guard(&self, guard: &Guard<'_>) {
        assert!(
            self.get()
                .is_some_and(|collector| collector.is(guard.collector())),
            "`with_guard` takes a guard of the collector that the table was built with"
        );
    }

    #[inline]
    fn get(&self) -> Option<&Collector> {
        // Ordering: Acquire pairs with the Release of the compare-exchange in `make`; with Relaxed
        // the pointer could be seen before the collector behind it.
        let collector = self.collector.load(Ordering::Acquire);
        // SAFETY: null, or a box leaked by `make` or `new`, which lives until `drop` has `&mut
        // self`.
        unsafe { collector.as_ref() }
    }

    #[cold]
    fn make(&self) -> &Collector {
        let made = Box::into_raw(Box::new(Collector::new()));
        // Ordering: Release publishes the collector, Acquire on failure sees the winner's; both
        // pair with `get`.
        let winner = match self.collector.compare_exchange(
            ptr::null_mut(),
            made,
            Ordering::AcqRel,
            Ordering::Acquire,
        ) {
            Ok(_) => made,
            Err(winner) => {
                // SAFETY: `made` came from `Box::into_raw` above and was not published.
                drop(unsafe { Box::from_raw(made) });
                winner
            }
        };
        // SAFETY: as in `get`; the winner is not null.
        unsafe { &*winner }
    }
}

impl Drop for TableCollector {
    fn drop(&mut self) {
        // Ordering: Relaxed; `&mut self` means that every other access has happened before.
        let collector = self.collector.load(Ordering::Relaxed);
        if !collector.is_null() {
            // SAFETY: a box leaked by `make` or `new`, and nobody can borrow it any more.
            drop(unsafe { Box::from_raw(collector) });
        }
    }
}

impl fmt::Debug for TableCollector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.get().fmt(f)
    }
}
