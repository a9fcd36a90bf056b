//! The frames of a pcap or pcapng file.

use std::path::Path;

use pcap_parser::pcap::{
    PcapHeader, parse_pcap_frame, parse_pcap_frame_be, parse_pcap_frame_modified, parse_pcap_header,
};
use pcap_parser::pcapng::{
    Block, EPB_MAGIC as ENHANCED_PACKET, IDB_MAGIC as INTERFACE_DESCRIPTION,
    SHB_MAGIC as SECTION_HEADER, SPB_MAGIC as SIMPLE_PACKET, parse_block_be, parse_block_le,
    parse_sectionheaderblock,
};
use pcap_parser::{Linktype, PcapError};

use crate::error::CaptureError;
use crate::input::Input;

/// A longer packet is a broken length field: none of the link types that are read here has such
/// packets, and `libpcap` stops there too. Without the limit, one wrong length would swallow
/// thousands of good packets.
const MAX_CAPTURED: u32 = 256 * 1024;
/// The same for a whole pcapng block.
const MAX_BLOCK: u32 = 16 * 1024 * 1024;

/// The block that held packets before "enhanced" ones; `pcap-parser` leaves it unparsed.
const OBSOLETE_PACKET: u32 = 2;

/// One frame as it was captured.
#[derive(Debug)]
pub(crate) struct Frame<'a> {
    /// What kind of header `data` begins with.
    pub(crate) link: Linktype,
    /// The length on the wire, of which `data` may be only the first part.
    pub(crate) wire_len: u32,
    pub(crate) data: &'a [u8],
}

/// An open capture file.
pub(crate) struct Capture {
    input: Input,
    format: Format,
}

enum Format {
    Pcap(Pcap),
    PcapNg(PcapNg),
}

impl Capture {
    /// Opens a file and reads its header. An error means that the file is no capture, or that there
    /// is no such file.
    pub(crate) fn open(path: &Path) -> Result<Self, CaptureError> {
        let mut input = Input::open(path)?;
        let format = Format::detect(&mut input).map_err(|error| match error {
            CaptureError::Truncated | CaptureError::Corrupt(_) => CaptureError::NotACapture,
            other => other,
        })?;
        Ok(Self { input, format })
    }

    /// The next frame, or `None` at the end. An error is final.
    pub(crate) fn next_frame(&mut self) -> Result<Option<Frame<'_>>, CaptureError> {
        match &mut self.format {
            Format::Pcap(pcap) => pcap.next_frame(&mut self.input),
            Format::PcapNg(pcapng) => pcapng.next_frame(&mut self.input),
        }
    }
}

impl Format {
    fn detect(input: &mut Input) -> Result<Self, CaptureError> {
        if !input.start_record(4)? {
            return Err(CaptureError::Empty);
        }
        // This number reads the same in both byte orders, which is why it was chosen.
        if ByteOrder::Little.u32_at(input.record(), 0) == SECTION_HEADER {
            PcapNg::open(input).map(Self::PcapNg)
        } else {
            Pcap::open(input).map(Self::Pcap)
        }
    }
}

#[derive(Clone, Copy)]
enum ByteOrder {
    Little,
    Big,
}

impl ByteOrder {
    fn u16_at(self, bytes: &[u8], at: usize) -> u16 {
        let field = [bytes[at], bytes[at + 1]];
        match self {
            Self::Little => u16::from_le_bytes(field),
            Self::Big => u16::from_be_bytes(field),
        }
    }

    fn u32_at(self, bytes: &[u8], at: usize) -> u32 {
        let field = [bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]];
        match self {
            Self::Little => u32::from_le_bytes(field),
            Self::Big => u32::from_be_bytes(field),
        }
    }
}

/// Classic pcap: a file header, then packets that each have a small header of their own.
struct Pcap {
    header: PcapHeader,
}

impl Pcap {
    const FILE_HEADER_LEN: usize = 24;

