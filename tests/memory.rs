//! What is allocated and given back, and what happens when the allocator refuses.

#![cfg(all(
    feature = "std",
    target_pointer_width = "64",
    not(miri),
    not(nulls_loom)
))]
#![allow(
    clippy::result_large_err,
    reason = "values are large to be told from everything else"
)]
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
use core::ptr;
use core::sync::atomic::{AtomicUsize, Ordering};
use std::alloc::{GlobalAlloc, Layout, System};
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;

use common::{Kind, Map, TestState, for_each_kind, for_kinds, ignore, is_child, run_child};
use nulls::hash::KeyedState;
use nulls::{Collector, Compute, Growth, InsertError, NullsHashMap, NullsHashTable, Operation};

// ---- the allocator ----

/// Counts, and refuses what it is told to.
struct Instrumented;

#[global_allocator]
static ALLOCATOR: Instrumented = Instrumented;

/// Bytes that the whole process holds, as they were asked for.
static HELD: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    /// Bytes that this thread has asked for, less those that it has given back.
    static MINE: Cell<isize> = const { Cell::new(0) };
    /// Allocations this thread has made.
    static CALLS: Cell<usize> = const { Cell::new(0) };
    static REFUSAL: Cell<Option<Refusal>> = const { Cell::new(None) };
    /// Whether what this thread allocates next may be the lists that go with a chunk of lines.
    static AFTER_LINES: Cell<bool> = const { Cell::new(false) };
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
    after_lines: bool,
}

// What follows knows what the crate asks for: std's and seize's own allocations abort when they are refused, so they
// must be told from the crate's. Each test that refuses something checks that it has been asked for it.

/// A home line or an overflow line.
const LINE: usize = 64;

/// What `seize` asks for when it begins a batch: a list of the default size, and a box that is as large as the shortest
/// list of free lines.
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

    /// The list of free lines, or that of chunks; a batch's box may be taken for it.
    fn is_list(self) -> bool {
        !self.zeroed && self.align == 8 && self.after_lines && self.size != BATCH[0]
    }

    /// The node of a [`Fat`] value under a `u64`.
    fn is_node(self) -> bool {
        !self.zeroed && self.align == 8 && self.size == 8 + size_of::<(u64, Fat)>()
    }

    /// Where nothing is retired: neither removed nor replaced, nor a map grown.
    fn is_the_crates(self) -> bool {
        self.is_lines() || self.is_header() || self.is_list() || self.is_node()
    }

    fn is_surely_the_crates(self) -> bool {
        self.is_the_crates() && self.size != BATCH[1]
    }
}

/// A value whose nodes are of a size that nothing else has.
type Fat = [u64; 29];

fn fat(n: u64) -> Fat {
    [n; 29]
}

fn is_refused(layout: Layout, zeroed: bool) -> bool {
    CALLS.set(CALLS.get() + 1);
    let request = Request {
        size: layout.size(),
        align: layout.align(),
        zeroed,
        after_lines: AFTER_LINES.get(),
    };
    if request.is_lines() {
        AFTER_LINES.set(true);
    } else if request.is_header() || request.is_node() {
        AFTER_LINES.set(false);
    }
    let Some(mut refusal) = REFUSAL.get() else {
        return false;
    };
    if !(refusal.refuses)(request) {
        return false;
    }
    if refusal.skip > 0 {
        refusal.skip -= 1;
    } else if refusal.left > 0 {
        refusal.left -= 1;
        refusal.refused += 1;
        REFUSAL.set(Some(refusal));
        return true;
    }
    REFUSAL.set(Some(refusal));
    false
}

fn count(bytes: isize) {
    HELD.fetch_add(bytes.cast_unsigned(), Ordering::Relaxed);
    MINE.set(MINE.get() + bytes);
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
        if layout.align() == 16 {
            // A chunk whose lists were refused.
            AFTER_LINES.set(false);
        }
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

/// `HELD` is one for all threads: one test at a time.
fn alone() -> MutexGuard<'static, ()> {
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner)
}

fn held() -> usize {
    HELD.load(Ordering::Relaxed)
}

