//! 60x: how much of a page a read moves over the channel, and when its command reaches its die, in times worked out by
//! hand. Pages of 4096 + 128 bytes at 400 MB/s.

use serde_json::Value;

use crate::support::{TraceFile, document, number};

const T_R: f64 = 70.0;
const TRANSFER: f64 = 10.56;

/// A page-level FTL on two dies of one channel, full.
const TWO_DIES: &[(&str, &str)] = &[
    ("ftl.kind", "page"),
    ("ftl.over_provisioning", "0.3"),
    ("geometry.channels", "1"),
    ("geometry.dies_per_chip", "2"),
    ("geometry.planes_per_die", "1"),
    ("initial.fill", "1.0"),
    ("host.partial_page", "rmw"),
    ("run.check", "integrity"),
];

fn run(name: &str, requests: &[(u64, char, u64, u32)], sets: &[(&str, &str)]) -> Value {
    TraceFile::new(name, requests).run(&[TWO_DIES, sets].concat())
}

#[track_caller]
fn near(document: &Value, path: &str, expected: f64) {
    let found = number(document, path);
    assert!((found - expected).abs() < 1e-6, "{path}: {found} is not {expected}");
}

#[test]
fn t606_a_read_moves_the_codewords_that_hold_what_is_asked_for() {
    let codewords = [("timing.read_transfer", "codewords"), ("timing.codeword_bytes", "1024")];
    // First byte and bytes asked for, and codewords moved.
    let cases = [(0, 512, 1.0), (512, 512, 1.0), (512, 1024, 2.0), (1023, 2, 2.0), (1024, 3072, 3.0), (0, 4096, 4.0)];
    for (nth, (offset, bytes, moved)) in cases.into_iter().enumerate() {
        let read = [(0, 'R', offset, bytes)];
        let parts = run(&format!("codewords-{nth}"), &read, &codewords);
        near(&parts, "host.read.latency_us.max", T_R + TRANSFER * moved / 4.0);
        let whole = run(&format!("pages-{nth}"), &read, &[]);
        near(&whole, "host.read.latency_us.max", T_R + TRANSFER);
    }
    // A write of part of a page reads the codewords that it leaves something of.
    for (bytes, moved) in [(512, 4.0), (1024, 3.0), (3584, 1.0)] {
        let write = run(&format!("partial-{bytes}"), &[(0, 'W', 0, bytes)], &codewords);
        near(&write, "host.write.latency_us.max", T_R + TRANSFER * moved / 4.0 + TRANSFER + 900.0);
    }
}

#[test]
fn t607_reads_of_parts_move_what_they_need_in_groups_and_when_they_are_repeated() {
    let codewords = [("timing.read_transfer", "codewords"), ("timing.codeword_bytes", "1024")];
    // Two planes of one die: a page, half of another one. They wait for a read and run together.
    let planes = [("geometry.dies_per_chip", "1"), ("geometry.planes_per_die", "2"), ("timing.multi_plane", "queue")];
    let reads = [(0, 'R', 0, 4096), (1, 'R', 0, 4096), (1, 'R', 4096, 2048)];
    let group = run("group", &reads, &[&codewords[..], &planes].concat());
    near(&group, "flash.multi_plane_commands", 1.0);
    near(&group, "host.read.latency_us.max", 2.0 * (T_R + TRANSFER) + TRANSFER / 2.0 - 1.0);
    // Every retry senses and moves what the read needs once more.
    let worn = [
        ("geometry.layers", "8"),
        ("geometry.sub_blocks", "4"),
        ("geometry.bits_per_cell", "2"),
        ("partial_erase.unit", "none"),
        ("erase.read_retry", "true"),
        ("erase.ecc_bits_per_kib", "1.0"),
        ("workload.kind", "uniform"),
        ("workload.requests", "2000"),
        ("workload.request_bytes", "1024"),
        ("workload.read_fraction", "1.0"),
        ("workload.mean_interarrival_us", "100000.0"),
    ];
    let found = document(&[TWO_DIES, &codewords, &worn].concat());
    let again = number(&found, "flash.read_retries") / number(&found, "flash.reads.host");
    assert!(again > 0.1, "{again} retries a read");
    let mean = number(&found, "host.read.latency_us.mean");
    let expected = (1.0 + again) * (T_R + TRANSFER / 4.0);
    assert!((mean / expected - 1.0).abs() < 0.005, "{mean} and {expected}");
}

#[test]
fn t608_a_read_command_goes_at_once_or_waits_for_what_asked_for_the_channel_before() {
    // Pages 0 and 2 lie on one die, page 1 on the other. The data of page 1 is on the channel when die 0 is free.
    let reads = [(0, 'R', 0, 4096), (0, 'R', 4096, 4096), (75, 'R', 8192, 4096)];
    let first = T_R + TRANSFER;
    let mean = |last: f64| (first + (first + TRANSFER) + last - 75.0) / 3.0;
    let at_once = run("at-once", &reads, &[]);
    near(&at_once, "host.read.latency_us.mean", mean(2.0 * first));
    let channel = run("channel", &reads, &[("timing.read_command", "channel")]);
    near(&channel, "host.read.latency_us.mean", mean(2.0 * first + TRANSFER));
}
