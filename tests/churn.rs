//! Churn at constant size leaves no trace: buckets lose their links again, and the table's bytes stay.

#![cfg(all(feature = "std", not(nulls_loom)))]

mod common;

use common::{Kind, Map, Rng, TestState, sized};
use nulls::{Growth, Stats};

const SLOTS: usize = 6;

/// A map in which every bucket's fill is known.
fn identity_map(capacity: usize) -> Map<u64, u64> {
    Kind {
        capacity,
        growth: Growth::Fixed,
        hasher: TestState::Identity,
        ..Kind::plain()
    }
    .map()
}

/// Random keys come and go at constant size, oldest or a random one first, for 60 turnovers. Returns the stats after
/// 10, and at the end.
fn churn(map: &Map<u64, u64>, load: f64, oldest_first: bool, rng: &mut Rng) -> (Stats, Stats) {
    let buckets = map.stats().buckets;
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_precision_loss,
        clippy::cast_sign_loss,
        reason = "a number of entries"
    )]
    let entries = (buckets as f64 * SLOTS as f64 * load) as usize;
    let mut keys: Vec<u64> = (0..entries).map(|_| rng.next()).collect();
    let m = map.pin();
    for &key in &keys {
        m.insert(key, key);
    }
    drop(m);
    let mut after_ten = Stats::default();
    for turnover in 0..60 {
        for i in 0..entries {
            let m = map.pin();
            let i = if oldest_first { i } else { rng.index(entries) };
            assert!(m.remove(&keys[i]).is_some());
            keys[i] = rng.next();
            assert!(m.insert(keys[i], keys[i]).is_none());
        }
        if turnover == 9 {
            after_ten = map.stats();
        }
    }
    let stats = map.stats();
    println!("load {load}, oldest first {oldest_first}: {stats}");
    assert_eq!(
        (stats.entries, stats.buckets),
        (entries, buckets),
        "the size was constant"
    );
    (after_ten, stats)
}

fn share_linked(stats: &Stats) -> f64 {
    f64::from(u32::try_from(stats.linked_buckets).expect("few"))
        / f64::from(u32::try_from(stats.buckets).expect("few"))
}

#[test]
fn sixty_turnovers_leave_few_links_and_no_bytes() {
    let mut rng = Rng::new(0x5eed_0030);
    for growth in [Growth::Fixed, Growth::Auto] {
        for oldest_first in [true, false] {
            let map: Map<u64, u64> = Kind {
                capacity: sized(4096, 16) * 5,
                growth,
                ..Kind::plain()
            }
            .map();
            let (early, late) = churn(&map, 0.55, oldest_first, &mut rng);
            if cfg!(miri) {
                continue;
            }
            assert!(share_linked(&late) <= 0.2, "{late}");
            // A high-water mark rises a little with time, by the laws of chance; by no more than one chunk.
            let growth = late.table_bytes - early.table_bytes;
            assert!(growth <= early.table_bytes / 100, "{early} then {late}");
            assert!(late.longest_chain <= 4, "{late}");
        }
    }
}

/// At higher load the share is higher, but as constant.
#[test]
fn links_do_not_gather_at_high_load() {
    let mut rng = Rng::new(0x5eed_0031);
    let map: Map<u64, u64> = Kind {
        capacity: sized(2048, 16) * 5,
        growth: Growth::Fixed,
        ..Kind::plain()
    }
    .map();
    let (early, late) = churn(&map, 0.8, false, &mut rng);
    if !cfg!(miri) {
        assert!(share_linked(&late) <= 0.55, "{late}");
        assert!(
            share_linked(&late) <= share_linked(&early) + 0.05,
            "{early} then {late}"
        );
    }
}

