//! What an inline map allocates and gives back, and what happens when the allocator refuses.

#![cfg(all(
    feature = "std",
    target_pointer_width = "64",
    not(miri),
    not(nulls_loom)
))]
#![allow(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    reason = "counts and mean values of bytes"
)]
#![allow(
    clippy::std_instead_of_alloc,
    clippy::std_instead_of_core,
    reason = "a test is a program of std"
)]

mod common;

use core::cell::Cell;
use core::fmt::Debug;
use core::ptr;
use std::alloc::{GlobalAlloc, Layout, System};
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};

use common::{InlineMap, Kind, TestState, for_each_kind, for_kinds, ignore, is_child, run_child};
use nulls::hash::KeyedState;
use nulls::{Collector, Growth, InlineCompute, InlineHashMap, InsertError, Operation, Plain};

// ---- the allocator ----

/// Counts, and refuses what it is told to, each thread's for itself.
struct Instrumented;

#[global_allocator]
static ALLOCATOR: Instrumented = Instrumented;

thread_local! {
    /// Bytes that this thread has asked for, less those that it has given back.
    static HELD: Cell<isize> = const { Cell::new(0) };
    /// Allocations this thread has made.
    static CALLS: Cell<usize> = const { Cell::new(0) };
    static REFUSAL: Cell<Option<Refusal>> = const { Cell::new(None) };
}

/// Which of this thread's allocations are refused: after the first `skip` of their sort, `left` more.
#[derive(Clone, Copy)]
struct Refusal {
    refuses: fn(Request) -> bool,
    skip: usize,
    left: usize,
    refused: usize,
}

#[derive(Clone, Copy, Debug)]
struct Request {
    size: usize,
    align: usize,
    zeroed: bool,
}

// What follows knows what the crate asks for: std's and seize's own allocations abort when they are refused. Each test
// that refuses something checks that it has been asked for it.

/// A home line or an overflow line.
const LINE: usize = 64;

/// What `seize` asks for when it begins a batch: a list of the default size, and a box.
const BATCH: [usize; 2] = [512 * 32, 32];

impl Request {
    /// An array's lines or a chunk of overflow lines.
    fn is_lines(self) -> bool {
        self.zeroed && self.align == 16 && self.size.is_multiple_of(LINE)
    }

    /// An array's header, or the stripes of a counter.
    fn is_header(self) -> bool {
        !self.zeroed && self.align >= 32
    }

    /// All that is neither, nor `seize`'s: the lists of lines and of chunks, and what a mover gathers.
    fn is_list(self) -> bool {
        !self.zeroed && self.align == 8 && self.is_the_crates()
    }

    fn is_the_crates(self) -> bool {
        !BATCH.contains(&self.size)
    }

    /// What a mover gathers of a bucket: three words an entry.
    fn is_moves(self) -> bool {
        !self.zeroed && self.align == 8 && self.size.is_multiple_of(24)
    }

    fn is_for_growth(self) -> bool {
        self.is_lines() || self.is_header() || self.is_moves()
    }

    /// In a map that retires nothing.
    fn is_any(self) -> bool {
        self.size > 0
    }
}

fn is_refused(layout: Layout, zeroed: bool) -> bool {
    CALLS.set(CALLS.get() + 1);
    let Some(mut refusal) = REFUSAL.get() else {
        return false;
    };
    let request = Request {
        size: layout.size(),
        align: layout.align(),
        zeroed,
    };
    if !(refusal.refuses)(request) {
        return false;
    }
    let refused = refusal.skip == 0 && refusal.left > 0;
    if refused {
        refusal.left -= 1;
        refusal.refused += 1;
    }
    refusal.skip = refusal.skip.saturating_sub(1);
    REFUSAL.set(Some(refusal));
    refused
}

fn count(bytes: isize) {
    HELD.set(HELD.get() + bytes);
}

// SAFETY: all memory is the system allocator's.
unsafe impl GlobalAlloc for Instrumented {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if is_refused(layout, false) {
            return ptr::null_mut();
        }
        count(layout.size().cast_signed());
        // SAFETY: by the caller.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        if is_refused(layout, true) {
            return ptr::null_mut();
        }
        count(layout.size().cast_signed());
        // SAFETY: by the caller.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        count(-layout.size().cast_signed());
        // SAFETY: by the caller.
        unsafe { System.dealloc(memory, layout) };
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: by the caller the new size is not zero and does not overflow with this alignment.
        let new = unsafe { Layout::from_size_align_unchecked(size, layout.align()) };
        if is_refused(new, false) {
            return ptr::null_mut();
        }
        count(size.cast_signed() - layout.size().cast_signed());
        // SAFETY: by the caller.
        unsafe { System.realloc(memory, layout, size) }
    }
}

