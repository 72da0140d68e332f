//! 87x: the power is cut on page-level layers that erase parts of blocks, physical sub-blocks or partial blocks, as in
//! [`crate::power`].

use crate::power::{Fault, Sets, all_are_noticed, cut_all, cut_everywhere, device, fails, sampled, with_fault};
use crate::power_layers::{all_keep_their_promises, cut_in_a_row, cut_often};

/// Blocks of four layers and four sub-blocks.
const SUB_BLOCKS: &[(&str, &str)] = &[
    ("geometry.pages_per_block", "16"),
    ("geometry.layers", "4"),
    ("geometry.sub_blocks", "4"),
    ("partial_erase.unit", "sub-block"),
    ("ftl.erase_unit", "sub-block"),
    ("workload.requests", "240"),
];

/// Blocks of four leaves.
const LEAVES: &[(&str, &str)] = &[
    ("geometry.pages_per_block", "16"),
    ("partial_erase.unit", "partial-block"),
    ("partial_erase.max_splits", "2"),
    ("partial_erase.t_us", "[3500, 2000, 1500]"),
    ("timing.t_bers_us", "3500"),
    ("ftl.erase_unit", "partial-block"),
    ("workload.requests", "240"),
];

/// Two pages of each leaf in each of two sub-blocks.
const LAYERS: &[(&str, &str)] =
    &[("geometry.layers", "8"), ("geometry.sub_blocks", "2"), ("partial_erase.disturb_tolerance", "1")];

/// Two handles, and blocks for them.
const HANDLES: &[(&str, &str)] = &[
    ("ftl.handles", "2"),
    ("workload.kind", "streams"),
    ("geometry.blocks_per_plane", "22"),
    ("ftl.over_provisioning", "0.7"),
    ("workload.requests", "480"),
];

/// A map in flash of several pages, a cache of few entries, and blocks for both.
const CACHED: &[(&str, &str)] = &[
    ("ftl.map_place", "cached"),
    ("ftl.map_cache_entries", "16"),
    ("geometry.page_bytes", "512"),
    ("geometry.blocks_per_plane", "22"),
    ("ftl.over_provisioning", "0.7"),
    ("workload.request_bytes", "1024"),
    ("workload.requests", "480"),
];

fn in_parts(more: &[&[(&'static str, &'static str)]]) -> Sets<'static> {
    device(&more.concat())
}

/// Devices that erase parts of blocks: in both write sequences, with and without disturb, in several modes of
/// collection, and with erases in loops.
pub fn devices() -> Vec<Sets<'static>> {
    let sfws = ("geometry.write_sequence", "sfws");
    vec![
        in_parts(&[SUB_BLOCKS, &[("ftl.gc_mode", "background"), ("ftl.hot_cold", "mixed")]]),
        in_parts(&[SUB_BLOCKS, &[sfws, ("ftl.allocation", "static")]]),
        in_parts(&[SUB_BLOCKS, &[sfws, ("partial_erase.sub_block_disturb", "4"), ("ftl.gc_mode", "preemptible")]]),
        in_parts(&[SUB_BLOCKS, &[("partial_erase.sub_block_disturb", "5"), ("geometry.bad_blocks_per_plane", "1")]]),
        in_parts(&[LEAVES, &[("partial_erase.disturb_tolerance", "2"), ("ftl.gc_mode", "paced")]]),
        in_parts(&[LEAVES, &[("partial_erase.disturb_tolerance", "1"), ("erase.scheme", "aero")]]),
        in_parts(&[SUB_BLOCKS, HANDLES, &[sfws, ("partial_erase.sub_block_disturb", "4")]]),
        in_parts(&[SUB_BLOCKS, CACHED, &[("partial_erase.sub_block_disturb", "4")]]),
        in_parts(&[LEAVES, LAYERS, CACHED, &[sfws, ("ftl.gc_mode", "preemptible")]]),
        in_parts(&[LEAVES, LAYERS, &[sfws, ("ftl.allocation", "static"), ("partial_erase.disturb_tolerance", "2")]]),
    ]
}

#[test]
fn t870_a_page_level_ftl_keeps_its_promises_wherever_an_erase_of_a_part_is_cut() {
    let met = all_keep_their_promises(devices(), |device| cut_everywhere(device, sampled(5, 61), false));
    assert!(met.cuts > 400 && met.programs > 200 && met.erases > 50, "{met:?}");
}

#[test]
fn t871_and_wherever_it_is_cut_again_while_the_device_recovers() {
    let met = cut_all(devices(), sampled(151, 701), true);
    assert!(met.cuts > 500, "{met:?}");
}

#[test]
fn t872_and_at_moments_that_the_seed_draws_on_a_larger_device() {
    let met = all_keep_their_promises(devices(), cut_often);
    assert!(met.cuts > 1_000 && met.programs > 1_000 && met.erases > 500, "{met:?}");
}

#[test]
fn t873_and_eight_times_in_a_row_so_that_no_recovery_ends() {
    let met = all_keep_their_promises(devices(), |device| cut_in_a_row(device, sampled(37, 211)));
    assert!(met.cuts > 1_000, "{met:?}");
}

/// Faults that only layers can have that erase parts of blocks.
pub const OF_PARTS: &[Fault] = &["one-part-for-all", "blank-parts-trusted", "disturbs-forgotten"];

/// Faults that other layers have too.
const SHARED: &[Fault] = &[
    "old-copy-wins",
    "earliest-copy-wins",
    "unproven-page-kept",
    "blank-blocks-trusted",
    "old-blocks-trusted",
    "erases-do-not-wait",
    "blocks-not-closed",
];

#[test]
#[ignore = "needs faulty sources: make faults"]
fn t874_every_fault_of_a_layer_that_erases_parts_is_noticed() {
    let devices = devices();
    all_are_noticed(OF_PARTS.iter().chain(SHARED), |fault| {
        devices.iter().any(|device| with_fault(fault, || cut_often(device)))
            || devices.iter().any(|device| fails(fault, device, 29, false))
            || devices.iter().any(|device| fails(fault, device, 601, true))
    });
}
