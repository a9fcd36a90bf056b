//! Hands the compiler's version to the records.

use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let rustc = std::env::var_os("RUSTC").expect("cargo sets RUSTC");
    let output = Command::new(rustc)
        .arg("--version")
        .output()
        .expect("rustc runs");
    let version = String::from_utf8_lossy(&output.stdout);
    println!("cargo::rustc-env=BENCH_RUSTC={}", version.trim());
}
