//! 4xx: what every FTL owes its host, on random small devices and random requests, with the array's
//! truth read back: read your writes, nothing lost, counts equal to a recount.

use proptest::prelude::*;
use pumice_commandlog::verify;
use pumice_config::{Config, SpecSource};
use pumice_engine::results::RequestBatch;
use pumice_engine::run;
use pumice_engine::{Sink, run_logged};
use serde_json::Value;

use crate::random_devices::{
    host_settings, hybrid_settings, map_settings, merges_of, nftl_settings, page_options, page_settings, settings,
    sub_block_settings, superblock_2006_settings, superblock_settings, with_host, with_map,
};
use crate::support::{TraceFile, document, number, source};
use pumice_types::Choice;

/// Runs with the clock and a log of all commands, which must replay; then without the clock.
pub fn run_any_host(settings: &[(String, String)], host: &[(String, String)]) {
    let sets = with_host(settings, host);
    let source = SpecSource { preset: Some("tiny".into()), sets, ..SpecSource::default() };
    let mut spec = Config::resolve(&source).expect("a valid spec");
    spec.output.command_log = true;
    for timed in [true, false] {
        spec.run.timed = timed;
        let mut log = Bytes::default();
        let outcome = run_logged(&spec, 1.0, &mut log, &mut |_| true).expect("no rule and no belief is broken");
        assert_eq!(outcome.integrity_error, None);
        check_counts(&outcome.document);
        let verdict = verify(&mut std::io::Cursor::new(log.0), &mut |_| true).expect("a whole log");
        assert_eq!(verdict.broken, None);
    }
}

/// A command log in memory.
#[derive(Default)]
pub struct Bytes(pub Vec<u8>);

impl Sink for Bytes {
    fn requests(&mut self, _batch: &RequestBatch) -> Result<(), String> {
        Ok(())
    }

    fn commands(&mut self, bytes: &[u8]) -> Result<(), String> {
        self.0.extend(bytes);
        Ok(())
    }

    fn timeline(&mut self, _text: &str) -> Result<(), String> {
        Ok(())
    }
}

/// Runs with and without a clock; both must tell the same story, and their counts must agree.
fn check_timed_and_untimed(settings: &[(String, String)]) {
    let timed = run_with(settings, &[]);
    check_counts(&timed);
    check_clock_changes_no_count(&timed, &run_with(settings, &[("run.timed", "false")]));
}

/// Checks a page-level device whose erase units are parts of blocks: with and without a clock, then also with its map, in
/// each mode of collection.
pub fn check_erased_in_parts(settings: &[(String, String)], map: &[(String, String)], more: &[(&str, &str)]) {
    check_timed_and_untimed(settings);
    let settings = [settings, map].concat();
    check_counts(&run_with(&settings, &[("run.timed", "false")]));
    for mode in ["blocking", "foreground", "background", "preemptible"] {
        check_counts(&run_with(&settings, &[more, &[("ftl.gc_mode", mode)]].concat()));
    }
}

pub fn run_with(settings: &[(String, String)], extra: &[(&str, &str)]) -> Value {
    let mut sets = settings.to_vec();
    sets.extend(extra.iter().map(|(key, value)| (key.to_string(), value.to_string())));
    let spec = Config::resolve(&SpecSource { preset: Some("tiny".into()), sets, ..SpecSource::default() });
    let outcome = run(&spec.expect("a valid spec"), 1.0, &mut |_| true).expect("no rule and no belief is broken");
    assert_eq!(outcome.integrity_error, None);
    outcome.document
}

/// Parts of the latency are the latency, and nothing is busy for longer than the run.
pub fn check_times(document: &Value) {
    let parts = document["write_latency_breakdown_us"].as_object();
    if let Some(parts) = parts {
        let total: f64 = parts.values().filter_map(Value::as_f64).sum();
        let mean = number(document, "host.write.latency_us.mean");
        assert!((total - mean).abs() <= 1e-9 * mean.max(1.0), "parts {total} and mean {mean}");
    }
    let shares =
        ["/utilisation/die", "/utilisation/channel"].map(|path| document.pointer(path).and_then(Value::as_array));
    for share in shares.into_iter().flatten().flatten().filter_map(Value::as_f64) {
        assert!(share <= 1.0 + 1e-9, "a resource was busy for {share} of the time");
    }
}

