//! I8 present-is-found: a key that is there throughout is found, whatever happens around it.
//!
//! While lines are recycled see `chains` as well, while the table grows see `growing`.
#![cfg(nulls_loom)]

use nulls_loom_tests::{Map, Table, alike, both, model};

#[test]
fn i8_found_while_its_neighbour_comes_and_goes() {
    model(|| {
        let t = Table::fixed(1).with([alike(0), 0]);
        let churn = |t: &Table| {
            let t = t.pin();
            t.remove(alike(0));
            t.insert(alike(0), 7);
        };
        let (_, found) = both(&t, churn, |t| t.pin().get(0));
        assert_eq!(found, Some(0));
    });
}

/// The overflow line comes and goes, and with it the home line's link, which a look-up of an absent
/// key follows.
#[test]
fn i8_found_while_its_bucket_overflows() {
    model(|| {
        let t = Table::fixed(1).with([1, 0]);
        let overflow = |t: &Table| {
            let t = t.pin();
            t.insert(2, 2);
            t.remove(1);
            t.remove(2);
        };
        let (_, found) = both(&t, overflow, |t| [t.pin().get(0), t.pin().get(3)]);
        assert_eq!(found, [Some(0), None]);
    });
}

/// An entry of the same tag leaves the overflow line, and with it the tag leaves the home's filter,
/// which a second look-up goes by alone.
#[test]
fn i8_found_again_behind_the_home_line() {
    model(|| {
        let t = Table::fixed(1).with([0, 1, alike(2)]);
        let change_places = |t: &Table| {
            let t = t.pin();
            t.remove(alike(2));
            t.insert(2, 7);
        };
        let look_twice = |t: &Table| [t.pin().get(2), t.pin().get(2)];
        let (_, found) = both(&t, change_places, look_twice);
        assert!(found[0] <= found[1], "{found:?}");
    });
}

#[test]
fn i8_found_while_it_is_replaced() {
    model(|| {
        let t = Table::fixed(1).with([0]);
        let replace = |t: &Table| {
            let t = t.pin();
            t.replace(0, 1);
            t.replace(0, 2);
        };
        let look_twice = |t: &Table| {
            let t = t.pin();
            [t.get(0), t.get(0)]
        };
        let (_, found) = both(&t, replace, look_twice);
        assert!(found[0].is_some() && found[0] <= found[1], "{found:?}");
    });
}

#[test]
fn i8_found_while_it_is_upserted_and_updated() {
    model(|| {
        let m = Map::new();
        m.pin().put(0, 0);
        let change = |m: &Map| {
            let m = m.pin();
            m.put(0, 1);
            m.add_one(0);
        };
        let look_twice = |m: &Map| {
            let m = m.pin();
            [m.get(0), m.get(0)]
        };
        let (_, found) = both(&m, change, look_twice);
        assert!(found[0].is_some() && found[0] <= found[1], "{found:?}");
    });
}

#[test]
fn i8_found_by_tags_alone_while_lines_are_recycled() {
    model(|| {
        let t = Table::fixed(2)
            .with([0, 2, 4, 6, 8])
            .without([2, 6])
            .with([1, 3]);
        let give_a_line_away = |t: &Table| {
            let t = t.pin();
            t.remove(8);
            t.insert(5, 5);
        };
        let (_, maybe) = both(&t, give_a_line_away, |t| t.pin().maybe_contains(4));
        assert!(maybe);
    });
}

#[test]
fn i8_found_by_tags_alone_while_the_table_grows() {
    model(|| {
        let t = Table::growing(1).with([0, 1, 2]);
        let (_, maybe) = both(&t, |t| t.pin().insert(3, 3), |t| t.pin().maybe_contains(2));
        assert!(maybe);
    });
}

#[test]
fn i8_found_when_it_is_replaced_while_the_table_grows() {
    model(|| {
        let t = Table::growing(1).with([0, 1, 2]);
        let (old, found) = both(
            &t,
            |t| t.pin().replace(0, 7),
            |t| [t.pin().get(0), t.pin().get(0)],
        );
        assert_eq!(old, Some(0));
        assert!(found[0].is_some() && found[0] <= found[1], "{found:?}");
    });
}
