//! An arena that can be made read-only, and what is in it: see `tests/read_only.rs`.

use core::cell::Cell;
use core::ffi::{c_int, c_void};
use core::ptr::{self, NonNull};
use core::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};
use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::{Mutex, MutexGuard, PoisonError};

unsafe extern "C" {
    fn mmap(
        address: *mut c_void,
        length: usize,
        protection: c_int,
        flags: c_int,
        file: c_int,
        offset: i64,
    ) -> *mut c_void;
    fn mprotect(address: *mut c_void, length: usize, protection: c_int) -> c_int;
}

const PROT_READ: c_int = 1;
const PROT_WRITE: c_int = 2;
const MAP_PRIVATE: c_int = 2;
const MAP_ANONYMOUS: c_int = if cfg!(any(target_arch = "mips", target_arch = "mips64")) {
    0x800
} else {
    0x20
};
pub(crate) const SIGSEGV: i32 = 11;

const ARENA_BYTES: usize = 64 << 20;

static ARENA: AtomicPtr<u8> = AtomicPtr::new(ptr::null_mut());
static USED: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    /// Whether this thread allocates in the arena.
    static IN_ARENA: Cell<bool> = const { Cell::new(false) };
}

/// The system's allocator, and an arena that never takes anything back.
pub(crate) struct Arena;

#[global_allocator]
static ALLOCATOR: Arena = Arena;

impl Arena {
    fn carve(layout: Layout) -> *mut u8 {
        let arena = ARENA.load(Ordering::Acquire);
        let taken = USED.fetch_add(layout.size() + layout.align(), Ordering::Relaxed);
        if arena.is_null() || taken + layout.size() + layout.align() > ARENA_BYTES {
            return ptr::null_mut();
        }
        let start = arena.wrapping_add(taken);
        start.wrapping_add(start.align_offset(layout.align()))
    }

    pub(crate) fn holds(memory: *mut u8) -> bool {
        let arena = ARENA.load(Ordering::Acquire);
        !arena.is_null() && (arena.addr()..arena.addr() + ARENA_BYTES).contains(&memory.addr())
    }
}

// SAFETY: every block is the system's or a part of the arena that is given out once; a block's kind is told by its
// address.
unsafe impl GlobalAlloc for Arena {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if IN_ARENA.get() {
            return Self::carve(layout);
        }
        // SAFETY: by the caller.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        if IN_ARENA.get() {
            // Fresh from the system, hence zeros.
            return Self::carve(layout);
        }
        // SAFETY: by the caller.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        if !Self::holds(memory) {
            // SAFETY: by the caller; not the arena's, so the system's.
            unsafe { System.dealloc(memory, layout) };
        }
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        if !Self::holds(memory) {
            // SAFETY: by the caller; not the arena's, so the system's.
            return unsafe { System.realloc(memory, layout, size) };
        }
        // SAFETY: by the caller the new size is not zero and does not overflow with this alignment.
        let new_layout = unsafe { Layout::from_size_align_unchecked(size, layout.align()) };
        let new = Self::carve(new_layout);
        if !new.is_null() {
            // SAFETY: two blocks of at least so many bytes, one of them new.
            unsafe { new.copy_from_nonoverlapping(memory, layout.size().min(size)) };
        }
        new
    }
}

/// Maps the arena, and keeps other tests from using it meanwhile.
pub(crate) fn arena() -> MutexGuard<'static, ()> {
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    let one_at_a_time = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    if ARENA.load(Ordering::Acquire).is_null() {
        let protection = PROT_READ | PROT_WRITE;
        let flags = MAP_PRIVATE | MAP_ANONYMOUS;
        // SAFETY: asks for new memory at an address of the system's choice.
        let memory = unsafe { mmap(ptr::null_mut(), ARENA_BYTES, protection, flags, -1, 0) };
        assert_ne!(memory.addr(), usize::MAX, "no memory for the arena");
        ARENA.store(memory.cast(), Ordering::Release);
    }
    one_at_a_time
}

pub(crate) fn in_arena<R>(f: impl FnOnce() -> R) -> R {
    IN_ARENA.set(true);
    let result = f();
    IN_ARENA.set(false);
    result
}

fn protect(protection: c_int) {
    let arena = NonNull::new(ARENA.load(Ordering::Acquire)).expect("mapped");
    // SAFETY: the arena's own pages.
    let result = unsafe { mprotect(arena.as_ptr().cast(), ARENA_BYTES, protection) };
    assert_eq!(result, 0, "mprotect");
}

/// Runs `f` while the arena can only be read.
pub(crate) fn read_only<R>(f: impl FnOnce() -> R) -> R {
    protect(PROT_READ);
    let result = f();
    protect(PROT_READ | PROT_WRITE);
    result
}
