//! Mapping units that are smaller than a page (`ftl.map_unit_bytes`): t457–t460 what a device of such units keeps and
//! counts, t618 and t619 when their commands come, t716 (beside its kind) write amplification.

use proptest::prelude::*;
use pumice_config::{Config, SpecSource};
use pumice_engine::run;
use serde_json::Value;

use crate::random_devices::{host_settings, unit_settings};
use crate::support::{TraceFile, accepts, document, number};

/// A device whose page is four units, in blocks of a sixteenth of the pages.
const UNITS: &[(&str, &str)] = &[
    ("ftl.kind", "page"),
    ("timing.copyback", "false"),
    ("geometry.page_bytes", "16384"),
    ("geometry.spare_bytes", "512"),
    ("ftl.map_unit_bytes", "4096"),
];

/// A device of equal size with a page for each unit.
const PAGES: &[(&str, &str)] = &[
    ("ftl.kind", "page"),
    ("timing.copyback", "false"),
    ("geometry.page_bytes", "4096"),
    ("geometry.spare_bytes", "128"),
];

/// Both devices with blocks of so many units.
fn both(units: u32, sets: &[(&str, &str)]) -> [Value; 2] {
    let (whole, single) = ((units / 4).to_string(), units.to_string());
    let units = document(&[UNITS, &[("geometry.pages_per_block", &whole)], sets].concat());
    let pages = document(&[PAGES, &[("geometry.pages_per_block", &single)], sets].concat());
    [units, pages]
}

/// Counts of a device of units: programs hold units of the host and of collection, and padding.
fn check_units(document: &Value, per_page: f64) {
    let count = |path: &str| number(document, path);
    let units = count("flash.units.host") + count("flash.units.gc") + count("flash.units.padding");
    assert!(((count("flash.programs.host") + count("flash.programs.gc")) * per_page - units).abs() < 0.5);
    if count("flash.units.host") > 0.0 {
        let amplification = units / count("flash.units.host");
        assert!((amplification / count("write_amplification") - 1.0).abs() < 1e-9);
    }
}

#[test]
fn t457_units_in_larger_pages_are_written_and_collected_like_pages_of_their_size() {
    // On one plane: pages go round the planes, so units would not go where single pages go.
    let steady = [
        ("geometry.channels", "1"),
        ("geometry.planes_per_die", "1"),
        ("geometry.blocks_per_plane", "256"),
        ("partial_erase.unit", "none"),
        ("host.partial_page", "rmw"),
        ("ftl.over_provisioning", "0.2"),
        ("initial.fill", "1.0"),
        ("workload.read_fraction", "0.0"),
        ("workload.request_bytes", "4096"),
        ("workload.footprint", "1.0"),
        ("workload.requests", "40000"),
        ("run.check", "integrity"),
        ("run.timed", "false"),
    ];
    for policy in ["greedy", "cost-benefit", "d-choices", "fifo", "random"] {
        for (apart, mode) in [("gc", "blocking"), ("mixed", "blocking"), ("gc", "foreground"), ("gc", "paced")] {
            let own = [("ftl.gc_policy", policy), ("ftl.hot_cold", apart), ("ftl.gc_mode", mode)];
            let [units, pages] = both(64, &[&steady[..], &own].concat());
            for counted in ["copied_pages", "reclaimed_blocks", "triggers", "urgent", "victim_fill"] {
                assert_eq!(units["gc"][counted], pages["gc"][counted], "{counted}: {policy}, {apart}, {mode}");
            }
            assert_eq!(number(&units, "flash.units.host"), number(&pages, "flash.programs.host"));
            check_units(&units, 4.0);
            // Up to three units of a plane's open page are not programmed yet.
            let moved = number(&pages, "flash.programs.gc") - number(&units, "flash.units.gc");
            assert!((0.0..=12.0).contains(&moved), "{moved}");
            assert!(number(&units, "flash.reads.gc") < 0.7 * number(&pages, "flash.reads.gc"), "a page is read once");
            assert_eq!(number(&units, "flash.reads.rmw"), 0.0);
        }
    }
}

#[test]
fn t458_what_does_not_go_together_with_units_is_refused_in_one_line() {
    let refused = |sets: &[(&str, &str)]| {
        let error = accepts(&[UNITS, sets].concat()).expect_err("refused");
        assert_eq!(error.lines().count(), 1, "{error}");
        error
    };
    assert!(refused(&[("ftl.map_unit_bytes", "6144")]).contains("a divisor of geometry.page_bytes = 16384"));
    let long = [("ftl.map_unit_bytes", "512"), ("geometry.pages_per_block", "4096")];
    assert!(refused(&long).contains("131072 units"));
    assert!(refused(&[("timing.copyback", "true")]).contains("timing.copyback = false"));
    let codewords = [("timing.read_transfer", "codewords"), ("timing.codeword_bytes", "1024")];
    assert_eq!(accepts(&[UNITS, &codewords].concat()), Ok(()));
    assert!(refused(&[("output.command_log", "true")]).contains("output.command_log = false"));
    // A unit of a whole page is a page.
    let whole = [("ftl.map_unit_bytes", "16384"), ("timing.copyback", "true")];
    assert_eq!(accepts(&[UNITS, &whole].concat()), Ok(()));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn t459_a_device_of_units_loses_nothing_under_any_host(settings in unit_settings(), host in host_settings()) {
        for timed in ["true", "false"] {
            let own = [("run.timed", timed), ("program.suspension", "off")].map(|(key, value)| (key.to_string(), value.to_string()));
            let sets = [&settings[..], &host, &own].concat();
            let source = SpecSource { preset: Some("tiny".into()), sets, ..SpecSource::default() };
            let spec = Config::resolve(&source).expect("a valid spec");
            let outcome = run(&spec, 1.0, &mut |_| true).expect("no rule and no belief is broken");
            prop_assert_eq!(outcome.integrity_error, None);
            let per_page = 4096.0 / number(&outcome.document, "config.ftl.map_unit_bytes");
            check_units(&outcome.document, per_page);
        }
    }
}

