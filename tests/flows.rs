//! Runs the `flows` example on captures with known contents, with one worker and with four.
//!
//! The captures are put together here byte by byte, without the crates that the example parses them
//! with, so that a mistake of theirs is not repeated here.
//!
//! A plain `cargo test` builds the example first. With a selection of targets, such as
//! `cargo test --test flows`, it does not: run `cargo build --example flows` before.

#![cfg(all(feature = "std", not(miri)))]

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::Value;

// ---- running the example ----------------------------------------------------------------------

/// What a report has to say.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
struct Counts {
    packets: u64,
    bytes: u64,
    tcp: u64,
    udp: u64,
}

impl Counts {
    /// The counts of whole frames.
    fn of(frames: &[Vec<u8>], tcp: u64, udp: u64) -> Self {
        Self {
            packets: frames.len() as u64,
            bytes: frames.iter().map(|frame| frame.len() as u64).sum(),
            tcp,
            udp,
        }
    }

    /// Reads a report, which must be one JSON object and nothing else.
    fn from_json(stdout: &[u8], threads: u64) -> Self {
        let report: Value = serde_json::from_slice(stdout).expect("one JSON object on stdout");
        let field = |name: &str| report[name].as_u64().expect(name);
        assert_eq!(field("threads"), threads);
        Self {
            packets: field("packets"),
            bytes: field("bytes"),
            tcp: field("tcp"),
            udp: field("udp"),
        }
    }
}

/// The example, which lies beside the directory of the test programs.
fn flows() -> Command {
    let test = std::env::current_exe().expect("the path of this program");
    let profile = test
        .parent()
        .and_then(Path::parent)
        .expect("target/<profile>/deps");
    let name = format!("flows{}", std::env::consts::EXE_SUFFIX);
    let example = profile.join("examples").join(name);
    assert!(
        example.exists(),
        "{} is missing: run `cargo build --example flows` (`--release` for a release test)",
        example.display()
    );
    Command::new(example)
}

fn run(file: &Path, threads: u64) -> Output {
    flows()
        .arg(file)
        .arg("--json")
        .args(["--threads", &threads.to_string()])
        .output()
        .expect("the example starts")
}

fn write(name: &str, contents: &[u8]) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("flows-{name}"));
    fs::write(&path, contents).expect("a writable target directory");
    path
}

fn lines(stderr: &[u8]) -> usize {
    String::from_utf8_lossy(stderr).lines().count()
}

/// The file is whole: its counts, no complaint.
fn check_file(path: &Path, expected: Counts) {
    for threads in [1, 4] {
        let output = run(path, threads);
        assert_eq!(
            output.status.code(),
            Some(0),
            "{}: {output:?}",
            path.display()
        );
        assert_eq!(
            Counts::from_json(&output.stdout, threads),
            expected,
            "{}",
            path.display()
        );
    }
}

fn check(name: &str, capture: &[u8], expected: Counts) {
    check_file(&write(name, capture), expected);
}

/// The file breaks off or goes wrong: the counts of what is before, one complaint.
fn check_damaged(name: &str, capture: &[u8], expected: Counts) {
    let path = write(name, capture);
    for threads in [1, 4] {
        let output = run(&path, threads);
        assert_eq!(output.status.code(), Some(2), "{name}: {output:?}");
        assert_eq!(lines(&output.stderr), 1, "{name}: {output:?}");
        assert_eq!(
            Counts::from_json(&output.stdout, threads),
            expected,
            "{name}"
        );
    }
}

/// The file is no capture: no counts, one complaint.
fn check_foreign(path: &Path) {
    for threads in [1, 4] {
        let output = run(path, threads);
        assert_eq!(
            output.status.code(),
            Some(2),
            "{}: {output:?}",
            path.display()
        );
        assert_eq!(lines(&output.stderr), 1, "{}: {output:?}", path.display());
        assert!(output.stdout.is_empty(), "{}: {output:?}", path.display());
    }
}

// ---- packets ----------------------------------------------------------------------------------

const IPV4: u16 = 0x0800;
const IPV6: u16 = 0x86dd;
const ARP: u16 = 0x0806;

const ICMP: u8 = 1;
const IP_IN_IP: u8 = 4;
const TCP: u8 = 6;
const UDP: u8 = 17;
const GRE: u8 = 47;
const ESP: u8 = 50;
const ICMPV6: u8 = 58;

