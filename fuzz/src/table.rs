//! `NullsHashTable`, which may hold equal entries, against the set of its entries.

use core::hash::BuildHasher;
use std::collections::{HashMap, HashSet};

use arbitrary::{Arbitrary, Result, Unstructured};
use nulls::{Growth, InsertError, NullsHashTable, NullsHashTableRef, Pin};

use crate::Input;
use crate::counted::{Counted, Id, audit, next_id};
use crate::setup::{Setup, steps};
use crate::walk::Walk;

type Table = NullsHashTable<Item>;
type View<'m, G> = NullsHashTableRef<'m, Item, G>;

/// An entry. Its hash is that of its number; entries of one number are of four kinds, so that some
/// differ in nothing but the instance.
#[derive(Debug)]
struct Item {
    known: Known,
    instance: Counted,
}

/// What the model knows of an entry beside its instance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Known {
    number: u16,
    kind: u8,
}

impl Item {
    fn new(number: u16, kind: u8) -> Self {
        let instance = Counted::new();
        let kind = kind % 4;
        let known = Known { number, kind };
        Self { known, instance }
    }

    fn id(&self) -> Id {
        self.instance.id()
    }

    fn known(&self) -> Known {
        self.instance.id();
        self.known
    }
}

/// Which entries an equality test accepts: those of a number, of one kind or of all.
#[derive(Clone, Copy, Debug)]
struct Pick {
    number: u16,
    kind: Option<u8>,
}

impl Pick {
    fn all(number: u16) -> Self {
        Self { number, kind: None }
    }

    fn accepts(self, known: Known) -> bool {
        known.number == self.number && self.kind.is_none_or(|kind| known.kind == kind)
    }
}

/// The input of the target `table`.
#[derive(Arbitrary, Debug)]
pub struct TableInput {
    setup: Setup,
    #[arbitrary(with = steps)]
    steps: Vec<Step>,
}

/// One operation. Where there is a `kind`, an equality test accepts but that; from 4 on, all.
#[derive(Clone, Copy, Debug)]
enum Step {
    Insert {
        key: u8,
        new: u8,
    },
    TryInsert {
        key: u8,
        kind: u8,
        new: u8,
    },
    Find {
        key: u8,
        kind: u8,
    },
    IterHash(u8),
    MaybeContains(u8),
    Replace {
        key: u8,
        kind: u8,
        new: u8,
    },
    Remove {
        key: u8,
        kind: u8,
    },
    InsertMany {
        first: u8,
        count: u8,
    },
    RemoveMany {
        first: u8,
        count: u8,
    },
    /// Keeps the entries whose number is at least `least` modulo `modulus`.
    Retain {
        modulus: u8,
        least: u8,
    },
    Clear,
    Reserve(u8),
    Iterate,
    /// Begins an iteration or goes on with the one begun.
    Walk(u8),
    /// Ends the read section and begins another.
    Refresh,
}

impl Step {
    fn touches_all(self) -> bool {
        matches!(
            self,
            Self::InsertMany { .. }
                | Self::RemoveMany { .. }
                | Self::Retain { .. }
                | Self::Clear
                | Self::Iterate
                | Self::Walk(_)
                | Self::Refresh
        )
    }
}

impl Arbitrary<'_> for Step {
    #[rustfmt::skip]
    fn arbitrary(u: &mut Unstructured<'_>) -> Result<Self> {
        Ok(match u.int_in_range(0..=14)? {
            0 => Self::Insert { key: u.arbitrary()?, new: u.arbitrary()? },
            1 => Self::TryInsert { key: u.arbitrary()?, kind: u.arbitrary()?, new: u.arbitrary()? },
            2 => Self::Find { key: u.arbitrary()?, kind: u.arbitrary()? },
            3 => Self::IterHash(u.arbitrary()?),
            4 => Self::MaybeContains(u.arbitrary()?),
            5 => Self::Replace { key: u.arbitrary()?, kind: u.arbitrary()?, new: u.arbitrary()? },
            6 => Self::Remove { key: u.arbitrary()?, kind: u.arbitrary()? },
            7 => Self::InsertMany { first: u.arbitrary()?, count: u.arbitrary()? },
            8 => Self::RemoveMany { first: u.arbitrary()?, count: u.arbitrary()? },
            9 => Self::Retain { modulus: u.arbitrary()?, least: u.arbitrary()? },
            10 => Self::Clear,
            11 => Self::Reserve(u.arbitrary()?),
            12 => Self::Iterate,
            13 => Self::Walk(u.arbitrary()?),
            _ => Self::Refresh,
        })
    }
}

