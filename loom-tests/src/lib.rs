//! What the models share: the runner, entries that notice a race, tables of a known shape.
#![cfg(nulls_loom)]

mod entry;
mod map;
mod model;
mod shared;
mod table;

pub use map::{Map, MapView};
pub use model::{Model, both, model, three};

pub use table::{Table, View, alike};
