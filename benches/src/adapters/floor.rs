//! What a hit cannot cost less than on this machine: the reads of memory alone, without a hash, a tag or
//! a key to compare. These are no tables; they answer look-ups of present keys, whose values they know.

use memmap2::{Advice, MmapMut};

use super::{Session, Table};
use crate::workloads::{key, value};

const LINE: usize = 64;

/// What the memory holds, byte by byte: not zeros, which the system would not give memory for.
const FILL: u8 = 0xa5;
const WORD: u64 = u64::from_ne_bytes([FILL; 8]);

/// Lines in huge pages where the system has such: as many as hold `entries` entries at four a line.
struct Lines {
    map: MmapMut,
    mask: usize,
}

impl Lines {
    fn new(entries: usize) -> Self {
        let count = (entries / 4).next_power_of_two();
        let mut map = MmapMut::map_anon(count * LINE).expect("memory for a floor");
        // A hint, as in nulls: refusal is harmless.
        let _ = map.advise(Advice::HugePage);
        map.fill(FILL);
        Self {
            map,
            mask: count - 1,
        }
    }

    /// The first word of the line that `key` leads to.
    #[inline]
    fn read(&self, key: u64) -> u64 {
        let start = (usize::try_from(key & self.mask as u64).unwrap_or(0)) * LINE;
        self.map[start..]
            .first_chunk()
            .map_or(0, |word| u64::from_ne_bytes(*word))
    }

    fn write(&mut self, line: usize, word: u64) {
        self.map[line * LINE..][..8].copy_from_slice(&word.to_ne_bytes());
    }
}

/// One random line a look-up: what an entry inside a bucket's line costs at least.
pub struct OneLine(Lines);

impl Table for OneLine {
    const NAME: &'static str = "floor: one line";
    const PACKAGE: &'static str = "nulls-benches";

    type Session<'t> = &'t Self;

    fn with_capacity(capacity: usize) -> Self {
        Self(Lines::new(capacity))
    }

    #[inline]
    fn pin(&self) -> &Self {
        self
    }
}

impl OnlyReads for OneLine {
    #[inline]
    fn read(&self, key: u64) -> u64 {
        self.0.read(key)
    }
}

/// A random line, and another that the first one names: what a node behind a bucket costs at least. The
/// second one lies in ordinary pages, as nodes of an allocator do.
pub struct TwoLines {
    lines: Lines,
    nodes: Vec<[u64; 4]>,
    mask: usize,
}

impl Table for TwoLines {
    const NAME: &'static str = "floor: two lines";
    const PACKAGE: &'static str = "nulls-benches";

    type Session<'t> = &'t Self;

    fn with_capacity(capacity: usize) -> Self {
        let mut lines = Lines::new(capacity);
        let nodes = vec![[WORD; 4]; capacity.next_power_of_two()];
        let mask = nodes.len() - 1;
        for line in 0..=lines.mask {
            lines.write(line, key(line) & mask as u64);
        }
        Self { lines, nodes, mask }
    }

    #[inline]
    fn pin(&self) -> &Self {
        self
    }
}

impl OnlyReads for TwoLines {
    /// Some bits of the key choose among the four nodes that a line could lead to.
    #[inline]
    fn read(&self, key: u64) -> u64 {
        let node = self.lines.read(key) ^ (key >> 62);
        self.nodes[usize::try_from(node).unwrap_or(0) & self.mask][0]
    }
}

/// A floor's one operation.
trait OnlyReads {
    /// [`WORD`], by way of memory that `key` leads to.
    fn read(&self, key: u64) -> u64;
}

impl<F: OnlyReads> Session for &F {
    #[inline]
    fn get(&self, key: &u64) -> Option<u64> {
        Some(value(*key) ^ self.read(*key) ^ WORD)
    }

    /// Every key is there from the beginning; this is what lets a floor be filled as tables are.
    fn insert(&self, _: u64, _: u64) -> bool {
        true
    }

    fn add(&self, _: u64, _: u64) -> bool {
        false
    }

    fn put(&self, _: u64, _: u64) -> bool {
        false
    }

    fn remove(&self, _: &u64) -> bool {
        false
    }

    fn update(&self, _: u64) -> bool {
        false
    }
}
