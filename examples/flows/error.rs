//! What can go wrong.

use core::error::Error;
use core::fmt;
use std::io;

/// Why a capture could not be opened, or not be read to its end.
#[derive(Debug)]
pub(crate) enum CaptureError {
    /// The operating system or the gzip decoder gave up.
    Io(io::Error),
    /// There is not a single byte.
    Empty,
    /// The file does not begin like a pcap or pcapng file.
    NotACapture,
    /// The data end within a record.
    Truncated,
    /// A record contradicts itself; says how.
    Corrupt(&'static str),
}

impl fmt::Display for CaptureError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io(error) => error.fmt(f),
            Self::Empty => f.write_str("empty file"),
            Self::NotACapture => f.write_str("neither a pcap nor a pcapng file"),
            Self::Truncated => f.write_str("the file ends too early"),
            Self::Corrupt(what) => write!(f, "corrupt file: {what}"),
        }
    }
}

impl Error for CaptureError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Io(error) => Some(error),
            _ => None,
        }
    }
}

impl From<io::Error> for CaptureError {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            // How the gzip decoder says that its input was cut off.
            io::ErrorKind::UnexpectedEof => Self::Truncated,
            _ => Self::Io(error),
        }
    }
}

/// Why the program ends with a complaint.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The file is no capture at all; nothing was counted.
    Foreign { input: String, error: CaptureError },
    /// The file is a capture up to some point; its first `packets` packets were counted.
    Damaged {
        input: String,
        error: CaptureError,
        packets: u64,
    },
    /// The report could not be written.
    Output(io::Error),
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Foreign { input, error } => write!(f, "{input}: {error}"),
            Self::Damaged {
                input,
                error,
                packets,
            } => {
                write!(f, "{input}: {error}, after {packets} packets")
            }
            Self::Output(error) => write!(f, "cannot write the report: {error}"),
        }
    }
}

impl Error for Failure {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Foreign { error, .. } | Self::Damaged { error, .. } => Some(error),
            Self::Output(error) => Some(error),
        }
    }
}
