//! 66x: percentiles of a load whose latencies are known one by one.

use serde_json::Value;

use crate::support::TraceFile;

/// Pages of the request with so many others before it in the order of latency, of 20,000: the one of each
/// percentile is the first of its length.
fn pages_of(rank: u64) -> u64 {
    match rank {
        1..=17_999 => 1,
        18_000..=19_799 => 2,
        19_800..=19_979 => 3,
        19_980..=19_997 => 4,
        19_998..=19_999 => 5,
        _ => 6,
    }
}

const FIELDS: [&str; 6] = ["p50", "p90", "p99", "p99_9", "p99_99", "max"];

/// What a histogram of three digits makes of a latency in nanoseconds: the end of its bucket.
fn kept(ns: u64) -> u64 {
    let unit = 1 << (u64::BITS - 1 - ns.leading_zeros()).saturating_sub(10);
    ns / unit * unit + unit - 1
}

#[track_caller]
fn check(kind: &Value, ns_of: impl Fn(u64) -> u64) {
    assert_eq!(kind["requests"], 20_000);
    for (pages, field) in (1..).zip(FIELDS) {
        let ns = if field == "max" { ns_of(pages) } else { kept(ns_of(pages)) };
        assert_eq!(kind["latency_us"][field], ns as f64 / 1_000.0, "{field}");
    }
    let sum: u64 = (1..=20_000).map(|rank| ns_of(pages_of(rank))).sum();
    let mean = kind["latency_us"]["mean"].as_f64().expect("a number");
    assert!((mean / (sum as f64 / 2e7) - 1.0).abs() < 1e-12, "{mean}");
    assert_eq!(kind["latency_us"]["p99_9999"], Value::Null, "too few for it");
}

/// Ranks in an order that has nothing to do with their size.
fn ranks() -> impl Iterator<Item = u64> {
    (0..20_000u64).map(|n| n * 7_919 % 20_000 + 1)
}

#[test]
fn t664_each_percentile_is_the_latency_of_its_rank() {
    let page = |n: u64| n * 4096 % (60 << 20);
    // Pages of one die, read one behind the other: 70 us and a transfer of 10.56 us each. They lie in one block.
    let reads: Vec<_> = ranks()
        .enumerate()
        .map(|(n, rank)| (n as u64 * 10_000, 'R', (n as u64 % 4) * 64 * 4096, pages_of(rank) as u32 * 4096))
        .collect();
    let document = TraceFile::new("percentile-reads", &reads).run(&[("initial.fill", "1.0")]);
    check(&document["host"]["read"], |pages| pages * 80_560);
    // A write comes over the link, 40.96 us a page, and a trim behind it waits for that, but 1 us; then the pages
    // are programmed, each 10.56 us and 900 us.
    let (mut requests, mut next) = (Vec::new(), 0);
    for (n, rank) in ranks().enumerate() {
        let (at, pages) = (n as u64 * 20_000, pages_of(rank));
        requests.push((at, "write", page(next), pages as u32 * 4096));
        requests.push((at + 1, "trim", 63 << 20, 4096));
        next += pages;
    }
    let sets = [
        ("ftl.kind", "page"),
        ("geometry.channels", "1"),
        ("geometry.planes_per_die", "1"),
        ("geometry.blocks_per_plane", "1024"),
        ("host.link_mb_per_s", "100.0"),
        ("initial.fill", "0.0"),
    ];
    let document = TraceFile::fio("percentile-writes", &requests).run(&sets);
    assert_eq!(document["gc"]["copied_pages"], 0);
    check(&document["host"]["write"], |pages| pages * (40_960 + 910_560));
    check(&document["host"]["trim"], |pages| pages * 40_960 - 1_000);
}
