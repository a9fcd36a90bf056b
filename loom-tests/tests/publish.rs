//! I1 published-whole: what a reader finds is complete, and brings with it all that the writer did
//! before.
#![cfg(nulls_loom)]

use nulls_loom_tests::{Table, both, brings_the_flag, model};

#[test]
fn i1_published_whole() {
    model(|| {
        let t = Table::fixed(1).with([8]);
        let (_, found) = both(&t, |t| t.pin().insert(0, 7), |t| t.pin().get(0));
        assert!([None, Some(7)].contains(&found), "{found:?}");
    });
}

#[test]
fn i1_published_whole_in_the_place_of_another() {
    model(|| {
        let t = Table::fixed(1).with([0]);
        let (_, found) = both(&t, |t| t.pin().replace(0, 7), |t| t.pin().get(0));
        assert!([Some(0), Some(7)].contains(&found), "{found:?}");
    });
}

/// Collector, array and entry are all made while the reader comes.
#[test]
fn i1_published_whole_in_a_new_table() {
    model(|| {
        let t = Table::new();
        let (_, found) = both(&t, |t| t.pin().insert(0, 7), |t| t.pin().get(0));
        assert!([None, Some(7)].contains(&found), "{found:?}");
    });
}

#[test]
fn i1_two_threads_make_one_table() {
    model(|| {
        let t = Table::new();
        let insert = |key| move |t: &Table| t.pin().insert(key, key);
        both(&t, insert(0), insert(1));
        assert_eq!(t.pin().keys(), [0, 1]);
    });
}

/// The array may be reached by *moved*, by the old array's `next`, or by the root.
#[test]
fn i1_published_whole_in_a_new_array() {
    model(|| {
        let t = Table::growing(1).with([0, 1]);
        let grow = |t: &Table| {
            t.pin().insert(2, 2);
            t.pin().insert(3, 3);
        };
        let (_, found) = both(&t, grow, |t| [t.pin().get(0), t.pin().get(1)]);
        assert_eq!(found, [Some(0), Some(1)]);
    });
}

/// The slot pointer decides: if it were the tag, the reader's first look-up could find the new
/// entry before it is published, and its second could miss it.
#[test]
fn p2_slot_reused_for_the_same_key() {
    model(|| {
        let t = Table::fixed(1).with([0]);
        let reuse = |t: &Table| {
            let t = t.pin();
            t.remove(0);
            t.insert(0, 7);
        };
        let look_twice = |t: &Table| {
            let t = t.pin();
            [t.get(0), t.get(0)]
        };
        let (_, found) = both(&t, reuse, look_twice);
        assert_ne!(found, [Some(7), None]);
        assert_ne!(found, [Some(7), Some(0)]);
        assert_ne!(found, [None, Some(0)]);
    });
}

#[test]
fn i1_an_inserted_entry_brings_what_came_before() {
    brings_the_flag(
        || Table::fixed(1).with([8]),
        |t| t.insert(0, 7),
        |t| t.get(0).is_some(),
    );
}

#[test]
fn i1_a_replaced_entry_brings_what_came_before() {
    brings_the_flag(
        || Table::fixed(1).with([0]),
        |t| assert_eq!(t.replace(0, 7), Some(0)),
        |t| t.get(0) == Some(7),
    );
}

#[test]
fn i1_a_removed_entry_brings_what_came_before() {
    brings_the_flag(
        || Table::fixed(1).with([0]),
        |t| assert_eq!(t.remove(0), Some(0)),
        |t| t.get(0).is_none(),
    );
}

#[test]
fn i1_a_cleared_entry_brings_what_came_before() {
    brings_the_flag(
        || Table::fixed(1).with([0]),
        |t| t.clear(),
        |t| t.get(0).is_none(),
    );
}

#[test]
fn i1_an_entry_removed_from_an_overflow_line_brings_what_came_before() {
    brings_the_flag(
        || Table::fixed(1).with([0, 8, 16]),
        |t| assert_eq!(t.remove(16), Some(16)),
        |t| t.get(16).is_none(),
    );
}
