//! `NullsHashMap` against `std::collections::HashMap`.

mod step;

use core::borrow::Borrow;
use core::hash::{Hash, Hasher};
use std::collections::{HashMap, HashSet};

use arbitrary::Arbitrary;
use nulls::{Compute, Growth, InsertError, NullsHashMap, NullsHashMapRef, Operation, Pin};

use self::step::Step;
use crate::Input;
use crate::counted::{Counted, Id, audit, next_id};
use crate::quality::Quality;
use crate::setup::{Setup, steps};
use crate::then::Then;
use crate::walk::Walk;

type Map = NullsHashMap<Key, Counted, Quality>;
type View<'m, G> = NullsHashMapRef<'m, Key, Counted, Quality, G>;

/// Equal by number, and found by it.
#[derive(Clone, Debug)]
struct Key {
    number: u16,
    instance: Counted,
}

impl PartialEq for Key {
    fn eq(&self, other: &Self) -> bool {
        self.instance.id();
        other.instance.id();
        self.number == other.number
    }
}

impl Eq for Key {}

impl Hash for Key {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.number.hash(state);
    }
}

impl Borrow<u16> for Key {
    fn borrow(&self) -> &u16 {
        &self.number
    }
}

/// Which instances an entry consists of: all that the model knows of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Entry {
    key: Id,
    value: Id,
}

impl Entry {
    fn of((key, value): (&Key, &Counted)) -> Self {
        Self {
            key: key.instance.id(),
            value: value.id(),
        }
    }
}

fn key(number: u16) -> Key {
    let instance = Counted::new();
    Key { number, instance }
}

/// The input of the target `map`.
#[derive(Arbitrary, Debug)]
pub struct MapInput {
    setup: Setup,
    #[arbitrary(with = steps)]
    steps: Vec<Step>,
}

impl Input for MapInput {
    fn run(self) {
        audit(|| self.play());
    }
}

impl MapInput {
    fn play(self) {
        let setup = &self.setup;
        let collector = setup.collector();
        let mut builder = NullsHashMap::builder()
            .hasher(setup.quality)
            .shift(setup.shift())
            .growth(setup.growth())
            .capacity(setup.capacity());
        if let Some(collector) = &collector {
            builder = builder.collector(collector.clone());
        }
        let map: Map = builder.build();
        let mut model = HashMap::new();
        let mut steps = setup.affordable(self.steps, |step| step.touches_all());
        if let Some(collector) = collector {
            let mut guard = collector.guard();
            while section(setup, &map, &map.with_guard(&guard), &mut model, &mut steps) {
                guard.flush();
                guard.refresh();
            }
        } else {
            while section(setup, &map, &map.pin(), &mut model, &mut steps) {}
        }
    }
}

/// Takes steps up to the end of a read section; returns whether there may be more.
fn section<'v, G: Pin>(
    setup: &'v Setup,
    map: &'v Map,
    view: &'v View<'_, G>,
    model: &'v mut HashMap<u16, Entry>,
    steps: &mut impl Iterator<Item = Step>,
) -> bool {
    let mut section = Section {
        setup,
        map,
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
        assert_eq!(map.len(), section.model.len());
        assert_eq!(map.is_empty(), section.model.is_empty());
    }
    section.end();
    more
}

