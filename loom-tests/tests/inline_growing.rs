//! I7 one-home where entries lie in the line, and what sweeps and updates make of each other.
//!
//! `growing(1).with([0, 1, 2])` has a migration from one bucket to two under way, with nothing moved
//! yet. The next writing call moves the bucket first: it reads and hashes the keys, and then locks
//! the bucket if nothing in it has changed.
#![cfg(nulls_loom)]

use std::hash::Hash;

use nulls_loom_tests::{
    InlineMap, InlineView, Keys, Model, Numbered, Split, TwoWords, Wide, alike, both, model,
};

/// What a key becomes.
const NEW: u64 = 7;

fn migrating<K: Numbered + Hash + Eq, V: Numbered>() -> InlineMap<K, V> {
    InlineMap::growing(1).with([0, 1, 2])
}

#[test]
fn migrations_are_under_way_as_described() {
    fn is_under_way<K: Numbered + Hash + Eq, V: Numbered>(m: &InlineMap<K, V>, next: &[u64]) {
        assert!(m.stats().migrating);
        let buckets = m.stats().buckets;
        for &key in next {
            assert_eq!(m.stats().buckets, buckets);
            m.pin().put(key, key);
        }
        assert!(!m.stats().migrating);
        assert_eq!(m.stats().buckets, 2 * buckets);
    }
    model(|| {
        is_under_way(&migrating::<u64, u64>(), &[3]);
        is_under_way(&migrating::<u32, [u32; 3]>(), &[3]);
        is_under_way(&Wide::growing(1).with(0..5), &[5]);
        is_under_way(&keys_in_four_buckets(), &[4, 5, 6, 7]);
    });
}

fn is_looked_up_while_its_bucket_moves<K: Numbered + Hash + Eq, V: Numbered>(
    make: fn() -> InlineMap<K, V>,
    keys: [u64; 3],
) {
    Model::preemptions(1).check(move || {
        let look = move |m: &InlineMap<K, V>| {
            let m = m.pin();
            keys.map(|key| m.get(key))
        };
        let (_, found) = both(&make(), |m| m.pin().put(NEW, NEW), look);
        assert_eq!(found, keys.map(Some));
    });
}

#[test]
fn i7_a_moving_bucket_is_looked_up() {
    is_looked_up_while_its_bucket_moves(migrating::<u64, u64>, [0, 1, 2]);
}

#[test]
fn i7_a_moving_bucket_of_two_lines_is_looked_up() {
    is_looked_up_while_its_bucket_moves(|| Wide::growing(1).with(0..5), [0, 2, 4]);
}