/// How many allocations this thread makes in `f`.
fn allocations(f: impl FnOnce()) -> usize {
    let before = CALLS.get();
    f();
    CALLS.get() - before
}

/// Runs `f` while all of a sort is refused; how often it was, too.
fn refusing<R>(refuses: fn(Request) -> bool, f: impl FnOnce() -> R) -> (R, usize) {
    refusing_some(refuses, 0, usize::MAX, f)
}

fn refusing_some<R>(
    refuses: fn(Request) -> bool,
    skip: usize,
    left: usize,
    f: impl FnOnce() -> R,
) -> (R, usize) {
    /// Also when a test fails, which allocates.
    struct Reset;
    impl Drop for Reset {
        fn drop(&mut self) {
            REFUSAL.set(None);
        }
    }
    let _reset = Reset;
    REFUSAL.set(Some(Refusal {
        refuses,
        skip,
        left,
        refused: 0,
    }));
    let result = f();
    (result, REFUSAL.get().expect("set above").refused)
}

// ---- entries ----

/// Values that are made of a number.
trait Value: Plain + PartialEq + Debug {
    fn of(n: u64) -> Self;
}

impl Value for u64 {
    fn of(n: u64) -> Self {
        !n
    }
}

impl<const N: usize> Value for [u64; N] {
    fn of(n: u64) -> Self {
        [!n; N]
    }
}

fn assert_holds_exactly<V: Value>(map: &InlineMap<u64, V>, keys: impl Iterator<Item = u64>) {
    let m = map.pin();
    let mut met = BTreeMap::new();
    for (key, value) in &m {
        assert_eq!(value, V::of(key));
        *met.entry(key).or_insert(0) += 1;
    }
    let expected: BTreeMap<u64, i32> = keys.map(|key| (key, 1)).collect();
    assert_eq!(met, expected);
    assert_eq!(map.len(), expected.len());
    assert!(expected.keys().all(|key| m.get(key) == Some(V::of(*key))));
}

// ---- what is allocated ----

#[test]
fn nothing_is_allocated_before_the_first_pin() {
    static MAP: InlineHashMap<u64, u64, KeyedState> =
        InlineHashMap::with_hasher(KeyedState::with_keys(1, 2));
    // What std keeps for each thread may be made now.
    drop(InlineHashMap::<u64, u64>::new());
    let made = allocations(|| {
        let new: InlineHashMap<u64, u64> = InlineHashMap::new();
        let default: InlineHashMap<u64, u64> = InlineHashMap::default();
        let built: InlineHashMap<u64, u64> = InlineHashMap::builder().shift(3).build();
        let none: InlineHashMap<u64, u64> = InlineHashMap::with_capacity(0);
        assert_eq!(new.len() + default.len() + built.len() + none.len(), 0);
        assert!(MAP.is_empty());
    });
    assert_eq!(made, 0);
}

/// Neither look-ups allocate, nor writes where there is room: entries lie in the line.
#[test]
fn where_there_is_room_nothing_is_allocated() {
    fn check<V: Value>() {
        let map: InlineMap<u64, V> = Kind {
            capacity: 2000,
            // At most one entry a bucket.
            hasher: TestState::Identity,
            ..Kind::plain()
        }
        .inline();
        let m = map.pin();
        let made = allocations(|| {
            for key in 0..100 {
                assert_eq!(m.insert(key, V::of(key)), None);
                assert!(m.try_insert(key, V::of(0)).is_err());
                assert_eq!(m.update(key, |value| *value), Some(V::of(key)));
                assert_eq!(m.get_or_insert(key, V::of(0)), V::of(key));
                assert_eq!(m.get(&key), Some(V::of(key)));
                assert_eq!(m.get(&(1000 + key)), None);
                assert_eq!(m.get_many([&key, &key]), [Some(V::of(key)); 2]);
                assert_eq!(m.replace(key, V::of(key)), Ok(V::of(key)));
            }
            for key in 0..100 {
                assert_eq!(m.remove(&key), Some(V::of(key)));
            }
            m.clear();
        });
        assert_eq!((made, map.stats().overflow_lines), (0, 0));
    }
    check::<u64>();
    check::<[u64; 2]>();
    check::<[u64; 5]>();
}