const HOP_BY_HOP: u8 = 0;
const ROUTING: u8 = 43;
const FRAGMENT: u8 = 44;
const AUTHENTICATION: u8 = 51;
const DESTINATION_OPTIONS: u8 = 60;

const A4: [u8; 4] = [192, 0, 2, 1];
const B4: [u8; 4] = [192, 0, 2, 2];
const A6: [u8; 16] = [0x20, 1, 0x0d, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1];
const B6: [u8; 16] = [0x20, 1, 0x0d, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2];

fn be(field: usize) -> [u8; 2] {
    u16::try_from(field).expect("a 16-bit field").to_be_bytes()
}

fn tcp(source: u16, destination: u16) -> Vec<u8> {
    let ports = [source.to_be_bytes(), destination.to_be_bytes()].concat();
    [&ports[..], &[0; 8], &[0x50, 0x10, 0xff, 0xff, 0, 0, 0, 0]].concat()
}

fn udp(source: u16, destination: u16) -> Vec<u8> {
    let ports = [source.to_be_bytes(), destination.to_be_bytes()].concat();
    [&ports[..], &[0, 8, 0, 0]].concat()
}

/// `fragment` is the raw field: flags, and the offset in units of eight bytes.
fn ipv4_fragment(
    protocol: u8,
    source: [u8; 4],
    destination: [u8; 4],
    fragment: u16,
    payload: &[u8],
) -> Vec<u8> {
    let len = be(20 + payload.len());
    let flags = fragment.to_be_bytes();
    let start = [0x45, 0, len[0], len[1], 0, 1, flags[0], flags[1], 64];
    [
        &start[..],
        &[protocol, 0, 0],
        &source,
        &destination,
        payload,
    ]
    .concat()
}

fn ipv4(protocol: u8, source: [u8; 4], destination: [u8; 4], payload: &[u8]) -> Vec<u8> {
    ipv4_fragment(protocol, source, destination, 0, payload)
}

fn ipv6(next: u8, source: [u8; 16], destination: [u8; 16], payload: &[u8]) -> Vec<u8> {
    let len = be(payload.len());
    let start = [0x60, 0, 0, 0, len[0], len[1], next, 64];
    [&start[..], &source, &destination, payload].concat()
}

/// An extension header of eight bytes.
fn extension(next: u8, payload: &[u8]) -> Vec<u8> {
    [&[next, 0, 1, 4, 0, 0, 0, 0], payload].concat()
}

fn fragment_header(next: u8, offset_and_more: u16, payload: &[u8]) -> Vec<u8> {
    let offset = offset_and_more.to_be_bytes();
    [&[next, 0, offset[0], offset[1], 0, 0, 0, 7], payload].concat()
}

fn ethernet(ether_type: u16, payload: &[u8]) -> Vec<u8> {
    tagged(&[], ether_type, payload)
}

/// An Ethernet frame with these VLAN tags: the type of each and its number.
fn tagged(tags: &[(u16, u16)], ether_type: u16, payload: &[u8]) -> Vec<u8> {
    let mut frame = vec![2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2];
    for (tag, vlan) in tags {
        frame.extend(tag.to_be_bytes());
        frame.extend(vlan.to_be_bytes());
    }
    frame.extend(ether_type.to_be_bytes());
    frame.extend(payload);
    frame
}

/// A TCP packet over IPv4, a UDP packet over IPv6, and an answer to the first.
fn small_talk() -> Vec<Vec<u8>> {
    vec![
        ethernet(IPV4, &ipv4(TCP, A4, B4, &tcp(40000, 80))),
        ethernet(IPV6, &ipv6(UDP, A6, B6, &udp(40000, 53))),
        ethernet(IPV4, &ipv4(TCP, B4, A4, &tcp(80, 40000))),
    ]
}

// ---- files ------------------------------------------------------------------------------------

const ETHERNET: u32 = 1;

const MICROSECONDS: u32 = 0xa1b2_c3d4;
const NANOSECONDS: u32 = 0xa1b2_3c4d;

#[derive(Clone, Copy, Debug)]
enum Order {
    Little,
    Big,
}

impl Order {
    fn u16(self, value: u16) -> [u8; 2] {
        match self {
            Self::Little => value.to_le_bytes(),
            Self::Big => value.to_be_bytes(),
        }
    }

    fn u32(self, value: u32) -> [u8; 4] {
        match self {
            Self::Little => value.to_le_bytes(),
            Self::Big => value.to_be_bytes(),
        }
    }

    fn len(self, bytes: &[u8]) -> [u8; 4] {
        self.u32(u32::try_from(bytes.len()).expect("a short frame"))
    }
}

