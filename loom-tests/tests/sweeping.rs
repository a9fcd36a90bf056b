//! Iteration, `retain` and `clear` while the table grows and lines are recycled.
#![cfg(nulls_loom)]

use nulls_loom_tests::{Model, Table, both, model};

fn migrating() -> Table {
    Table::growing(1).with([0, 1, 2])
}

/// A sweep that began with the newest array would remove an entry there before *moved* says that it
/// is there.
#[test]
fn p15_clear_enters_by_the_root() {
    Model::preemptions(1).check(|| {
        let clear = |t: &Table| {
            t.pin().clear();
            let t = t.pin();
            assert_eq!([0, 1, 2].map(|key| t.get(key)), [None; 3]);
        };
        let t = migrating();
        both(&t, |t| t.pin().insert(3, 3), clear);
        assert!([[].as_slice(), &[3]].contains(&t.pin().keys().as_slice()));
    });
}

#[test]
fn p15_retain_enters_by_the_root() {
    Model::preemptions(1).check(|| {
        let retain = |t: &Table| {
            t.pin().retain(|key| key != 1);
            assert_eq!(t.pin().get(1), None);
        };
        let t = migrating();
        both(&t, |t| t.pin().insert(3, 3), retain);
        assert_eq!(t.pin().keys(), [0, 2, 3]);
    });
}

#[test]
fn iteration_meets_every_entry_once_while_the_table_grows() {
    Model::preemptions(1).check(|| {
        let (_, keys) = both(&migrating(), |t| t.pin().insert(3, 3), |t| t.pin().keys());
        assert!(
            [[0, 1, 2].as_slice(), &[0, 1, 2, 3]].contains(&keys.as_slice()),
            "{keys:?}"
        );
    });
}

/// The walk stands on X, which goes to another bucket.
fn give_x_away(t: &Table) {
    let t = t.pin();
    t.remove(8);
    t.insert(5, 5);
}

/// A chain of home, X and P, and a full bucket beside it.
fn chain_to_be_carried_off_from() -> Table {
    Table::fixed(2)
        .with([0, 2, 4, 6, 8])
        .without([2, 6])
        .with([1, 3])
}

#[test]
fn iteration_meets_every_entry_once_though_it_is_carried_off() {
    Model::preemptions(1).check(|| {
        let t = chain_to_be_carried_off_from();
        let (_, mut keys) = both(&t, give_x_away, |t| t.pin().keys());
        keys.retain(|key| ![5, 8].contains(key));
        assert_eq!(keys, [0, 1, 3, 4]);
    });
}

#[test]
fn iteration_of_a_hash_meets_its_entry_once_though_it_is_carried_off() {
    model(|| {
        let t = chain_to_be_carried_off_from();
        let (_, times) = both(&t, give_x_away, |t| t.pin().count(4));
        assert_eq!(times, 1);
    });
}

/// The walk stands on X, which leaves the chain and comes back before P.
fn take_x_back(t: &Table) {
    let t = t.pin();
    t.remove(2);
    for key in [5, 6, 7] {
        t.insert(key, key);
    }
}

/// A chain of home, P and X.
fn chain_with_a_line_to_be_met_twice() -> Table {
    Table::fixed(1).with([0, 1, 2, 3, 4]).without([1, 3])
}

#[test]
fn iteration_meets_every_entry_once_though_it_meets_a_line_twice() {
    Model::preemptions(1).check(|| {
        let t = chain_with_a_line_to_be_met_twice();
        let (_, keys) = both(&t, take_x_back, |t| t.pin().keys());
        let times = |wanted| keys.iter().filter(|&&key| key == wanted).count();
        assert_eq!([0, 4].map(times), [1, 1], "{keys:?}");
        assert!([2, 5, 6, 7].map(times).iter().all(|&n| n <= 1), "{keys:?}");
    });
}

#[test]
fn iteration_of_a_hash_meets_its_entry_once_though_it_meets_a_line_twice() {
    Model::preemptions(1).check(|| {
        let t = chain_with_a_line_to_be_met_twice();
        let (_, times) = both(&t, take_x_back, |t| t.pin().count(4));
        assert_eq!(times, 1);
    });
}