#[test]
fn an_empty_map_that_is_only_read_takes_no_array() {
    let map: InlineHashMap<u64, u64> = InlineHashMap::new();
    let m = map.pin();
    let made = allocations(|| {
        assert_eq!((m.get(&1), m.remove(&1)), (None, None));
        assert_eq!(m.update(1, |v| *v), None);
        assert_eq!(m.compute(1, |_| Operation::Remove), InlineCompute::Aborted);
        assert_eq!((m.iter().count(), m.remove_many(&[1])), (0, 0));
        m.clear();
    });
    assert_eq!((made, map.stats().table_bytes), (0, 0));
}

/// The mean of the bytes an entry over sixteen sizes between `first` and its double.
fn mean_bytes<V: Value>(hasher: TestState, first: u32, allocated: bool) -> f64 {
    // Some 50 KiB, and not the map's.
    let collector = Some(Collector::new());
    let before = HELD.get();
    let map: InlineMap<u64, V> = Kind {
        hasher,
        collector,
        ..Kind::plain()
    }
    .inline();
    let (mut sum, mut entries) = (0.0, 0);
    for step in 0..16 {
        let wanted = (f64::from(first) * f64::powf(2.0, f64::from(step) / 16.0)) as u64;
        while entries < wanted {
            map.pin().insert(entries, V::of(entries));
            entries += 1;
        }
        let bytes = if allocated {
            (HELD.get() - before) as f64
        } else {
            map.stats().table_bytes as f64
        };
        println!(
            "{entries} entries: {:.1} bytes each",
            bytes / entries as f64
        );
        sum += bytes / entries as f64;
    }
    println!("{hasher:?}, from {first}: {:.2} bytes an entry", sum / 16.0);
    sum / 16.0
}

/// The figure that the documentation gives: less than 40 bytes a `u64` to `u64` entry in the mean over a doubling. All
/// that is allocated, below the size at which arrays are mapped; above it the table's own figure.
#[test]
fn bytes_an_entry() {
    for hasher in [TestState::Sip, TestState::Identity] {
        for (first, allocated) in [(15_000, true), (130_000, false)] {
            let mean = mean_bytes::<u64>(hasher, first, allocated);
            assert!(mean <= 40.0, "{mean} bytes an entry");
            assert!(mean >= 64.0 / 3.0, "less than its slot: the count is wrong");
        }
    }
}

#[test]
fn stats_count_the_bytes_that_are_held() {
    for_each_kind(|kind| {
        let before = HELD.get();
        let map: InlineMap<u64, [u64; 2]> = kind.inline();
        map.pin().insert_many((0..3000).map(|key| (key, [key; 2])));
        let stats = map.stats();
        let rest = (HELD.get() - before).cast_unsigned() - stats.table_bytes;
        // A collector of the map's own, the counter's stripes, and the lists of overflow lines.
        let allowed = (64 << 10) + stats.overflow_lines * 2 * size_of::<usize>();
        assert!(rest <= allowed, "{rest} bytes more than {stats}");
    });
}

#[test]
fn everything_is_given_back() {
    // The thread's own slots, and std's, are made once.
    drop(InlineHashMap::<u64, u64>::from([(1, 1)]));
    for kind in Kind::all() {
        let base = HELD.get();
        // A collector that is shared goes with the last of those that share it.
        let shared = kind.collector.as_ref();
        let collector = shared.map(|_| Collector::builder().batch_size(1).build());
        let kind = Kind { collector, ..kind };
        let map: InlineMap<u64, [u64; 2]> = kind.inline();
        for key in 0..2000 {
            map.pin().insert(key, [key; 2]);
        }
        for key in 0..500 {
            map.pin().remove(&key);
            map.pin().update(key + 500, |value| *value);
        }
        map.pin().retain(|key, _| key % 3 != 0);
        let clone = map.clone();
        map.pin().clear();
        drop((map, clone));
        let name = kind.name;
        drop(kind);
        assert_eq!(HELD.get(), base, "{name}");
    }
}

// ---- what is refused ----

/// In a map of eight buckets in which every bucket's fill is known.
fn identity_kind() -> Kind {
    Kind {
        hasher: TestState::Identity,
        growth: Growth::Fixed,
        capacity: 16,
        ..Kind::plain()
    }
}