/// Home full, and one key that comes and goes beside it: its line is not taken and given each time, nor a new one.
#[test]
fn a_key_that_churns_at_the_seventh_place() {
    let map = identity_map(40);
    let buckets = map.stats().buckets as u64;
    let m = map.pin();
    for i in 0..SLOTS as u64 {
        m.insert(i * buckets, i);
    }
    let seventh = SLOTS as u64 * buckets;
    m.insert(seventh, 0);
    let before = map.stats();
    assert_eq!((before.linked_buckets, before.longest_chain), (1, 2));
    for i in 0..sized(100_000, 100) as u64 {
        assert_eq!(m.remove(&seventh), Some(&i));
        assert_eq!(map.len(), SLOTS);
        assert_eq!(m.insert(seventh, i + 1), None);
        if i % 1000 == 0 {
            assert_eq!(map.stats(), before);
        }
    }
    assert_eq!(map.stats(), before);
    // With the home full the empty line stays, so that the next one finds it.
    assert!(m.remove(&seventh).is_some());
    assert_eq!(map.stats().linked_buckets, 1);
    // It goes as soon as the other lines have two free slots, and not before.
    assert!(m.remove(&0).is_some());
    assert_eq!(map.stats().linked_buckets, 1);
    assert!(m.remove(&buckets).is_some());
    assert_eq!(
        (map.stats().linked_buckets, map.stats().longest_chain),
        (0, 1)
    );
    // The bucket is as good as new.
    m.insert(0, 0);
    m.insert(buckets, 0);
    m.insert(seventh, 0);
    assert_eq!((map.stats(), map.len()), (before, 7));
}

/// The same with a key of another hash each time, and with one that is removed by each of the ways.
#[test]
fn other_keys_that_churn_at_the_seventh_place() {
    let map = identity_map(40);
    let buckets = map.stats().buckets as u64;
    let m = map.pin();
    for i in 0..SLOTS as u64 {
        m.insert(i * buckets, i);
    }
    m.insert(7 * buckets, 0);
    let before = map.stats();
    for i in 8..sized(20_000, 100) as u64 {
        let old = (i - 1) * buckets;
        match i % 3 {
            0 => assert!(m.remove(&old).is_some()),
            1 => assert!(
                m.remove_if(&old, |_, _| true)
                    .is_ok_and(|removed| removed.is_some())
            ),
            _ => m.retain(|&key, _| key != old),
        }
        m.insert(i * buckets, 0);
    }
    assert_eq!(map.stats(), before);
}

/// An overflow line that a bucket has given back is the next bucket's.
#[test]
fn lines_are_recycled_from_bucket_to_bucket() {
    let map = identity_map(40);
    let buckets = map.stats().buckets as u64;
    let m = map.pin();
    let fill = |bucket: u64, entries: u64| {
        for i in 0..entries {
            m.insert(i * buckets + bucket, i);
        }
    };
    fill(0, 30);
    let before = map.stats();
    assert_eq!((before.linked_buckets, before.longest_chain), (1, 5));
    for round in 0..100 {
        let bucket = round % buckets;
        for i in 0..30 {
            assert!(m.remove(&(i * buckets + bucket)).is_some());
        }
        assert_eq!(map.stats().linked_buckets, 0);
        fill((round + 1) % buckets, 30);
        assert_eq!(map.stats(), before, "no line is lost, none is new");
    }
}

/// `clear` gives overflow lines back, as removal one by one does.
#[test]
fn clear_gives_overflow_lines_back() {
    let map = identity_map(40);
    let buckets = map.stats().buckets as u64;
    let m = map.pin();
    let fill = || {
        for i in 0..30 {
            m.insert(i * buckets, i);
            m.insert(i * buckets + 1, i);
        }
    };
    fill();
    let before = map.stats();
    for _ in 0..100 {
        m.clear();
        let empty = map.stats();
        assert_eq!((empty.linked_buckets, empty.entries), (0, 0));
        fill();
        assert_eq!(map.stats(), before, "no line is lost, none is new");
    }
}

/// Constant size, but the keys move through all hashes: a table that grows by itself must not.
#[test]
fn a_sliding_window_does_not_grow_the_table() {
    let window = sized(3000, 60) as u64;
    let map: Map<u64, u64> = Kind::plain().map();
    let m = map.pin();
    for key in 0..window {
        m.insert(key, key);
    }
    // A migration that is under way ends within so many writes.
    for key in window..2 * window {
        m.insert(key, key);
        m.remove(&(key - window));
    }
    let buckets = map.stats().buckets;
    for key in 2 * window..40 * window {
        m.insert(key, key);
        m.remove(&(key - window));
    }
    let stats = map.stats();
    assert_eq!(
        (stats.buckets, stats.migrating, map.len() as u64),
        (buckets, false, window)
    );
    assert!(
        stats.buckets <= usize::try_from(window).expect("few"),
        "{stats}"
    );
}
