//! Mapping units that are smaller than a page (`ftl.map_unit_bytes`): t457–t461, t1000 and t1093 what a device of such
//! units keeps and counts, t609, t618, t619, t712, t713 and t995 when their commands come, t716 (beside its kind) write amplification.

use std::collections::HashMap;
use std::io::Cursor;

use proptest::prelude::*;
use pumice_commandlog::verify;
use pumice_config::{Config, SpecSource};
use pumice_engine::observe::Observer;
use pumice_engine::run_logged;
use pumice_nand::NandArray;
use pumice_types::{FlashCommand, FlashOp, MultiPlane, PageAddress, PlaneReads, Time, UnitSource};
use serde_json::Value;

use crate::contract::Bytes;
use crate::random_devices::{host_settings, unit_settings, with_host};
use crate::support::{TraceFile, accepts, document, number, run_seen_by, spec};

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
    let cached = [("ftl.map_place", "cached"), ("ftl.map_cache_entries", "64"), ("ftl.over_provisioning", "0.3")];
    assert_eq!(accepts(&[UNITS, &cached].concat()), Ok(()));
    let stripes =
        [("ftl.erase_group", "die"), ("geometry.planes_per_die", "2"), ("geometry.bad_blocks_per_plane", "0")];
    assert_eq!(accepts(&[UNITS, &stripes].concat()), Ok(()));
    let long = [&stripes[..], &[("geometry.pages_per_block", "16368")]].concat();
    assert!(refused(&long).contains("stripes of 130944 mapping units"));
    let journal = [("ftl.recovery", "checkpoint"), ("ftl.gc_mode", "background"), ("ftl.hot_cold", "mixed")];
    assert!(refused(&journal).contains("copies in open blocks of their own"));
    // A unit of a whole page is a page.
    let whole = [("ftl.map_unit_bytes", "16384"), ("timing.copyback", "true")];
    assert_eq!(accepts(&[UNITS, &whole].concat()), Ok(()));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn t459_a_device_of_units_loses_nothing_under_any_host(settings in unit_settings(), host in host_settings()) {
        let sets = with_host(&settings, &host);
        let source = SpecSource { preset: Some("tiny".into()), sets, ..SpecSource::default() };
        let mut spec = Config::resolve(&source).expect("a valid spec");
        let planes_may_read = spec.host.read_priority && spec.chip.timing.multi_plane == MultiPlane::Off;
        let ways = [PlaneReads::Die, PlaneReads::Plane, PlaneReads::Batch].map(|reads| (true, reads));
        for (timed, plane_reads) in ways.into_iter().chain([(false, PlaneReads::Die)]) {
            let is_judged = plane_reads == PlaneReads::Die;
            if !is_judged && !planes_may_read {
                continue;
            }
            (spec.run.timed, spec.chip.timing.plane_reads, spec.output.command_log) = (timed, plane_reads, is_judged);
            let mut log = Bytes::default();
            let outcome = run_logged(&spec, 1.0, &mut log, &mut |_| true).expect("no rule and no belief is broken");
            prop_assert_eq!(outcome.integrity_error, None);
            let per_page = 4096.0 / number(&outcome.document, "config.ftl.map_unit_bytes");
            check_units(&outcome.document, per_page);
            if is_judged {
                let verdict = verify(&mut Cursor::new(log.0), &mut |_| true).expect("a whole log");
                prop_assert_eq!(verdict.broken, None);
            }
        }
    }
}

