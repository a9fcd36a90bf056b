//! Runs the committed corpora, on any toolchain.

use std::fs;
use std::path::{Path, PathBuf};

use nulls_fuzz::{InlineInput, Input, MapInput, TableInput, run_bytes};

#[test]
fn inline() {
    replay::<InlineInput>("inline");
}

#[test]
fn map() {
    replay::<MapInput>("map");
}

#[test]
fn table() {
    replay::<TableInput>("table");
}

fn replay<I: Input>(target: &str) {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus");
    let files = files(&corpus.join(target));
    assert!(!files.is_empty(), "there is no corpus");
    for file in files {
        // Shown if the input panics: `cargo run --bin TARGET FILE` then runs it alone.
        println!("{}", file.display());
        run_bytes::<I>(&fs::read(file).expect("a file of the corpus"));
    }
}

fn files(directory: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).expect("the directory of a corpus");
    let mut files: Vec<_> = entries
        .map(|entry| entry.expect("a file of the corpus").path())
        .collect();
    files.sort();
    files
}
