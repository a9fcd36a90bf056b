//! I1 published-whole, I2 written-only-untagged and I9 no-torn-value where entries lie in the line:
//! what a reader makes of words that are written while it reads them.
//!
//! Key 0 and `alike(0)` have one tag: what is left of the one under that tag passes for the other.
//! An update of a `Split` writes the value to the other slot of its line and lets the tags change
//! places; a second one writes to the first slot again. Parts of a value that do not belong together
//! are noticed by whoever takes its number, parts of a key by whoever compares or hashes it.
//!
//! A thread enters a read section once, before it does anything: entering is a fence, and would hide
//! that another is missing.
#![cfg(nulls_loom)]

use std::hash::Hash;

use nulls_loom_tests::{
    InlineMap, InlineView, Keys, Model, Numbered, Split, TwoWords, alike, both, brings_the_flag,
    model, three,
};

/// The value that a key gets in a model, other than the ones it begins with.
const NEW: u64 = 7;

/// The new entry's place is above one of the same tag, where a comparison of all tags at once may
/// be wrong.
fn is_published_whole<K: Numbered + Hash + Eq, V: Numbered>() {
    model(|| {
        let m = InlineMap::<K, V>::fixed(1).with([alike(0)]);
        let (_, found) = both(&m, |m| m.pin().put(0, NEW), |m| m.pin().get(0));
        assert!([None, Some(NEW)].contains(&found), "{found:?}");
    });
}

#[test]
fn i1_published_whole() {
    is_published_whole::<u64, u64>();
}

#[test]
fn i1_published_whole_with_a_split_value() {
    is_published_whole::<u32, [u32; 3]>();
}

#[test]
fn i1_an_inserted_entry_brings_what_came_before() {
    brings_the_flag(
        || TwoWords::fixed(1).with([8]),
        |m| assert_eq!(m.put(0, NEW), None),
        |m| m.get(0).is_some(),
    );
}

#[test]
fn i1_a_value_updated_in_its_place_brings_what_came_before() {
    brings_the_flag(
        || TwoWords::fixed(1).with([0]),
        |m| assert_eq!(m.put(0, NEW), Some(0)),
        |m| m.get(0) == Some(NEW),
    );
}

#[test]
fn i1_a_value_updated_in_another_slot_brings_what_came_before() {
    brings_the_flag(
        || Split::fixed(1).with([0]),
        |m| assert_eq!(m.put(0, NEW), Some(0)),
        |m| m.get(0) == Some(NEW),
    );
}

#[test]
fn i1_a_removed_entry_brings_what_came_before() {
    brings_the_flag(
        || TwoWords::fixed(1).with([0]),
        |m| assert_eq!(m.remove(0), Some(0)),
        |m| m.get(0).is_none(),
    );
}

/// Both slots are written while the reader reads one of them.
fn is_whole_while_it_is_updated<K: Numbered + Hash + Eq, V: Numbered>() {
    Model::preemptions(1).check(|| {
        let m = InlineMap::<K, V>::fixed(1).with([0]);
        let update = |m: &InlineMap<K, V>| {
            let m = m.pin();
            m.put(0, 1);
            m.put(0, 2);
        };
        let (_, found) = both(&m, update, |m| m.pin().get_twice(0));
        assert!(found[0].is_some() && found[0] <= found[1], "{found:?}");
    });
}

#[test]
fn i9_no_torn_value_while_it_is_updated() {
    is_whole_while_it_is_updated::<u32, [u32; 3]>();
}

#[test]
fn i9_a_value_updated_in_its_place_is_the_old_or_the_new() {
    is_whole_while_it_is_updated::<u64, u64>();
}

#[test]
fn i9_an_entry_of_one_word_is_the_old_or_the_new() {
    is_whole_while_it_is_updated::<u32, u32>();
}

#[test]
fn i9_no_torn_value_in_an_iteration() {
    Model::preemptions(1).check(|| {
        let m = Split::fixed(1).with([0]);
        let update = |m: &Split| {
            let m = m.pin();
            m.put(0, 1);
            m.put(0, 2);
        };
        let (_, keys) = both(&m, update, |m| m.pin().keys());
        assert_eq!(keys, [0]);
    });
}

