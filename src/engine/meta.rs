//! The control word of a line: one tag byte a slot, and the flags of the bucket.
//!
//! ```text
//!  63   62    61   60 ... 32 (inline)   8·SLOTS+7 ... 8·SLOTS   8·SLOTS-1 ... 0
//! lock moved link   version             behind                   tag … tag
//! ```
//!
//! *Behind* is a filter of the tags that are in the lines behind the home line, all of them or'ed: a
//! miss in the home line looks there only if every bit of its tag is set. So that almost every miss is
//! decided by the home's word, also in a bucket that has overflow lines. (One bit of eight for each tag
//! would pass as many, but its test costs a shift.) A moved word has all of them set, so that one test
//! does for both. An inline line of four slots has no room for it.
//!
//! A word of zeros is a free, unlocked, unmoved line without a link, which is why arrays may come
//! zeroed from the allocator. Lock, moved and link mean something in a bucket's home line only; an
//! overflow line's word holds tags.

use core::fmt;

use super::hash::Tag;

const LOCK: u64 = 1 << 63;
const MOVED: u64 = 1 << 62;
const LINK: u64 = 1 << 61;

/// The version of an inline line: above four tags, 29 bits (P8: 13 let torn reads through).
const VERSION: u64 = (LINK - 1) & !0xffff_ffff;
const VERSION_STEP: u64 = 1 << 32;

const LOW_BITS: u64 = 0x0101_0101_0101_0101;
const HIGH_BITS: u64 = 0x8080_8080_8080_8080;

/// A snapshot of a line's control word.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Meta(u64);

impl Meta {
    /// A free line without flags.
    pub(crate) const EMPTY: Self = Self(0);

    /// What a bucket's word becomes when its entries have gone to the next array: all tags 0 and no
    /// link, so that a reader's hit path needs no test for it and its miss path cannot walk
    /// into the old lines (I7).
    #[inline]
    pub(crate) const fn moved(slots: usize) -> Self {
        Self(MOVED | behind_byte(0xff, slots))
    }

    #[inline]
    pub(crate) const fn from_word(word: u64) -> Self {
        Self(word)
    }

    #[inline]
    pub(crate) const fn word(self) -> u64 {
        self.0
    }

    #[inline]
    pub(crate) const fn is_locked(self) -> bool {
        self.0 & LOCK != 0
    }

    #[inline]
    pub(crate) const fn is_moved(self) -> bool {
        self.0 & MOVED != 0
    }

    #[inline]
    pub(crate) const fn has_link(self) -> bool {
        self.0 & LINK != 0
    }

    /// Whether an entry of this tag may be elsewhere than in the home line whose word this is: behind
    /// it or in the next array.
    #[inline]
    pub(crate) const fn may_be_behind(self, tag: Tag, slots: usize) -> bool {
        (LOW_BITS * tag.byte() as u64) & !self.0 & behind_byte(0xff, slots) == 0
    }

    /// Whether no tag is behind.
    #[inline]
    pub(crate) const fn is_none_behind(self, slots: usize) -> bool {
        self.0 & behind_byte(0xff, slots) == 0
    }

    /// With this tag behind.
    #[inline]
    pub(crate) const fn with_behind(self, tag: Tag, slots: usize) -> Self {
        Self(self.0 | behind_byte(tag.byte(), slots))
    }

    /// With none behind.
    #[inline]
    pub(crate) const fn with_none_behind(self, slots: usize) -> Self {
        Self(self.0 & !behind_byte(0xff, slots))
    }

    /// Whether the word is as it came from the allocator, but maybe locked.
    #[inline]
    pub(crate) const fn is_zero(self) -> bool {
        self.0 & !LOCK == 0
    }

    /// Whether nothing but the lock bit differs from `other`.
    #[inline]
    pub(crate) const fn is_same(self, other: Self) -> bool {
        (self.0 ^ other.0) & !LOCK == 0
    }

    #[inline]
    pub(crate) const fn locked(self) -> Self {
        Self(self.0 | LOCK)
    }

