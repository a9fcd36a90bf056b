//! Writes the records' tables into BENCHMARKS.md, between `<!-- begin NAME -->` and `<!-- end NAME -->`.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use nulls_benches::record::rounded;
use nulls_benches::score::{Duel, best_peer};
use serde::de::DeserializeOwned;

use crate::bytes;
use crate::records::{ArrivalsRow, BytesRow, GrowthRow, MapsRow};

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Where the records are.
    #[arg(long, value_name = "DIR", default_value = concat!(env!("CARGO_MANIFEST_DIR"), "/record"))]
    records: PathBuf,
    /// The file to write into.
    #[arg(long, value_name = "FILE", default_value = concat!(env!("CARGO_MANIFEST_DIR"), "/../BENCHMARKS.md"))]
    into: PathBuf,
}

/// Records of ratios.
pub(crate) const RATIO_RECORDS: [&str; 4] = ["grid", "parlay", "ycsb", "bustle"];

const SUBJECTS: [&str; 2] = ["nulls", "nulls-inline"];

/// How many lost cells of each map are listed.
const LOSSES: usize = 20;

pub(crate) fn command(args: &Args) -> Result<()> {
    let records = &args.records;
    let mut text = fs::read_to_string(&args.into)
        .with_context(|| format!("cannot read {}", args.into.display()))?;
    let mut all = Vec::new();
    for record in RATIO_RECORDS {
        let duels: Vec<Duel> = read(records, record)?;
        text = replace(&text, record, &section(records, record, &ratios(&duels))?)?;
        all.extend(duels);
    }
    let growth: Vec<GrowthRow> = read(records, "growth")?;
    let arrivals: Vec<ArrivalsRow> = read(records, "arrivals")?;
    let steps: Vec<BytesRow> = read(records, "bytes")?;
    let maps: Vec<MapsRow> = read(records, "maps")?;
    let tables = [
        ("growth", growth_table(&growth)),
        ("arrivals", arrivals_table(&arrivals)),
        ("bytes", bytes_table(&steps)),
        ("maps", maps_table(&maps)),
    ];
    for (record, table) in tables {
        text = replace(&text, record, &section(records, record, &table)?)?;
    }
    let mut lost = losses(&all);
    lost += &lost_latencies(&growth, &arrivals);
    lost += &lost_bytes(&steps);
    if lost.is_empty() {
        "No records yet.\n".clone_into(&mut lost);
    }
    text = replace(&text, "losses", &lost)?;
    fs::write(&args.into, text).with_context(|| format!("cannot write {}", args.into.display()))
}

/// The rows of a record; none if there is no such file.
pub(crate) fn read<T: DeserializeOwned>(records: &Path, name: &str) -> Result<Vec<T>> {
    let file = records.join(format!("{name}.csv"));
    if !file.exists() {
        return Ok(Vec::new());
    }
    csv::Reader::from_path(&file)
        .and_then(|mut reader| reader.deserialize().collect())
        .with_context(|| format!("cannot read {}", file.display()))
}

/// `text` with `section` in the place of what was between its marks.
fn replace(text: &str, name: &str, section: &str) -> Result<String> {
    let (begin, end) = (
        format!("<!-- begin {name} -->\n"),
        format!("<!-- end {name} -->"),
    );
    let (before, rest) = text
        .split_once(&begin)
        .with_context(|| format!("no `{}` in the file", begin.trim()))?;
    let (_, after) = rest
        .split_once(&end)
        .with_context(|| format!("no `{end}` in the file"))?;
    Ok(format!("{before}{begin}\n{section}\n{end}{after}"))
}

/// A table and where its figures come from.
fn section(records: &Path, record: &str, table: &str) -> Result<String> {
    let command =
        format!("cargo run --release --bin compare -- {record} --record record/{record}.csv");
    if table.is_empty() {
        return Ok(format!("No record yet: `{command}`.\n"));
    }
    let origins: Vec<Origin> = read(records, record)?;
    let origin = origins.first().context("a table without rows")?;
    let versions: BTreeSet<_> = origins
        .iter()
        .map(|row| format!("{} {}", row.peer, row.peer_version))
        .collect();
    let versions: Vec<_> = versions.into_iter().collect();
    Ok(format!(
        "{table}\n`{command}`: [record](benches/record/{record}.csv), commit {}, {}, {}, {}; {}.\n",
        origin.commit,
        origin.date,
        origin.cpu,
        origin.rustc,
        versions.join(", ")
    ))
}

/// What every record says of each row.
#[derive(serde::Deserialize)]
struct Origin {
    commit: String,
    date: String,
    cpu: String,
    rustc: String,
    peer: String,
    peer_version: String,
}

