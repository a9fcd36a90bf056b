//! What came of a `compute` on plain data.

/// What [`compute`](super::InlineHashMapRef::compute) did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InlineCompute<V> {
    /// The key was absent and has this value now.
    Inserted(V),
    /// The value was replaced.
    Updated {
        /// The value that was there.
        old: V,
        /// The value that is there now.
        new: V,
    },
    /// The entry, which had this value, was removed.
    Removed(V),
    /// Nothing changed: the closure wanted that, or wanted an absent key removed.
    Aborted,
}
