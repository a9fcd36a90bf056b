//! A bucket under its lock: the only way to change one (I3).
//!
//! The lock is a bit of the home line's control word. No code of the caller's runs while it is held
//! but the equality test that proves a key absent; if that panics, the lock is released on the way
//! out and nothing has changed, since every store comes after the last such call.

use core::fmt;

use super::array::{Array, Front};
use super::chain::{End, Walk};
use super::hash::{StoredBits, Tag};
use super::layout::{Layout, leads_on};
use super::line::{Line, Link};
use super::memory::AllocError;
use super::meta::{Meta, Slots};
use super::pool::Reserved;
use crate::sync::Backoff;

/// A bucket whose lock this thread holds, in the array where it now lives.
pub(crate) struct Bucket<'a, L: Layout> {
    pub(super) array: &'a Array<L>,
    pub(super) front: Front<'a, L>,
    /// The home's word as it stands, lock bit included: nobody else changes it now.
    meta: Meta,
    /// Whether a line of the chain has been changed: a home with versions gets a new one then.
    changed: bool,
}

/// A slot of a line.
pub(crate) struct Place<'a, L: Layout> {
    pub(super) line: &'a Line<L>,
    pub(super) slot: usize,
}

impl<L: Layout> Clone for Place<'_, L> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<L: Layout> Copy for Place<'_, L> {}

/// The bucket has moved to the next array.
#[derive(Debug)]
pub(crate) struct Moved;

impl<'a, L: Layout> Bucket<'a, L> {
    /// Locks the bucket of `bits`, entering by the root array and going on by *moved* only (P15).
    #[inline]
    pub(super) fn lock(root: &'a Array<L>, bits: StoredBits) -> Self {
        let mut array = root;
        loop {
            match Self::lock_in(array, bits.home(array.mask())) {
                Ok(bucket) => return bucket,
                Err(Moved) => array = array.next().expect("moved buckets have a next array"),
            }
        }
    }

    /// Locks bucket `index` of this very array.
    #[inline]
    pub(super) fn lock_in(array: &'a Array<L>, index: usize) -> Result<Self, Moved> {
        let home = array.bucket(index);
        loop {
            // Acquire: a *moved* seen here must show the next array and its entries.
            let meta = home.meta();
            if meta.is_moved() {
                return Err(Moved);
            }
            if let Some(bucket) = Self::lock_unchanged(array, index, meta) {
                return Ok(bucket);
            }
            wait_while_locked(home);
        }
    }

    /// Locks bucket `index` of this very array if its word is still `seen`, and unlocked.
    #[inline]
    pub(super) fn lock_unchanged(array: &'a Array<L>, index: usize, seen: Meta) -> Option<Self> {
        let front = array.front(index);
        (!seen.is_locked() && front.home.try_lock(seen)).then(|| Self {
            array,
            front,
            meta: seen.locked(),
            changed: false,
        })
    }

    /// Bucket `index` of an array that entries are moving to, for the mover that holds the lock of
    /// the bucket they come from: nobody else comes here before *moved* is set there (I3), so
    /// no lock is taken.
    pub(super) fn of_mover(array: &'a Array<L>, index: usize) -> Self {
        let front = array.front(index);
        Self {
            array,
            front,
            meta: front.home.meta(),
            changed: false,
        }
    }

    /// Every line of the chain, home first.
    pub(super) fn lines(&self) -> impl Iterator<Item = &'a Line<L>> + use<'a, L> {
        // SAFETY: #1 has-link under the lock; #2 the array is borrowed for `'a`.
        let mut walk = unsafe { Walk::behind(self.front, self.meta.has_link()) };
        core::iter::once(self.front.home).chain(core::iter::from_fn(move || match walk.step() {
            Ok(line) => Some(line),
            Err(end) => {
                debug_assert_eq!(end, End::Own, "I4: a locked chain ends in its own marker");
                None
            }
        }))
    }

    /// Whether a line is the home line.
    #[inline]
    fn is_home(&self, line: &Line<L>) -> bool {
        core::ptr::eq(line, self.front.home)
    }

