//! Bytes an entry: what a table that grew from empty has asked of the allocator, by its entries. Between two
//! doublings that goes up and down, so it is measured in the middle of each of 16 geometric steps of one doubling,
//! and their mean counts. Garbage that a peer has not freed yet is part of it.
//!
//! Tables are small enough that nulls allocates its arrays, instead of mapping them, which no allocator sees, and
//! large enough that headers count for little.

use anyhow::{Result, ensure};
use nulls_benches::adapters::{Session, Table, Visitor, for_each_table};
use nulls_benches::counting::count;
use nulls_benches::record::{self, rounded};
use nulls_benches::workloads::{key, value};

use crate::options::Options;
use crate::records::BytesRow as Row;

const FIRST: f64 = 17_500.0;
const STEPS: u8 = 16;

pub(crate) fn command(options: &Options) -> Result<()> {
    let rows = measure(options)?;
    println!(
        "{:<20}{:>8}{:>8}{:>8}",
        "bytes an entry", "mean", "least", "most"
    );
    for steps in rows.chunk_by(|a, b| a.peer == b.peer) {
        let bytes = || steps.iter().map(|row| row.bytes_an_entry);
        println!(
            "  {:<18}{:>8.1}{:>8.1}{:>8.1}",
            steps[0].peer,
            mean(steps),
            bytes().fold(f64::INFINITY, f64::min),
            bytes().fold(0.0, f64::max)
        );
    }
    Ok(())
}

/// Of one table's steps.
pub(crate) fn mean(steps: &[Row]) -> f64 {
    steps.iter().map(|row| row.bytes_an_entry).sum::<f64>() / steps.len() as f64
}

/// Prints nothing, but writes the record.
pub(crate) fn measure(options: &Options) -> Result<Vec<Row>> {
    let mut steps = Steps {
        options,
        rows: Vec::new(),
    };
    for_each_table(&mut steps)?;
    options.write(&steps.rows)?;
    Ok(steps.rows)
}

struct Steps<'a> {
    options: &'a Options,
    rows: Vec<Row>,
}

impl Visitor for Steps<'_> {
    fn visit<T: Table>(&mut self) -> Result<()> {
        if self.options.wants_table(T::NAME) && self.options.wants(T::NAME) {
            self.rows.extend(steps::<T>()?);
        }
        Ok(())
    }
}

fn steps<T: Table>() -> Result<Vec<Row>> {
    let mut rows = Vec::with_capacity(16);
    count(|held| {
        let table = T::with_capacity(0);
        let mut entries = 0;
        for step in 0..STEPS {
            let target = target(step);
            while entries < target {
                let new = table.pin().insert(key(entries), value(key(entries)));
                ensure!(new, "a new key was present");
                entries += 1;
            }
            let bytes = held() as f64 / entries as f64;
            ensure!(bytes >= 16.0, "memory that the allocator does not see");
            rows.push((entries, bytes));
        }
        Ok(())
    })?;
    let row = |(entries, bytes)| Row {
        peer: T::NAME.to_owned(),
        peer_version: record::version(T::PACKAGE).to_owned(),
        entries,
        bytes_an_entry: rounded(bytes),
    };
    Ok(rows.into_iter().map(row).collect())
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "tens of thousands"
)]
fn target(step: u8) -> usize {
    (FIRST * ((f64::from(step) + 0.5) / f64::from(STEPS)).exp2()) as usize
}
