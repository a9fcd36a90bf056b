//! A reader's walk over the overflow lines of a bucket.
//!
//! The walk takes no lock: lines may leave the chain, be recycled into another and be filled there
//! while it stands on them. Two facts make it right all the same. A recycled line enters a chain
//! right behind the home line, so a line that stays in the chain is never skipped (I5): lines
//! before it in the walk came after it in time. And whoever is carried into another chain ends at
//! that chain's marker, not at the own one (I4), and begins again.

use super::array::Front;
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

/// The lines behind a home line, in order: the second of the front, if it has two, and the overflow
/// lines.
pub(super) struct Walk<'a, L: Layout> {
    own: Marker,
    at: &'a Line<L>,
    /// The second line of the front, until it has been met.
    second: Option<&'a Line<L>>,
    has_link: bool,
}

impl<'a, L: Layout> Walk<'a, L> {
    /// Begins behind the home line.
    ///
    /// # Safety
    ///
    /// 1. `has_link` only if *has-link* was seen in the home's word.
    /// 2. The array lives for `'a`.
    #[inline]
    pub(super) unsafe fn behind(front: Front<'a, L>, has_link: bool) -> Self {
        Self {
            own: front.home.marker(),
            at: front.last,
            second: (L::LINES == 2).then_some(front.last),
            has_link,
        }
    }

    /// The next line, or how the walk ended.
    #[inline]
    pub(super) fn step(&mut self) -> Result<&'a Line<L>, End> {
        if let Some(second) = self.second.take() {
            return Ok(second);
        }
        if !self.has_link {
            return Err(End::Own);
        }
        // SAFETY: `at` is the last line of a front with has-link (#1 of `behind`), or was reached by
        // a link, which was set before it; the array lives for `'a` (#2).
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