/// `try_insert` and `try_upsert` of a key that needs memory hand it back; when there is some, it is inserted.
fn insertions_hand_back<V: Value>(map: &InlineMap<u64, V>, key: u64, refuses: fn(Request) -> bool) {
    let m = map.pin();
    let (entries, entry) = (map.len(), (key, V::of(key)));
    let calls: [&dyn Fn() -> bool; 4] = [
        &|| m.try_insert(entry.0, entry.1) == Err(InsertError::AllocFailed(entry)),
        &|| m.try_upsert(entry.0, entry.1) == Err(InsertError::AllocFailed(entry)),
        &|| {
            let insert = |_: Option<&V>| Operation::Insert(entry.1);
            m.try_compute(entry.0, insert) == Err(InsertError::AllocFailed(entry))
        },
        // There is nothing to update.
        &|| m.try_update(entry.0, |value| *value) == Ok(None),
    ];
    for (n, call) in calls.iter().enumerate() {
        let (handed_back, refused) = refusing(refuses, call);
        assert!(handed_back, "call {n}");
        assert_eq!(refused > 0, n < 3, "whether it was asked for");
        assert_eq!((map.len(), m.get(&key)), (entries, None));
        assert_eq!(m.iter().count(), entries);
    }
    assert_eq!(m.try_insert(entry.0, entry.1), Ok(()));
}

#[test]
fn the_first_array_and_its_header_are_refused() {
    for refuses in [Request::is_lines, Request::is_header] {
        let map: InlineMap<u64, u64> = Kind::plain().inline();
        insertions_hand_back(&map, 1, refuses);
        assert_holds_exactly(&map, 1..=1);
    }
}

/// Fills one bucket, each line and each list of its chain refused once, and updates entries that are there.
fn overflow_lines_are_refused<V: Value>(in_place: bool, in_front: u64) {
    for refuses in [Request::is_lines, Request::is_list] {
        let map: InlineMap<u64, V> = identity_kind().inline();
        let m = map.pin();
        let buckets = map.stats().buckets as u64;
        let keys = |n| (0..n).map(move |i| i * buckets);
        for key in keys(in_front) {
            assert_eq!(
                refusing(refuses, || m.try_insert(key, V::of(key))),
                (Ok(()), 0)
            );
        }
        // The front is full: an update that is not in place needs a line too.
        let new = V::of(0);
        let update = refusing(refuses, || m.try_update(0, |_| new));
        let replace = || m.try_upsert(0, new);
        let upsert = refusing(refuses, replace);
        let compute = refusing(refuses, || m.try_compute(0, |_| Operation::Insert(new)));
        if in_place {
            let updated = InlineCompute::Updated { old: new, new };
            assert_eq!((update, upsert), ((Ok(Some(new)), 0), (Ok(Some(new)), 0)));
            assert_eq!(compute, (Ok(updated), 0));
        } else {
            let failed = InsertError::AllocFailed((0, new));
            assert_eq!((update.0, upsert.0), (Err(failed), Err(failed)));
            assert_eq!(compute.0, Err(failed));
            assert!(update.1 > 0 && upsert.1 > 0 && compute.1 > 0);
        }
        assert_holds_exactly(&map, keys(in_front));
        insertions_hand_back(&map, in_front * buckets, refuses);
        // A removal needs nothing, and then an update does not either.
        let removed = refusing(Request::is_any, || m.remove(&buckets));
        assert_eq!(removed, (Some(V::of(buckets)), 0));
        let update = refusing(Request::is_any, || m.try_update(0, |_| new));
        assert_eq!(update, (Ok(Some(new)), 0));
        assert_holds_exactly(&map, keys(in_front + 1).filter(|&key| key != buckets));
    }
}

#[test]
fn an_overflow_line_is_refused() {
    overflow_lines_are_refused::<u64>(true, 3);
    overflow_lines_are_refused::<[u64; 2]>(false, 4);
    overflow_lines_are_refused::<[u64; 5]>(false, 2);
}

