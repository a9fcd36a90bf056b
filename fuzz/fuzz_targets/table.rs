//! `cargo +nightly fuzz run table`; or, without `cargo fuzz`, `cargo run --bin table -- FILE...`, which
//! runs the given inputs.

#![cfg_attr(fuzzing, no_main)]

use nulls_fuzz::TableInput;

#[cfg(fuzzing)]
libfuzzer_sys::fuzz_target!(|input: TableInput| nulls_fuzz::Input::run(input));

#[cfg(not(fuzzing))]
fn main() -> std::io::Result<()> {
    nulls_fuzz::run_files::<TableInput>(std::env::args_os().skip(1))
}