fn pcap_header(order: Order, magic: u32, link: u32) -> Vec<u8> {
    let mut header = order.u32(magic).to_vec();
    header.extend([order.u16(2), order.u16(4)].concat());
    for field in [0, 0, 65535, link] {
        header.extend(order.u32(field));
    }
    header
}

fn pcap_packet(order: Order, frame: &[u8]) -> Vec<u8> {
    let (time, len) = (order.u32(7), order.len(frame));
    [&time[..], &time, &len, &len, frame].concat()
}

fn pcap_with(order: Order, magic: u32, link: u32, frames: &[Vec<u8>]) -> Vec<u8> {
    let mut file = pcap_header(order, magic, link);
    for frame in frames {
        file.extend(pcap_packet(order, frame));
    }
    file
}

fn pcap(frames: &[Vec<u8>]) -> Vec<u8> {
    pcap_with(Order::Little, MICROSECONDS, ETHERNET, frames)
}

fn block(order: Order, kind: u32, contents: &[u8]) -> Vec<u8> {
    let padding = vec![0; contents.len().next_multiple_of(4) - contents.len()];
    let contents = [contents, &padding].concat();
    let len = order.u32(u32::try_from(contents.len() + 12).expect("a short block"));
    [&order.u32(kind)[..], &len, &contents, &len].concat()
}

fn section(order: Order) -> Vec<u8> {
    let version = [order.u16(1), order.u16(0)].concat();
    let contents = [&order.u32(0x1a2b_3c4d)[..], &version, &[0xff; 8]].concat();
    block(order, 0x0a0d_0d0a, &contents)
}

fn interface(order: Order, link: u16, snap_len: u32) -> Vec<u8> {
    let contents = [&order.u16(link)[..], &[0, 0], &order.u32(snap_len)].concat();
    block(order, 1, &contents)
}

fn enhanced_packet(order: Order, interface: u32, frame: &[u8]) -> Vec<u8> {
    let (time, len) = (order.u32(7), order.len(frame));
    let header = [order.u32(interface), time, time, len, len].concat();
    block(order, 6, &[&header, frame].concat())
}

fn simple_packet(order: Order, frame: &[u8]) -> Vec<u8> {
    block(order, 3, &[&order.len(frame), frame].concat())
}

fn obsolete_packet(order: Order, frame: &[u8]) -> Vec<u8> {
    let (time, len) = (order.u32(7), order.len(frame));
    let header = [&[0; 4], &time, &time, &len, &len].map(|field| field.to_vec());
    block(order, 2, &[header.concat(), frame.to_vec()].concat())
}

fn pcapng(order: Order, frames: &[Vec<u8>]) -> Vec<u8> {
    let mut file = [section(order), interface(order, 1, 0)].concat();
    for frame in frames {
        file.extend(enhanced_packet(order, 0, frame));
    }
    file
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(bytes).expect("room in memory");
    encoder.finish().expect("room in memory")
}

// ---- what a conversation is -------------------------------------------------------------------

#[test]
fn a_conversation_has_two_directions_and_one_protocol() {
    let frames = [
        ethernet(IPV4, &ipv4(TCP, A4, B4, &tcp(40000, 53))),
        ethernet(IPV4, &ipv4(TCP, B4, A4, &tcp(53, 40000))),
        // Each of these differs in one part of the key.
        ethernet(IPV4, &ipv4(UDP, A4, B4, &udp(40000, 53))),
        ethernet(IPV4, &ipv4(TCP, A4, B4, &tcp(40001, 53))),
        ethernet(IPV4, &ipv4(TCP, B4, A4, &tcp(40000, 53))),
        ethernet(IPV4, &ipv4(TCP, A4, A4, &tcp(40000, 53))),
        ethernet(ARP, &[0; 28]),
    ];
    check("directions", &pcap(&frames), Counts::of(&frames, 4, 1));
}

#[test]
fn vlan_tags_are_skipped_and_not_part_of_the_key() {
    let there = ipv4(TCP, A4, B4, &tcp(40000, 80));
    let back = ipv4(TCP, B4, A4, &tcp(80, 40000));
    let frames = [
        ethernet(IPV4, &there),
        tagged(&[(0x8100, 5)], IPV4, &there),
        tagged(&[(0x8100, 6)], IPV4, &back),
        tagged(&[(0x88a8, 5), (0x8100, 6)], IPV4, &there),
        tagged(&[(0x9100, 5), (0x8100, 7)], IPV4, &back),
        tagged(&[(0x8100, 1); 5], IPV4, &there),
        tagged(
            &[(0x88a8, 5), (0x8100, 6)],
            IPV6,
            &ipv6(UDP, A6, B6, &udp(1, 2)),
        ),
        // Nothing behind the tag.
        tagged(&[], 0x8100, &[0]),
    ];
    check("vlan", &pcap(&frames), Counts::of(&frames, 1, 1));
}

