//! A look-up writes nothing into the table's memory, nor into its collector's: shown by the processor.
//!
//! Map, arrays, overflow lines, nodes and collector are carved out of an arena. Once a view is pinned the arena is
//! made read-only, and a hundred thousand look-ups and some iterations go on. A write would end the process with
//! `SIGSEGV`: other tests, in processes of their own, see that it does.

#![cfg(all(feature = "std", target_os = "linux", not(miri), not(nulls_loom)))]
#![allow(
    clippy::std_instead_of_alloc,
    clippy::std_instead_of_core,
    reason = "a test is a program of std"
)]

mod common;

use core::cell::Cell;
use core::ffi::{c_int, c_void};
use core::ptr::{self, NonNull};
use core::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};
use std::alloc::{GlobalAlloc, Layout, System};
use std::os::unix::process::ExitStatusExt;
use std::sync::{Mutex, MutexGuard, PoisonError};

use common::{Kind, Map, TestState, is_child, run_child};
use nulls::{Growth, NullsHashMapRef, NullsHashTable};

// ---- the arena ----

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
const SIGSEGV: i32 = 11;

const ARENA_BYTES: usize = 64 << 20;

static ARENA: AtomicPtr<u8> = AtomicPtr::new(ptr::null_mut());
static USED: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    /// Whether this thread allocates in the arena.
    static IN_ARENA: Cell<bool> = const { Cell::new(false) };
}

/// The system's allocator, and an arena that never takes anything back.
struct Arena;

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

    fn holds(memory: *mut u8) -> bool {
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
fn arena() -> MutexGuard<'static, ()> {
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

fn in_arena<R>(f: impl FnOnce() -> R) -> R {
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
fn read_only<R>(f: impl FnOnce() -> R) -> R {
    protect(PROT_READ);
    let result = f();
    protect(PROT_READ | PROT_WRITE);
    result
}

// ---- look-ups ----

/// A map of so many entries, itself and all it owns in the arena.
fn map_in_arena(kind: &Kind, entries: u64) -> &'static Map<u64, u64> {
    in_arena(|| {
        let map: &Map<u64, u64> = Box::leak(Box::new(kind.map()));
        for key in 0..entries {
            map.pin().insert(key, !key);
        }
        map
    })
}

fn pin(map: &'static Map<u64, u64>) -> NullsHashMapRef<'static, u64, u64, TestState> {
    in_arena(|| map.pin())
}

fn look_up_everything(map: &'static Map<u64, u64>, entries: u64) {
    let m = pin(map);
    let met = read_only(|| {
        for i in 0..100_000 {
            let hit = i % entries;
            let miss = entries + i;
            assert_eq!(m.get(&hit), Some(&!hit));
            assert_eq!(m.get(&miss), None);
            assert_eq!(m.get_key_value(&hit), Some((&hit, &!hit)));
            assert_eq!(m.get_key_value(&miss), None);
            assert!(m.contains_key(&hit) && !m.contains_key(&miss));
        }
        // What an iteration gathers is on the heap, as the flag is off.
        let met = m
            .iter()
            .map(|(key, value)| u64::from(*key == !value))
            .sum::<u64>();
        assert_eq!(
            (m.keys().count(), m.values().count(), map.len()),
            (map.len(), map.len(), map.len())
        );
        met
    });
    assert_eq!(met, entries);
}

#[test]
fn look_ups_write_nothing() {
    let _arena = arena();
    let entries = 1000;
    let map = map_in_arena(&Kind::plain(), entries);
    assert!(Arena::holds(ptr::from_ref(map).cast_mut().cast()));
    look_up_everything(map, entries);

    // One line after the other: keys in overflow lines, of one hash and of several.
    for hasher in [TestState::Sip, TestState::Constant, TestState::OneBucket] {
        let kind = Kind {
            hasher,
            growth: Growth::Fixed,
            capacity: 1,
            ..Kind::plain()
        };
        let map = map_in_arena(&kind, 60);
        assert!(map.stats().longest_chain > 1);
        look_up_everything(map, 60);
    }
}

#[test]
fn look_ups_in_the_middle_of_a_migration_write_nothing() {
    let _arena = arena();
    let map = map_in_arena(&Kind::plain(), 0);
    let mut entries = 0;
    for size in [1000, 5000, 20_000] {
        in_arena(|| {
            while entries < size || !map.stats().migrating {
                map.pin().insert(entries, !entries);
                entries += 1;
            }
        });
        look_up_everything(map, entries);
        assert!(map.stats().migrating, "look-ups do not help");
    }
}

#[test]
fn look_ups_in_a_table_write_nothing() {
    let _arena = arena();
    let table: &NullsHashTable<u64> = in_arena(|| {
        let table = Box::leak(Box::new(
            NullsHashTable::builder().capacity(100).shift(3).build(),
        ));
        for hash in 0..1000 {
            table.pin().insert(hash, hash);
        }
        table
    });
    let t = in_arena(|| table.pin());
    read_only(|| {
        for i in 0..100_000 {
            let hash = i % 1000;
            assert_eq!(t.find(hash, |&found| found == hash), Some(&hash));
            assert_eq!(t.find(1000 + i, |_| true), None);
            assert!(t.maybe_contains(hash));
            // Absent as a rule; all that is asked is that nothing is written.
            core::hint::black_box(t.maybe_contains(1000 + i));
            if i % 100 == 0 {
                assert_eq!(t.iter_hash(hash).next(), Some(&hash));
            }
        }
        assert_eq!(t.iter().count(), 1000);
    });
}

// ---- what does write ----

/// Runs this test again in a process of its own, where `write` is done while the arena cannot be written.
fn dies_of(test: &str, write: impl FnOnce(&NullsHashMapRef<'static, u64, u64, TestState>)) {
    if is_child(test) {
        let _arena = arena();
        let m = pin(map_in_arena(&Kind::plain(), 100));
        read_only(|| {
            assert_eq!(m.get(&1), Some(&!1));
            println!("read");
            write(&m);
            println!("written");
        });
        return;
    }
    let output = run_child(test, test);
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(said.contains("read") && !said.contains("written"), "{said}");
    assert_eq!(output.status.signal(), Some(SIGSEGV), "{output:?}");
}

#[test]
fn insert_dies() {
    dies_of("insert_dies", |m| {
        m.insert(1000, 0);
    });
}

#[test]
fn replacement_dies() {
    dies_of("replacement_dies", |m| {
        m.insert(1, 0);
    });
}

#[test]
fn remove_dies() {
    dies_of("remove_dies", |m| {
        m.remove(&1);
    });
}

/// The collector's memory is in the arena too: entering is a write, which is why look-ups do it once a view.
#[test]
fn a_first_view_dies() {
    dies_of("a_first_view_dies", |_| {
        let map = Box::leak(Box::new(Kind::plain().map::<u64, u64>()));
        // Not in the arena, so nothing happens.
        map.pin().insert(1, 1);
        let kept = in_arena(|| Box::leak(Box::new(Kind::plain().map::<u64, u64>())));
        kept.pin();
    });
}
