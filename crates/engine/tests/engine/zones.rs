//! 57x: zones with their host, as whole runs.

use proptest::prelude::*;
use pumice_config::{Config, SpecSource};
use pumice_engine::observe::Observer;
use pumice_types::{Cause, FlashCommand, FlashOp, PageAddress, Time};

use crate::contract::{check_clock_changes_no_count, check_counts, run_any_host, run_with};
use crate::random_devices::{host_settings, page_settings};
use crate::support::{document, number, run_seen_by, source};

type Sets = Vec<(String, String)>;

/// Small zoned devices of every shape, with any host for zones.
fn zone_settings() -> impl Strategy<Value = Sets> {
    let shape = (prop::option::of(Just("1")), 1u32..3, prop_oneof![Just("at-once"), Just("when-opened"), Just("idle")]);
    let host = (1u32..4, 0u32..3, prop_oneof![Just("greedy"), Just("cost-benefit")]);
    let pace = prop_oneof![Just("paced"), Just("whole-zone")];
    let mapping = prop_oneof![Just("fixed"), Just("on-demand")];
    let filled = prop_oneof![Just("pad"), Just("pad-units"), Just("leave")];
    let finish = (filled, prop_oneof![Just(1.0), 0.85f64..1.0], mapping);
    let host = (host, finish);
    (page_settings(), shape, host, pace, 0.0f64..0.1).prop_map(|(mut settings, shape, host, pace, trims)| {
        let (host, finish) = host;
        let mut change = |key: &str, value: String| settings.push((key.to_owned(), value));
        change("ftl.kind", "zns".into());
        shape.0.into_iter().for_each(|planes| change("ftl.zns.zone_planes", planes.into()));
        change("ftl.zns.units_per_plane", shape.1.to_string());
        change("ftl.zns.first_plane", if shape.1 == 1 { "drawn" } else { "same" }.into());
        change("ftl.zns.reset", shape.2.into());
        change("ftl.zns.streams", host.0.to_string());
        change("ftl.zns.max_open", (host.0 - host.0 / 2).to_string());
        change("ftl.zns.max_active", (host.0 + host.1).to_string());
        change("ftl.zns.cleaning", host.2.into());
        change("ftl.zns.mapping", finish.2.into());
        change("ftl.zns.finish", finish.0.into());
        change("ftl.zns.finish_at", format!("{}", finish.1));
        change("ftl.zns.pace", pace.into());
        change("workload.trim_fraction", format!("{trims}"));
        change("geometry.blocks_per_plane", "40".into());
        change("ftl.over_provisioning", "0.6".into());
        settings
    })
}

