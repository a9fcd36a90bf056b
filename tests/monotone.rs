//! Monotone hashes through map and table: consecutive ports have consecutive hashes, consecutive or shared buckets, and
//! tags that tell them apart.

#![cfg(all(feature = "std", not(nulls_loom)))]

mod common;

use core::hash::{BuildHasher, Hash, Hasher};
use core::net::{IpAddr, Ipv4Addr};

use common::{Rng, sized};
use nulls::hash::{KeyedState, MonotoneKey, MonotoneState, check_monotone_key};
use nulls::{Growth, NullsHashMap, NullsHashTable};

/// A connection, the local port last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Flow {
    local: Ipv4Addr,
    remote: IpAddr,
    remote_port: u16,
    local_port: u16,
}

impl MonotoneKey for Flow {
    fn hash_base<H: Hasher>(&self, state: &mut H) {
        self.local.hash(state);
        self.remote.hash(state);
        self.remote_port.hash(state);
    }

    fn port(&self) -> u16 {
        self.local_port
    }
}

fn flow(local_port: u16) -> Flow {
    Flow {
        local: Ipv4Addr::new(192, 0, 2, 1),
        remote: IpAddr::from([198, 51, 100, 7]),
        remote_port: 443,
        local_port,
    }
}

fn state(seed: u64) -> MonotoneState {
    MonotoneState::with_hasher(KeyedState::with_keys(seed, !seed))
}

/// Every port, or some of them, both ends included.
fn ports() -> impl Iterator<Item = u16> {
    (0..=u16::MAX).step_by(sized(1, 1285))
}

#[test]
fn the_hash_of_a_port_is_that_of_port_zero_plus_the_port() {
    for seed in 0..4 {
        let map: NullsHashMap<Flow, (), MonotoneState> =
            NullsHashMap::builder().hasher(state(seed)).build();
        let hash = |port| map.hasher().hash_one(flow(port));
        for port in ports() {
            assert_eq!(hash(port), hash(0).wrapping_add(u64::from(port)));
            check_monotone_key(&flow(port));
        }
        // And it is a hash: another base, another place.
        let other = Flow {
            remote_port: 444,
            ..flow(0)
        };
        let distance = map.hasher().hash_one(other).wrapping_sub(hash(0));
        assert!(distance > 1 << 20 && distance < u64::MAX - (1 << 20));
        // A new table has another secret.
        assert_ne!(MonotoneState::new().hash_one(flow(0)), hash(0));
        assert_eq!(map.hasher().clone().hash_one(flow(7)), hash(7));
    }
}

#[test]
fn a_map_under_monotone_hashes_is_a_map() {
    for shift in [0, 3, 6] {
        let map: NullsHashMap<Flow, u16, MonotoneState> = NullsHashMap::builder()
            .hasher(state(1))
            .shift(shift)
            .build();
        let m = map.pin();
        for port in ports() {
            assert_eq!(m.insert(flow(port), port), None);
        }
        for port in ports() {
            assert_eq!(m.get(&flow(port)), Some(&port));
            assert_eq!(
                m.get(&Flow {
                    remote_port: 444,
                    ..flow(port)
                }),
                None
            );
        }
        assert_eq!(
            (map.len(), m.iter().count()),
            (ports().count(), ports().count())
        );
        m.retain(|flow, _| flow.local_port % 2 == 0);
        assert!(ports().all(|port| m.contains_key(&flow(port)) == (port % 2 == 0)));
    }
}

/// A table whose buckets are known to be so many.
fn fixed(buckets: usize, shift: u32) -> NullsHashTable<u64> {
    let table = NullsHashTable::builder()
        .capacity(buckets * 5)
        .growth(Growth::Fixed)
        .shift(shift)
        .build();
    assert_eq!(table.stats().buckets, buckets);
    table
}

const BUCKETS: usize = 1024;
const SLOTS: usize = 6;

/// Buckets are `((hash(0) + port) >> shift) & mask`: six ports a bucket fill every line to the last slot and no more.
/// One bucket out of the row would have a seventh.
#[test]
fn consecutive_ports_take_buckets_in_turn() {
    for seed in 0..sized(8, 1) as u64 {
        let base = state(seed).hash_one(flow(0));
        let table = fixed(BUCKETS, 0);
        let t = table.pin();
        for port in 0..(BUCKETS * SLOTS) as u64 {
            let hash = base.wrapping_add(port);
            t.insert(hash, hash);
            if port % 512 == 0 {
                assert_eq!(table.stats().linked_buckets, 0);
            }
        }
        assert_eq!(table.stats().longest_chain, 1);
        // From now on each port is one more linked bucket.
        for more in 1..=64 {
            let hash = base.wrapping_add((BUCKETS * SLOTS) as u64 + more - 1);
            t.insert(hash, hash);
            assert_eq!(table.stats().linked_buckets as u64, more);
        }
    }
    // Hashes that are not monotone do overflow at that load: the figures above mean something.
    let table = fixed(BUCKETS, 0);
    let mut rng = Rng::new(0x5eed_0060);
    for _ in 0..BUCKETS * SLOTS {
        let hash = rng.next();
        table.pin().insert(hash, hash);
    }
    assert!(table.stats().linked_buckets > BUCKETS / 4);
}

