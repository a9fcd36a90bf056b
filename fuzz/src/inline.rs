//! `InlineHashMap` against `std::collections::HashMap`, for three sizes of entries.

mod shape;
mod step;

use std::collections::{HashMap, HashSet};

use arbitrary::Arbitrary;
use nulls::{
    Growth, InlineCompute, InlineHashMap, InlineHashMapRef, InsertError, Operation, Pin, Prehashed,
};

use self::shape::{Ledger, LongKey, Shape, Small, Wide};
use self::step::Step;
use crate::Input;
use crate::counted::Id;
use crate::quality::Quality;
use crate::setup::{Setup, steps};
use crate::then::Then;
use crate::walk::Walk;

type Entry<E> = (<E as Shape>::Key, <E as Shape>::Value);
type Map<E> = InlineHashMap<<E as Shape>::Key, <E as Shape>::Value, Quality>;
type View<'m, E, G> = InlineHashMapRef<'m, <E as Shape>::Key, <E as Shape>::Value, Quality, G>;

/// The value under each key's number, by its id.
type Model = HashMap<u16, u32>;

/// The input of the target `inline`.
#[derive(Arbitrary, Debug)]
pub struct InlineInput {
    shape: u8,
    setup: Setup,
    #[arbitrary(with = steps)]
    steps: Vec<Step>,
}

impl Input for InlineInput {
    fn run(self) {
        match self.shape % 3 {
            0 => self.play::<Small>(),
            1 => self.play::<Wide>(),
            _ => self.play::<LongKey>(),
        }
    }
}

impl InlineInput {
    fn play<E: Shape>(self) {
        let setup = &self.setup;
        let collector = setup.collector();
        let mut builder = InlineHashMap::builder()
            .hasher(setup.quality)
            .shift(setup.shift())
            .growth(setup.growth())
            .capacity(setup.capacity());
        if let Some(collector) = &collector {
            builder = builder.collector(collector.clone());
        }
        let map: Map<E> = builder.build();
        let ledger = Ledger::default();
        let mut model = HashMap::new();
        let mut steps = setup.affordable(self.steps, |step| step.touches_all());
        if let Some(collector) = collector {
            let mut guard = collector.guard();
            loop {
                let view = map.with_guard(&guard);
                if !section::<E, _>(setup, &map, &view, &ledger, &mut model, &mut steps) {
                    break;
                }
                guard.flush();
                guard.refresh();
            }
        } else {
            while section::<E, _>(setup, &map, &map.pin(), &ledger, &mut model, &mut steps) {}
        }
    }
}

