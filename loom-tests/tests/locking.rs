//! I3 one-writer-per-bucket: what two threads write to one bucket is all there.
#![cfg(nulls_loom)]

use nulls_loom_tests::{Map, Model, Table, both, model};

/// Of a bucket with a free slot, and of one with a free slot in its overflow line.
#[test]
fn i3_two_insertions_lose_nothing() {
    Model::default().check_all([1, 3].map(|entries| {
        move || {
            let keys = [0, 8, 16].into_iter().take(entries);
            let t = Table::fixed(1).with(keys.clone());
            let insert = |key| move |t: &Table| t.pin().insert(key, key);
            both(&t, insert(24), insert(32));
            assert_eq!(t.pin().keys(), keys.chain([24, 32]).collect::<Vec<_>>());
            assert_eq!(t.len(), entries + 2);
        }
    }));
}

#[test]
fn i3_insertion_and_removal_lose_nothing() {
    model(|| {
        let t = Table::fixed(1).with([0, 8, 16]);
        let (_, removed) = both(&t, |t| t.pin().insert(24, 24), |t| t.pin().remove(16));
        assert_eq!(removed, Some(16));
        assert_eq!(t.pin().keys(), [0, 8, 24]);
    });
}

#[test]
fn i3_one_of_two_insertions_of_a_key_succeeds() {
    model(|| {
        let t = Table::fixed(1).with([8]);
        let insert = |value| move |t: &Table| t.pin().try_insert(0, value);
        let results = both(&t, insert(1), insert(2));
        assert!(
            [(Ok(()), Err(1)), (Err(2), Ok(()))].contains(&results),
            "{results:?}"
        );
        assert_eq!(t.pin().keys(), [0, 8]);
    });
}

#[test]
fn i3_one_of_two_removals_of_a_key_succeeds() {
    model(|| {
        let t = Table::fixed(1).with([0]);
        let remove = |t: &Table| t.pin().remove(0);
        let removed = both(&t, remove, remove);
        assert!(
            [(Some(0), None), (None, Some(0))].contains(&removed),
            "{removed:?}"
        );
        assert!(t.is_empty());
    });
}

#[test]
fn i3_replacement_and_removal_of_a_key_come_one_after_the_other() {
    model(|| {
        let t = Table::fixed(1).with([0]);
        let results = both(&t, |t| t.pin().replace(0, 1), |t| t.pin().remove(0));
        assert!(
            [(Some(0), Some(1)), (None, Some(0))].contains(&results),
            "{results:?}"
        );
        assert_eq!(t.pin().keys(), []);
    });
}

#[test]
fn i3_no_update_is_lost() {
    model(|| {
        let m = Map::new();
        m.pin().put(0, 0);
        let add_one = |m: &Map| m.pin().add_one(0);
        both(&m, add_one, add_one);
        assert_eq!(m.pin().get(0), Some(2));
    });
}

/// Buckets have their own locks, but take their overflow lines from one pool.
#[test]
fn i3_two_buckets_take_and_give_lines() {
    model(|| {
        let t = Table::fixed(2).with([0, 2, 4, 1, 3]).without([0, 2]);
        both(
            &t,
            |t| assert_eq!(t.pin().remove(4), Some(4)),
            |t| t.pin().insert(5, 5),
        );
        assert_eq!(t.pin().keys(), [1, 3, 5]);
    });
}