/// The slot is freed by one thread and written by another. The lock orders what the second does
/// behind what the first did, but for the reader, who takes no lock, only a fence of the second's
/// does. (Entering a read section is one too. So the second thread enters first of all.)
#[test]
fn p6_no_torn_value_while_two_threads_update_it() {
    Model::preemptions(1).check(|| {
        let update_late = |m: &Split| {
            let m = m.pin();
            loom::thread::yield_now();
            m.put(0, 2);
        };
        let m = Split::fixed(1).with([0]);
        let (found, ..) = three(&m, |m| m.pin().get(0), |m| m.pin().put(0, 1), update_late);
        assert!(found.is_some());
    });
}

/// The entry under the tag is another than the one that the reader began to read.
fn is_its_own_while_its_slot_is_used_again<K: Numbered + Hash + Eq, V: Numbered>(
    free: fn(&InlineView<'_, K, V>),
) {
    model(move || {
        let m = InlineMap::<K, V>::fixed(1).with([0]);
        let use_again = move |m: &InlineMap<K, V>| {
            let m = m.pin();
            free(&m);
            m.put(alike(0), NEW);
        };
        let (_, found) = both(&m, use_again, |m| m.pin().get(0));
        assert!([None, Some(0)].contains(&found), "{found:?}");
    });
}

#[test]
fn i2_a_slot_is_used_again_for_a_key_of_the_same_tag() {
    is_its_own_while_its_slot_is_used_again::<u64, u64>(|m| {
        m.remove(0);
    });
}

#[test]
fn i2_a_slot_is_used_again_for_a_split_value_of_the_same_tag() {
    is_its_own_while_its_slot_is_used_again::<u32, [u32; 3]>(|m| {
        m.remove(0);
    });
}

#[test]
fn p8_a_line_keeps_its_version_when_it_is_cleared() {
    is_its_own_while_its_slot_is_used_again::<u32, [u32; 3]>(|m| m.clear());
}

/// The reader finds `alike(0)` where it saw the tag of 0, which has gone to the other slot.
#[test]
fn p5_a_mismatch_is_validated() {
    Model::preemptions(1).check(|| {
        let m = Split::fixed(1).with([0]);
        let change_places = |m: &Split| {
            let m = m.pin();
            m.put(0, 1);
            m.put(alike(0), NEW);
        };
        let (_, found) = both(&m, change_places, |m| m.pin().get(0));
        assert!([Some(0), Some(1)].contains(&found), "{found:?}");
    });
}

/// A key that is put together from two would be compared: the look-up of 0 demands that each one is
/// whole.
fn compares_whole_keys(make: fn() -> Keys, use_again: fn(&Keys)) {
    Model::preemptions(1).check(move || {
        both(&make(), use_again, |m| m.pin().get(0));
    });
}

fn use_its_slot_again(m: &Keys) {
    let m = m.pin();
    m.remove(0);
    m.put(alike(0), 0);
}

#[test]
fn rule_1_7_whole_keys_are_compared() {
    let make = || Keys::fixed(1).with([0]);
    compares_whole_keys(make, use_its_slot_again);
}

#[test]
fn rule_1_7_whole_keys_are_compared_in_an_overflow_line() {
    let make = || Keys::fixed(1).with([1, 2, 0]);
    compares_whole_keys(make, use_its_slot_again);
}

/// The overflow line leaves the chain and comes back, from its first version and from a later one: an
/// entry has left it before.
#[test]
fn rule_1_7_whole_keys_are_compared_in_a_line_that_was_cleared() {
    let use_it_again = |m: &Keys| {
        let m = m.pin();
        m.clear();
        for key in [1, 2, alike(0)] {
            m.put(key, 0);
        }
    };
    compares_whole_keys(|| Keys::fixed(1).with([1, 2, 0]), use_it_again);
    let later = || Keys::fixed(1).with([1, 2, 0]).without([0]).with([0]);
    compares_whole_keys(later, use_it_again);
}
