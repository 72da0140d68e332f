//! 85x: the power is cut in erases that run in loops, and while they are suspended, as in [`crate::power`].

use pumice_types::{Choice, EraseScheme, RecoveryFault, Suspension};

use crate::power::{Sets, all_are_noticed, cut_everywhere, device, sampled, with_fault};
use crate::power_layers::{Combination, all_keep_their_promises, combinations, cut_often};
use crate::support::{document, number};

/// Reads that suspend erases, on worn blocks, whose erases have several loops.
const READING: &[(&str, &str)] = &[
    ("erase.initial_pec", "3500"),
    ("host.read_priority", "true"),
    ("host.queue_depth", "8"),
    ("workload.read_fraction", "0.5"),
];

/// Every scheme with loops, each with another rule of suspension.
fn schemes() -> impl Iterator<Item = [(&'static str, &'static str); 2]> + Clone {
    let rules = Suspension::ALL.iter().cycle();
    let schemes = EraseScheme::WITH_LOOPS.iter();
    schemes.zip(rules).map(|(scheme, rule)| [("erase.scheme", *scheme), ("erase.suspension", rule.name())])
}

/// The page-level layer on such chips.
fn devices() -> Vec<Sets<'static>> {
    schemes().map(|erases| device(&[READING, &[("workload.requests", "400")], &erases].concat())).collect()
}

#[test]
fn t850_a_page_level_ftl_keeps_its_promises_wherever_an_erase_in_loops_is_cut() {
    let suspended =
        devices().iter().map(|device| document(device)["flash"]["suspensions"].as_u64()).collect::<Vec<_>>();
    assert!(suspended.iter().flatten().filter(|&&count| count > 0).count() >= 4, "{suspended:?}");
    let met = all_keep_their_promises(devices(), |device| cut_everywhere(device, sampled(17, 181), false));
    assert!(met.cuts > 200 && met.programs > 100 && met.erases > 100, "{met:?}");
}

/// Every layer on such chips.
pub fn all_layers() -> Vec<Sets<'static>> {
    let layers = combinations();
    let with_loops = |(layer, erases): (&Combination, [_; 2])| layer.device(&[READING, &erases[..]].concat());
    layers.iter().zip(schemes().cycle()).map(with_loops).collect()
}

#[test]
fn t851_and_every_other_layer_at_drawn_moments() {
    let met = all_keep_their_promises(all_layers(), cut_often);
    assert!(met.cuts > 2_000 && met.programs > 2_000 && met.erases > 2_000, "{met:?}");
}

/// Faults of a start that trusts what such erases may have left.
const FAULTS: &[RecoveryFault] =
    &[RecoveryFault::BlankBlocksTrusted, RecoveryFault::OldBlocksTrusted, RecoveryFault::EarliestCopyWins];

#[test]
fn t852_faults_of_a_start_are_noticed_on_such_chips_too() {
    let devices = devices();
    all_are_noticed(FAULTS, |fault| devices.iter().any(|device| with_fault(fault, || cut_often(device))));
}

/// Mean time of an erase of a device that loses power now and then.
fn erase_time(scheme: &str, more: &[(&str, &str)]) -> f64 {
    let scheme: [&[(&str, &str)]; 2] =
        [&[("erase.scheme", scheme), ("erase.initial_pec", "3500"), ("workload.requests", "4000")], more];
    number(&document(&[&device(&[])[..], &scheme.concat()].concat()), "wear.mean_erase_latency_us")
}

#[test]
fn t853_what_a_cut_takes_of_a_schemes_memory_costs_time_until_it_is_learned_again() {
    let cuts = [("power.cuts", "40"), ("power.protection", "operations")];
    for scheme in EraseScheme::REMEMBERING {
        let known = [("erase.initial_memory", "learned")];
        let known = if *scheme == "i-ispe" { &[][..] } else { &known };
        let uncut = erase_time(scheme, known);
        let lost = erase_time(scheme, &[known, &cuts].concat());
        let stored = erase_time(scheme, &[known, &cuts, &[("erase.memory_in_spare", "true")]].concat());
        assert!(uncut <= stored && stored < lost, "{scheme}: {uncut} us, stored {stored} us, lost {lost} us");
    }
    let ispe = |more: &[(&str, &str)]| erase_time("ispe", more);
    let (uncut, cut) = (ispe(&[]), ispe(&cuts));
    assert!((uncut - cut).abs() < uncut / 50.0, "it remembers nothing: {uncut} us, {cut} us");
}
