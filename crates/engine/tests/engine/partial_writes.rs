//! 40x: writes of part of a page read its old copy first. With a clock that read takes time, so pages may be
//! placed in another order than they came in; these tests say when they are not, and what is equal anyway.

use proptest::prelude::*;
use pumice_types::{Cause, FlashOp};
use serde_json::Value;

use crate::contract::{check_clock_changes_no_count, run_with};
use crate::random_devices::page_settings;
use crate::support::{TraceFile, number};

/// Page reads that the host caused, for itself or for old copies, wherever they were answered.
fn reads(document: &Value) -> f64 {
    ["flash.reads.host", "flash.reads.rmw", "host.buffer_hits"].iter().map(|path| number(document, path)).sum()
}

/// Both runs of a spec: with a clock, and without.
fn both(settings: &[(String, String)], more: &[(&str, &str)]) -> [Value; 2] {
    ["true", "false"].map(|timed| {
        let partial = [("host.partial_page", "rmw"), ("run.timed", timed)];
        run_with(settings, &[&partial[..], more].concat())
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(30))]

    #[test]
    fn t406_one_partial_write_at_a_time_has_the_same_counts_with_and_without_a_clock(
        settings in page_settings(), sectors in 1u32..8
    ) {
        let bytes = (sectors * 512).to_string();
        let one = [("host.mode", "closed-loop"), ("host.queue_depth", "1"), ("workload.request_bytes", &bytes)];
        let [timed, untimed] = both(&settings, &one);
        check_clock_changes_no_count(&timed, &untimed);
        prop_assert_eq!(&timed["flash"], &untimed["flash"]);
    }

    #[test]
    fn t407_the_order_of_partial_writes_changes_neither_what_the_host_programs_nor_what_it_reads(
        settings in page_settings(), sectors in 1u32..40, closed in prop::bool::ANY
    ) {
        let bytes = (sectors * 512).to_string();
        let mode = if closed { "closed-loop" } else { "open-loop" };
        let many = [("host.mode", mode), ("host.queue_depth", "16"), ("workload.request_bytes", &bytes),
            ("workload.mean_interarrival_us", "300.0")];
        let [timed, untimed] = both(&settings, &many);
        prop_assert_eq!(&timed["flash"]["programs"]["host"], &untimed["flash"]["programs"]["host"]);
        prop_assert_eq!(reads(&timed), reads(&untimed));
        // Without that read the order is the order of arrival.
        let whole = [&many[..], &[("host.partial_page", "whole-page")]].concat();
        let [timed, untimed] = both(&settings, &whole);
        check_clock_changes_no_count(&timed, &untimed);
    }
}

/// Logical pages in the order in which the flash took them.
fn programmed(requests: &[(u64, char, u64, u32)], sets: &[(&str, &str)]) -> Vec<u32> {
    let page_level = [
        ("ftl.kind", "page"),
        ("ftl.over_provisioning", "0.3"),
        ("geometry.planes_per_die", "1"),
        ("initial.fill", "1.0"),
        ("host.partial_page", "rmw"),
    ];
    let commands = TraceFile::new("order", requests).commands(&[&page_level[..], sets].concat());
    let of_host = commands.iter().filter(|command| command.cause == Cause::Host && command.op == FlashOp::Program);
    of_host.map(|command| command.lpn.0).collect()
}

#[test]
fn t408_a_page_is_placed_when_its_old_copy_has_been_read_and_whole_pages_of_its_request_before_that() {
    let one_die = ("geometry.channels", "1");
    // The last 512 bytes of page 0, and pages 1 and 2.
    let request = [(0, 'W', 3584, 512 + 8192)];
    assert_eq!(programmed(&request, &[one_die]), [1, 2, 0]);
    assert_eq!(programmed(&request, &[one_die, ("run.timed", "false")]), [0, 1, 2]);
    // Page 40 keeps the die busy while page 0 is read. Page 40 again needs no read of the flash: it is in the
    // controller's buffer. So it is placed before page 0, which came earlier.
    let queued = [(0, 'W', 30 * 4096, 4096), (0, 'W', 40 * 4096, 4096), (1, 'W', 0, 512), (2, 'W', 40 * 4096, 512)];
    assert_eq!(programmed(&queued, &[one_die]), [30, 40, 40, 0]);
    assert_eq!(programmed(&queued, &[one_die, ("run.timed", "false")]), [30, 40, 0, 40]);
}