    /// The line's word: of the home the one that is kept here.
    #[inline]
    pub(super) fn meta_of(&self, line: &Line<L>) -> Meta {
        if self.is_home(line) {
            self.meta
        } else {
            line.meta()
        }
    }

    /// Every place in the chain that `slots` picks out of a line's word.
    pub(super) fn places(
        &self,
        slots: impl Fn(Meta) -> Slots,
    ) -> impl Iterator<Item = Place<'a, L>> {
        self.lines()
            .flat_map(move |line| slots(self.meta_of(line)).map(move |slot| Place { line, slot }))
    }

    /// The first of [`places`](Self::places) for which `accept` has an answer; in the home line alone,
    /// which almost always decides, unless `behind`.
    #[inline]
    pub(super) fn find_place<R>(
        &self,
        behind: bool,
        slots: impl Fn(Meta) -> Slots,
        mut accept: impl FnMut(Place<'a, L>) -> Option<R>,
    ) -> Option<R> {
        for slot in slots(self.meta) {
            let answer = accept(Place {
                line: self.front.home,
                slot,
            });
            if answer.is_some() {
                return answer;
            }
        }
        if behind {
            self.find_place_behind(slots, accept)
        } else {
            None
        }
    }

    /// Whether there are lines behind the home line.
    #[inline]
    pub(super) fn has_behind(&self) -> bool {
        L::LINES > 1 || self.meta.has_link()
    }

    /// Whether an entry of this tag may be in a line behind the home line.
    #[inline]
    pub(super) fn may_be_behind(&self, tag: Tag) -> bool {
        leads_on::<L>(self.meta, tag)
    }

    #[cold]
    #[inline(never)]
    fn find_place_behind<R>(
        &self,
        slots: impl Fn(Meta) -> Slots,
        mut accept: impl FnMut(Place<'a, L>) -> Option<R>,
    ) -> Option<R> {
        self.lines()
            .skip(1)
            .find_map(|line| slots(line.meta()).find_map(|slot| accept(Place { line, slot })))
    }

    /// Changes a line's word, the lock still held.
    #[inline]
    fn store(&mut self, line: &Line<L>, meta: Meta) {
        if self.is_home(line) {
            self.meta = meta;
        }
        self.changed = true;
        line.store_meta(meta);
    }

    /// Tags a free place: before a boxed entry is stored there (I1), after an inline one was (I2).
    #[inline]
    pub(super) fn set_tag(&mut self, place: Place<'a, L>, tag: Tag) {
        let behind = L::FILTERED && !self.is_home(place.line);
        if behind && !self.meta.may_be_behind(tag, L::SLOTS) {
            // Before the entry can be found there: afterwards a look-up by the home's word alone would
            // miss what another has found.
            self.store(self.front.home, self.meta.with_behind(tag, L::SLOTS));
        }
        let meta = self.meta_of(place.line).with_tag(place.slot, tag);
        self.store(place.line, meta);
    }

    /// Clears the tag of a place that holds no entry any more (I1: entry first, tag second), and lets
    /// overflow lines go that the chain no longer needs.
    #[inline]
    pub(super) fn clear_tag(&mut self, place: Place<'a, L>) {
        let meta = self.meta_of(place.line).without_tag(place.slot);
        let behind = !self.is_home(place.line);
        if behind {
            place.line.store_meta(bumped::<L>(meta));
        } else {
            // Not stored: the word of the home is written when the lock is released, or by
            // `unlink_spare`.
            self.meta = meta;
        }
        self.changed = true;
        if self.meta.has_link() && (behind || !L::FILTERED) {
            let emptied = !self.front.contains(place.line) && is_empty::<L>(place.line.meta());
            self.unlink_spare(emptied);
        }
        if L::FILTERED {
            if behind {
                self.forget_behind();
            }
            self.unlink_all_spare();
        }
    }

    /// Lets overflow lines go if the filter says that all of them are empty. While it does not, a removal
    /// in the home line does not look at them, as that would read another line: an empty one among
    /// several may stay until then.
    #[inline]
    fn unlink_all_spare(&mut self) {
        while self.meta.has_link() && self.meta.is_none_behind(L::SLOTS) && self.unlink_spare(true)
        {
        }
    }

    /// Forgets the tags that are not behind the home line any more, when the lock is released. If there
    /// are many lines it forgets nothing, as each removal would have to read them all.
    #[cold]
    fn forget_behind(&mut self) {
        let mut meta = self.meta.with_none_behind(L::SLOTS);
        let mut lines = self.lines().skip(1);
        for line in lines.by_ref().take(2) {
            let word = line.meta();
            for tag in word.occupied(L::SLOTS).filter_map(|slot| word.tag(slot)) {
                meta = meta.with_behind(tag, L::SLOTS);
            }
        }
        if lines.next().is_none() {
            self.meta = meta;
        }
    }

    /// The entry that was copied to `to` leaves `from`: shows the new one and hides the old, in one
    /// store if they are in one line.
    ///
    /// In two lines both can be seen for a while. The home's new version between the two stores makes
    /// a walk begin again that has passed the new place before it was tagged and comes to the old one
    /// when it is not any more (P4).
    pub(super) fn move_tag(&mut self, from: Place<'a, L>, to: Place<'a, L>, tag: Tag) {
        if core::ptr::eq(from.line, to.line) {
            let meta = self.meta_of(to.line).without_tag(from.slot);
            self.store(to.line, bumped::<L>(meta.with_tag(to.slot, tag)));
        } else {
            self.set_tag(to, tag);
            self.store(self.front.home, bumped::<L>(self.meta));
            self.clear_tag(from);
        }
    }

    /// A free place in the chain, if there is one.
    #[inline]
    pub(super) fn free_place(&self) -> Option<Place<'a, L>> {
        self.find_place(self.has_behind(), |meta| meta.free(L::SLOTS), Some)
    }

    /// A free place in this line.
    pub(super) fn free_place_in(&self, line: &'a Line<L>) -> Option<Place<'a, L>> {
        let slot = self.meta_of(line).free(L::SLOTS).next()?;
        Some(Place { line, slot })
    }

    /// A free place in the front or the line behind it. In a chain that is only ever filled, as by a
    /// mover, no other line has one.
    pub(super) fn free_place_in_front(&self) -> Option<Place<'a, L>> {
        self.lines()
            .take(L::LINES + 1)
            .find_map(|line| self.free_place_in(line))
    }

    /// Promises a line of the array's pool.
    pub(super) fn reserve_line(&self) -> Result<Reserved<'a, L>, AllocError> {
        self.array.pool.reserve(1, self.array.buckets())
    }

    /// Puts an empty line into the chain, right behind the front, and returns its first place.
    ///
    /// Empty and before it is filled: a reader that still stands on the line from its former life
    /// in this very chain would otherwise see an entry before everyone can (1.4). Behind the
    /// front and never at the tail (I5).
    pub(super) fn add_line(&mut self, reserved: &mut Reserved<'a, L>) -> Place<'a, L> {
        let line = reserved.take();
        debug_assert!(line.meta().occupied(L::SLOTS).is_empty());
        if self.meta.has_link() {
            line.copy_link(self.front.last);
        } else {
            line.store_marker(self.front.home);
        }
        self.front.last.store_link(line.into());
        if !self.meta.has_link() {
            // has-link is set after the link.
            self.store(self.front.home, self.meta.with_link(true));
        }
        Place { line, slot: 0 }
    }

    /// Unlinks an empty overflow line, and says whether it did, if the others have two free slots (1.1).
    /// A line that had to stay would cost every miss of the bucket a second line for good; with one free
    /// slot less, a key that comes and goes would take and give a line each time.
    ///
    /// Without `may_be_there` there is hardly one: a line that was emptied has been looked at then, and
    /// stayed only if the others had less than two free slots. So three of them in other lines end the
    /// search. That keeps it short in a long chain whose entries go one after the other.
    #[cold]
    #[inline(never)]
    fn unlink_spare(&mut self, may_be_there: bool) -> bool {
        let mut free_slots = 0;
        let mut spare = None;
        let mut before = self.front.home;
        for line in self.lines() {
            let meta = self.meta_of(line);
            if spare.is_none() && !self.front.contains(line) && is_empty::<L>(meta) {
                spare = Some((before, line));
            } else {
                free_slots += meta.free(L::SLOTS).len();
            }
            match spare {
                Some((before, line)) if free_slots >= 2 => {
                    self.unlink(before, line);
                    return true;
                }
                None if free_slots >= 3 && !may_be_there => return false,
                _ => before = line,
            }
        }
        false
    }

    fn unlink(&mut self, before: &'a Line<L>, line: &'a Line<L>) {
        // For `fuzz`, which has to find this: the lines before it are lost with it.
        #[cfg(nulls_planted_fault)]
        let before = if before.meta_hint().is_moved() {
            before
        } else {
            self.front.last
        };
        before.copy_link(line);
        // SAFETY: has-link is set, so the front's link is; lines live as long as the array.
        let link: Link<'a, L> = unsafe { self.front.last.link() };
        if matches!(link, Link::Marker(_)) {
            // The last one. has-link is cleared after the link holds the own marker.
            self.store(self.front.home, self.meta.with_link(false));
        }
        // After it is unlinked: a reader that is carried off by it must be able to finish without
        // this thread.
        self.array.pool.give_back(line);
    }

    /// Clears every tag of a bucket whose slots hold no entries any more, and lets all its overflow
    /// lines go.
    pub(super) fn clear_tags(&mut self) {
        let mut overflow = self.lines().skip(L::LINES);
        let mut next = overflow.next();
        for line in self.lines().skip(1) {
            line.store_meta(bumped::<L>(empty::<L>(line.meta())));
        }
        if self.meta.has_link() {
            self.front.last.store_marker(self.front.home);
        }
        // The link first, has-link after it; the lines are given back last, each when the next one
        // is known.
        self.store(self.front.home, empty::<L>(self.meta).locked());
        while let Some(line) = next {
            next = overflow.next();
            self.array.pool.give_back(line);
        }
    }

    /// Ends the bucket's life in this array: its entries are in the next one. Stored with all tags
    /// 0 and no link bit, in one store (I7, 1.2); the slots, home and overflow, stay as they
    /// are (1.3).
    pub(super) fn set_moved(mut self) {
        self.meta = Meta::moved(L::SLOTS).locked();
        self.changed = false;
    }
}

