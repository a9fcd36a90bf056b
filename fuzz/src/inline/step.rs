//! The operations of the target `inline`, and how they are read.

use arbitrary::{Arbitrary, Result, Unstructured};

use crate::then::Then;

/// One operation. Where there is `meddle`, the closure changes the very entry that it is called for,
/// when it runs for the first time; where there is `hashed`, the hash is in hand.
#[derive(Clone, Copy, Debug)]
pub(super) enum Step {
    Get(u8),
    Insert {
        key: u8,
        hashed: bool,
    },
    TryInsert(u8),
    TryUpsert(u8),
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
    Remove {
        key: u8,
        hashed: bool,
    },
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
    GetMany {
        first: u8,
        count: u8,
        hashed: bool,
    },
    InsertMany {
        first: u8,
        count: u8,
        hashed: bool,
    },
    RemoveMany {
        first: u8,
        count: u8,
        hashed: bool,
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
                | Self::GetMany { .. }
                | Self::InsertMany { .. }
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
        Ok(match u.int_in_range(0..=22)? {
            0 => Self::Get(u.arbitrary()?),
            1 => Self::Insert { key: u.arbitrary()?, hashed: u.arbitrary()? },
            2 => Self::TryInsert(u.arbitrary()?),
            3 => Self::TryUpsert(u.arbitrary()?),
            4 => Self::GetOrInsert(u.arbitrary()?),
            5 => Self::GetOrInsertWith { key: u.arbitrary()?, meddle: u.arbitrary()? },
            6 => Self::Update { key: u.arbitrary()?, meddle: u.arbitrary()? },
            7 => Self::Compute { key: u.arbitrary()?, then: u.arbitrary()?, meddle: u.arbitrary()? },
            8 => Self::Replace(u.arbitrary()?),
            9 => Self::Remove { key: u.arbitrary()?, hashed: u.arbitrary()? },
            10 => Self::RemoveEntry(u.arbitrary()?),
            11 => Self::RemoveIf { key: u.arbitrary()?, accept: u.arbitrary()?, meddle: u.arbitrary()? },
            12 => Self::Retain { modulus: u.arbitrary()?, least: u.arbitrary()? },
            13 => Self::Clear,
            14 => Self::Extend { first: u.arbitrary()?, count: u.arbitrary()? },
            15 => Self::GetMany { first: u.arbitrary()?, count: u.arbitrary()?, hashed: u.arbitrary()? },
            16 => Self::InsertMany { first: u.arbitrary()?, count: u.arbitrary()?, hashed: u.arbitrary()? },
            17 => Self::RemoveMany { first: u.arbitrary()?, count: u.arbitrary()?, hashed: u.arbitrary()? },
            18 => Self::Reserve(u.arbitrary()?),
            19 => Self::Iterate,
            20 => Self::Walk(u.arbitrary()?),
            21 => Self::Clone,
            _ => Self::Refresh,
        })
    }
}