/// Units of a page were taken for pages of the shape: word lines and wear of sub-blocks beyond those of the device were
/// looked up, and the log named a shape that its blocks do not have.
#[test]
fn t1000_units_in_blocks_whose_sub_blocks_nobody_erases_count_as_if_none_could_be_erased() {
    let shape = [
        ("geometry.layers", "4"),
        ("geometry.sub_blocks", "4"),
        ("geometry.pages_per_block", "16"),
        ("erase.scheme", "ispe"),
        ("erase.read_retry", "true"),
        ("erase.initial_pec", "4000"),
        ("erase.rber_requirement", "40"),
        ("erase.ecc_bits_per_kib", "40"),
        ("ftl.over_provisioning", "0.3"),
        ("initial.age_writes", "1.0"),
        ("run.check", "integrity"),
    ];
    let ran = |more: &[(&str, &str)]| {
        let mut spec = spec(&[UNITS, &shape, more].concat());
        spec.output.command_log = true;
        let mut log = Bytes::default();
        let outcome = run_logged(&spec, 1.0, &mut log, &mut |_| true).expect("no rule and no belief is broken");
        assert_eq!(outcome.integrity_error, None);
        assert_eq!(verify(&mut Cursor::new(log.0), &mut |_| true).expect("a whole log").broken, None);
        outcome.document
    };
    let sub_blocks = [("partial_erase.unit", "sub-block"), ("partial_erase.sub_block_disturb", "3")];
    let (found, whole) = (ran(&sub_blocks), ran(&[("partial_erase.unit", "none")]));
    assert!(number(&found, "flash.erases.block") > 0.0 && number(&found, "flash.read_retries") > 0.0);
    for path in ["/host", "/flash/programs", "/flash/reads", "/flash/read_retries", "/gc/copied_pages", "/wear/aep"] {
        assert_eq!(found.pointer(path), whole.pointer(path), "{path}");
    }
}

/// Units of a page that needs no retry were sensed apart, because others might need some: reads took twice their time.
#[test]
fn t1093_units_of_a_page_are_sensed_once_where_reads_may_be_retried_and_need_not() {
    let sets = [
        ("geometry.layers", "4"),
        ("geometry.sub_blocks", "4"),
        ("geometry.pages_per_block", "16"),
        ("partial_erase.unit", "none"),
        ("ftl.over_provisioning", "0.3"),
        ("erase.scheme", "ispe"),
        ("workload.read_fraction", "1.0"),
        ("workload.mean_interarrival_us", "2000"),
    ];
    let read = |retry| {
        let found = document(&[UNITS, &sets, &[("erase.read_retry", retry)]].concat());
        assert!([0.0, -1.0].contains(&found["flash"]["read_retries"].as_f64().unwrap_or(-1.0)), "{}", found["flash"]);
        found["host"]["read"]["latency_us"].clone()
    };
    assert_eq!(read("true"), read("false"));
}