    #[inline]
    pub(crate) const fn unlocked(self) -> Self {
        Self(self.0 & !LOCK)
    }

    #[inline]
    pub(crate) const fn with_link(self, link: bool) -> Self {
        if link {
            Self(self.0 | LINK)
        } else {
            Self(self.0 & !LINK)
        }
    }

    /// The next version.
    #[inline]
    pub(crate) const fn bumped(self) -> Self {
        Self(self.0 & !VERSION | self.0.wrapping_add(VERSION_STEP) & VERSION)
    }

    /// The same version, and nothing else.
    #[inline]
    pub(crate) const fn version(self) -> Self {
        Self(self.0 & VERSION)
    }

    /// The tag byte of `slot`; `None` where the slot is free.
    #[inline]
    pub(crate) fn tag(self, slot: usize) -> Option<Tag> {
        Tag::from_byte(self.0.to_le_bytes()[slot])
    }

    #[inline]
    pub(crate) const fn with_tag(self, slot: usize, tag: Tag) -> Self {
        Self(self.without_tag(slot).0 | (tag.byte() as u64) << (8 * slot))
    }

    #[inline]
    pub(crate) const fn without_tag(self, slot: usize) -> Self {
        Self(self.0 & !(0xff << (8 * slot)))
    }

    /// The slots whose tag is `tag`, all compared at once.
    ///
    /// A slot above a true match may be reported falsely (the borrow of the subtraction runs
    /// upwards); slots below the first true match never are. Whoever follows a match compares
    /// the entry itself, so this costs at worst one comparison more.
    #[inline]
    pub(crate) const fn matches(self, tag: Tag, slots: usize) -> Slots {
        let x = self.0 ^ (LOW_BITS * tag.byte() as u64);
        Slots(x.wrapping_sub(LOW_BITS) & !x & high_bits(slots))
    }

    /// The slots whose tag is `tag`, exactly. Where what a free slot holds must not be looked at, as
    /// it may be half written.
    #[inline]
    pub(crate) const fn matches_exactly(self, tag: Tag, slots: usize) -> Slots {
        let x = Self(self.0 ^ (LOW_BITS * tag.byte() as u64));
        x.free(slots)
    }

    /// The free slots, exactly.
    #[inline]
    pub(crate) const fn free(self, slots: usize) -> Slots {
        Slots(!self.occupied_bits() & high_bits(slots))
    }

    /// The slots with a tag, exactly.
    #[inline]
    pub(crate) const fn occupied(self, slots: usize) -> Slots {
        Slots(self.occupied_bits() & high_bits(slots))
    }

    /// The high bit of every byte that is not zero: adding 0x7f to the low seven bits carries into
    /// the high bit, and into no other byte, unless they are all zero.
    const fn occupied_bits(self) -> u64 {
        ((self.0 & !HIGH_BITS) + !HIGH_BITS) | self.0
    }
}

/// A byte at the place of the filter, above the tags.
const fn behind_byte(byte: u8, slots: usize) -> u64 {
    (byte as u64) << (8 * slots)
}

/// The high bits of the tag bytes of a line with `slots` slots: the flags above them never match a
/// tag.
const fn high_bits(slots: usize) -> u64 {
    HIGH_BITS >> (64 - 8 * slots)
}

impl fmt::Debug for Meta {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Meta")
            .field("locked", &self.is_locked())
            .field("moved", &self.is_moved())
            .field("link", &self.has_link())
            .field("tags", &&self.0.to_le_bytes()[..6])
            .finish()
    }
}

/// A set of slots of one line; iterates from the lowest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Slots(u64);

impl Slots {
    #[inline]
    pub(crate) const fn is_empty(&self) -> bool {
        self.0 == 0
    }

    #[inline]
    pub(crate) const fn len(&self) -> usize {
        self.0.count_ones() as usize
    }
}

impl Iterator for Slots {
    type Item = usize;