/// Counts of the FTL, of the array and of the scheduler must tell the same story.
pub fn check_counts(document: &Value) {
    let n = |path: &str| number(document, path);
    let or_0 = |path: &str| document.pointer(path).and_then(Value::as_f64).unwrap_or(0.0);
    let triggers =
        ["full", "unpaired", "intra", "inter", "free_blocks"].map(|trigger| or_0(&format!("/gc/triggers/{trigger}")));
    assert_eq!(n("gc.invocations"), triggers.iter().sum::<f64>());
    let merges = or_0("/gc/merges/full") + or_0("/gc/merges/m_merge");
    let ftl = &document["config"]["ftl"];
    let merges_once = ["nftl", "pbe", "superblock-pen"].iter().any(|&kind| ftl["kind"] == kind);
    // Merges that ageing has queued may end in the run, which counts from there.
    if ftl["kind"] == "gftl" && document["config"]["initial"]["age_writes"] == 0.0 {
        assert!(n("gc.invocations") >= merges, "what is queued may not be merged yet");
    } else if merges_once {
        assert_eq!(n("gc.invocations"), merges);
    }
    assert_eq!(n("gc.copied_pages"), n("flash.programs.gc"));
    let by_merge = &document["gc"]["erases_by_merge"];
    let sum = |kind: &str| {
        ["full", "m_merge", "partial", "switch", "dead"]
            .iter()
            .map(|m| by_merge[m][kind].as_f64().unwrap_or(0.0))
            .sum::<f64>()
    };
    let reclaimed = ["/gc/reclaimed_blocks", "/gc/map/erases", "/gc/wear_leveling/erases"].map(or_0);
    assert_eq!(n("flash.erases.block"), sum("block") + reclaimed.iter().sum::<f64>());
    assert_eq!(n("flash.erases.partial"), sum("partial") + or_0("/gc/reclaimed_partial_blocks"));
    let config = &document["config"];
    if let Some(shape) =
        config["geometry"]["sub_blocks"].as_f64().filter(|_| config["partial_erase"]["unit"] == "sub-block")
    {
        // Every erase of a sub-block hit its share of a block's pages, and no others.
        let erased = n("flash.erases.block") + or_0("/gc/reclaimed_sub_blocks") / shape;
        let counted = n("wear.aep") * n("device.blocks");
        assert!((counted - erased).abs() <= 1e-9 * erased.max(1.0), "{counted} blocks' pages erased, {erased} decided");
        assert!(or_0("/flash/erases/sub_block") <= or_0("/gc/reclaimed_sub_blocks"));
    }
    check_times(document);
    // Pages of all erases, counted at the chip and as the average over all pages.
    let pages = n("device.pages");
    let operations = n("flash.erases.block") + n("flash.erases.partial") + or_0("/flash/erases/sub_block");
    assert!(n("wear.aep") * pages <= operations * pages);
}

