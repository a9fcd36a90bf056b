//! How many entries a table has: a sum of stripes, so that writers on different cores do not share
//! a line.
//!
//! A small table counts in one word; the stripes are allocated when it has grown, and stay.

use core::fmt;
use core::ptr;

use alloc::boxed::Box;

use super::memory::try_box;
use crate::sync::{AtomicIsize, AtomicPtr, CachePadded, Ordering};

const STRIPES: usize = if cfg!(nulls_loom) { 2 } else { 16 };

type Stripes = [CachePadded<AtomicIsize>; STRIPES];

/// Every access is Relaxed: the count is a sum of moments anyway, and nothing is concluded from it
/// but when to grow.
pub(super) struct Counter {
    /// What was counted before there were stripes, and by writers that had not yet seen them.
    base: AtomicIsize,
    /// Null, or a leaked box. Set once.
    stripes: AtomicPtr<Stripes>,
}

impl Counter {
    #[cfg(not(nulls_loom))]
    pub(super) const fn new() -> Self {
        Self {
            base: AtomicIsize::new(0),
            stripes: AtomicPtr::new(ptr::null_mut()),
        }
    }

    #[cfg(nulls_loom)]
    pub(super) fn new() -> Self {
        Self {
            base: AtomicIsize::new(0),
            stripes: AtomicPtr::new(ptr::null_mut()),
        }
    }

    /// Adds to the writer's stripe and returns what the stripe held before.
    #[inline]
    pub(super) fn add(&self, stripe: usize, n: isize) -> isize {
        let counter = match self.stripes() {
            Some(stripes) => &*stripes[stripe % STRIPES],
            None => &self.base,
        };
        counter.fetch_add(n, Ordering::Relaxed)
    }

    /// The sum, at least 0: exact when no writer is at work.
    #[inline]
    pub(super) fn sum(&self) -> usize {
        let mut sum = self.base.load(Ordering::Relaxed);
        if let Some(stripes) = self.stripes() {
            sum += stripes
                .iter()
                .map(|stripe| stripe.load(Ordering::Relaxed))
                .sum::<isize>();
        }
        usize::try_from(sum).unwrap_or(0)
    }

    /// Makes the stripes, if there is memory for them.
    pub(super) fn spread(&self) {
        if self.stripes().is_some() {
            return;
        }
        let stripes = core::array::from_fn(|_| CachePadded::new(AtomicIsize::new(0)));
        if let Ok(stripes) = try_box::<Stripes>(stripes) {
            let stripes = Box::into_raw(stripes);
            // Ordering: Release publishes the zeroed stripes, pairs with `stripes`.
            let result = self.stripes.compare_exchange(
                ptr::null_mut(),
                stripes,
                Ordering::Release,
                Ordering::Relaxed,
            );
            if result.is_err() {
                // SAFETY: from `into_raw` above, never visible.
                drop(unsafe { Box::from_raw(stripes) });
            }
        }
    }

    #[inline]
    fn stripes(&self) -> Option<&Stripes> {
        // Ordering: Acquire pairs with `spread`; with Relaxed the stripes could be read before they
        // were zeroed.
        let stripes = self.stripes.load(Ordering::Acquire);
        // SAFETY: null, or a box leaked by `spread` that lives until `drop`.
        unsafe { stripes.as_ref() }
    }
}

impl Drop for Counter {
    fn drop(&mut self) {
        let stripes = self.stripes.load(Ordering::Relaxed);
        if !stripes.is_null() {
            // SAFETY: a box leaked by `spread`, and `&mut self` says that nobody borrows it.
            drop(unsafe { Box::from_raw(stripes) });
        }
    }
}

impl fmt::Debug for Counter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Counter").field(&self.sum()).finish()
    }
}
