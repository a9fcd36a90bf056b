//! What happens to overflow lines while a look-up stands on one of them: it is emptied, recycled into another bucket's
//! chain or back into its own, replaced, moved. What was there before and stays is found all the same.
//!
//! The equality test of a look-up runs without a lock, between two of its steps. So one thread is enough: the tests make
//! their changes from inside it, at exactly the moment they mean.

#![cfg(all(feature = "std", not(nulls_loom)))]

mod common;

use core::cell::{Cell, RefCell};

use common::{Rng, sized};
use nulls::{Growth, NullsHashTable, NullsHashTableRef};

const BUCKETS: u64 = 4;
const SLOTS: u64 = 6;

/// Entries of one bucket have one hash, so that a look-up asks about each of them, line by line.
type Entry = (u64, u64);

fn table(growth: Growth) -> NullsHashTable<Entry> {
    let table = NullsHashTable::builder().capacity(1).growth(growth).build();
    assert_eq!(table.stats().buckets as u64, BUCKETS);
    table
}

fn insert(t: &NullsHashTableRef<'_, Entry>, bucket: u64, ids: impl IntoIterator<Item = u64>) {
    for id in ids {
        t.insert(bucket, (bucket, id));
    }
}

fn remove(t: &NullsHashTableRef<'_, Entry>, bucket: u64, ids: impl IntoIterator<Item = u64>) {
    for id in ids {
        assert!(t.remove(bucket, |entry| entry.1 == id).is_some());
    }
}

/// Bucket 0 with a home line of 2..6 (two slots free) and, in the order of the chain, overflow lines of 18..24, 12..18
/// and 6..12: each new line goes right behind the home line.
fn four_lines(t: &NullsHashTableRef<'_, Entry>) {
    insert(t, 0, 0..4 * SLOTS);
    remove(t, 0, [0, 1]);
    let order: Vec<u64> = (2..6).chain(18..24).chain(12..18).chain(6..12).collect();
    assert_eq!(asked_about(t, |_| ()), (None, order));
}

/// What a look-up for an entry that is not there asks about.
fn asked_about(
    t: &NullsHashTableRef<'_, Entry>,
    meanwhile: impl FnMut(u64),
) -> (Option<u64>, Vec<u64>) {
    look_for(t, u64::MAX, meanwhile)
}

/// What is found, and what the look-up asks about; before each answer `meanwhile` is called.
fn look_for(
    t: &NullsHashTableRef<'_, Entry>,
    wanted: u64,
    mut meanwhile: impl FnMut(u64),
) -> (Option<u64>, Vec<u64>) {
    let mut asked = Vec::new();
    let found = t.find(0, |&(bucket, id)| {
        assert_eq!(bucket, 0, "an entry of another hash");
        asked.push(id);
        meanwhile(id);
        id == wanted
    });
    (found.map(|entry| entry.1), asked)
}

/// Calls `change` the first time that it is asked about `at`.
fn once_at(at: u64, change: impl FnOnce()) -> impl FnMut(u64) {
    let mut change = Some(change);
    move |id| {
        if id == at
            && let Some(change) = change.take()
        {
            change();
        }
    }
}

/// An entry of the last line, which is never touched.
const PERMANENT: u64 = 6;

/// The line leads into another chain, whose end is not this one's.
#[test]
fn a_line_that_goes_to_another_bucket() {
    let table = table(Growth::Fixed);
    let t = table.pin();
    four_lines(&t);
    insert(&t, 1, 100..106);
    let before = table.stats();
    let (found, asked) = look_for(
        &t,
        PERMANENT,
        once_at(18, || {
            // The line of 18..24 is given back, and is the first to be taken.
            remove(&t, 0, 18..24);
            insert(&t, 1, [106]);
        }),
    );
    assert_eq!(found, Some(PERMANENT));
    assert_eq!(table.stats().overflow_lines, before.overflow_lines);
    // It did stand on the line as it went: it began again at the home line.
    let begun = [2, 3, 4, 5, 18, 2, 3, 4, 5, 12];
    assert_eq!(asked[..begun.len()], begun);
}

/// The line comes back into its own chain. It must come in before the lines that stayed, or these would be passed by:
/// the chain's end is the right one.
#[test]
fn a_line_that_goes_and_comes_back() {
    let table = table(Growth::Fixed);
    let t = table.pin();
    four_lines(&t);
    let (found, asked) = look_for(
        &t,
        PERMANENT,
        once_at(18, || {
            remove(&t, 0, 18..24);
            assert_eq!(table.stats().longest_chain, 3);
            // Two into the home line, the third into the line again.
            insert(&t, 0, 200..203);
            assert_eq!(table.stats().longest_chain, 4);
        }),
    );
    assert_eq!(found, Some(PERMANENT));
    // It went on from the line, along the chain as it is now: no need to begin again.
    assert_eq!(asked[..6], [2, 3, 4, 5, 18, 12]);
}

/// By way of another bucket and back, with all that is possible between.
#[test]
fn a_line_that_comes_back_by_way_of_another_bucket() {
    let table = table(Growth::Fixed);
    let t = table.pin();
    four_lines(&t);
    insert(&t, 1, 100..106);
    let (found, _) = look_for(
        &t,
        PERMANENT,
        once_at(18, || {
            for _ in 0..3 {
                remove(&t, 0, 18..24);
                insert(&t, 1, [106]);
                remove(&t, 1, [100, 101, 106]);
                insert(&t, 1, [100, 101]);
                insert(&t, 0, [0, 1]);
                insert(&t, 0, 18..24);
                remove(&t, 0, [0, 1]);
            }
        }),
    );
    assert_eq!(found, Some(PERMANENT));
}

