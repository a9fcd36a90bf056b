//! The order in which every sweep visits a table that may grow meanwhile.
//!
//! Buckets are visited by *reversed hash position*: the position of an entry is its stored hash
//! bits in reverse, from the top of a `u64`. Bucket i of 2^k buckets then holds exactly one
//! interval of positions, of length 2^(64−k), and growth splits intervals in two. A sweep keeps one
//! position p, "all below p is done, nothing from p on is":
//!
//! 1. From the root array take the bucket that holds p; while it has moved, the next array's bucket
//!    that holds p. `last` is the smallest interval end met on the way.
//! 2. Read the chain. Again from 1 if the walk ended at a foreign marker, met a line twice (its
//!    first visit may have missed what came in behind), or the bucket has moved meanwhile; with
//!    inline entries also if anything in it has changed.
//! 3. The entries from p to `last` are this step's. p = `last` + 1.
//!
//! So an entry that is present throughout is met exactly once, however often the table grows
//! (protocol §9).

use alloc::vec::Vec;

use super::Table;
use super::array::{Array, Front};
use super::chain::{End, Walk};
use super::layout::Layout;
use super::line::Line;
use super::meta::Meta;
use crate::reclaim::Reclaim;

/// How far a sweep has come.
#[derive(Clone, Debug)]
pub(crate) struct Cursor {
    /// All positions below are done; `None` when all are.
    next: Option<u64>,
}

impl Cursor {
    pub(crate) const fn start() -> Self {
        Self { next: Some(0) }
    }
}

/// What one step of a sweep covers: the positions from `first` to `last`, both included.
#[derive(Clone, Copy, Debug)]
pub(super) struct Interval {
    first: u64,
    last: u64,
}

impl Interval {
    pub(super) const EMPTY: Self = Self { first: 1, last: 0 };

    pub(super) fn contains(self, position: u64) -> bool {
        (self.first..=self.last).contains(&position)
    }
}

/// A bucket and the interval that a step takes from it.
pub(super) struct Stop<'a, L: Layout> {
    pub(super) array: &'a Array<L>,
    pub(super) index: usize,
    pub(super) interval: Interval,
}

impl<L: Layout> Table<L> {
    /// Step 1, for the cursor's position. `None` when the sweep is done. The cursor stays until
    /// `advance`.
    pub(super) fn stop<'g, G: Reclaim>(
        &self,
        guard: &'g G,
        cursor: &mut Cursor,
    ) -> Option<Stop<'g, L>> {
        let first = cursor.next?;
        let Some(mut array) = self.root(guard) else {
            // Done for good, even if there is an array the next time.
            cursor.next = None;
            return None;
        };
        let mut last = u64::MAX;
        loop {
            // A bucket's index has its bits where the position has them in reverse.
            let index = usize::try_from(first.reverse_bits() & u64::from(array.mask()))
                .expect("an index is below MAX_BUCKETS");
            last = last.min(first | interval_length(array));
            if array.bucket(index).meta_first().is_moved() {
                array = array.next().expect("moved buckets have a next array");
            } else {
                return Some(Stop {
                    array,
                    index,
                    interval: Interval { first, last },
                });
            }
        }
    }

    /// Steps 1 to 3: calls `read` with every line of the next bucket's chain, as often as the chain
    /// has to be read; see [`read_chain`]. `read` gets `None` when it has to forget what it was
    /// given. Returns the interval, past which the cursor has gone.
    pub(super) fn read_step<'g, G: Reclaim>(
        &self,
        guard: &'g G,
        cursor: &mut Cursor,
        mut read: impl FnMut(Option<(&'g Line<L>, Meta)>) -> Read,
    ) -> Option<Interval>
    where
        L: 'g,
    {
        loop {
            let stop = self.stop(guard, cursor)?;
            let _ = read(None);
            if read_chain(stop.array.front(stop.index), &mut read).is_ok() {
                cursor.advance(stop.interval);
                return Some(stop.interval);
            }
        }
    }
}

/// Why a chain has to be read again.
#[derive(Debug)]
pub(super) enum Disturbed {
    /// The bucket has moved to the next array.
    Moved,
    /// The walk was carried into another chain, or met a line twice: its first visit may have
    /// missed what came in behind it. Or, with versions, something changed.
    Changed,
}

/// What came of reading a line: `Err` if it changed meanwhile.
pub(super) type Read = Result<(), Disturbed>;

/// Calls `read` with every line of a chain. If it returns the home's word, every entry that was in
/// the chain throughout was in one of those lines, and none in two, but for an inline entry that an
/// update was moving from one line to another.
pub(super) fn read_chain<'g, L: Layout>(
    front: Front<'g, L>,
    read: &mut impl FnMut(Option<(&'g Line<L>, Meta)>) -> Read,
) -> Result<Meta, Disturbed> {
    let meta = front.home.meta_first();
    if meta.is_moved() {
        return Err(Disturbed::Moved);
    }
    read(Some((front.home, meta)))?;
    if L::LINES == 1 && !meta.has_link() {
        return Ok(meta);
    }
    let mut met: Vec<*const Line<L>> = Vec::new();
    // SAFETY: #1 has-link as it was seen; #2 the array is borrowed for `'g`.
    let mut walk = unsafe { Walk::behind(front, meta.has_link()) };
    let end = loop {
        match walk.step() {
            Ok(line) => {
                // With versions a line that left and came back shows in the home's.
                if !L::VERSIONED {
                    met.push(line);
                }
                read(Some((line, line.meta())))?;
            }
            Err(end) => break end,
        }
    };
    met.sort_unstable();
    if end == End::Foreign || met.windows(2).any(|pair| pair[0] == pair[1]) {
        return Err(Disturbed::Changed);
    }
    let again = front.home.meta();
    if again.is_moved() {
        Err(Disturbed::Moved)
    } else if L::VERSIONED && !again.is_same(meta) {
        // An entry that an update has moved may have been missed in both places (1.9).
        Err(Disturbed::Changed)
    } else {
        Ok(meta)
    }
}

impl Cursor {
    pub(super) fn advance(&mut self, interval: Interval) {
        self.next = interval.last.checked_add(1);
    }
}

/// All but the top bits of a position, which name the bucket.
fn interval_length<L: Layout>(array: &Array<L>) -> u64 {
    let bits = array.mask().count_ones();
    if bits == 0 {
        u64::MAX
    } else {
        u64::MAX >> bits
    }
}

#[cfg(all(test, feature = "std", not(nulls_loom)))]
mod tests {
    use super::super::boxed::Boxed;
    use super::*;

    #[test]
    fn the_buckets_of_an_array_divide_all_positions() {
        for buckets in [1usize, 2, 8, 256] {
            let array = Array::<Boxed<u64>>::new(buckets).expect("a small array");
            let mut first = 0u64;
            let mut seen = vec![0; buckets];
            loop {
                seen[usize::try_from(first.reverse_bits()).expect("64-bit") & (buckets - 1)] += 1;
                match (first | interval_length(&array)).checked_add(1) {
                    Some(next) => first = next,
                    None => break,
                }
            }
            assert!(seen.iter().all(|&times| times == 1), "{seen:?}");
        }
    }
}
