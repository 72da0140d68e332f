//! 81x: the power is cut at every command of small devices whose translation layers map blocks, as in [`crate::power`].

use crate::power::{Fault, Sets, TWO_DIES, all_are_noticed, cut_all, fails, sampled};

/// Nearly full, and of so few blocks that merges never rest.
const NEARLY_FULL: &[(&str, &str)] = &[
    ("ftl.kind", "nftl"),
    ("ftl.recovery", "scan"),
    ("ftl.over_provisioning", "0.4"),
    ("ftl.gc_free_threshold", "0.2"),
    ("geometry.blocks_per_plane", "10"),
    ("initial.fill", "0.8"),
];

/// Partial erase in leaves of two pages, short enough that M-Merge is often the cheaper merge.
pub const PARTIAL: &[(&str, &str)] = &[
    ("ftl.merge", "m-merge"),
    ("partial_erase.unit", "partial-block"),
    ("partial_erase.max_splits", "3"),
    ("partial_erase.t_us", "[3500, 2000, 1500, 1000]"),
    ("timing.t_bers_us", "3500"),
    ("geometry.pages_per_block", "16"),
    ("workload.requests", "240"),
];

fn device(more: &[(&'static str, &'static str)]) -> Sets<'static> {
    [TWO_DIES, NEARLY_FULL, more].concat()
}

/// NFTLs with full merges.
pub fn full_merges() -> Vec<Sets<'static>> {
    vec![
        device(&[]),
        device(&[("geometry.program_order", "in-order"), ("ftl.u_index", "ram")]),
        device(&[("initial.fill_unit", "page"), ("initial.fill", "0.6"), ("workload.kind", "uniform")]),
        device(&[
            ("geometry.planes_per_die", "2"),
            ("geometry.bad_blocks_per_plane", "1"),
            ("ftl.over_provisioning", "0.5"),
            ("timing.copyback", "true"),
        ]),
    ]
}

#[test]
fn t810_an_nftl_with_full_merges_keeps_its_promises_wherever_the_power_is_cut() {
    let met = cut_all(full_merges(), sampled(1, 13), false);
    assert!(met.cuts > 2_000 && met.programs > 400 && met.erases > 400, "{met:?}");
}

#[test]
fn t811_and_wherever_it_is_cut_again_while_the_device_recovers() {
    let met = cut_all(full_merges(), sampled(29, 997), true);
    assert!(met.cuts > 2_000, "{met:?}");
}

/// NFTLs with M-Merge.
pub fn m_merges() -> Vec<Sets<'static>> {
    let with = |more: &[(&'static str, &'static str)]| device(&[PARTIAL, more].concat());
    vec![
        with(&[]),
        with(&[("partial_erase.disturb_tolerance", "2"), ("workload.request_bytes", "4096")]),
        with(&[("geometry.program_order", "in-order"), ("ftl.u_index", "ram"), ("partial_erase.wear_limit_w", "3")]),
        with(&[("initial.fill_unit", "page"), ("initial.fill", "0.6"), ("workload.kind", "uniform")]),
        with(&[("timing.copyback", "false"), ("geometry.planes_per_die", "2"), ("ftl.over_provisioning", "0.5")]),
    ]
}

#[test]
fn t812_an_nftl_with_m_merge_keeps_its_promises_wherever_the_power_is_cut() {
    let met = cut_all(m_merges(), sampled(1, 13), false);
    assert!(met.cuts > 3_000 && met.programs > 1_000 && met.erases > 500, "{met:?}");
}

#[test]
fn t813_and_wherever_it_is_cut_again_while_the_device_recovers() {
    let met = cut_all(m_merges(), sampled(29, 631), true);
    assert!(met.cuts > 1_600, "{met:?}");
}

#[test]
fn t815_so_does_pbe() {
    let pbe = [PARTIAL, &[("ftl.kind", "pbe"), ("ftl.capacity_loss", "0.1")]].concat();
    let met = cut_all([device(&pbe)], sampled(1, 5), false);
    assert!(met.cuts > 1_000 && met.programs > 500 && met.erases > 100, "{met:?}");
}

/// Faults that only layers that map blocks can have.
pub const OF_BLOCKS: &[Fault] = &[
    "roles-ignored",
    "targets-count-as-whole",
    "blank-pages-trusted",
    "pairs-undisturbed",
    "restored-undisturbed",
    "copied-blocks-erased-first",
];

/// Faults that they share with the page-level layer.
const SHARED: &[Fault] = &[
    "old-copy-wins",
    "unproven-page-kept",
    "moves-not-done",
    "open-blocks-continued",
    "numbers-too-short",
    "blank-blocks-trusted",
    "old-blocks-trusted",
    "numbers-begin-anew",
    "unreadable-spoils-block",
    "fill-forgotten",
    "last-block-forgotten",
    "bad-blocks-forgotten",
    "acknowledged-early",
];

/// Whether some cut of some device fails with this fault.
fn is_noticed(fault: Fault, devices: &[Sets]) -> bool {
    devices.iter().any(|device| fails(fault, device, 13, false))
}

#[test]
#[ignore = "needs faulty sources: make faults"]
fn t814_every_fault_of_a_layer_that_maps_blocks_is_noticed() {
    let devices: Vec<Sets> = m_merges().into_iter().chain(full_merges()).collect();
    all_are_noticed(OF_BLOCKS.iter().chain(SHARED), |fault| is_noticed(fault, &devices));
}
