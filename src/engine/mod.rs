//! The engine: buckets of one cache line, chains ended by nulls markers, arrays that grow while
//! readers go on.
//!
//! It owns all of the protocol's `unsafe`. It knows hashes and equality tests, not keys, hashers or
//! values' meaning.
//!
//! # Invariants
//!
//! | label | sentence |
//! |---|---|
//! | I1 published-whole | a node is complete before its pointer is stored (Release); its tag is non-zero from before the pointer until after null, or until *moved*: the mover changes no slot of the old bucket |
//! | I2 written-only-untagged | (inline layout) words of a slot are written only while its tag is 0 and older snapshots fail |
//! | I3 one-writer-per-bucket | slots, link and meta of a chain change only under the lock bit of its home line, or of the bucket it is being moved from |
//! | I4 marker-names-home | every chain a reader can reach ends in the marker of the bucket it belongs to; markers are unique over all live arrays |
//! | I5 head-insertion | a recycled line enters a chain right behind its home, never at the tail; entries never move between lines of one chain |
//! | I6 retired-after-unlinked | retired only after the unlock and after no new reader can find it; arrays in order, after root has swung |
//! | I7 one-home | an entry is reachable through the old array until *moved* is set, and only through the new one after; *moved* is stored with all tags 0 and no link bit, in one store |
//! | I8 present-is-found | a key present for the whole of a look-up is found by it, whatever writers, growth and recycling do; `replace` and `update` never show absence |
//! | I9 no-torn-value | (inline layout) a read returns a value that one insert or update wrote, whole |
//!
//! # Who does what
//!
//! [`meta`] the control word · [`hash`] home, tag, stored bits · [`mod@line`] a cache line and its
//! link · [`memory`] the allocator · [`pool`] overflow lines · [`mod@array`] buckets and their
//! successor · [`chain`] the reader's walk · [`bucket`] the writer's lock and what is done under it
//! · [`grow`] migrations · [`sweep`] the order of iteration · [`bulk`] many operations at once · [`layout`] the seam between boxed and
//! inline entries · [`boxed`] entries as nodes · [`inline`] entries as words of the line · [`count`] how many · [`stats`] a walk that counts.

use core::fmt;
use core::marker::PhantomData;
use core::ptr;

use alloc::boxed::Box;

use crate::reclaim::Reclaim;
use crate::sync::{AtomicPtr, Ordering};

mod array;
mod boxed;
mod bucket;
mod bulk;
mod chain;
mod count;
mod grow;
mod hash;
#[cfg(all(
    feature = "huge-pages",
    target_os = "linux",
    not(any(miri, nulls_loom))
))]
mod huge_pages;
mod inline;
mod layout;
mod line;
mod memory;
mod meta;
mod pool;
mod prefetch;
mod spin;
mod stats;
mod sweep;

pub(crate) use boxed::{Boxed, Node, Sweep, TryInsertError};
pub(crate) use hash::HashParts;
pub use inline::Plain;
pub(crate) use inline::{Entry, Inline, InlineSweep, Inserted};
pub(crate) use memory::AllocError;
#[cfg(any(nulls_loom, not(feature = "std")))]
#[cfg_attr(
    nulls_loom,
    expect(unused_imports, reason = "under loom std's lock is taken")
)]
pub(crate) use spin::SpinLock;
pub use stats::Stats;
use sweep::Cursor;

use array::Array;
use count::Counter;
pub(crate) use layout::Layout;

/// When a table takes a larger array.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Growth {
    /// When it holds more than five entries a bucket on average; inline, nearly as many as its buckets
    /// have room for.
    #[default]
    Auto,
    /// Never: chains lengthen, as in the kernel's established table. What overflow lines it once
    /// needed it keeps. Give such a table a capacity: without one it has four buckets for ever.
    Fixed,
}

/// A table of entries that lie as `L` says.
pub(crate) struct Table<L: Layout> {
    /// Null, or the root array: a leaked box, replaced by its successor when all its buckets have
    /// moved.
    root: AtomicPtr<Array<L>>,
    shift: u32,
    growth: Growth,
    count: Counter,
    /// With inline entries, their hasher.
    layout: L,
    /// Makes the table invariant in its entries, and neither `Send` nor `Sync` but as the layout
    /// says.
    _entries: PhantomData<*mut L>,
}