/// Every line but the last goes, those before and those after the one that the look-up stands on.
#[test]
fn all_other_lines_go() {
    for stand in [2, 18, 12] {
        let table = table(Growth::Fixed);
        let t = table.pin();
        four_lines(&t);
        let (found, _) = look_for(
            &t,
            PERMANENT,
            once_at(stand, || {
                remove(&t, 0, 12..24);
                remove(&t, 0, 2..6);
                assert_eq!(table.stats().longest_chain, 2);
                insert(&t, 1, 100..120);
                insert(&t, 2, 100..120);
            }),
        );
        assert_eq!(found, Some(PERMANENT), "standing on the line of {stand}");
    }
}

/// The whole table moves while the look-up stands on a line of the old array, and the root swings.
#[test]
fn a_migration_passes_by() {
    for stand in [2, 18, 12, 11] {
        for change_after in [false, true] {
            let table = table(Growth::Auto);
            let t = table.pin();
            insert(&t, 0, 0..19);
            four_lines_left(&t);
            let (found, _) = look_for(
                &t,
                PERMANENT,
                once_at(stand, || {
                    table.reserve(10_000);
                    assert!(!table.stats().migrating);
                    if change_after {
                        // In the new array. The look-up may still see these, as it began before.
                        t.retain(|entry| entry.1 == PERMANENT);
                        insert(&t, 0, 300..330);
                    }
                }),
            );
            assert_eq!(found, Some(PERMANENT), "standing at {stand}");
        }
    }
}

/// Completes [`four_lines`] where a table that grows by itself has begun them.
fn four_lines_left(t: &NullsHashTableRef<'_, Entry>) {
    insert(t, 0, 19..24);
    remove(t, 0, [0, 1]);
}

/// An entry that is replaced under the look-up's eyes is found, old or new.
#[test]
fn a_replacement_is_no_absence() {
    for stand in [2, 18, 12, 7] {
        let table = table(Growth::Fixed);
        let t = table.pin();
        four_lines(&t);
        let (found, _) = look_for(
            &t,
            PERMANENT,
            once_at(stand, || {
                for _ in 0..3 {
                    assert!(
                        t.replace(0, |entry| entry.1 == PERMANENT, (0, PERMANENT))
                            .is_ok()
                    );
                }
            }),
        );
        assert_eq!(found, Some(PERMANENT));
    }
}

/// The lines of one chain, each entry at its place: what is not there is asked about and not found.
#[test]
fn what_is_absent_throughout_is_not_found() {
    let table = table(Growth::Fixed);
    let t = table.pin();
    four_lines(&t);
    insert(&t, 1, 100..106);
    let (found, asked) = asked_about(
        &t,
        once_at(18, || {
            remove(&t, 0, 18..24);
            insert(&t, 1, [106]);
        }),
    );
    assert_eq!(found, None);
    let stayed: Vec<u64> = (2..6).chain(12..18).chain(6..12).collect();
    assert_eq!(asked[asked.len() - stayed.len()..], stayed[..]);
}

/// Random changes at random steps of random look-ups. Permanent entries stand in every line of every bucket's chain.
fn changes_between_steps(growth: Growth, rounds: usize, rng: &Rng) {
    struct Others {
        rng: Rng,
        alive: Vec<Entry>,
        next: u64,
    }
    let table = table(growth);
    let t = table.pin();
    let others = RefCell::new(Others {
        rng: rng.fork(1),
        alive: Vec::new(),
        next: 1000,
    });
    let change = || {
        let mut others = others.borrow_mut();
        for _ in 0..=others.rng.below(12) {
            // Their number swings about 20.
            if others.alive.len() as u64 <= others.rng.below(40) {
                let entry = (others.rng.below(BUCKETS), others.next);
                others.next += 1;
                others.alive.push(entry);
                t.insert(entry.0, entry);
            } else {
                // All entries of a line, at times: the latest ones lie together.
                let n = others.alive.len();
                let i = if others.rng.below(2) == 0 {
                    n - 1
                } else {
                    others.rng.index(n)
                };
                let entry = others.alive.swap_remove(i);
                assert!(t.remove(entry.0, |&found| found == entry).is_some());
            }
        }
        if growth == Growth::Auto && others.rng.below(200) == 0 {
            table.reserve(table.capacity());
        }
    };
    // Each permanent entry among others, so that lines of theirs come between the lines that stay.
    let permanent: Vec<Entry> = (0..10 * BUCKETS).map(|id| (id % BUCKETS, id)).collect();
    for &entry in &permanent {
        t.insert(entry.0, entry);
        change();
    }
    let mut rng = rng.fork(2);
    let changes = Cell::new(0_u64);
    for _ in 0..rounds {
        // More than a few migrations would make every chain short.
        if table.stats().buckets > 64 {
            break;
        }
        let wanted = permanent[rng.index(permanent.len())];
        let mut steps = rng.clone();
        rng.next();
        let found = t.find(wanted.0, |&entry| {
            if steps.below(8) == 0 {
                changes.set(changes.get() + 1);
                change();
            }
            entry == wanted
        });
        assert_eq!(found, Some(&wanted), "a permanent entry was missed");
        assert!(t.maybe_contains(wanted.0));
    }
    println!("{} changes; {}", changes.get(), table.stats());
    let left: Vec<_> = t.iter().filter(|entry| entry.1 < 1000).copied().collect();
    assert_eq!(left.len(), permanent.len());
    assert_eq!(table.len(), permanent.len() + others.borrow().alive.len());
}

#[test]
fn whatever_happens_between_two_steps_of_a_look_up() {
    let rng = Rng::new(0x5eed_0070);
    changes_between_steps(Growth::Fixed, sized(100_000, 200), &rng);
    for n in 0..sized(50, 2) as u64 {
        changes_between_steps(Growth::Auto, sized(500, 50), &rng.fork(n));
    }
}
