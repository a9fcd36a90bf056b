//! From a frame to the ends of its conversation, and who of them sent it.
//!
//! Not the parser of `flows`, which does not tell the two ends apart, on purpose. What is translated
//! is the same as what is counted there, but for IPv6, which needs no translator: outer headers only,
//! VLAN tags skipped, and no fragments but the first.

use etherparse::{EtherType, LaxNetSlice, LaxSlicedPacket};
use pcap_parser::Linktype;

use crate::capture::Frame;
use crate::translator::{Endpoint, Signal, TCP, Tuple, UDP};

const FIN: u8 = 1;
const SYN: u8 = 2;
const RST: u8 = 4;

/// The conversation of a frame, from its sender's point of view. `None` if it has no ports to be
/// translated, or no IPv4 header at all.
pub(crate) fn parse(frame: &Frame<'_>) -> Option<(Tuple, Signal)> {
    let packet = network(frame)?;
    let Some(LaxNetSlice::Ipv4(ip)) = packet.net else {
        return None;
    };
    let header = ip.header();
    let protocol = header.protocol().0.into();
    let is_later_fragment = header.fragments_offset().value() != 0;
    if is_later_fragment || !matches!(protocol, TCP | UDP) {
        return None;
    }
    let transport = ip.payload().payload;
    let &[s0, s1, d0, d1] = transport.first_chunk()?;
    let source = Endpoint {
        address: header.source(),
        port: u16::from_be_bytes([s0, s1]),
    };
    let destination = Endpoint {
        address: header.destination(),
        port: u16::from_be_bytes([d0, d1]),
    };
    let signal = signal(protocol, transport);
    Some((Tuple::new(protocol, source, destination), signal))
}

/// Skips the link header.
fn network<'a>(frame: &Frame<'a>) -> Option<LaxSlicedPacket<'a>> {
    let data = frame.data;
    match frame.link {
        Linktype::ETHERNET => LaxSlicedPacket::from_ethernet(data).ok(),
        // Two more numbers for raw packets, which some systems write.
        Linktype::RAW | Linktype::IPV4 | Linktype(12 | 14) => LaxSlicedPacket::from_ip(data).ok(),
        Linktype::NULL | Linktype::LOOP => LaxSlicedPacket::from_ip(data.get(4..)?).ok(),
        Linktype::LINUX_SLL => cooked(data, 14, 16),
        Linktype::LINUX_SLL2 => cooked(data, 0, 20),
        _ => None,
    }
}

/// Linux's "cooked" header of so many bytes, with the type of the contents at `ether_type`.
fn cooked(data: &[u8], ether_type: usize, len: usize) -> Option<LaxSlicedPacket<'_>> {
    let contents = data.get(len..)?;
    let ether_type = EtherType(u16::from_be_bytes([data[ether_type], data[ether_type + 1]]));
    Some(LaxSlicedPacket::from_ether_type(ether_type, contents))
}

/// In a capture with a short capture length, the flags may be missing.
fn signal(protocol: u16, transport: &[u8]) -> Signal {
    match transport.get(13) {
        Some(flags) if protocol == TCP && flags & (FIN | RST) != 0 => Signal::Close,
        Some(flags) if protocol == TCP && flags & SYN != 0 => Signal::Open,
        _ => Signal::Data,
    }
}