#[test]
fn extension_headers_are_walked() {
    let chain = extension(
        DESTINATION_OPTIONS,
        &extension(ROUTING, &extension(TCP, &tcp(40000, 80))),
    );
    let authenticated = [&[TCP, 4, 0, 0][..], &[0; 20], &tcp(40000, 81)].concat();
    let frames = [
        ethernet(IPV6, &ipv6(TCP, A6, B6, &tcp(40000, 80))),
        ethernet(IPV6, &ipv6(HOP_BY_HOP, A6, B6, &chain)),
        ethernet(IPV6, &ipv6(AUTHENTICATION, A6, B6, &authenticated)),
        // The chain is cut off behind a whole header, and within one.
        ethernet(IPV6, &ipv6(HOP_BY_HOP, A6, B6, &chain[..8])),
        ethernet(IPV6, &ipv6(HOP_BY_HOP, A6, B6, &chain[..12])),
    ];
    check("extensions", &pcap(&frames), Counts::of(&frames, 2, 0));
}

#[test]
fn only_first_fragments_have_ports() {
    let (first, later) = (0x2000, 0x2000 + 185);
    let frames = [
        ethernet(IPV4, &ipv4_fragment(UDP, A4, B4, first, &udp(1000, 53))),
        ethernet(IPV4, &ipv4_fragment(UDP, A4, B4, later, &udp(1001, 53))),
        ethernet(IPV4, &ipv4_fragment(UDP, A4, B4, 185, &udp(1002, 53))),
        ethernet(
            IPV6,
            &ipv6(FRAGMENT, A6, B6, &fragment_header(TCP, 1, &tcp(1000, 80))),
        ),
        ethernet(
            IPV6,
            &ipv6(
                FRAGMENT,
                A6,
                B6,
                &fragment_header(TCP, 1448 + 1, &tcp(1001, 80)),
            ),
        ),
        ethernet(
            IPV6,
            &ipv6(
                FRAGMENT,
                A6,
                B6,
                &fragment_header(TCP, 1448, &tcp(1002, 80)),
            ),
        ),
        // In a later fragment this is payload, whatever it looks like.
        ethernet(
            IPV6,
            &ipv6(
                FRAGMENT,
                A6,
                B6,
                &fragment_header(ROUTING, 1448, &extension(TCP, &tcp(1003, 80))),
            ),
        ),
    ];
    check("fragments", &pcap(&frames), Counts::of(&frames, 1, 1));
}

#[test]
fn quoted_and_tunnelled_headers_do_not_count() {
    let inner4 = ipv4(TCP, A4, B4, &tcp(40000, 80));
    let inner6 = ipv6(TCP, A6, B6, &tcp(40000, 80));
    let unreachable4 = [&[3, 1, 0, 0, 0, 0, 0, 0], &inner4[..]].concat();
    let unreachable6 = [&[1, 0, 0, 0, 0, 0, 0, 0], &inner6[..]].concat();
    let gre = [&[0, 0, 8, 0], &inner4[..]].concat();
    let frames = [
        ethernet(IPV4, &ipv4(ICMP, B4, A4, &unreachable4)),
        ethernet(IPV6, &ipv6(ICMPV6, B6, A6, &unreachable6)),
        ethernet(IPV4, &ipv4(GRE, A4, B4, &gre)),
        ethernet(IPV4, &ipv4(IP_IN_IP, A4, B4, &inner4)),
        ethernet(IPV4, &ipv4(41, A4, B4, &inner6)),
        ethernet(IPV4, &ipv4(ESP, A4, B4, &[0; 40])),
    ];
    check("tunnels", &pcap(&frames), Counts::of(&frames, 0, 0));
}

