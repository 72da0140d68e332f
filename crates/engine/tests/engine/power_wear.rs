//! 85x: the power is cut on page-level layers that level wear, as in [`crate::power`]; and they go on levelling.

use crate::power::{Fault, Sets, all_are_noticed, cut_everywhere, device, sampled, with_fault};
use crate::power_layers::{all_keep_their_promises, cut_in_a_row, cut_often, fails_soon};
use crate::support::{document, number, source};

/// So small a threshold that data is moved all along.
const LEVELLED: &[(&str, &str)] = &[
    ("ftl.wear_threshold", "1"),
    ("ftl.hot_cold", "gc"),
    ("geometry.blocks_per_plane", "18"),
    ("workload.requests", "240"),
];

/// Every levelling, both methods, modes of collection, planes, trims, handles, a map in flash, counts that are lost, and
/// open blocks that are written further.
pub fn devices() -> Vec<Sets<'static>> {
    let of = |leveling: &'static str, more: &[(&'static str, &'static str)]| {
        device(&[LEVELLED, &[("ftl.wear_leveling", leveling)], more].concat())
    };
    let placed = [("ftl.handles", "2"), ("workload.kind", "streams"), ("geometry.blocks_per_plane", "20")];
    let small_pages =
        [("geometry.page_bytes", "512"), ("geometry.blocks_per_plane", "32"), ("workload.request_bytes", "1024")];
    vec![
        of("dynamic", &[]),
        of("dynamic", &[("ftl.gc_mode", "background"), ("ftl.recovery", "summary")]),
        of("static", &[("ftl.gc_mode", "preemptible")]),
        of("static", &[("ftl.recovery", "summary"), ("ftl.allocation", "static"), ("ftl.hot_cold", "mixed")]),
        of("both", &[("ftl.gc_mode", "foreground"), ("ftl.hot_cold", "recency")]),
        of("both", &[("ftl.wear_in_spare", "false")]),
        of("both", &[("geometry.planes_per_die", "2"), ("timing.multi_plane", "neighbours")]),
        of("both", &[("workload.trim_fraction", "0.2"), ("workload.flush_every", "9"), ("ftl.gc_mode", "paced")]),
        of("both", &placed),
        of("dynamic", &[&placed[..], &[("ftl.isolation", "persistent")]].concat()),
        of("dynamic", &[&small_pages[..], &[("ftl.map_place", "cached"), ("ftl.map_cache_entries", "16")]].concat()),
        of("both", &[("power.protection", "operations"), ("ftl.open_block", "reuse")]),
    ]
}

#[test]
fn t855_layers_that_level_wear_keep_their_promises_wherever_the_power_is_cut() {
    let moved = |device: &Sets| document(device)["gc"]["wear_leveling"]["erases"].as_f64().unwrap_or_default();
    let moved: Vec<f64> = devices().iter().map(moved).collect();
    assert!(moved.iter().filter(|&&moved| moved > 0.0).count() >= 6, "data is moved: {moved:?}");
    let met = all_keep_their_promises(devices(), |device| cut_everywhere(device, sampled(5, 31), false));
    assert!(met.cuts > 1_000 && met.programs > 800 && met.erases > 150, "{met:?}");
}

#[test]
fn t856_and_wherever_it_is_cut_again_while_the_device_recovers() {
    let met = all_keep_their_promises(devices(), |device| cut_everywhere(device, sampled(211, 1_201), true));
    assert!(met.cuts > 4_000 && met.programs > 1_000 && met.erases > 300, "{met:?}");
}

#[test]
fn t857_and_at_moments_that_the_seed_draws_on_a_larger_device() {
    let met = all_keep_their_promises(devices(), cut_often);
    assert!(met.cuts > 2_200 && met.programs > 2_000 && met.erases > 400, "{met:?}");
}

#[test]
fn t858_and_eight_times_in_a_row_so_that_no_recovery_ends() {
    let met = all_keep_their_promises(devices(), |device| cut_in_a_row(device, sampled(37, 211)));
    assert!(met.cuts > 1_000 && met.programs > 300 && met.erases > 300, "{met:?}");
}

