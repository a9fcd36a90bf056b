//! `cargo +nightly fuzz run inline`; or, without `cargo fuzz`, `cargo run --bin inline -- FILE...`, which
//! runs the given inputs.

#![cfg_attr(fuzzing, no_main)]

use nulls_fuzz::InlineInput;

#[cfg(fuzzing)]
libfuzzer_sys::fuzz_target!(|input: InlineInput| nulls_fuzz::Input::run(input));

#[cfg(not(fuzzing))]
fn main() -> std::io::Result<()> {
    nulls_fuzz::run_files::<InlineInput>(std::env::args_os().skip(1))
}
