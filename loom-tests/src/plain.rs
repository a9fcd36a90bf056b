//! Plain data that shows whether it is whole.

use std::hash::{Hash, Hasher};

use equivalent::Equivalent;
use nulls::Plain;

/// Plain data that stands for a number. All parts of it are that number, so that what was put
/// together from two is noticed.
pub trait Numbered: Plain {
    /// The data of a number.
    fn of(number: u64) -> Self;

    /// The number of the data.
    ///
    /// # Panics
    ///
    /// If the data is torn.
    fn number(&self) -> u64;
}

impl Numbered for () {
    fn of(_: u64) -> Self {}

    fn number(&self) -> u64 {
        0
    }
}

impl Numbered for u32 {
    fn of(number: u64) -> Self {
        Self::try_from(number).expect("a model's numbers are small")
    }

    fn number(&self) -> u64 {
        (*self).into()
    }
}

impl Numbered for u64 {
    fn of(number: u64) -> Self {
        number
    }

    fn number(&self) -> u64 {
        *self
    }
}

impl<T: Numbered + Eq, const N: usize> Numbered for [T; N]
where
    Self: Plain,
{
    fn of(number: u64) -> Self {
        [T::of(number); N]
    }

    fn number(&self) -> u64 {
        assert!(self.iter().all(|part| *part == self[0]), "torn");
        self[0].number()
    }
}

/// A key to look up. Demands of each key that it is compared with that it is whole (1.7).
pub(crate) struct Wanted(pub(crate) u64);

impl Hash for Wanted {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(self.0);
    }
}

impl<K: Numbered> Equivalent<K> for Wanted {
    fn equivalent(&self, key: &K) -> bool {
        self.0 == key.number()
    }
}