/// Not disturbed by other threads, the test harness's among them.
fn held_by_this_thread() -> isize {
    MINE.get()
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
    AFTER_LINES.set(false);
    REFUSAL.set(Some(Refusal {
        refuses,
        skip,
        left,
        refused: 0,
    }));
    let result = f();
    (result, REFUSAL.get().expect("set above").refused)
}

// ---- what is allocated ----

#[test]
fn nothing_is_allocated_before_the_first_pin() {
    static MAP: NullsHashMap<u64, u64, KeyedState> =
        NullsHashMap::with_hasher(KeyedState::with_keys(1, 2));
    let _alone = alone();
    // What std keeps for each thread may be made now.
    drop(NullsHashMap::<u64, u64>::new());
    let made = allocations(|| {
        let new: NullsHashMap<u64, u64> = NullsHashMap::new();
        let default: NullsHashMap<u64, u64> = NullsHashMap::default();
        let with_hasher: NullsHashMap<u64, u64, TestState> =
            NullsHashMap::with_hasher(TestState::Sip);
        let built: NullsHashMap<u64, u64> = NullsHashMap::builder().shift(3).build();
        let none: NullsHashMap<u64, u64> = NullsHashMap::with_capacity(0);
        assert_eq!(
            new.len() + default.len() + with_hasher.len() + built.len() + none.len(),
            0
        );
        assert!(new.is_empty() && MAP.is_empty());
        let table: NullsHashTable<u64> = NullsHashTable::new();
        let built: NullsHashTable<u64> = NullsHashTable::builder().build();
        assert!(table.is_empty() && built.is_empty());
    });
    assert_eq!(made, 0);
    assert!(allocations(|| drop(NullsHashMap::<u64, u64>::with_capacity(100))) > 0);
}

#[test]
fn an_empty_map_that_is_only_read_takes_no_array() {
    let _alone = alone();
    let map: NullsHashMap<u64, u64> = NullsHashMap::new();
    let m = map.pin();
    let made = allocations(|| {
        assert_eq!(m.get(&1), None);
        assert_eq!(m.remove(&1), None);
        assert_eq!(m.update(1, |v| *v), None);
        assert_eq!(m.compute(1, |_| Operation::Remove), Compute::Aborted);
        assert_eq!(m.iter().count(), 0);
        m.clear();
    });
    assert_eq!((made, map.stats().table_bytes), (0, 0));
}

#[test]
fn look_ups_allocate_nothing() {
    let _alone = alone();
    for_each_kind(|kind| {
        let map: Map<u64, u64> = kind.map();
        for key in 0..200 {
            map.pin().insert(key, key);
        }
        let made = allocations(|| {
            let m = map.pin();
            for key in 0..400 {
                assert_eq!(m.get(&key).is_some(), key < 200);
                assert_eq!(m.get_key_value(&key).is_some(), m.contains_key(&key));
                assert!(key < 200 || m.remove(&key).is_none());
            }
        });
        assert_eq!(made, 0);
    });
}

/// Inserting where there is room takes one allocation, the node.
#[test]
fn an_insertion_allocates_its_node() {
    let _alone = alone();
    let map: NullsHashMap<u64, Fat, TestState> = NullsHashMap::builder()
        .hasher(TestState::Sip)
        .capacity(1000)
        .build();
    let m = map.pin();
    let mut made = 0;
    for key in 0..100 {
        made += allocations(|| ignore(m.try_insert(key, fat(key))));
    }
    assert_eq!((made, map.stats().linked_buckets), (100, 0));
    // One that finds the key there allocates none.
    assert_eq!(allocations(|| ignore(m.try_insert(1, fat(1)))), 0);
    assert_eq!(allocations(|| ignore(m.get_or_insert(1, fat(1)).len())), 0);
    assert_eq!(
        allocations(|| ignore(m.compute(1, |_| Operation::Abort))),
        0
    );
    // A removal allocates at most what its collector needs for a batch.
    assert!(allocations(|| ignore(m.remove(&1).is_some())) <= 2);
    assert_eq!(allocations(|| ignore(m.remove(&2).is_some())), 0);
}