#[test]
fn address_families_do_not_mix() {
    let padded = |address: [u8; 4], offset: usize| {
        let mut bytes = [0; 16];
        bytes[offset..offset + 4].copy_from_slice(&address);
        bytes
    };
    let mapped = |address: [u8; 4]| {
        let mut bytes = padded(address, 12);
        bytes[10..12].fill(0xff);
        bytes
    };
    let frames = [
        ethernet(IPV4, &ipv4(UDP, A4, B4, &udp(1111, 2222))),
        ethernet(
            IPV6,
            &ipv6(UDP, padded(A4, 0), padded(B4, 0), &udp(1111, 2222)),
        ),
        ethernet(
            IPV6,
            &ipv6(UDP, padded(A4, 12), padded(B4, 12), &udp(1111, 2222)),
        ),
        ethernet(IPV6, &ipv6(UDP, mapped(A4), mapped(B4), &udp(1111, 2222))),
    ];
    check("lookalike", &pcap(&frames), Counts::of(&frames, 0, 4));
}

#[test]
fn a_short_capture_length_hides_nothing() {
    let frame = ethernet(
        IPV4,
        &ipv4(TCP, A4, B4, &[&tcp(40000, 80)[..], &[0; 1000]].concat()),
    );
    let mut file = pcap_header(Order::Little, MICROSECONDS, ETHERNET);
    for captured in [38, 54, 100] {
        let lens = [Order::Little.u32(captured), Order::Little.u32(1054)].concat();
        file.extend([&[0; 8], &lens[..], &frame[..captured as usize]].concat());
    }
    let expected = Counts {
        packets: 3,
        bytes: 3 * 1054,
        tcp: 1,
        udp: 0,
    };
    check("snapped", &file, expected);
}

#[test]
fn padding_is_not_a_header() {
    // An IPv4 packet without payload in a frame that was filled up to 60 bytes.
    let mut frame = ethernet(IPV4, &ipv4(TCP, A4, B4, &[]));
    frame.resize(60, 1);
    let frames = [frame];
    check("padding", &pcap(&frames), Counts::of(&frames, 0, 0));
}

// ---- formats ----------------------------------------------------------------------------------

#[test]
fn pcap_in_any_byte_order_and_resolution() {
    let frames = small_talk();
    for order in [Order::Little, Order::Big] {
        for magic in [MICROSECONDS, NANOSECONDS] {
            let name = format!("pcap-{order:?}-{magic:x}");
            let file = pcap_with(order, magic, ETHERNET, &frames);
            check(&name, &file, Counts::of(&frames, 1, 1));
        }
    }
}

#[test]
fn pcap_with_the_longer_packet_header_of_old_kernels() {
    let frames = small_talk();
    let mut file = pcap_header(Order::Little, 0xa1b2_cd34, ETHERNET);
    for frame in &frames {
        let packet = pcap_packet(Order::Little, frame);
        file.extend([&packet[..16], &[0; 8], frame].concat());
    }
    check("modified", &file, Counts::of(&frames, 1, 1));
}

#[test]
fn pcapng_in_any_byte_order() {
    let frames = small_talk();
    for order in [Order::Little, Order::Big] {
        let name = format!("pcapng-{order:?}");
        check(&name, &pcapng(order, &frames), Counts::of(&frames, 1, 1));
    }
}

#[test]
fn pcapng_with_all_kinds_of_blocks() {
    for order in [Order::Little, Order::Big] {
        let packet = ipv4(TCP, A4, B4, &tcp(40000, 80));
        let other = ipv6(UDP, A6, B6, &udp(1, 2));
        let frames = [
            ethernet(IPV4, &packet),
            packet.clone(),
            ethernet(IPV4, &packet),
            other.clone(),
            ethernet(ARP, &[0; 28]),
        ];
        let file = [
            section(order),
            interface(order, 1, 0),
            interface(order, 101, 0),
            simple_packet(order, &frames[0]),
            block(order, 4, &[0; 8]),
            enhanced_packet(order, 1, &frames[1]),
            block(order, 0x0bad_cafe, b"contents of any kind"),
            obsolete_packet(order, &frames[2]),
            // Interfaces are numbered anew in each section.
            section(Order::Big),
            interface(Order::Big, 101, 0),
            simple_packet(Order::Big, &frames[3]),
            section(Order::Little),
            interface(Order::Little, 1, 0),
            enhanced_packet(Order::Little, 0, &frames[4]),
        ];
        let name = format!("blocks-{order:?}");
        check(&name, &file.concat(), Counts::of(&frames, 1, 1));
    }
}

