//! 88x: the power is cut on zones of several shapes, as in [`crate::power`].

use pumice_ftl::FtlKind;

use crate::power::{Fault, Met, Sets, all_are_noticed, cut_as_drawn, cut_everywhere, fails, sampled, with_fault};
use crate::power_layers::{LARGER, all_keep_their_promises, combinations, cut_in_a_row, cut_often, fails_soon};
use crate::support::{document, number};

/// Zones on one plane each, on several, of several blocks of each, and written to a part of them; with each time of
/// erases, each filling, and both ways to clean.
const SHAPES: &[&[(&str, &str)]] = &[
    &[
        ("ftl.zns.zone_planes", "1"),
        ("ftl.over_provisioning", "0.35"),
        ("ftl.zns.streams", "3"),
        ("ftl.zns.reset", "when-opened"),
        ("workload.requests", "240"),
    ],
    &[
        ("ftl.zns.units_per_plane", "2"),
        ("geometry.blocks_per_plane", "32"),
        ("ftl.over_provisioning", "0.7"),
        ("ftl.zns.first_plane", "drawn"),
        ("ftl.zns.reset", "idle"),
        ("ftl.zns.cleaning", "cost-benefit"),
        ("workload.requests", "480"),
    ],
    &[
        ("ftl.zns.finish_at", "0.7"),
        ("ftl.zns.finish", "pad"),
        ("ftl.over_provisioning", "0.65"),
        ("ftl.zns.streams", "1"),
        ("workload.requests", "240"),
    ],
    &[
        ("ftl.zns.units_per_plane", "2"),
        ("geometry.blocks_per_plane", "24"),
        ("ftl.zns.finish_at", "0.4"),
        ("ftl.zns.finish", "pad-units"),
        ("ftl.over_provisioning", "0.88"),
        ("ftl.zns.max_open", "1"),
        ("workload.requests", "320"),
    ],
    &[
        ("geometry.planes_per_die", "2"),
        ("ftl.zns.zone_planes", "2"),
        ("ftl.zns.finish_at", "0.7"),
        ("ftl.zns.finish", "leave"),
        ("ftl.zns.pace", "whole-zone"),
        ("workload.requests", "320"),
        ("ftl.over_provisioning", "0.55"),
        ("ftl.zns.reset", "when-opened"),
    ],
];

/// A zoned device of every shape.
pub fn devices() -> Vec<Sets<'static>> {
    let all = combinations();
    let zoned = all.iter().filter(|layer| layer.kind == FtlKind::Zns);
    zoned.flat_map(|layer| SHAPES.iter().map(|shape| layer.device(shape))).collect()
}

#[test]
fn t885_zones_of_every_shape_keep_their_promises_wherever_the_power_is_cut() {
    for device in devices() {
        let whole = document(&device);
        let [resets, moved] = ["zones.resets", "zones.moved_pages"].map(|field| number(&whole, field));
        assert!(resets > 10.0 && moved > 15.0, "{resets} resets, {moved} pages moved: {device:?}");
    }
    let met = all_keep_their_promises(devices(), |device| cut_everywhere(device, sampled(1, 17), false));
    println!("{met:?}");
}

#[test]
fn t886_and_at_moments_that_the_seed_draws_on_a_larger_device() {
    let met = all_keep_their_promises(devices(), cut_often);
    println!("{met:?}");
}

/// With zones to spare: each recovery that is cut leaves the zone that it has opened, and a series of cuts can use up
/// few zones (docs/models/power.md, limits).
fn with_spare_zones(mut device: Sets<'static>) -> Sets<'static> {
    let blocks = device.iter().rfind(|(key, _)| *key == "geometry.blocks_per_plane");
    if blocks.is_some_and(|(_, blocks)| *blocks == "16") {
        device.push(("geometry.blocks_per_plane", "18"));
    }
    device
}

#[test]
fn t887_and_eight_times_in_a_row_so_that_no_start_ends() {
    let devices = devices().into_iter().map(with_spare_zones).collect();
    let met = all_keep_their_promises(devices, |device| cut_in_a_row(device, sampled(7, 61)));
    println!("{met:?}");
}

/// Zones of every shape on a device that ends what its dies have begun when the power is cut.
fn protected() -> Vec<Sets<'static>> {
    let levels = ["operations", "full"].iter().cycle();
    devices()
        .into_iter()
        .zip(levels)
        .map(|(device, level)| [&device[..], &[("power.protection", level)]].concat())
        .collect()
}

