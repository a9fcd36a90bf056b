//! `cargo +nightly fuzz run map`; or, without `cargo fuzz`, `cargo run --bin map -- FILE...`, which
//! runs the given inputs.

#![cfg_attr(fuzzing, no_main)]

use nulls_fuzz::MapInput;

#[cfg(fuzzing)]
libfuzzer_sys::fuzz_target!(|input: MapInput| nulls_fuzz::Input::run(input));

#[cfg(not(fuzzing))]
fn main() -> std::io::Result<()> {
    nulls_fuzz::run_files::<MapInput>(std::env::args_os().skip(1))
}