/// Without memory to grow a map goes on, fuller; when there is some again, it grows.
#[test]
fn a_map_that_cannot_grow_goes_on() {
    fn is_array(request: Request) -> bool {
        // Chunks of overflow lines are smaller in the map below.
        request.is_lines() && request.size > 64 * LINE
    }
    for refuses in [is_array as fn(Request) -> bool, Request::is_header] {
        let map: InlineMap<u64, u64> = Kind {
            capacity: 64 * 11 / 4,
            ..Kind::plain()
        }
        .inline();
        let before = map.stats().buckets;
        let ((), refused) = refusing(refuses, || {
            for key in 0..1000 {
                // The plain form, which would abort if an entry could not be inserted.
                assert_eq!(map.pin().insert(key, u64::of(key)), None);
            }
        });
        assert!(refused > 10, "it tries again and again: {refused} times");
        let stats = map.stats();
        assert_eq!(
            (stats.buckets, stats.migrating, stats.entries),
            (before, false, 1000)
        );
        assert_holds_exactly(&map, 0..1000);
        for key in 1000..1200 {
            map.pin().insert(key, u64::of(key));
        }
        assert!(map.stats().buckets > before || map.stats().migrating);
        assert_holds_exactly(&map, 0..1200);
    }
}

/// A mover gathers the entries of a bucket, and needs lines where they are many. It gets neither, and the bucket stays;
/// entries are found where they are, old ones and new ones; and when there is memory again, the next writers move what
/// is left.
#[test]
fn a_migration_that_gets_no_memory_finishes_later() {
    fn is_chunk(request: Request) -> bool {
        request.is_lines() && request.size < 64 * LINE
    }
    for refuses in [is_chunk as fn(Request) -> bool, Request::is_list] {
        // Multiples of 1,024 of 64 buckets: all in one, and still in one after many doublings.
        let map: InlineMap<u64, u64> = Kind {
            hasher: TestState::Identity,
            capacity: 64 * 11 / 4,
            ..Kind::plain()
        }
        .inline();
        let m = map.pin();
        let mut keys: Vec<u64> = (0..80).map(|i| ((i % 10) << 10) | (i / 10)).collect();
        m.insert_many(keys.iter().map(|&key| (key, u64::of(key))));
        assert_eq!(
            (map.stats().linked_buckets, map.stats().migrating),
            (8, false)
        );

        let (error, refused) = refusing(refuses, || map.try_reserve(64 * 4));
        assert!(error.is_err() && refused > 0 && map.stats().migrating);
        assert_holds_exactly(&map, keys.iter().copied());

        // Writers come and go meanwhile. They try to help and cannot; what they came for is done.
        let ((), refused) = refusing(refuses, || {
            for i in 0..200 {
                let key = 8 + i % 50;
                assert_eq!(m.try_insert(key, u64::of(key)), Ok(()));
                assert_eq!(m.remove(&key), Some(u64::of(key)));
                assert_eq!(m.update(keys[0], |v| *v), Some(u64::of(keys[0])));
            }
            assert_eq!(m.remove(&keys[5]), Some(u64::of(keys[5])));
        });
        assert!(refused > 0 && map.stats().migrating);
        keys.remove(5);
        assert_holds_exactly(&map, keys.iter().copied());

        for key in 8..28 {
            keys.push(key);
            m.insert(key, u64::of(key));
        }
        let stats = map.stats();
        assert!(!stats.migrating && stats.buckets >= 128, "{stats}");
        assert_holds_exactly(&map, keys.iter().copied());
        assert_eq!(map.try_reserve(64 * 4), Ok(()));
    }
}

#[test]
fn a_reservation_is_refused() {
    for refuses in [Request::is_lines, Request::is_header] {
        for entries in [0, 100] {
            let map: InlineMap<u64, [u64; 2]> = Kind::plain().inline();
            map.pin()
                .insert_many((0..entries).map(|key| (key, Value::of(key))));
            let before = map.stats();
            let (result, refused) = refusing(refuses, || map.try_reserve(10_000));
            let message = result.expect_err("no memory").to_string();
            assert_eq!(message, "no memory for 10000 more entries");
            assert_eq!((refused > 0, map.stats()), (true, before));
            assert_holds_exactly(&map, 0..entries);
            assert_eq!(map.try_reserve(10_000), Ok(()));
            assert_holds_exactly(&map, 0..entries);
        }
    }
}

#[test]
fn a_capacity_is_refused() {
    for refuses in [Request::is_lines, Request::is_header] {
        let build = || drop(InlineHashMap::<u64, u64>::with_capacity(1000));
        let (result, refused) = refusing(refuses, || catch_unwind(AssertUnwindSafe(build)));
        let payload = result.expect_err("no memory");
        let message = payload.downcast_ref::<String>().expect("a message");
        assert!(
            message.starts_with("no memory for a capacity of 1000"),
            "{message}"
        );
        assert!(refused > 0);
    }
}

