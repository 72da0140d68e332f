//! 4xx: what sub-blocks that disturb each other owe the host. 7xx: what the write sequence is worth to a page-level FTL that erases sub-blocks apart, where a
//! closed answer exists. 9xx: golden results.

use proptest::prelude::*;
use pumice_config::Config;
use pumice_engine::{Built, build};
use pumice_ftl::{Ftl, Plan};
use pumice_types::{BlockId, CellPosition, FlashOp, Lpn, PageAddress};
use serde_json::Value;

use crate::contract::{check_counts, run_any_host, run_with};
use crate::golden::{assert_golden, fields};
use crate::random_devices::{sub_block_settings, with_map};
use crate::support::{document, number, source, spec};

/// One plane of blocks of 8 layers and 8 sub-blocks; requests of `pages` pages overwrite at random.
fn overwrites(write_sequence: &str, pages: u32, erase_unit: &str) -> Value {
    let request_bytes = (pages * 4096).to_string();
    document(&[
        ("geometry.channels", "1"),
        ("geometry.planes_per_die", "1"),
        ("geometry.blocks_per_plane", "128"),
        ("geometry.layers", "8"),
        ("geometry.sub_blocks", "8"),
        ("geometry.write_sequence", write_sequence),
        ("geometry.program_order", "in-order"),
        ("partial_erase.unit", "sub-block"),
        ("ftl.kind", "page"),
        ("ftl.erase_unit", erase_unit),
        ("ftl.over_provisioning", "0.2"),
        ("workload.request_bytes", &request_bytes),
        ("workload.read_fraction", "0.0"),
        ("workload.footprint", "1.0"),
        ("initial.fill", "0.0"),
        ("run.timed", "false"),
        ("run.check", "integrity"),
    ])
}

#[test]
fn t720_requests_as_long_as_a_sub_block_are_reclaimed_without_a_copy_sub_block_first_only() {
    let copied = |sequence| number(&overwrites(sequence, 8, "sub-block"), "gc.copied_pages");
    assert_eq!(copied("sfws"), 0.0, "an overwritten request leaves a sub-block without a valid page");
    assert!(copied("lfws") > 10_000.0, "layer first every request lies in all sub-blocks");
}

#[test]
fn t721_one_page_writes_at_random_do_not_care_about_the_sequence() {
    let copied = |sequence, unit| number(&overwrites(sequence, 1, unit), "gc.copied_pages");
    let (lfws, sfws) = (copied("lfws", "sub-block"), copied("sfws", "sub-block"));
    assert!((lfws / sfws - 1.0).abs() < 0.05, "{lfws} and {sfws} pages copied");
    assert!(sfws < 0.95 * copied("sfws", "block"), "small units hold fewer valid pages when reclaimed");
}

#[test]
fn t722_one_operation_erases_several_sub_blocks() {
    let run = overwrites("sfws", 16, "sub-block");
    assert!(number(&run, "gc.reclaimed_sub_blocks") >= 2.0 * number(&run, "flash.erases.sub_block"));
}

/// The host's pages fill 57 of 64 blocks of four sub-blocks. Half of each sub-block of the first eight blocks is
/// overwritten, which leaves three blocks free: collection starts. Every further sub-block of the victim wins as many
/// pages without a further erase, and the twelve free ones have room for the copies of all four.
#[test]
fn t725_a_reclaim_takes_as_many_sub_blocks_as_the_free_ones_have_room_for() {
    let sets = [
        ("geometry.channels", "1"),
        ("geometry.planes_per_die", "1"),
        ("geometry.blocks_per_plane", "64"),
        ("geometry.layers", "16"),
        ("geometry.sub_blocks", "4"),
        ("geometry.write_sequence", "sfws"),
        ("geometry.program_order", "in-order"),
        ("partial_erase.unit", "sub-block"),
        ("ftl.kind", "page"),
        ("ftl.erase_unit", "sub-block"),
        ("ftl.over_provisioning", "0.109375"),
        ("ftl.gc_free_threshold", "0.05"),
        ("initial.fill", "0.0"),
    ];
    let mut ftl = build(&spec(&sets), 1.0).expect("a device").ftl;
    assert_eq!(ftl.user_pages(), 57 * 64);
    let mut plan = Plan::default();
    let mut write = |lpn: u32| {
        plan.clear();
        ftl.write_to_stream(Lpn(lpn), 1, 0, &mut plan).expect("there is room");
        plan.commands.clone()
    };
    let overwritten = (0..8 * 64).filter(|lpn| lpn % 16 < 8);
    for lpn in (0..57 * 64).chain(overwritten) {
        assert_eq!(write(lpn).len(), 1, "nothing is reclaimed yet");
    }
    let commands = write(57 * 64 - 1);
    let copies = commands.iter().take_while(|command| command.op == FlashOp::Copy).count();
    let erase = commands.get(copies).expect("the victim is erased");
    assert_eq!(
        (copies, erase.op, erase.target.block),
        (32, FlashOp::Erase, BlockId(0)),
        "all four are the whole block"
    );
}