/// Takes steps up to the end of a read section; returns whether there may be more.
fn section<'v, E: Shape, G: Pin>(
    setup: &'v Setup,
    map: &'v Map<E>,
    view: &'v View<'_, E, G>,
    ledger: &'v Ledger,
    model: &'v mut Model,
    steps: &mut impl Iterator<Item = Step>,
) -> bool {
    let mut section = Section::<E, G> {
        setup,
        map,
        view,
        ledger,
        model,
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

struct Section<'v, 'm, E: Shape, G> {
    setup: &'v Setup,
    map: &'v Map<E>,
    view: &'v View<'m, E, G>,
    ledger: &'v Ledger,
    model: &'v mut Model,
    walk: Option<Walk<'v>>,
}

impl<E: Shape, G: Pin> Section<'_, '_, E, G> {
    fn step(&mut self, step: Step) {
        let setup = self.setup;
        match step {
            Step::Get(key) => self.get(setup.key(key)),
            Step::Insert { key, hashed } => self.insert(setup.key(key), hashed),
            Step::TryInsert(key) => self.try_insert(setup.key(key)),
            Step::TryUpsert(key) => self.try_upsert(setup.key(key)),
            Step::GetOrInsert(key) => self.get_or_insert(setup.key(key)),
            Step::GetOrInsertWith { key, meddle } => {
                self.get_or_insert_with(setup.key(key), meddle);
            }
            Step::Update { key, meddle } => self.update(setup.key(key), meddle),
            Step::Compute { key, then, meddle } => self.compute(setup.key(key), then, meddle),
            Step::Replace(key) => self.replace(setup.key(key)),
            Step::Remove { key, hashed } => self.remove(setup.key(key), hashed),
            Step::RemoveEntry(key) => self.remove_entry(setup.key(key)),
            Step::RemoveIf {
                key,
                accept,
                meddle,
            } => self.remove_if(setup.key(key), accept, meddle),
            Step::Retain { modulus, least } => self.retain(u16::from(modulus).max(1), least),
            Step::Clear => self.clear(),
            Step::Extend { first, count } => self.extend(setup.run(first, count)),
            Step::GetMany {
                first,
                count,
                hashed,
            } => self.get_many(setup.run(first, count), hashed),
            Step::InsertMany {
                first,
                count,
                hashed,
            } => self.insert_many(setup.run(first, count), hashed),
            Step::RemoveMany {
                first,
                count,
                hashed,
            } => self.remove_many(setup.run(first, count), hashed),
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
        self.iterate();
        (0..self.setup.keys()).for_each(|key| self.get(key));
        assert_eq!(self.map.stats().entries, self.model.len());
    }

    /// A new value for the key of this number, and the one that it has.
    fn make(&self, number: u16) -> (u32, Option<u32>) {
        let old = self.model.get(&number).copied();
        (self.ledger.make(number, old), old)
    }

    fn hash(&self, number: u16) -> Prehashed<Quality> {
        self.map.hash_key(&E::key(number))
    }

    fn get(&self, number: u16) {
        let expected = self.model.get(&number).copied();
        let (key, hash) = (E::key(number), self.hash(number));
        assert_eq!(self.view.get(&key).map(E::id), expected);
        assert_eq!(self.view.get_hashed(hash, &key).map(E::id), expected);
        let found = self.view.get_key_value(&key);
        let found = found.map(|(key, value)| self.ledger.entry::<E>(key, value));
        assert_eq!(found, expected.map(|id| (number, id)));
        assert_eq!(self.view.contains_key(&key), expected.is_some());
        assert_eq!(self.view.contains_hashed(hash, &key), expected.is_some());
    }

    fn insert(&mut self, number: u16, hashed: bool) {
        let (new, old) = self.make(number);
        let (key, value) = (E::key(number), E::value(new));
        let replaced = if hashed {
            self.view.insert_hashed(self.hash(number), key, value)
        } else {
            self.view.insert(key, value)
        };
        assert_eq!(replaced.map(E::id), old);
        self.model.insert(number, new);
    }

    fn try_insert(&mut self, number: u16) {
        let new = self.ledger.make(number, None);
        let (key, value) = (E::key(number), E::value(new));
        match (self.view.try_insert(key, value), self.model.get(&number)) {
            (Ok(()), None) => {
                self.model.insert(number, new);
            }
            (Err(InsertError::Occupied(back, found)), Some(&old)) => {
                assert_eq!((back, E::id(found)), ((key, value), old));
            }
            (result, expected) => panic!("try_insert gave {result:?}, there was {expected:?}"),
        }
    }

    fn try_upsert(&mut self, number: u16) {
        let (new, old) = self.make(number);
        let replaced = self.view.try_upsert(E::key(number), E::value(new));
        assert_eq!(replaced.map(|old| old.map(E::id)), Ok(old));
        self.model.insert(number, new);
    }

    fn get_or_insert(&mut self, number: u16) {
        let new = self.ledger.make(number, None);
        let expected = *self.model.entry(number).or_insert(new);
        let found = self.view.get_or_insert(E::key(number), E::value(new));
        assert_eq!(E::id(found), expected);
    }

    fn get_or_insert_with(&mut self, number: u16, meddle: bool) {
        let mut meddler = Meddler::<E, G>::new(self, number, meddle);
        let mut made = None;
        let found = self.view.get_or_insert_with(E::key(number), || {
            meddler.meddle();
            let id = self.ledger.make(number, None);
            made = Some(id);
            E::value(id)
        });
        let old = self.model.get(&number).copied();
        assert_eq!(made.is_some(), old.is_none(), "whether it was made");
        let expected = old.or(meddler.put).or(made);
        assert_eq!(Some(E::id(found)), expected);
        self.model.extend(expected.map(|id| (number, id)));
    }

    fn update(&mut self, number: u16, meddle: bool) {
        let mut meddler = Meddler::<E, G>::new(self, number, meddle);
        let (mut seen, mut made) = (Vec::new(), None);
        let found = self.view.update(E::key(number), |&value| {
            let old = E::id(value);
            seen.push(old);
            meddler.meddle();
            let id = self.ledger.make(number, Some(old));
            made = Some(id);
            E::value(id)
        });
        let old = self.model.get(&number).copied();
        let runs: Vec<_> = old.into_iter().chain(meddler.put).collect();
        assert_eq!(seen, runs, "what the closure saw");
        assert_eq!(found.map(E::id), made);
        self.model.extend(made.map(|id| (number, id)));
    }

    fn compute(&mut self, number: u16, then: Then, meddle: bool) {
        let mut meddler = Meddler::<E, G>::new(self, number, meddle);
        let (mut seen, mut made) = (Vec::new(), None);
        let done = self.view.compute(E::key(number), |found| {
            let old = found.map(|&value| E::id(value));
            seen.push(old);
            meddler.meddle();
            match then {
                Then::Abort => Operation::Abort,
                Then::Remove => Operation::Remove,
                Then::Insert => {
                    let id = self.ledger.make(number, old);
                    made = Some(id);
                    Operation::Insert(E::value(id))
                }
            }
        });
        let mut old = self.model.get(&number).copied();
        let mut runs = vec![old];
        if let Some(put) = meddler.put {
            self.model.insert(number, put);
            // Nothing to do is an answer of the moment it was asked; anything else begins again.
            let nothing = matches!((then, old), (Then::Abort, _) | (Then::Remove, None));
            if !nothing {
                old = Some(put);
                runs.push(old);
            }
        }
        assert_eq!(seen, runs, "what the closure saw");
        let expected = match (then, old, made) {
            (Then::Insert, None, Some(new)) => InlineCompute::Inserted(E::value(new)),
            (Then::Insert, Some(old), Some(new)) => InlineCompute::Updated {
                old: E::value(old),
                new: E::value(new),
            },
            (Then::Remove, Some(old), None) => {
                self.model.remove(&number);
                InlineCompute::Removed(E::value(old))
            }
            _ => InlineCompute::Aborted,
        };
        assert_eq!(done, expected);
        self.model.extend(made.map(|id| (number, id)));
    }

    fn replace(&mut self, number: u16) {
        let (new, old) = self.make(number);
        let (key, value) = (E::key(number), E::value(new));
        let replaced = self.view.replace(key, value);
        assert_eq!(replaced, old.map(E::value).ok_or((key, value)));
        self.model.extend(old.map(|_| (number, new)));
    }

    fn remove(&mut self, number: u16, hashed: bool) {
        let key = E::key(number);
        let removed = if hashed {
            self.view.remove_hashed(self.hash(number), &key)
        } else {
            self.view.remove(&key)
        };
        assert_eq!(removed.map(E::id), self.model.remove(&number));
    }

    fn remove_entry(&mut self, number: u16) {
        let removed = self.view.remove_entry(&E::key(number));
        let removed = removed.map(|(key, value)| self.ledger.entry::<E>(key, value));
        let expected = self.model.remove(&number);
        assert_eq!(removed, expected.map(|id| (number, id)));
    }

    fn remove_if(&mut self, number: u16, accept: bool, meddle: bool) {
        let mut meddler = Meddler::<E, G>::new(self, number, meddle);
        let mut seen = Vec::new();
        let result = self.view.remove_if(&E::key(number), |&key, &value| {
            seen.push(self.ledger.entry::<E>(key, value));
            meddler.meddle();
            accept
        });
        let old = self.model.get(&number).copied();
        let put = meddler.put;
        self.model.extend(put.map(|id| (number, id)));
        let entry = |id| (E::key(number), E::value(id));
        let expected = match old {
            None => Ok(None),
            Some(old) if !accept => Err(entry(old)),
            Some(_) => Ok(self.model.remove(&number).map(entry)),
        };
        assert_eq!(result, expected);
        let runs = old.into_iter().chain(put.filter(|_| accept));
        assert!(
            seen.into_iter().eq(runs.map(|id| (number, id))),
            "what the closure saw"
        );
    }

    fn retain(&mut self, modulus: u16, least: u8) {
        let keep = |number: u16| number % modulus >= least.into();
        let mut seen = HashMap::new();
        self.view.retain(|&key, &value| {
            let (number, id) = self.ledger.entry::<E>(key, value);
            let twice = seen.insert(number, id);
            assert_eq!(twice, None, "an entry is looked at twice");
            keep(number)
        });
        assert_eq!(seen, *self.model, "what the closure saw");
        self.model.retain(|&number, _| keep(number));
    }

    fn clear(&mut self) {
        self.view.clear();
        self.model.clear();
    }

    /// New values for these keys, put into the model; and how many keys were absent.
    fn make_many(&mut self, numbers: impl Iterator<Item = u16>) -> (Vec<Entry<E>>, usize) {
        let before = self.model.len();
        let entries = numbers.map(|number| {
            let (new, _) = self.make(number);
            self.model.insert(number, new);
            (E::key(number), E::value(new))
        });
        let entries = entries.collect();
        (entries, self.model.len() - before)
    }

    fn extend(&mut self, numbers: impl Iterator<Item = u16>) {
        let (entries, _) = self.make_many(numbers);
        let mut map = self.map;
        map.extend(entries);
    }

    fn get_many(&mut self, numbers: impl Iterator<Item = u16>, hashed: bool) {
        let numbers: Vec<_> = numbers.collect();
        let keys: Vec<_> = numbers.iter().map(|&number| E::key(number)).collect();
        // What is in `out` before is overwritten, with `None` too.
        let mut out = vec![Some(E::value(u32::MAX)); keys.len()];
        if hashed {
            let in_hand: Vec<_> = numbers.iter().map(|&number| self.hash(number)).collect();
            self.view.get_many_hashed_into(&in_hand, &keys, &mut out);
        } else {
            self.view.get_many_into(&keys, &mut out);
        }
        let expected = numbers.iter().map(|number| self.model.get(number).copied());
        assert!(expected.eq(out.iter().map(|found| found.map(E::id))));
        if let [a, .., b] = &keys[..] {
            let found = self.view.get_many([a, b, a]);
            assert_eq!(found, [out[0], out[out.len() - 1], out[0]]);
        }
    }

    fn insert_many(&mut self, numbers: impl Iterator<Item = u16>, hashed: bool) {
        let (entries, absent) = self.make_many(numbers);
        let inserted = if hashed {
            let hash = |(key, value)| (self.map.hash_key(&key), key, value);
            self.view.insert_many_hashed(entries.into_iter().map(hash))
        } else {
            self.view.insert_many(entries)
        };
        assert_eq!(inserted, absent);
    }

    fn remove_many(&mut self, numbers: impl Iterator<Item = u16>, hashed: bool) {
        let numbers: Vec<_> = numbers.collect();
        let keys: Vec<_> = numbers.iter().map(|&number| E::key(number)).collect();
        let removed = if hashed {
            let in_hand: Vec<_> = numbers.iter().map(|&number| self.hash(number)).collect();
            self.view.remove_many_hashed(&in_hand, &keys)
        } else {
            self.view.remove_many(&keys)
        };
        let there = numbers
            .iter()
            .filter_map(|number| self.model.remove(number));
        assert_eq!(removed, there.count());
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
            let (number, id) = self.ledger.entry::<E>(key, value);
            let twice = seen.insert(number, id);
            assert_eq!(twice, None, "an entry is met twice");
        }
        assert_eq!(seen, *self.model);
        let keys: Vec<_> = self.view.keys().map(E::number).collect();
        let values: Vec<_> = self.view.values().map(E::id).collect();
        assert_eq!((keys.len(), values.len()), (seen.len(), seen.len()));
        assert_eq!(keys.into_iter().zip(values).collect::<Model>(), seen);
    }

    /// Entries, which are told by their first values, are met once each.
    fn walk(&mut self, steps: usize) {
        let (ledger, view) = (self.ledger, self.view);
        let mut walk = self.walk.take().unwrap_or_else(|| {
            let entries = view.iter().map(|(key, value)| {
                let (_, id) = ledger.entry::<E>(key, value);
                ledger.birth(id)
            });
            Walk::new(entries, self.births(), ledger.next_id())
        });
        if walk.go_on(steps, || self.births()) {
            self.walk = Some(walk);
        }
    }

    fn births(&self) -> HashSet<Id> {
        let ids = self.model.values();
        ids.map(|&id| self.ledger.birth(id)).collect()
    }

    fn clone_map(&mut self) {
        let clone = self.map.clone();
        assert_eq!(clone, *self.map);
        assert_eq!(clone.len(), self.model.len());
        let view = clone.pin();
        for (key, value) in &view {
            assert_eq!(self.model[&E::number(key)], E::id(value));
        }
        if let Some(&number) = self.model.keys().next() {
            view.remove(&E::key(number));
            assert_ne!(clone, *self.map);
        }
    }
}

/// Puts another value under a key, once, while an operation on that key is under way.
struct Meddler<'v, 'm, E: Shape, G> {
    view: &'v View<'m, E, G>,
    ledger: &'v Ledger,
    number: u16,
    old: Option<u32>,
    meddle: bool,
    put: Option<u32>,
}

impl<'v, 'm, E: Shape, G: Pin> Meddler<'v, 'm, E, G> {
    fn new(section: &Section<'v, 'm, E, G>, number: u16, meddle: bool) -> Self {
        Self {
            view: section.view,
            ledger: section.ledger,
            number,
            old: section.model.get(&number).copied(),
            meddle,
            put: None,
        }
    }

    fn meddle(&mut self) {
        if self.meddle && self.put.is_none() {
            let id = self.ledger.make(self.number, self.old);
            self.put = Some(id);
            let replaced = self.view.insert(E::key(self.number), E::value(id));
            assert_eq!(replaced.map(E::id), self.old);
        }
    }
}
