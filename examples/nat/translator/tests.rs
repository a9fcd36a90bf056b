//! Tests of the translator by itself. They run as part of `tests/nat.rs`.

use core::ops::RangeInclusive;
use std::collections::HashSet;
use std::sync::Barrier;
use std::thread::{self, ScopedJoinHandle};

use nulls::hash::check_monotone_key;

use super::*;

const SERVER: Endpoint = Endpoint {
    address: [198, 18, 0, 1],
    port: 443,
};
const OTHER_SERVER: Endpoint = Endpoint {
    address: [198, 18, 0, 2],
    port: 443,
};
const THREADS: u32 = 4;

fn nat(addresses: u8, ports: RangeInclusive<u16>) -> Nat {
    let addresses = (1..=addresses).map(|last| [203, 0, 113, last]);
    Nat::new(Pool::new(addresses.collect(), ports))
}

/// The UDP conversation with this number with a server; no two have the same inside end. A host has
/// 256 of them.
fn udp_with(remote: Endpoint, number: u32) -> Tuple {
    let [high, middle, low, place] = number.to_be_bytes();
    let local = Endpoint {
        address: [10, high, middle, low],
        port: 10_000 + u16::from(place),
    };
    Tuple::new(UDP, local, remote)
}

fn udp(number: u32) -> Tuple {
    udp_with(SERVER, number)
}

fn tcp() -> Tuple {
    Tuple::new(TCP, udp(1).local(), SERVER)
}

fn send(nat: &Nat, inside: Tuple, now: u32) -> Result<Endpoint, Refused> {
    nat.pin().outbound(&inside, Signal::Data, now)
}

/// Each reverse entry leads to a forward entry that leads back, and there are as many of each.
fn assert_bijection(nat: &Nat) {
    let view = nat.pin();
    for (outside, inside) in &view.reverse {
        let mapping = view.forward.get(&outside.with_local(inside));
        let external = mapping.map(|mapping| mapping.external);
        assert_eq!(external, Some(outside.local()), "{outside:?} of {inside:?}");
    }
    let [forward, reverse] = nat.len();
    assert_eq!(forward, reverse);
}

/// Whatever happened before: no port is lost when all mappings have expired.
fn assert_no_leaks(nat: &Nat) {
    assert_bijection(nat);
    nat.expire(u32::MAX);
    assert_eq!(nat.len(), [0, 0]);
    assert_eq!(nat.made(), nat.expired());
}

/// Runs `work` on several threads that begin together, and returns what they return.
fn on_threads<R: Send>(work: impl Fn(u32) -> R + Sync) -> Vec<R> {
    let barrier = Barrier::new(THREADS as usize);
    thread::scope(|scope| {
        let start = |number| {
            let (barrier, work) = (&barrier, &work);
            scope.spawn(move || {
                barrier.wait();
                work(number)
            })
        };
        let threads: Vec<_> = (0..THREADS).map(start).collect();
        let results = threads.into_iter().map(ScopedJoinHandle::join);
        results.map(|result| result.expect("no panic")).collect()
    })
}

// ---- the entries ------------------------------------------------------------------------------

#[test]
fn two_entries_fit_a_line() {
    assert_eq!(size_of::<Tuple>() + size_of::<Mapping>(), 24);
    assert_eq!(size_of::<Tuple>() + size_of::<Endpoint>(), 20);
}

#[test]
fn the_local_port_can_be_added_to_the_hash() {
    check_monotone_key(&udp(1));
    check_monotone_key(&udp(1).with_local(Endpoint::default()));
}

// ---- translation ------------------------------------------------------------------------------

#[test]
fn translation_is_a_bijection() {
    let nat = nat(3, PORTS);
    let mut seen = HashSet::new();
    for n in 0..20_000 {
        for remote in [SERVER, OTHER_SERVER] {
            let inside = udp_with(remote, n);
            let external = send(&nat, inside, 0).expect("a free port");
            assert!(seen.insert(inside.with_local(external)), "given twice");
            assert_eq!(send(&nat, inside, 0), Ok(external), "the next packet");
            let answer = nat.pin().inbound(&inside.with_local(external));
            assert_eq!(answer, Some(inside.local()));
        }
    }
    assert_eq!((nat.len(), nat.made()), ([40_000, 40_000], 40_000));
    assert_no_leaks(&nat);
}

