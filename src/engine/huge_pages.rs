//! Large arrays in huge pages.
//!
//! A look-up in a table of millions of entries reads a line at a random place of an array of many
//! megabytes. In pages of 4 KiB the processor has to look up the page's address too, in page tables
//! that are not in cache either; in pages of 2 MiB it almost never has to.

use core::ptr::NonNull;

use memmap2::{Advice, MmapMut, MmapOptions};

use super::memory::AllocError;

/// Of a huge page. Smaller arrays come from the allocator.
pub(super) const SIZE: usize = 2 << 20;

/// Memory from the system, given back when dropped.
pub(super) struct Mapping {
    map: MmapMut,
}

impl Mapping {
    pub(super) fn bytes(&self) -> usize {
        self.map.len() - SIZE
    }
}

/// At least `size` zeroed bytes, and where they begin, at the beginning of a huge page. A page more
/// is mapped for the sake of that; what is never touched takes no memory.
pub(super) fn map(size: usize) -> Result<(Mapping, NonNull<u8>), AllocError> {
    let padded = size.checked_add(SIZE).ok_or(AllocError)?;
    let mut map = MmapOptions::new()
        .len(padded)
        .map_anon()
        .map_err(|_| AllocError)?;
    // A hint: the system may have no huge pages, or have been told not to give any.
    let _ = map.advise(Advice::HugePage);
    let start = map.as_mut_ptr();
    let padding = start.align_offset(SIZE);
    debug_assert!(padding < SIZE);
    // SAFETY: less than the page that was added to the size.
    let aligned = unsafe { start.add(padding) };
    let aligned = NonNull::new(aligned).ok_or(AllocError)?;
    Ok((Mapping { map }, aligned))
}