#[test]
fn t884_where_nothing_is_left_half_done_zones_are_written_further_and_keep_their_promises() {
    let met = all_keep_their_promises(protected(), |device| cut_everywhere(device, sampled(1, 61), false));
    let met = met.with(all_keep_their_promises(protected(), cut_often));
    let met = met.with(all_keep_their_promises(protected(), |device| cut_in_a_row(device, sampled(7, 127))));
    assert!(met.cuts > 1_000, "{met:?}");
    assert_eq!((met.programs, met.erases), (0, 0), "nothing is torn");
    // The zones that a cut meets open are not given up.
    let opened = |level: &'static str| {
        let device: Sets = devices()[0].iter().chain(LARGER).copied().chain([("power.protection", level)]).collect();
        number(&document(&device), "zones.opened")
    };
    let [lost, kept] = ["none", "operations"].map(opened);
    assert!(kept + 100.0 < lost, "200 cuts of a device with three streams: {kept} and {lost} zones opened");
}

/// Faults that only zones can have, or that are only sure to do harm there.
pub const OF_ZONES: &[Fault] =
    &["pages-behind-holes-forgotten", "one-plane-for-zone", "finishes-forgotten", "last-number-reused"];

/// Faults that they share with other layers.
const SHARED: &[Fault] = &[
    "old-copy-wins",
    "unproven-page-kept",
    "moves-not-done",
    "one-move-for-all",
    "open-blocks-continued",
    "numbers-too-short",
    "numbers-begin-anew",
    "blank-blocks-trusted",
    "blank-parts-trusted",
    "old-blocks-trusted",
    "erases-do-not-wait",
    "unreadable-spoils-block",
    "fill-forgotten",
    "last-block-forgotten",
    "superseded-erased-first",
    "acknowledged-early",
];

/// Forty cuts so many commands apart: so few that the host writes hardly a page between them, or none.
fn cut_often_in_a_row(device: &Sets, apart: usize) -> Result<Met, String> {
    let cuts: Vec<String> = (5..45).map(|nth| (nth * apart).to_string()).collect();
    let cuts = format!("[{}]", cuts.join(", "));
    let more = [("power.cut_at_command", &*cuts), ("workload.requests", "2000")];
    cut_as_drawn(&device.iter().copied().chain(more).collect())
}

#[test]
fn t889_forty_cuts_in_a_row_use_up_no_zones() {
    let apart: Vec<usize> = (2..60).step_by(sampled(1, 7)).collect();
    let met = all_keep_their_promises(devices(), |device| {
        apart.iter().try_fold(Met::default(), |met, &apart| Ok(met.with(cut_often_in_a_row(device, apart)?)))
    });
    assert!(met.cuts > 1_000 && met.programs > 1_000, "{met:?}");
}

#[test]
#[ignore = "needs faulty sources: make faults"]
fn t888_every_fault_of_zones_is_noticed() {
    let devices = [devices(), protected()].concat();
    all_are_noticed(OF_ZONES.iter().chain(SHARED), |fault| {
        fails_soon(fault, &devices, 61) || devices.iter().any(|device| fails(fault, device, 29, false))
    });
    // A host with one stream goes on in the zone that the start has opened, so nothing else makes it clean.
    let one_stream = devices.iter().find(|device| device.contains(&("ftl.zns.streams", "1")));
    let device = one_stream.unwrap_or_else(|| panic!("a shape with one stream"));
    assert!(with_fault("room-not-restored", || cut_often_in_a_row(device, 9)));
}