/// The figure that the documentation gives: at most 48 bytes a `u64` to `u64` entry, all counted, in the mean over a
/// doubling.
#[test]
fn bytes_an_entry() {
    let _alone = alone();
    // Below the size at which arrays are mapped and not allocated, and above that at which headers count.
    let first: u32 = 35_000;
    let counts: Vec<u32> = (0..16)
        .map(|step| (f64::from(first) * f64::powf(2.0, f64::from(step) / 16.0)) as u32)
        .collect();
    for hasher in [TestState::Sip, TestState::Identity] {
        let before = held();
        let map: Map<u64, u64> = Kind {
            hasher,
            ..Kind::plain()
        }
        .map();
        let mut sum = 0.0;
        let mut entries = 0;
        for &count in &counts {
            while entries < count {
                map.pin().insert(u64::from(entries), 0);
                entries += 1;
            }
            let bytes = (held() - before) as f64 / f64::from(count);
            println!("{count} entries: {bytes:.1} bytes each");
            sum += bytes;
        }
        let mean = sum / counts.len() as f64;
        println!("{hasher:?}: {mean:.1} bytes an entry");
        assert!(mean <= 48.0, "{mean} bytes an entry");
        assert!(mean >= 24.0, "less than a node: the count is wrong");
    }
}

#[test]
fn stats_count_the_bytes_that_are_held() {
    let _alone = alone();
    for_each_kind(|kind| {
        let before = held();
        let map: Map<u64, u64> = kind.map();
        for key in 0..3000 {
            map.pin().insert(key, key);
        }
        let stats = map.stats();
        let nodes = 3000 * 24;
        let rest = held() - before - nodes - stats.table_bytes;
        // A collector of the map's own, the counter's stripes, and the lists of overflow lines.
        let allowed = (64 << 10) + stats.overflow_lines * 2 * size_of::<usize>();
        assert!(rest <= allowed, "{rest} bytes more than {stats}");
    });
}

// ---- what is given back ----

#[test]
fn everything_is_given_back() {
    let _alone = alone();
    // The thread's own slots, and std's, are made once.
    drop(NullsHashMap::<u64, u64>::from([(1, 1)]));
    for kind in Kind::all() {
        // A collector that is shared goes with the last of those that share it: here with this iteration.
        let kind = Kind {
            collector: kind
                .collector
                .as_ref()
                .map(|_| Collector::builder().batch_size(1).build()),
            ..kind
        };
        let base = held_by_this_thread()
            - if kind.collector.is_some() {
                collector_bytes()
            } else {
                0
            };
        let map: Map<u64, Fat> = kind.map();
        let mut entries = 0;
        while entries < 2000
            || (kind.growth == Growth::Auto && !map.stats().migrating && entries < 2100)
        {
            map.pin().insert(entries, fat(entries));
            entries += 1;
        }
        for key in 0..500 {
            map.pin().remove(&key);
            map.pin().insert(key + 500, fat(key));
        }
        map.pin().retain(|key, _| key % 3 != 0);
        let clone = map.clone();
        map.pin().clear();
        drop(map);
        drop(clone);
        let name = kind.name;
        drop(kind);
        assert_eq!(held_by_this_thread(), base, "{name}");
    }
}

fn collector_bytes() -> isize {
    let before = held_by_this_thread();
    let collector = Collector::builder().batch_size(1).build();
    let bytes = held_by_this_thread() - before;
    drop(collector);
    bytes
}

/// Holds a view when it is told to, and lets it go when it is told to.
fn hold_on_demand(map: &NullsHashMap<u64, u64>, told: &Receiver<bool>, done: &SyncSender<()>) {
    let mut view = None;
    for hold in told {
        view = hold.then(|| map.pin());
        done.send(()).expect("the test waits");
    }
    drop(view);
}

