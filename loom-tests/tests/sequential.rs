//! Whatever two threads do with one key, their answers are those of a plain map in some order.
//!
//! Each thread's own order is kept, and what is there at the end counts as one more answer. (Loom
//! lets a load return an older value than the last one stored unless something orders the two, so
//! the order of the clock means nothing here.)
#![cfg(nulls_loom)]

use std::hash::Hash;

use nulls_loom_tests::{InlineView, Map, MapView, Model, Numbered, Pin, Split, TwoWords, both};

const KEY: u64 = 0;

/// Every operation answers with the value that it found.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Operation {
    Get,
    Insert(u64),
    Put(u64),
    Remove,
}
use Operation::{Get, Insert, Put, Remove};

type Value = Option<u64>;

impl Operation {
    /// What is there after it.
    fn on_value(self, value: Value) -> Value {
        match self {
            Get => value,
            Insert(new) => value.or(Some(new)),
            Put(new) => Some(new),
            Remove => None,
        }
    }
}

/// A map inside a read section.
trait Answers {
    /// Does it to the map.
    fn answer(&self, operation: Operation) -> Value;
}

impl Answers for MapView<'_> {
    fn answer(&self, operation: Operation) -> Value {
        match operation {
            Get => self.get(KEY),
            Insert(value) => self.try_insert(KEY, value).err(),
            Put(value) => self.put(KEY, value),
            Remove => self.remove(KEY),
        }
    }
}

impl<K: Numbered + Hash + Eq, V: Numbered> Answers for InlineView<'_, K, V> {
    fn answer(&self, operation: Operation) -> Value {
        match operation {
            Get => self.get(KEY),
            Insert(value) => self.try_insert(KEY, value).err(),
            Put(value) => self.put(KEY, value),
            Remove => self.remove(KEY),
        }
    }
}

/// Whether `value` can become `last` by the operations of both threads, with these answers.
fn explained(
    value: Value,
    a: &[(Operation, Value)],
    b: &[(Operation, Value)],
    last: Value,
) -> bool {
    if a.is_empty() && b.is_empty() {
        return value == last;
    }
    let first_of = |a: &[(Operation, Value)], b: &[(Operation, Value)]| match a {
        [(operation, answer), rest @ ..] if *answer == value => {
            explained(operation.on_value(value), rest, b, last)
        }
        _ => false,
    };
    first_of(a, b) || first_of(b, a)
}

/// One model: a map with or without the key, and what each thread does.
fn history<M: Pin>(
    make: fn() -> M,
    first: Value,
    a: [Operation; 2],
    b: [Operation; 2],
) -> impl Fn() + Send + Sync + 'static
where
    for<'a> M::View<'a>: Answers,
{
    move || {
        let m = make();
        if let Some(value) = first {
            m.pin().answer(Put(value));
        }
        let run = |script: [Operation; 2]| {
            move |m: &M| {
                let m = m.pin();
                script.map(|operation| (operation, m.answer(operation)))
            }
        };
        let (a, b) = both(&m, run(a), run(b));
        let last = m.pin().answer(Get);
        assert!(
            explained(first, &a, &b, last),
            "{first:?}: {a:?} beside {b:?}, then {last:?}"
        );
    }
}

/// Every pair of operations on a boxed map, beside each of four.
fn check_boxed(first: Value) {
    let beside = [
        [Get, Get],
        [Put(3), Get],
        [Remove, Insert(4)],
        [Insert(3), Remove],
    ];
    let any = |value| [Get, Insert(value), Put(value), Remove];
    let histories =
        pairs(any(1), any(2)).flat_map(|a| beside.map(|b| history(Map::new, first, a, b)));
    Model::preemptions(1).check_all(histories);
}

/// Fewer on inline maps: those that change an entry or use its slot again.
fn check_inline<M: Pin>(make: fn() -> M)
where
    for<'a> M::View<'a>: Answers,
{
    let beside = [[Get, Get], [Remove, Insert(4)]];
    let histories = pairs([Put(1), Remove], [Insert(2), Put(2), Remove])
        .flat_map(|a| beside.map(|b| history(make, Some(0), a, b)));
    Model::preemptions(1).check_all(histories);
}

fn pairs<const M: usize, const N: usize>(
    first: [Operation; M],
    second: [Operation; N],
) -> impl Iterator<Item = [Operation; 2]> {
    first.into_iter().flat_map(move |x| second.map(|y| [x, y]))
}

#[test]
fn answers_are_those_of_a_plain_map_when_the_key_is_absent_at_first() {
    check_boxed(None);
}

#[test]
fn answers_are_those_of_a_plain_map_when_the_key_is_there_at_first() {
    check_boxed(Some(0));
}

#[test]
fn answers_of_an_inline_map_are_those_of_a_plain_map() {
    check_inline(|| TwoWords::fixed(1));
}

#[test]
fn answers_of_an_inline_map_with_split_values_are_those_of_a_plain_map() {
    check_inline(|| Split::fixed(1));
}
