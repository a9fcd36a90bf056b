//! From a frame to the key of its conversation.
//!
//! Only the outer headers count. VLAN tags are skipped and are not part of the key; tunnels are not
//! opened, and neither are the headers that ICMP errors quote.

use core::fmt;
use core::net::{IpAddr, SocketAddr};

use etherparse::{
    EtherType, Ethernet2Slice, Ipv6ExtensionSlice, Ipv6ExtensionsSlice, LaxIpPayloadSlice,
    LaxIpv4Slice, LaxIpv6Slice, SingleVlanSlice, ether_type, ip_number,
};
use pcap_parser::Linktype;
use pcap_parser::data::{PacketData, get_packetdata, get_packetdata_raw};

use crate::capture::Frame;

/// 802.1Q, 802.1ad, and the number used for outer tags before the latter.
const VLAN_TAGS: [EtherType; 3] = [
    ether_type::VLAN_TAGGED_FRAME,
    ether_type::PROVIDER_BRIDGING,
    ether_type::VLAN_DOUBLE_TAGGED_FRAME,
];

#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub(crate) enum Protocol {
    Tcp,
    Udp,
}

impl fmt::Display for Protocol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Tcp => "TCP",
            Self::Udp => "UDP",
        })
    }
}

/// One end of a conversation.
///
/// [`IpAddr`] keeps the two versions apart: an IPv4 address never equals an IPv6 one, whatever
/// their bytes.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub(crate) struct Endpoint {
    pub(crate) address: IpAddr,
    pub(crate) port: u16,
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        SocketAddr::new(self.address, self.port).fmt(f)
    }
}

/// A conversation: two endpoints in no particular order, and a protocol.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub(crate) struct FlowKey {
    pub(crate) protocol: Protocol,
    /// Sorted, so that both directions have the same key.
    ends: [Endpoint; 2],
}

impl FlowKey {
    pub(crate) fn new(protocol: Protocol, one: Endpoint, other: Endpoint) -> Self {
        Self {
            protocol,
            ends: if one <= other {
                [one, other]
            } else {
                [other, one]
            },
        }
    }
}

impl fmt::Display for FlowKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [one, other] = self.ends;
        write!(f, "{:<4} {one} - {other}", self.protocol)
    }
}

/// What a frame is, as far as conversations are concerned.
#[derive(Debug)]
pub(crate) enum Packet {
    Conversation(FlowKey),
    /// IP without ports: another protocol, a tunnel, a later fragment, or a packet cut too short.
    OtherIp,
    NotIp,
}

/// Looks into a frame.
pub(crate) fn classify(frame: &Frame<'_>) -> Packet {
    match link_payload(frame).and_then(skip_vlan_tags) {
        Some((ether_type::IPV4, payload)) => ipv4(payload),
        Some((ether_type::IPV6, payload)) => ipv6(payload),
        _ => Packet::NotIp,
    }
}

/// What follows the link header, and of what type it is.
fn link_payload<'a>(frame: &Frame<'a>) -> Option<(EtherType, &'a [u8])> {
    let (data, len) = (frame.data, frame.data.len());
    let contents = match frame.link {
        Linktype::NULL | Linktype::LOOP => return loopback_payload(data),
        // The two other numbers are what some systems write for the first.
        Linktype::RAW | Linktype(12 | 14) => get_packetdata_raw(data, len),
        // By name, since for a few other types this function is not safe from panics.
        Linktype::ETHERNET
        | Linktype::IPV4
        | Linktype::IPV6
        | Linktype::LINUX_SLL
        | Linktype::LINUX_SLL2 => get_packetdata(data, frame.link, len),
        _ => None,
    };
    match contents? {
        PacketData::L2(data) => {
            let ethernet = Ethernet2Slice::from_slice_without_fcs(data).ok()?;
            Some((ethernet.ether_type(), ethernet.payload_slice()))
        }
        PacketData::L3(ether_type, payload) => Some((EtherType(ether_type), payload)),
        PacketData::L4(..) | PacketData::Unsupported(_) => None,
    }
}

/// The BSD loopback header: an address family in the byte order of whoever captured.
fn loopback_payload(data: &[u8]) -> Option<(EtherType, &[u8])> {
    let (family, payload) = data.split_first_chunk::<4>()?;
    // Families are small numbers, so the smaller reading is the right one.
    match u32::from_le_bytes(*family).min(u32::from_be_bytes(*family)) {
        2 => Some((ether_type::IPV4, payload)),
        // NetBSD and OpenBSD, FreeBSD, Darwin.
        24 | 28 | 30 => Some((ether_type::IPV6, payload)),
        _ => None,
    }
}

fn skip_vlan_tags(tagged: (EtherType, &[u8])) -> Option<(EtherType, &[u8])> {
    let (mut ether_type, mut payload) = tagged;
    while VLAN_TAGS.contains(&ether_type) {
        let tag = SingleVlanSlice::from_slice(payload).ok()?;
        ether_type = tag.ether_type();
        payload = tag.payload_slice();
    }
    Some((ether_type, payload))
}

// The "lax" slices, here and below, take packets of which only the beginning was captured.

fn ipv4(data: &[u8]) -> Packet {
    let Ok((ip, _)) = LaxIpv4Slice::from_slice(data) else {
        return Packet::NotIp;
    };
    let header = ip.header();
    if header.fragments_offset().value() != 0 {
        return Packet::OtherIp;
    }
    transport(
        header.source_addr().into(),
        header.destination_addr().into(),
        ip.payload(),
    )
}

fn ipv6(data: &[u8]) -> Packet {
    let Ok((ip, stopped)) = LaxIpv6Slice::from_slice(data) else {
        return Packet::NotIp;
    };
    // In this order: the iterator over the extension headers relies on all of them being intact.
    if stopped.is_some() || is_later_fragment(ip.extensions()) {
        return Packet::OtherIp;
    }
    let header = ip.header();
    transport(
        header.source_addr().into(),
        header.destination_addr().into(),
        ip.payload(),
    )
}

fn is_later_fragment(extensions: &Ipv6ExtensionsSlice<'_>) -> bool {
    extensions
        .clone()
        .into_iter()
        .any(|extension| match extension {
            Ipv6ExtensionSlice::Fragment(fragment) => fragment.fragment_offset().value() != 0,
            _ => false,
        })
}

/// The conversation of a whole packet or of a first fragment.
fn transport(source: IpAddr, destination: IpAddr, payload: &LaxIpPayloadSlice<'_>) -> Packet {
    let protocol = match payload.ip_number {
        ip_number::TCP => Protocol::Tcp,
        ip_number::UDP => Protocol::Udp,
        _ => return Packet::OtherIp,
    };
    // Both headers begin with the two ports. No more is asked of them, so that a short capture
    // length or a small first fragment does not hide a conversation.
    let Some(&[s0, s1, d0, d1]) = payload.payload.first_chunk() else {
        return Packet::OtherIp;
    };
    Packet::Conversation(FlowKey::new(
        protocol,
        Endpoint {
            address: source,
            port: u16::from_be_bytes([s0, s1]),
        },
        Endpoint {
            address: destination,
            port: u16::from_be_bytes([d0, d1]),
        },
    ))
}
