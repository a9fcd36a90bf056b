//! What the closure of a `compute` asks for.

use arbitrary::{Arbitrary, Result, Unstructured};

#[derive(Clone, Copy, Debug)]
pub(crate) enum Then {
    Insert,
    Remove,
    Abort,
}

impl Arbitrary<'_> for Then {
    fn arbitrary(u: &mut Unstructured<'_>) -> Result<Self> {
        Ok(*u.choose(&[Self::Insert, Self::Remove, Self::Abort])?)
    }
}
