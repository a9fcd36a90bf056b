//! The bytes of a capture file, plain or gzip, taken in whole records.
//!
//! `pcap-parser` has buffered readers of its own. They drop the I/O error, and cannot tell a file
//! that was cut off from a block whose inner lengths lie, since both look like "more data needed".
//! So records are cut here, and only their contents are left to that crate.

use std::fs::File;
use std::io::{self, BufReader, Cursor, Read};
use std::path::Path;

use flate2::read::MultiGzDecoder;

use crate::error::CaptureError;

const GZIP_MAGIC: [u8; 2] = [0x1f, 0x8b];
const BUFFER_LEN: usize = 256 * 1024;

/// An open file and the record that was read from it last.
pub(crate) struct Input {
    source: BufReader<Box<dyn Read>>,
    record: Vec<u8>,
}

impl Input {
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        let mut file = File::open(path)?;
        let mut head = Vec::with_capacity(GZIP_MAGIC.len());
        file.by_ref().take(2).read_to_end(&mut head)?;

        let is_gzip = head == GZIP_MAGIC;
        // Put back by chaining and not by seeking: the file may be a pipe.
        let file = Cursor::new(head).chain(file);
        let source: Box<dyn Read> = if is_gzip {
            Box::new(MultiGzDecoder::new(file))
        } else {
            Box::new(file)
        };
        Ok(Self {
            source: BufReader::with_capacity(BUFFER_LEN, source),
            record: Vec::new(),
        })
    }

    /// The record read so far.
    pub(crate) fn record(&self) -> &[u8] {
        &self.record
    }

    /// Begins a new record with its first `len` bytes. `false` if there is none: the clean end.
    pub(crate) fn start_record(&mut self, len: usize) -> Result<bool, CaptureError> {
        self.record.clear();
        match self.append(len)? {
            0 => Ok(false),
            got if got == len => Ok(true),
            _ => Err(CaptureError::Truncated),
        }
    }

    /// Adds the next `len` bytes to the record.
    pub(crate) fn extend_record(&mut self, len: usize) -> Result<(), CaptureError> {
        if self.append(len)? == len {
            Ok(())
        } else {
            Err(CaptureError::Truncated)
        }
    }

    /// Reads up to `len` bytes. The record grows as they arrive: a length that is only claimed
    /// allocates nothing.
    fn append(&mut self, len: usize) -> io::Result<usize> {
        self.source
            .by_ref()
            .take(len as u64)
            .read_to_end(&mut self.record)
    }
}