impl Input for TableInput {
    fn run(self) {
        audit(|| self.play());
    }
}

impl TableInput {
    fn play(self) {
        let setup = &self.setup;
        let collector = setup.collector();
        let mut builder = NullsHashTable::builder()
            .shift(setup.shift())
            .growth(setup.growth())
            .capacity(setup.capacity());
        if let Some(collector) = &collector {
            builder = builder.collector(collector.clone());
        }
        let table = builder.build();
        let mut model = HashMap::new();
        let mut steps = setup.affordable(self.steps, |step| step.touches_all());
        if let Some(collector) = collector {
            let mut guard = collector.guard();
            while section(
                setup,
                &table,
                &table.with_guard(&guard),
                &mut model,
                &mut steps,
            ) {
                guard.flush();
                guard.refresh();
            }
        } else {
            while section(setup, &table, &table.pin(), &mut model, &mut steps) {}
        }
    }
}

/// Takes steps up to the end of a read section; returns whether there may be more.
fn section<'v, G: Pin>(
    setup: &'v Setup,
    table: &'v Table,
    view: &'v View<'_, G>,
    model: &'v mut HashMap<Id, Known>,
    steps: &mut impl Iterator<Item = Step>,
) -> bool {
    let mut section = Section {
        setup,
        table,
        view,
        model,
        held: Vec::new(),
        walk: None,
    };
    let mut more = false;
    for step in steps {
        if matches!(step, Step::Refresh) {
            more = true;
            break;
        }
        section.step(step);
        assert_eq!(table.len(), section.model.len());
        assert_eq!(table.is_empty(), section.model.is_empty());
    }
    section.end();
    more
}

struct Section<'v, 'm, G> {
    setup: &'v Setup,
    table: &'v Table,
    view: &'v View<'m, G>,
    model: &'v mut HashMap<Id, Known>,
    /// Entries that the table gave out: all stay as they are up to the end of the section.
    held: Vec<(&'v Item, Id)>,
    walk: Option<Walk<'v>>,
}

impl<'v, G: Pin> Section<'v, '_, G> {
    fn step(&mut self, step: Step) {
        let setup = self.setup;
        match step {
            Step::Insert { key, new } => self.insert(setup.key(key), new),
            Step::TryInsert { key, kind, new } => self.try_insert(self.pick(key, kind), new),
            Step::Find { key, kind } => self.find(self.pick(key, kind)),
            Step::IterHash(key) => self.iter_hash(setup.key(key)),
            Step::MaybeContains(key) => self.maybe_contains(setup.key(key)),
            Step::Replace { key, kind, new } => self.replace(self.pick(key, kind), new),
            Step::Remove { key, kind } => self.remove(self.pick(key, kind)),
            Step::InsertMany { first, count } => {
                setup
                    .run(first, count)
                    .for_each(|number| self.insert(number, first));
            }
            Step::RemoveMany { first, count } => {
                setup
                    .run(first, count)
                    .for_each(|number| self.remove(Pick::all(number)));
            }
            Step::Retain { modulus, least } => self.retain(u16::from(modulus).max(1), least),
            Step::Clear => self.clear(),
            Step::Reserve(more) => self.reserve(8 * usize::from(more)),
            Step::Iterate => self.iterate(),
            Step::Walk(steps) => self.walk(steps.into()),
            Step::Refresh => unreachable!("ends the section"),
        }
    }

    fn end(mut self) {
        if self.walk.is_some() {
            self.walk(usize::MAX);
        }
        for (item, id) in &self.held {
            assert_eq!(
                item.id(),
                *id,
                "an entry has changed while it could be read"
            );
        }
        self.iterate();
        for number in 0..self.setup.keys() {
            self.find(Pick::all(number));
            self.maybe_contains(number);
        }
        assert_eq!(self.table.stats().entries, self.model.len());
    }

    fn pick(&self, key: u8, kind: u8) -> Pick {
        let (number, kind) = (self.setup.key(key), kind % 8);
        let kind = (kind < 4).then_some(kind);
        Pick { number, kind }
    }

    fn hash(&self, number: u16) -> u64 {
        self.setup.quality.hash_one(number)
    }

    /// The answer has to be one of those that `pick` accepts, or none if there is none. Returns which.
    #[track_caller]
    fn expect(&mut self, found: Option<&'v Item>, pick: Pick) -> Option<Id> {
        let Some(item) = found else {
            let missed = self.model.iter().find(|(_, known)| pick.accepts(**known));
            assert_eq!(missed, None, "{pick:?} is not found");
            return None;
        };
        let id = item.id();
        assert!(pick.accepts(item.known()), "{item:?} is not {pick:?}");
        assert_eq!(
            self.model.get(&id),
            Some(&item.known()),
            "an entry that is gone"
        );
        self.held.push((item, id));
        Some(id)
    }

