//! Where entries lie in the lines and an update may carry one to another line of its chain: I8
//! present-is-found, P4, 1.5, 1.6, 1.9, and I4 marker-names-home once more.
//!
//! A walk goes from the home line to the second line of the front, if there is one, and on to the
//! overflow lines, the latest first.
#![cfg(nulls_loom)]

use std::hash::Hash;

use nulls_loom_tests::{
    InlineMap, InlineView, Model, Numbered, OneSlot, Split, TwoWords, Wide, alike, both, model,
    three,
};

/// The key that is updated, or inserted and updated.
const MOVING: u64 = 8;
/// What it becomes. It begins as `MOVING`.
const NEW: u64 = 9;

/// One with its tag, so that the home's word says already that the tag may be behind it: the version
/// alone changes there.
fn same_tag() -> u64 {
    alike(MOVING)
}

/// Two full lines, and a later one in between with a free slot: an update carries the entry back in
/// the walk, from the last line to the one before it.
fn carried_back() -> Split {
    Split::fixed(1).with([0, 1, MOVING, 2, 3])
}

/// The same where the line before it is the second of the front.
fn carried_back_to_the_front() -> Wide {
    Wide::fixed(1).with([0, 1, 2, 3, MOVING, 4]).without([3])
}

/// A full home line and two overflow lines, each with a free slot: an insertion fills the first of
/// them, and an update then carries the entry on to the last.
fn carried_on() -> Split {
    Split::fixed(1).with([0, 1, same_tag(), 3, 4]).without([3])
}

/// The same between the lines of a front.
fn carried_on_in_the_front() -> Wide {
    Wide::fixed(1).with([0, 1, same_tag()]).without([0])
}

/// One slot a line: an update carries the entry to the line beside.
fn in_the_home_line() -> OneSlot {
    OneSlot::fixed(1).with([MOVING])
}

fn in_the_second_line() -> OneSlot {
    OneSlot::fixed(1).with([0, MOVING]).without([0])
}

fn update<K: Numbered + Hash + Eq, V: Numbered>(m: &InlineView<'_, K, V>) {
    assert_eq!(m.put(MOVING, NEW), Some(MOVING));
}

fn insert_and_update<K: Numbered + Hash + Eq, V: Numbered>(m: &InlineView<'_, K, V>) {
    m.put(MOVING, MOVING);
    update(m);
}

/// What one thread finds twice while another changes the map: first the value there was, if any,
/// then the new one.
fn never_finds_the_new_before_the_old<K: Numbered + Hash + Eq, V: Numbered>(
    make: fn() -> InlineMap<K, V>,
    change: fn(&InlineView<'_, K, V>),
) {
    Model::preemptions(1).check(move || {
        let m = make();
        let was = m.pin().get(MOVING);
        let (_, found) = both(&m, move |m| change(&m.pin()), |m| m.pin().get_twice(MOVING));
        assert!(was <= found[0] && found[0] <= found[1], "{found:?}");
        assert_eq!(m.pin().get(MOVING), Some(NEW));
    });
}

#[test]
fn the_chains_are_as_described() {
    fn has_three_lines(m: &Split, change: fn(&InlineView<'_, u32, [u32; 3]>)) {
        for change in [|_: &InlineView<'_, _, _>| (), change] {
            change(&m.pin());
            let stats = m.stats();
            assert_eq!((stats.longest_chain, stats.overflow_lines), (3, 2));
        }
    }
    model(|| {
        has_three_lines(&carried_back(), update);
        has_three_lines(&carried_on(), insert_and_update);
        assert_eq!(carried_back_to_the_front().stats().longest_chain, 3);
        assert_eq!(carried_on_in_the_front().stats().longest_chain, 2);
    });
}

/// The reader passes the new place before the entry comes there, and comes to the old one when it
/// has left. The home's word tells it, though the update has not ended.
#[test]
fn p4_present_while_it_is_carried_back() {
    never_finds_the_new_before_the_old(carried_back, update);
}

#[test]
fn p4_present_while_it_is_carried_back_to_the_front() {
    never_finds_the_new_before_the_old(carried_back_to_the_front, update);
}

/// A line is added for the entry.
#[test]
fn p4_present_while_it_is_carried_to_a_line_of_its_own() {
    never_finds_the_new_before_the_old(|| Split::fixed(1).with([MOVING, 0]), update);
}

/// The reader passes the line where the entry is inserted before it is there, and finds it where an
/// update has carried it; the next look-up would still find it where it was inserted.
#[test]
fn rule_1_5_a_hit_behind_the_home_line_is_validated() {
    never_finds_the_new_before_the_old(carried_on, insert_and_update);
}

#[test]
fn rule_1_6_a_hit_in_the_second_line_is_validated() {
    never_finds_the_new_before_the_old(carried_on_in_the_front, insert_and_update);
}

#[test]
fn rule_1_6_present_while_it_is_carried_to_the_line_beside() {
    never_finds_the_new_before_the_old(in_the_home_line, update);
    never_finds_the_new_before_the_old(in_the_second_line, update);
}

#[test]
fn i8_found_while_its_neighbour_comes_and_goes() {
    Model::preemptions(1).check(|| {
        let m = TwoWords::fixed(1).with([alike(0), 0]);
        let churn = |m: &TwoWords| {
            let m = m.pin();
            m.remove(alike(0));
            m.put(alike(0), NEW);
        };
        let (_, found) = both(&m, churn, |m| m.pin().get(0));
        assert_eq!(found, Some(0));
    });
}

/// The overflow line comes and goes, and with it the home line's link, which a look-up of an absent
/// key follows.
#[test]
fn i8_found_while_its_bucket_overflows() {
    Model::preemptions(1).check(|| {
        let m = TwoWords::fixed(1).with([1, 0]);
        let overflow = |m: &TwoWords| {
            let m = m.pin();
            m.put(2, 2);
            m.remove(1);
            m.remove(2);
        };
        let (_, found) = both(&m, overflow, |m| [m.pin().get(0), m.pin().get(3)]);
        assert_eq!(found, [Some(0), None]);
    });
}

/// As in `chains`. The line goes to the other bucket before its former one has a new version, so
/// the marker alone tells the reader.
#[test]
fn i4_marker_names_home_with_two_writers() {
    Model::preemptions(1).check(|| {
        let m = TwoWords::fixed(2)
            .with([0, 2, 4, 6, MOVING])
            .without([2, 6])
            .with([1, 3]);
        let (_, _, found) = three(
            &m,
            |m| m.pin().remove(MOVING),
            |m| m.pin().put(5, 5),
            |m| m.pin().get(4),
        );
        assert_eq!(found, Some(4));
    });
}

/// What an iteration yields while an entry is carried off.
fn is_iterated_over_once<K: Numbered + Hash + Eq, V: Numbered>(make: fn() -> InlineMap<K, V>) {
    Model::preemptions(1).check(move || {
        let m = make();
        let all = m.pin().keys();
        let (_, keys) = both(&m, |m| update(&m.pin()), |m| m.pin().keys());
        assert_eq!(keys, all);
    });
}

#[test]
fn rule_1_9_iteration_meets_an_entry_once_that_is_carried_back() {
    is_iterated_over_once(carried_back);
}

#[test]
fn rule_1_9_iteration_meets_an_entry_once_in_two_lines_side_by_side() {
    is_iterated_over_once(in_the_home_line);
    is_iterated_over_once(in_the_second_line);
}