struct Section<'v, 'm, G> {
    setup: &'v Setup,
    map: &'v Map,
    view: &'v View<'m, G>,
    model: &'v mut HashMap<u16, Entry>,
    /// Values that the table gave out: all stay as they are up to the end of the section.
    held: Vec<(&'v Counted, Id)>,
    walk: Option<Walk<'v>>,
}

impl<'v, G: Pin> Section<'v, '_, G> {
    fn step(&mut self, step: Step) {
        let setup = self.setup;
        match step {
            Step::Get(key) => self.get(setup.key(key)),
            Step::Insert(key) => self.insert(setup.key(key)),
            Step::TryInsert(key) => self.try_insert(setup.key(key)),
            Step::GetOrInsert(key) => self.get_or_insert(setup.key(key)),
            Step::GetOrInsertWith { key, meddle } => {
                self.get_or_insert_with(setup.key(key), meddle);
            }
            Step::Update { key, meddle } => self.update(setup.key(key), meddle),
            Step::Compute { key, then, meddle } => self.compute(setup.key(key), then, meddle),
            Step::Replace(key) => self.replace(setup.key(key)),
            Step::Remove(key) => self.remove(setup.key(key)),
            Step::RemoveEntry(key) => self.remove_entry(setup.key(key)),
            Step::RemoveIf {
                key,
                accept,
                meddle,
            } => {
                self.remove_if(setup.key(key), accept, meddle);
            }
            Step::Retain { modulus, least } => self.retain(u16::from(modulus).max(1), least),
            Step::Clear => self.clear(),
            Step::Extend { first, count } => self.extend(setup.run(first, count)),
            Step::RemoveMany { first, count } => {
                setup
                    .run(first, count)
                    .for_each(|number| self.remove(number));
            }
            Step::Reserve(more) => self.reserve(8 * usize::from(more)),
            Step::Iterate => self.iterate(),
            Step::Walk(steps) => self.walk(steps.into()),
            Step::Clone => self.clone_map(),
            Step::Refresh => unreachable!("ends the section"),
        }
    }

    fn end(mut self) {
        if self.walk.is_some() {
            self.walk(usize::MAX);
        }
        for (value, id) in &self.held {
            assert_eq!(
                value.id(),
                *id,
                "a value has changed while it could be read"
            );
        }
        self.iterate();
        (0..self.setup.keys()).for_each(|key| self.get(key));
        assert_eq!(self.map.stats().entries, self.model.len());
    }

    /// The answer has to be this instance, which is looked at again when the section ends.
    #[track_caller]
    fn expect(&mut self, found: Option<&'v Counted>, expected: Option<Entry>) {
        assert_eq!(found.map(Counted::id), expected.map(|entry| entry.value));
        self.held.extend(found.map(|value| (value, value.id())));
    }

    #[track_caller]
    fn expect_entry(&mut self, found: Option<(&'v Key, &'v Counted)>, expected: Option<Entry>) {
        assert_eq!(found.map(Entry::of), expected);
        self.expect(found.map(|(_, value)| value), expected);
    }

    fn get(&mut self, number: u16) {
        let expected = self.model.get(&number).copied();
        self.expect(self.view.get(&number), expected);
        assert_eq!(self.view.get_key_value(&number).map(Entry::of), expected);
        assert_eq!(self.view.contains_key(&number), expected.is_some());
    }

    fn insert(&mut self, number: u16) {
        let (key, value) = (key(number), Counted::new());
        let expected = self.model.insert(number, Entry::of((&key, &value)));
        self.expect(self.view.insert(key, value), expected);
    }

    fn try_insert(&mut self, number: u16) {
        let (key, value) = (key(number), Counted::new());
        let new = Entry::of((&key, &value));
        let expected = *self.model.entry(number).or_insert(new);
        match self.view.try_insert(key, value) {
            Ok(value) => {
                assert_eq!(new, expected, "one is there");
                self.expect(Some(value), Some(new));
            }
            Err(InsertError::Occupied((key, value), found)) => {
                assert_eq!(Entry::of((&key, &value)), new, "what comes back");
                assert_ne!(new, expected, "none is there");
                self.expect(Some(found), Some(expected));
            }
            Err(error) => panic!("{error}"),
        }
    }

    fn get_or_insert(&mut self, number: u16) {
        let (key, value) = (key(number), Counted::new());
        let expected = *self
            .model
            .entry(number)
            .or_insert(Entry::of((&key, &value)));
        self.expect(Some(self.view.get_or_insert(key, value)), Some(expected));
    }

    fn get_or_insert_with(&mut self, number: u16, meddle: bool) {
        let key = key(number);
        let key_id = key.instance.id();
        let mut meddler = Meddler::new(self.view, number, meddle);
        let mut made = None;
        let found = self.view.get_or_insert_with(key, || {
            meddler.meddle();
            let value = Counted::new();
            made = Some(Entry {
                key: key_id,
                value: value.id(),
            });
            value
        });
        let new = meddler.put.or(made);
        let expected = self.model.get(&number).copied().or(new);
        assert_eq!(
            made.is_some(),
            !self.model.contains_key(&number),
            "whether it was made"
        );
        self.model.extend(expected.map(|entry| (number, entry)));
        self.expect(Some(found), expected);
    }

