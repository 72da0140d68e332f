//! 4xx and 7xx: the contract of a page-level FTL whose reads are repeated, and of one that erases partial
//! blocks, which must keep its pages from disturb; and what erasing partial blocks is worth.

use proptest::prelude::*;
use pumice_config::Config;
use pumice_engine::build;
use pumice_ftl::{Ftl, Plan};
use pumice_types::{BlockId, Lpn};

use crate::contract::{check_erased_in_parts, run_any_host};
use crate::golden::{assert_golden, fields};
use crate::random_devices::{handle_settings, host_settings, map_settings, page_settings};
use crate::support::{document, number, source, spec};

/// A page-level FTL with blocks of which partial blocks are erased, in steps and not.
fn leaf_settings() -> impl Strategy<Value = Vec<(String, String)>> {
    let pages =
        prop_oneof![Just((8u32, 2u32, 2u32)), Just((8, 3, 1)), Just((12, 2, 3)), Just((64, 5, 2)), Just((72, 3, 3))];
    let sequence = prop_oneof![Just("lfws"), Just("sfws")];
    let pages = (pages, sequence);
    let options = (
        prop_oneof![Just("mixed"), Just("gc"), Just("recency")],
        prop::bool::ANY,
        prop_oneof![Just("dynamic"), Just("static")],
    );
    let all = (page_settings(), pages, options, handle_settings());
    all.prop_map(|(mut settings, (shape, sequence), (apart, closed, allocation), handles)| {
        let (pages, splits, sub_blocks) = shape;
        let changes = [
            ("geometry.layers", (pages / sub_blocks).to_string()),
            ("geometry.sub_blocks", sub_blocks.to_string()),
            ("geometry.write_sequence", sequence.into()),
            ("ftl.erase_unit", "partial-block".to_string()),
            ("ftl.allocation", allocation.into()),
            ("ftl.hot_cold", apart.into()),
            ("ftl.over_provisioning", "0.65".into()),
            ("geometry.blocks_per_plane", "24".into()),
            ("geometry.pages_per_block", pages.to_string()),
            ("geometry.program_order", "in-order".into()),
            ("partial_erase.max_splits", splits.to_string()),
            ("host.mode", if closed { "closed-loop" } else { "open-loop" }.into()),
            ("workload.requests", "4000".into()),
        ];
        settings.extend(changes.map(|(key, value)| (key.to_string(), value)));
        settings.extend(handles);
        settings
    })
}

/// Every page needs two retries or more.
fn worn_out() -> Vec<(String, String)> {
    let pairs = [
        ("erase.scheme", "ispe"),
        ("erase.initial_pec", "4000"),
        ("erase.rber_requirement", "40"),
        ("erase.ecc_bits_per_kib", "40"),
        ("erase.read_retry", "true"),
    ];
    pairs.map(|(key, value)| (key.to_string(), value.to_string())).to_vec()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn t416_no_host_makes_a_page_level_ftl_lose_anything_where_reads_are_repeated(
        settings in page_settings(), host in host_settings()
    ) {
        run_any_host(&[settings, worn_out()].concat(), &host);
    }

    #[test]
    fn t417_a_page_level_ftl_loses_nothing_and_corrupts_nothing_when_partial_blocks_are_erased(
        settings in leaf_settings(), map in map_settings()
    ) {
        check_erased_in_parts(&settings, &map, &[("host.read_priority", "true")]);
    }
}

/// Random writes of which most go to a part of the space, on one plane of blocks of 64 leaves.
fn collected(erase_unit: &str, more: &[(&str, &str)]) -> serde_json::Value {
    let base = [
        ("geometry.channels", "1"),
        ("geometry.planes_per_die", "1"),
        ("geometry.blocks_per_plane", "64"),
        ("geometry.pages_per_block", "576"),
        ("geometry.program_order", "in-order"),
        ("partial_erase.max_splits", "6"),
        ("ftl.kind", "page"),
        ("ftl.erase_unit", erase_unit),
        ("ftl.over_provisioning", "0.15"),
        ("ftl.gc_free_threshold", "0.03"),
        ("workload.kind", "hot-cold"),
        ("workload.request_bytes", "4096"),
        ("workload.read_fraction", "0.2"),
        ("workload.footprint", "1.0"),
        ("workload.requests", "100000"),
        ("initial.fill", "1.0"),
        ("host.mode", "closed-loop"),
        ("host.queue_depth", "4"),
    ];
    document(&[&base[..], more].concat())
}

#[test]
fn t724_erasing_partial_blocks_moves_fewer_pages_and_erases_each_page_less_often() {
    let integrity = [("run.check", "integrity")];
    let (blocks, leaves) = (collected("block", &integrity), collected("partial-block", &integrity));
    for path in ["write_amplification", "wear.aep", "host.write.latency_us.mean"] {
        println!("{path}: block {:.3}, partial block {:.3}", number(&blocks, path), number(&leaves, path));
    }
    assert!(number(&leaves, "gc.reclaimed_partial_blocks") > 100.0);
    assert_eq!(number(&leaves, "integrity.corrupt_pages"), 0.0);
    for path in ["write_amplification", "wear.aep"] {
        assert!(number(&leaves, path) < number(&blocks, path), "{path}");
    }
}

