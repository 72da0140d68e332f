//! 7xx: results that theory gives.

use crate::support::{document, number};

/// One die, reads of one page: service time D = tR + transfer.
const ONE_DIE: &[(&str, &str)] = &[
    ("geometry.channels", "1"),
    ("geometry.planes_per_die", "1"),
    ("workload.read_fraction", "1.0"),
    ("workload.request_bytes", "4096"),
    ("initial.fill", "1.0"),
    ("workload.footprint", "1.0"),
];

const SERVICE_US: f64 = 70.0 + 10.56;

#[test]
fn t700_waiting_in_an_m_d_1_queue() {
    for load in [0.3, 0.6, 0.8] {
        let interarrival = format!("{}", SERVICE_US / load);
        let sets =
            [ONE_DIE, &[("workload.mean_interarrival_us", &interarrival), ("workload.requests", "2000000")]].concat();
        let waited = number(&document(&sets), "host.read.latency_us.mean") - SERVICE_US;
        let expected = load * SERVICE_US / (2.0 * (1.0 - load));
        assert!((waited / expected - 1.0).abs() < 0.02, "load {load}: waited {waited} µs, theory {expected} µs");
    }
}

#[test]
fn t701_die_bound_and_bus_bound_throughput() {
    let deep = [("host.mode", "closed-loop"), ("host.queue_depth", "64"), ("workload.requests", "50000")];
    // One die: a read after the other.
    let document_of = |extra: &[(&str, &str)]| document(&[ONE_DIE, &deep[..], extra].concat());
    let die_bound = number(&document_of(&[]), "host.iops");
    assert!((die_bound * SERVICE_US / 1e6 - 1.0).abs() < 0.01, "{die_bound}");
    // Sixteen dies on one channel at 40 MB/s: a transfer of 105.6 µs after the other.
    let bus = [("geometry.dies_per_chip", "16"), ("timing.channel_mb_per_s", "40.0")];
    let bus_bound = document_of(&bus);
    assert!((number(&bus_bound, "host.iops") * 105.6 / 1e6 - 1.0).abs() < 0.01);
    assert!(bus_bound["utilisation"]["channel"][0].as_f64().expect("a share") > 0.99);
}

#[test]
fn t702_update_in_place_of_one_block_has_the_write_amplification_of_its_merges() {
    // Every 64 updates of one full block cost one merge of 64 pages: WAF = 2 in the long run.
    let sets = [
        ("workload.kind", "sequential"),
        ("workload.read_fraction", "0.0"),
        ("workload.request_bytes", "4096"),
        ("workload.footprint", "0.0044"),
        ("workload.requests", "64000"),
        ("initial.fill", "1.0"),
        ("run.timed", "false"),
    ];
    let document = document(&sets);
    assert_eq!(number(&document, "workload.logical_blocks_written"), 1.0);
    assert!((number(&document, "write_amplification") - 2.0).abs() < 0.002);
}

#[test]
fn t703_requests_bytes_and_time_are_conserved() {
    let document = document(&[("ftl.merge", "m-merge")]);
    let n = |path: &str| number(&document, path);
    assert_eq!(n("host.read.requests") + n("host.write.requests"), 20_000.0);
    assert_eq!(n("host.write.bytes"), n("host.write.requests") * 8192.0);
    assert_eq!(n("flash.programs.host"), n("host.write.requests") * 2.0, "two pages a request");
    let dies = document["utilisation"]["die"].as_array().expect("a list");
    assert_eq!(dies.len(), 2);
    // Die time: what each command takes, added up, is what the dies were busy.
    let reads = n("flash.reads.host") * (70.0 + 10.56);
    let searches = n("flash.reads.spare") * (70.0 + 0.32);
    let programs = n("flash.programs.host") * (900.0 + 10.56);
    let gc = n("gc.time_us.copy") + n("gc.time_us.erase");
    let busy: f64 = dies.iter().filter_map(|d| d.as_f64()).sum::<f64>() * n("host.simulated_s") * 1e6;
    // Waiting for the channel keeps a die busy too; with one die a channel nobody waits.
    assert!((busy / (reads + searches + programs + gc) - 1.0).abs() < 1e-9);
}