/// Old arrays leave although nothing else is ever retired and eight other threads hold views now and then.
fn grow_among_idle_views(entries: u64) -> NullsHashMap<u64, u64> {
    let map = NullsHashMap::new();
    thread::scope(|s| {
        let holders: Vec<_> = (0..8)
            .map(|_| {
                let (tell, told) = sync_channel(0);
                let (done, wait) = sync_channel(0);
                let map = &map;
                s.spawn(move || hold_on_demand(map, &told, &done));
                (tell, wait)
            })
            .collect();
        for key in 0..entries {
            map.pin().insert(key, key);
            if key % (entries / 64) == 0 {
                // Each holder holds for half of the time, no two in step.
                let step = key / (entries / 64);
                for (n, (tell, wait)) in (0..).zip(&holders) {
                    tell.send((step >> (n % 4)).is_multiple_of(2))
                        .expect("the holder waits");
                    wait.recv().expect("the holder is told");
                }
            }
        }
        for (tell, wait) in &holders {
            tell.send(false).expect("the holder waits");
            wait.recv().expect("the holder is told");
        }
        drop(holders);
    });
    map
}

#[test]
fn old_arrays_leave_among_idle_views() {
    let _alone = alone();
    drop(grow_among_idle_views(1000));
    let before = held();
    let entries = 80_000;
    let map = grow_among_idle_views(entries as u64);
    let stats = map.stats();
    let nodes = entries * 24;
    let rest = held() - before - nodes;
    // One array; the arrays before it were as large in all.
    let slack = 128 << 10;
    assert!(
        rest <= stats.table_bytes + slack,
        "{rest} bytes held, {stats}"
    );
    assert!(
        stats.table_bytes > 4 * slack,
        "the slack is small beside an array: {stats}"
    );
}

/// The same to a million entries, whose arrays are mapped where the crate asks for huge pages.
#[test]
fn large_arrays_leave_among_idle_views() {
    let _alone = alone();
    drop(grow_among_idle_views(1000));
    let (before, mapped_before) = (held(), huge_mappings());
    let entries = 1_000_000;
    let map = grow_among_idle_views(entries as u64);
    let stats = map.stats();
    let nodes = entries * 24;
    let Some(mapped) = huge_mappings()
        .zip(mapped_before)
        .map(|(now, then)| now - then)
    else {
        eprintln!("not tested: this system does not say which memory asks for huge pages");
        return;
    };
    let rest = held() - before - nodes + mapped;
    // The page that each mapping has beside its array, the lists of lines, a collector.
    let slack = (2 << 20) + (1 << 20);
    assert!(
        rest <= stats.table_bytes + slack,
        "{rest} bytes held ({mapped} mapped), {stats}"
    );
    assert!(
        stats.table_bytes > 4 * slack,
        "the slack is small beside an array: {stats}"
    );
    drop(map);
    assert_eq!(huge_mappings(), mapped_before);
}

/// Bytes of this process's mappings that ask for huge pages. None do where the feature is off; `None` where the system
/// does not say.
fn huge_mappings() -> Option<usize> {
    if !cfg!(all(feature = "huge-pages", target_os = "linux")) {
        return Some(0);
    }
    // Without transparent huge pages in the kernel the advice is refused, and leaves no trace.
    std::fs::read("/sys/kernel/mm/transparent_hugepage/enabled").ok()?;
    let maps = std::fs::read_to_string("/proc/self/smaps").ok()?;
    let (mut size, mut sum) = (0, 0);
    for line in maps.lines() {
        if let Some(kib) = line.strip_prefix("Size:") {
            size = kib.trim().trim_end_matches(" kB").parse::<usize>().ok()? << 10;
        } else if let Some(flags) = line.strip_prefix("VmFlags:") {
            sum += if flags.split_whitespace().any(|flag| flag == "hg") {
                size
            } else {
                0
            };
        }
    }
    Some(sum)
}

// ---- what is refused ----

type FatMap = Map<u64, Fat>;

/// In a map of a known size in which every bucket's fill is known.
fn identity_kind() -> Kind {
    Kind {
        hasher: TestState::Identity,
        growth: Growth::Fixed,
        capacity: 20,
        ..Kind::plain()
    }
}

