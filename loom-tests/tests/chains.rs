//! I4 marker-names-home and I5 head-insertion: what a reader finds behind a home line while lines
//! are recycled.
//!
//! Bucket 0 is a chain of three lines: its home, X with the entry that goes, and P with a permanent
//! one. Bucket 1 is full, but has no overflow line yet.
#![cfg(nulls_loom)]

use nulls_loom_tests::{Model, Table, both, model, three};

/// In P.
const PERMANENT: u64 = 4;
/// In X, alone: without it X leaves the chain.
const GOING: u64 = 8;

/// Home, X, P: the line that came last is the first behind the home.
fn x_first() -> Table {
    chain([PERMANENT, GOING])
}

/// Home, P, X. (With tail insertion: home, X, P.)
fn x_last() -> Table {
    chain([GOING, PERMANENT])
}

fn chain([first, last]: [u64; 2]) -> Table {
    Table::fixed(2)
        .with([0, 2, first, 6, last])
        .without([2, 6])
        .with([1, 3])
}

/// X leaves for bucket 1.
fn give_x_away(t: &Table) {
    let t = t.pin();
    t.remove(GOING);
    t.insert(5, 5);
}

/// X leaves and comes back, when the other lines have been filled.
fn take_x_back(t: &Table) {
    let t = t.pin();
    t.remove(GOING);
    for key in [2, 6, 10] {
        t.insert(key, key);
    }
}

#[test]
fn the_chain_is_as_described() {
    model(|| {
        let (t, taken_back) = (x_first(), x_first());
        assert_eq!((t.stats().longest_chain, t.stats().linked_buckets), (3, 1));
        t.pin().remove(GOING);
        assert_eq!(t.stats().longest_chain, 2);
        t.pin().insert(5, 5);
        assert_eq!((t.stats().linked_buckets, t.stats().overflow_lines), (2, 2));

        take_x_back(&taken_back);
        assert_eq!(taken_back.stats().longest_chain, 3);
        assert_eq!(taken_back.stats().overflow_lines, 2);
    });
}

fn always_finds_the_permanent_key(chain: fn() -> Table, change: fn(&Table)) -> impl Fn() {
    move || {
        let (_, found) = both(&chain(), change, |t| t.pin().get(PERMANENT));
        assert_eq!(found, Some(PERMANENT));
    }
}

/// The reader may stand on X when it leaves.
#[test]
fn i4_marker_names_home() {
    model(always_finds_the_permanent_key(x_first, give_x_away));
}

/// One thread removes the entry, another takes X for bucket 1, where it is the only overflow line
/// or the first. The reader must learn from the second what the first did, or it would never get
/// past X.
#[test]
fn i4_marker_names_home_with_two_writers() {
    Model::default().check_all([&[][..], &[5, 7]].map(|in_bucket_1| {
        move || {
            let (_, _, found) = three(
                &x_first().with(in_bucket_1.iter().copied()),
                |t| t.pin().remove(GOING),
                |t| t.pin().insert(9, 9),
                |t| t.pin().get(PERMANENT),
            );
            assert_eq!(found, Some(PERMANENT));
        }
    }));
}

/// The reader may stand on X when it leaves and comes back. At the tail it would lead past P.
#[test]
fn i5_head_insertion() {
    Model::default().check_all(
        [x_first, x_last].map(|chain| always_finds_the_permanent_key(chain, take_x_back)),
    );
}

/// X leaves, serves bucket 1 and comes back. The reader may stand on it all the while.
#[test]
fn p10_marker_and_head_insertion() {
    fn lend_x(t: &Table) {
        give_x_away(t);
        let t = t.pin();
        for key in [1, 3, 5] {
            t.remove(key);
        }
        for key in [2, 6, 10] {
            t.insert(key, key);
        }
    }
    Model::preemptions(1)
        .check_all([x_first, x_last].map(|chain| always_finds_the_permanent_key(chain, lend_x)));
}

/// X leaves, and a new entry comes that needs it. Filled before it is linked, it would show the
/// entry to a reader that still stands before it, and to nobody else.
#[test]
fn rule_1_4_a_line_is_linked_empty() {
    model(|| {
        let t = Table::fixed(1).with([0, 1, 2]).without([0, 1]);
        let insert = |t: &Table| {
            let t = t.pin();
            t.remove(2);
            for key in [0, 1, 3] {
                t.insert(key, key);
            }
        };
        let look_twice = |t: &Table| {
            let t = t.pin();
            [t.get(3), t.get(3)]
        };
        let (_, found) = both(&t, insert, look_twice);
        assert_ne!(found, [Some(3), None]);
    });
}

/// All overflow lines leave at once.
#[test]
fn i4_a_bucket_is_cleared_under_a_reader() {
    model(|| {
        let t = Table::fixed(2).with([0, 2, 4, 1, 3]);
        let clear = |t: &Table| {
            t.pin().clear();
            t.pin().insert(1, 1);
        };
        let (_, found) = both(&t, clear, |t| [t.pin().get(4), t.pin().get(4)]);
        assert_ne!(found, [None, Some(4)]);
        assert_eq!(t.pin().keys(), [1]);
    });
}
