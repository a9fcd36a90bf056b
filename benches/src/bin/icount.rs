//! `icount`: what an operation costs exactly, counted by valgrind's callgrind: instructions,
//! mispredicted branches, and cache misses of its model.

use std::collections::HashMap;
use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{fs, iter};

use anyhow::{Context, Result, bail, ensure};
use clap::{Parser, ValueEnum};
use nulls_benches::adapters::{Nulls, NullsInline, NullsTable, Papaya, Role, Session, Table};
use nulls_benches::record::{self, rounded};
use nulls_benches::workloads::{PIN_EVERY, fill, shuffled, value};
use serde::{Deserialize, Serialize};

/// Entries in the table, and operations counted.
const ENTRIES: usize = 100_000;
const OPS: usize = 10_000;

/// How much more than in the record an operation of nulls may cost.
const TOLERANCE: f64 = 1.03;

/// The caches of the model, whatever the machine's are: size, ways, bytes a line.
const CACHES: [&str; 3] = ["--I1=32768,8,64", "--D1=32768,8,64", "--LL=1048576,16,64"];

/// Counts what one operation of papaya's map and of nulls' map, table and inline map costs, under valgrind.
///
/// One thread, a presized table of 100,000 entries, 10,000 operations on random keys, a new guard every
/// 64; what the empty loop costs is subtracted. The modelled caches have 32 KiB (D1: its misses are
/// about the lines that an operation touches) and 1 MiB (LL).
#[derive(Parser)]
struct Args {
    /// Write a CSV record.
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,
    /// Fail if an operation of nulls needs 3 % more instructions than in this record.
    #[arg(long, value_name = "FILE")]
    check: Option<PathBuf>,
    /// Make one peer's operations and nothing else: how the program calls itself under valgrind.
    #[arg(long, hide = true, requires = "op")]
    peer: Option<Peer>,
    #[arg(long, hide = true, requires = "peer")]
    op: Option<Op>,
}

#[derive(Clone, Copy, ValueEnum)]
enum Peer {
    Papaya,
    Nulls,
    NullsTable,
    NullsInline,
}

impl Peer {
    fn name(self) -> &'static str {
        match self {
            Self::Papaya => Papaya::NAME,
            Self::Nulls => Nulls::NAME,
            Self::NullsTable => NullsTable::NAME,
            Self::NullsInline => NullsInline::NAME,
        }
    }
}

#[derive(Clone, Copy, ValueEnum)]
enum Op {
    /// The loop alone.
    Nothing,
    /// A guard, made and dropped.
    Pin,
    Hit,
    Miss,
    Insert,
    Remove,
}

impl Op {
    fn name(self) -> String {
        self.to_possible_value()
            .map(|value| value.get_name().to_owned())
            .unwrap_or_default()
    }
}

#[derive(Serialize, Deserialize)]
struct Row {
    peer: String,
    peer_version: String,
    op: String,
    instructions: f64,
    mispredicted_branches: f64,
    d1_misses: f64,
    ll_misses: f64,
}

fn main() -> Result<()> {
    let args = Args::parse();
    match (args.peer, args.op) {
        (Some(Peer::Papaya), Some(op)) => return make::<Papaya>(op),
        (Some(Peer::Nulls), Some(op)) => return make::<Nulls>(op),
        (Some(Peer::NullsTable), Some(op)) => return make::<NullsTable>(op),
        (Some(Peer::NullsInline), Some(op)) => return make::<NullsInline>(op),
        _ => {}
    }
    let rows = measure()?;
    if let Some(file) = args.record {
        record::write_csv(&file, &rows)?;
    }
    args.check.map_or(Ok(()), |file| check(&rows, &file))
}

/// Under valgrind: prepares a table, then makes the operations in [`counted`].
fn make<T: Table>(op: Op) -> Result<()> {
    let table = T::with_capacity(ENTRIES + OPS);
    fill(&table, ENTRIES)?;
    let keys = match op {
        Op::Miss | Op::Insert => shuffled(ENTRIES..2 * ENTRIES, 1),
        _ => shuffled(0..ENTRIES, 1),
    };
    let keys = &keys[..OPS];
    let keys_read = each(keys, |key| *key);
    let ops = OPS as u64;
    let (result, expected) = match op {
        Op::Nothing => (counted(keys, |keys| each(keys, |key| *key)), keys_read),
        Op::Pin => {
            let pin = |key: &u64| {
                black_box(table.pin());
                *key
            };
            (counted(keys, |keys| each(keys, pin)), keys_read)
        }
        Op::Hit | Op::Miss => {
            let result = counted(keys, |keys| {
                let session = table.pin();
                each(keys, |key| session.get(key).unwrap_or(0))
            });
            let hit = matches!(op, Op::Hit);
            (
                result,
                if hit {
                    each(keys, |key| value(*key))
                } else {
                    0
                },
            )
        }
        Op::Insert => {
            let result = counted(keys, |keys| {
                let session = table.pin();
                each(keys, |key| u64::from(session.insert(*key, *key)))
            });
            (result, ops)
        }
        Op::Remove => {
            let result = counted(keys, |keys| {
                let session = table.pin();
                each(keys, |key| u64::from(session.remove(key)))
            });
            (result, ops)
        }
    };
    ensure!(
        result == expected,
        "{}, {}: {result} instead of {expected}",
        T::NAME,
        op.name()
    );
    Ok(())
}