/// With a shift, 2^shift consecutive hashes share a bucket, those that begin at a multiple of it.
#[test]
fn a_shift_puts_neighbours_into_one_bucket() {
    for shift in 1..=6_u32 {
        let group = 1_u64 << shift;
        for seed in 0..4 {
            // The first hash of a group, whichever port that is.
            let start = state(seed).hash_one(flow(0)) >> shift << shift;
            let table = fixed(BUCKETS, shift);
            let t = table.pin();
            let mut lines = 0;
            for hash in start..start + group {
                t.insert(hash, hash);
                let stats = table.stats();
                lines = stats.longest_chain;
                assert_eq!(
                    lines,
                    usize::try_from(hash - start).expect("few") / SLOTS + 1
                );
                assert!(stats.linked_buckets <= 1);
            }
            // The next group begins the next bucket, which has room.
            for hash in start + group..start + group + 6.min(group) {
                t.insert(hash, hash);
            }
            let stats = table.stats();
            assert_eq!(
                (stats.longest_chain, stats.linked_buckets),
                (lines, usize::from(lines > 1))
            );
            // And so has the one before.
            for hash in start - 6.min(group)..start {
                t.insert(hash, hash);
            }
            let stats = table.stats();
            assert_eq!(
                (stats.longest_chain, stats.linked_buckets),
                (lines, usize::from(lines > 1))
            );
        }
    }
}

/// All ports under a shift: every bucket has as many, in as many lines as these take.
#[test]
fn all_ports_spread_evenly_under_a_shift() {
    if cfg!(miri) {
        return;
    }
    for shift in [0, 2, 3, 5] {
        let table = fixed(BUCKETS, shift);
        let t = table.pin();
        let base = state(5).hash_one(flow(0));
        for port in 0..=u64::from(u16::MAX) {
            t.insert(base.wrapping_add(port), port);
        }
        let stats = table.stats();
        // 65,536 consecutive hashes go round all buckets 64 >> shift times, 2^shift entries each time.
        assert_eq!((stats.entries, stats.linked_buckets), (65_536, BUCKETS));
        assert_eq!(stats.longest_chain, 64_usize.div_ceil(SLOTS));
        assert!(stats.overflow_lines >= BUCKETS * (64_usize.div_ceil(SLOTS) - 1));
    }
}

/// Tags of ports that share a bucket differ, so tags alone say which of them are taken.
#[test]
fn tags_tell_the_ports_of_a_bucket_apart() {
    let shift = 3;
    for seed in 0..sized(3, 1) as u64 {
        let base = state(seed).hash_one(flow(0));
        // As many buckets as there are groups of ports, so that no two groups share one. Every third port is taken,
        // so at most three of a bucket: no overflow line, and no tag of another group.
        let table = fixed(1 << 14, shift);
        let t = table.pin();
        for port in (0..=u64::from(u16::MAX)).step_by(3) {
            t.insert(base.wrapping_add(port), port);
        }
        assert_eq!(table.stats().linked_buckets, 0);
        for port in ports().map(u64::from) {
            let hash = base.wrapping_add(port);
            assert_eq!(t.maybe_contains(hash), port % 3 == 0, "port {port}");
            assert_eq!(
                t.find(hash, |&found| found == port).is_some(),
                port % 3 == 0
            );
        }
    }
}

/// A port's own entry gone, its neighbours' tags are not taken for its own.
#[test]
fn a_port_that_is_given_back_is_free_at_once() {
    let shift = 2;
    let base = state(9).hash_one(flow(0));
    let table = fixed(1 << 14, shift);
    let t = table.pin();
    for port in ports().map(u64::from) {
        t.insert(base.wrapping_add(port), port);
    }
    for port in ports().map(u64::from) {
        let hash = base.wrapping_add(port);
        assert!(t.maybe_contains(hash));
        assert_eq!(t.remove(hash, |&found| found == port), Some(&port));
        assert!(!t.maybe_contains(hash), "port {port}");
        t.insert(hash, port);
    }
}

/// Growth keeps neighbours together: a map that grows by itself has as few links as one that was made large.
#[test]
fn growth_keeps_neighbours_in_their_row() {
    let map: NullsHashMap<Flow, (), MonotoneState> =
        NullsHashMap::builder().hasher(state(2)).build();
    let m = map.pin();
    let ports = sized(20_000, 500);
    for port in 0..u16::try_from(ports).expect("few") {
        m.insert(flow(port), ());
    }
    map.reserve(0);
    let stats = map.stats();
    // The row goes round the buckets a few times, and so does every bucket's chain: none is longer than needed.
    assert_eq!(
        stats.longest_chain,
        ports.div_ceil(stats.buckets).div_ceil(SLOTS),
        "{stats}"
    );
}
