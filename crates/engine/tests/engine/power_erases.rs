//! 85x: the power is cut in erases that run in loops, and while they are suspended, as in [`crate::power`].

use pumice_ftl::FtlKind;
use pumice_types::{Choice, EraseScheme, Suspension};

use crate::power::{Fault, Sets, all_are_noticed, cut_everywhere, device, sampled, with_fault};
use crate::power_layers::{Combination, LARGER, all_keep_their_promises, combinations, cut_often};
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

/// Host writes that suspend erases too. There are no reads, so nothing else does. They arrive while erases run, which must
/// stand alone in the queue: in collection by steps, and in resets of zones on idle dies.
const WRITING: &[(&str, &str)] = &[
    ("erase.suspension_for", "reads-and-writes"),
    ("workload.read_fraction", "0.0"),
    ("host.mode", "open-loop"),
    ("workload.mean_interarrival_us", "3000"),
];

/// Collection that erases by itself, not as the end of what a write has to wait for.
const BY_STEPS: (&str, &str) = ("ftl.gc_mode", "preemptible");

/// The page-level layer on such chips.
fn devices() -> Vec<Sets<'static>> {
    let reads = schemes().map(|erases| device(&[READING, &[("workload.requests", "400")], &erases].concat()));
    let more = [BY_STEPS, ("workload.requests", "400")];
    let writes = schemes().map(|erases| device(&[READING, WRITING, &more, &erases].concat()));
    reads.chain(writes).collect()
}

/// How often erases of a device are suspended.
fn suspensions(device: &Sets) -> u64 {
    document(device)["flash"]["suspensions"].as_u64().unwrap_or(0)
}

#[test]
fn t850_a_page_level_ftl_keeps_its_promises_wherever_an_erase_in_loops_is_cut() {
    let suspended: Vec<u64> = devices().iter().map(suspensions).collect();
    assert!(suspended.iter().filter(|&&count| count > 0).count() >= 8, "{suspended:?}");
    let met = all_keep_their_promises(devices(), |device| cut_everywhere(device, sampled(17, 181), false));
    assert!(met.cuts > 200 && met.programs > 100 && met.erases > 100, "{met:?}");
}

/// Every layer on such chips.
fn read_first() -> Vec<Sets<'static>> {
    let layers = combinations();
    let with_loops = |(layer, erases): (&Combination, [_; 2])| layer.device(&[READING, &erases[..]].concat());
    layers.iter().zip(schemes().cycle()).map(with_loops).collect()
}

/// The layers that let writes go before erases, with every scheme. The others erase at the end of a merge, which holds
/// its die.
fn written_first() -> Vec<Sets<'static>> {
    let writing = |layer: &Combination| match layer.kind {
        FtlKind::Page => Some(BY_STEPS),
        FtlKind::Zns => Some(("ftl.zns.reset", "idle")),
        FtlKind::Nftl
        | FtlKind::Gftl
        | FtlKind::Pbe
        | FtlKind::SuperblockPen
        | FtlKind::Superblock2006
        | FtlKind::ReplacementBlock
        | FtlKind::LogBlock
        | FtlKind::Fast
        | FtlKind::Plugin(_) => None,
    };
    let layers = combinations();
    let often = ("workload.mean_interarrival_us", "1500");
    let of_layer = |(layer, how)| {
        let device =
            move |erases: [_; 2]| Combination::device(layer, &[READING, WRITING, &[how, often], &erases].concat());
        schemes().map(device)
    };
    layers.iter().filter_map(|layer| Some((layer, writing(layer)?))).flat_map(of_layer).collect()
}

/// Every layer's devices.
pub fn all_layers() -> Vec<Sets<'static>> {
    [read_first(), written_first()].concat()
}

#[test]
fn t851_and_every_other_layer_at_drawn_moments() {
    let larger = written_first().into_iter().map(|device| [&device[..], LARGER].concat());
    let suspended: Vec<u64> = larger.map(|device| suspensions(&device)).collect();
    assert!(suspended.iter().filter(|&&count| count > 10).count() * 2 > suspended.len(), "{suspended:?}");
    let met = all_keep_their_promises(all_layers(), cut_often);
    assert!(met.cuts > 2_000 && met.programs > 2_000 && met.erases > 2_000, "{met:?}");
}

/// Faults of a recovery that trusts what such erases may have left.
const FAULTS: &[Fault] = &["blank-blocks-trusted", "old-blocks-trusted", "earliest-copy-wins"];

#[test]
#[ignore = "needs faulty sources: make faults"]
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