impl<L: Layout> Table<L> {
    #[cfg(not(nulls_loom))]
    const fn new(shift: u32, growth: Growth, layout: L) -> Self {
        Self {
            root: AtomicPtr::new(ptr::null_mut()),
            shift,
            growth,
            count: Counter::new(),
            layout,
            _entries: PhantomData,
        }
    }

    #[cfg(nulls_loom)]
    fn new(shift: u32, growth: Growth, layout: L) -> Self {
        Self {
            root: AtomicPtr::new(ptr::null_mut()),
            shift,
            growth,
            count: Counter::new(),
            layout,
            _entries: PhantomData,
        }
    }

    /// Takes memory for `entries` entries now. For a table that has none yet.
    ///
    /// # Panics
    ///
    /// If there is none.
    pub(crate) fn preallocate_or_panic(&self, entries: usize) {
        if entries > 0 {
            let allocated = grow::buckets_for::<L>(entries).and_then(|n| self.install_root(n));
            assert!(
                allocated.is_ok(),
                "no memory for a capacity of {entries} entries"
            );
        }
    }

    #[inline]
    pub(crate) fn parts(&self, hash: u64) -> HashParts {
        HashParts::new(hash, self.shift)
    }

    pub(crate) fn shift(&self) -> u32 {
        self.shift
    }

    pub(crate) fn growth(&self) -> Growth {
        self.growth
    }

    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.count.sum()
    }

    /// Entries that fit before the root array grows.
    pub(crate) fn capacity<G: Reclaim>(&self, guard: &G) -> usize {
        self.root(guard).map_or(0, |root| grow::room_in(root))
    }

    /// The root array.
    ///
    /// Ordering: a `protect`, SeqCst, as for [`line::Line::meta_first`]: an array is retired once
    /// root has swung, so with Acquire a reader could take the old root after the collector had
    /// seen it inactive. Pairs with the Release in `publish_root` and `swing_root`.
    #[inline]
    fn root<'g, G: Reclaim>(&self, guard: &'g G) -> Option<&'g Array<L>> {
        let root = guard.protect(&self.root);
        // SAFETY: null, or an array that was published whole and is retired only after it was
        // replaced here (I6): the guard keeps it.
        unsafe { root.as_ref() }
    }

    /// Publishes the first array, unless another thread has.
    fn publish_root(&self, array: Box<Array<L>>) {
        let array = Box::into_raw(array);
        // Ordering: AcqRel as every publication of the root; pairs with `root`.
        let result =
            self.root
                .compare_exchange(ptr::null_mut(), array, Ordering::AcqRel, Ordering::Relaxed);
        if result.is_err() {
            // SAFETY: from `into_raw` above, never visible.
            drop(unsafe { Box::from_raw(array) });
        }
    }
}

impl<L: Layout> Drop for Table<L> {
    fn drop(&mut self) {
        // Ordering: Relaxed; `&mut self` means that every other access has happened before.
        let root = self.root.load(Ordering::Relaxed);
        // SAFETY: null, or a leaked box (see the field), which nobody can reach any more.
        let mut array = (!root.is_null()).then(|| unsafe { Box::from_raw(root) });
        while let Some(this) = array {
            let buckets = if L::NEEDS_DROP { this.buckets() } else { 0 };
            for index in 0..buckets {
                // SAFETY: exclusive access, and each array and bucket is visited once.
                unsafe { drop_bucket(&this, index) };
            }
            // SAFETY: exclusive access.
            array = unsafe { this.take_next() };
        }
    }
}

/// Drops the entries of a bucket, unless they have moved to the next array.
///
/// # Safety
///
/// The caller has exclusive access to the table and does not use the bucket again.
unsafe fn drop_bucket<L: Layout>(array: &Array<L>, index: usize) {
    if array.front(index).is_untouched() {
        // Not touched: pages of a sparse array that were never written stay without memory.
        return;
    }
    let Ok(bucket) = bucket::Bucket::lock_in(array, index) else {
        return;
    };
    for place in bucket.places(|meta| meta.occupied(L::SLOTS)) {
        // SAFETY: a tagged slot holds an entry; exclusive access and no later use by the caller.
        unsafe { L::drop_entry(&place.line.slots, place.slot) };
    }
}

impl<L: Layout> fmt::Debug for Table<L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Table")
            .field("len", &self.len())
            .finish_non_exhaustive()
    }
}