#[test]
fn simple_packets_are_cut_at_the_snap_length() {
    let frame = ethernet(
        IPV4,
        &ipv4(TCP, A4, B4, &[&tcp(40000, 80)[..], &[0; 100]].concat()),
    );
    let order = Order::Little;
    // With 36 bytes the destination port is missing; the padding must not be taken for it.
    for (snap_len, tcp) in [(36_u32, 0), (40, 1)] {
        let contents = [&order.len(&frame)[..], &frame[..snap_len as usize]].concat();
        let blocks = [
            section(order),
            interface(order, 1, snap_len),
            block(order, 3, &contents),
        ];
        let expected = Counts {
            packets: 1,
            bytes: 154,
            tcp,
            udp: 0,
        };
        check(&format!("simple-{snap_len}"), &blocks.concat(), expected);
    }
}

#[test]
fn gzip_around_either_format() {
    let frames = small_talk();
    let expected = Counts::of(&frames, 1, 1);
    let (old, new) = (pcap(&frames), pcapng(Order::Little, &frames));
    check("pcap.gz", &gzip(&old), expected);
    check("pcapng.gz", &gzip(&new), expected);
    // Files that were compressed apart and joined afterwards.
    let joined = [gzip(&old[..50]), gzip(&old[50..])].concat();
    check("joined.gz", &joined, expected);
}

#[test]
fn link_types() {
    let v4 = ipv4(TCP, A4, B4, &tcp(40000, 80));
    let v6 = ipv6(UDP, A6, B6, &udp(40000, 53));
    let pair = |v4_header: &[u8], v6_header: &[u8]| {
        vec![[v4_header, &v4].concat(), [v6_header, &v6].concat()]
    };
    let cooked = |ether_type: u16| {
        let start = [0, 0, 0, 1, 0, 6, 2, 0, 0, 0, 0, 1, 0, 0];
        [&start[..], &ether_type.to_be_bytes()].concat()
    };
    let cooked2 = |ether_type: u16| {
        let rest = [0, 0, 0, 0, 0, 2, 0, 1, 0, 6, 2, 0, 0, 0, 0, 1, 0, 0];
        [&ether_type.to_be_bytes()[..], &rest].concat()
    };
    let cases = [
        ("null-little", 0, pair(&[2, 0, 0, 0], &[24, 0, 0, 0]), 1, 1),
        ("null-big", 0, pair(&[0, 0, 0, 2], &[0, 0, 0, 30]), 1, 1),
        ("loop", 108, pair(&[0, 0, 0, 2], &[0, 0, 0, 28]), 1, 1),
        ("raw", 101, pair(&[], &[]), 1, 1),
        ("raw-12", 12, pair(&[], &[]), 1, 1),
        ("ipv4", 228, pair(&[], &[]), 1, 0),
        ("ipv6", 229, pair(&[], &[]), 0, 1),
        ("cooked", 113, pair(&cooked(IPV4), &cooked(IPV6)), 1, 1),
        ("cooked2", 276, pair(&cooked2(IPV4), &cooked2(IPV6)), 1, 1),
        // A checksum of four bytes at the end of each frame, as told by the upper bits.
        ("checksum", 0x2400_0001, small_talk(), 1, 1),
        // 802.11 is not read: frames, and nothing in them.
        ("802.11", 105, pair(&[], &[]), 0, 0),
    ];
    for (name, link, frames, tcp, udp) in cases {
        let file = pcap_with(Order::Little, MICROSECONDS, link, &frames);
        check(name, &file, Counts::of(&frames, tcp, udp));
    }
}

#[test]
fn a_capture_without_packets_is_a_capture() {
    check("no-packets", &pcap(&[]), Counts::of(&[], 0, 0));
    check("no-blocks", &section(Order::Little), Counts::of(&[], 0, 0));
}

// ---- damage -----------------------------------------------------------------------------------

#[test]
fn a_cut_file_counts_up_to_the_cut() {
    let frames = small_talk();
    let expected = Counts::of(&frames[..2], 1, 1);
    for (name, whole) in [
        ("pcap", pcap(&frames)),
        ("pcapng", pcapng(Order::Big, &frames)),
    ] {
        // Within the last packet, and within its header.
        for missing in [1, frames[2].len(), frames[2].len() + 10] {
            let cut = &whole[..whole.len() - missing];
            check_damaged(&format!("cut-{missing}.{name}"), cut, expected);
        }
    }
}