#[test]
fn t912_results_of_sub_block_reclaiming_do_not_change_unnoticed() {
    let run = document(&[
        ("ftl.kind", "page"),
        ("ftl.erase_unit", "sub-block"),
        ("ftl.allocation", "static"),
        ("ftl.over_provisioning", "0.25"),
        ("partial_erase.unit", "sub-block"),
        ("geometry.layers", "4"),
        ("geometry.sub_blocks", "8"),
        ("geometry.bits_per_cell", "2"),
        ("geometry.write_sequence", "sfws"),
        ("geometry.program_order", "in-order"),
        ("geometry.bad_blocks_per_plane", "2"),
        ("initial.age_writes", "1.5"),
        ("workload.footprint", "0.9"),
    ]);
    assert_golden("sub_blocks", &[("sub-blocks".to_string(), fields(&run))].into());
}

/// Sub-blocks whose pages bear so many programs beside them more than they must.
fn disturbed_settings() -> impl Strategy<Value = Vec<(String, String)>> {
    (with_map(sub_block_settings()), 0u32..12).prop_map(|(mut settings, more)| {
        let of = |key: &str| settings.iter().rev().find(|(name, _)| name == key).map(|(_, value)| value.as_str());
        let factor = |key: &str| of(key).and_then(|value| value.parse::<u32>().ok()).expect("a number");
        let once = (factor("geometry.sub_blocks") - 1) * factor("geometry.bits_per_cell");
        settings.push(("partial_erase.sub_block_disturb".into(), (once + more).to_string()));
        settings
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn t427_sub_blocks_that_disturb_each_other_lose_nothing_and_have_no_corrupt_page(settings in disturbed_settings()) {
        for mode in ["blocking", "foreground", "background", "preemptible"] {
            let document = run_with(&settings, &[("ftl.gc_mode", mode)]);
            check_counts(&document);
            prop_assert_eq!(number(&document, "integrity.corrupt_pages"), 0.0);
        }
        run_any_host(&settings, &[]);
    }
}

/// Most writes to a fifth of the space, on a plane of blocks of 8 sub-blocks.
fn skewed(more: &[(&str, &str)]) -> Value {
    let base = [
        ("geometry.channels", "1"),
        ("geometry.planes_per_die", "1"),
        ("geometry.blocks_per_plane", "96"),
        ("geometry.layers", "8"),
        ("geometry.sub_blocks", "8"),
        ("geometry.write_sequence", "sfws"),
        ("geometry.program_order", "in-order"),
        ("partial_erase.unit", "sub-block"),
        ("ftl.kind", "page"),
        ("ftl.erase_unit", "sub-block"),
        ("ftl.over_provisioning", "0.2"),
        ("workload.kind", "hot-cold"),
        ("workload.request_bytes", "4096"),
        ("workload.footprint", "1.0"),
        ("workload.requests", "60000"),
        ("initial.fill", "1.0"),
        ("run.timed", "false"),
    ];
    document(&[&base[..], more].concat())
}

const INTEGRITY: (&str, &str) = ("run.check", "integrity");

#[test]
fn t428_without_awareness_sub_blocks_that_stay_are_corrupted_and_with_it_none() {
    let corrupt = |more: &[(&str, &str)]| number(&skewed(more), "integrity.corrupt_pages");
    for bound in ["7", "14"] {
        let bound = ("partial_erase.sub_block_disturb", bound);
        assert_eq!(corrupt(&[bound, INTEGRITY]), 0.0);
        assert!(corrupt(&[bound, ("partial_erase.disturb_aware", "false")]) > 0.0);
    }
    let never = ("partial_erase.sub_block_disturb", "1000000");
    assert_eq!(corrupt(&[never, ("partial_erase.disturb_aware", "false"), INTEGRITY]), 0.0);
}

#[test]
fn t723_the_less_a_page_bears_the_more_is_copied_but_less_than_with_whole_blocks() {
    let copied = |more: &[(&str, &str)]| number(&skewed(more), "gc.copied_pages");
    let bounds = ["7", "9", "14", "28", "1000000"].map(|bound| {
        let copied = copied(&[("partial_erase.sub_block_disturb", bound), INTEGRITY]);
        println!("at most {bound} programs beside a page: {copied} pages copied");
        copied
    });
    assert!(bounds.windows(2).all(|pair| pair[0] > pair[1]), "{bounds:?}");
    let whole = copied(&[("ftl.erase_unit", "block")]);
    println!("whole blocks: {whole}; isolated sub-blocks: {}", copied(&[]));
    // With no program to spare only the first sub-blocks of a block can be reclaimed alone.
    assert!((0.85 * whole..whole).contains(&bounds[0]), "{} and {whole} pages", bounds[0]);
    assert!((bounds[4] / copied(&[]) - 1.0).abs() < 0.05, "blocks are written or reclaimed, never both at a time");
}

/// A device of sub-blocks that bear few disturbs, after many writes.
fn overwritten(bits: &str, sequence: &str) -> (Built, Config) {
    let sets = [
        ("geometry.layers", "4"),
        ("geometry.sub_blocks", if bits == "1" { "16" } else { "8" }),
        ("geometry.bits_per_cell", bits),
        ("geometry.write_sequence", sequence),
        ("geometry.program_order", "in-order"),
        ("partial_erase.unit", "sub-block"),
        ("partial_erase.sub_block_disturb", "40"),
        ("ftl.kind", "page"),
        ("ftl.erase_unit", "sub-block"),
        ("ftl.over_provisioning", "0.3"),
        ("initial.fill", "1.0"),
    ];
    let config = spec(&sets);
    let mut built = build(&config, 1.0).expect("a device");
    let (mut plan, mut state) = (Plan::default(), 1u64);
    let pages = u64::from(built.ftl.user_pages());
    for _ in 0..60_000 {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        plan.clear();
        let lpn = (state >> 33) % pages;
        let hot = if state >> 60 < 12 { lpn / 5 } else { lpn };
        built.ftl.write_to_stream(Lpn(hot as u32), 1, 0, &mut plan).expect("there is room");
        plan.commands.iter().for_each(|command| assert!(built.chips.checked.array.execute(command).is_ok()));
    }
    (built, config)
}

#[test]
fn t429_the_ftl_counts_fills_as_the_chip_counts_programs() {
    for (bits, sequence) in [("1", "lfws"), ("2", "sfws")] {
        let (built, config) = overwritten(bits, sequence);
        let Ftl::Page(ftl) = &built.ftl else { panic!("a page-level FTL") };
        let (array, shape) = (&built.chips.checked.array, config.chip.geometry.block_shape().expect("given"));
        let mut beyond_a_first_fill = 0;
        for block in (0..built.geometry.blocks()).map(BlockId).filter(|&block| !ftl.is_open(block)) {
            for (sub_block, &fills) in (0..).zip(ftl.fills(block)) {
                let page = |layer| PageAddress::new(block, shape.page(CellPosition { layer, sub_block, bit: 0 }));
                if array.initial_fill(block).is_none() && array.is_programmed(page(0)) {
                    let programs = u32::from(fills) * u32::from(shape.bits_per_cell());
                    assert_eq!([0, 3].map(|layer| array.word_line_disturb(page(layer))), [programs; 2]);
                    assert!(programs <= 40);
                    beyond_a_first_fill += u32::from(u32::from(fills) >= u32::from(shape.sub_blocks()));
                }
            }
        }
        assert!(
            beyond_a_first_fill > 50,
            "{beyond_a_first_fill} sub-blocks stayed longer than their block's first fill"
        );
    }
}

#[test]
fn t443_a_bound_that_a_first_fill_exceeds_is_refused_with_the_smallest_that_works() {
    let settings = |bound| {
        let sets = [
            ("geometry.layers", "4"),
            ("geometry.sub_blocks", "8"),
            ("geometry.bits_per_cell", "2"),
            ("partial_erase.unit", "sub-block"),
            ("partial_erase.sub_block_disturb", bound),
        ];
        Config::resolve(&source(&sets)).map_err(|error| error.to_string())
    };
    assert!(settings("13").expect_err("refused").contains("the smallest value that works is 14"));
    assert!(settings("14").is_ok());
}