    #[inline]
    fn next(&mut self) -> Option<usize> {
        if self.0 == 0 {
            return None;
        }
        let slot = self.0.trailing_zeros() as usize / 8;
        self.0 &= self.0 - 1;
        Some(slot)
    }
}

#[cfg(all(test, feature = "std", not(nulls_loom)))]
mod tests {
    use super::*;

    const SLOTS: usize = 6;

    fn tag(byte: u8) -> Tag {
        Tag::from_byte(byte).expect("a tag is not zero")
    }

    #[test]
    fn every_byte_pair_matches_as_a_loop_would() {
        for a in 0..=255u8 {
            for b in 0..=255u8 {
                let word = u64::from_le_bytes([a, b, 0, b, a, 1, 0xff, 0xe0]);
                let meta = Meta::from_word(word);
                let bytes = &word.to_le_bytes()[..SLOTS];
                for wanted in [a, b, 1, 0x80, 0xff] {
                    if wanted == 0 {
                        continue;
                    }
                    let exact: Vec<_> = (0..SLOTS).filter(|&i| bytes[i] == wanted).collect();
                    let found: Vec<_> = meta.matches(tag(wanted), SLOTS).collect();
                    assert!(exact.iter().all(|i| found.contains(i)));
                    assert_eq!(
                        exact.first(),
                        found.first(),
                        "nothing false below the first match"
                    );
                }
                let free: Vec<_> = (0..SLOTS).filter(|&i| bytes[i] == 0).collect();
                let taken: Vec<_> = (0..SLOTS).filter(|&i| bytes[i] != 0).collect();
                assert_eq!(meta.free(SLOTS).collect::<Vec<_>>(), free);
                assert_eq!(meta.occupied(SLOTS).collect::<Vec<_>>(), taken);
            }
        }
    }

    #[test]
    fn flags_and_tags_do_not_touch_each_other() {
        let meta = Meta::from_word(0)
            .locked()
            .with_link(true)
            .with_tag(5, tag(0xff));
        assert!(meta.is_locked() && meta.has_link() && !meta.is_moved());
        assert_eq!(meta.tag(5), Some(tag(0xff)));
        assert_eq!(meta.tag(4), None);
        assert_eq!(
            meta.unlocked().with_link(false).without_tag(5),
            Meta::from_word(0)
        );
        assert_eq!(meta.with_tag(5, tag(1)).tag(5), Some(tag(1)));
    }

    #[test]
    fn a_moved_word_shows_no_tag_and_no_link_and_leads_on() {
        let moved = Meta::moved(SLOTS);
        assert!(moved.is_moved() && !moved.has_link() && !moved.is_locked());
        assert!(moved.occupied(SLOTS).is_empty());
        assert!((1..=255).all(|byte| moved.may_be_behind(tag(byte), SLOTS)));
    }

    #[test]
    fn most_tags_are_not_behind() {
        let passed = |behind: &[u8]| {
            let word = |meta: Meta, &byte: &u8| meta.with_behind(tag(byte), SLOTS);
            let meta = behind.iter().fold(Meta::EMPTY, word);
            (1..=255)
                .filter(|&byte| meta.may_be_behind(tag(byte), SLOTS))
                .count()
        };
        assert_eq!(passed(&[]), 0);
        assert_eq!(passed(&[0b1010_0101]), 15);
        assert_eq!(passed(&[0b1010_0101, 0b1000_0111]), 31);
    }

    #[test]
    fn what_may_be_behind_touches_no_tag() {
        for slots in [1, 2, 3, 6] {
            let mut meta = Meta::EMPTY.with_tag(0, tag(9)).with_link(true);
            if slots < 4 {
                meta = meta.bumped(); // an inline line
            }
            let before = meta;
            for byte in 1..=255 {
                meta = meta.with_behind(tag(byte), slots);
                assert!(meta.may_be_behind(tag(byte), slots));
            }
            assert_eq!(meta.occupied(slots), before.occupied(slots));
            assert!(slots == 6 || meta.version() == before.version());
            assert_eq!(meta.with_none_behind(slots), before);
        }
    }
}
