//! Reclamation by the `seize` crate (Hyaline).
//!
//! What `seize` promises and what is added here: a guard is a concrete type of this crate; a guard
//! that outlives its thread's slot aborts (see [`super::thread`]); nothing given to `seize`
//! unwinds, because it would leak the rest of the batch; an array is retired together with enough
//! empty entries that its batch leaves at once.

use core::fmt;
use core::panic::AssertUnwindSafe;
use core::ptr::NonNull;
use std::panic::catch_unwind;

use alloc::sync::Arc;

use seize::Guard as _;

use super::{Reclaim, Retired, thread};
use crate::sync::{AtomicPtr, AtomicU64, Ordering};

/// Entries a thread gathers before it hands them over, which costs a system call. By measurement:
/// see `benches/record/batch-size.csv`, written by the program of the same name.
const BATCH_SIZE: usize = 512;

/// The largest batch: more would only hold memory back.
const MAX_BATCH_SIZE: usize = 1 << 16;

/// With how many empty entries an array is retired, so that it leaves at once if no more guards are
/// active than these.
const FILL: usize = 128;

/// Destructors that panicked in a deferred drop, process-wide: `seize` gives a reclaimer no
/// context.
static CAUGHT_PANICS: AtomicU64 = AtomicU64::new(0);

/// Decides when removed entries and outgrown arrays can be freed.
///
/// Each table makes a collector of its own when it is first pinned. Give several tables one
/// collector (through their builders) to look them all up under one [`Guard`], or to set the batch
/// size.
///
/// Cloning is cheap and gives the same collector. What is still waiting is freed when the last
/// clone, table and guard have gone; so a value that owns one of them must not wait in it, since
/// such a cycle is never freed.
///
/// # Examples
///
/// ```
/// use nulls::{Collector, NullsHashMap};
///
/// let collector = Collector::builder().batch_size(64).build();
/// let names: NullsHashMap<u32, String> = NullsHashMap::builder().collector(collector.clone()).build();
/// let sizes: NullsHashMap<u32, usize> = NullsHashMap::builder().collector(collector.clone()).build();
///
/// let guard = collector.guard();
/// let (names, sizes) = (names.with_guard(&guard), sizes.with_guard(&guard));
/// names.insert(1, "one".to_string());
/// sizes.insert(1, names.get(&1).map_or(0, |name| name.len()));
/// assert_eq!(sizes.get(&1), Some(&3));
/// ```
#[derive(Clone)]
pub struct Collector {
    shared: Arc<Shared>,
}

struct Shared {
    seize: seize::Collector,
    batch_size: usize,
}

impl Collector {
    /// A collector with the default batch size.
    pub fn new() -> Self {
        Self::builder().build()
    }

    /// Sets a collector up.
    pub fn builder() -> CollectorBuilder {
        CollectorBuilder {
            batch_size: BATCH_SIZE,
        }
    }

    /// Enters a read section on every table that shares this collector.
    ///
    /// # Complexity
    ///
    /// One store to a line of this thread's own; one more atomic exchange when the guard is
    /// dropped. Keep a guard for a batch of look-ups rather than one a look-up, and no longer
    /// than that: one guard held keeps everything removed since from being freed.
    #[inline]
    pub fn guard(&self) -> Guard<'_> {
        if thread::is_ending() {
            return self.guard_of_ending_thread();
        }
        // In this order, see `thread`.
        let entered = Entered::ByThread(self.shared.seize.enter());
        Guard {
            collector: self,
            entered,
            stripe: thread::guard_made(),
        }
    }

    /// A destructor of thread-local storage may use a table, but not this thread's slot any more.
    #[cold]
    fn guard_of_ending_thread(&self) -> Guard<'_> {
        let entered = Entered::ByItself(self.shared.seize.enter_owned());
        Guard {
            collector: self,
            entered,
            stripe: 0,
        }
    }

    #[inline]
    pub(crate) fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.shared, &other.shared)
    }

    /// How many values' destructors have panicked while they were freed, in the whole process. Such
    /// a panic is caught, since it would come up in whichever thread frees the batch, and
    /// everything else is freed all the same.
    pub fn caught_panics() -> u64 {
        // Ordering: Relaxed; a statistic.
        CAUGHT_PANICS.load(Ordering::Relaxed)
    }
}

impl Default for Collector {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Collector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Collector")
            .field("batch_size", &self.shared.batch_size)
            .finish_non_exhaustive()
    }
}

/// Sets a [`Collector`] up.
#[derive(Clone, Debug)]
pub struct CollectorBuilder {
    batch_size: usize,
}

impl CollectorBuilder {
    /// How many removed entries a thread gathers before it hands them over (512 by default;
    /// between 1 and 65,536).
    ///
    /// Handing over costs a system call, so small batches make removals dear; up to one batch a
    /// thread and collector waits without limit of time. When more guards are active than a
    /// batch has entries, the batch waits for some to leave: choose it well above the number of
    /// threads.
    #[must_use]
    pub fn batch_size(mut self, entries: usize) -> Self {
        self.batch_size = entries.clamp(1, MAX_BATCH_SIZE);
        self
    }

    /// Makes the collector.
    pub fn build(self) -> Collector {
        let seize = seize::Collector::new().batch_size(self.batch_size);
        Collector {
            shared: Arc::new(Shared {
                seize,
                batch_size: self.batch_size,
            }),
        }
    }
}