/// Fills a map and updates it, some allocations refused. Which calls failed, and how many refusals there were.
fn fill_in_spite_of<V: Value>(kind: &Kind, skip: usize, left: usize) -> (usize, usize) {
    const ENTRIES: u64 = 150;
    let refuses = match kind.growth {
        Growth::Fixed => Request::is_any,
        _ => Request::is_for_growth,
    };
    let map: InlineMap<u64, V> = kind.inline();
    let m = map.pin();
    let result = refusing_some(refuses, skip, left, || {
        let mut failed = 0;
        for key in 0..ENTRIES {
            let entry = (key, V::of(key));
            while let Err(error) = m.try_insert(key, entry.1) {
                assert_eq!(error, InsertError::AllocFailed(entry));
                assert_eq!(m.get(&key), None);
                failed += 1;
            }
            while let Err(error) = m.try_update(key / 2, |value| *value) {
                assert_eq!(error, InsertError::AllocFailed((key / 2, V::of(key / 2))));
                assert_eq!(m.get(&(key / 2)), Some(V::of(key / 2)));
                failed += 1;
            }
        }
        failed
    });
    assert_holds_exactly(&map, 0..ENTRIES);
    result
}

/// Each allocation that is made while a map fills is refused once, one after the other; then some in a row.
fn each_allocation_is_refused<V: Value>() {
    // Batches of one are not told from lists.
    let kinds = Kind::all().into_iter();
    for_kinds(kinds.filter(|kind| kind.collector.is_none()), |kind| {
        assert_eq!(fill_in_spite_of::<V>(kind, 0, 0), (0, 0));
        let mut skip = 0;
        while let (failed, 1) = fill_in_spite_of::<V>(kind, skip, 1) {
            assert!(failed <= 1);
            skip += 1;
        }
        println!("{}: {skip} allocations", kind.name);
        assert!(skip > 0 || kind.capacity >= 4000);
        for run in [2, 3, 7] {
            for skip in 0..skip {
                let (failed, refused) = fill_in_spite_of::<V>(kind, skip, run);
                assert!(failed <= refused && refused <= run);
            }
        }
    });
}

#[test]
fn each_allocation_is_refused_in_turn() {
    each_allocation_is_refused::<u64>();
    each_allocation_is_refused::<[u64; 2]>();
    // Refusals leak nothing: `everything_is_given_back` has shown that the rest does not.
    let before = HELD.get();
    ignore(fill_in_spite_of::<u64>(&Kind::plain(), 5, 20));
    assert_eq!(HELD.get(), before);
}

/// A mover reads chains, long ones too. If it has no memory to do so the bucket stays, and who has come to insert
/// something else does not end the process.
#[test]
fn a_mover_without_memory_for_its_walk_ends_nothing() {
    let test = "a_mover_without_memory_for_its_walk_ends_nothing";
    if is_child(test) {
        let map: InlineMap<u64, u64> = Kind {
            hasher: TestState::OneBucket,
            ..Kind::plain()
        }
        .inline();
        let m = map.pin();
        let mut keys = 0;
        while keys < 200 || !map.stats().migrating {
            m.insert(keys, u64::of(keys));
            keys += 1;
        }
        let (reserved, refused) = refusing(Request::is_list, || map.try_reserve(1000));
        let (inserted, _) = refusing(Request::is_list, || m.try_insert(keys, 0).is_ok());
        assert!(reserved.is_err() && refused > 0);
        m.remove(&keys);
        assert_holds_exactly(&map, 0..keys);
        println!("survived, inserted: {inserted}");
        return;
    }
    let output = run_child(test, test);
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(said.contains("survived"), "{output:?}");
}

/// The plain forms end the process, as std's collections do, and do not unwind.
#[test]
#[cfg(unix)]
fn insert_without_memory_aborts() {
    use std::os::unix::process::ExitStatusExt;

    let test = "insert_without_memory_aborts";
    if is_child(test) {
        let map: InlineMap<u64, u64> = Kind::plain().inline();
        map.pin();
        println!("made");
        let insert = || refusing(Request::is_lines, || map.pin().insert(1, 1).is_some());
        println!(
            "survived: {}",
            catch_unwind(AssertUnwindSafe(insert)).is_err()
        );
        return;
    }
    let output = run_child(test, test);
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(
        said.contains("made") && !said.contains("survived"),
        "{said}"
    );
    assert_eq!(output.status.signal(), Some(6), "{output:?}");
}
