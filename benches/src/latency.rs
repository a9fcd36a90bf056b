//! Times of single operations.

use std::time::Duration;

use anyhow::Result;
use hdrhistogram::Histogram;

use crate::record::{quartiles, rounded};

/// The latencies of one kind of operation in one round, three digits each.
pub struct Latencies(Histogram<u64>);

impl Latencies {
    pub fn new() -> Result<Self> {
        const LONGEST: Duration = Duration::from_secs(100);
        let longest = u64::try_from(LONGEST.as_nanos())?;
        Ok(Self(Histogram::new_with_max(longest, 3)?))
    }

    #[inline]
    pub fn add(&mut self, time: Duration) {
        let nanoseconds = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        self.0.saturating_record(nanoseconds);
    }

    pub fn count(&self) -> u64 {
        self.0.len()
    }

    /// Below which this share of all operations stayed, in nanoseconds.
    pub fn quantile(&self, quantile: f64) -> f64 {
        self.0.value_at_quantile(quantile) as f64
    }
}

/// In nanoseconds; the medians of the rounds' percentiles, and the greatest maximum.
#[derive(Clone, Copy, Debug)]
pub struct Percentiles {
    pub p50: f64,
    pub p99: f64,
    pub p999: f64,
    pub max: f64,
}

impl Percentiles {
    pub fn of(rounds: &[&Latencies]) -> Self {
        let quantile = |quantile| -> Vec<f64> {
            let rounds = rounds.iter();
            rounds.map(|round| round.quantile(quantile)).collect()
        };
        let median = |part| rounded(quartiles(&quantile(part))[1]);
        Self {
            p50: median(0.5),
            p99: median(0.99),
            p999: median(0.999),
            max: quantile(1.0).into_iter().fold(0.0, f64::max),
        }
    }
}