/// A read section: what is found under it stays valid until it is dropped.
///
/// Made by [`Collector::guard`], or by a table's `pin` inside the view. Guards nest. A guard
/// belongs to its thread:
///
/// ```compile_fail
/// let collector = nulls::Collector::new();
/// let guard = collector.guard();
/// std::thread::scope(|s| s.spawn(move || drop(guard)));
/// ```
///
/// # Aborts
///
/// A guard that is not dropped by the time its thread ends aborts the process: it was forgotten
/// (`mem::forget`), or is kept in thread-local storage that is destroyed after this crate's own
/// mark on the thread. Its slot would go to another thread with it. (A guard made inside such
/// storage's destructor is fine.)
pub struct Guard<'c> {
    collector: &'c Collector,
    entered: Entered<'c>,
    stripe: usize,
}

enum Entered<'c> {
    ByThread(seize::LocalGuard<'c>),
    /// With a slot of the guard's own, see [`Collector::guard_of_ending_thread`]; the guard stays
    /// on its thread all the same, as the type is not `Send`.
    ByItself(seize::OwnedGuard<'c>),
}

impl Guard<'_> {
    /// Leaves the read section and enters a new one, so that what was removed meanwhile can be
    /// freed.
    ///
    /// Does nothing while another guard of this thread and collector is active.
    ///
    /// ```
    /// let collector = nulls::Collector::new();
    /// let mut guard = collector.guard();
    /// guard.refresh();
    /// ```
    pub fn refresh(&mut self) {
        match &mut self.entered {
            Entered::ByThread(local) => local.refresh(),
            Entered::ByItself(owned) => owned.refresh(),
        }
    }

    /// Hands over what this thread has gathered so far, however little it is. Nothing happens when
    /// more guards are active than entries were gathered.
    pub fn flush(&self) {
        match &self.entered {
            Entered::ByThread(local) => local.flush(),
            Entered::ByItself(owned) => owned.flush(),
        }
    }

    #[inline]
    pub(crate) fn collector(&self) -> &Collector {
        self.collector
    }

    /// # Safety
    ///
    /// As for [`Reclaim::retire`].
    #[inline]
    unsafe fn defer<R: Retired>(&self, object: NonNull<R>) {
        match &self.entered {
            // SAFETY: by the caller; the object outlives every guard that is active now.
            Entered::ByThread(local) => unsafe { local.defer_retire(object.as_ptr(), free::<R>) },
            // SAFETY: the same.
            Entered::ByItself(owned) => unsafe { owned.defer_retire(object.as_ptr(), free::<R>) },
        }
    }
}

// SAFETY: `seize` keeps the module's contract, for loads that go through its `protect` and objects
// given to `defer_retire`, as long as the guard's slot is its own: a thread's slot is while any guard
// of the thread is alive (see `thread`), and a guard that entered by itself owns its slot.
unsafe impl Reclaim for Guard<'_> {
    #[inline]
    fn protect<T>(&self, pointer: &AtomicPtr<T>) -> *mut T {
        // Ordering: `seize` loads with SeqCst whatever it is given: the load takes part in the
        // total order with the store that made this guard active and with the heavy barrier
        // of whoever retires.
        match &self.entered {
            Entered::ByThread(local) => local.protect(pointer, Ordering::SeqCst),
            Entered::ByItself(owned) => owned.protect(pointer, Ordering::SeqCst),
        }
    }

    #[inline]
    unsafe fn retire<R: Retired>(&self, object: NonNull<R>) {
        // SAFETY: by the caller.
        unsafe { self.defer(object) };
    }

    unsafe fn retire_at_once<R: Retired>(&self, object: NonNull<R>) {
        // SAFETY: by the caller.
        unsafe { self.retire(object) };
        // A batch leaves when it has an entry for each active guard.
        for _ in 0..self.collector.shared.batch_size.min(FILL) {
            // SAFETY: `Nothing` may be reclaimed through any pointer, any number of times.
            unsafe { self.defer(NonNull::<Nothing>::dangling()) };
        }
        self.flush();
    }

    #[inline]
    fn stripe(&self) -> usize {
        self.stripe
    }
}

impl Drop for Guard<'_> {
    #[inline]
    fn drop(&mut self) {
        // Before the fields, hence before the slot is left.
        if matches!(self.entered, Entered::ByThread(_)) {
            thread::guard_dropped();
        }
    }
}

impl fmt::Debug for Guard<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Guard").finish_non_exhaustive()
    }
}

/// Fills a batch up.
struct Nothing;

// SAFETY: does not unwind.
unsafe impl Retired for Nothing {
    unsafe fn reclaim(_: NonNull<Self>) {}
}

/// What `seize` calls.
///
/// # Safety
///
/// As for [`Retired::reclaim`].
unsafe fn free<R: Retired>(object: *mut R, _: &seize::Collector) {
    // SAFETY: only pointers from `NonNull`s are given to `seize`.
    let object = unsafe { NonNull::new_unchecked(object) };
    // SAFETY: by the caller.
    unsafe { R::reclaim(object) };
}

/// Runs a destructor of the caller's where a panic must not go on: it is counted and dropped.
pub(super) fn catch(destructor: impl FnOnce()) {
    if let Err(payload) = catch_unwind(AssertUnwindSafe(destructor)) {
        // Ordering: Relaxed; a statistic.
        CAUGHT_PANICS.fetch_add(1, Ordering::Relaxed);
        // The payload is a value of the caller's too, whose own destructor may panic; it is not
        // worth a second try.
        core::mem::forget(payload);
    }
}
