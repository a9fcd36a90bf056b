//! Measurements of `nulls` and its peers, side by side in one process. What each program answers,
//! and how noise is handled: `README.md`.

pub mod adapters;
pub mod contest;
pub mod record;
pub mod workloads;
