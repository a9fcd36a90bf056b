//! Operations drawn at random: the workloads of parlayhash and YCSB.

use anyhow::{Result, ensure};

use crate::adapters::{Session, Table};
use crate::contest::{Tally, Work};
use crate::workloads::{PIN_EVERY, key, value};
use crate::zipf;

/// Parts in a hundred. What is missing to a hundred is look-ups.
#[derive(Clone, Copy, Debug, Default)]
pub struct Shares {
    /// Insertions that leave a present key alone.
    pub add: u8,
    pub remove: u8,
    /// Blind writes: the old value does not matter.
    pub put: u8,
    /// Read-modify-write by the peer's own call.
    pub update: u8,
}

/// Which keys there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Universe {
    /// The entries' own: every look-up finds its key, and nothing is added or removed.
    Entries,
    /// Twice as many, of which the table holds half: every second look-up misses.
    TwiceTheEntries,
}

/// What a [`Mixture`] is made of.
#[derive(Clone, Copy, Debug)]
pub struct Recipe {
    pub entries: usize,
    pub universe: Universe,
    pub shares: Shares,
    /// Whether keys follow [`zipf`]'s law, instead of being equally frequent.
    pub skewed: bool,
    pub threads: usize,
    /// Operations that each thread makes in a round.
    pub ops: usize,
}

/// Random operations on random keys. They are drawn anew before each round (outside the measured time, the
/// same for all tables), since a stream that repeats would find its own additions still there.
pub struct Mixture {
    recipe: Recipe,
    /// One a thread.
    streams: Vec<Vec<(Operation, u64)>>,
    /// How many [`Operation::Update`] have been drawn in all.
    updates: u64,
}

#[derive(Clone, Copy)]
enum Operation {
    Get,
    Add,
    Remove,
    Put,
    Update,
}

impl Mixture {
    pub fn new(recipe: Recipe) -> Self {
        Self {
            recipe,
            streams: Vec::new(),
            updates: 0,
        }
    }
}

impl Recipe {
    /// Which of [`key`]'s keys has a rank. The first `entries` keys are in the table at the beginning;
    /// of twice as many, each second rank is, so that frequent and rare keys are there alike.
    fn key_of(&self, rank: usize) -> u64 {
        key(match self.universe {
            Universe::Entries => rank,
            Universe::TwiceTheEntries => rank / 2 + rank % 2 * self.entries,
        })
    }

    fn keys(&self) -> usize {
        match self.universe {
            Universe::Entries => self.entries,
            Universe::TwiceTheEntries => 2 * self.entries,
        }
    }

    fn draw(&self, seed: u64) -> Vec<(Operation, u64)> {
        let mut rng = fastrand::Rng::with_seed(seed);
        let deck = self.shares.deck();
        let mut pick = {
            let mut rng = rng.fork();
            move || deck[rng.usize(..deck.len())]
        };
        let keys = self.keys();
        if self.skewed {
            let ranks = zipf::ranks(keys, seed);
            ranks
                .take(self.ops)
                .map(|rank| (pick(), self.key_of(rank)))
                .collect()
        } else {
            (0..self.ops)
                .map(|_| (pick(), self.key_of(rng.usize(..keys))))
                .collect()
        }
    }
}

impl Shares {
    /// A hundred operations.
    fn deck(self) -> Vec<Operation> {
        let writes = [
            (Operation::Add, self.add),
            (Operation::Remove, self.remove),
            (Operation::Put, self.put),
            (Operation::Update, self.update),
        ];
        let mut deck = vec![Operation::Get; 100];
        let mut rest = deck.iter_mut();
        for (operation, share) in writes {
            rest.by_ref()
                .take(usize::from(share))
                .for_each(|card| *card = operation);
        }
        deck
    }
}

impl Work for Mixture {
    fn threads(&self) -> usize {
        self.recipe.threads
    }

    fn ops(&self) -> usize {
        self.recipe.ops
    }

    fn only_reads(&self) -> bool {
        let Shares {
            add,
            remove,
            put,
            update,
        } = self.recipe.shares;
        [add, remove, put, update] == [0; 4]
    }

    fn only_hits(&self) -> bool {
        self.only_reads() && self.recipe.universe == Universe::Entries
    }

    fn prepare(&mut self, round: usize) {
        let seeds =
            (0..self.recipe.threads).map(|thread| key(round * self.recipe.threads + thread));
        self.streams = seeds.map(|seed| self.recipe.draw(seed)).collect();
        let steps = self.streams.iter().flatten();
        let updates = steps.filter(|(operation, _)| matches!(operation, Operation::Update));
        self.updates += updates.count() as u64;
    }

    fn run(&self, table: &impl Table, thread: usize, _round: usize) -> Tally {
        let mut tally = Tally::default();
        for steps in self.streams[thread].chunks(PIN_EVERY) {
            let session = table.pin();
            for &(operation, key) in steps {
                step(&session, operation, key, &mut tally);
            }
        }
        tally
    }

    /// In a universe of entries nothing may be missed; in the other one it cannot be known.
    fn verify(&self, _thread: usize, _round: usize, tally: &Tally, may_miss: bool) -> Result<u64> {
        ensure!(
            tally.wrong == 0,
            "{} values that nobody stored",
            tally.wrong
        );
        if self.recipe.universe == Universe::TwiceTheEntries {
            return Ok(0);
        }
        let missed = self.recipe.ops as u64 - tally.good;
        ensure!(missed == 0 || may_miss, "{missed} present keys missed");
        Ok(missed)
    }

    fn verify_contents(&self, table: &impl Table, _rounds: usize, grown: i64) -> Result<()> {
        let session = table.pin();
        let (mut found, mut updates) = (0, 0_u64);
        for key in (0..self.recipe.keys()).map(|rank| self.recipe.key_of(rank)) {
            if let Some(now) = session.get(&key) {
                found += 1;
                updates = updates.wrapping_add(now.wrapping_sub(value(key)));
            }
        }
        let expected = i64::try_from(self.recipe.entries)? + grown;
        ensure!(found == expected, "{found} entries instead of {expected}");
        ensure!(
            updates == self.updates,
            "{updates} updates instead of {}",
            self.updates
        );
        Ok(())
    }
}

#[inline]
fn step(session: &impl Session, operation: Operation, key: u64, tally: &mut Tally) {
    match operation {
        Operation::Get => {
            if let Some(now) = session.get(&key) {
                tally.good += 1;
                // Updates add one each: there are not as many as this.
                tally.wrong += u64::from(now.wrapping_sub(value(key)) > 1 << 40);
            }
        }
        Operation::Add => tally.grown += i64::from(session.add(key, value(key))),
        Operation::Remove => tally.grown -= i64::from(session.remove(&key)),
        Operation::Put => tally.good += u64::from(!session.put(key, value(key))),
        Operation::Update => tally.good += u64::from(session.update(key)),
    }
}