    fn insert(&mut self, number: u16, kind: u8) {
        // Duplicates have no bound of their own, and chains of thousands take too long.
        if self.model.len() >= 4 * usize::from(self.setup.keys()) {
            return;
        }
        let item = Item::new(number, kind);
        let (id, known) = (item.id(), item.known());
        let inserted = self.view.insert(self.hash(number), item);
        assert_eq!(inserted.id(), id);
        self.held.push((inserted, id));
        self.model.insert(id, known);
    }

    fn try_insert(&mut self, pick: Pick, kind: u8) {
        let item = Item::new(pick.number, kind);
        let (id, known) = (item.id(), item.known());
        let accept = |item: &Item| pick.accepts(item.known());
        match self.view.try_insert(self.hash(pick.number), item, accept) {
            Ok(inserted) => {
                self.expect(None, pick);
                assert_eq!(inserted.id(), id);
                self.model.insert(id, known);
            }
            Err(InsertError::Occupied(item, found)) => {
                assert_eq!(item.id(), id, "what comes back");
                self.expect(Some(found), pick);
            }
            Err(error) => panic!("{error}"),
        }
    }

    fn find(&mut self, pick: Pick) {
        let accept = |item: &Item| pick.accepts(item.known());
        let found = self.view.find(self.hash(pick.number), accept);
        self.expect(found, pick);
    }

    /// All entries of the hash, once each; others must at least be in the table.
    fn iter_hash(&mut self, number: u16) {
        let mut met = HashSet::new();
        for item in self.view.iter_hash(self.hash(number)) {
            assert!(met.insert(item.id()), "{item:?} is met twice");
            assert_eq!(self.model.get(&item.id()), Some(&item.known()));
        }
        for (id, known) in &*self.model {
            let same_hash = self.hash(known.number) == self.hash(number);
            assert!(!same_hash || met.contains(id), "{known:?} is not met");
        }
    }

    fn maybe_contains(&mut self, number: u16) {
        if !self.view.maybe_contains(self.hash(number)) {
            self.expect(None, Pick::all(number));
        }
    }

    fn replace(&mut self, pick: Pick, kind: u8) {
        let item = Item::new(pick.number, kind);
        let (id, known) = (item.id(), item.known());
        let accept = |item: &Item| pick.accepts(item.known());
        match self.view.replace(self.hash(pick.number), accept, item) {
            Ok(old) => {
                let old = self.expect(Some(old), pick).expect("one was given");
                self.model.remove(&old);
                self.model.insert(id, known);
            }
            Err(item) => {
                assert_eq!(item.id(), id, "what comes back");
                self.expect(None, pick);
            }
        }
    }

    fn remove(&mut self, pick: Pick) {
        let accept = |item: &Item| pick.accepts(item.known());
        let removed = self.view.remove(self.hash(pick.number), accept);
        if let Some(id) = self.expect(removed, pick) {
            self.model.remove(&id);
        }
    }

    fn clear(&mut self) {
        self.view.clear();
        self.model.clear();
    }

    fn retain(&mut self, modulus: u16, least: u8) {
        let keep = |number: u16| number % modulus >= least.into();
        let mut seen = HashMap::new();
        self.view.retain(|item| {
            let twice = seen.insert(item.id(), item.known());
            assert_eq!(twice, None, "an entry is looked at twice");
            keep(item.known.number)
        });
        assert_eq!(seen, *self.model, "what the closure saw");
        self.model.retain(|_, known| keep(known.number));
    }

    fn reserve(&mut self, more: usize) {
        self.table.reserve(more);
        if self.setup.growth() == Growth::Auto {
            assert!(self.table.capacity() >= self.model.len() + more);
        }
    }

    fn iterate(&mut self) {
        let mut seen = HashMap::new();
        for item in self.view {
            let twice = seen.insert(item.id(), item.known());
            assert_eq!(twice, None, "an entry is met twice");
        }
        assert_eq!(seen, *self.model);
    }

    fn walk(&mut self, steps: usize) {
        let now = || self.model.keys().copied().collect();
        let mut walk = self
            .walk
            .take()
            .unwrap_or_else(|| Walk::new(self.view.iter().map(Item::id), now(), next_id()));
        if walk.go_on(steps, now) {
            self.walk = Some(walk);
        }
    }
}