/// With a clock a page may still be in the controller's buffer when it is read; nothing else differs. This holds
/// where pages are placed in the order in which they came: not with collection in steps, a cached map, a write buffer, or
/// several partial writes under way whose old copies are read first (see `partial_writes.rs`).
pub fn check_clock_changes_no_count(timed: &Value, untimed: &Value) {
    // A search for a page that is still in the buffer is left out, and its time with it.
    let counts = |document: &Value| {
        let mut document = document.clone();
        document["gc"]["time_us"]["map"] = Value::Null;
        document
    };
    let (timed, untimed) = (&counts(timed), &counts(untimed));
    for path in
        ["/flash/programs", "/flash/erases", "/gc", "/wear", "/integrity/corrupt_pages", "/integrity/lost_pages"]
    {
        assert_eq!(timed.pointer(path), untimed.pointer(path), "{path}");
    }
    let reads = |document: &Value| number(document, "flash.reads.host") + number(document, "host.buffer_hits");
    assert_eq!(reads(timed), reads(untimed));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn t400_nothing_is_lost_or_stale_with_full_merges(settings in settings()) {
        check_counts(&run_with(&settings, &[("ftl.merge", "block-erase")]));
    }

    #[test]
    fn t401_nothing_is_lost_stale_or_corrupt_with_m_merge(settings in settings()) {
        check_counts(&run_with(&settings, &[("ftl.merge", "m-merge")]));
    }

    #[test]
    fn t402_triggers_and_victims_never_depend_on_the_kind_of_merge(settings in settings()) {
        let baseline = run_with(&settings, &[("ftl.merge", "block-erase")]);
        let m_merge = run_with(&settings, &[("ftl.merge", "m-merge")]);
        prop_assert_eq!(&baseline["gc"]["triggers"], &m_merge["gc"]["triggers"]);
        prop_assert_eq!(&baseline["gc"]["victim_fill"], &m_merge["gc"]["victim_fill"]);
        prop_assert_eq!(&baseline["flash"]["programs"]["host"], &m_merge["flash"]["programs"]["host"]);
    }

    #[test]
    fn t404_a_page_level_ftl_loses_nothing_with_any_policy(settings in page_settings()) {
        let timed = run_with(&settings, &[]);
        check_counts(&timed);
        let untimed = run_with(&settings, &[("run.timed", "false")]);
        check_clock_changes_no_count(&timed, &untimed);
    }

    #[test]
    fn t413_no_host_makes_an_nftl_lose_anything(settings in settings(), host in host_settings(), merge in prop::bool::ANY) {
        let merge = ("ftl.merge".to_string(), if merge { "m-merge" } else { "block-erase" }.to_string());
        run_any_host(&[&settings[..], &[merge]].concat(), &host);
    }

    #[test]
    fn t414_no_host_makes_a_page_level_ftl_lose_anything(settings in page_settings(), host in host_settings()) {
        run_any_host(&settings, &host);
    }

    #[test]
    fn t434_no_command_that_overtakes_others_breaks_a_rule_or_meets_a_wrong_page(
        settings in prop_oneof![page_options(), nftl_settings(), superblock_settings(), with_map(sub_block_settings())],
        planes in 2u32..5, host in host_settings()
    ) {
        let planes = planes.to_string();
        let queue = [
            ("geometry.planes_per_die", planes.as_str()),
            ("timing.multi_plane", "queue"),
            ("program.suspension", "off"),
            ("host.read_tokens", "0"),
            ("erase.last_loop", "at-once"),
        ];
        let queue = queue.map(|(key, value)| (key.to_string(), value.to_string()));
        run_any_host(&settings, &[&host[..], &queue].concat());
    }

    #[test]
    fn t405_a_page_level_ftl_loses_nothing_with_any_option(settings in page_options()) {
        let timed = run_with(&settings, &[]);
        check_counts(&timed);
        let untimed = run_with(&settings, &[("run.timed", "false")]);
        check_counts(&untimed);
        // Idle time decides over steps, and a map entry that is read delays its access behind later ones.
        let ftl = &timed["config"]["ftl"];
        if matches!(ftl["gc_mode"].as_str(), Some("blocking" | "foreground")) && ftl["map_place"] == "ram" {
            // Reads of pages that are still queued never reach the flash.
            for section in ["/flash/programs", "/flash/erases", "/gc", "/wear"] {
                prop_assert_eq!(timed.pointer(section), untimed.pointer(section), "{}", section);
            }
        }
    }

    #[test]
    fn t415_a_page_level_ftl_loses_nothing_when_sub_blocks_are_erased_apart(
        settings in sub_block_settings(), map in map_settings()
    ) {
        check_erased_in_parts(&settings, &map, &[]);
    }

    #[test]
    fn t430_a_log_block_ftl_loses_nothing(settings in hybrid_settings("log-block")) {
        check_timed_and_untimed(&settings);
    }

    #[test]
    fn t431_fast_loses_nothing(settings in hybrid_settings("fast")) {
        check_timed_and_untimed(&settings);
    }

    #[test]
    fn t432_a_replacement_block_ftl_loses_nothing(settings in hybrid_settings("replacement-block")) {
        check_timed_and_untimed(&settings);
    }

    #[test]
    fn t433_the_superblock_ftl_of_2006_loses_nothing_with_its_map_in_ram_or_in_spare_areas(
        settings in superblock_2006_settings()
    ) {
        check_timed_and_untimed(&settings);
    }

    #[test]
    fn t420_a_superblock_ftl_loses_nothing_with_any_merge(settings in superblock_settings()) {
        for merge in ["block-erase", "m-merge", "m-merge-budgeted"] {
            let timed = run_with(&settings, &[("ftl.merge", merge)]);
            check_counts(&timed);
            prop_assert_eq!(number(&timed, "flash.reads.spare"), 0.0);
            let untimed = run_with(&settings, &[("ftl.merge", merge), ("run.timed", "false")]);
            check_clock_changes_no_count(&timed, &untimed);
        }
    }

    #[test]
    fn t421_gftl_loses_nothing_however_large_its_buffer(
        settings in settings(), share in prop_oneof![Just(0.0), Just(0.16), Just(0.5)], requests in 1u32..6,
        merge in merges_of("gftl")
    ) {
        let (share, requests) = (share.to_string(), (requests * 1000).to_string());
        let gftl = [("ftl.kind", "gftl"), ("ftl.write_buffer_share", &share), ("workload.requests", &requests), ("ftl.merge", merge.name())];
        let timed = run_with(&settings, &gftl);
        check_counts(&timed);
        let untimed = run_with(&settings, &[&gftl[..], &[("run.timed", "false")]].concat());
        check_clock_changes_no_count(&timed, &untimed);
    }

    #[test]
    fn t422_chips_that_isolate_partial_blocks_lose_nothing(settings in settings(), loss in 0.0f64..0.3) {
        let loss = loss.to_string();
        let pbe = [("ftl.kind", "pbe"), ("ftl.capacity_loss", &loss), ("geometry.blocks_per_plane", "40")];
        let unaware = [("ftl.merge", "m-merge"), ("partial_erase.disturb_aware", "false")];
        check_counts(&run_with(&settings, &[&pbe[..], &unaware].concat()));
    }

    #[test]
    fn t403_the_clock_changes_no_count(settings in settings()) {
        let timed = run_with(&settings, &[("ftl.merge", "m-merge")]);
        let untimed = run_with(&settings, &[("ftl.merge", "m-merge"), ("run.timed", "false")]);
        check_clock_changes_no_count(&timed, &untimed);
    }
}