/// Whether a line with this word has no entries.
fn is_empty<L: Layout>(meta: Meta) -> bool {
    meta.occupied(L::SLOTS).is_empty()
}

/// The word with its next version, if the layout has versions.
#[inline]
fn bumped<L: Layout>(meta: Meta) -> Meta {
    if L::VERSIONED { meta.bumped() } else { meta }
}

/// The word without tags and flags. A version stays, also of a line that goes to another bucket: from
/// zero it would repeat old words at once (P8).
fn empty<L: Layout>(meta: Meta) -> Meta {
    if L::VERSIONED {
        meta.version()
    } else {
        Meta::EMPTY
    }
}

#[cold]
pub(super) fn wait_while_locked<L: Layout>(home: &Line<L>) {
    let backoff = Backoff::new();
    while home.meta_hint().is_locked() {
        backoff.snooze();
    }
}

impl<L: Layout> Drop for Bucket<'_, L> {
    #[inline]
    fn drop(&mut self) {
        let meta = if self.changed {
            bumped::<L>(self.meta)
        } else {
            self.meta
        };
        self.front.home.store_meta(meta.unlocked());
    }
}

impl<L: Layout> fmt::Debug for Bucket<'_, L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Bucket")
            .field("meta", &self.meta)
            .finish_non_exhaustive()
    }
}