#[test]
fn t1097_units_of_a_page_are_read_again_together() {
    let sets = [
        ("geometry.channels", "1"),
        ("geometry.planes_per_die", "2"),
        ("geometry.program_order", "in-order"),
        ("geometry.layers", "4"),
        ("geometry.sub_blocks", "4"),
        ("geometry.pages_per_block", "16"),
        ("partial_erase.unit", "none"),
        ("ftl.over_provisioning", "0.3"),
        ("initial.fill", "1.0"),
        ("erase.scheme", "ispe"),
        ("erase.read_retry", "true"),
        ("erase.initial_pec", "4000"),
        ("erase.rber_requirement", "40"),
        ("erase.ecc_bits_per_kib", "40"),
        ("timing.codeword_bytes", "1024"),
        ("timing.copyback", "false"),
        ("ftl.kind", "page"),
        ("workload.request_bytes", "4096"),
        ("workload.read_fraction", "1.0"),
        ("workload.mean_interarrival_us", "400"),
        ("workload.requests", "2000"),
        ("run.check", "integrity"),
    ];
    for moved in ["page", "codewords"] {
        for more in [("host.read_priority", "false"), ("host.read_priority", "true"), ("timing.multi_plane", "queue")] {
            let read = |units: &[(&str, &str)]| {
                let found = document(&[&sets, units, &[("timing.read_transfer", moved), more]].concat());
                assert!(number(&found, "flash.read_retries") > 500.0, "{}", found["flash"]);
                (found["host"]["read"].clone(), found["flash"]["read_retries"].clone())
            };
            assert_eq!(read(&[("ftl.map_unit_bytes", "1024")]), read(&[]), "{moved} {more:?}");
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

/// One plane of more than 2^30 units in long blocks, all of it stored, whose last addresses are written and read.
const BEYOND_32_BITS: &[(&str, &str)] = &[
    ("ftl.kind", "page"),
    ("timing.copyback", "false"),
    ("partial_erase.unit", "none"),
    ("geometry.channels", "1"),
    ("geometry.planes_per_die", "1"),
    ("geometry.blocks_per_plane", "16500"),
    ("geometry.pages_per_block", "2047"),
    ("geometry.page_bytes", "16384"),
    ("geometry.spare_bytes", "1024"),
    ("ftl.map_unit_bytes", "512"),
    ("ftl.over_provisioning", "0.0015"),
    ("ftl.gc_free_threshold", "0.0005"),
    ("initial.fill", "1.0"),
    ("run.timed", "false"),
    ("workload.flow[0].kind", "uniform"),
    ("workload.flow[0].range", "[0.998, 1.0]"),
    ("workload.flow[0].request_bytes", "16384"),
    ("workload.flow[0].read_fraction", "0.3"),
    ("workload.flow[0].requests", "90000"),
];

#[test]
fn t461_a_device_of_more_than_2_to_the_30_units_collects_and_reads_what_was_written_last() {
    // A version beside a logical unit of 31 bits has no place in a tag of 32: a read of an older copy ends the run.
    let document = document(BEYOND_32_BITS);
    let count = |path: &str| number(&document, path);
    assert!(count("device.pages") > f64::from(1 << 30) && count("device.user_bytes") > 512.0 * f64::from(1 << 30));
    assert!(count("run.bytes_per_page") <= 16.0, "{}", count("run.bytes_per_page"));
    assert!(count("flash.programs.gc") > 1_000.0 && count("flash.reads.host") > 20_000.0);
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

/// Time limits of the pages in which units of the ageing gathered counted from the first request on: what gathered 5 ms
/// later was forced out.
#[test]
fn t995_no_page_is_forced_out_because_one_gathered_while_the_device_was_aged() {
    let rest = [1024, 2048, 3072].map(|offset| (6_000, "write", offset, 1024));
    let requests = [&[(0, "read", 0, 1024), (4_900, "write", 0, 1024)][..], &rest].concat();
    let aged = trace("aged", &requests, &[("initial.age_writes", "2.0")]);
    near(&aged, "flash.units.padding", 0.0);
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

/// Ways in which a die takes reads.
const READS: [(&str, &[(&str, &str)]); 6] = [
    ("fifo", &[]),
    ("first", &[("host.read_priority", "true")]),
    ("neighbours", &[("timing.multi_plane", "neighbours")]),
    ("queue", &[("timing.multi_plane", "queue")]),
    ("queue-first", &[("timing.multi_plane", "queue"), ("host.read_priority", "true")]),
    ("planes", &[("timing.plane_reads", "plane"), ("host.read_priority", "true")]),
];

#[test]
fn t609_units_of_a_page_that_are_read_together_are_sensed_once() {
    for (way, sets) in READS {
        let longest = |name: &str, reads: &[(u64, &str, u64, u32)], expected: f64, more: &[(&str, &str)]| {
            let found = trace(&format!("{name}-{way}"), reads, &[sets, more].concat());
            near(&found, "host.read.latency_us.max", expected);
        };
        // The initial fill has put neighbouring units into one page of the one plane.
        longest("together", &[(0, "read", 0, 4096)], T_R + TRANSFER, &[]);
        longest("three", &[(0, "read", 1024, 3072)], T_R + 0.75 * TRANSFER, &[]);
        let whole = [("timing.read_transfer", "page")];
        longest("whole", &[(0, "read", 1024, 3072)], T_R + TRANSFER, &whole);
        // Two pages are sensed one after the other, also behind other work.
        longest("two", &[(0, "read", 2048, 4096)], 2.0 * (T_R + TRANSFER / 2.0), &[]);
        let behind = [(0, "read", 65_536, 1024), (1, "read", 0, 4096)];
        longest("behind", &behind, 2.0 * T_R + 1.25 * TRANSFER - 1.0, &[]);
        longest("behind-whole", &behind, 2.0 * (T_R + TRANSFER) - 1.0, &whole);
        // Of two requests each senses its own.
        let requests = [(0, "read", 0, 2048), (0, "read", 2048, 2048)];
        longest("requests", &requests, 2.0 * (T_R + TRANSFER / 2.0), &[]);
    }
}

#[test]
fn t712_units_of_pages_of_several_planes_are_sensed_once_for_all() {
    // Eight units are the first pages of both planes; the read before them keeps the die busy when they come.
    let reads = [(0, "read", 65_536, 1024), (1, "read", 0, 8192)];
    let before = T_R + TRANSFER / 4.0;
    for (way, sets) in READS {
        let found = trace(&format!("planes-{way}"), &reads, &[&[("geometry.planes_per_die", "2")][..], sets].concat());
        // The second plane alone need not wait for the first read.
        let lasts = match way {
            "fifo" | "first" => before + 2.0 * (T_R + TRANSFER),
            "planes" => before + T_R + TRANSFER,
            _ => before + T_R + 2.0 * TRANSFER,
        };
        near(&found, "host.read.latency_us.max", lasts - 1.0);
        if way.starts_with("queue") || way == "neighbours" {
            near(&found, "flash.multi_plane_commands", 1.0);
        }
    }
}

/// What the programs of a run move, and the reads that bring it.
#[derive(Default)]
struct Moves {
    /// Pages of which units are moved: whether their read is over, and when.
    read: HashMap<PageAddress, Option<Time>>,
    programs: HashMap<PageAddress, Vec<PageAddress>>,
    moved: usize,
}

impl Observer for Moves {
    fn queued(&mut self, command: &FlashCommand, array: &NandArray) {
        let geometry = array.config().geometry;
        if command.takes_any_version() {
            self.read.insert(geometry.page_of_unit(command.target), None);
        }
        if command.op == FlashOp::Program {
            let source = |nth| match array.staged_unit(command, nth)?.source {
                UnitSource::Copied(from) => Some(geometry.page_of_unit(from)),
                UnitSource::Host | UnitSource::Padding => None,
            };
            self.programs.insert(command.target, (0..4).filter_map(source).collect());
        }
    }

    fn command(&mut self, start: Time, end: Time, command: &FlashCommand) {
        if command.takes_any_version() {
            let page = PageAddress::new(command.target.block, command.target.page / 4 * 4);
            self.read.insert(page, Some(end));
        }
        if command.op == FlashOp::Program {
            for source in self.programs.remove(&command.target).unwrap_or_default() {
                let read = self.read.get(&source).copied().flatten();
                assert!(read.is_some_and(|read| read <= start), "{command:?} is before the read of {source:?}");
                self.moved += 1;
            }
        }
    }
}

#[test]
fn t713_units_are_moved_after_their_page_was_read() {
    let busy = [
        ("geometry.planes_per_die", "4"),
        ("geometry.blocks_per_plane", "24"),
        ("geometry.pages_per_block", "16"),
        ("partial_erase.unit", "none"),
        ("ftl.over_provisioning", "0.4"),
        ("workload.requests", "8000"),
        ("workload.footprint", "1.0"),
        ("workload.read_fraction", "0.0"),
        ("workload.request_bytes", "1024"),
        ("host.mode", "closed-loop"),
        ("host.queue_depth", "64"),
        ("run.warmup_requests", "0"),
    ];
    for multi_plane in ["off", "neighbours", "queue"] {
        let mut seen = Moves::default();
        let sets = [ONE_DIE, &busy, &[("timing.multi_plane", multi_plane)]].concat();
        run_seen_by(&spec(&sets), &mut seen).expect("the run ends well");
        assert!(seen.moved > 2_000, "{multi_plane}: {}", seen.moved);
    }
}
