//! I6 retired-after-unlinked: nobody who comes after an entry or array was retired can reach it.
//!
//! The modelled collector frees nothing before the model ends; it fails as soon as a guard reaches
//! what was retired before the guard was entered. At the end every entry must have been dropped
//! once, in these models as in all others.
#![cfg(nulls_loom)]

use nulls_loom_tests::{Table, alike, both, model, three};

#[test]
fn i6_removed_entries_are_retired_after_they_are_unlinked() {
    model(|| {
        let t = Table::fixed(1).with([0]);
        let (removed, found) = both(
            &t,
            |t| t.pin().remove(0),
            |t| [t.pin().get(0), t.pin().get(0)],
        );
        assert_eq!(removed, Some(0));
        assert_ne!(found, [None, Some(0)]);
    });
}

#[test]
fn i6_replaced_entries_are_retired_after_they_are_unlinked() {
    model(|| {
        let t = Table::fixed(1).with([0]);
        let (replaced, found) = both(
            &t,
            |t| t.pin().replace(0, 7),
            |t| [t.pin().get(0), t.pin().get(0)],
        );
        assert_eq!(replaced, Some(0));
        assert_ne!(found, [Some(7), Some(0)]);
    });
}

#[test]
fn i6_cleared_entries_are_retired_after_they_are_unlinked() {
    model(|| {
        let t = Table::fixed(1).with([0, 1, 2]);
        both(
            &t,
            |t| t.pin().clear(),
            |t| [t.pin().get(0), t.pin().get(2)],
        );
        assert!(t.is_empty());
    });
}

/// A removed entry's slot is used again by a key with the same tag.
#[test]
fn i6_a_slot_used_again_shows_nothing_of_the_old_entry() {
    model(|| {
        let t = Table::fixed(1).with([0]);
        let use_again = |t: &Table| {
            t.pin().remove(0);
            t.pin().insert(alike(0), 7);
        };
        let (_, found) = both(&t, use_again, |t| t.pin().get(alike(0)));
        assert!([None, Some(7)].contains(&found), "{found:?}");
    });
}

/// The same through an overflow line that goes to another bucket.
#[test]
fn i6_a_line_used_again_shows_nothing_of_the_old_entry() {
    model(|| {
        let t = Table::fixed(2).with([0, 2, 4, 1, 3]).without([0, 2]);
        let (removed, _, found) = three(
            &t,
            |t| t.pin().remove(4),
            |t| t.pin().insert(5, 7),
            |t| t.pin().get(5),
        );
        assert_eq!(removed, Some(4));
        assert!([None, Some(7)].contains(&found), "{found:?}");
        assert_eq!(t.pin().keys(), [1, 3, 5]);
    });
}

#[test]
fn i6_an_array_is_retired_after_the_root_has_swung() {
    model(|| {
        let t = Table::growing(1).with([0, 1, 2]);
        let (_, found) = both(
            &t,
            |t| t.pin().insert(3, 3),
            |t| [t.pin().get(0), t.pin().get(1)],
        );
        assert_eq!(found, [Some(0), Some(1)]);
    });
}

/// Two threads move the last buckets: one of them retires the array.
#[test]
fn i6_an_array_is_retired_once() {
    model(|| {
        let t = Table::growing(2).with([0, 2, 4, 1, 6]);
        let insert = |key| move |t: &Table| t.pin().insert(key, key);
        both(&t, insert(3), insert(8));
        assert!(!t.stats().migrating);
        assert_eq!(t.pin().keys(), [0, 1, 2, 3, 4, 6, 8]);
    });
}
