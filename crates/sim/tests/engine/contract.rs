//! 4xx: what every FTL owes its host, on random small devices and random requests, with the array's
//! truth read back: read your writes, nothing lost, counts equal to a recount.

use proptest::prelude::*;
use pumice_sim::{Spec, SpecSource, run};
use serde_json::Value;

use crate::support::{TraceFile, document, number};

fn settings() -> impl Strategy<Value = Vec<(String, String)>> {
    let shape = (1u32..3, 1u32..3, 1u32..3, 10u32..40, prop_oneof![Just(8u32), Just(12), Just(64), Just(72)]);
    let ftl = (prop::bool::ANY, prop::bool::ANY, prop::bool::ANY, 0.1f64..0.4, 0.0f64..0.3);
    let chip = (0u8..4, 0u8..3, 0u32..2, prop::bool::ANY, 0u32..4);
    let load = (1u64..1000, 0.0f64..0.9, prop_oneof![Just(0.25f64), Just(0.5), Just(1.0)], 1u32..4, 0.0f64..1.0);
    (shape, ftl, chip, load).prop_map(|(shape, ftl, chip, load)| {
        let splits = u8::try_from(shape.4.trailing_zeros()).unwrap_or(0).min(chip.0);
        let pairs = [
            ("geometry.channels", shape.0.to_string()),
            ("geometry.dies_per_chip", shape.1.to_string()),
            ("geometry.planes_per_die", shape.2.to_string()),
            ("geometry.blocks_per_plane", shape.3.to_string()),
            ("geometry.pages_per_block", shape.4.to_string()),
            ("geometry.program_order", if ftl.0 { "any" } else { "in-order" }.into()),
            ("geometry.bad_blocks_per_plane", chip.2.to_string()),
            ("partial_erase.max_splits", splits.to_string()),
            ("partial_erase.disturb_tolerance", chip.1.to_string()),
            ("partial_erase.wear_limit_w", (chip.4 * 5).to_string()),
            ("ftl.u_index", if ftl.1 { "spare" } else { "ram" }.into()),
            ("ftl.over_provisioning", format!("{}", ftl.3 + 0.2)),
            ("ftl.gc_free_threshold", format!("{}", ftl.4)),
            ("timing.copyback", chip.3.to_string()),
            ("initial.fill", format!("{}", load.4)),
            ("initial.fill_unit", if ftl.2 { "block" } else { "page" }.into()),
            ("seed", load.0.to_string()),
            ("workload.read_fraction", format!("{}", load.1)),
            ("workload.footprint", format!("{}", load.2)),
            ("workload.request_bytes", (load.3 * 4096).to_string()),
            ("workload.requests", "1500".into()),
            ("run.check", "integrity".into()),
        ];
        pairs.map(|(key, value)| (key.to_string(), value)).to_vec()
    })
}

/// The same for a page-level FTL: more blocks, and enough spare ones for its open blocks.
fn page_settings() -> impl Strategy<Value = Vec<(String, String)>> {
    let policy = prop_oneof![Just("greedy"), Just("cost-benefit"), Just("d-choices"), Just("fifo"), Just("random")];
    let order = prop_oneof![Just("CWDP"), Just("PDWC"), Just("DPCW")];
    (settings(), policy, order, 16u32..40, 0.45f64..0.7, 0.0f64..0.1, 0.0f64..2.0).prop_map(
        |(mut settings, policy, order, blocks, over_provisioning, stop, age)| {
            let changes = [
                ("ftl.kind", "page".to_string()),
                ("ftl.gc_policy", policy.into()),
                ("ftl.allocation_order", order.into()),
                ("geometry.blocks_per_plane", blocks.to_string()),
                ("ftl.over_provisioning", format!("{over_provisioning}")),
                ("ftl.gc_free_threshold", "0.1".into()),
                ("ftl.gc_stop_threshold", format!("{}", 0.1 + stop)),
                ("initial.age_writes", format!("{age}")),
            ];
            settings.extend(changes.map(|(key, value)| (key.to_string(), value)));
            settings
        },
    )
}

/// The same for FTLs with D-blocks and a limited number of U-blocks.
fn hybrid_settings(kind: &'static str) -> impl Strategy<Value = Vec<(String, String)>> {
    (settings(), 30u32..60, 1u32..9, 0.36f64..0.5, 0.0f64..2.0).prop_map(
        move |(mut settings, blocks, u_blocks, over_provisioning, age)| {
            let changes = [
                ("ftl.kind", kind.to_string()),
                ("geometry.blocks_per_plane", blocks.to_string()),
                ("ftl.u_blocks", u_blocks.max(u32::from(kind == "fast") * 2).to_string()),
                ("ftl.over_provisioning", format!("{over_provisioning}")),
                ("initial.age_writes", format!("{age}")),
            ];
            settings.extend(changes.map(|(key, value)| (key.to_string(), value)));
            if kind == "replacement-block" {
                settings.push(("geometry.program_order".into(), "any".into()));
            }
            settings
        },
    )
}