/// Updates of four pages in the middle of a block, merged again and again, then reads of the whole
/// block: the leaves beside the restored ones are disturbed each time.
fn boundary_trace(name: &str) -> TraceFile {
    let updates = (0..1500).map(|n| (n * 1_000, 'W', (16 + n % 4) * 4096, 4096));
    let reads = (0..64).map(|page| (200_000_000 + page * 1_000, 'R', page * 4096, 4096));
    TraceFile::new(name, &updates.chain(reads).collect::<Vec<_>>())
}

#[test]
fn t410_without_disturb_awareness_pages_are_corrupted_and_with_it_none() {
    let trace = boundary_trace("boundary");
    let unaware = trace.run(&[("ftl.merge", "m-merge"), ("partial_erase.disturb_aware", "false")]);
    assert!(number(&unaware, "integrity.corrupt_pages") > 0.0);
    let aware = trace.run(&[("ftl.merge", "m-merge"), ("run.check", "integrity")]);
    assert_eq!(number(&aware, "integrity.corrupt_pages"), 0.0);
    assert!(number(&aware, "gc.merges.m_merge") > 10.0, "M-Merges happen");
    let tolerant =
        [("ftl.merge", "m-merge"), ("partial_erase.disturb_aware", "false"), ("partial_erase.disturb_tolerance", "99")];
    assert_eq!(number(&trace.run(&tolerant), "integrity.corrupt_pages"), 0.0);
}

#[test]
fn t411_an_integrity_run_with_corrupt_pages_says_so() {
    let trace = boundary_trace("corrupt");
    let sets = [("ftl.merge", "m-merge"), ("partial_erase.disturb_aware", "false"), ("run.check", "integrity")];
    let error = trace.integrity_error(&sets);
    assert!(error.expect("an error").contains("corrupt"));
}

#[test]
fn t412_same_spec_and_seed_same_document() {
    let sets = [("ftl.merge", "m-merge"), ("seed", "7")];
    assert_eq!(document(&sets), document(&sets));
    assert_ne!(document(&sets)["host"], document(&[("ftl.merge", "m-merge"), ("seed", "8")])["host"]);
}

