//! What the test files share: kinds of maps and tables, hashers, counted values, a watchdog, child
//! processes.

#![allow(dead_code, reason = "each test binary uses its own part of this")]
#![allow(
    clippy::std_instead_of_alloc,
    clippy::std_instead_of_core,
    reason = "a test is a program of std"
)]

use core::hash::{BuildHasher, Hash, Hasher};
use std::hash::DefaultHasher;
use std::process::{Command, Output};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use nulls::{Collector, Growth, InlineHashMap, NullsHashMap, NullsHashTable};

/// A map of one of the kinds.
pub(crate) type Map<K, V> = NullsHashMap<K, V, TestState>;

/// An inline map of one of the kinds.
pub(crate) type InlineMap<K, V> = InlineHashMap<K, V, TestState>;

/// `full`, or `small` where everything is a hundred times slower.
pub(crate) const fn sized(full: usize, small: usize) -> usize {
    if cfg!(miri) { small } else { full }
}

/// For results that are of no interest, references among them.
pub(crate) fn ignore<T>(_: T) {}

// ---- hashers ----

/// Hashers whose hashes are the same in every run.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) enum TestState {
    /// Well mixed.
    #[default]
    Sip,
    /// One hash for all keys: one bucket, one tag, one set of stored bits.
    Constant,
    /// The last integer written, as it is.
    Identity,
    /// Well mixed, but the low 16 bits are zero: one bucket in every array of up to 65,536.
    OneBucket,
}

pub(crate) struct TestHasher {
    state: TestState,
    sip: DefaultHasher,
    last: u64,
}

impl BuildHasher for TestState {
    type Hasher = TestHasher;

    fn build_hasher(&self) -> TestHasher {
        TestHasher {
            state: *self,
            sip: DefaultHasher::new(),
            last: 0,
        }
    }
}

impl Hasher for TestHasher {
    fn write(&mut self, bytes: &[u8]) {
        self.sip.write(bytes);
        self.last = bytes
            .iter()
            .rev()
            .fold(0, |word, &byte| word << 8 | u64::from(byte));
    }

    fn finish(&self) -> u64 {
        match self.state {
            TestState::Sip => self.sip.finish(),
            TestState::Constant => 0x0123_4567_89ab_cdef,
            TestState::Identity => self.last,
            TestState::OneBucket => self.sip.finish() & !0xffff,
        }
    }
}

// ---- kinds ----

/// One way to set a map or a table up.
#[derive(Clone, Debug)]
pub(crate) struct Kind {
    pub(crate) name: &'static str,
    pub(crate) capacity: usize,
    pub(crate) growth: Growth,
    pub(crate) shift: u32,
    pub(crate) hasher: TestState,
    pub(crate) collector: Option<Collector>,
}

impl Kind {
    pub(crate) fn plain() -> Self {
        Self {
            name: "plain",
            capacity: 0,
            growth: Growth::Auto,
            shift: 0,
            hasher: TestState::Sip,
            collector: None,
        }
    }

    /// Every kind. Maps of one kind that shares a collector share one.
    pub(crate) fn all() -> Vec<Self> {
        let plain = Self::plain;
        let every_removal_a_batch = || Some(Collector::builder().batch_size(1).build());
        vec![
            plain(),
            Self {
                name: "presized",
                capacity: 4000,
                ..plain()
            },
            Self {
                name: "fixed at four buckets",
                growth: Growth::Fixed,
                capacity: 1,
                ..plain()
            },
            Self {
                name: "fixed and roomy",
                growth: Growth::Fixed,
                capacity: 4000,
                ..plain()
            },
            Self {
                name: "shift 3",
                shift: 3,
                ..plain()
            },
            Self {
                name: "shift 32",
                shift: 32,
                ..plain()
            },
            Self {
                name: "constant hasher",
                hasher: TestState::Constant,
                ..plain()
            },
            Self {
                name: "every key in one bucket",
                hasher: TestState::OneBucket,
                ..plain()
            },
            Self {
                name: "identity hasher",
                hasher: TestState::Identity,
                ..plain()
            },
            Self {
                name: "shared collector, batches of one",
                collector: every_removal_a_batch(),
                ..plain()
            },
            Self {
                name: "shared collector, batches of one, fixed at four buckets",
                growth: Growth::Fixed,
                capacity: 1,
                collector: every_removal_a_batch(),
                ..plain()
            },
        ]
    }

    pub(crate) fn map<K: Send + 'static, V: Send + 'static>(&self) -> Map<K, V> {
        let builder = NullsHashMap::builder()
            .hasher(self.hasher)
            .capacity(self.capacity)
            .growth(self.growth)
            .shift(self.shift);
        match &self.collector {
            Some(collector) => builder.collector(collector.clone()).build(),
            None => builder.build(),
        }
    }

    pub(crate) fn inline<K, V>(&self) -> InlineMap<K, V> {
        let builder = InlineHashMap::builder()
            .hasher(self.hasher)
            .capacity(self.capacity)
            .growth(self.growth)
            .shift(self.shift);
        match &self.collector {
            Some(collector) => builder.collector(collector.clone()).build(),
            None => builder.build(),
        }
    }

    pub(crate) fn table<T: Send + 'static>(&self) -> NullsHashTable<T> {
        let builder = NullsHashTable::builder()
            .capacity(self.capacity)
            .growth(self.growth)
            .shift(self.shift);
        match &self.collector {
            Some(collector) => builder.collector(collector.clone()).build(),
            None => builder.build(),
        }
    }

    pub(crate) fn hash(&self, key: &(impl Hash + ?Sized)) -> u64 {
        self.hasher.hash_one(key)
    }
}