    fn update(&mut self, number: u16, meddle: bool) {
        let key = key(number);
        let key_id = key.instance.id();
        let mut meddler = Meddler::new(self.view, number, meddle);
        let mut seen = Vec::new();
        let mut made = None;
        let found = self.view.update(key, |value| {
            seen.push(value.id());
            meddler.meddle();
            let value = Counted::new();
            made = Some(Entry {
                key: key_id,
                value: value.id(),
            });
            value
        });
        let old = self.model.get(&number).copied();
        let runs: Vec<Id> = old
            .into_iter()
            .chain(meddler.put)
            .map(|entry| entry.value)
            .collect();
        assert_eq!(seen, runs, "what the closure saw");
        assert_eq!(made.is_some(), old.is_some());
        self.model.extend(made.map(|entry| (number, entry)));
        self.expect(found, made);
    }

    fn compute(&mut self, number: u16, then: Then, meddle: bool) {
        let key = key(number);
        let key_id = key.instance.id();
        let mut meddler = Meddler::new(self.view, number, meddle);
        let mut seen = Vec::new();
        let mut made = None;
        let done = self.view.compute(key, |found| {
            seen.push(found.map(Counted::id));
            meddler.meddle();
            match then {
                Then::Abort => Operation::Abort,
                Then::Remove => Operation::Remove,
                Then::Insert => {
                    let value = Counted::new();
                    made = Some(Entry {
                        key: key_id,
                        value: value.id(),
                    });
                    Operation::Insert(value)
                }
            }
        });
        let mut old = self.model.get(&number).copied();
        let mut runs = vec![old.map(|entry| entry.value)];
        if let Some(put) = meddler.put {
            self.model.insert(number, put);
            // Nothing to do is an answer of the moment it was asked; anything else begins again.
            let nothing = matches!((then, old), (Then::Abort, _) | (Then::Remove, None));
            if !nothing {
                old = Some(put);
                runs.push(Some(put.value));
            }
        }
        assert_eq!(seen, runs, "what the closure saw");
        match (then, old, done) {
            (Then::Insert, None, Compute::Inserted(k, v)) => self.expect_entry(Some((k, v)), made),
            (Then::Insert, Some(_), Compute::Updated { old: was, new }) => {
                self.expect_entry(Some(was), old);
                self.expect_entry(Some(new), made);
            }
            (Then::Remove, Some(_), Compute::Removed(k, v)) => {
                self.expect_entry(Some((k, v)), old);
                self.model.remove(&number);
            }
            (Then::Abort, _, Compute::Aborted) | (Then::Remove, None, Compute::Aborted) => {}
            (then, old, done) => panic!("{then:?} of {old:?} gave {done:?}"),
        }
        self.model.extend(made.map(|entry| (number, entry)));
    }

    fn replace(&mut self, number: u16) {
        let (key, value) = (key(number), Counted::new());
        let new = Entry::of((&key, &value));
        match (self.view.replace(key, value), self.model.get_mut(&number)) {
            (Ok(old), Some(entry)) => {
                let expected = core::mem::replace(entry, new);
                self.expect(Some(old), Some(expected));
            }
            (Err((key, value)), None) => assert_eq!(Entry::of((&key, &value)), new),
            (result, expected) => panic!("replace gave {result:?}, there was {expected:?}"),
        }
    }

    fn remove(&mut self, number: u16) {
        let expected = self.model.remove(&number);
        self.expect(self.view.remove(&number), expected);
    }

    fn remove_entry(&mut self, number: u16) {
        let expected = self.model.remove(&number);
        self.expect_entry(self.view.remove_entry(&number), expected);
    }