#[test]
fn a_cut_gzip_counts_up_to_the_cut() {
    let frames = small_talk();
    let old = pcap(&frames);
    // Without its last eight bytes, a gzip file has all the data and no checksum.
    let whole = gzip(&old);
    let no_trailer = &whole[..whole.len() - 8];
    check_damaged("no-trailer.gz", no_trailer, Counts::of(&frames, 1, 1));
    // The second of two parts is missing, but for its magic number.
    let cut = [&gzip(&old[..old.len() - 30])[..], &[0x1f, 0x8b]].concat();
    check_damaged("cut.gz", &cut, Counts::of(&frames[..2], 1, 1));
    // A wrong checksum.
    let mut wrong = whole.clone();
    wrong[whole.len() - 8] ^= 1;
    check_damaged("wrong.gz", &wrong, Counts::of(&frames, 1, 1));
}

#[test]
fn a_claimed_length_is_not_believed() {
    let frames = small_talk();
    let expected = Counts::of(&frames, 1, 1);
    let order = Order::Little;
    for claim in [300_000, 0x7fff_ffff, 0xffff_ffff] {
        let claimed = order.u32(claim);
        let packet = [[0; 4], [0; 4], claimed, claimed].concat();
        let file = [pcap(&frames), packet].concat();
        check_damaged(&format!("claim-{claim:x}.pcap"), &file, expected);

        let file = [pcapng(order, &frames), [order.u32(6), claimed].concat()].concat();
        check_damaged(&format!("claim-{claim:x}.pcapng"), &file, expected);
    }
    // Not even when the bytes are there: they are the packets that follow.
    let claimed = order.u32(262_145);
    let packet = [[0; 4], [0; 4], claimed, claimed].concat();
    let file = [&pcap(&frames)[..], &packet, &vec![0; 300_000]].concat();
    check_damaged("claim-believable.pcap", &file, expected);
    // Too short for a block.
    for claim in [0_u32, 11] {
        let file = [
            pcapng(order, &frames),
            [order.u32(6), order.u32(claim)].concat(),
        ]
        .concat();
        check_damaged(&format!("claim-{claim}.pcapng"), &file, expected);
    }
}

#[test]
fn a_corrupt_block_ends_the_count() {
    let frames = small_talk();
    let order = Order::Little;
    let good = pcapng(order, &frames[..2]);
    let expected = Counts::of(&frames[..2], 1, 1);
    let last = enhanced_packet(order, 0, &frames[2]);
    let broken = |at: usize, byte: u8| {
        let mut block = last.clone();
        block[at] = byte;
        // A good packet behind it must not be counted.
        [&good[..], &block, &enhanced_packet(order, 0, &frames[2])].concat()
    };
    check_damaged("trailer", &broken(last.len() - 4, 0xff), expected);
    check_damaged("interface", &broken(8, 1), expected);
    check_damaged("inner-length", &broken(21, 0xff), expected);
    let mut names = block(order, 4, &[0; 8]);
    names[16] = 24;
    let file = [&good[..], &names, &last].concat();
    check_damaged("other-trailer", &file, expected);
    let mut later = section(order);
    later[12] = 2;
    let file = [&good[..], &later, &interface(order, 1, 0), &last].concat();
    check_damaged("version", &file, expected);
    check_damaged(
        "section",
        &[&good[..], &section(order)[..8], &[9; 24]].concat(),
        expected,
    );
}

#[test]
fn no_single_wrong_byte_makes_it_panic() {
    let frames = [
        ethernet(IPV6, &ipv6(HOP_BY_HOP, A6, B6, &extension(TCP, &tcp(1, 2)))),
        tagged(&[(0x8100, 1)], IPV4, &ipv4(UDP, A4, B4, &udp(1, 2))),
    ];
    let files = [
        pcap(&frames),
        [
            pcapng(Order::Big, &frames),
            simple_packet(Order::Big, &frames[0]),
            obsolete_packet(Order::Big, &frames[1]),
        ]
        .concat(),
    ];
    for file in files {
        for at in 0..file.len() {
            let mut wrong = file.clone();
            wrong[at] ^= 0xff;
            let output = run(&write("wrong-byte", &wrong), 1);
            let code = output.status.code();
            assert!(matches!(code, Some(0 | 2)), "byte {at}: {output:?}");
        }
    }
}

