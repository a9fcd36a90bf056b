//! How far a program is.

use std::time::{Duration, Instant};

/// Tells on stderr how far a program is, at most every four seconds: in lines, so that a log of it can be read.
pub struct Progress {
    begun: Instant,
    told: Instant,
}

impl Progress {
    const EVERY: Duration = Duration::from_secs(4);

    #[expect(clippy::new_without_default, reason = "it starts a clock")]
    pub fn new() -> Self {
        let now = Instant::now();
        Self {
            begun: now,
            told: now,
        }
    }

    pub fn tell(&mut self, what: impl FnOnce() -> String) {
        if self.told.elapsed() >= Self::EVERY {
            self.told = Instant::now();
            eprintln!("[{:>4} s] {}", self.begun.elapsed().as_secs(), what());
        }
    }
}