    fn remove_if(&mut self, number: u16, accept: bool, meddle: bool) {
        let mut meddler = Meddler::new(self.view, number, meddle);
        let mut seen = Vec::new();
        let result = self.view.remove_if(&number, |key, value| {
            seen.push(Entry::of((key, value)));
            meddler.meddle();
            accept
        });
        let old = self.model.get(&number).copied();
        let put = meddler.put;
        self.model.extend(put.map(|entry| (number, entry)));
        match result {
            Ok(found) => {
                let runs: Vec<Entry> = old.into_iter().chain(put).collect();
                assert_eq!(seen, runs, "what the closure saw");
                assert!(accept || old.is_none());
                self.expect_entry(found, runs.last().copied());
                self.model.remove(&number);
            }
            Err(entry) => {
                assert!(!accept);
                assert_eq!(seen, [Entry::of(entry)]);
                self.expect_entry(Some(entry), old);
            }
        }
    }

    fn retain(&mut self, modulus: u16, least: u8) {
        let keep = |number: u16| number % modulus >= least.into();
        let mut seen = HashMap::new();
        self.view.retain(|key, value| {
            let twice = seen.insert(key.number, Entry::of((key, value)));
            assert_eq!(twice, None, "an entry is looked at twice");
            keep(key.number)
        });
        assert_eq!(seen, *self.model, "what the closure saw");
        self.model.retain(|&number, _| keep(number));
    }

    fn clear(&mut self) {
        self.view.clear();
        self.model.clear();
    }

    fn extend(&mut self, numbers: impl Iterator<Item = u16>) {
        let entries: Vec<_> = numbers
            .map(|number| (key(number), Counted::new()))
            .collect();
        let known = entries
            .iter()
            .map(|(key, value)| (key.number, Entry::of((key, value))));
        self.model.extend(known);
        let mut map = self.map;
        map.extend(entries);
    }

    fn reserve(&mut self, more: usize) {
        self.map.reserve(more);
        if self.setup.growth() == Growth::Auto {
            assert!(self.map.capacity() >= self.model.len() + more);
        }
    }

    fn iterate(&mut self) {
        let mut seen = HashMap::new();
        for (key, value) in self.view {
            let twice = seen.insert(key.number, Entry::of((key, value)));
            assert_eq!(twice, None, "an entry is met twice");
        }
        assert_eq!(seen, *self.model);
        let keys: HashSet<Id> = self.view.keys().map(|key| key.instance.id()).collect();
        assert_eq!(keys, self.model.values().map(|entry| entry.key).collect());
        let values: HashSet<Id> = self.view.values().map(Counted::id).collect();
        assert_eq!(values, values_of(self.model));
    }

    fn walk(&mut self, steps: usize) {
        let mut walk = self.walk.take().unwrap_or_else(|| {
            let values = self.view.values().map(Counted::id);
            Walk::new(values, values_of(self.model), next_id())
        });
        if walk.go_on(steps, || values_of(self.model)) {
            self.walk = Some(walk);
        }
    }

    fn clone_map(&mut self) {
        let clone = self.map.clone();
        assert_eq!(clone, *self.map);
        let view = clone.pin();
        assert_eq!(clone.len(), self.model.len());
        for (key, value) in &view {
            let (original, copy) = (self.model[&key.number], Entry::of((key, value)));
            assert_eq!(value.origin(), original.value);
            assert_ne!(copy.key, original.key);
            assert_ne!(copy.value, original.value);
        }
        if let Some(&number) = self.model.keys().next() {
            view.remove(&number);
            assert_ne!(clone, *self.map);
        }
    }
}

fn values_of(model: &HashMap<u16, Entry>) -> HashSet<Id> {
    model.values().map(|entry| entry.value).collect()
}

/// Puts another entry under a key, once, while an operation on that key is under way.
struct Meddler<'v, 'm, G> {
    view: &'v View<'m, G>,
    number: u16,
    meddle: bool,
    put: Option<Entry>,
}

impl<'v, 'm, G: Pin> Meddler<'v, 'm, G> {
    fn new(view: &'v View<'m, G>, number: u16, meddle: bool) -> Self {
        Self {
            view,
            number,
            meddle,
            put: None,
        }
    }

    fn meddle(&mut self) {
        if self.meddle && self.put.is_none() {
            let (key, value) = (key(self.number), Counted::new());
            self.put = Some(Entry::of((&key, &value)));
            self.view.insert(key, value);
        }
    }
}