#[test]
fn foreign_files_are_refused() {
    let text = b"# Not a capture\n\nBut longer than the header of one.\n";
    check_foreign(&write("text", text));
    check_foreign(&write("text.gz", &gzip(text)));
    check_foreign(&write("empty", b""));
    check_foreign(&write("empty.gz", &gzip(b"")));
    check_foreign(&write("one-byte", b"\x1f"));
    check_foreign(&write("gzip-magic", b"\x1f\x8b"));
    // These may have been captures once, but there is nothing to count and no way to tell.
    let beginnings = [
        write("half-header", &pcap(&[])[..20]),
        write("half-section", &section(Order::Big)[..20]),
    ];
    for path in beginnings {
        check_foreign(&path);
        let complaint = run(&path, 1).stderr;
        assert!(String::from_utf8_lossy(&complaint).contains("neither a pcap nor a pcapng"));
    }
    check_foreign(Path::new("no/such/file.pcap"));
    check_foreign(Path::new(env!("CARGO_TARGET_TMPDIR")));
}

// ---- the command line -------------------------------------------------------------------------

#[test]
fn bad_arguments_are_refused() {
    for arguments in [
        &["--threads", "0"][..],
        &["--threads", "many"],
        &["--thraeds", "1"],
        &["one.pcap", "two.pcap"],
    ] {
        let output = flows()
            .args(arguments)
            .output()
            .expect("the example starts");
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {output:?}");
        assert!(output.stdout.is_empty(), "{arguments:?}: {output:?}");
    }
}

#[test]
fn the_text_lists_the_biggest_conversations_first() {
    let big = [&tcp(40000, 443)[..], &[0; 500]].concat();
    let frames = [
        ethernet(IPV4, &ipv4(UDP, A4, B4, &udp(1000, 53))),
        ethernet(IPV6, &ipv6(TCP, A6, B6, &big)),
        ethernet(IPV4, &ipv4(UDP, A4, B4, &udp(1001, 53))),
    ];
    let path = write("text-report", &pcap(&frames));
    let output = flows().arg(path).output().expect("the example starts");
    assert_eq!(output.status.code(), Some(0), "{output:?}");

    let text = String::from_utf8(output.stdout).expect("text");
    let listed: Vec<_> = text.lines().filter(|line| line.contains(" - ")).collect();
    assert_eq!(listed.len(), 3, "{text}");
    assert!(
        listed[0].contains("[2001:db8::1]:40000 - [2001:db8::2]:443"),
        "{text}"
    );
    assert!(
        listed[1].contains("192.0.2.1:1000 - 192.0.2.2:53"),
        "{text}"
    );
    assert!(
        listed[2].contains("192.0.2.1:1001 - 192.0.2.2:53"),
        "{text}"
    );
}

#[test]
fn generated_traffic_does_not_depend_on_the_threads() {
    let generate = |threads: u64| {
        let output = flows()
            .args(["--json", "--packets", "100000"])
            .args(["--threads", &threads.to_string()])
            .output()
            .expect("the example starts");
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        Counts::from_json(&output.stdout, threads)
    };
    let counts = generate(1);
    assert_eq!(counts.packets, 100_000);
    assert!(counts.tcp > 1000 && counts.udp > 1000, "{counts:?}");
    assert_eq!(generate(2), counts);
    assert_eq!(generate(4), counts);
}

#[test]
fn no_count_of_a_conversation_is_lost() {
    let biggest = |threads: &str| {
        let output = flows()
            .args(["--packets", "300000", "--threads", threads])
            .output()
            .expect("the example starts");
        let text = String::from_utf8(output.stdout).expect("text");
        let flows: Vec<_> = text.lines().filter(|line| line.contains(" - ")).collect();
        assert_eq!(flows.len(), 10, "{text}");
        flows.join("\n")
    };
    assert_eq!(biggest("1"), biggest("4"));
}

#[test]
fn a_reader_that_went_away_is_no_error() {
    let mut child = flows()
        .args(["--packets", "50000"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the example starts");
    drop(child.stdout.take());
    let output = child.wait_with_output().expect("the example ends");
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert!(output.stderr.is_empty(), "{output:?}");
}

// ---- real traffic -----------------------------------------------------------------------------

#[test]
fn captures_of_real_traffic() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/data");
    if !folder.is_dir() {
        println!("skipped: there is no {}", folder.display());
        return;
    }
    for (name, packets, tcp, udp, bytes) in [
        ("sanitized4k.pcap", 4096, 665, 248, 3_647_580),
        ("echo-connections.pcap.gz", 82_582, 500, 0, 5_512_362),
        ("wikipedia.pcap", 136, 10, 24, 25_260),
        ("v4-v6-lookalike.pcap", 2, 0, 2, 118),
    ] {
        let expected = Counts {
            packets,
            bytes,
            tcp,
            udp,
        };
        check_file(&folder.join(name), expected);
    }
}
