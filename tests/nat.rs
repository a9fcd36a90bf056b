//! Tests of the `nat` example: its translator by itself (`examples/nat/translator/tests.rs`, which
//! runs here), and the program on captures and on traffic that it makes up.
//!
//! A plain `cargo test` builds the example first. With a selection of targets, such as
//! `cargo test --test nat`, it does not: run `cargo build --example nat` before.

#![cfg(all(feature = "std", not(miri)))]

#[allow(dead_code, reason = "the example calls what the tests do not")]
#[path = "../examples/nat/translator/mod.rs"]
mod translator;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;

// ---- running the example ----------------------------------------------------------------------

/// The example, which lies beside the directory of the test programs.
fn nat() -> Command {
    let test = std::env::current_exe().expect("the path of this program");
    let profile = test.parent().and_then(Path::parent);
    let examples = profile.expect("target/<profile>/deps").join("examples");
    let example = examples.join(format!("nat{}", std::env::consts::EXE_SUFFIX));
    assert!(
        example.exists(),
        "{} is missing: run `cargo build --example nat` (`--release` for a release test)",
        example.display()
    );
    Command::new(example)
}

fn run(arguments: &[&str]) -> Output {
    let output = nat().args(arguments).output();
    output.expect("the example starts")
}

/// A report, which must be one JSON object and nothing else.
struct Report(Value);

impl Report {
    fn of(output: &Output) -> Self {
        let report = serde_json::from_slice(&output.stdout);
        Self(report.unwrap_or_else(|error| panic!("{error}: {output:?}")))
    }

    fn get(&self, name: &str) -> u64 {
        self.0[name].as_u64().expect(name)
    }

    fn counts<const N: usize>(&self, names: [&str; N]) -> [u64; N] {
        names.map(|name| self.get(name))
    }

    /// What holds whatever the traffic.
    fn check(&self) {
        let [translated, dropped, passed] = self.counts(["translated", "dropped", "passed"]);
        assert_eq!(translated + dropped + passed, self.get("packets"));
        let [unsolicited, refused] = self.counts(["unsolicited", "refused"]);
        assert_eq!(unsolicited + refused, dropped);
        let [expired, live] = self.counts(["expired", "live"]);
        assert_eq!(expired + live, self.get("mappings"));
        assert!(self.get("p50_ns") <= self.get("p99_ns"));
        assert!(self.0["packets_per_s"].as_f64().is_some());
    }
}

const COUNTS: [&str; 5] = ["packets", "translated", "dropped", "passed", "mappings"];

/// Translates a file in every way that there is; returns the exit code, the same for all.
fn check_file(path: &Path, expected: [u64; 5], code: i32) {
    let path = path.to_str().expect("a path in UTF-8");
    for threads in ["1", "4"] {
        for arguments in [&[path, "--json"][..], &[path, "--json", "--batch"]] {
            let output = run(&[arguments, &["--threads", threads]].concat());
            assert_eq!(output.status.code(), Some(code), "{path}: {output:?}");
            let report = Report::of(&output);
            assert_eq!(report.counts(COUNTS), expected, "{path}");
            assert_eq!(report.get("threads").to_string(), threads);
            assert_eq!(report.get("misdirected"), 0, "{path}");
            report.check();
        }
    }
}

fn write(name: &str, contents: &[u8]) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("nat-{name}"));
    fs::write(&path, contents).expect("a writable target directory");
    path
}

// ---- packets ----------------------------------------------------------------------------------

const HOST: [u8; 4] = [192, 0, 2, 1];
const SERVER: [u8; 4] = [198, 51, 100, 7];
const UDP: u8 = 17;
const TCP: u8 = 6;

/// The ports and as much more as either header has.
fn transport(source: u16, destination: u16, tcp_flags: u8) -> Vec<u8> {
    let mut header = [source.to_be_bytes(), destination.to_be_bytes()].concat();
    header.resize(20, 0);
    header[12] = 0x50;
    header[13] = tcp_flags;
    header
}

fn ipv4(protocol: u8, from: [u8; 4], to: [u8; 4], offset: u8, payload: &[u8]) -> Vec<u8> {
    let len = 20 + u8::try_from(payload.len()).expect("a short packet");
    let start = [0x45, 0, 0, len, 0, 1, 0, offset, 64, protocol, 0, 0];
    let packet = [&start[..], &from, &to, payload].concat();
    [&[2; 12][..], &[8, 0], &packet].concat()
}

fn out(protocol: u8, port: u16, flags: u8) -> Vec<u8> {
    ipv4(protocol, HOST, SERVER, 0, &transport(port, 443, flags))
}

fn back(protocol: u8, port: u16, flags: u8) -> Vec<u8> {
    ipv4(protocol, SERVER, HOST, 0, &transport(443, port, flags))
}

fn pcap(frames: &[Vec<u8>]) -> Vec<u8> {
    let header = [0xa1b2_c3d4, 4 << 16 | 2, 0, 0, 65_535, 1_u32];
    let mut file: Vec<u8> = header.into_iter().flat_map(u32::to_le_bytes).collect();
    for frame in frames {
        let len = u32::try_from(frame.len()).expect("a short frame");
        file.extend([7, 7, len, len].into_iter().flat_map(u32::to_le_bytes));
        file.extend(frame);
    }
    file
}

