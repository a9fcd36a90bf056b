//! Throughput: one cell after the other, all tables in each.

use anyhow::Result;
use nulls_benches::adapters::{OneLine, Papaya, Role, Table, TwoLines, Visitor, for_each_table};
use nulls_benches::contest::{self, Contender, Work};
use nulls_benches::progress::Progress;
use nulls_benches::score::{self, Cell, Duel};

use crate::options::Options;

/// A cell, and how its work is made: only when its turn comes, since keys take memory.
pub(crate) struct Plan<W> {
    pub(crate) cell: Cell,
    pub(crate) make: Box<dyn Fn() -> W>,
}

/// Measures, prints and records.
pub(crate) fn command<W: Work>(options: &Options, plans: Vec<Plan<W>>) -> Result<()> {
    measure(options, plans).map(|_| ())
}

/// Cells of one size follow each other, those that only read first: they share the filled tables.
pub(crate) fn measure<W: Work>(options: &Options, mut plans: Vec<Plan<W>>) -> Result<Vec<Duel>> {
    plans.retain(|plan| options.wants(&plan.cell.name()));
    let rounds = options.rounds(3, 21);
    let cells = plans.len();
    let mut progress = Progress::new();
    let mut duels = Vec::new();
    let mut unchanged: Option<Lineup<'_, W>> = None;
    for (at, Plan { cell, make }) in plans.into_iter().enumerate() {
        let name = cell.name();
        let mut tell =
            |what: &str| progress.tell(|| format!("cell {} of {cells}, {name}: {what}", at + 1));
        tell("filling tables");
        let mut work = make();
        // The old tables are dropped before new ones are made: memory is for one size at a time.
        let lineup = match unchanged.take().filter(|lineup| lineup.serves(&cell)) {
            Some(lineup) => lineup,
            None => Lineup::new(options, cell.clone(), work.only_hits())?,
        };
        let contenders: Vec<_> = lineup.for_work(&work).collect();
        let timings = contest::run(&mut work, &contenders, rounds, |round| {
            tell(&format!("round {round} of {rounds}"));
        })?;
        score::print(&name, Papaya::NAME, &score::scores(&timings));
        duels.extend(Duel::all(&cell, &timings));
        options.write(&duels)?;
        unchanged = Some(lineup).filter(|_| work.only_reads());
    }
    Ok(duels)
}

/// Tables of one size and form, filled.
struct Lineup<'a, W> {
    options: &'a Options,
    cell: Cell,
    contenders: Vec<Contender<W>>,
}

impl<'a, W: Work> Lineup<'a, W> {
    fn new(options: &'a Options, cell: Cell, with_floors: bool) -> Result<Self> {
        let mut lineup = Self {
            options,
            cell,
            contenders: Vec::new(),
        };
        for_each_table(&mut lineup)?;
        if with_floors {
            lineup.add(OneLine::with_capacity(lineup.cell.entries))?;
            lineup.add(TwoLines::with_capacity(lineup.cell.entries))?;
        }
        Ok(lineup)
    }

    fn add<T: Table>(&mut self, table: T) -> Result<()> {
        self.contenders
            .push(Contender::new(T::NAME, table, self.cell.entries)?);
        Ok(())
    }

    fn serves(&self, cell: &Cell) -> bool {
        (self.cell.entries, self.cell.presized) == (cell.entries, cell.presized)
    }

    /// All, but floors only where they can give the answers.
    fn for_work(&self, work: &W) -> impl Iterator<Item = &Contender<W>> {
        let floors = work.only_hits();
        self.contenders
            .iter()
            .filter(move |contender| floors || Role::of(contender.name()) != Role::Floor)
    }
}

impl<W: Work> Visitor for Lineup<'_, W> {
    fn visit<T: Table>(&mut self) -> Result<()> {
        if !self.options.wants_table(T::NAME) {
            return Ok(());
        }
        let capacity = if self.cell.presized {
            self.cell.entries
        } else {
            0
        };
        self.add(T::with_capacity(capacity))
    }
}
