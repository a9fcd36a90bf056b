//! Measurements of `nulls` and its peers, side by side in one process. What each program answers,
//! and how noise is handled: `README.md`.

pub mod adapters;
pub mod contest;
pub mod counting;
pub mod latency;
pub mod mixture;
pub mod progress;
pub mod record;
pub mod score;
pub mod workloads;
pub mod zipf;