/// Runs a test once for every kind, and says in which one it failed.
pub(crate) fn for_each_kind(test: impl FnMut(&Kind)) {
    for_kinds(Kind::all(), test);
}

pub(crate) fn for_kinds(kinds: impl IntoIterator<Item = Kind>, mut test: impl FnMut(&Kind)) {
    struct Name(&'static str);
    impl Drop for Name {
        fn drop(&mut self) {
            if thread::panicking() {
                eprintln!("failed for the kind {:?}", self.0);
            }
        }
    }
    for kind in kinds {
        let _name = Name(kind.name);
        test(&kind);
    }
}

// ---- chance ----

/// `SplitMix64`. The same sequence in every run, from a seed that is printed.
#[derive(Clone, Debug)]
pub(crate) struct Rng(u64);

impl Rng {
    pub(crate) fn new(seed: u64) -> Self {
        println!("seed {seed:#x}");
        Self(seed)
    }

    /// Another sequence, for thread `n`.
    pub(crate) fn fork(&self, n: u64) -> Self {
        let mut fork = Self(self.0 ^ n.wrapping_mul(0xd6e8_feb8_6659_fd93));
        fork.next();
        fork
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    /// A number below `n`.
    pub(crate) fn below(&mut self, n: u64) -> u64 {
        self.next() % n
    }

    /// An index below `n`.
    pub(crate) fn index(&mut self, n: usize) -> usize {
        usize::try_from(self.below(n as u64)).expect("below a usize")
    }
}

// ---- counted values ----

/// Keeps account of how often each of its values was dropped.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ledger {
    drops: Arc<Mutex<Vec<u32>>>,
}

/// A value of a [`Ledger`].
#[derive(Debug)]
pub(crate) struct Counted {
    pub(crate) id: usize,
    ledger: Ledger,
}

impl Ledger {
    pub(crate) fn new() -> Self {
        Self::default()
    }

    fn with_drops<R>(&self, f: impl FnOnce(&mut Vec<u32>) -> R) -> R {
        f(&mut self.drops.lock().unwrap_or_else(PoisonError::into_inner))
    }

    pub(crate) fn make(&self) -> Counted {
        let id = self.with_drops(|drops| {
            drops.push(0);
            drops.len() - 1
        });
        Counted {
            id,
            ledger: self.clone(),
        }
    }

    pub(crate) fn made(&self) -> usize {
        self.with_drops(|drops| drops.len())
    }

    /// How often the value of this id was dropped.
    pub(crate) fn drops_of(&self, id: usize) -> u32 {
        self.with_drops(|drops| drops[id])
    }

    /// How many values were dropped.
    pub(crate) fn dropped(&self) -> usize {
        self.with_drops(|drops| drops.iter().filter(|&&times| times > 0).count())
    }

    pub(crate) fn assert_each_dropped_once(&self) {
        self.with_drops(|drops| {
            let wrong: Vec<_> = drops
                .iter()
                .enumerate()
                .filter(|&(_, &times)| times != 1)
                .take(10)
                .collect();
            assert!(
                wrong.is_empty(),
                "of {} values these were not dropped once (id, times): {wrong:?}",
                drops.len()
            );
        });
    }

    pub(crate) fn assert_none_dropped_twice(&self) {
        self.with_drops(|drops| assert!(drops.iter().all(|&times| times <= 1), "{drops:?}"));
    }
}

/// Another value of the same ledger.
impl Clone for Counted {
    fn clone(&self) -> Self {
        self.ledger.make()
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.ledger.with_drops(|drops| drops[self.id] += 1);
    }
}

// ---- a watchdog ----

/// Aborts the process unless it is dropped in time: for tests that would hang if they failed.
pub(crate) struct Watchdog {
    sender: Sender<()>,
    thread: Option<JoinHandle<()>>,
}

impl Watchdog {
    pub(crate) fn seconds(seconds: u64) -> Self {
        let (sender, receiver) = channel();
        let test = thread::current().name().unwrap_or("?").to_string();
        let watch = move || {
            let timeout = Duration::from_secs(seconds * if cfg!(miri) { 100 } else { 1 });
            if receiver.recv_timeout(timeout) == Err(RecvTimeoutError::Timeout) {
                eprintln!("{test} hangs");
                std::process::abort();
            }
        };
        Self {
            sender,
            thread: Some(thread::spawn(watch)),
        }
    }
}

impl Drop for Watchdog {
    fn drop(&mut self) {
        // The watching thread is there until it is told, and does not panic.
        ignore(self.sender.send(()));
        ignore(self.thread.take().map(JoinHandle::join));
    }
}

// ---- child processes ----

const CHILD: &str = "NULLS_TEST_CHILD";

/// Whether this process was started by [`run_child`] for `part`.
pub(crate) fn is_child(part: &str) -> bool {
    std::env::var(CHILD).is_ok_and(|wanted| wanted == part)
}

/// Runs one test of this binary in a process of its own, in which [`is_child`] is true of `part`.
pub(crate) fn run_child(test: &str, part: &str) -> Output {
    Command::new(std::env::current_exe().expect("the path of this binary"))
        .args([test, "--exact", "--nocapture", "--test-threads=1"])
        .env(CHILD, part)
        .output()
        .expect("this binary runs")
}
