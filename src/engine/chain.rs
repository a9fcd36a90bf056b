//! A reader's walk over the overflow lines of a bucket.
//!
//! The walk takes no lock: lines may leave the chain, be recycled into another and be filled there
//! while it stands on them. Two facts make it right all the same. A recycled line enters a chain
//! right behind the home line, so a line that stays in the chain is never skipped (I5): lines
//! before it in the walk came after it in time. And whoever is carried into another chain ends at
//! that chain's marker, not at the own one (I4), and begins again.

use super::layout::Layout;
use super::line::{Line, Link, Marker};

/// How a walk ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// At the own marker: every line that was in the chain throughout has been met.
    Own,
    /// At another bucket's marker: nothing is known. Restart.
    Foreign,
}

/// The overflow lines behind a home line, in order.
pub(super) struct Walk<'a, L: Layout> {
    own: Marker,
    at: &'a Line<L>,
}

impl<'a, L: Layout> Walk<'a, L> {
    /// Begins behind `home`.
    ///
    /// # Safety
    ///
    /// 1. `home` was seen with *has-link*.
    /// 2. Its array lives for `'a`.
    #[inline]
    pub(super) unsafe fn behind(home: &'a Line<L>) -> Self {
        Self {
            own: home.marker(),
            at: home,
        }
    }

    /// The next line, or how the walk ended.
    #[inline]
    pub(super) fn step(&mut self) -> Result<&'a Line<L>, End> {
        // SAFETY: `at` is the home line, seen with has-link (#1 of `behind`), or was reached by a
        // link, which was set before it; the array lives for `'a` (#2).
        match unsafe { self.at.link() } {
            Link::Line(line) => {
                self.at = line;
                Ok(line)
            }
            Link::Marker(marker) if marker == self.own => Err(End::Own),
            Link::Marker(_) => Err(End::Foreign),
        }
    }
}