fn assert_holds_exactly(map: &FatMap, keys: impl Iterator<Item = u64>) {
    let m = map.pin();
    let mut met = BTreeMap::new();
    for (&key, &value) in &m {
        assert_eq!(value, fat(key));
        *met.entry(key).or_insert(0) += 1;
    }
    let expected: BTreeMap<u64, i32> = keys.map(|key| (key, 1)).collect();
    assert_eq!(met, expected);
    assert_eq!(map.len(), expected.len());
    assert!(expected.keys().all(|key| m.get(key) == Some(&fat(*key))));
}

/// `try_insert` of `key`, with everything of a sort refused, hands both back; without it, it inserts.
fn try_insert_hands_back(map: &FatMap, key: u64, refuses: fn(Request) -> bool) {
    let m = map.pin();
    let entries = map.len();
    let (result, refused) = refusing(refuses, || m.try_insert(key, fat(key)));
    assert_eq!(result, Err(InsertError::AllocFailed((key, fat(key)))));
    assert!(refused > 0, "it was not asked for");
    assert_eq!(
        (map.len(), m.get(&key), m.iter().count()),
        (entries, None, entries)
    );
    assert_eq!(m.try_insert(key, fat(key)), Ok(&fat(key)));
}

#[test]
fn the_first_array_and_its_header_are_refused() {
    let _alone = alone();
    for refuses in [Request::is_lines, Request::is_header, Request::is_node] {
        let map: FatMap = Kind::plain().map();
        try_insert_hands_back(&map, 1, refuses);
        assert_holds_exactly(&map, 1..=1);
        let table: NullsHashTable<Fat> = NullsHashTable::new();
        let t = table.pin();
        // A node of the table has no key.
        let refuses = |request: Request| request.is_lines() || request.is_header();
        let (result, refused) = refusing(refuses, || t.try_insert(1, fat(1), |_| false));
        assert_eq!(result, Err(InsertError::AllocFailed(fat(1))));
        assert!(refused > 0);
        assert_eq!((table.len(), t.find(1, |_| true)), (0, None));
        assert!(t.try_insert(1, fat(1), |_| false).is_ok());
    }
}

#[test]
fn a_node_is_refused() {
    let _alone = alone();
    for_each_kind(|kind| {
        let map: FatMap = kind.map();
        for key in 0..100 {
            try_insert_hands_back(&map, key, Request::is_node);
        }
        assert_holds_exactly(&map, 0..100);
    });
}

#[test]
fn an_overflow_line_is_refused() {
    let _alone = alone();
    for refuses in [Request::is_lines, Request::is_list] {
        let map: FatMap = identity_kind().map();
        let buckets = map.stats().buckets as u64;
        let keys = (0..100).map(|i| i * buckets);
        let mut asked = 0;
        for key in keys.clone() {
            let m = map.pin();
            let (result, refused) = refusing(refuses, || m.try_insert(key, fat(key)));
            match result {
                Ok(_) => assert_eq!(refused, 0),
                Err(error) => {
                    assert_eq!(error, InsertError::AllocFailed((key, fat(key))));
                    assert_eq!(m.get(&key), None);
                    asked += refused;
                    // A removal and a replacement need no memory of this sort.
                    let (other, refused) = refusing(refuses, || m.replace(0, fat(0)).is_ok());
                    assert!(other && refused == 0);
                    assert!(m.try_insert(key, fat(key)).is_ok());
                }
            }
        }
        assert!(asked >= 3, "chunks were asked for {asked} times");
        assert_holds_exactly(&map, keys);
    }
}

