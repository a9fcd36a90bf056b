//! The only file that names atomics, cells, fences and waiting.
//!
//! Everything here is a re-export: of `core` normally, of `loom` under `--cfg nulls_loom`, so that
//! the models run the crate's own code. Nothing is re-interpreted. Three differences of loom are
//! met where they arise: its atomics are no plain words (memory cannot be taken zeroed, see
//! `engine::memory`), its constructors are not `const`, and its waiting loops must yield to the
//! model ([`Backoff`]).

#[cfg(not(nulls_loom))]
pub(crate) use core::sync::atomic::{
    AtomicBool, AtomicIsize, AtomicPtr, AtomicU64, AtomicUsize, Ordering, fence,
};
#[cfg(not(nulls_loom))]
pub(crate) use crossbeam_utils::Backoff;

#[cfg(nulls_loom)]
pub(crate) use loom::sync::atomic::{Ordering, fence};
#[cfg(nulls_loom)]
pub(crate) use modelled::{AtomicBool, AtomicIsize, AtomicPtr, AtomicU64, AtomicUsize};

/// Loom's atomics, but that loads of one word count as dependent on each other.
///
/// Loom remembers the last access to a word alone. So a thread that loads and then stores it hides
/// from loom that another thread's load came before, and loom leaves out executions
/// (tokio-rs/loom#166, #392). Here each load changes a second word first, Relaxed: it orders no
/// memory, only makes loom try either order.
#[cfg(nulls_loom)]
mod modelled {
    use core::ops::Deref;

    use super::Ordering;
    use loom::sync::atomic;

    pub(crate) struct Atomic<A> {
        loads: atomic::AtomicUsize,
        word: A,
    }

    impl<A> Atomic<A> {
        fn count_load(&self) {
            self.loads.fetch_add(1, Ordering::Relaxed);
        }
    }

    impl<A> Deref for Atomic<A> {
        type Target = A;

        fn deref(&self) -> &A {
            &self.word
        }
    }

    macro_rules! atomics {
        ($($name:ident $(<$t:ident>)?: $value:ty,)*) => {$(
            pub(crate) type $name $(<$t>)? = Atomic<atomic::$name $(<$t>)?>;

            impl $(<$t>)? $name $(<$t>)? {
                pub(crate) fn new(value: $value) -> Self {
                    let (loads, word) = (atomic::AtomicUsize::new(0), atomic::$name::new(value));
                    Self { loads, word }
                }

                #[allow(dead_code, reason = "some words are never loaded alone")]
                pub(crate) fn load(&self, order: Ordering) -> $value {
                    self.count_load();
                    self.word.load(order)
                }
            }
        )*};
    }

    atomics! {
        AtomicBool: bool,
        AtomicIsize: isize,
        AtomicPtr<T>: *mut T,
        AtomicU64: u64,
        AtomicUsize: usize,
    }
}

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