#[test]
fn only_the_remote_end_itself_comes_in() {
    let nat = nat(1, PORTS);
    let external = send(&nat, udp(1), 0).expect("a free port");
    let stranger = udp_with(OTHER_SERVER, 1).with_local(external);
    assert_eq!(nat.pin().inbound(&stranger), None);
    let other_protocol = Tuple::new(TCP, external, SERVER);
    assert_eq!(nat.pin().inbound(&other_protocol), None);
    assert_eq!(nat.len(), [1, 1]);
}

#[test]
fn a_host_has_one_external_address_and_all_addresses_are_used() {
    let nat = nat(4, PORTS);
    let mut addresses = HashSet::new();
    for host in 0..100 {
        let send = |place: u32| send(&nat, udp(host << 8 | place), 0);
        let [one, other] = [1, 2].map(|place| send(place).expect("a free port"));
        assert_eq!(one.address, other.address);
        addresses.insert(one.address);
    }
    assert_eq!(addresses.len(), 4);
}

#[test]
fn a_burst_is_translated_as_its_packets_are() {
    let (single, burst) = (nat(1, 5000..=5019), nat(1, 5000..=5019));
    // With conversations that are known, that are new, that occur twice, and that get no port.
    let known: Vec<_> = (0..10).map(udp).collect();
    let packets: Vec<_> = (5..30).chain(5..12).map(udp).collect();
    for nat in [&single, &burst] {
        for &inside in &known {
            send(nat, inside, 0).expect("a free port");
        }
    }
    let expected = packets.iter().map(|&inside| send(&single, inside, 1));
    let expected: Vec<_> = expected.map(|result| result.is_ok()).collect();

    let view = burst.pin();
    let mut results = Vec::new();
    view.outbound_many(&packets, &[Signal::Data; BURST], 1, |end| results.push(end));
    let got: Vec<_> = results.iter().map(Result::is_ok).collect();
    assert_eq!(got, expected);

    let external = |result: &Result<Endpoint, _>| result.unwrap_or_default();
    let outside = packets.iter().zip(&results);
    let outside = outside.map(|(inside, result)| inside.with_local(external(result)));
    let outside: Vec<_> = outside.collect();
    let mut back = [None; BURST];
    view.inbound_many(&outside, &mut back);
    for ((inside, result), back) in packets.iter().zip(&results).zip(back) {
        assert_eq!(back, result.is_ok().then_some(inside.local()));
    }
    drop(view);
    assert_eq!(burst.made(), 20);
    assert_no_leaks(&burst);
}

// ---- ports ------------------------------------------------------------------------------------

#[test]
fn exhaustion_is_reported_and_loses_nothing() {
    let nat = nat(1, 5000..=5099);
    let external = |n| send(&nat, udp(n), 0);
    let given: Vec<_> = (0..100).map(external).collect();
    let ports: HashSet<_> = given.iter().flatten().map(|end| end.port).collect();
    assert_eq!(ports, (5000..=5099).collect());

    for n in 100..110 {
        assert_eq!(external(n), Err(Refused::PortsExhausted));
    }
    assert_eq!((nat.len(), nat.made()), ([100, 100], 100));
    assert_eq!((0..100).map(external).collect::<Vec<_>>(), given);
    // The same ports serve another remote end.
    assert!(send(&nat, udp_with(OTHER_SERVER, 100), 0).is_ok());
    assert_no_leaks(&nat);
    assert!(external(100).is_ok());
}

#[test]
fn no_port_is_given_twice() {
    let nat = nat(1, 5000..=9999);
    // More conversations than ports, all of them different.
    let given = on_threads(|thread| {
        let mine = (0..2000).map(|n| send(&nat, udp(n * THREADS + thread), 0));
        mine.flatten().collect::<Vec<_>>()
    })
    .concat();
    assert_eq!(given.len(), 5000, "every port is given");
    let different: HashSet<_> = given.into_iter().collect();
    assert_eq!(different.len(), 5000, "to one conversation");
    assert_no_leaks(&nat);
}