/// In the order of their first appearance.
fn unique<T: PartialEq>(items: impl Iterator<Item = T>) -> Vec<T> {
    let mut unique = Vec::new();
    for item in items {
        if !unique.contains(&item) {
            unique.push(item);
        }
    }
    unique
}

fn row(cells: impl IntoIterator<Item = String>) -> String {
    let cells: Vec<_> = cells.into_iter().collect();
    format!("| {} |\n", cells.join(" | "))
}

fn header(names: &[&str]) -> String {
    let rule = names.iter().enumerate();
    let rule = rule.map(|(at, _)| if at == 0 { "---" } else { "---:" }.to_owned());
    row(names.iter().map(|name| (*name).to_owned())) + &row(rule)
}

/// Bold where ours is slower.
fn ratio(ratio: f64) -> String {
    if ratio < 1.0 {
        format!("**{ratio:.2}**")
    } else {
        format!("{ratio:.2}")
    }
}

/// A table for each of our maps and each form of tables.
fn ratios(duels: &[Duel]) -> String {
    let mut text = String::new();
    for subject in SUBJECTS {
        for presized in [false, true] {
            let of_table = |duel: &&Duel| duel.subject == subject && duel.presized == presized;
            let duels: Vec<_> = duels.iter().filter(of_table).collect();
            if duels.is_empty() {
                continue;
            }
            let form = if presized {
                "presized"
            } else {
                "grown from empty"
            };
            _ = writeln!(text, "`{subject}`, tables {form}: times faster than\n");
            text += &ratio_table(&duels, subject);
            text.push('\n');
        }
    }
    text
}

fn ratio_table(duels: &[&Duel], subject: &str) -> String {
    let peers = unique(duels.iter().map(|duel| duel.peer.as_str()));
    let names: Vec<_> = ["workload, entries, threads", "best peer", "(quartiles)"]
        .into_iter()
        .chain(peers.iter().copied())
        .collect();
    let mut text = header(&names);
    for cell in unique(duels.iter().map(|duel| duel.cell())) {
        let of_cell = || duels.iter().copied().filter(|duel| duel.cell() == cell);
        let note = if of_cell().any(|duel| duel.oversubscribed) {
            " (oversubscribed)"
        } else {
            ""
        };
        let name = format!(
            "{} {} × {}{note}",
            cell.workload, cell.entries, cell.threads
        );
        let best = best_peer(of_cell(), subject);
        let best = best.map_or([String::new(), String::new()], |duel| {
            [
                ratio(duel.ratio),
                format!("{:.2}–{:.2}", duel.ratio_p25, duel.ratio_p75),
            ]
        });
        let each = peers.iter().map(|peer| {
            of_cell()
                .find(|duel| duel.peer == *peer)
                .map_or_else(String::new, |duel| ratio(duel.ratio))
        });
        text += &row([name].into_iter().chain(best).chain(each));
    }
    text
}

/// The cells in which somebody else is quicker than our map, worst first.
fn losses(duels: &[Duel]) -> String {
    let mut text = String::new();
    for subject in SUBJECTS {
        let of_subject = || duels.iter().filter(|duel| duel.subject == subject);
        let cells = unique(of_subject().map(Duel::cell));
        let mut lost: Vec<_> = cells
            .iter()
            .filter_map(|cell| best_peer(of_subject().filter(|duel| duel.cell() == *cell), subject))
            .filter(|duel| duel.ratio < 1.0)
            .collect();
        if cells.is_empty() {
            continue;
        }
        lost.sort_by(|a, b| a.ratio.total_cmp(&b.ratio));
        _ = writeln!(
            text,
            "`{subject}` is slower than the best peer in {} of {} cells; the worst of them:\n",
            lost.len(),
            cells.len()
        );
        text += &header(&["cell", "best peer", "times faster than it", "(quartiles)"]);
        for duel in lost.iter().take(LOSSES) {
            text += &row([
                duel.cell().name(),
                duel.peer.clone(),
                ratio(duel.ratio),
                format!("{:.2}–{:.2}", duel.ratio_p25, duel.ratio_p75),
            ]);
        }
        text.push('\n');
    }
    text
}

/// Where others have the better tail.
fn lost_latencies(growth: &[GrowthRow], arrivals: &[ArrivalsRow]) -> String {
    let mut text = String::new();
    for case in unique(growth.iter().map(|row| row.case.as_str())) {
        let rows = growth.iter().filter(|row| row.case == case);
        let tails: Vec<_> = rows.map(|row| (row.peer.as_str(), row.p999)).collect();
        text += &better(&format!("growth, p99.9 ns of: {case}"), &tails);
    }
    for readers in unique(arrivals.iter().map(|row| row.readers)) {
        let rows = arrivals.iter().filter(|row| row.readers == readers);
        let tails: Vec<_> = rows.map(|row| (row.peer.as_str(), row.p99)).collect();
        text += &better(&format!("arrivals, p99 ns, readers: {readers}"), &tails);
    }
    text
}