#[test]
fn t423_superblocks_and_isolated_chips_have_corrupt_pages_only_where_they_should() {
    let busy = [("workload.kind", "hot-cold"), ("workload.read_fraction", "0.2"), ("initial.fill", "1.0")];
    let corrupt = |sets: &[(&str, &str)]| {
        let document = document(&[&busy[..], sets].concat());
        assert!(number(&document, "gc.merges.m_merge") > 10.0, "M-Merges happen: {sets:?}");
        assert!(number(&document, "flash.erases.partial") > 10.0, "partial erases happen: {sets:?}");
        number(&document, "integrity.corrupt_pages")
    };
    for merge in ["m-merge", "m-merge-budgeted"] {
        let superblock = [("ftl.kind", "superblock-pen"), ("ftl.merge", merge)];
        assert_eq!(corrupt(&superblock), 0.0, "{merge}");
        let unaware = [&superblock[..], &[("partial_erase.disturb_aware", "false")]].concat();
        assert!(corrupt(&unaware) > 0.0, "{merge}");
    }
    let unaware = [("ftl.merge", "m-merge"), ("partial_erase.disturb_aware", "false")];
    assert!(corrupt(&unaware) > 0.0);
    assert_eq!(corrupt(&[&unaware[..], &[("ftl.kind", "pbe")]].concat()), 0.0);
}

/// Blocks of one capacity with leaves of nine pages: pages, blocks a plane, halvings.
const BLOCK_SIZES: &[(&str, &str, &str)] = &[
    ("72", "15104", "3"),
    ("144", "7552", "4"),
    ("288", "3776", "5"),
    ("576", "1888", "6"),
    ("1152", "944", "7"),
    ("2304", "472", "8"),
];

#[test]
fn t424_every_block_size_of_the_study_runs_and_smaller_blocks_need_a_larger_block_map() {
    let map_bytes = |preset: &str, (pages, blocks, splits): (&str, &str, &str)| {
        let sets = [
            ("geometry.pages_per_block", pages),
            ("geometry.blocks_per_plane", blocks),
            ("partial_erase.max_splits", splits),
            ("ftl.merge", "m-merge"),
            ("run.max_requests", "20000"),
        ];
        let sets = sets.map(|(key, value)| (key.to_string(), value.to_string())).to_vec();
        let spec = Config::resolve(&SpecSource { preset: Some(preset.into()), sets, ..SpecSource::default() });
        let outcome = run(&spec.expect("a valid spec"), 0.0625, &mut |_| true).expect("it runs");
        assert_eq!(number(&outcome.document, "integrity.corrupt_pages"), 0.0);
        number(&outcome.document, "gc.map.ram_bytes")
    };
    let bytes: Vec<f64> = BLOCK_SIZES.iter().map(|&size| map_bytes("pen-1tb", size)).collect();
    println!("map of the NFTL at 1/16, bytes: {bytes:?}");
    assert!(bytes.windows(2).all(|pair| pair[0] > pair[1]), "{bytes:?}");
    for &size in BLOCK_SIZES {
        map_bytes("pen-superblock-4-5", size);
    }
}

#[test]
fn t425_a_layer_that_cannot_work_is_refused() {
    let refused = |sets: &[(&str, &str)], parts: &[&str]| {
        let text = Config::resolve(&source(sets)).expect_err("refused").to_string();
        parts.iter().for_each(|part| assert!(text.contains(part), "{text}"));
    };
    refused(
        &[("ftl.kind", "page"), ("ftl.merge", "m-merge")],
        &["ftl.merge = \"m-merge\" needs ftl.kind = \"nftl\"", "found \"page\""],
    );
    refused(&[("ftl.kind", "gftl"), ("timing.t_bers_us", "900")], &["smallest value that works is 970"]);
    refused(&[("ftl.capacity_loss", "0.1")], &["needs ftl.kind = \"pbe\""]);
    refused(&[("ftl.kind", "superblock-pen"), ("ftl.superblock.physical", "4")], &["must exceed", "= 4"]);
    refused(&[("ftl.merge", "m-merge-budgeted")], &["needs ftl.kind = \"superblock-pen\" | \"superblock-2006\""]);
    let large =
        [("ftl.kind", "superblock-pen"), ("ftl.superblock.logical", "1025"), ("ftl.superblock.physical", "1026")];
    refused(&large, &["at most 65536", "logical = 1024"]);
    let large =
        [("ftl.kind", "superblock-pen"), ("geometry.pages_per_block", "16384"), ("ftl.superblock.logical", "5")];
    refused(&[&large[..], &[("ftl.superblock.physical", "6")]].concat(), &["at most 65536", "logical = 4"]);
    let many = [("ftl.kind", "superblock-pen"), ("ftl.superblock.physical", "65")];
    refused(&many, &["exceeds the blocks of a plane", "= 64"]);
    let few = [("ftl.kind", "superblock-pen"), ("geometry.blocks_per_plane", "4")];
    refused(&few, &["less than one superblock"]);
}

