//! What all measuring commands can be told.

use std::path::PathBuf;

use anyhow::Result;
use nulls_benches::adapters::{Papaya, Role, Table};
use nulls_benches::record;
use serde::Serialize;

#[derive(Clone, Debug, Default, clap::Args)]
pub(crate) struct Options {
    /// Fewer and smaller cells, few and short rounds: less than two minutes.
    #[arg(long, conflicts_with = "once")]
    pub(crate) quick: bool,
    /// Everything once at a tiny size: do all tables answer right? The times mean nothing.
    #[arg(long)]
    pub(crate) once: bool,
    /// Only the rows whose name contains this; names are as printed.
    #[arg(long, value_name = "FILTER")]
    pub(crate) only: Option<String>,
    /// Only the peers whose names contain one of these, papaya, and our own maps.
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    pub(crate) peers: Vec<String>,
    /// Rounds that count.
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) rounds: Option<u16>,
    /// Write a CSV record, anew after each row's end, so that a run that is stopped leaves what it had.
    #[arg(long, value_name = "FILE")]
    pub(crate) record: Option<PathBuf>,
}

impl Options {
    /// The value for this run's size: `--once`, `--quick` or in full.
    pub(crate) fn by_scale<T>(&self, once: T, quick: T, full: T) -> T {
        if self.once {
            once
        } else if self.quick {
            quick
        } else {
            full
        }
    }

    /// Rounds, if nothing else is said.
    pub(crate) fn rounds(&self, quick: usize, full: usize) -> usize {
        let default = self.by_scale(1, quick, full);
        self.rounds.map_or(default, usize::from)
    }

    /// Operations that each of `threads` threads makes in a round of throughput.
    pub(crate) fn ops(&self, threads: usize) -> usize {
        let ops = self.by_scale(2_000, 200_000, 1_000_000);
        if threads > 2 { ops / 4 } else { ops }
    }

    pub(crate) fn wants(&self, name: &str) -> bool {
        self.only.as_ref().is_none_or(|only| name.contains(only))
    }

    pub(crate) fn wants_table(&self, name: &str) -> bool {
        self.peers.is_empty()
            || name == Papaya::NAME
            || Role::of(name) == Role::Subject
            || self.peers.iter().any(|peer| name.contains(peer.as_str()))
    }

    pub(crate) fn write(&self, rows: &[impl Serialize]) -> Result<()> {
        self.record
            .as_ref()
            .map_or(Ok(()), |file| record::write_csv(file, rows))
    }
}