    /// Reads the rest of the file header; its first four bytes are in `input` already.
    fn open(input: &mut Input) -> Result<Self, CaptureError> {
        input.extend_record(Self::FILE_HEADER_LEN - 4)?;
        let (_, mut header) =
            parse_pcap_header(input.record()).map_err(|_| CaptureError::NotACapture)?;
        // The upper half of the field tells whether frames end in a checksum.
        header.network.0 &= 0xffff;
        Ok(Self { header })
    }

    fn order(&self) -> ByteOrder {
        if self.header.is_bigendian() {
            ByteOrder::Big
        } else {
            ByteOrder::Little
        }
    }

    fn next_frame<'i>(&self, input: &'i mut Input) -> Result<Option<Frame<'i>>, CaptureError> {
        let header_len = if self.header.is_modified_format() {
            24
        } else {
            16
        };
        if !input.start_record(header_len)? {
            return Ok(None);
        }
        let captured = self.order().u32_at(input.record(), 8);
        if captured > MAX_CAPTURED {
            return Err(CaptureError::Corrupt("impossible packet length"));
        }
        input.extend_record(captured as usize)?;
        self.parse(input.record()).map(Some)
    }

    fn parse<'r>(&self, record: &'r [u8]) -> Result<Frame<'r>, CaptureError> {
        let parsed = match self.order() {
            _ if self.header.is_modified_format() => parse_pcap_frame_modified(record),
            ByteOrder::Little => parse_pcap_frame(record),
            ByteOrder::Big => parse_pcap_frame_be(record),
        };
        let (_, packet) = parsed.map_err(|_| CaptureError::Corrupt("unreadable packet"))?;
        Ok(Frame {
            link: self.header.network,
            wire_len: packet.origlen,
            data: packet.data,
        })
    }
}

/// pcapng: sections of blocks, each section with a byte order and a list of interfaces of its own.
struct PcapNg {
    order: ByteOrder,
    interfaces: Vec<Interface>,
}

struct Interface {
    link: Linktype,
    /// How much of a packet was kept; 0 is everything.
    snap_len: u32,
}

impl PcapNg {
    /// A block without contents: its type, and its length in front and behind.
    const MIN_BLOCK: u32 = 12;

    /// Reads the first section header; its first four bytes are in `input` already.
    fn open(input: &mut Input) -> Result<Self, CaptureError> {
        let mut this = Self {
            order: ByteOrder::Little,
            interfaces: Vec::new(),
        };
        input.extend_record(4)?;
        this.finish_block(input)?;
        this.start_section(input.record())?;
        Ok(this)
    }