/// A small device of a hybrid layer with few U-blocks, under updates that fall on a part of its blocks.
fn hybrid<'a>(kind: &'a str, order: &'a str, more: &[(&'a str, &'a str)]) -> Vec<(&'a str, &'a str)> {
    let base = [
        ("ftl.kind", kind),
        ("geometry.program_order", order),
        ("ftl.u_blocks", "8"),
        ("ftl.over_provisioning", "0.3"),
        ("workload.kind", "hot-cold"),
        ("workload.request_bytes", "4096"),
        ("workload.requests", "20000"),
    ];
    [&base[..], more].concat()
}

/// Block erase and M-Merge on a hybrid layer. Nothing is lost, W = 0 allows no M-Merge, and M-Merge that does not look
/// disturbs pages.
fn block_erase_and_m_merge(kind: &str, order: &str) -> [Value; 2] {
    let checked = [("run.check", "integrity")];
    let block_erase = document(&hybrid(kind, order, &checked));
    let m_merge = document(&hybrid(kind, order, &[checked[0], ("ftl.merge", "m-merge")]));
    let never = document(&hybrid(kind, order, &[("ftl.merge", "m-merge"), ("partial_erase.wear_limit_w", "0")]));
    assert_eq!(never["flash"], block_erase["flash"], "{kind} {order}: W = 0 allows no M-Merge");
    let unaware = [("ftl.merge", "m-merge"), ("partial_erase.disturb_aware", "false")];
    let corrupt = number(&document(&hybrid(kind, order, &unaware)), "integrity.corrupt_pages");
    assert!(corrupt > 0.0, "{kind} {order}: pages are disturbed where nobody looks");
    for (name, document) in [("block erase", &block_erase), ("M-Merge", &m_merge)] {
        let [copies, host] = ["gc.copied_pages", "flash.programs.host"].map(|field| number(document, field));
        let [copy, erase] = ["gc.time_us.copy", "gc.time_us.erase"].map(|field| number(document, field) / 1e6);
        println!("{kind} {order} {name}: copies {:.3} a page, {copy:.3} s, erases {erase:.3} s", copies / host);
    }
    [block_erase, m_merge]
}

/// PEN's footnote says that M-Merge works equally well for other hybrid layers.
#[test]
fn t479_m_merge_on_hybrid_layers_loses_nothing_and_costs_less() {
    let time = |document: &Value| number(document, "gc.time_us.copy") + number(document, "gc.time_us.erase");
    for (kind, order) in [
        ("log-block", "any"),
        ("log-block", "in-order"),
        ("fast", "any"),
        ("fast", "in-order"),
        ("replacement-block", "any"),
    ] {
        let [block_erase, m_merge] = block_erase_and_m_merge(kind, order);
        let ratio = time(&m_merge) / time(&block_erase);
        println!("{kind} {order}: {} M-Merges, time {ratio:.3}", m_merge["gc"]["merges"]["m_merge"]);
        // The pages of a log block of FAST belong to many logical blocks, and each has few of them in many places.
        let (least, most) = if kind == "fast" { (20.0, 1.0) } else { (100.0, 0.9) };
        assert!(number(&m_merge, "gc.merges.m_merge") > least && ratio < most, "{kind} {order}: {ratio}");
    }
}

/// Slots of GFTL pass whether merges fill them or not, so copies tell what M-Merge saves there.
#[test]
fn t483_m_merge_on_gftl_loses_nothing_and_copies_less() {
    for order in ["any", "in-order"] {
        let [block_erase, m_merge] = block_erase_and_m_merge("gftl", order);
        let copies = number(&m_merge, "gc.copied_pages") / number(&block_erase, "gc.copied_pages");
        println!("gftl {order}: {} M-Merges, copies {copies:.3}", m_merge["gc"]["merges"]["m_merge"]);
        assert!(number(&m_merge, "gc.merges.m_merge") > 100.0 && copies < 0.9, "{order}: {copies}");
    }
}

/// With blocks of 64 pages few merges of superblocks are cheaper by M-Merge.
#[test]
fn t484_m_merge_on_the_superblock_ftl_of_2006_loses_nothing() {
    for order in ["any", "in-order"] {
        let [_, m_merge] = block_erase_and_m_merge("superblock-2006", order);
        assert!(number(&m_merge, "gc.merges.m_merge") > 20.0, "{order}");
    }
}