/// Who needs fewer bytes.
fn lost_bytes(rows: &[BytesRow]) -> String {
    let means = rows.chunk_by(|a, b| a.peer == b.peer);
    let means: Vec<_> = means
        .map(|steps| (steps[0].peer.as_str(), rounded(bytes::mean(steps))))
        .collect();
    better("bytes an entry", &means)
}

/// A line for each of our maps that somebody undercuts.
fn better(what: &str, costs: &[(&str, f64)]) -> String {
    let mut text = String::new();
    for (subject, own) in costs.iter().filter(|(name, _)| SUBJECTS.contains(name)) {
        let better = costs
            .iter()
            .filter(|(name, cost)| !SUBJECTS.contains(name) && cost < own);
        let better: Vec<_> = better
            .map(|(name, cost)| format!("{name} {cost}"))
            .collect();
        if !better.is_empty() {
            _ = writeln!(
                text,
                "* {what}: `{subject}` {own}; better: {}",
                better.join(", ")
            );
        }
    }
    text
}

fn growth_table(rows: &[GrowthRow]) -> String {
    if rows.is_empty() {
        return String::new();
    }
    let names = [
        "",
        "operation",
        "p50 ns",
        "p99",
        "p99.9",
        "max",
        "p99.9 × final",
        "(quartiles)",
    ];
    let mut text = header(&names);
    for case in unique(rows.iter().map(|row| row.case.as_str())) {
        for line in rows.iter().filter(|row| row.case == case) {
            let quartiles = line.times_final_p25.zip(line.times_final_p75);
            text += &row([
                line.peer.clone(),
                line.case.clone(),
                line.p50.to_string(),
                line.p99.to_string(),
                line.p999.to_string(),
                line.max.to_string(),
                line.times_final
                    .map_or_else(String::new, |x| format!("{x:.2}")),
                quartiles.map_or_else(String::new, |(low, high)| format!("{low:.2}–{high:.2}")),
            ]);
        }
    }
    text
}

fn arrivals_table(rows: &[ArrivalsRow]) -> String {
    if rows.is_empty() {
        return String::new();
    }
    let names = [
        "",
        "readers",
        "p50 ns",
        "p99",
        "p99.9",
        "max",
        "service p99",
        "million reads/s",
    ];
    let mut text = header(&names);
    for line in rows {
        let note = if line.oversubscribed {
            " (oversubscribed)"
        } else {
            ""
        };
        text += &row([
            line.peer.clone(),
            format!("{}{note}", line.readers),
            line.p50.to_string(),
            line.p99.to_string(),
            line.p999.to_string(),
            line.max.to_string(),
            line.service_p99.to_string(),
            format!("{:.2}", line.reads_per_second / 1e6),
        ]);
    }
    text
}

fn bytes_table(rows: &[BytesRow]) -> String {
    if rows.is_empty() {
        return String::new();
    }
    let mut text = header(&["bytes an entry", "mean", "least", "most"]);
    for steps in rows.chunk_by(|a, b| a.peer == b.peer) {
        let bytes = || steps.iter().map(|row| row.bytes_an_entry);
        text += &row([
            steps[0].peer.clone(),
            format!("{:.1}", bytes::mean(steps)),
            format!("{:.1}", bytes().fold(f64::INFINITY, f64::min)),
            format!("{:.1}", bytes().fold(0.0, f64::max)),
        ]);
    }
    text
}

fn maps_table(rows: &[MapsRow]) -> String {
    if rows.is_empty() {
        return String::new();
    }
    let names = [
        "",
        "entries each",
        "bytes a map",
        "ns a map",
        "bytes left after all are dropped",
    ];
    let mut text = header(&names);
    for line in rows {
        text += &row([
            line.peer.clone(),
            line.entries_a_map.to_string(),
            format!("{:.0}", line.bytes_a_map),
            format!("{:.0}", line.ns_a_map),
            line.bytes_left.to_string(),
        ]);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::replace;

    #[test]
    fn sections_are_replaced() {
        let text = "a\n<!-- begin x -->\nold\n<!-- end x -->\nb\n";
        let new = replace(text, "x", "new\n").expect("the marks are there");
        assert_eq!(new, "a\n<!-- begin x -->\n\nnew\n\n<!-- end x -->\nb\n");
        assert_eq!(replace(&new, "x", "new\n").expect("still there"), new);
        assert!(replace(text, "y", "").is_err());
    }
}
