//! The system's allocator, and how many bytes are held of it.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};

/// Counts while [`count`] runs. At other times it costs one load of a word that nobody writes, for every peer
/// alike.
pub struct Counting;

static ON: AtomicBool = AtomicBool::new(false);

/// Bytes asked for and not given back, as they were asked for. Wraps.
static HELD: AtomicUsize = AtomicUsize::new(0);

/// Runs `f` with counting switched on. Hands it a function that tells how many bytes have been asked for
/// and not given back since: less than none, if more was given back.
pub fn count<R>(f: impl FnOnce(&dyn Fn() -> isize) -> R) -> R {
    ON.store(true, Relaxed);
    let before = HELD.load(Relaxed);
    let result = f(&|| HELD.load(Relaxed).wrapping_sub(before).cast_signed());
    ON.store(false, Relaxed);
    result
}

fn add(bytes: usize) {
    if ON.load(Relaxed) {
        HELD.fetch_add(bytes, Relaxed);
    }
}

// SAFETY: everything is the system allocator's; the counter touches no memory of it.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        add(layout.size());
        // SAFETY: the caller's contract is the same.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        add(layout.size());
        // SAFETY: the caller's contract is the same.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        add(size.wrapping_sub(layout.size()));
        // SAFETY: the caller's contract is the same.
        unsafe { System.realloc(memory, layout, size) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        add(layout.size().wrapping_neg());
        // SAFETY: the caller's contract is the same.
        unsafe { System.dealloc(memory, layout) }
    }
}
