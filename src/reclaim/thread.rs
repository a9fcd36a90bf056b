//! This crate's own mark on a thread.
//!
//! `seize` gives a thread's slot back in a thread-local destructor. A guard kept in thread-local
//! storage that is destroyed later would share its slot with whichever thread got it next. The mark
//! is made after `seize`'s, so it is destroyed before; a guard that finds it gone knows that its
//! own slot is no longer safe to touch.

use core::cell::Cell;

use crate::sync::{AtomicUsize, Ordering};

struct Mark {
    /// This thread's number, from 1; 0 before it has one.
    number: Cell<usize>,
}

// Without a destructor the thread-local would never count as gone.
impl Drop for Mark {
    fn drop(&mut self) {}
}

std::thread_local! {
    static MARK: Mark = const { Mark { number: Cell::new(0) } };
}

/// This thread's number; `None` once the thread's locals are being destroyed.
#[inline]
pub(super) fn number() -> Option<usize> {
    MARK.try_with(|mark| match mark.number.get() {
        0 => new_number(mark),
        number => number,
    })
    .ok()
}

#[cold]
fn new_number(mark: &Mark) -> usize {
    static NEXT: AtomicUsize = AtomicUsize::new(1);
    // Ordering: Relaxed; any number will do.
    mark.number.set(NEXT.fetch_add(1, Ordering::Relaxed));
    mark.number.get()
}

/// Whether the thread's locals are being destroyed.
#[inline]
pub(super) fn is_ending() -> bool {
    MARK.try_with(|_| ()).is_err()
}
