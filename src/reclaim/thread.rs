//! This crate's own mark on a thread.
//!
//! `seize` gives a thread's slot back in a thread-local destructor. A guard kept in thread-local
//! storage that is destroyed later would share its slot with whichever thread got it next. The mark
//! is made after `seize`'s, so it is destroyed before (thread-locals go in the reverse order of
//! their making); a guard that finds it gone knows that its own slot is no longer safe to touch.

use core::cell::Cell;

use crate::sync::{AtomicUsize, Ordering};

const UNMARKED: usize = 0;
const ENDING: usize = usize::MAX;

std::thread_local! {
    /// This thread's number, or one of the two above. Without a destructor: readable to the end.
    static NUMBER: Cell<usize> = const { Cell::new(UNMARKED) };

    static MARK: Mark = const { Mark };
}

struct Mark;

impl Drop for Mark {
    fn drop(&mut self) {
        NUMBER.set(ENDING);
    }
}

/// This thread's number, for one that has entered a `seize` collector and is not ending.
#[inline]
pub(super) fn number() -> usize {
    match NUMBER.get() {
        UNMARKED => mark(),
        number => number,
    }
}

#[cold]
fn mark() -> usize {
    static NEXT: AtomicUsize = AtomicUsize::new(UNMARKED + 1);
    MARK.with(|_| ());
    // Ordering: Relaxed; any number will do.
    NUMBER.set(NEXT.fetch_add(1, Ordering::Relaxed));
    NUMBER.get()
}

/// Whether the mark has gone: the thread's locals are being destroyed.
#[inline]
pub(super) fn is_ending() -> bool {
    NUMBER.get() == ENDING
}
