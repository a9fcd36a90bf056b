//! The inline layout: key and value lie in the line itself, as words that are read while they are
//! written.
//!
//! ```text
//!  0        8                                        56        64
//! ├─ meta ──┼─ entry ─┼─ entry ─┼─ … (six words) ────┼─ link ──┤
//! ```
//!
//! A reader takes a snapshot of the line's word, reads the words of a slot, and looks at the line's
//! word again: if only the lock bit differs, nobody has written to the slot meanwhile. For that, the
//! words of a slot are written only while its tag is 0, and after a new version of the line's word
//! has made every older snapshot fail (I2). What was read is looked at by the caller's code only
//! after it was validated (1.7), and every answer that looked at words is validated, misses too (P5).
//!
//! Words are atomics and entries are plain data, so that even a version that came round in the middle
//! of a read (29 bits, P8) is a wrong value and nothing worse.
//!
//! | entry | words | slots of a line | lines of a bucket |
//! |---|---|---|---|
//! | up to 8 bytes | 1 | 4 | 1 |
//! | up to 16 bytes | 2 | 3 | 1 |
//! | up to 24 bytes | 3 | 2 | 2 |
//! | up to 48 bytes | 4 to 6 | 1 | 2 |
//!
//! The second line of a bucket is read as if through a link; only the first carries the lock, *moved*
//! and the bucket's version (1.6). Every critical section that changed a line of the chain gives the
//! home's word a new version when it unlocks, and a reader that went beyond the home line, hit or
//! miss, looks whether it is still the same (1.5).
//!
//! # Updates
//!
//! A value that lies in one word is replaced by one store, in its place: no reader can see half of
//! it, or absence. A larger one is written to a free slot, and the tags change places (P4).
//!
//! No closure of the caller's runs under a bucket's lock, but an equality test. What changes an entry
//! that was found runs its closure first and then locks, and acts only if the same bytes are still
//! there. A mover too hashes the keys of a bucket first and locks it then, if its word has not
//! changed.

use core::marker::PhantomData;

use alloc::vec::Vec;
use core::hash::{BuildHasher, Hash};

use super::array::Array;
use super::bucket::{Bucket, Place, wait_while_locked};
use super::hash::HashParts;
use super::layout::{Layout, Move, MoveError, Relocate};
use super::meta::Meta;
use super::sweep::{Disturbed, read_chain};
use super::{Growth, Table};
use crate::sync::{AtomicU64, Ordering, fence};

mod entry;
mod read;
mod write;

pub(crate) use entry::Entry;
use entry::LINE_WORDS;
pub use entry::Plain;
pub(crate) use read::InlineSweep;
pub(crate) use write::Inserted;

/// Entries as words of the line.
pub(crate) struct Inline<K, V, S> {
    hasher: S,
    entries: PhantomData<fn() -> (K, V)>,
}

impl<K, V, S> Inline<K, V, S> {
    /// Words of an entry.
    const WORDS: usize = {
        let bytes = size_of::<K>() + size_of::<V>();
        assert!(
            bytes <= 8 * LINE_WORDS,
            "key and value of an `InlineHashMap` have at most 48 bytes together: use a `NullsHashMap` for larger ones"
        );
        if bytes == 0 { 1 } else { bytes.div_ceil(8) }
    };

    /// Whether the value lies in one word, so that one store replaces it.
    const IN_PLACE: bool = {
        let (key, value) = (size_of::<K>(), size_of::<V>());
        value == 0 || key / 8 == (key + value - 1) / 8
    };

    /// The value's first word.
    const VALUE_WORD: usize = size_of::<K>() / 8;
}

const fn min(a: usize, b: usize) -> usize {
    if a < b { a } else { b }
}

// SAFETY: #1 atomic words are valid as zeros, and six of them with two more words are 64 bytes; #2 at
// most four slots, and the indexing here is checked.
unsafe impl<K, V, S> Layout for Inline<K, V, S> {
    /// Four at most, so that 29 bits are left for the version (P8).
    const SLOTS: usize = min(
        if cfg!(nulls_loom) { 2 } else { 4 },
        LINE_WORDS / Self::WORDS,
    );
    const LINES: usize = if Self::WORDS > 2 { 2 } else { 1 };
    const VERSIONED: bool = true;
    /// Twenty-three of twenty-four slots: a `u64` to `u64` entry costs less than 40 bytes in the mean, and
    /// a third of all buckets have an overflow line when the table has just been filled (two thirds after
    /// much churn at that load).
    const GROWTH_LOAD: usize = if cfg!(nulls_loom) {
        16
    } else {
        Self::SLOTS * Self::LINES * 23 / 3
    };
    const NEEDS_DROP: bool = false;

    type Slots = [AtomicU64; LINE_WORDS];

    #[cfg(nulls_loom)]
    fn new_slots() -> Self::Slots {
        core::array::from_fn(|_| AtomicU64::new(0))
    }

    const INDIRECT: bool = false;

    fn prefetch(_: &Self::Slots, _: usize) {}

    unsafe fn drop_entry(_: &Self::Slots, _: usize) {}
}

// SAFETY: entries are plain data, which threads copy in and out (hence `Send` of both); the hasher is
// used by whoever writes.
unsafe impl<K: Send, V: Send, S: Send> Send for Table<Inline<K, V, S>> {}

