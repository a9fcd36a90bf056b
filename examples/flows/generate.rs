//! Traffic for when there is no file: the same packets every time.
//!
//! A few conversations carry most of the packets and very many carry next to none, as on a real
//! link: the chance of a conversation falls with its rank as in Zipf's law. Packets go both ways,
//! over TCP and UDP, over IPv4 and IPv6.

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use etherparse::{
    EtherType, Ethernet2Header, IpNumber, Ipv4Header, Ipv6Header, TcpHeader, UdpHeader, ether_type,
    ip_number,
};
use pcap_parser::Linktype;

use crate::capture::Frame;
use crate::packet::{Endpoint, Protocol};

/// Ranks go from 1 to 2^17, so there are some 130 000 conversations.
const OCTAVES: u64 = 17;
/// Payloads are shorter than this.
const MAX_PAYLOAD: u16 = 1400;
const TCP_HEADER_LEN: u16 = 20;
const SEED: u64 = 0x6e75_6c6c_7321;

/// A source of generated frames.
///
/// Like a capture with a short capture length, the frames consist of headers only: the payload is
/// there in the length fields. Checksums are left at zero.
pub(crate) struct Traffic {
    left: u64,
    state: u64,
    frame: Vec<u8>,
}

impl Traffic {
    pub(crate) fn new(packets: u64) -> Self {
        Self {
            left: packets,
            state: SEED,
            frame: Vec::new(),
        }
    }

    /// The next frame, or `None` when there have been enough.
    pub(crate) fn next_frame(&mut self) -> Option<Frame<'_>> {
        self.left = self.left.checked_sub(1)?;
        let (rank, dice) = self.throw();
        let flow = Flow::of_rank(rank);
        let payload = dice % MAX_PAYLOAD;
        let (from, to) = if dice & 0x8000 == 0 {
            (flow.client, flow.server)
        } else {
            (flow.server, flow.client)
        };

        self.frame.clear();
        write_headers(&mut self.frame, flow.protocol, from, to, payload);
        let headers = u32::try_from(self.frame.len()).unwrap_or(u32::MAX);
        let wire_len = headers.saturating_add(payload.into());
        Some(Frame {
            link: Linktype::ETHERNET,
            wire_len,
            data: &self.frame,
        })
    }

    /// The rank of a conversation, and 16 more random bits.
    ///
    /// First one of the octaves 1, 2..4, 4..8 and so on, each as likely as the other, then a rank
    /// within it. So a rank twice as high is half as likely. In integers, for the same packets on
    /// every machine.
    fn throw(&mut self) -> (u32, u16) {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let random = mix(self.state);
        let octave = 1 << (random % OCTAVES);
        let within = (random >> 32) as u32 & (octave - 1);
        (octave | within, (random >> 16 & 0xffff) as u16)
    }
}

/// The output function of `SplitMix64`.
fn mix(state: u64) -> u64 {
    let x = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

struct Flow {
    protocol: Protocol,
    client: Endpoint,
    server: Endpoint,
}

impl Flow {
    /// The conversation of a rank. The rank is in the client's address, so no two are the same.
    fn of_rank(rank: u32) -> Self {
        let [kind, host, port_low, port_high, ..] = mix(rank.into()).to_le_bytes();
        let (protocol, port) = if kind % 4 == 0 {
            (Protocol::Udp, 53)
        } else {
            (Protocol::Tcp, 443)
        };
        let (client, server) = addresses(kind & 4 != 0, rank, host);
        Self {
            protocol,
            client: Endpoint {
                address: client,
                port: u16::from_le_bytes([port_low, port_high]) | 1024,
            },
            server: Endpoint {
                address: server,
                port,
            },
        }
    }
}

/// The addresses of the client with this number and of one of 256 servers.
fn addresses(ipv4: bool, client: u32, server: u8) -> (IpAddr, IpAddr) {
    let [_, a, b, c] = client.to_be_bytes();
    if ipv4 {
        (
            Ipv4Addr::new(10, a, b, c).into(),
            Ipv4Addr::new(198, 18, 0, server).into(),
        )
    } else {
        let (high, low) = (u16::from(a), u16::from_be_bytes([b, c]));
        let client = Ipv6Addr::new(0x2001, 0xdb8, 0, 1, 0, 0, high, low);
        let server = Ipv6Addr::new(0x2001, 0xdb8, 0, 2, 0, 0, 0, server.into());
        (client.into(), server.into())
    }
}

/// Appends the headers of a packet with `payload` bytes of payload.
fn write_headers(
    frame: &mut Vec<u8>,
    protocol: Protocol,
    from: Endpoint,
    to: Endpoint,
    payload: u16,
) {
    let (number, header_len) = match protocol {
        Protocol::Tcp => (ip_number::TCP, TCP_HEADER_LEN),
        Protocol::Udp => (ip_number::UDP, UdpHeader::LEN_U16),
    };
    let len = header_len + payload;
    write_network(frame, number, from.address, to.address, len);
    match protocol {
        Protocol::Tcp => {
            frame.extend_from_slice(&TcpHeader::new(from.port, to.port, 0, u16::MAX).to_bytes());
        }
        Protocol::Udp => {
            let header = UdpHeader {
                source_port: from.port,
                destination_port: to.port,
                length: len,
                checksum: 0,
            };
            frame.extend_from_slice(&header.to_bytes());
        }
    }
}

/// Appends an Ethernet and an IP header for a transport packet of `len` bytes.
fn write_network(frame: &mut Vec<u8>, number: IpNumber, from: IpAddr, to: IpAddr, len: u16) {
    match (from, to) {
        (IpAddr::V4(from), IpAddr::V4(to)) => {
            write_ethernet(frame, ether_type::IPV4);
            let header = Ipv4Header {
                total_len: Ipv4Header::MIN_LEN_U16 + len,
                time_to_live: 64,
                protocol: number,
                source: from.octets(),
                destination: to.octets(),
                ..Ipv4Header::default()
            };
            frame.extend_from_slice(&header.to_bytes());
        }
        (from, to) => {
            write_ethernet(frame, ether_type::IPV6);
            let header = Ipv6Header {
                payload_length: len,
                next_header: number,
                hop_limit: 64,
                source: octets(from),
                destination: octets(to),
                ..Ipv6Header::default()
            };
            frame.extend_from_slice(&header.to_bytes());
        }
    }
}

fn write_ethernet(frame: &mut Vec<u8>, ether_type: EtherType) {
    let header = Ethernet2Header {
        source: [2, 0, 0, 0, 0, 1],
        destination: [2, 0, 0, 0, 0, 2],
        ether_type,
    };
    frame.extend_from_slice(&header.to_bytes());
}

fn octets(address: IpAddr) -> [u8; 16] {
    match address {
        IpAddr::V4(v4) => v4.to_ipv6_mapped().octets(),
        IpAddr::V6(v6) => v6.octets(),
    }
}