/// What [`COUNTED`] names: all that valgrind counts happens between this function's call and return.
#[inline(never)]
fn counted(keys: &[u64], run: impl FnMut(&[u64]) -> u64) -> u64 {
    keys.chunks(PIN_EVERY).map(run).fold(0, u64::wrapping_add)
}

/// Matches the symbol of [`counted`] in both of rustc's manglings.
const COUNTED: &str = "*6icount7counted*";

#[inline]
fn each(keys: &[u64], op: impl Fn(&u64) -> u64) -> u64 {
    keys.iter()
        .fold(0, |sum, key| sum.wrapping_add(op(black_box(key))))
}

/// Prints all counts, and returns them.
fn measure() -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    println!(
        "{:<25}{:>14}{:>14}{:>12}{:>12}",
        "per operation", "instructions", "mispredicted", "D1 misses", "LL misses"
    );
    for (peer, package) in [
        (Peer::Papaya, Papaya::PACKAGE),
        (Peer::Nulls, Nulls::PACKAGE),
        (Peer::NullsTable, NullsTable::PACKAGE),
        (Peer::NullsInline, NullsInline::PACKAGE),
    ] {
        let empty = valgrind(peer, Op::Nothing)?;
        for op in [Op::Pin, Op::Hit, Op::Miss, Op::Insert, Op::Remove] {
            let events = valgrind(peer, op)?;
            let per_op = |names: &[&str]| -> f64 {
                let count = |events: &Events| names.iter().map(|name| events[*name]).sum::<f64>();
                rounded((count(&events) - count(&empty)) / OPS as f64)
            };
            let row = Row {
                peer: peer.name().to_owned(),
                peer_version: record::version(package).to_owned(),
                op: op.name(),
                instructions: per_op(&["Ir"]),
                mispredicted_branches: per_op(&["Bcm", "Bim"]),
                d1_misses: per_op(&["D1mr", "D1mw"]),
                ll_misses: per_op(&["DLmr", "DLmw"]),
            };
            println!(
                "  {:<13}{:<10}{:>14.1}{:>14.2}{:>12.2}{:>12.2}",
                row.peer,
                row.op,
                row.instructions,
                row.mispredicted_branches,
                row.d1_misses,
                row.ll_misses
            );
            rows.push(row);
        }
    }
    Ok(rows)
}

/// Callgrind's totals by its names for events.
type Events = HashMap<String, f64>;

/// Runs this program's [`make`] under valgrind.
fn valgrind(peer: Peer, op: Op) -> Result<Events> {
    let out = tempfile::NamedTempFile::new()?;
    let run = Command::new("valgrind")
        .args([
            "--tool=callgrind",
            "-q",
            "--cache-sim=yes",
            "--branch-sim=yes",
            "--demangle=no",
        ])
        .args(CACHES)
        .arg(format!("--toggle-collect={COUNTED}"))
        .arg(format!("--callgrind-out-file={}", out.path().display()))
        .arg(std::env::current_exe()?)
        .args(["--peer", peer.name(), "--op", &op.name()])
        .output()
        .context("cannot run valgrind; is it installed?")?;
    let said = String::from_utf8_lossy(&run.stderr);
    ensure!(
        run.status.success(),
        "{} {}: {}\n{said}",
        peer.name(),
        op.name(),
        run.status
    );
    events(&fs::read_to_string(out.path())?).context("no totals in callgrind's output")
}

/// From lines such as `events: Ir Dr Dw` and `totals: 12 3`: zeros at the end are left out.
fn events(output: &str) -> Option<Events> {
    let after = |label| output.lines().find_map(|line| line.strip_prefix(label));
    let names = after("events:")?.split_whitespace().map(str::to_owned);
    let counts = after("totals:")?
        .split_whitespace()
        .map(|count| count.parse().unwrap_or(f64::NAN));
    Some(names.zip(counts.chain(iter::repeat(0.0))).collect())
}

/// Compares the instructions of nulls with a record's.
fn check(rows: &[Row], file: &Path) -> Result<()> {
    let mut reader = csv::Reader::from_path(file).context("cannot read the record")?;
    let recorded: Vec<Row> = reader.deserialize().collect::<Result<_, _>>()?;
    let mut worse = Vec::new();
    for row in rows
        .iter()
        .filter(|row| Role::of(&row.peer) == Role::Subject)
    {
        let before = recorded
            .iter()
            .find(|before| (&before.peer, &before.op) == (&row.peer, &row.op));
        let before =
            before.with_context(|| format!("{} {} is not in the record", row.peer, row.op))?;
        if row.instructions > before.instructions * TOLERANCE {
            worse.push(format!(
                "{} {}: {} instead of {}",
                row.peer, row.op, row.instructions, before.instructions
            ));
        }
    }
    if !worse.is_empty() {
        bail!("more instructions than recorded: {}", worse.join("; "));
    }
    println!("no operation of nulls is more than 3 % worse than recorded");
    Ok(())
}
