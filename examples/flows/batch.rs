//! Frames on their way from the reader to a worker.

use core::ops::Range;

use pcap_parser::Linktype;

use crate::capture::Frame;

/// A batch is full when it has so many frames, or so many bytes.
const FULL_FRAMES: usize = 1024;
const FULL_BYTES: usize = 256 * 1024;

/// A number of frames, in one piece of memory.
///
/// A frame at a time would cost more in the channel than the frame costs to count.
#[derive(Debug)]
pub(crate) struct Batch {
    bytes: Vec<u8>,
    frames: Vec<Entry>,
}

#[derive(Debug)]
struct Entry {
    link: Linktype,
    wire_len: u32,
    data: Range<usize>,
}

impl Batch {
    pub(crate) fn new() -> Self {
        Self {
            bytes: Vec::with_capacity(FULL_BYTES),
            frames: Vec::with_capacity(FULL_FRAMES),
        }
    }

    pub(crate) fn push(&mut self, frame: &Frame<'_>) {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(frame.data);
        self.frames.push(Entry {
            link: frame.link,
            wire_len: frame.wire_len,
            data: start..self.bytes.len(),
        });
    }

    pub(crate) fn is_full(&self) -> bool {
        self.frames.len() >= FULL_FRAMES || self.bytes.len() >= FULL_BYTES
    }

    pub(crate) fn frames(&self) -> impl Iterator<Item = Frame<'_>> {
        self.frames.iter().map(|entry| Frame {
            link: entry.link,
            wire_len: entry.wire_len,
            data: &self.bytes[entry.data.clone()],
        })
    }
}
