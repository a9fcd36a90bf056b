//! A spin lock for sections of a few instructions (and, in a pool, now and then an allocation). Taken last: whoever holds it takes no other lock
//! and runs no code of the caller's.

use core::fmt;
use core::ops::{Deref, DerefMut};

use crate::sync::{AtomicBool, Backoff, Ordering, UnsafeCell};

pub(crate) struct SpinLock<T> {
    locked: AtomicBool,
    value: UnsafeCell<T>,
}

// SAFETY: the value is reached by one thread at a time (through `SpinGuard`), so moving it between
// threads is enough.
unsafe impl<T: Send> Send for SpinLock<T> {}

// SAFETY: as for `Send`; a shared lock only ever gives out exclusive access.
unsafe impl<T: Send> Sync for SpinLock<T> {}

impl<T> SpinLock<T> {
    pub(crate) fn new(value: T) -> Self {
        Self {
            locked: AtomicBool::new(false),
            value: UnsafeCell::new(value),
        }
    }

    pub(crate) fn lock(&self) -> SpinGuard<'_, T> {
        let backoff = Backoff::new();
        // Ordering: Acquire on success pairs with the Release in `SpinGuard::drop`; with Relaxed
        // this thread could see the value as it was before the last holder changed it.
        while self
            .locked
            .compare_exchange_weak(false, true, Ordering::Acquire, Ordering::Relaxed)
            .is_err()
        {
            backoff.snooze();
        }
        SpinGuard { lock: self }
    }
}

impl<T> fmt::Debug for SpinLock<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SpinLock").finish_non_exhaustive()
    }
}

pub(crate) struct SpinGuard<'a, T> {
    lock: &'a SpinLock<T>,
}

impl<T> Deref for SpinGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: the guard exists, so this thread holds the lock: nobody else has a reference to
        // the value, and the result borrows the guard.
        self.lock.value.with_mut(|value| unsafe { &*value })
    }
}

impl<T> DerefMut for SpinGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: as in `deref`, and the guard is borrowed exclusively.
        self.lock.value.with_mut(|value| unsafe { &mut *value })
    }
}

impl<T> Drop for SpinGuard<'_, T> {
    fn drop(&mut self) {
        // Ordering: Release pairs with the Acquire in `lock`: the next holder sees what this one
        // wrote.
        self.lock.locked.store(false, Ordering::Release);
    }
}
