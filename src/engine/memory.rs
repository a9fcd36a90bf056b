//! The only file that calls the allocator. Every allocation here can fail, and says so.

use core::alloc::Layout as MemoryLayout;
use core::fmt;
use core::ptr::NonNull;

use alloc::alloc::{alloc, alloc_zeroed, dealloc};
use alloc::boxed::Box;

use super::layout::Layout;
use super::line::Line;

/// The allocator refused, or the size asked for cannot be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct AllocError;

/// `Box::new` that hands the value back when there is no memory.
pub(crate) fn try_box<T>(value: T) -> Result<Box<T>, T> {
    let layout = MemoryLayout::new::<T>();
    debug_assert_ne!(layout.size(), 0, "nodes and arrays have headers");
    // SAFETY: the size is not zero.
    let memory = unsafe { alloc(layout) }.cast::<T>();
    if memory.is_null() {
        return Err(value);
    }
    // SAFETY: freshly allocated with the layout of `T`.
    unsafe { memory.write(value) };
    // SAFETY: allocated by the global allocator with the layout of `T`, and initialised.
    Ok(unsafe { Box::from_raw(memory) })
}

/// A run of empty lines, freed as one.
pub(crate) struct Lines<L: Layout> {
    first: NonNull<Line<L>>,
    len: usize,
    memory: Memory,
}

/// Zeroed memory, and how it is given back.
enum Memory {
    Heap {
        start: NonNull<u8>,
        layout: MemoryLayout,
    },
    #[cfg(all(
        feature = "huge-pages",
        target_os = "linux",
        not(any(miri, nulls_loom))
    ))]
    Mapped(super::huge_pages::Mapping),
}

// SAFETY: owns its memory, and lines are reached through shared references by design; what entries
// allow is decided by the table's own `Send` and `Sync`.
unsafe impl<L: Layout> Send for Lines<L> {}

// SAFETY: as for `Send`.
unsafe impl<L: Layout> Sync for Lines<L> {}

impl<L: Layout> Lines<L> {
    /// `len` empty lines (at least one).
    pub(crate) fn new(len: usize) -> Result<Self, AllocError> {
        debug_assert_ne!(len, 0);
        let line = MemoryLayout::new::<Line<L>>();
        let size = line.size().checked_mul(len).ok_or(AllocError)?;
        let (memory, start) = Memory::zeroed(size, line.align() * L::LINES)?;
        let first = start.cast::<Line<L>>();
        #[cfg(nulls_loom)]
        for i in 0..len {
            // SAFETY: below `len`, so inside the allocation.
            let line = unsafe { first.add(i) };
            // SAFETY: the memory is this function's; loom's atomics are objects of its own and
            // cannot be all zeros.
            unsafe { line.write(Line::new_for_loom()) };
        }
        Ok(Self { first, len, memory })
    }

    #[inline]
    pub(crate) fn first(&self) -> NonNull<Line<L>> {
        self.first
    }

    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    pub(crate) fn bytes(&self) -> usize {
        self.memory.bytes()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = NonNull<Line<L>>> {
        let first = self.first;
        // SAFETY: below `len`, so inside the allocation.
        (0..self.len).map(move |i| unsafe { first.add(i) })
    }
}

impl Memory {
    /// `size` zeroed bytes (at least one), and where they begin, which is a multiple of `align`.
    ///
    /// They are asked for with alignment 16 and aligned by hand: for larger alignments std's
    /// allocator does not use `calloc` but clears the memory itself, which takes most of a second a
    /// GiB.
    fn zeroed(size: usize, align: usize) -> Result<(Self, NonNull<u8>), AllocError> {
        #[cfg(all(
            feature = "huge-pages",
            target_os = "linux",
            not(any(miri, nulls_loom))
        ))]
        if size >= super::huge_pages::SIZE {
            let (mapping, start) = super::huge_pages::map(size)?;
            return Ok((Self::Mapped(mapping), start));
        }
        let padded = size.checked_add(align).ok_or(AllocError)?;
        let layout = MemoryLayout::from_size_align(padded, 16).map_err(|_| AllocError)?;
        // SAFETY: the size is not zero.
        let start = NonNull::new(unsafe { alloc_zeroed(layout) }).ok_or(AllocError)?;
        let padding = start.as_ptr().align_offset(align);
        debug_assert!(padding <= align);
        // SAFETY: `padding` is at most the alignment, which was added to the size.
        let aligned = unsafe { start.add(padding) };
        Ok((Self::Heap { start, layout }, aligned))
    }

    fn bytes(&self) -> usize {
        match self {
            Self::Heap { layout, .. } => layout.size(),
            #[cfg(all(
                feature = "huge-pages",
                target_os = "linux",
                not(any(miri, nulls_loom))
            ))]
            Self::Mapped(mapping) => mapping.bytes(),
        }
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        // Lines are atomic words: nothing to drop. (Under loom their bookkeeping may stay behind.)
        match self {
            // SAFETY: allocated in `zeroed` with this layout; whoever drops the lines has shown
            // that nobody reads them.
            Self::Heap { start, layout } => unsafe { dealloc(start.as_ptr(), *layout) },
            #[cfg(all(
                feature = "huge-pages",
                target_os = "linux",
                not(any(miri, nulls_loom))
            ))]
            Self::Mapped(_) => {}
        }
    }
}

impl<L: Layout> fmt::Debug for Lines<L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lines")
            .field("len", &self.len)
            .finish_non_exhaustive()
    }
}
