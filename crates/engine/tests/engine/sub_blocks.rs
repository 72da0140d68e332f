//! 7xx: what the write sequence is worth to a page-level FTL that erases sub-blocks apart, where a
//! closed answer exists. 9xx: golden digest.

use serde_json::Value;

use crate::golden::digest;
use crate::support::{document, number};

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
    assert_eq!(digest(&run), "dc8858896510e5ce");
}
