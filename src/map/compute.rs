//! What a `compute` closure asks for, and what came of it.

/// What is to be done with an entry, or with its absence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation<V> {
    /// Put this value under the key, in the place of the one there is.
    Insert(V),
    /// Take the entry out, if there is one.
    Remove,
    /// Leave all as it is.
    Abort,
}

/// What [`compute`](super::NullsHashMapRef::compute) did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compute<'v, K, V> {
    /// The key was absent and is there now.
    Inserted(&'v K, &'v V),
    /// The value was replaced.
    Updated {
        /// The entry that was there.
        old: (&'v K, &'v V),
        /// The entry that is there now.
        new: (&'v K, &'v V),
    },
    /// The entry was removed.
    Removed(&'v K, &'v V),
    /// Nothing changed: the closure wanted that, or wanted an absent key removed.
    Aborted,
}
