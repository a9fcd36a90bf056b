//! This crate's own mark on a thread.
//!
//! `seize` gives a thread's slot back in a thread-local destructor. A guard that is still there then
//! (kept in thread-local storage that is destroyed later, or forgotten) would share its slot with
//! whichever thread got it next, and lose its protection when that one leaves. The mark is made
//! after `seize`'s, so it is destroyed before (thread-locals go in the reverse order of their
//! making): whoever finds a guard alive at that moment aborts, while the slot is still its own.

use core::cell::Cell;
use std::io::Write;
use std::process::abort;

use crate::sync::{AtomicUsize, Ordering};

const UNMARKED: usize = 0;
const ENDING: usize = usize::MAX;

struct Thread {
    /// This thread's number, or one of the two above.
    number: Cell<usize>,
    /// Guards of this thread that are entered by its slot.
    guards: Cell<usize>,
}

std::thread_local! {
    /// Without a destructor: readable to the end.
    static THREAD: Thread = const { Thread { number: Cell::new(UNMARKED), guards: Cell::new(0) } };

    static MARK: Mark = const { Mark };
}

struct Mark;

impl Drop for Mark {
    fn drop(&mut self) {
        THREAD.with(|thread| {
            thread.number.set(ENDING);
            if thread.guards.get() != 0 {
                let message = "nulls: a guard outlives its thread, or was forgotten; aborting";
                let _ = writeln!(std::io::stderr(), "{message}");
                abort();
            }
        });
    }
}

/// Whether the mark has gone: the thread's locals are being destroyed.
#[inline]
pub(super) fn is_ending() -> bool {
    THREAD.with(|thread| thread.number.get() == ENDING)
}

/// Counts a guard in, after it has entered `seize`, and returns the thread's number.
#[inline]
pub(super) fn guard_made() -> usize {
    THREAD.with(|thread| {
        thread.guards.set(thread.guards.get() + 1);
        match thread.number.get() {
            UNMARKED => mark(thread),
            number => number,
        }
    })
}

/// Counts a guard out.
#[inline]
pub(super) fn guard_dropped() {
    THREAD.with(|thread| thread.guards.set(thread.guards.get() - 1));
}

#[cold]
fn mark(thread: &Thread) -> usize {
    static NEXT: AtomicUsize = AtomicUsize::new(UNMARKED + 1);
    MARK.with(|_| ());
    // Ordering: Relaxed; any number will do.
    thread.number.set(NEXT.fetch_add(1, Ordering::Relaxed));
    thread.number.get()
}
