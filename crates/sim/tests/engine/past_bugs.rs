//! 9xx: each past bug with its story.

use pumice_sim::{SimError, Spec, run};
use serde_json::Value;

use crate::support::{TraceFile, document, number, source, spec};

/// A write that arrived at the very instant at which a merge's last command ended, before that
/// event was handled, took the whole merge into its snapshot a second time: parts of its latency
/// came out negative.
#[test]
fn t901_a_write_that_arrives_as_a_merge_ends_waits_for_nothing_twice() {
    let document = document(&[
        ("host.mode", "closed-loop"),
        ("host.queue_depth", "16"),
        ("workload.read_fraction", "0.0"),
        ("workload.request_bytes", "4096"),
        ("workload.requests", "100000"),
        ("geometry.channels", "1"),
        ("geometry.dies_per_chip", "16"),
        ("geometry.spare_bytes", "0"),
        ("timing.t_r_us", "10"),
        ("timing.t_prog_us", "10"),
        ("timing.t_bers_us", "10"),
        ("timing.channel_mb_per_s", "40.96"),
        ("partial_erase.t_us", "[10, 10, 10, 10, 10]"),
        ("ftl.merge", "m-merge"),
        ("ftl.u_index", "ram"),
    ]);
    let parts = document["write_latency_breakdown_us"].as_object().expect("a table");
    let sum: f64 = parts.values().filter_map(Value::as_f64).sum();
    let mean = number(&document, "host.write.latency_us.mean");
    assert!((sum / mean - 1.0).abs() < 1e-9, "parts {sum} and mean {mean}");
}

/// Commands were counted when they ran and the FTL's decisions when they were made, so a warm-up
/// that ended amid a merge split them.
#[test]
fn t902_counts_agree_wherever_the_warm_up_ends() {
    for warmup in ["5000", "5001", "7777"] {
        let sets =
            [("ftl.merge", "m-merge"), ("run.warmup_requests", warmup), ("workload.mean_interarrival_us", "2000.0")];
        let document = document(&sets);
        assert_eq!(number(&document, "gc.copied_pages"), number(&document, "flash.programs.gc"));
    }
}

/// A warm-up as long as the workload measured nothing, or everything.
#[test]
fn t903_a_warm_up_that_leaves_nothing_is_refused() {
    for timed in ["true", "false"] {
        let sets = [("run.warmup_requests", "20000"), ("run.timed", timed)];
        match run(&spec(&sets), 1.0, &mut |_| true) {
            Err(SimError::Spec(error)) => assert!(error.to_string().contains("leaves nothing to measure")),
            _ => panic!("accepted"),
        }
    }
}

/// Shares of blocks lost one block to binary fractions: 0.34 of 100 left 65.
#[test]
fn t904_decimal_shares_give_whole_blocks() {
    let sets = [("geometry.blocks_per_plane", "100"), ("ftl.over_provisioning", "0.34"), ("workload.requests", "1")];
    assert_eq!(number(&document(&sets), "device.user_bytes"), 66.0 * 4.0 * 64.0 * 4096.0);
}

/// At the smallest over-provisioning that validation named, a full page-level device had no plane
/// that could take an overwrite.
#[test]
fn t906_the_smallest_over_provisioning_named_works_on_a_full_device() {
    let full =
        [("ftl.kind", "page"), ("initial.fill", "1.0"), ("workload.footprint", "1.0"), ("run.check", "integrity")];
    let too_small = Spec::resolve(&source(&[&full[..], &[("ftl.over_provisioning", "0.05")]].concat()));
    let text = too_small.expect_err("refused").to_string();
    let smallest = text.rsplit(' ').next().expect("ends with the value");
    document(&[&full[..], &[("ftl.over_provisioning", smallest)]].concat());
}

/// Progress was reported by requests alone, so a run of few, large requests could not be stopped.
#[test]
fn t907_a_run_of_few_large_requests_can_be_stopped() {
    let sets = [
        ("workload.requests", "3000"),
        ("workload.request_bytes", "4194304"),
        ("workload.mean_interarrival_us", "1.0"),
    ];
    let mut reports = 0;
    let stopped = run(&spec(&sets), 1.0, &mut |_| {
        reports += 1;
        false
    });
    assert!(matches!(stopped, Err(SimError::Interrupted)) && reports == 1);
}

/// Arrivals beyond the clock gave a result without a word.
#[test]
fn t908_arrivals_beyond_the_clock_are_refused() {
    let sets = [("workload.mean_interarrival_us", "1e12"), ("host.speedup", "1e-6")];
    assert!(matches!(run(&spec(&sets), 1.0, &mut |_| true), Err(SimError::Spec(_))));
}

/// An M-Merge moves a page out of its place and back. While both moves were queued, a read with priority
/// looked for the page's source, and for the source's source, for ever.
#[test]
fn t909_a_read_of_a_page_that_is_queued_to_be_moved_out_and_back_ends() {
    let fill = [(0, 'W', 0, 64 * 4096)];
    let updates = [(0, 'W', 0, 4096); 65];
    let reads = [1, 2, 3].map(|page| (100, 'R', page * 4096, 4096));
    let requests: Vec<_> = fill.into_iter().chain(updates).chain(reads).collect();
    let sets = [
        ("ftl.merge", "m-merge"),
        ("ftl.u_index", "ram"),
        ("host.read_priority", "true"),
        ("initial.fill", "0.0"),
        ("run.check", "integrity"),
    ];
    let document = TraceFile::new("out-and-back", &requests).run(&sets);
    assert_eq!(number(&document, "gc.merges.m_merge"), 1.0);
    assert_eq!(number(&document, "host.buffer_hits"), 3.0, "their first programs are still queued");
}

/// A page was moved from block B to C and, by the next merge, back into B. Before either had run, B still
/// held the page, so a read with priority was sent there; the first merge then erased B under it.
#[test]
fn t912_a_read_with_priority_does_not_trust_a_page_that_will_be_erased_and_filled_again() {
    let document = document(&[
        ("geometry.channels", "1"),
        ("geometry.planes_per_die", "1"),
        ("geometry.blocks_per_plane", "10"),
        ("geometry.pages_per_block", "8"),
        ("geometry.program_order", "in-order"),
        ("partial_erase.max_splits", "0"),
        ("ftl.u_index", "ram"),
        ("ftl.over_provisioning", "0.3"),
        ("ftl.gc_free_threshold", "0"),
        ("timing.copyback", "false"),
        ("initial.fill", "0.9"),
        ("initial.fill_unit", "page"),
        ("workload.read_fraction", "0.77"),
        ("workload.footprint", "0.25"),
        ("workload.requests", "3000"),
        ("workload.request_bytes", "4608"),
        ("workload.mean_interarrival_us", "2500.0"),
        ("host.write_buffer_kib", "64"),
        ("host.partial_page", "rmw"),
        ("host.read_priority", "true"),
        ("run.check", "integrity"),
    ]);
    assert!(number(&document, "gc.merges.full") > 100.0);
}

/// Pages found in the write buffer were counted without a clock and not with one.
#[test]
fn t911_pages_read_from_the_write_buffer_are_counted() {
    for timed in ["true", "false"] {
        let sets = [("host.write_buffer_kib", "64"), ("host.flush", "lru"), ("run.timed", timed)];
        let document = TraceFile::new("hits", &[(0, 'W', 0, 4096), (10, 'R', 0, 4096)]).run(&sets);
        assert_eq!(number(&document, "host.buffer_hits"), 1.0, "timed: {timed}");
    }
}