/// The migration begins and ends under a writer, which changes the bucket that the mover has read,
/// or finds it moved.
fn is_done_while_a_bucket_moves<K: Numbered + Hash + Eq, V: Numbered>(
    change: fn(&InlineView<'_, K, V>),
    is_done: fn(&InlineView<'_, K, V>) -> bool,
) {
    Model::preemptions(1).check(move || {
        let m = InlineMap::<K, V>::growing(1).with([0, 1]);
        let grow = |m: &InlineMap<K, V>| {
            let m = m.pin();
            m.put(2, 2);
            m.put(3, 3);
        };
        both(&m, grow, move |m| change(&m.pin()));
        let m = m.pin();
        assert!(is_done(&m));
        assert_eq!([2, 3].map(|key| m.get(key)), [Some(2), Some(3)]);
    });
}

#[test]
fn i7_an_entry_is_inserted_while_its_bucket_moves() {
    is_done_while_a_bucket_moves::<u64, u64>(
        |m| assert_eq!(m.put(4, 4), None),
        |m| m.keys() == [0, 1, 2, 3, 4],
    );
}

#[test]
fn i7_an_entry_is_removed_while_its_bucket_moves() {
    is_done_while_a_bucket_moves::<u64, u64>(
        |m| assert_eq!(m.remove(0), Some(0)),
        |m| m.keys() == [1, 2, 3],
    );
}

#[test]
fn i7_a_value_is_updated_in_its_place_while_its_bucket_moves() {
    is_done_while_a_bucket_moves::<u64, u64>(
        |m| assert_eq!(m.put(0, NEW), Some(0)),
        |m| m.get(0) == Some(NEW) && m.keys() == [0, 1, 2, 3],
    );
}

#[test]
fn i7_a_value_is_updated_in_another_slot_while_its_bucket_moves() {
    is_done_while_a_bucket_moves::<u32, [u32; 3]>(
        |m| assert_eq!(m.put(0, NEW), Some(0)),
        |m| m.get(0) == Some(NEW) && m.keys() == [0, 1, 2, 3],
    );
}

#[test]
fn i7_two_writers_move_one_bucket() {
    Model::preemptions(1).check(|| {
        let m = migrating::<u64, u64>();
        let insert = |value| move |m: &TwoWords| m.pin().try_insert(3, value);
        let results = both(&m, insert(1), insert(2));
        assert!(
            [(Ok(()), Err(1)), (Err(2), Ok(()))].contains(&results),
            "{results:?}"
        );
        assert_eq!(m.pin().keys(), [0, 1, 2, 3]);
    });
}

#[test]
fn i8_found_when_it_is_updated_while_the_map_grows() {
    Model::preemptions(1).check(|| {
        let m = migrating::<u32, [u32; 3]>();
        let (old, found) = both(&m, |m| m.pin().put(0, NEW), |m| m.pin().get_twice(0));
        assert_eq!(old, Some(0));
        assert!(found[0].is_some() && found[0] <= found[1], "{found:?}");
    });
}

/// Two entries a bucket, one more in bucket 0: a migration is under way, and whoever writes moves
/// bucket 0, 1, 2, 3 first.
fn keys_in_four_buckets() -> Keys {
    Keys::growing(4).with([0, 4, 1, 5, 2, 6, 3, 7, 8])
}

/// A key that is put together from two would be hashed. The first writer reads bucket 0 to move it;
/// meanwhile the other moves buckets 1 and 2 and uses a slot of bucket 0 again.
#[test]
fn rule_1_7_a_mover_hashes_whole_keys() {
    Model::preemptions(1).check(|| {
        let use_again = |m: &Keys| {
            let m = m.pin();
            m.remove(0);
            m.put(alike(0), 0);
        };
        let m = keys_in_four_buckets();
        both(&m, |m| m.pin().put(9, 9), use_again);
        let mut expected = vec![1, 2, 3, 4, 5, 6, 7, 8, 9, alike(0)];
        expected.sort_unstable();
        assert_eq!(m.pin().keys(), expected);
    });
}

#[test]
fn iteration_meets_every_entry_once_while_the_map_grows() {
    Model::preemptions(1).check(|| {
        let m = migrating::<u32, [u32; 3]>();
        let (_, keys) = both(&m, |m| m.pin().put(3, 3), |m| m.pin().keys());
        assert!(
            [[0, 1, 2].as_slice(), &[0, 1, 2, 3]].contains(&keys.as_slice()),
            "{keys:?}"
        );
    });
}

/// An entry that is updated after it was looked at is left alone; removed before, there was nothing
/// to update.
fn retain_leaves_an_updated_entry_alone<K: Numbered + Hash + Eq, V: Numbered>() {
    model(|| {
        let m = InlineMap::<K, V>::fixed(1).with([0]);
        let remove_zeros = |m: &InlineMap<K, V>| m.pin().retain(|_, value| value != 0);
        let (sum, ()) = both(&m, |m| m.pin().add_one(0), remove_zeros);
        assert_eq!(m.pin().get(0), sum);
        assert_eq!(m.len(), usize::from(sum.is_some()));
    });
}

#[test]
fn retain_meets_an_update_in_its_place() {
    retain_leaves_an_updated_entry_alone::<u64, u64>();
}

#[test]
fn retain_meets_an_update_in_another_slot() {
    retain_leaves_an_updated_entry_alone::<u32, [u32; 3]>();
}

/// The update takes an overflow line, which goes with the others.
#[test]
fn clear_meets_an_update() {
    model(|| {
        let m = Split::fixed(1).with([0, 1]);
        both(&m, |m| m.pin().add_one(0), |m| m.pin().clear());
        assert_eq!(m.pin().keys(), []);
        assert_eq!((m.len(), m.stats().longest_chain), (0, 1));
    });
}

fn no_update_is_lost<K: Numbered + Hash + Eq, V: Numbered>() {
    model(|| {
        let m = InlineMap::<K, V>::fixed(1).with([0]);
        let add_one = |m: &InlineMap<K, V>| m.pin().add_one(0);
        both(&m, add_one, add_one);
        assert_eq!(m.pin().get(0), Some(2));
    });
}

#[test]
fn i3_no_update_is_lost() {
    no_update_is_lost::<u64, u64>();
}

#[test]
fn i3_no_update_of_a_split_value_is_lost() {
    no_update_is_lost::<u32, [u32; 3]>();
}
