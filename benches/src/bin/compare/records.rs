//! The rows of records that are not throughput.

use serde::{Deserialize, Serialize};

/// Latencies of one kind of operation of one table, in nanoseconds.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct GrowthRow {
    pub(crate) peer: String,
    pub(crate) peer_version: String,
    pub(crate) case: String,
    pub(crate) entries: usize,
    pub(crate) rounds: usize,
    /// In all rounds.
    pub(crate) samples: u64,
    pub(crate) p50: f64,
    pub(crate) p99: f64,
    pub(crate) p999: f64,
    pub(crate) max: f64,
    /// Reads while growing: their p99.9 by that of the final table's reads, median of the rounds.
    pub(crate) times_final: Option<f64>,
    pub(crate) times_final_p25: Option<f64>,
    pub(crate) times_final_p75: Option<f64>,
}

impl GrowthRow {
    pub(crate) const WHILE_GROWING: &str = "read while growing";
}

/// Arriving connections beside readers, in nanoseconds.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct ArrivalsRow {
    pub(crate) peer: String,
    pub(crate) peer_version: String,
    pub(crate) entries: usize,
    pub(crate) readers: usize,
    pub(crate) oversubscribed: bool,
    pub(crate) arrivals_per_second: u32,
    pub(crate) rounds: usize,
    pub(crate) samples: u64,
    /// From when a connection should have arrived to when it was in the table: what waited behind a slow one
    /// counts.
    pub(crate) p50: f64,
    pub(crate) p99: f64,
    pub(crate) p999: f64,
    pub(crate) max: f64,
    /// Of the two operations alone.
    pub(crate) service_p99: f64,
    /// Of all readers together.
    pub(crate) reads_per_second: f64,
}

/// What a table of `entries` entries holds of the allocator.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct BytesRow {
    pub(crate) peer: String,
    pub(crate) peer_version: String,
    pub(crate) entries: usize,
    pub(crate) bytes_an_entry: f64,
}

/// Many small maps.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct MapsRow {
    pub(crate) peer: String,
    pub(crate) peer_version: String,
    pub(crate) maps: usize,
    pub(crate) entries_a_map: usize,
    pub(crate) bytes_a_map: f64,
    /// To make it, and to put the entry in.
    pub(crate) ns_a_map: f64,
    /// Held after all were dropped, in all.
    pub(crate) bytes_left: isize,
}
