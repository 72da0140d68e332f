//! 89x: the power is cut on page-level layers whose map lies in flash and is cached, as in [`crate::power`].

use crate::power::{Fault, Sets, all_are_noticed, cut_everywhere, device, sampled};
use crate::power_layers::{all_keep_their_promises, cut_in_a_row, cut_often, fails_soon};
use crate::support::{document, number};

/// Small pages, so that the map takes several, and a cache of few entries, so that they are written often.
const CACHED: &[(&str, &str)] = &[
    ("ftl.map_place", "cached"),
    ("ftl.map_cache_entries", "16"),
    ("geometry.page_bytes", "512"),
    ("geometry.blocks_per_plane", "24"),
    ("workload.request_bytes", "1024"),
    ("workload.requests", "240"),
];

/// Collection at every time, planes that work together, trims with a write buffer, and summaries of blocks.
pub fn devices() -> Vec<Sets<'static>> {
    let of = |more: &[(&'static str, &'static str)]| device(&[CACHED, more].concat());
    vec![
        of(&[("ftl.gc_mode", "background"), ("ftl.hot_cold", "gc")]),
        of(&[("ftl.allocation", "static"), ("ftl.hot_cold", "gc"), ("geometry.bad_blocks_per_plane", "1")]),
        of(&[("geometry.planes_per_die", "2"), ("timing.multi_plane", "neighbours"), ("ftl.gc_mode", "paced")]),
        of(&[
            ("workload.trim_fraction", "0.2"),
            ("workload.flush_every", "9"),
            ("host.write_buffer_kib", "8"),
            ("ftl.gc_mode", "foreground"),
        ]),
        of(&[("ftl.recovery", "summary"), ("ftl.hot_cold", "gc")]),
        of(&[
            ("ftl.recovery", "summary"),
            ("ftl.gc_mode", "background"),
            ("ftl.allocation", "static"),
            ("workload.trim_fraction", "0.2"),
            ("workload.flush_every", "9"),
        ]),
    ]
}

#[test]
fn t890_a_map_in_flash_is_found_again_wherever_the_power_is_cut() {
    let met = all_keep_their_promises(devices(), |device| cut_everywhere(device, sampled(17, 181), false));
    assert!(met.cuts > 150 && met.programs > 100 && met.erases > 20, "{met:?}");
}

#[test]
fn t891_and_at_moments_that_the_seed_draws_on_a_larger_device() {
    let met = all_keep_their_promises(devices(), cut_often);
    assert!(met.cuts > 700 && met.programs > 700 && met.erases > 100, "{met:?}");
}

#[test]
fn t892_and_eight_times_in_a_row_so_that_no_recovery_ends() {
    let met = all_keep_their_promises(devices(), |device| cut_in_a_row(device, sampled(37, 211)));
    assert!(met.cuts > 1_000 && met.programs > 300 && met.erases > 300, "{met:?}");
}

/// Faults that only a layer can have whose map lies in flash.
pub const OF_MAPS: &[Fault] = &["map-blocks-trusted"];

/// Faults that it shares with others.
const SHARED: &[Fault] = &[
    "old-copy-wins",
    "unproven-page-kept",
    "blank-blocks-trusted",
    "old-blocks-trusted",
    "erases-do-not-wait",
    "blocks-without-summary-forgotten",
    "torn-summary-is-blank",
];

#[test]
#[ignore = "needs faulty sources: make faults"]
fn t893_every_fault_of_a_map_in_flash_is_noticed() {
    let devices = devices();
    all_are_noticed(OF_MAPS.iter().chain(SHARED), |fault| fails_soon(fault, &devices, 61));
}

#[test]
fn t894_a_start_writes_every_page_of_the_map_anew() {
    // With energy to end what has begun no page is copied, and half full the device collects nothing.
    let more = [
        ("power.protection", "operations"),
        ("power.cut_at_command", "[10]"),
        ("initial.fill", "0.5"),
        ("workload.requests", "40"),
    ];
    let document = document(&device(&[CACHED, &more].concat()));
    // Two dies of 192 pages, 0.4 of them for the host, 128 places a page.
    let found = ["power.cuts", "power.moved_pages", "power.recovery_programs"].map(|field| number(&document, field));
    assert_eq!(found.map(|count| count as u64), [1, 0, 2]);
}