#[test]
fn t418_without_disturb_awareness_erasing_partial_blocks_corrupts_pages() {
    let corrupt = |more: &[(&str, &str)]| number(&collected("partial-block", more), "integrity.corrupt_pages");
    assert_eq!(corrupt(&[("partial_erase.disturb_tolerance", "0")]), 0.0);
    assert!(corrupt(&[("partial_erase.disturb_aware", "false")]) > 0.0);
    let tolerant = [("partial_erase.disturb_aware", "false"), ("partial_erase.disturb_tolerance", "255")];
    assert_eq!(corrupt(&tolerant), 0.0);
}

#[test]
fn t419_the_ftl_counts_disturbs_as_the_chip_does() {
    let sets = [
        ("geometry.pages_per_block", "72"),
        ("geometry.blocks_per_plane", "24"),
        ("geometry.program_order", "in-order"),
        ("partial_erase.max_splits", "3"),
        ("partial_erase.disturb_tolerance", "2"),
        ("ftl.kind", "page"),
        ("ftl.erase_unit", "partial-block"),
        ("ftl.over_provisioning", "0.4"),
        ("initial.fill", "1.0"),
    ];
    let mut built = build(&spec(&sets), 1.0).expect("a device");
    let mut plan = Plan::default();
    let pages = u64::from(built.ftl.user_pages());
    let mut state = 1u64;
    for _ in 0..40_000 {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        plan.clear();
        built.ftl.write_to_stream(Lpn(((state >> 33) % pages) as u32), 1, 0, &mut plan).expect("there is room");
        plan.commands.iter().for_each(|command| assert!(built.chips.checked.array.execute(command).is_ok()));
    }
    let Ftl::Page(ftl) = &built.ftl else { panic!("a page-level FTL") };
    let blocks = (0..built.geometry.blocks()).map(BlockId);
    let disturbed = blocks.filter(|&block| {
        assert_eq!(ftl.disturbs(block), built.chips.checked.array.disturb(block), "block {}", block.0);
        ftl.disturbs(block).iter().any(|&count| count > 0)
    });
    assert!(disturbed.count() > 10, "there is something to count");
}

#[test]
fn t426_partial_blocks_that_cannot_be_collected_are_refused() {
    let refused = |more: &[(&str, &str)], part: &str| {
        let sets = [&[("ftl.kind", "page"), ("ftl.over_provisioning", "0.4")], more].concat();
        let text = Config::resolve(&source(&sets)).expect_err("refused").to_string();
        assert!(text.contains(part), "{text}");
    };
    let leaves = ("ftl.erase_unit", "partial-block");
    refused(&[leaves, ("partial_erase.unit", "none")], "needs partial_erase.unit = \"partial-block\"");
    let many = [leaves, ("geometry.pages_per_block", "128"), ("partial_erase.max_splits", "7")];
    refused(&many, "max_splits = 7; allowed: at most 6");
    refused(&[leaves, ("ftl.wear_leveling", "static")], "needs ftl.erase_unit = \"block\"");
    let sfws = [leaves, ("geometry.layers", "8"), ("geometry.sub_blocks", "8"), ("geometry.write_sequence", "sfws")];
    refused(
        &[&sfws[..], &[("partial_erase.max_splits", "4")]].concat(),
        "partial_erase.max_splits = 4: 2^4 does not divide the 8 pages of a sub-block (geometry.write_sequence = \"sfws\"); the largest legal value is 3",
    );
    for kind in ["nftl", "superblock-pen", "pbe"] {
        let halved = ("partial_erase.max_splits", "3");
        let merged = [("ftl.kind", kind), ("ftl.merge", "m-merge"), halved, sfws[1], sfws[2], sfws[3]];
        refused(&merged, "ftl.merge = \"m-merge\" needs geometry.write_sequence = \"lfws\"");
    }
    refused(&[leaves, ("ftl.kind", "nftl")], "needs ftl.kind = \"page\"");
}

#[test]
fn t919_results_of_reclaiming_by_partial_blocks_and_of_read_retries_do_not_change_unnoticed() {
    let leaves = collected("partial-block", &[("workload.requests", "20000"), ("ftl.gc_mode", "preemptible")]);
    let worn: Vec<_> = worn_out();
    let worn: Vec<_> = worn.iter().map(|(key, value)| (key.as_str(), value.as_str())).collect();
    let retried = collected("block", &[&worn[..], &[("workload.requests", "20000")]].concat());
    let found = [("partial blocks", leaves), ("read retries", retried)];
    assert_golden("partial_blocks", &found.map(|(name, run)| (name.to_string(), fields(&run))).into());
}
