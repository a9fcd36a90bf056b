//! All error types.

use core::error::Error;
use core::fmt;

/// Why an entry was not inserted. What was to be inserted (`T`) comes back.
///
/// `C` is what stood in the way: a reference to the value that is there, on the tables whose values
/// are looked up by reference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InsertError<T, C> {
    /// There is an equal entry.
    Occupied(T, C),
    /// The table may not hold more entries. No growth policy of this version sets a bound, so this
    /// is not returned yet.
    Full(T),
    /// The allocator refused memory.
    AllocFailed(T),
}

impl<T, C> InsertError<T, C> {
    /// What was to be inserted.
    ///
    /// ```
    /// use nulls::NullsHashMap;
    ///
    /// let map = NullsHashMap::new();
    /// let m = map.pin();
    /// m.insert(1, "one");
    /// let error = m.try_insert(1, "uno").unwrap_err();
    /// assert_eq!(error.to_string(), "an equal entry is already there");
    /// assert_eq!(error.into_inner(), (1, "uno"));
    /// ```
    pub fn into_inner(self) -> T {
        match self {
            Self::Occupied(value, _) | Self::Full(value) | Self::AllocFailed(value) => value,
        }
    }
}

impl<T, C> fmt::Display for InsertError<T, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Occupied(..) => "an equal entry is already there",
            Self::Full(_) => "the table may not hold more entries",
            Self::AllocFailed(_) => "the allocator refused memory",
        })
    }
}

impl<T: fmt::Debug, C: fmt::Debug> Error for InsertError<T, C> {}

/// Room could not be made: the allocator refused memory, or so many entries cannot be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TryReserveError {
    pub(crate) entries: usize,
}

impl fmt::Display for TryReserveError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "no memory for {} more entries", self.entries)
    }
}

impl Error for TryReserveError {}
