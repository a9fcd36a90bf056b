//! The only file that names atomics, cells, fences and waiting.
//!
//! Everything here is a re-export: of `core` normally, of `loom` under `--cfg nulls_loom`, so that the models run
//! the crate's own code. Nothing is re-interpreted. Three differences of loom are met where they arise: its atomics
//! are no plain words (memory cannot be taken zeroed, see `engine::memory`), its constructors are not `const`, and
//! its waiting loops must yield to the model ([`Backoff`]).

#[cfg(all(not(nulls_loom), not(feature = "std")))]
pub(crate) use core::sync::atomic::fence;
#[cfg(not(nulls_loom))]
pub(crate) use core::sync::atomic::{
    AtomicBool, AtomicIsize, AtomicPtr, AtomicU64, AtomicUsize, Ordering,
};
#[cfg(not(nulls_loom))]
pub(crate) use crossbeam_utils::Backoff;

#[cfg(nulls_loom)]
pub(crate) use loom::sync::atomic::{
    AtomicBool, AtomicIsize, AtomicPtr, AtomicU64, AtomicUsize, Ordering, fence,
};

pub(crate) use crossbeam_utils::CachePadded;

/// Waiting under loom: give the other threads of the model a turn.
#[cfg(nulls_loom)]
pub(crate) struct Backoff;

#[cfg(nulls_loom)]
impl Backoff {
    pub(crate) fn new() -> Self {
        Self
    }

    #[expect(clippy::unused_self, reason = "the shape of crossbeam's `Backoff`")]
    pub(crate) fn snooze(&self) {
        loom::thread::yield_now();
    }
}

/// `UnsafeCell` with loom's closure interface, so that loom sees each access.
#[cfg(not(nulls_loom))]
#[derive(Debug)]
pub(crate) struct UnsafeCell<T>(core::cell::UnsafeCell<T>);

#[cfg(not(nulls_loom))]
impl<T> UnsafeCell<T> {
    pub(crate) const fn new(value: T) -> Self {
        Self(core::cell::UnsafeCell::new(value))
    }

    pub(crate) fn with_mut<R>(&self, f: impl FnOnce(*mut T) -> R) -> R {
        f(self.0.get())
    }
}

#[cfg(nulls_loom)]
pub(crate) use loom::cell::UnsafeCell;