/// A device half of which the host never writes again, cut so often that what is lost with the power counts.
const COLD_HALF: &[(&str, &str)] = &[
    ("ftl.wear_leveling", "both"),
    ("ftl.wear_threshold", "4"),
    ("ftl.over_provisioning", "0.3"),
    ("geometry.blocks_per_plane", "64"),
    ("workload.kind", "uniform"),
    ("workload.footprint", "0.5"),
    ("workload.read_fraction", "0.0"),
    ("workload.requests", "30000"),
    ("power.cuts", "100"),
];

/// How unevenly such a device has worn: the standard deviation of the erases of its pages, over their mean.
fn unevenness(more: &[(&str, &str)]) -> f64 {
    let document = document(&[&device(COLD_HALF)[..], more].concat());
    assert!(number(&document, "power.cuts") > 95.0 || more.contains(&("power.cuts", "0")));
    number(&document, "wear.vep").sqrt() / number(&document, "wear.aep")
}

#[test]
fn t859_counts_in_spare_areas_keep_wear_even_over_a_hundred_cuts() {
    let in_units = [("ftl.map_unit_bytes", "1024"), ("timing.copyback", "false")];
    for units in [&[][..], &in_units] {
        let unevenness = |more| unevenness(&[units, &[more]].concat());
        let uncut = unevenness(("power.cuts", "0"));
        let [stored, lost] = ["true", "false"].map(|stored| unevenness(("ftl.wear_in_spare", stored)));
        let none = unevenness(("ftl.wear_leveling", "none"));
        println!(
            "standard deviation over mean: {uncut:.3} uncut, {stored:.3} stored, {lost:.3} lost, {none:.3} not levelled"
        );
        assert!(uncut < stored && stored < lost * 0.3 && lost < none);
    }
}

/// Faults that only a layer can have that levels wear.
pub const OF_WEAR: &[Fault] = &["wear-forgotten", "least-worn-taken"];

/// Faults that it shares with others.
const SHARED: &[Fault] = &[
    "old-copy-wins",
    "earliest-copy-wins",
    "unproven-page-kept",
    "blank-blocks-trusted",
    "old-blocks-trusted",
    "room-not-restored",
];

#[test]
#[ignore = "needs faulty sources: make faults"]
fn t868_every_fault_of_layers_that_level_wear_is_noticed() {
    let even = unevenness(&[]);
    let wears_evenly = || match unevenness(&[]) {
        found if found < even * 1.25 => Ok(()),
        found => Err(format!("{found}, and {even} without a fault")),
    };
    let devices = devices();
    all_are_noticed(OF_WEAR.iter().chain(SHARED), |fault| match fault {
        // No promise hangs on it.
        "wear-forgotten" => with_fault(fault, wears_evenly),
        _ => fails_soon(fault, &devices, 37),
    });
}

#[test]
fn t869_what_stands_in_the_way_of_levelling_is_refused_in_one_line() {
    let refusal = |more: &[(&str, &str)]| {
        let sets = [&device(LEVELLED)[..], &[("ftl.wear_leveling", "dynamic")], more].concat();
        pumice_config::Config::resolve(&source(&sets)).expect_err("it is refused").to_string()
    };
    assert_eq!(
        refusal(&[("ftl.recovery", "checkpoint")]),
        "ftl.recovery = \"checkpoint\" needs ftl.wear_leveling = \"none\", found \"dynamic\""
    );
    let stores = |bytes: u32, more: &[(&str, &str)]| {
        let small = (bytes - 1).to_string();
        let found = refusal(&[more, &[("geometry.spare_bytes", &*small)]].concat());
        assert!(
            found.ends_with(&format!("stores {bytes} bytes in each spare area, and geometry.spare_bytes = {small}"))
        );
    };
    stores(20, &[]);
    stores(16, &[("ftl.wear_in_spare", "false")]);
    stores(21, &[("ftl.handles", "2"), ("geometry.blocks_per_plane", "32")]);
}
