//! What the fuzz targets do with an input, kept apart from the fuzzer, so that `cargo test` runs the
//! committed corpora on any toolchain.
//!
//! An input is a way to set a table up and a sequence of operations. Each operation is done on the
//! table and on a model of std's, and every answer is compared; so is everything at the end. Keys and
//! values are numbered and count their drops: an answer must be *the* instance that the model
//! expects, not an equal one, and each instance must be dropped exactly once. Plain data has no
//! instances: in an inline map each value that is ever stored is another.
//!
//! All runs in one thread. What an interleaving can do to a single operation is tried nevertheless:
//! closures that change the very entry they were called for ([`map`]), and iterations that are
//! continued after other operations ([`walk`]).

mod counted;
mod inline;
mod map;
mod quality;
mod setup;
mod table;
mod then;
mod walk;

use core::fmt::Debug;
use std::ffi::OsString;
use std::fs;
use std::io;

use arbitrary::{Arbitrary, Unstructured};

pub use inline::InlineInput;
pub use map::MapInput;
pub use table::TableInput;

/// The input of a target.
pub trait Input: for<'a> Arbitrary<'a> + Debug {
    /// Does all that the input asks for; panics when an answer is wrong.
    fn run(self);
}

/// Runs an input from the bytes that the fuzzer keeps it in. Bytes that are none do nothing.
pub fn run_bytes<I: Input>(bytes: &[u8]) {
    if let Ok(input) = I::arbitrary_take_rest(Unstructured::new(bytes)) {
        input.run();
    }
}

/// Runs the inputs in these files, one after the other.
///
/// # Errors
///
/// If a file cannot be read.
pub fn run_files<I: Input>(paths: impl IntoIterator<Item = OsString>) -> io::Result<()> {
    for path in paths {
        println!("{}", path.display());
        run_bytes::<I>(&fs::read(path)?);
    }
    Ok(())
}
