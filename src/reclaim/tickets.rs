//! Reclamation by a list: for targets without `std`, and for models.
//!
//! Every guard draws a ticket; an object is stamped with the next ticket when it is retired, and is
//! freed when all guards with smaller tickets have gone: at the earliest moment the contract
//! allows. Entering and leaving take a lock, so readers do write shared memory here; a target that
//! minds brings a scheme of its own behind the seam.
//!
//! Under loom the lock is std's, which the model does not see: it adds no interleavings and no
//! happens-before edges. The edges that a real collector gives come from the two `SeqCst` fences,
//! as in `seize` without its asymmetric barrier. (The asymmetric barrier itself is not modelled.)
//! And nothing is freed before the collector is dropped: [`Reclaim::protect`] panics instead when
//! it meets an object that was retired before its guard was entered, whether or not another guard
//! would still have kept it.

use core::fmt;
use core::ptr::NonNull;

use alloc::sync::Arc;
use alloc::vec::Vec;

use super::{Reclaim, Retired};
#[cfg(not(nulls_loom))]
use crate::engine::SpinLock;
use crate::sync::{AtomicPtr, Ordering, fence};

/// Decides when removed entries and outgrown arrays can be freed.
#[derive(Clone)]
pub struct Collector {
    shared: Arc<Shared>,
}

struct Shared {
    #[cfg(not(nulls_loom))]
    state: SpinLock<State>,
    #[cfg(nulls_loom)]
    state: std::sync::Mutex<State>,
    #[cfg(nulls_loom)]
    order: crate::sync::AtomicUsize,
}

#[derive(Default)]
struct State {
    next_ticket: u64,
    active: Vec<u64>,
    garbage: Vec<Garbage>,
}

struct Garbage {
    stamp: u64,
    object: NonNull<()>,
    reclaim: unsafe fn(NonNull<()>),
}

// SAFETY: garbage is of types that the table promised may be freed by any thread that holds a
// guard.
unsafe impl Send for Garbage {}

impl State {
    #[cfg(not(nulls_loom))]
    fn take_expired(&mut self) -> Vec<Garbage> {
        let oldest = self.active.iter().copied().min().unwrap_or(u64::MAX);
        self.garbage
            .extract_if(.., |garbage| garbage.stamp <= oldest)
            .collect()
    }

    /// Nothing is freed before the collector is dropped.
    #[cfg(nulls_loom)]
    #[expect(clippy::unused_self, reason = "the shape of the other one")]
    fn take_expired(&mut self) -> Vec<Garbage> {
        Vec::new()
    }

    /// When `object` was retired, if it was.
    #[cfg(nulls_loom)]
    fn stamp_of(&self, object: *mut ()) -> Option<u64> {
        self.garbage
            .iter()
            .find(|garbage| garbage.object.as_ptr() == object)
            .map(|garbage| garbage.stamp)
    }
}

impl Shared {
    /// Has loom try both orders of entering and retiring, of which it would otherwise see nothing.
    #[cfg(nulls_loom)]
    fn let_others_go_first(&self) {
        // Ordering: Relaxed, so that it adds no happens-before edge.
        self.order.fetch_add(1, Ordering::Relaxed);
    }

    fn with_state<R>(&self, f: impl FnOnce(&mut State) -> R) -> R {
        #[cfg(not(nulls_loom))]
        return f(&mut self.state.lock());
        #[cfg(nulls_loom)]
        return f(&mut self
            .state
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner));
    }
}

/// # Safety
///
/// Every object may be reclaimed now, by [`Retired::reclaim`]'s rules.
unsafe fn free(garbage: Vec<Garbage>) {
    for object in garbage {
        // SAFETY: by the caller, and `reclaim` is the object's own (see `retire`).
        unsafe { (object.reclaim)(object.object) };
    }
}

impl Collector {
    /// A new collector.
    pub fn new() -> Self {
        let state = State::default();
        #[cfg(not(nulls_loom))]
        let state = SpinLock::new(state);
        #[cfg(nulls_loom)]
        let state = std::sync::Mutex::new(state);
        Self {
            shared: Arc::new(Shared {
                state,
                #[cfg(nulls_loom)]
                order: crate::sync::AtomicUsize::new(0),
            }),
        }
    }

    /// Sets a collector up.
    pub fn builder() -> CollectorBuilder {
        CollectorBuilder { _private: () }
    }