#[test]
fn threads_with_the_same_conversation_agree() {
    let nat = nat(2, PORTS);
    let given = on_threads(|_| {
        let all = (0..5000).map(|n| send(&nat, udp(n), 0));
        all.collect::<Vec<_>>()
    });
    assert!(given.iter().all(|of_thread| *of_thread == given[0]));
    assert_eq!((nat.len(), nat.made()), ([5000, 5000], 5000));
    assert_no_leaks(&nat);
}

#[test]
fn nothing_leaks_while_mappings_come_and_go() {
    let nat = nat(1, 5000..=5499);
    on_threads(|thread| {
        for now in 0..2000 {
            // Conversations that other threads have too, idle for longer than a lease lasts.
            let inside = udp((now * 7 + thread) % 400);
            let external = send(&nat, inside, now * 10).expect("a free port");
            let back = nat.pin().inbound(&inside.with_local(external));
            // Another thread may be ahead and have let it expire, and the port may have passed on.
            assert!(back.is_none_or(|end| end.address[0] == 10));
            if now % 16 == thread {
                nat.expire(now * 10);
            }
        }
    });
    assert!(nat.expired() > 1000, "{}", nat.expired());
    assert_no_leaks(&nat);
}

// ---- expiry -----------------------------------------------------------------------------------

/// Whether all mappings survive a sweep at this time.
fn survives(nat: &Nat, now: u32) -> bool {
    let before = nat.len();
    nat.expire(now);
    assert_bijection(nat);
    nat.len() == before
}

#[test]
fn expiry_frees_ports() {
    let nat = nat(1, 5000..=5000);
    let external = send(&nat, udp(1), 1000).expect("a free port");
    assert_eq!(send(&nat, udp(2), 1000), Err(Refused::PortsExhausted));
    assert!(survives(&nat, 1000 + 300), "RFC 4787, REQ-5");
    assert!(!survives(&nat, 1000 + 338));
    assert_eq!(nat.pin().inbound(&udp(1).with_local(external)), None);
    assert_eq!(send(&nat, udp(2), 2000), Ok(external));
    assert_no_leaks(&nat);
}

#[test]
fn only_outbound_packets_renew() {
    let nat = nat(1, PORTS);
    let external = send(&nat, udp(1), 0).expect("a free port");
    for now in (0..2000).step_by(100) {
        assert_eq!(send(&nat, udp(1), now), Ok(external));
        assert!(survives(&nat, now + 300));
    }
    let view = nat.pin();
    assert!(view.inbound(&udp(1).with_local(external)).is_some());
    drop(view);
    assert!(!survives(&nat, 1900 + 338));
}

#[test]
fn a_packet_revives_what_was_not_swept_yet() {
    let nat = nat(1, PORTS);
    let external = send(&nat, udp(1), 0);
    assert_eq!(send(&nat, udp(1), 5000), external);
    assert!(survives(&nat, 5300));
    assert_eq!(nat.made(), 1);
}

#[test]
fn tcp_lives_as_long_as_its_state_allows() {
    use Signal::{Close, Data, Open};

    let after = |signals: &[Signal]| {
        let nat = nat(1, PORTS);
        for &signal in signals {
            nat.pin().outbound(&tcp(), signal, 0).expect("a free port");
        }
        let idle = [240, 7440, 8371].into_iter();
        idle.take_while(|&now| survives(&nat, now)).last()
    };
    assert_eq!(after(&[Open]), Some(240), "half open");
    assert_eq!(after(&[Open, Data]), Some(7440), "established");
    assert_eq!(after(&[Data]), Some(7440), "picked up in the middle");
    assert_eq!(after(&[Open, Data, Close]), Some(240), "closing");
    assert_eq!(after(&[Open, Data, Close, Data]), Some(240), "last word");
    assert_eq!(after(&[Data, Close, Open, Data]), Some(7440), "reused");
}
