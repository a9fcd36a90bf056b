//! What the models share: the runner, entries that notice a race, tables of a known shape.
#![cfg(nulls_loom)]

mod entry;
mod hasher;
mod inline;
mod map;
mod model;
mod plain;
mod shared;
mod table;

pub use inline::{InlineMap, InlineView, Keys, OneSlot, Split, TwoWords, Wide};
pub use map::{Map, MapView};
pub use model::{Model, both, brings_the_flag, model, three};
pub use plain::Numbered;
pub use shared::Pin;
pub use table::{Table, View, alike};
