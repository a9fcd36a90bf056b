//! The operations of the target `map`, and how they are read.

use arbitrary::{Arbitrary, Result, Unstructured};

use crate::then::Then;

/// One operation. Where there is `meddle`, the closure changes the very entry that it is called for,
/// when it runs for the first time: as if another thread had come between.
#[derive(Clone, Copy, Debug)]
pub(super) enum Step {
    Get(u8),
    Insert(u8),
    TryInsert(u8),
    GetOrInsert(u8),
    GetOrInsertWith {
        key: u8,
        meddle: bool,
    },
    Update {
        key: u8,
        meddle: bool,
    },
    Compute {
        key: u8,
        then: Then,
        meddle: bool,
    },
    Replace(u8),
    Remove(u8),
    RemoveEntry(u8),
    RemoveIf {
        key: u8,
        accept: bool,
        meddle: bool,
    },
    /// Keeps the keys that are at least `least` modulo `modulus`.
    Retain {
        modulus: u8,
        least: u8,
    },
    Clear,
    Extend {
        first: u8,
        count: u8,
    },
    RemoveMany {
        first: u8,
        count: u8,
    },
    Reserve(u8),
    Iterate,
    /// Begins an iteration or goes on with the one begun.
    Walk(u8),
    Clone,
    /// Ends the read section and begins another.
    Refresh,
}

impl Step {
    pub(super) fn touches_all(self) -> bool {
        matches!(
            self,
            Self::Retain { .. }
                | Self::Clear
                | Self::Extend { .. }
                | Self::RemoveMany { .. }
                | Self::Iterate
                | Self::Walk(_)
                | Self::Clone
                | Self::Refresh
        )
    }
}

impl Arbitrary<'_> for Step {
    #[rustfmt::skip]
    fn arbitrary(u: &mut Unstructured<'_>) -> Result<Self> {
        Ok(match u.int_in_range(0..=19)? {
            0 => Self::Get(u.arbitrary()?),
            1 => Self::Insert(u.arbitrary()?),
            2 => Self::TryInsert(u.arbitrary()?),
            3 => Self::GetOrInsert(u.arbitrary()?),
            4 => Self::GetOrInsertWith { key: u.arbitrary()?, meddle: u.arbitrary()? },
            5 => Self::Update { key: u.arbitrary()?, meddle: u.arbitrary()? },
            6 => Self::Compute { key: u.arbitrary()?, then: u.arbitrary()?, meddle: u.arbitrary()? },
            7 => Self::Replace(u.arbitrary()?),
            8 => Self::Remove(u.arbitrary()?),
            9 => Self::RemoveEntry(u.arbitrary()?),
            10 => Self::RemoveIf { key: u.arbitrary()?, accept: u.arbitrary()?, meddle: u.arbitrary()? },
            11 => Self::Retain { modulus: u.arbitrary()?, least: u.arbitrary()? },
            12 => Self::Clear,
            13 => Self::Extend { first: u.arbitrary()?, count: u.arbitrary()? },
            14 => Self::RemoveMany { first: u.arbitrary()?, count: u.arbitrary()? },
            15 => Self::Reserve(u.arbitrary()?),
            16 => Self::Iterate,
            17 => Self::Walk(u.arbitrary()?),
            18 => Self::Clone,
            _ => Self::Refresh,
        })
    }
}