/// Three conversations, and four frames that have none.
fn small_talk() -> Vec<Vec<u8>> {
    let (syn, ack, fin) = (2, 0x10, 0x11);
    let later_fragment = ipv4(UDP, HOST, SERVER, 100, &transport(40_000, 443, 0));
    let icmp = ipv4(1, HOST, SERVER, 0, &[8; 20]);
    let ipv6 = [&[2; 12][..], &[0x86, 0xdd, 0x60], &[0; 39]].concat();
    vec![
        out(TCP, 40_000, syn),
        back(TCP, 40_000, syn | ack),
        out(TCP, 40_000, ack),
        later_fragment,
        out(UDP, 40_000, 0),
        icmp,
        out(TCP, 40_000, fin),
        back(TCP, 40_000, fin),
        // Begun by the other side, whose packets are outbound then.
        back(UDP, 40_001, 0),
        out(UDP, 40_001, 0),
        ipv6,
        [&[2; 12][..], &[8, 6], &[0; 28]].concat(),
    ]
}

// ---- captures ---------------------------------------------------------------------------------

#[test]
fn a_capture_is_translated_in_both_directions() {
    let path = write("small.pcap", &pcap(&small_talk()));
    check_file(&path, [12, 8, 0, 4, 3], 0);
}

#[test]
fn a_capture_without_packets_is_a_capture() {
    check_file(&write("none.pcap", &pcap(&[])), [0; 5], 0);
}

#[test]
fn a_cut_file_counts_up_to_the_cut() {
    let whole = pcap(&small_talk());
    let path = write("cut.pcap", &whole[..whole.len() - 1]);
    check_file(&path, [11, 8, 0, 3, 3], 2);
    let complaint = run(&[path.to_str().expect("UTF-8")]).stderr;
    let complaint = String::from_utf8_lossy(&complaint);
    assert_eq!(complaint.lines().count(), 1, "{complaint}");
    assert!(complaint.starts_with("nat: ") && complaint.ends_with("after 11 packets\n"));
}

#[test]
fn foreign_files_are_refused() {
    let text = write("text", b"# Not a capture\n\nBut longer than a header.\n");
    for path in [&text, &write("empty", b""), Path::new("no/such/file.pcap")] {
        let output = nat().arg(path).arg("--json").output();
        let output = output.expect("the example starts");
        assert_eq!(output.status.code(), Some(2), "{output:?}");
        assert!(output.stdout.is_empty(), "{output:?}");
        assert_eq!(String::from_utf8_lossy(&output.stderr).lines().count(), 1);
    }
}

#[test]
fn captures_of_real_traffic() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/data");
    if !folder.is_dir() {
        println!("skipped: there is no {}", folder.display());
        return;
    }
    // Counted by a script of a few lines. The conversations are those over IPv4.
    for (name, packets, translated, conversations) in [
        ("sanitized4k.pcap", 4096, 3826, 642 + 231),
        ("echo-connections.pcap.gz", 82_582, 82_582, 500),
        ("wikipedia.pcap", 136, 121, 10 + 21),
        ("v4-v6-lookalike.pcap", 2, 1, 1),
    ] {
        let passed = packets - translated;
        let expected = [packets, translated, 0, passed, conversations];
        check_file(&folder.join(name), expected, 0);
    }
}

// ---- generated traffic ------------------------------------------------------------------------

fn generate(arguments: &[&str]) -> Report {
    let small = ["--json", "--flows", "5000", "--packets", "200000"];
    let output = run(&[&small, arguments].concat());
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let report = Report::of(&output);
    report.check();
    assert_eq!(report.get("packets"), 200_000);
    report
}

#[test]
fn generated_traffic_is_the_same_every_time() {
    // So fast that nothing expires: when a sweep comes is not the same every time.
    let same = ["--threads", "2", "--seconds", "1"];
    let one_by_one = generate(&same);
    let together = generate(&[&same[..], &["--batch"]].concat());
    assert_eq!(one_by_one.counts(COUNTS), together.counts(COUNTS));
    assert_eq!(one_by_one.get("expired"), 0);
    // Only scans are dropped: one packet in a hundred.
    let dropped = one_by_one.get("dropped");
    assert!((1800..2200).contains(&dropped), "{dropped}");
    assert!(one_by_one.get("mappings") > 5000);
}

#[test]
fn mappings_expire_while_traffic_goes_on() {
    for threads in ["1", "4"] {
        let report = generate(&["--threads", threads, "--seconds", "100000"]);
        assert!(report.get("expired") > 1000, "{:?}", report.0);
    }
}

#[test]
fn without_churn_there_is_a_mapping_for_each_conversation() {
    let report = generate(&["--churn", "0", "--seconds", "1", "--threads", "1"]);
    let [mappings, live] = report.counts(["mappings", "live"]);
    assert_eq!(mappings, live);
    assert!((4000..=5000).contains(&live), "{live}");
}

// ---- the command line -------------------------------------------------------------------------

#[test]
fn bad_arguments_are_refused() {
    for arguments in [
        &["--threads", "0"][..],
        &["--addresses", "0"],
        &["--churn", "101"],
        &["--flows", "many"],
        &["--quick", "--flows", "10"],
        &["one.pcap", "--flows", "10"],
        &["one.pcap", "two.pcap"],
    ] {
        let output = run(arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {output:?}");
        assert!(output.stdout.is_empty(), "{arguments:?}: {output:?}");
    }
}

#[test]
fn the_text_says_what_was_made_and_how_fast() {
    let path = write("text-report.pcap", &pcap(&small_talk()));
    let output = nat().arg(path).output().expect("the example starts");
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let text = String::from_utf8(output.stdout).expect("text");
    assert!(text.contains(" 3 mappings made\n"), "{text}");
    assert!(text.contains(" packets a second on "), "{text}");
}

#[test]
fn a_reader_that_went_away_is_no_error() {
    let mut child = nat()
        .args(["--flows", "1000"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the example starts");
    drop(child.stdout.take());
    let output = child.wait_with_output().expect("the example ends");
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert!(output.stderr.is_empty(), "{output:?}");
}