#[test]
fn t460_a_unit_takes_at_most_fourteen_bytes() {
    let blocks = [("geometry.pages_per_block", "256"), ("workload.requests", "2000"), ("partial_erase.unit", "none")];
    let bytes = number(&document(&[UNITS, &blocks].concat()), "run.bytes_per_page");
    println!("{bytes:.2} bytes a unit");
    assert!(bytes <= 14.0, "{bytes}");
}

const T_R: f64 = 70.0;
const T_PROG: f64 = 900.0;
const TRANSFER: f64 = 10.56;

/// One die with pages of four units of 1 KiB, full.
const ONE_DIE: &[(&str, &str)] = &[
    ("ftl.kind", "page"),
    ("ftl.map_unit_bytes", "1024"),
    ("timing.copyback", "false"),
    ("ftl.over_provisioning", "0.3"),
    ("geometry.channels", "1"),
    ("geometry.planes_per_die", "1"),
    ("initial.fill", "1.0"),
    ("host.partial_page", "rmw"),
    ("run.check", "integrity"),
    ("timing.read_transfer", "codewords"),
    ("timing.codeword_bytes", "1024"),
];

fn trace(name: &str, requests: &[(u64, &str, u64, u32)], sets: &[(&str, &str)]) -> Value {
    TraceFile::fio(name, requests).run(&[ONE_DIE, sets].concat())
}

#[track_caller]
fn near(document: &Value, path: &str, expected: f64) {
    let found = number(document, path);
    assert!((found - expected).abs() < 1e-6, "{path}: {found} is not {expected}");
}

#[test]
fn t618_a_unit_is_done_when_it_is_accepted_and_forced_out_by_flush_fua_and_time() {
    // Three units gather; the fourth waits for the program of their page.
    let page = [(0, "write", 0, 1024), (0, "write", 9 * 1024, 1024), (0, "write", 5 * 1024, 1024)];
    let three = trace("three", &page, &[]);
    near(&three, "host.write.latency_us.max", 0.0);
    near(&three, "flash.units.padding", 1.0);
    let four = trace("four", &[&page[..], &[(1, "write", 1024, 1024)]].concat(), &[]);
    near(&four, "host.write.latency_us.max", TRANSFER + T_PROG);
    near(&four, "flash.units.padding", 0.0);
    // What gathers is read from RAM, before its time is over and not after it.
    let read = |us| trace(&format!("read-{us}"), &[(0, "write", 0, 1024), (us, "read", 0, 1024)], &[]);
    near(&read(4_999), "host.read.latency_us.max", 0.0);
    near(&read(9_000), "host.read.latency_us.max", T_R + TRANSFER / 4.0);
    // A flush forces it out, and waits for programs that others have forced.
    let flushed = trace("flushed", &[(0, "write", 0, 1024), (10, "sync", 0, 0)], &[]);
    near(&flushed, "host.flush.latency_us.max", TRANSFER + T_PROG);
    let behind = [&page[..], &[(0, "write", 1024, 1024), (100, "sync", 0, 0)]].concat();
    near(&trace("behind", &behind, &[]), "host.flush.latency_us.max", TRANSFER + T_PROG - 100.0);
    // So does force unit access.
    let through = [
        ("workload.fua_fraction", "1.0"),
        ("workload.requests", "40"),
        ("workload.read_fraction", "0.0"),
        ("workload.request_bytes", "1024"),
        ("workload.arrival", "fixed"),
    ];
    let through = document(&[ONE_DIE, &through].concat());
    near(&through, "flash.units.padding", 120.0);
    near(&through, "host.write.latency_us.mean", TRANSFER + T_PROG);
}

#[test]
fn t619_a_write_of_part_of_a_unit_reads_its_unit_alone() {
    let part = trace("part", &[(0, "write", 512, 512)], &[]);
    near(&part, "host.write.latency_us.max", T_R + TRANSFER / 4.0);
    near(&part, "flash.reads.rmw", 1.0);
    let whole = trace("whole", &[(0, "write", 1024, 2048)], &[]);
    near(&whole, "flash.reads.rmw", 0.0);
    // A unit that gathers is in RAM.
    let again = trace("again", &[(0, "write", 1024, 1024), (10, "write", 1024, 512)], &[]);
    near(&again, "flash.reads.rmw", 0.0);
}

#[test]
fn t609_units_of_a_page_that_are_read_together_are_sensed_once() {
    // The initial fill has put neighbouring units into one page of the one plane.
    let together = trace("together", &[(0, "read", 0, 4096)], &[]);
    near(&together, "host.read.latency_us.max", T_R + TRANSFER);
    let three = trace("three-units", &[(0, "read", 1024, 3072)], &[]);
    near(&three, "host.read.latency_us.max", T_R + 0.75 * TRANSFER);
    let whole = trace("whole-page", &[(0, "read", 1024, 3072)], &[("timing.read_transfer", "page")]);
    near(&whole, "host.read.latency_us.max", T_R + TRANSFER);
    // Two pages are sensed one after the other, also behind other work.
    let two = trace("two-pages", &[(0, "read", 2048, 4096)], &[]);
    near(&two, "host.read.latency_us.max", 2.0 * (T_R + TRANSFER / 2.0));
    let behind = trace("behind-a-read", &[(0, "read", 65_536, 1024), (1, "read", 0, 4096)], &[]);
    near(&behind, "host.read.latency_us.max", 2.0 * T_R + 1.25 * TRANSFER - 1.0);
}
