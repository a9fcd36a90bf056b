//! The grid of sizes, threads and workloads that papaya, scc and dashmap are usually judged by, and the floors.

use anyhow::Result;
use nulls_benches::score::Cell;
use nulls_benches::workloads::{Script, Workload};

use crate::cells::{self, Plan};
use crate::options::Options;

/// Where tables are far larger than any cache.
pub(crate) const HUGE: usize = 16_000_000;
/// Where they are about as large as the last cache: the only size that is oversubscribed too.
const LARGE: usize = 2_000_000;

pub(crate) fn plans(options: &Options) -> Vec<Plan<Script>> {
    let sizes: &[usize] =
        options.by_scale(&[1_000], &[100_000, LARGE], &[1_000, 100_000, LARGE, HUGE]);
    let forms: &[bool] = options.by_scale(&[false, true], &[false], &[false, true]);
    let mut plans = Vec::new();
    for &entries in sizes {
        for &presized in forms {
            for workload in workloads(options, entries) {
                for &threads in threads(options, entries) {
                    plans.push(plan(options, workload, entries, threads, presized));
                }
            }
        }
    }
    plans
}

/// At the largest size, and in a quick run, only what bounds the rest.
fn workloads(options: &Options, entries: usize) -> Vec<Workload> {
    let mut workloads = Workload::ALL.to_vec();
    if entries == HUGE || (options.quick && entries == LARGE) {
        workloads.retain(|workload| {
            matches!(workload, Workload::Hit | Workload::Miss | Workload::Churn)
        });
    }
    workloads
}

fn threads(options: &Options, entries: usize) -> &'static [usize] {
    if options.quick || entries != LARGE {
        &[1, 2]
    } else {
        &[1, 2, 8]
    }
}

pub(crate) fn plan(
    options: &Options,
    workload: Workload,
    entries: usize,
    threads: usize,
    presized: bool,
) -> Plan<Script> {
    let ops = options.ops(threads);
    Plan {
        cell: Cell {
            workload: workload.name().to_owned(),
            entries,
            threads,
            presized,
        },
        make: Box::new(move || Script::new(workload, entries, threads, ops)),
    }
}

/// The grid's presized hits, of our maps, papaya and the floors.
pub(crate) fn floors(options: &Options) -> Result<()> {
    let mut options = options.clone();
    options.peers = vec!["nulls".to_owned()];
    let mut plans = plans(&Options {
        quick: false,
        ..options.clone()
    });
    plans.retain(|plan| {
        let cell = &plan.cell;
        cell.workload == Workload::Hit.name()
            && cell.presized
            && !cell.oversubscribed()
            && !(options.quick && cell.entries == HUGE)
    });
    cells::command(&options, plans)
}
