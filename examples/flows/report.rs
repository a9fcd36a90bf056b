//! The result, as text or as JSON.

use core::cmp::Reverse;
use std::io::{self, Write};

use serde_json::json;

use crate::Survey;
use crate::packet::{FlowKey, Protocol};

/// How many of the biggest conversations the text lists.
const BIGGEST: usize = 10;

/// The conversations, counted by protocol, and the biggest of them.
struct Conversations {
    tcp: u64,
    udp: u64,
    biggest: Vec<Flow>,
}

struct Flow {
    key: FlowKey,
    packets: u64,
    bytes: u64,
}

impl Conversations {
    fn of(survey: &Survey) -> Self {
        let view = survey.flows.pin();
        let mut flows: Vec<_> = view
            .iter()
            .map(|(&key, counters)| Flow {
                key,
                packets: counters.packets(),
                bytes: counters.bytes(),
            })
            .collect();
        let tcp = flows
            .iter()
            .filter(|flow| flow.key.protocol == Protocol::Tcp);
        let tcp = tcp.count() as u64;
        let udp = flows.len() as u64 - tcp;
        // A hash map has no order of its own, and equals are told apart by their keys: the list is
        // the same in every run.
        flows.sort_unstable_by_key(|flow| (Reverse(flow.bytes), flow.key));
        flows.truncate(BIGGEST);
        Self {
            tcp,
            udp,
            biggest: flows,
        }
    }
}

/// Writes the report to standard output.
///
/// A reader that has seen enough and closed the pipe is no error.
pub(crate) fn print(survey: &Survey, threads: usize, as_json: bool) -> io::Result<()> {
    let mut out = io::BufWriter::new(io::stdout().lock());
    let written = if as_json {
        json(&mut out, survey, threads)
    } else {
        text(&mut out, survey)
    };
    match written.and_then(|()| out.flush()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        result => result,
    }
}

fn json(out: &mut impl Write, survey: &Survey, threads: usize) -> io::Result<()> {
    let conversations = Conversations::of(survey);
    let object = json!({
        "packets": survey.totals.all.packets(),
        "bytes": survey.totals.all.bytes(),
        "tcp": conversations.tcp,
        "udp": conversations.udp,
        "other_ip_packets": survey.totals.other_ip.packets(),
        "not_ip_packets": survey.totals.not_ip.packets(),
        "threads": threads,
    });
    writeln!(out, "{object}")
}

fn text(out: &mut impl Write, survey: &Survey) -> io::Result<()> {
    let (totals, conversations) = (&survey.totals, Conversations::of(survey));
    for (number, what) in [
        (totals.all.packets(), "packets"),
        (totals.all.bytes(), "bytes"),
        (conversations.tcp, "TCP conversations"),
        (conversations.udp, "UDP conversations"),
        (totals.other_ip.packets(), "other IP packets"),
        (totals.not_ip.packets(), "packets without IP"),
    ] {
        writeln!(out, "{number:>14} {what}")?;
    }

    writeln!(out, "\n         bytes    packets biggest conversations")?;
    for flow in &conversations.biggest {
        writeln!(out, "{:>14} {:>10} {}", flow.bytes, flow.packets, flow.key)?;
    }

    let (len, capacity) = (survey.flows.len(), survey.flows.capacity());
    writeln!(out, "\ntable: {len} entries, capacity {capacity}")?;
    writeln!(out, "{}", survey.flows.stats())
}