/// The same for the superblock FTL, with its map in RAM or in spare areas.
fn superblock_settings() -> impl Strategy<Value = Vec<(String, String)>> {
    let pages = prop_oneof![Just(8u32), Just(12), Just(40), Just(64)];
    let shape = (1u32..6, 1u32..4, 1u32..20, prop::bool::ANY);
    (hybrid_settings("superblock"), shape, pages).prop_map(|(mut settings, shape, pages)| {
        let (logical, beyond, entries, in_spare) = shape;
        let changes = [
            ("geometry.program_order", "in-order".to_string()),
            ("geometry.pages_per_block", pages.to_string()),
            ("partial_erase.max_splits", "0".into()),
            ("ftl.superblock.logical", logical.to_string()),
            ("ftl.superblock.physical", (logical + beyond).to_string()),
            ("ftl.map_place", if in_spare { "spare" } else { "ram" }.into()),
            ("ftl.map_cache_entries", entries.to_string()),
            ("ftl.superblock.valid_blocks", if entries % 2 == 0 { "copy" } else { "keep" }.into()),
        ];
        settings.extend(changes.map(|(key, value)| (key.to_string(), value)));
        settings
    })
}

/// Runs with and without a clock; both must tell the same story, and their counts must agree.
fn check_timed_and_untimed(settings: &[(String, String)]) -> Result<(), TestCaseError> {
    let timed = run_with(settings, &[]);
    check_counts(&timed);
    let untimed = run_with(settings, &[("run.timed", "false")]);
    for section in ["flash", "gc", "wear", "integrity"] {
        prop_assert_eq!(&timed[section], &untimed[section]);
    }
    Ok(())
}

fn run_with(settings: &[(String, String)], extra: &[(&str, &str)]) -> Value {
    let mut sets = settings.to_vec();
    sets.extend(extra.iter().map(|(key, value)| (key.to_string(), value.to_string())));
    let spec = Spec::resolve(&SpecSource { preset: Some("tiny".into()), sets, ..SpecSource::default() });
    let outcome = run(&spec.expect("a valid spec"), 1.0, &mut |_| true).expect("no rule and no belief is broken");
    assert_eq!(outcome.integrity_error, None);
    outcome.document
}

/// Counts of the FTL, of the array and of the scheduler must tell the same story.
fn check_counts(document: &Value) {
    let n = |path: &str| number(document, path);
    let or_0 = |path: &str| document.pointer(path).and_then(Value::as_f64).unwrap_or(0.0);
    let triggers = ["full", "unpaired", "free_blocks", "intra", "inter"];
    let triggers = triggers.map(|trigger| or_0(&format!("/gc/triggers/{trigger}")));
    assert_eq!(n("gc.invocations"), triggers.iter().sum::<f64>());
    if document["config"]["ftl"]["kind"] == "nftl" {
        assert_eq!(n("gc.invocations"), n("gc.merges.full") + or_0("/gc/merges/m_merge"));
    }
    assert_eq!(n("gc.copied_pages"), n("flash.programs.gc"));
    let by_merge = &document["gc"]["erases_by_merge"];
    let sum = |kind: &str| {
        ["full", "m_merge", "partial", "switch", "dead"]
            .iter()
            .map(|m| by_merge[m][kind].as_f64().unwrap_or(0.0))
            .sum::<f64>()
    };
    assert_eq!(n("flash.erases.block"), sum("block") + or_0("/gc/reclaimed_blocks"));
    assert_eq!(n("flash.erases.partial"), sum("partial"));
    let parts = document["write_latency_breakdown_us"].as_object();
    if let Some(parts) = parts {
        let total: f64 = parts.values().filter_map(Value::as_f64).sum();
        let mean = n("host.write.latency_us.mean");
        assert!((total - mean).abs() <= 1e-9 * mean.max(1.0), "parts {total} and mean {mean}");
    }
    // Pages of all erases, counted at the chip and as the average over all pages.
    let pages = n("device.pages");
    assert!(n("wear.aep") * pages <= (n("flash.erases.block") + n("flash.erases.partial")) * pages);
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
        check_timed_and_untimed(&settings)?;
    }

    #[test]
    fn t405_a_log_block_ftl_loses_nothing(settings in hybrid_settings("log-block")) {
        check_timed_and_untimed(&settings)?;
    }

    #[test]
    fn t406_fast_loses_nothing(settings in hybrid_settings("fast")) {
        check_timed_and_untimed(&settings)?;
    }

    #[test]
    fn t407_a_replacement_block_ftl_loses_nothing(settings in hybrid_settings("replacement-block")) {
        check_timed_and_untimed(&settings)?;
    }

    #[test]
    fn t408_the_superblock_ftl_of_2006_loses_nothing_with_its_map_in_ram_or_in_spare_areas(
        settings in superblock_settings()
    ) {
        check_timed_and_untimed(&settings)?;
    }

    #[test]
    fn t403_the_clock_changes_no_count(settings in settings()) {
        let timed = run_with(&settings, &[("ftl.merge", "m-merge")]);
        let untimed = run_with(&settings, &[("ftl.merge", "m-merge"), ("run.timed", "false")]);
        for section in ["flash", "gc", "wear", "integrity"] {
            prop_assert_eq!(&timed[section], &untimed[section]);
        }
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