    fn next_frame<'i>(&mut self, input: &'i mut Input) -> Result<Option<Frame<'i>>, CaptureError> {
        while input.start_record(8)? {
            match self.finish_block(input)? {
                SECTION_HEADER => self.start_section(input.record())?,
                INTERFACE_DESCRIPTION => self.add_interface(input.record())?,
                ENHANCED_PACKET | SIMPLE_PACKET | OBSOLETE_PACKET => {
                    return self.frame(input.record()).map(Some);
                }
                // Names, statistics, secrets: nothing to count, so not even parsed.
                _ => {}
            }
        }
        Ok(None)
    }

    /// Reads the rest of a block of which type and length are there, and returns the type.
    fn finish_block(&mut self, input: &mut Input) -> Result<u32, CaptureError> {
        if self.order.u32_at(input.record(), 0) == SECTION_HEADER {
            // Even the length of this block is in the byte order that it is about to announce.
            input.extend_record(4)?;
            self.order = match &input.record()[8..] {
                [0x4d, 0x3c, 0x2b, 0x1a] => ByteOrder::Little,
                [0x1a, 0x2b, 0x3c, 0x4d] => ByteOrder::Big,
                _ => return Err(CaptureError::Corrupt("unknown byte order")),
            };
        }
        let len = self.order.u32_at(input.record(), 4);
        if !(Self::MIN_BLOCK..=MAX_BLOCK).contains(&len) {
            return Err(CaptureError::Corrupt("impossible block length"));
        }
        let len_at_end = len as usize - 4;
        input.extend_record(len as usize - input.record().len())?;
        if self.order.u32_at(input.record(), len_at_end) != len {
            return Err(CaptureError::Corrupt("the two lengths of a block differ"));
        }
        Ok(self.order.u32_at(input.record(), 0))
    }

    fn start_section(&mut self, record: &[u8]) -> Result<(), CaptureError> {
        let (_, section) = parse_sectionheaderblock(record).map_err(unreadable_block)?;
        if section.major_version != 1 {
            return Err(CaptureError::Corrupt("unknown pcapng version"));
        }
        self.interfaces.clear();
        Ok(())
    }

    fn add_interface(&mut self, record: &[u8]) -> Result<(), CaptureError> {
        if let Block::InterfaceDescription(interface) = self.parse(record)? {
            self.interfaces.push(Interface {
                link: interface.linktype,
                snap_len: interface.snaplen,
            });
        }
        Ok(())
    }

    fn frame<'r>(&self, record: &'r [u8]) -> Result<Frame<'r>, CaptureError> {
        match self.parse(record)? {
            Block::EnhancedPacket(packet) => {
                self.cut(packet.if_id, packet.caplen, packet.origlen, packet.data)
            }
            Block::SimplePacket(packet) => self.simple_packet(packet.origlen, packet.data),
            Block::Unknown(packet) => self.obsolete_packet(packet.data),
            _ => Err(CaptureError::Corrupt("no packet in a packet block")),
        }
    }

    /// A simple packet is of the first interface, and does not tell how much of it was captured.
    fn simple_packet<'r>(
        &self,
        wire_len: u32,
        padded: &'r [u8],
    ) -> Result<Frame<'r>, CaptureError> {
        let snap_len = match self.interfaces.first() {
            Some(interface) if interface.snap_len > 0 => interface.snap_len,
            _ => MAX_BLOCK,
        };
        self.cut(0, wire_len.min(snap_len), wire_len, padded)
    }

    fn obsolete_packet<'r>(&self, contents: &'r [u8]) -> Result<Frame<'r>, CaptureError> {
        let Some(padded) = contents.get(20..) else {
            return Err(CaptureError::Corrupt(
                "a packet block without room for its header",
            ));
        };
        let interface = self.order.u16_at(contents, 0);
        let captured = self.order.u32_at(contents, 12);
        let wire_len = self.order.u32_at(contents, 16);
        self.cut(interface.into(), captured, wire_len, padded)
    }

    /// Makes a frame of the first `captured` bytes of `padded`.
    fn cut<'r>(
        &self,
        interface: u32,
        captured: u32,
        wire_len: u32,
        padded: &'r [u8],
    ) -> Result<Frame<'r>, CaptureError> {
        let interface = self
            .interfaces
            .get(interface as usize)
            .ok_or(CaptureError::Corrupt("a packet of an unknown interface"))?;
        let data = padded
            .get(..captured as usize)
            .ok_or(CaptureError::Corrupt("a packet longer than its block"))?;
        Ok(Frame {
            link: interface.link,
            wire_len,
            data,
        })
    }

    fn parse<'r>(&self, record: &'r [u8]) -> Result<Block<'r>, CaptureError> {
        let parsed = match self.order {
            ByteOrder::Little => parse_block_le(record),
            ByteOrder::Big => parse_block_be(record),
        };
        parsed.map(|(_, block)| block).map_err(unreadable_block)
    }
}

/// The record is complete, so even "more data needed" means that its inner lengths are wrong.
fn unreadable_block(_: pcap_parser::nom::Err<PcapError<&[u8]>>) -> CaptureError {
    CaptureError::Corrupt("unreadable block")
}