/// Without memory to grow a map goes on, fuller; when there is some again, it grows.
#[test]
fn growth_is_refused() {
    fn is_array(request: Request) -> bool {
        // Chunks of overflow lines are smaller in the map below.
        request.is_lines() && request.size > 64 * LINE
    }
    fn is_array_header(request: Request) -> bool {
        request.is_header()
    }
    let _alone = alone();
    for refuses in [is_array as fn(Request) -> bool, is_array_header] {
        let map: FatMap = Kind {
            capacity: 64 * 5,
            ..Kind::plain()
        }
        .map();
        let before = map.stats().buckets;
        let ((), refused) = refusing(refuses, || {
            for key in 0..1000 {
                // The plain form, which would abort if an entry could not be inserted.
                assert_eq!(map.pin().insert(key, fat(key)), None);
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
            map.pin().insert(key, fat(key));
        }
        assert!(map.stats().buckets > before || map.stats().migrating);
        assert_holds_exactly(&map, 0..1200);
    }
}

/// The stripes of the counter are a matter of speed only.
#[test]
fn stripes_are_refused() {
    fn is_stripes(request: Request) -> bool {
        request.is_header() && request.size == 16 * request.align
    }
    let _alone = alone();
    let ((), refused) = refusing(is_stripes, || {
        let map: FatMap = Kind::plain().map();
        for key in 0..3000 {
            map.pin().insert(key, fat(key));
        }
        assert_eq!(map.len(), 3000);
        map.pin().remove(&1);
        assert_eq!(map.len(), 2999);
    });
    assert!(refused > 0);
}

/// Every bucket has a chain, so each needs lines to move. It gets none, and stays where it is; entries are found where
/// they are, old ones and new ones; and when there is memory again, the next writers move what is left.
#[test]
fn a_migration_that_gets_no_lines_finishes_later() {
    fn is_chunk(request: Request) -> bool {
        request.is_lines() && request.size < 64 * LINE
    }
    let _alone = alone();
    for refuses in [is_chunk as fn(Request) -> bool, Request::is_list] {
        // Multiples of 1,024 of 64 buckets: all in one, and still in one after many doublings.
        let map: FatMap = Kind {
            hasher: TestState::Identity,
            capacity: 64 * 5,
            ..Kind::plain()
        }
        .map();
        let m = map.pin();
        let key = |i: u64| ((i % 10) << 10) | ((i / 10) % 8);
        let mut keys: Vec<u64> = (0..80).map(key).collect();
        for &key in &keys {
            m.insert(key, fat(key));
        }
        let before = map.stats();
        assert_eq!((before.linked_buckets, before.migrating), (8, false));

        let (error, refused) = refusing(refuses, || map.try_reserve(64 * 5));
        assert!(error.is_err() && refused > 0);
        let stats = map.stats();
        assert!(stats.migrating, "{stats}");
        assert_holds_exactly(&map, keys.iter().copied());

        // Writers come and go meanwhile. They try to help and cannot; what they came for is done.
        let ((), refused) = refusing(refuses, || {
            for i in 0..200 {
                let key = 8 + i % 50;
                assert!(m.try_insert(key, fat(key)).is_ok());
                assert_eq!(m.remove(&key), Some(&fat(key)));
                assert!(m.replace(keys[0], fat(keys[0])).is_ok());
            }
            assert_eq!(m.remove(&keys[5]), Some(&fat(keys[5])));
        });
        assert!(refused > 0);
        keys.remove(5);
        assert!(map.stats().migrating);
        assert_holds_exactly(&map, keys.iter().copied());

        for i in 0..20 {
            let key = 8 + i;
            keys.push(key);
            m.insert(key, fat(key));
        }
        let stats = map.stats();
        assert!(!stats.migrating && stats.buckets >= 128, "{stats}");
        assert_holds_exactly(&map, keys.iter().copied());
        assert_eq!(map.try_reserve(64 * 5), Ok(()));
    }
}

#[test]
fn a_reservation_is_refused() {
    let _alone = alone();
    for refuses in [Request::is_lines, Request::is_header] {
        for entries in [0, 100] {
            let map: FatMap = Kind::plain().map();
            for key in 0..entries {
                map.pin().insert(key, fat(key));
            }
            let before = map.stats();
            let (result, refused) = refusing(refuses, || map.try_reserve(10_000));
            assert_eq!(
                result.map_err(|error| error.to_string()),
                Err("no memory for 10000 more entries".to_string())
            );
            assert!(refused > 0);
            assert_eq!(map.stats(), before);
            assert_holds_exactly(&map, 0..entries);
            assert_eq!(map.try_reserve(10_000), Ok(()));
            assert_holds_exactly(&map, 0..entries);
        }
    }
}

#[test]
fn a_capacity_is_refused() {
    let _alone = alone();
    for refuses in [Request::is_lines, Request::is_header] {
        let build = || drop(NullsHashMap::<u64, u64>::with_capacity(1000));
        let (result, refused) = refusing(refuses, || {
            catch_unwind(AssertUnwindSafe(build)).map_err(|payload| {
                // The message is made while nothing else is refused than arrays.
                payload.downcast_ref::<String>().cloned()
            })
        });
        assert!(refused > 0);
        let message = result.expect_err("no memory").expect("a message");
        assert!(
            message.starts_with("no memory for a capacity of 1000"),
            "{message}"
        );
    }
}

/// Each allocation that the crate makes while a map fills is refused once, one after the other.
#[test]
fn each_allocation_is_refused_in_turn() {
    let _alone = alone();
    // Batches of one are not told from lists.
    for_kinds(
        Kind::all()
            .into_iter()
            .filter(|kind| kind.collector.is_none()),
        |kind| {
            let entries = 150;
            let refuses = match kind.growth {
                Growth::Fixed => Request::is_the_crates,
                _ => Request::is_surely_the_crates,
            };
            // How many there are.
            let all = |skip, left| {
                let map: FatMap = kind.map();
                let m = map.pin();
                let (failed, refused) = refusing_some(refuses, skip, left, || {
                    let mut failed = 0;
                    for key in 0..entries {
                        match m.try_insert(key, fat(key)) {
                            Ok(value) => assert_eq!(*value, fat(key)),
                            Err(error) => {
                                assert_eq!(error.into_inner(), (key, fat(key)));
                                assert_eq!(m.get(&key), None);
                                failed += 1;
                                assert!(m.try_insert(key, fat(key)).is_ok());
                            }
                        }
                    }
                    failed
                });
                assert_holds_exactly(&map, 0..entries);
                (failed, refused)
            };
            assert_eq!(all(0, 0), (0, 0));
            let mut failures = 0;
            let mut skip = 0;
            loop {
                let (failed, refused) = all(skip, 1);
                assert!(failed <= refused);
                failures += failed;
                if refused == 0 {
                    break;
                }
                skip += 1;
            }
            assert!(
                skip >= usize::try_from(entries).expect("few"),
                "a node each, at least: {skip}"
            );
            // Only growth goes on without.
            assert!(
                failures >= 150,
                "{failures} of {skip} refusals were reported"
            );
            // Half of them at once, too, in runs of several.
            for run in [2, 3, 5] {
                for skip in (0..skip).step_by(17) {
                    let map: FatMap = kind.map();
                    let m = map.pin();
                    let mut left = Vec::with_capacity(run + 1);
                    let ((), _) = refusing_some(refuses, skip, run, || {
                        left.extend(
                            (0..entries).filter(|&key| m.try_insert(key, fat(key)).is_err()),
                        );
                    });
                    assert!(left.len() <= run);
                    assert_holds_exactly(&map, (0..entries).filter(|key| !left.contains(key)));
                }
            }
        },
    );
    // Refusals leak nothing either: `everything_is_given_back` has shown that the rest does not.
    let before = held_by_this_thread();
    let map: FatMap = Kind::plain().map();
    let ((), _) = refusing_some(Request::is_surely_the_crates, 20, 40, || {
        for key in 0..150 {
            ignore(map.pin().try_insert(key, fat(key)));
        }
    });
    drop(map);
    assert_eq!(held_by_this_thread(), before);
}

/// The plain forms end the process, as std's collections do, and do not unwind.
#[test]
#[cfg(unix)]
fn insert_without_memory_aborts() {
    use std::os::unix::process::ExitStatusExt;

    let test = "insert_without_memory_aborts";
    if is_child(test) {
        let map: FatMap = Kind::plain().map();
        map.pin().insert(1, fat(1));
        println!("inserted one");
        let result = catch_unwind(AssertUnwindSafe(|| {
            refusing(Request::is_node, || map.pin().insert(2, fat(2)).is_some());
        }));
        println!("survived: {}", result.is_err());
        return;
    }
    let output = run_child(test, test);
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(
        said.contains("inserted one") && !said.contains("survived"),
        "{said}"
    );
    assert_eq!(output.status.signal(), Some(6), "{output:?}");
}
