//! 75x: planes of a die that read by themselves. tR is 70 µs, a page takes 10.56 µs on the channel.

use crate::contract::check_times;
use crate::support::{TraceFile, accepts, document, number};

/// A page-level FTL on one die of several planes, full: logical pages go to the planes in turn.
const ONE_DIE: &[(&str, &str)] = &[
    ("ftl.kind", "page"),
    ("ftl.over_provisioning", "0.3"),
    ("geometry.channels", "1"),
    ("geometry.planes_per_die", "2"),
    ("geometry.program_order", "in-order"),
    ("initial.fill", "1.0"),
    ("host.read_priority", "true"),
    ("run.check", "integrity"),
];

const TRANSFER: f64 = 10.56;

#[test]
fn t754_a_read_waits_for_its_own_plane_and_for_the_channel_alone() {
    // The first read, one of another page number in the other plane, and one in the plane of the first.
    let reads = [(0, 'R', 0, 4096), (1, 'R', 3 * 4096, 4096), (2, 'R', 2 * 4096, 4096)];
    let longest = |name: &str, of: &[(u64, char, u64, u32)], plane_reads: &str| {
        let found = TraceFile::new(name, of).run(&[ONE_DIE, &[("timing.plane_reads", plane_reads)]].concat());
        check_times(&found);
        number(&found, "host.read.latency_us.max")
    };
    let near = |found: f64, expected: f64| assert!((found - expected).abs() < 1e-6, "{found} is not {expected}");
    near(longest("planes-die", &reads[..2], "die"), 2.0 * (70.0 + TRANSFER) - 1.0);
    // Sensed at 71 µs, its data waits for that of the first.
    near(longest("planes-two", &reads[..2], "plane"), 70.0 + 2.0 * TRANSFER - 1.0);
    // The plane is idle from 80.56 µs on, so the third is sensed at 150.56.
    near(longest("planes-three", &reads, "plane"), 2.0 * (70.0 + TRANSFER) - 2.0);
    // Those that came while the first was read begin together, when it is done.
    near(longest("planes-batch-two", &reads[..2], "batch"), 2.0 * (70.0 + TRANSFER) - 1.0);
    near(longest("planes-batch", &reads, "batch"), 2.0 * 70.0 + 3.0 * TRANSFER - 2.0);
    // A program waits until no plane reads.
    let write = [(0, 'R', 0, 4096), (1, 'W', 4096, 4096), (2, 'R', 3 * 4096, 4096)];
    let found = TraceFile::new("planes-write", &write).run(&[ONE_DIE, &[("timing.plane_reads", "plane")]].concat());
    near(number(&found, "host.write.latency_us.max"), 70.0 + 3.0 * TRANSFER + 900.0 - 1.0);
    check_times(&found);
}

#[test]
fn t1095_with_one_plane_a_die_it_does_not_matter_who_reads_at_one_time() {
    let load = [
        ("geometry.planes_per_die", "1"),
        ("ftl.map_place", "cached"),
        ("ftl.map_cache_entries", "64"),
        ("host.mode", "closed-loop"),
        ("host.queue_depth", "8"),
        ("workload.read_fraction", "0.3"),
        ("workload.requests", "2000"),
        ("workload.request_bytes", "4096"),
    ];
    let of = |plane_reads| {
        let mut found = document(&[ONE_DIE, &load, &[("timing.plane_reads", plane_reads)]].concat());
        assert!(number(&found, "write_latency_breakdown_us.map") > 100.0, "writes wait for the map");
        check_times(&found);
        let fields = found.as_object_mut().expect("an object");
        fields.retain(|name, _| !["config", "config_sha256", "run"].contains(&name.as_str()));
        found
    };
    assert_eq!(of("die"), of("plane"));
    assert_eq!(of("die"), of("batch"));
}

#[test]
fn t755_planes_that_read_by_themselves_read_as_many_times_as_much() {
    let load = [
        ("geometry.planes_per_die", "4"),
        ("timing.channel_mb_per_s", "40000"),
        ("workload.read_fraction", "1.0"),
        ("workload.request_bytes", "4096"),
        ("workload.footprint", "1.0"),
        ("workload.requests", "40000"),
        ("host.mode", "closed-loop"),
        ("host.queue_depth", "128"),
    ];
    let iops = |more: &[(&'static str, &'static str)]| number(&document(&[ONE_DIE, &load, more].concat()), "host.iops");
    let (die, plane) = (iops(&[]), iops(&[("timing.plane_reads", "plane")]));
    assert!(plane > 3.8 * die && plane <= 4.0 * die * 1.000_001, "{plane} and {die}");
    let retries = [
        ("erase.read_retry", "true"),
        ("erase.scheme", "ispe"),
        ("erase.initial_pec", "4500"),
        ("erase.ecc_bits_per_kib", "64"),
    ];
    let (die, plane) = (iops(&retries), iops(&[&retries[..], &[("timing.plane_reads", "plane")]].concat()));
    assert!(plane > 3.8 * die && plane <= 4.0 * die * 1.000_001, "{plane} and {die} with retries");
    assert!(accepts(&[("timing.plane_reads", "plane")]).expect_err("refused").contains("host.read_priority = true"));
}

#[test]
fn t781_work_has_its_turn_after_so_many_reads_or_batches_of_them() {
    let load = [(0, 'R', 0, 4096), (1, 'W', 4096, 4096), (2, 'R', 0, 4096), (3, 'R', 0, 4096)];
    let one_plane = ("geometry.planes_per_die", "1");
    let (read, program) = (70.0 + TRANSFER, TRANSFER + 900.0);
    let waits = [
        ("0", [3.0 * read - 3.0, 3.0 * read + program - 1.0]),
        ("1", [3.0 * read + program - 3.0, 2.0 * read + program - 1.0]),
    ];
    for (plane_reads, (tokens, expected)) in ["die", "batch"].into_iter().flat_map(|how| waits.map(|wait| (how, wait)))
    {
        let more = [one_plane, ("timing.plane_reads", plane_reads), ("host.read_tokens", tokens)];
        let found = TraceFile::new(&format!("tokens-{plane_reads}-{tokens}"), &load).run(&[ONE_DIE, &more].concat());
        check_times(&found);
        let longest = ["read", "write"].map(|kind| number(&found, &format!("host.{kind}.latency_us.max")));
        let is_near = longest.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-6);
        assert!(is_near, "{plane_reads}, {tokens}: {longest:?} is not {expected:?}");
    }
    let planes = [("timing.plane_reads", "plane"), ("host.read_priority", "true"), ("host.read_tokens", "1")];
    assert!(accepts(&planes).expect_err("refused").contains("\"die\" or \"batch\""));
}