    /// Enters a read section on every table that shares this collector.
    pub fn guard(&self) -> Guard<'_> {
        #[cfg(nulls_loom)]
        self.shared.let_others_go_first();
        let ticket = self.shared.with_state(|state| {
            let ticket = state.next_ticket;
            state.next_ticket += 1;
            state.active.push(ticket);
            ticket
        });
        // Ordering: SeqCst pairs with the fence in `retire`. If that one came first, this guard's
        // loads see what was unlinked before it; if this one came first, the object is
        // stamped after this guard's ticket was drawn.
        fence(Ordering::SeqCst);
        Guard {
            collector: self,
            ticket,
            _not_send: core::marker::PhantomData,
        }
    }

    pub(crate) fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.shared, &other.shared)
    }
}

impl Default for Collector {
    fn default() -> Self {
        Self::new()
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        let garbage = self.with_state(|state| core::mem::take(&mut state.garbage));
        // SAFETY: guards borrow the collector, so there are none.
        unsafe { free(garbage) };
    }
}

impl fmt::Debug for Collector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Collector").finish_non_exhaustive()
    }
}

/// Sets a [`Collector`] up.
#[derive(Clone, Debug)]
pub struct CollectorBuilder {
    _private: (),
}

impl CollectorBuilder {
    /// Of no effect here: this collector has no batches.
    #[must_use]
    pub fn batch_size(self, _entries: usize) -> Self {
        self
    }

    /// Makes the collector.
    pub fn build(self) -> Collector {
        Collector::new()
    }
}

/// A read section: what is found under it stays valid until it is dropped.
pub struct Guard<'c> {
    collector: &'c Collector,
    ticket: u64,
    _not_send: core::marker::PhantomData<*mut ()>,
}

impl Guard<'_> {
    /// Leaves the read section and enters a new one, so that what was removed meanwhile can be
    /// freed.
    pub fn refresh(&mut self) {
        let collector = self.collector;
        *self = collector.guard();
    }

    /// Of no effect here: nothing is gathered.
    pub fn flush(&self) {}

    pub(crate) fn collector(&self) -> &Collector {
        self.collector
    }
}

// SAFETY: an object's stamp is above the tickets of all guards active when it was retired, and
// `take_expired` waits for those to go.
unsafe impl Reclaim for Guard<'_> {
    fn protect<T>(&self, pointer: &AtomicPtr<T>) -> *mut T {
        // Ordering: SeqCst as the real guard's `protect`; loom takes it for Acquire, hence the
        // fence in `guard`.
        let loaded = pointer.load(Ordering::SeqCst);
        #[cfg(nulls_loom)]
        self.collector.shared.with_state(|state| {
            let stamp = state.stamp_of(loaded.cast());
            assert!(
                stamp.is_none_or(|stamp| stamp > self.ticket),
                "I6: reached an object that may have been freed"
            );
        });
        loaded
    }

    unsafe fn retire<R: Retired>(&self, object: NonNull<R>) {
        /// # Safety
        ///
        /// `object` is an `R`, and [`Retired::reclaim`]'s rules hold.
        unsafe fn reclaim<R: Retired>(object: NonNull<()>) {
            // SAFETY: by the caller.
            unsafe { R::reclaim(object.cast()) };
        }
        #[cfg(nulls_loom)]
        self.collector.shared.let_others_go_first();
        // Ordering: SeqCst pairs with the fence in `guard`.
        fence(Ordering::SeqCst);
        self.collector.shared.with_state(|state| {
            #[cfg(nulls_loom)]
            assert_eq!(
                state.stamp_of(object.as_ptr().cast()),
                None,
                "I6: retired twice"
            );
            let stamp = state.next_ticket;
            state.garbage.push(Garbage {
                stamp,
                object: object.cast(),
                reclaim: reclaim::<R>,
            });
        });
    }

    unsafe fn retire_at_once<R: Retired>(&self, object: NonNull<R>) {
        // SAFETY: by the caller.
        unsafe { self.retire(object) };
    }

    fn stripe(&self) -> usize {
        0
    }
}

impl Drop for Guard<'_> {
    fn drop(&mut self) {
        let garbage = self.collector.shared.with_state(|state| {
            state.active.retain(|&ticket| ticket != self.ticket);
            state.take_expired()
        });
        // SAFETY: every guard that could reach these objects has gone.
        unsafe { free(garbage) };
    }
}

impl fmt::Debug for Guard<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Guard").finish_non_exhaustive()
    }
}

/// Runs a destructor of the caller's. Without `std` a panic cannot be caught: it aborts, as a
/// second one would.
pub(super) fn catch(destructor: impl FnOnce()) {
    struct AbortOnUnwind;

    impl Drop for AbortOnUnwind {
        fn drop(&mut self) {
            panic!("a value's destructor panicked while it was reclaimed");
        }
    }

    let abort_on_unwind = AbortOnUnwind;
    destructor();
    core::mem::forget(abort_on_unwind);
}