/// Zones that share blocks: partial blocks of which an erase disturbs the neighbours, and sub-blocks.
fn shared_block_settings() -> impl Strategy<Value = Sets> {
    let sequence = || prop_oneof![Just("lfws"), Just("sfws")];
    let leaves = (1u32..4, 0u32..3, sequence()).prop_map(|(splits, tolerance, sequence)| {
        let pairs = [
            ("partial_erase.unit", "partial-block".to_owned()),
            ("partial_erase.max_splits", splits.to_string()),
            ("partial_erase.disturb_tolerance", tolerance.to_string()),
            ("ftl.zns.unit", "partial-block".into()),
            ("geometry.layers", (2 << splits).to_string()),
            ("geometry.sub_blocks", "3".into()),
            ("geometry.pages_per_block", (6 << splits).to_string()),
            ("geometry.write_sequence", sequence.into()),
        ];
        (1 << splits, pairs.to_vec())
    });
    let sub_blocks = (1u32..5, 0u32..3, 1u32..3, sequence()).prop_map(|(layers, sub_blocks, bits, sequence)| {
        let sub_blocks = 2u32 << sub_blocks;
        let pairs = [
            ("partial_erase.unit", "sub-block".to_owned()),
            ("partial_erase.max_splits", "0".into()),
            ("ftl.zns.unit", "sub-block".into()),
            ("geometry.layers", layers.to_string()),
            ("geometry.sub_blocks", sub_blocks.to_string()),
            ("geometry.bits_per_cell", bits.to_string()),
            ("geometry.pages_per_block", (layers * sub_blocks * bits).to_string()),
            ("geometry.write_sequence", sequence.into()),
        ];
        (sub_blocks, pairs.to_vec())
    });
    (zone_settings(), prop_oneof![leaves, sub_blocks], 0u32..4).prop_map(|(mut settings, (units, pairs), depth)| {
        settings.extend(pairs.into_iter().map(|(key, value)| (key.to_owned(), value)));
        let depth = (1 << depth).min(2 * units);
        settings.push(("ftl.zns.units_per_plane".into(), depth.to_string()));
        settings.push(("geometry.program_order".into(), "in-order".into()));
        settings
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn t579_zones_that_share_blocks_lose_nothing_and_disturb_no_neighbour(
        settings in shared_block_settings(), host in host_settings()
    ) {
        let timed = run_with(&settings, &[]);
        check_counts(&timed);
        check_zones(&timed);
        let untimed = run_with(&settings, &[("run.timed", "false")]);
        check_counts(&untimed);
        check_zones(&untimed);
        run_any_host(&settings, &host);
    }

    #[test]
    fn t570_zones_lose_nothing_whatever_their_shape_and_host(settings in zone_settings()) {
        let timed = run_with(&settings, &[]);
        check_counts(&timed);
        check_zones(&timed);
        let untimed = run_with(&settings, &[("run.timed", "false")]);
        check_counts(&untimed);
        check_zones(&untimed);
        // Which units are erased in idle time is a question of time; so is which reads find their page in a buffer.
        if timed["config"]["ftl"]["zns"]["reset"] != "idle" {
            check_clock_changes_no_count_of_moves(&timed, &untimed);
        }
    }

    #[test]
    fn t571_zones_break_no_rule_under_any_host(settings in zone_settings(), host in host_settings()) {
        run_any_host(&settings, &host);
    }
}

/// As [`check_clock_changes_no_count`], but reads of pages to move may be answered from the buffer.
fn check_clock_changes_no_count_of_moves(timed: &serde_json::Value, untimed: &serde_json::Value) {
    let without = |document: &serde_json::Value| {
        let mut document = document.clone();
        document["gc"]["time_us"]["copy"] = serde_json::Value::Null;
        for times in ["reset_latency_us", "finish_latency_us"] {
            document["zones"][times] = serde_json::Value::Null;
        }
        let reads = number(&document, "flash.reads.host") + number(&document, "flash.reads.gc");
        document["flash"]["reads"]["host"] = serde_json::json!(reads);
        document
    };
    let (timed, untimed) = (without(timed), without(untimed));
    check_clock_changes_no_count(&timed, &untimed);
    assert_eq!(timed["zones"], untimed["zones"]);
}

/// What the zones' own counts must agree with.
fn check_zones(document: &serde_json::Value) {
    let n = |path: &str| number(document, path);
    let states = document["zones"]["states"].as_object().expect("zones have states");
    assert_eq!(states.values().filter_map(serde_json::Value::as_f64).sum::<f64>(), n("zones.count"));
    assert_eq!(n("zones.moved_pages") + n("zones.relocated_pages"), n("gc.copied_pages"));
    assert_eq!(n("integrity.corrupt_pages"), 0.0);
    let config = &document["config"]["ftl"]["zns"];
    match config["finish"].as_str() {
        Some("pad") => assert_eq!(n("flash.programs.padding"), n("zones.unwritten_pages")),
        Some("pad-units") => assert!(n("flash.programs.padding") <= n("zones.unwritten_pages")),
        _ => assert_eq!(n("flash.programs.padding"), 0.0),
    }
    let open = n("zones.states.implicitly_opened") + n("zones.states.explicitly_opened");
    assert!(open <= config["max_open"].as_f64().expect("a number"));
    assert!(open + n("zones.states.closed") <= config["streams"].as_f64().expect("a number"));
    let factors = ["/zones/write_amplification/host", "/zones/write_amplification/device", "/write_amplification"];
    if let [Some(host), Some(device), Some(all)] = factors.map(|path| document.pointer(path).and_then(|f| f.as_f64())) {
        assert!((host * device - all).abs() < 1e-9, "{host} × {device} is {all}");
    }
}

/// A load under which the host cleans zones.
const BUSY: &[(&str, &str)] = &[
    ("ftl.kind", "zns"),
    ("ftl.over_provisioning", "0.25"),
    ("initial.fill", "1.0"),
    ("workload.footprint", "1.0"),
    ("workload.read_fraction", "0.2"),
    ("workload.requests", "20000"),
    ("workload.mean_interarrival_us", "4000"),
];

fn busy(sets: &[(&str, &str)]) -> serde_json::Value {
    document(&[BUSY, sets].concat())
}

/// Commands with their times.
#[derive(Default)]
struct Commands(Vec<(Time, Time, FlashCommand)>);

impl Observer for Commands {
    fn command(&mut self, start: Time, end: Time, command: &FlashCommand) {
        self.0.push((start, end, *command));
    }
}

fn commands(sets: &[(&str, &str)]) -> Vec<(Time, Time, FlashCommand)> {
    let SpecSource { sets, .. } = source(&[BUSY, sets].concat());
    let spec = Config::resolve(&SpecSource { preset: Some("tiny".into()), sets, ..SpecSource::default() });
    let mut commands = Commands::default();
    run_seen_by(&spec.expect("a valid spec"), &mut commands).expect("it runs");
    commands.0
}

/// Checks that a page is moved only after it was read; returns how many began as soon as it was.
fn moves_that_wait(commands: &[(Time, Time, FlashCommand)]) -> usize {
    let mut read: std::collections::BTreeMap<(u32, u16), Time> = std::collections::BTreeMap::new();
    let mut waiting = 0;
    let key = |page: PageAddress| (page.block.0, page.page);
    let mut sorted: Vec<_> = commands.iter().collect();
    sorted.sort_by_key(|(start, end, command)| (if command.op == FlashOp::Read { *end } else { *start }, *start));
    for (start, end, command) in sorted {
        match (command.op, command.cause) {
            (FlashOp::Read, Cause::Gc) => drop(read.insert(key(command.target), *end)),
            (FlashOp::Program, Cause::Gc) => {
                // A page that was still in the controller's buffer is not read.
                if let Some(&since) = read.get(&key(command.source)) {
                    assert!(since <= *start, "{command:?} begins at {start:?}, its page is read at {since:?}");
                    waiting += usize::from(since == *start);
                }
            }
            (FlashOp::Erase, _) => read.retain(|page, _| page.0 != command.target.block.0),
            _ => {}
        }
    }
    waiting
}

#[test]
fn t572_a_page_is_programmed_elsewhere_only_after_it_was_read() {
    for multi_plane in ["off", "neighbours", "queue"] {
        let commands = commands(&[("timing.multi_plane", multi_plane)]);
        assert!(moves_that_wait(&commands) > 100, "{multi_plane}: some programs wait for their data");
    }
}

#[test]
fn t573_a_reset_erases_at_once_or_when_the_zone_is_opened_or_on_idle_dies() {
    let [at_once, when_opened, idle] =
        ["at-once", "when-opened", "idle"].map(|reset| busy(&[("ftl.zns.reset", reset)]));
    let erases = |document: &serde_json::Value| number(document, "flash.erases.block");
    assert!(number(&at_once, "zones.resets") > 50.0);
    assert_eq!(erases(&at_once), 4.0 * number(&at_once, "zones.resets"), "a block in each of four planes");
    assert!(erases(&when_opened) < erases(&at_once), "zones that are empty at the end are not erased yet");
    assert!(number(&idle, "zones.erased_when_idle") > 0.5 * erases(&idle));
    assert_eq!(number(&at_once, "zones.erased_when_idle"), 0.0);
}

#[test]
fn t574_streams_by_lifetime_part_hot_from_cold_data() {
    let moved = |streams: &str| {
        let hot = [("workload.kind", "hot-cold"), ("workload.hot_space", "0.1"), ("workload.hot_share", "0.9")];
        number(&busy(&[&hot[..], &[("ftl.zns.streams", streams)]].concat()), "zones.moved_pages")
    };
    let [one, two] = ["1", "2"].map(moved);
    assert!(two < 0.9 * one, "{two} pages moved with two streams, {one} with one");
}

#[test]
fn t575_more_streams_than_open_zones_make_the_controller_close_zones() {
    let some = busy(&[("ftl.zns.streams", "3"), ("ftl.zns.max_open", "1"), ("ftl.gc_free_threshold", "0.03")]);
    assert!(number(&some, "zones.closed_by_controller") > 10.0);
    assert_eq!(number(&busy(&[]), "zones.closed_by_controller"), 0.0);
}

#[test]
fn t578_a_zone_that_is_finished_early_costs_the_device_what_it_fills() {
    let run = |finish: &str| {
        let half = [("ftl.zns.finish_at", "0.5"), ("ftl.over_provisioning", "0.6"), ("ftl.zns.finish", finish)];
        let document = busy(&[&half[..], &[("ftl.zns.units_per_plane", "2"), ("initial.fill", "0.0")]].concat());
        (number(&document, "zones.write_amplification.device"), document)
    };
    let [(pad, padded), (units, _), (leave, left)] = ["pad", "pad-units", "leave"].map(run);
    // Half of each zone is its first blocks; what is under way at the end of the run is not filled yet.
    assert!((pad - 2.0).abs() < 0.01, "{pad}");
    assert_eq!((units, leave), (1.0, 1.0), "whole blocks are written, the others are blank");
    assert_eq!(number(&padded, "flash.erases.block"), 8.0 * number(&padded, "zones.resets"));
    assert_eq!(number(&left, "flash.erases.block"), 4.0 * number(&left, "zones.resets"), "blank blocks stay erased");
    let finish = number(&padded, "zones.finish_latency_us.mean");
    assert!(finish >= 64.0 * 900.0, "{finish}: 64 programs on every plane");
    assert!(left["zones"]["finish_latency_us"].is_null());
    let reset = |document: &serde_json::Value| number(document, "zones.reset_latency_us.mean");
    assert!(reset(&padded) > reset(&left) && reset(&left) >= 10_000.0, "two blocks a plane, or one");
}

/// Zones of one leaf, or one sub-block, in each of four planes.
const LEAF_ZONES: &[(&str, &str)] =
    &[("partial_erase.unit", "partial-block"), ("partial_erase.max_splits", "3"), ("ftl.zns.unit", "partial-block")];

#[test]
fn t580_a_leaf_beside_an_erase_is_moved_before_it_is_disturbed_beyond_tolerance() {
    let run = |more: &[(&str, &str)]| busy(&[LEAF_ZONES, more].concat());
    let [aware, tolerant] = [run(&[]), run(&[("partial_erase.disturb_tolerance", "200")])];
    assert_eq!(number(&aware, "zones.count"), 8.0 * 63.0, "a block of each plane is spare");
    assert!(number(&aware, "zones.relocated_pages") > 1000.0);
    assert!(number(&aware, "zones.write_amplification.device") > 1.05);
    assert_eq!(number(&tolerant, "zones.relocated_pages"), 0.0);
    assert_eq!(number(&tolerant, "zones.write_amplification.device"), 1.0);
    assert_eq!(number(&aware, "integrity.corrupt_pages"), 0.0);
    // The check can fail: without protection pages are corrupted.
    let unaware = run(&[("partial_erase.disturb_aware", "false"), ("workload.read_fraction", "0.5")]);
    assert!(number(&unaware, "integrity.corrupt_pages") > 0.0);
    assert_eq!(number(&unaware, "zones.relocated_pages"), 0.0);
}

#[test]
fn t581_smaller_units_make_smaller_zones_and_sub_blocks_disturb_nobody() {
    let sub_blocks = [
        ("partial_erase.unit", "sub-block"),
        ("partial_erase.max_splits", "0"),
        ("geometry.layers", "8"),
        ("geometry.sub_blocks", "8"),
        ("ftl.zns.unit", "sub-block"),
    ];
    let [whole, parts] = [busy(&[]), busy(&sub_blocks)];
    assert_eq!(number(&parts, "zones.capacity_pages"), number(&whole, "zones.capacity_pages") / 8.0);
    assert_eq!(number(&parts, "zones.write_amplification.device"), 1.0);
    assert!(number(&parts, "zones.moved_pages") < number(&whole, "zones.moved_pages"));
    // Each of the four planes' blocks was first erased whole, if it was blank.
    let erases = number(&parts, "gc.reclaimed_sub_blocks");
    let resets = 4.0 * number(&parts, "zones.resets");
    assert!(
        erases >= resets && (erases - resets) % 8.0 == 0.0,
        "{erases} sub-blocks, {resets} in zones that were reset"
    );
}

#[test]
fn t582_zones_built_on_demand_wear_all_units_alike_where_fixed_ones_wear_their_first() {
    let run = |mapping: &str| {
        let early = [("ftl.zns.units_per_plane", "4"), ("ftl.zns.finish_at", "0.25"), ("ftl.zns.finish", "pad-units")];
        let room = [("ftl.over_provisioning", "0.85"), ("initial.fill", "0.0"), ("ftl.zns.mapping", mapping)];
        let document = busy(&[&early[..], &room].concat());
        ["wear.aep", "wear.vep"].map(|field| number(&document, field))
    };
    let [fixed, on_demand] = ["fixed", "on-demand"].map(run);
    assert!((fixed[0] - on_demand[0]).abs() < 0.1 * fixed[0], "as many erases: {fixed:?}, {on_demand:?}");
    assert!(on_demand[1] < 0.2 * fixed[1], "{fixed:?}, {on_demand:?}");
}

#[test]
fn t576_what_zones_cannot_do_is_refused_in_one_line() {
    let refused = |sets: &[(&str, &str)], parts: &[&str]| {
        let text = Config::resolve(&source(&[&[("ftl.kind", "zns")], sets].concat())).expect_err("refused").to_string();
        parts.iter().for_each(|part| assert!(text.contains(part), "{text}"));
        assert_eq!(text.lines().count(), 1, "{text}");
    };
    refused(&[("ftl.zns.streams", "15")], &["streams = 15", "Too Many Active Zones (BDh)", "at most 14"]);
    refused(&[("ftl.zns.max_open", "20")], &["max_open = 20 exceeds", "max_active = 14"]);
    refused(&[("ftl.zns.zone_planes", "3")], &["zone_planes = 3", "4 planes", "1 | 2 | 4"]);
    refused(&[("ftl.zns.units_per_plane", "65")], &["64 units", "64 good blocks"]);
    refused(&[LEAF_ZONES, &[("ftl.zns.units_per_plane", "3")]].concat(), &["3 neither divides the 8 units"]);
    refused(&[("ftl.zns.unit", "sub-block")], &["needs partial_erase.unit = \"sub-block\"", "found"]);
    refused(&[("ftl.zns.units_per_plane", "16")], &["4 zones", "needs"]);
    refused(&[("ftl.zns.zone_size_kib", "1023")], &["smallest value that works is 1024"]);
    refused(&[("ftl.zns.zone_size_kib", "1025")], &["not a whole number of pages", "4096"]);
    refused(&[("ftl.over_provisioning", "0.1")], &["8 of 64", "smallest value that works is 0.125"]);
    let scan = ("ftl.recovery", "scan");
    refused(&[scan], &["because 11 of 64 are kept", "the smallest value that works is 0.171875"]);
    refused(&[scan, ("ftl.zns.mapping", "on-demand")], &["\"scan\" needs ftl.zns.mapping = \"fixed\"", "on-demand"]);
    refused(&[LEAF_ZONES, &[scan]].concat(), &["\"scan\" needs ftl.zns.unit = \"block\"", "partial-block"]);
    let planes = [scan, ("timing.multi_plane", "neighbours"), ("ftl.allocation_order", "PCWD")];
    refused(&planes, &["\"scan\" needs timing.multi_plane = \"off\"", "\"zns\", found \"neighbours\""]);
    refused(&[scan, ("geometry.spare_bytes", "8")], &["stores 10 bytes in each spare area", "spare_bytes = 8"]);
    refused(
        &[scan, ("ftl.over_provisioning", "0.2"), ("workload.trim_fraction", "0.1")],
        &["needs workload.trim_fraction = 0"],
    );
    refused(&[("ftl.recovery", "summary")], &["ftl.recovery = \"summary\" needs ftl.kind = \"page\"", "found \"zns\""]);
    refused(
        &[("erase.max_loops", "1"), ("erase.scheme", "ispe")],
        &["lets erases fail, which needs ftl.kind = \"page\"", "found \"zns\""],
    );
}

#[test]
fn t577_a_zone_is_as_large_as_it_is_told_and_its_capacity_is_its_blocks() {
    let run = |sets: &[(&str, &str)]| {
        let document = busy(&[&[("workload.requests", "10")], sets].concat());
        ["zones.count", "zones.capacity_pages", "zones.size_pages"].map(|field| number(&document, field))
    };
    assert_eq!(run(&[]), [64.0, 256.0, 256.0]);
    assert_eq!(run(&[("ftl.zns.zone_planes", "2")]), [128.0, 128.0, 128.0]);
    assert_eq!(run(&[("ftl.zns.units_per_plane", "2"), ("ftl.over_provisioning", "0.4")]), [32.0, 512.0, 512.0]);
    assert_eq!(run(&[("ftl.zns.zone_size_kib", "2048")]), [64.0, 256.0, 512.0]);
    let bad = [("geometry.bad_blocks_per_plane", "4"), ("geometry.pages_per_block", "48")];
    assert_eq!(run(&bad), [60.0, 192.0, 256.0], "rounded up to a power of two");
}
