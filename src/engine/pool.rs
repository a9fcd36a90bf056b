//! The overflow lines of one array.
//!
//! They belong to the array and go with it; inside it they are recycled at once, from bucket to
//! bucket, without a grace period. So a reader that stands on a line while it is recycled is
//! carried into another chain of the *same* table: what it finds there is a true hit, what it does
//! not find is decided by the marker (I4).
//!
//! The free lines are a list of pointers beside the chunks. Neither their links nor their slots
//! carry it: a reader with an old snapshot would take the one for a chain and the other for an
//! entry.

use core::ptr::NonNull;

use alloc::vec::Vec;

use super::layout::Layout;
use super::line::Line;
use super::memory::{AllocError, Lines};
use super::spin::SpinLock;

pub(crate) struct Pool<L: Layout> {
    state: SpinLock<State<L>>,
}

struct State<L: Layout> {
    /// Lines in no chain. Has room for every line of the chunks, so that giving one back cannot
    /// fail.
    free: Vec<NonNull<Line<L>>>,
    /// Of `free`, how many are promised to writers that have not taken them yet.
    reserved: usize,
    chunks: Vec<Lines<L>>,
    lines: usize,
}

// SAFETY: the pointers are to lines of `chunks`, which may be shared and sent (`Lines`).
unsafe impl<L: Layout> Send for State<L> {}

/// A promise of lines: a writer gets it before its first store, so that nothing fails half-way.
/// What is not taken goes back when it is dropped.
pub(crate) struct Reserved<'a, L: Layout> {
    pool: &'a Pool<L>,
    lines: usize,
}

impl<L: Layout> Pool<L> {
    pub(super) fn new() -> Self {
        let (free, chunks) = (Vec::new(), Vec::new());
        Self {
            state: SpinLock::new(State {
                free,
                reserved: 0,
                chunks,
                lines: 0,
            }),
        }
    }

    /// Promises `lines` lines. `buckets` is the size of the array, in proportion to which memory is
    /// taken.
    pub(super) fn reserve(
        &self,
        lines: usize,
        buckets: usize,
    ) -> Result<Reserved<'_, L>, AllocError> {
        if lines > 0 {
            loop {
                let mut state = self.state.lock();
                if state.free.len() - state.reserved >= lines {
                    state.reserved += lines;
                    break;
                }
                let chunk_lines = lines.max(buckets / 64).max(state.lines / 4).max(2);
                drop(state);
                // Outside the spin lock: another writer may add a chunk meanwhile, which does no
                // harm.
                let chunk = Lines::new(chunk_lines)?;
                self.state.lock().add(chunk)?;
            }
        }
        Ok(Reserved { pool: self, lines })
    }

    /// Takes a line back that has left its chain. Its tags are 0 and its slots null; its link stays
    /// as it was, for the sake of readers that still stand on it.
    pub(super) fn give_back(&self, line: &Line<L>) {
        let mut state = self.state.lock();
        debug_assert!(state.free.len() < state.free.capacity());
        state.free.push(NonNull::from(line));
    }

    /// Lines in chunks, free lines, and bytes.
    pub(super) fn usage(&self) -> (usize, usize, usize) {
        let state = self.state.lock();
        let bytes = state.chunks.iter().map(Lines::bytes).sum();
        (state.lines, state.free.len(), bytes)
    }
}

impl<L: Layout> State<L> {
    fn add(&mut self, chunk: Lines<L>) -> Result<(), AllocError> {
        let lines = self.lines + chunk.len();
        let more = lines - self.free.len();
        self.free.try_reserve(more).map_err(|_| AllocError)?;
        self.chunks.try_reserve(1).map_err(|_| AllocError)?;
        self.free.extend(chunk.iter());
        self.chunks.push(chunk);
        self.lines = lines;
        Ok(())
    }
}

impl<'a, L: Layout> Reserved<'a, L> {
    /// A line in no chain: tags 0, slots null, link of no meaning.
    ///
    /// # Panics
    ///
    /// If more are taken than were reserved, which is a bug of this crate.
    pub(super) fn take(&mut self) -> &'a Line<L> {
        self.lines = self
            .lines
            .checked_sub(1)
            .expect("no more lines than were reserved");
        let mut state = self.pool.state.lock();
        state.reserved -= 1;
        let line = state.free.pop().expect("reserved lines are free");
        // SAFETY: a line of one of the pool's chunks, which live as long as the pool.
        unsafe { line.as_ref() }
    }
}

impl<L: Layout> Drop for Reserved<'_, L> {
    fn drop(&mut self) {
        if self.lines > 0 {
            self.pool.state.lock().reserved -= self.lines;
        }
    }
}
