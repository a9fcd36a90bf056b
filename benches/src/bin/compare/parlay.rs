//! The grid of parlayhash's benchmark (<https://github.com/cmuparlay/parlayhash>): a small and a large table, 0, 10
//! and 50 per cent updates of which half insert and half remove, keys equally frequent or at zipf 0.99, out of
//! twice as many as there are entries. So half of the look-ups miss, and half of the updates change nothing.

use nulls_benches::mixture::{Mixture, Recipe, Shares, Universe};
use nulls_benches::score::Cell;

use crate::cells::Plan;
use crate::options::Options;

const UPDATES: [u8; 3] = [0, 10, 50];

pub(crate) fn plans(options: &Options) -> Vec<Plan<Mixture>> {
    let sizes: &[usize] = options.by_scale(&[1_000], &[10_000, 500_000], &[10_000, 10_000_000]);
    let mut plans = Vec::new();
    for &entries in sizes {
        // Reads first, of both kinds: they share tables.
        for updates in UPDATES {
            for skewed in [false, true] {
                for threads in [1, 2] {
                    plans.push(plan(options, entries, updates, skewed, threads));
                }
            }
        }
    }
    plans
}

fn plan(
    options: &Options,
    entries: usize,
    updates: u8,
    skewed: bool,
    threads: usize,
) -> Plan<Mixture> {
    let recipe = Recipe {
        entries,
        universe: Universe::TwiceTheEntries,
        shares: Shares {
            add: updates / 2,
            remove: updates / 2,
            ..Shares::default()
        },
        skewed,
        threads,
        ops: options.ops(threads),
    };
    let skew = if skewed { "zipf" } else { "uniform" };
    Plan {
        cell: Cell {
            workload: format!("parlay-{updates}-{skew}"),
            entries,
            threads,
            presized: true,
        },
        make: Box::new(move || Mixture::new(recipe)),
    }
}
