//! One file a peer, all behind [`Table`]. Everything is monomorphised: a measured loop calls the peer
//! directly. All tables are `u64` → `u64` with [`Hasher`] and the system's allocator.

mod dashmap;
mod floor;
mod flurry;
mod nulls;
mod nulls_inline;
mod nulls_table;
mod papaya;
mod planted;
mod rwlock;
mod scc_index;
mod scc_map;

use anyhow::Result;

pub use self::dashmap::DashMap;
pub use self::floor::{OneLine, TwoLines};
pub use self::flurry::Flurry;
pub use self::nulls::Nulls;
pub use self::nulls_inline::NullsInline;
pub use self::nulls_table::NullsTable;
pub use self::papaya::Papaya;
pub use self::rwlock::RwLockMap;
pub use self::scc_index::SccIndex;
pub use self::scc_map::SccMap;

/// Keyed and cheap. The key is fixed: instruction counts must be the same on each run.
pub type Hasher = foldhash::fast::FixedState;

fn hasher() -> Hasher {
    Hasher::with_seed(0x006e_756c_6c73)
}

/// What a contender is, by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// A map of this crate's.
    Subject,
    /// A map of others, to compare with.
    Peer,
    /// No map at all: the memory reads that no map can do without.
    Floor,
}

impl Role {
    pub fn of(name: &str) -> Self {
        if name.starts_with("nulls") {
            Self::Subject
        } else if name.starts_with("floor") {
            Self::Floor
        } else {
            Self::Peer
        }
    }
}

/// A map that several threads share.
pub trait Table: Sized + Send + Sync + 'static {
    /// What tables and records call this peer.
    const NAME: &'static str;
    /// The package it comes from, whose version goes into records.
    const PACKAGE: &'static str;
    /// Whether a look-up may miss a key that another thread is updating. Such misses are counted and
    /// shown instead of ending the program.
    const MISSES_UPDATED: bool = false;

    type Session<'t>: Session;

    fn with_capacity(capacity: usize) -> Self;

    /// Whatever the peer wants a thread to hold over a run of operations (a guard), or just the map.
    fn pin(&self) -> Self::Session<'_>;
}

/// The operations, as one thread makes them.
pub trait Session {
    fn get(&self, key: &u64) -> Option<u64>;

    /// Adds an absent key, by the call that the peer names so: true. What happens if it is present is up
    /// to the peer, but for the answer: false.
    fn insert(&self, key: u64, value: u64) -> bool;

    /// Adds an absent key: true. False if it is present, and then the value stays.
    fn add(&self, key: u64, value: u64) -> bool;

    /// Adds a key or replaces its value. True if it was absent.
    fn put(&self, key: u64, value: u64) -> bool;

    /// False if the key was absent.
    fn remove(&self, key: &u64) -> bool;

    /// Adds one to the value of a key, so that a lost update shows. False if the key was absent.
    fn update(&self, key: u64) -> bool;
}

/// A function over every kind of table.
pub trait Visitor {
    fn visit<T: Table>(&mut self) -> Result<()>;
}

/// Shows every peer to `visitor`: papaya, whom the others are compared with, first.
pub fn for_each_table(visitor: &mut impl Visitor) -> Result<()> {
    visitor.visit::<Papaya>()?;
    visitor.visit::<Nulls>()?;
    visitor.visit::<NullsInline>()?;
    visitor.visit::<SccMap>()?;
    visitor.visit::<SccIndex>()?;
    visitor.visit::<DashMap>()?;
    visitor.visit::<Flurry>()?;
    visitor.visit::<RwLockMap>()
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Contract;

    impl Visitor for Contract {
        fn visit<T: Table>(&mut self) -> Result<()> {
            let table = T::with_capacity(0);
            let session = table.pin();
            assert_eq!(session.get(&1), None, "{}", T::NAME);
            assert!(!session.update(1) && !session.remove(&1), "{}", T::NAME);
            assert!(
                session.insert(1, 10) && !session.insert(1, 10),
                "{}",
                T::NAME
            );
            assert!(session.update(1), "{}", T::NAME);
            assert_eq!(session.get(&1), Some(11), "{}", T::NAME);
            assert!(!session.add(1, 20) && !session.put(1, 30), "{}", T::NAME);
            assert_eq!(session.get(&1), Some(30), "{}", T::NAME);
            assert!(session.remove(&1) && !session.remove(&1), "{}", T::NAME);
            assert!(session.add(1, 10) && session.remove(&1), "{}", T::NAME);
            assert!(session.put(1, 10) && session.remove(&1), "{}", T::NAME);
            assert_eq!(session.get(&1), None, "{}", T::NAME);
            Ok(())
        }
    }

    #[test]
    fn every_adapter_keeps_the_contract() {
        for_each_table(&mut Contract).expect("it asserts");
    }
}
