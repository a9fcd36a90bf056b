//! The result, as text or as JSON.

use std::io::{self, Write};

use serde_json::json;

use crate::replay::Seen;
use crate::worker::{Shared, Tally};

/// Everything that a run brought to light.
#[derive(Debug)]
pub(crate) struct Report {
    pub(crate) tally: Tally,
    /// Of a capture.
    pub(crate) seen: Seen,
    /// Mappings made, and those that expired before the traffic ended.
    made: u64,
    expired: u64,
    /// Mappings at the end of the traffic, and the bytes of both tables then.
    live: usize,
    table_bytes: usize,
    threads: usize,
    batch: bool,
}

impl Report {
    /// Counts what there is when all workers have ended.
    pub(crate) fn new(shared: &Shared, tally: Tally, seen: Seen, threads: usize) -> Self {
        Self {
            tally,
            seen,
            made: shared.nat.made(),
            expired: shared.nat.expired(),
            live: shared.nat.len()[0],
            table_bytes: shared.nat.table_bytes(),
            threads,
            batch: shared.batch,
        }
    }

    pub(crate) fn packets(&self) -> u64 {
        self.tally.packets + self.seen.passed
    }

    fn dropped(&self) -> u64 {
        self.tally.unsolicited + self.tally.refused
    }

    /// Of all threads together, in the time that they spent in the translator.
    #[allow(clippy::cast_precision_loss, reason = "a rate is not exact")]
    fn packets_per_second(&self) -> f64 {
        let each = self.tally.busy.as_secs_f64() / self.threads as f64;
        if each > 0.0 {
            self.tally.packets as f64 / each
        } else {
            0.0
        }
    }

    /// Of both tables, or 0 without mappings.
    #[allow(clippy::cast_precision_loss, reason = "a mean is not exact")]
    fn bytes_per_mapping(&self) -> f64 {
        match self.live {
            0 => 0.0,
            live => self.table_bytes as f64 / live as f64,
        }
    }

    fn percentile(&self, percent: f64) -> u64 {
        self.tally.latency.value_at_percentile(percent)
    }

    /// Writes the report to standard output.
    ///
    /// A reader that has seen enough and closed the pipe is no error.
    pub(crate) fn print(&self, as_json: bool) -> io::Result<()> {
        let mut out = io::BufWriter::new(io::stdout().lock());
        let written = if as_json {
            self.json(&mut out)
        } else {
            self.text(&mut out)
        };
        match written.and_then(|()| out.flush()) {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
            result => result,
        }
    }

    fn json(&self, out: &mut impl Write) -> io::Result<()> {
        let object = json!({
            "packets": self.packets(),
            "translated": self.tally.translated,
            "misdirected": self.tally.misdirected,
            "dropped": self.dropped(),
            "unsolicited": self.tally.unsolicited,
            "refused": self.tally.refused,
            "passed": self.seen.passed,
            "wire_bytes": self.seen.bytes,
            "mappings": self.made,
            "expired": self.expired,
            "live": self.live,
            "packets_per_s": self.packets_per_second(),
            "p50_ns": self.percentile(50.0),
            "p99_ns": self.percentile(99.0),
            "table_bytes": self.table_bytes,
            "bytes_per_mapping": self.bytes_per_mapping(),
            "threads": self.threads,
            "batch": self.batch,
        });
        writeln!(out, "{object}")
    }

    fn text(&self, out: &mut impl Write) -> io::Result<()> {
        for (number, what) in [
            (self.packets(), "packets"),
            (self.tally.translated, "translated"),
            (
                self.tally.misdirected,
                "of them answers to a port that had passed on",
            ),
            (self.tally.unsolicited, "dropped: inbound without a mapping"),
            (
                self.tally.refused,
                "dropped: outbound without a port or memory",
            ),
            (self.seen.passed, "passed: nothing to translate"),
            (self.made, "mappings made"),
            (self.expired, "mappings expired"),
        ] {
            writeln!(out, "{number:>14} {what}")?;
        }
        writeln!(
            out,
            "\n{:>14.0} packets a second on {} threads, {}",
            self.packets_per_second(),
            self.threads,
            if self.batch {
                "burst by burst: a packet takes as long as its burst"
            } else {
                "one by one"
            }
        )?;
        let (p50, p99) = (self.percentile(50.0), self.percentile(99.0));
        writeln!(out, "{p50:>14} ns for a packet (median)")?;
        writeln!(out, "{p99:>14} ns for a packet (99th percentile)")?;
        writeln!(
            out,
            "\ntables: {} mappings, {} bytes, {:.1} a mapping",
            self.live,
            self.table_bytes,
            self.bytes_per_mapping()
        )
    }
}