// SAFETY: as for `Send`; no reference to an entry is ever given out.
unsafe impl<K: Send, V: Send, S: Sync> Sync for Table<Inline<K, V, S>> {}

impl<K, V, S> Table<Inline<K, V, S>> {
    #[cfg(not(nulls_loom))]
    pub(crate) const fn inline(shift: u32, growth: Growth, hasher: S) -> Self {
        let entries = PhantomData;
        Self::new(shift, growth, Inline { hasher, entries })
    }

    #[cfg(nulls_loom)]
    pub(crate) fn inline(shift: u32, growth: Growth, hasher: S) -> Self {
        let entries = PhantomData;
        Self::new(shift, growth, Inline { hasher, entries })
    }

    pub(crate) fn hasher(&self) -> &S {
        &self.layout.hasher
    }

    /// The hash of a key, divided for this table. Calls the caller's `Hash`; no lock is ever held.
    #[inline]
    pub(crate) fn parts_of<Q: Hash + ?Sized>(&self, key: &Q) -> HashParts
    where
        S: BuildHasher,
    {
        self.parts(self.layout.hasher.hash_one(key))
    }
}

// SAFETY: the lock was taken with the very word under which the chain was read, so nothing has changed
// since: every tagged slot, once.
unsafe impl<K: Plain + Hash, V: Plain, S: BuildHasher> Relocate for Inline<K, V, S> {
    /// Hashes first and locks then (see the module's header): a `Hash` that panics leaves nothing
    /// locked and nothing half done.
    fn lock_to_move<'a>(
        table: &Table<Self>,
        array: &'a Array<Self>,
        index: usize,
        moves: &mut Vec<Move<'a, Self>>,
    ) -> Result<Bucket<'a, Self>, MoveError> {
        let home = array.bucket(index);
        loop {
            moves.clear();
            let mut no_memory = false;
            let read = read_chain(array.front(index), &mut |line| {
                let Some((line, meta)) = line else {
                    return Ok(());
                };
                for slot in meta.occupied(Self::SLOTS) {
                    let from = Place { line, slot };
                    let entry = load(from, meta)?;
                    let parts = table.parts_of(&entry.key);
                    no_memory |= moves.try_reserve(1).is_err();
                    if !no_memory {
                        let (tag, bits) = (parts.tag, parts.bits);
                        moves.push(Move { from, tag, bits });
                    }
                }
                Ok(())
            });
            match read {
                Ok(_) if no_memory => return Err(MoveError::NoMemory),
                Ok(seen) => {
                    if let Some(bucket) = Bucket::lock_unchanged(array, index, seen) {
                        return Ok(bucket);
                    }
                }
                Err(Disturbed::Moved) => return Err(MoveError::Moved),
                Err(Disturbed::Changed) => {}
            }
            wait_while_locked(home);
        }
    }

    unsafe fn copy<'a>(entry: &Move<'a, Self>, bucket: &mut Bucket<'a, Self>, to: Place<'a, Self>) {
        store(to, &load_locked(entry.from));
        bucket.set_tag(to, entry.tag);
    }
}

/// The word `number` of the entry in a place.
#[inline]
fn word<K, V, S>(place: Place<'_, Inline<K, V, S>>, number: usize) -> &AtomicU64 {
    &place.line.slots[place.slot * Inline::<K, V, S>::WORDS + number]
}

/// Reads an entry without a lock. `Err` if the line has changed since its word was `meta`.
#[inline]
fn load<K: Plain, V: Plain, S>(
    place: Place<'_, Inline<K, V, S>>,
    meta: Meta,
) -> Result<Entry<K, V>, Disturbed> {
    let entry = load_locked(place);
    // Ordering: Acquire; whoever has read a word that a writer stored after locking sees here what
    // that writer had seen, so the new version that stood before (pairs with the fence in `store`).
    // Without it a torn entry could pass. And whoever reads a value that was replaced in place has
    // what came before it.
    fence(Ordering::Acquire);
    // Ordering: Relaxed, by the fence.
    if place.line.meta_hint().is_same(meta) {
        Ok(entry)
    } else {
        Err(Disturbed::Changed)
    }
}

/// Reads an entry whose bucket is locked.
#[inline]
fn load_locked<K: Plain, V: Plain, S>(place: Place<'_, Inline<K, V, S>>) -> Entry<K, V> {
    Entry::from_words(Inline::<K, V, S>::WORDS, |number| {
        // Ordering: Relaxed; by the lock, or by what `load` does next.
        word(place, number).load(Ordering::Relaxed)
    })
}

/// Writes an entry to a free place of a locked bucket, or of a mover's.
#[inline]
fn store<K: Plain, V: Plain, S>(place: Place<'_, Inline<K, V, S>>, entry: &Entry<K, V>) {
    // Ordering: Release; a reader that sees one of the words below must see the version that was
    // stored when the slot became free, by whichever thread (I2, P6): the lock orders what comes
    // after it, but not what came before it for a third thread.
    fence(Ordering::Release);
    let words = entry.words();
    for (number, &value) in words.iter().enumerate().take(Inline::<K, V, S>::WORDS) {
        // Ordering: Relaxed; the tag, stored afterwards, publishes.
        word(place, number).store(value, Ordering::Relaxed);
    }
}
