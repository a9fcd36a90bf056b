//! Whatever two threads do with one key, their answers are those of a plain map in some order.
//!
//! Each thread's own order is kept, and what is there at the end counts as one more answer. (Loom
//! lets a load return an older value than the last one stored unless something orders the two, so
//! the order of the clock means nothing here.)
#![cfg(nulls_loom)]

use nulls_loom_tests::{Map, MapView, Model, both};

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
    fn on_map(self, m: &MapView<'_>) -> Value {
        match self {
            Get => m.get(KEY),
            Insert(value) => m.try_insert(KEY, value).err(),
            Put(value) => m.put(KEY, value),
            Remove => m.remove(KEY),
        }
    }

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
fn history(
    first: Value,
    a: [Operation; 2],
    b: [Operation; 2],
) -> impl Fn() + Send + Sync + 'static {
    move || {
        let m = Map::new();
        if let Some(value) = first {
            m.pin().put(KEY, value);
        }
        let run = |script: [Operation; 2]| {
            move |m: &Map| {
                let m = m.pin();
                script.map(|operation| (operation, operation.on_map(&m)))
            }
        };
        let (a, b) = both(&m, run(a), run(b));
        let last = m.pin().get(KEY);
        assert!(
            explained(first, &a, &b, last),
            "{first:?}: {a:?} beside {b:?}, then {last:?}"
        );
    }
}

/// Every pair of operations beside each of four.
fn histories(first: Value) -> impl Iterator<Item = impl Fn() + Send + Sync + 'static> {
    let any = |value| [Get, Insert(value), Put(value), Remove];
    let beside = [
        [Get, Get],
        [Put(3), Get],
        [Remove, Insert(4)],
        [Insert(3), Remove],
    ];
    any(1).into_iter().flat_map(move |x| {
        any(2)
            .into_iter()
            .flat_map(move |y| beside.map(|b| history(first, [x, y], b)))
    })
}

#[test]
fn answers_are_those_of_a_plain_map_when_the_key_is_absent_at_first() {
    Model::preemptions(1).check_all(histories(None));
}

#[test]
fn answers_are_those_of_a_plain_map_when_the_key_is_there_at_first() {
    Model::preemptions(1).check_all(histories(Some(0)));
}
