//! The core workloads of YCSB (Cooper et al., `SoCC` 2010) that a hash table can run: A, half reads and half
//! updates; B, 95 to 5; C, reads; F, half reads and half read-modify-writes. Keys at zipf 0.99, scattered. YCSB's
//! records have 1 KB, these have 8 bytes: the table is measured, not the copying. An update is a blind write; F's is the
//! peer's own call.

use nulls_benches::mixture::{Mixture, Recipe, Shares, Universe};
use nulls_benches::score::Cell;

use crate::cells::Plan;
use crate::options::Options;

/// C first: it only reads.
const WORKLOADS: [(char, Shares); 4] = [
    ('c', writes(0, 0)),
    ('b', writes(5, 0)),
    ('a', writes(50, 0)),
    ('f', writes(0, 50)),
];

const fn writes(put: u8, update: u8) -> Shares {
    Shares {
        add: 0,
        remove: 0,
        put,
        update,
    }
}

pub(crate) fn plans(options: &Options) -> Vec<Plan<Mixture>> {
    let entries = options.by_scale(1_000, 500_000, 2_000_000);
    let mut plans = Vec::new();
    for (letter, shares) in WORKLOADS {
        for threads in [1, 2] {
            let recipe = Recipe {
                entries,
                universe: Universe::Entries,
                shares,
                skewed: true,
                threads,
                ops: options.ops(threads),
            };
            plans.push(Plan {
                cell: Cell {
                    workload: format!("ycsb-{letter}"),
                    entries,
                    threads,
                    presized: false,
                },
                make: Box::new(move || Mixture::new(recipe)),
            });
        }
    }
    plans
}
