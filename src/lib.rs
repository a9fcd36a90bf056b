#![doc = include_str!("../README.md")]
#![cfg_attr(not(feature = "std"), no_std)]
#![cfg_attr(
    not(feature = "std"),
    allow(
        dead_code,
        unused_imports,
        reason = "the map needs std's default hasher, and is their user"
    )
)]
#![cfg_attr(docsrs, feature(doc_cfg))]

extern crate alloc;

mod engine;
mod error;
#[cfg(all(feature = "std", not(nulls_loom)))]
pub mod guide;
pub mod hash;
#[cfg(feature = "std")]
pub mod inline;
#[cfg(feature = "std")]
pub mod map;
mod prehashed;
mod reclaim;
mod sync;
pub mod table;

pub use engine::{Growth, Plain, Stats};
pub use error::{InsertError, TryReserveError};
#[cfg(feature = "std")]
pub use inline::{InlineBuilder, InlineCompute, InlineHashMap, InlineHashMapRef};
#[cfg(feature = "std")]
pub use map::{Builder, Compute, NullsHashMap, NullsHashMapRef, Operation};
pub use prehashed::Prehashed;
pub use reclaim::{Collector, CollectorBuilder, Guard, Pin};
pub use table::{NullsHashTable, NullsHashTableRef, TableBuilder};
