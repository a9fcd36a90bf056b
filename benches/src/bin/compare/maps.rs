//! Many small maps, as a server that keeps one for each of its tenants or namespaces has them: 10,000 empty ones and
//! 10,000 of one entry. What each takes of the allocator, how long it takes to make, and what stays when all
//! are dropped. Ours are measured as one collector serves all of them, and with one for each.

use std::time::Instant;

use anyhow::{Result, ensure};
use nulls::Collector;
use nulls_benches::adapters::{Nulls, Session, Table, Visitor, for_each_table};
use nulls_benches::counting::count;
use nulls_benches::record::{self, rounded};
use nulls_benches::workloads::{key, value};

use crate::options::Options;
use crate::records::MapsRow as Row;

pub(crate) fn command(options: &Options) -> Result<()> {
    let mut all = All {
        options,
        rows: Vec::new(),
    };
    let collector = Collector::new();
    all.add("nulls, one collector", || {
        Nulls::with_collector(0, collector.clone())
    })?;
    for_each_table(&mut all)?;
    println!(
        "{:<30}{:>14}{:>10}{:>16}",
        "", "bytes a map", "ns a map", "bytes left"
    );
    for row in &all.rows {
        println!(
            "{:<22}{:>2} each{:>15.1}{:>10.0}{:>16}",
            row.peer, row.entries_a_map, row.bytes_a_map, row.ns_a_map, row.bytes_left
        );
    }
    options.write(&all.rows)
}

struct All<'a> {
    options: &'a Options,
    rows: Vec<Row>,
}

impl All<'_> {
    fn add<T: Table>(&mut self, name: &str, make: impl Fn() -> T) -> Result<()> {
        if self.options.wants_table(name) && self.options.wants(name) {
            for entries in [0, 1] {
                let maps = self.options.by_scale(100, 10_000, 10_000);
                self.rows.push(measure(name, maps, entries, &make)?);
            }
        }
        Ok(())
    }
}

impl Visitor for All<'_> {
    fn visit<T: Table>(&mut self) -> Result<()> {
        self.add(T::NAME, || T::with_capacity(0))
    }
}

fn measure<T: Table>(
    name: &str,
    count_of_maps: usize,
    entries: usize,
    make: impl Fn() -> T,
) -> Result<Row> {
    let mut maps = Vec::with_capacity(count_of_maps);
    let (time, bytes, left) = count(|held| {
        let start = Instant::now();
        for _ in 0..count_of_maps {
            let map = make();
            for i in 0..entries {
                ensure!(
                    map.pin().insert(key(i), value(key(i))),
                    "a new key was present"
                );
            }
            maps.push(map);
        }
        let (time, bytes) = (start.elapsed(), held());
        maps.clear();
        Ok((time, bytes, held()))
    })?;
    let each = |all: f64| rounded(all / count_of_maps as f64);
    Ok(Row {
        peer: name.to_owned(),
        peer_version: record::version(T::PACKAGE).to_owned(),
        maps: count_of_maps,
        entries_a_map: entries,
        // The map's own words, too, which lie in the vector here and in their owner elsewhere.
        bytes_a_map: each(bytes as f64) + size_of::<T>() as f64,
        ns_a_map: each(time.as_secs_f64() * 1e9),
        bytes_left: left,
    })
}
