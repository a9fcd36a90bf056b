//! Asking the processor to fetch a line that will be read soon. Harmless where there is no such
//! instruction.

/// Fetches the line at `address`; any address will do.
#[inline]
pub(super) fn prefetch<T>(address: *const T) {
    #[cfg(target_arch = "x86_64")]
    {
        use core::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: a prefetch does not fault, whatever the address; SSE is part of x86-64.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(address.cast()) };
    }
    #[cfg(all(target_arch = "aarch64", not(miri)))]
    {
        // SAFETY: a prefetch does not fault, whatever the address, and changes neither memory nor
        // registers.
        unsafe {
            core::arch::asm!(
                "prfm pldl1keep, [{}]",
                in(reg) address,
                options(nostack, preserves_flags, readonly)
            );
        }
    }
    #[cfg(not(any(target_arch = "x86_64", all(target_arch = "aarch64", not(miri)))))]
    let _ = address;
}
