//! This crate's own mark on a thread.
//!
//! `seize` gives a thread's slot back in a thread-local destructor. A guard kept in thread-local
//! storage that is destroyed later would share its slot with whichever thread got it next. The mark
//! is made after `seize`'s, so it is destroyed before; a guard that finds it gone knows that its
//! own slot is no longer safe to touch.

use crate::sync::{AtomicUsize, Ordering};

struct Mark {
    stripe: usize,
}

// Without a destructor the thread-local would never count as gone.
impl Drop for Mark {
    fn drop(&mut self) {}
}

std::thread_local! {
    static MARK: Mark = Mark {
        stripe: {
            static NEXT: AtomicUsize = AtomicUsize::new(0);
            // Ordering: Relaxed; any number will do.
            NEXT.fetch_add(1, Ordering::Relaxed)
        },
    };
}

/// This thread's number, counted from the process's start; `None` once the thread's locals are
/// being destroyed.
#[inline]
pub(super) fn stripe() -> Option<usize> {
    MARK.try_with(|mark| mark.stripe).ok()
}

/// Whether the thread's locals are being destroyed.
#[inline]
pub(super) fn is_ending() -> bool {
    MARK.try_with(|_| ()).is_err()
}
