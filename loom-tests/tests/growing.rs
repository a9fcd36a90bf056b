//! I7 one-home: what look-ups, insertions and removals meet while buckets move to a larger array.
//!
//! `Table::growing(1).with([0, 1, 2])` has a migration from one bucket to two under way, with
//! nothing moved yet; so has `TWO_BUCKETS` from two to four. The next writing call moves a bucket
//! before it does anything else.
#![cfg(nulls_loom)]

use nulls_loom_tests::{Model, Table, both, model, three};

/// 0 and 2 in a home line, 4 and 6 behind it; 1 in the other bucket.
const TWO_BUCKETS: [u64; 5] = [0, 2, 4, 1, 6];

#[test]
fn migrations_are_under_way_as_described() {
    model(|| {
        for (t, buckets) in [
            (Table::growing(1).with([0, 1, 2]), 1),
            (Table::growing(2).with(TWO_BUCKETS), 2),
        ] {
            assert!(t.stats().migrating);
            for key in (5..).take(buckets) {
                assert_eq!(t.stats().buckets, buckets);
                t.pin().insert(key, key);
            }
            assert!(!t.stats().migrating);
            assert_eq!(t.stats().buckets, 2 * buckets);
        }
    });
}

#[test]
fn i7_a_moving_bucket_is_looked_up() {
    model(|| {
        let t = Table::growing(1).with([0, 1, 2]);
        let (_, found) = both(
            &t,
            |t| t.pin().insert(3, 3),
            |t| {
                let t = t.pin();
                [0, 1, 2].map(|key| t.get(key))
            },
        );
        assert_eq!(found, [Some(0), Some(1), Some(2)]);
    });
}

#[test]
fn i7_an_entry_is_removed_while_its_bucket_moves() {
    model(|| {
        let t = Table::growing(1).with([0, 1, 2]);
        let remove = |t: &Table| {
            let t = t.pin();
            assert_eq!(t.remove(2), Some(2));
            assert_eq!(t.get(2), None);
        };
        both(&t, |t| t.pin().insert(3, 3), remove);
        assert_eq!(t.pin().keys(), [0, 1, 3]);
    });
}

#[test]
fn i7_entries_are_inserted_while_their_bucket_moves() {
    model(|| {
        let t = Table::growing(1).with([0, 1, 2]);
        let insert = |key| move |t: &Table| t.pin().insert(key, key);
        both(&t, insert(3), insert(4));
        assert_eq!(t.pin().keys(), [0, 1, 2, 3, 4]);
    });
}

#[test]
fn i7_one_of_two_insertions_of_a_key_succeeds() {
    Model::preemptions(1).check(|| {
        let t = Table::growing(1).with([0, 1, 2]);
        let insert = |value| move |t: &Table| t.pin().try_insert(3, value);
        let results = both(&t, insert(1), insert(2));
        assert!(
            [(Ok(()), Err(1)), (Err(2), Ok(()))].contains(&results),
            "{results:?}"
        );
        assert_eq!(t.pin().keys(), [0, 1, 2, 3]);
    });
}

/// Neither reader nor writer has seen the migration start.
#[test]
fn i7_a_migration_begins_and_ends_under_a_writer() {
    model(|| {
        let t = Table::growing(1).with([0, 1]);
        let grow = |t: &Table| {
            let t = t.pin();
            t.insert(2, 2);
            t.insert(3, 3);
        };
        both(&t, grow, |t| t.pin().insert(4, 4));
        assert_eq!(t.pin().keys(), [0, 1, 2, 3, 4]);
    });
}

/// Each writer moves one of two buckets, and the later one swings the root. The reader enters
/// first, so that nothing but the root tells it what they did.
#[test]
fn i7_the_new_root_has_what_either_mover_moved() {
    Model::preemptions(1).check(|| {
        let look_late = |t: &Table| {
            let t = t.pin();
            loom::thread::yield_now();
            [t.get(0), t.get(1)]
        };
        let insert = |key| move |t: &Table| t.pin().insert(key, key);
        let t = Table::growing(2).with(TWO_BUCKETS);
        let (found, ..) = three(&t, look_late, insert(3), insert(7));
        assert_eq!(found, [Some(0), Some(1)]);
    });
}

/// 0 lies in the home line and 4 behind it. When their bucket has moved, one is removed from the
/// new array and retired; the old lines still show it, to those who came before.
#[test]
fn rule_1_2_a_moved_bucket_has_no_tags_and_no_link() {
    Model::default().check_all([0, 4].map(|key| {
        move || {
            let t = Table::growing(2).with(TWO_BUCKETS);
            let remove = move |t: &Table| t.pin().remove(key);
            let (removed, found) = both(&t, remove, move |t| t.pin().get(key));
            assert_eq!(removed, Some(key));
            assert!([None, Some(key)].contains(&found));
            assert_eq!(t.pin().get(key), None);
        }
    }));
}

#[test]
fn rule_1_3_the_mover_leaves_the_old_slots() {
    model(|| {
        let t = Table::growing(1).with([0, 1, 2]);
        let (_, found) = both(&t, |t| t.pin().insert(3, 3), |t| t.pin().get(2));
        assert_eq!(found, Some(2));
    });
}

/// Room for more is wanted while a migration is under way.
#[test]
fn p16_one_migration_at_a_time() {
    model(|| {
        let t = Table::growing(1).with([0, 1, 2]);
        let (_, found) = both(&t, |t| t.reserve(5), |t| [t.pin().get(0), t.pin().get(1)]);
        assert_eq!(found, [Some(0), Some(1)]);
        assert_eq!(t.pin().keys(), [0, 1, 2]);
        assert_eq!(t.pin().remove(1), Some(1));
        assert_eq!(t.pin().get(1), None);
    });
}

/// The same while another writer moves a bucket too.
#[test]
fn p16_one_migration_at_a_time_with_two_movers() {
    Model::preemptions(1).check(|| {
        let t = Table::growing(1).with([0, 1, 2]);
        both(&t, |t| t.reserve(5), |t| t.pin().insert(3, 3));
        assert_eq!(t.pin().keys(), [0, 1, 2, 3]);
        assert_eq!(t.pin().remove(1), Some(1));
        assert_eq!(t.pin().get(1), None);
    });
}
