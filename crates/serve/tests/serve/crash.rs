//! The crash lab: an honest device keeps what it promised wherever its power is cut, and the lab says the same of a cut
//! however it comes to it.

use std::path::PathBuf;

use pumice_config::SpecSource;
use pumice_ftl::FtlKind;
use pumice_ftl::Recovery;
use pumice_serve::crash::{CrashCut, CrashLab, CrashVerdict, CutPlaces};
use pumice_types::{Choice, Time};

/// A small device with a workload that keeps collection busy, and flushes.
const DEVICE: &[(&str, &str)] = &[
    ("initial.fill", "0.9"),
    ("ftl.over_provisioning", "0.25"),
    ("workload.kind", "hot-cold"),
    ("workload.requests", "700"),
    ("workload.request_bytes", "16384"),
    ("workload.flush_every", "13"),
    ("workload.fua_fraction", "0.1"),
    ("workload.read_fraction", "0.1"),
];

fn source(sets: &[(&str, &str)]) -> SpecSource {
    let sets = DEVICE.iter().chain(sets).map(|(key, value)| (key.to_string(), value.to_string())).collect();
    SpecSource { preset: Some("tiny".into()), sets, ..SpecSource::default() }
}

fn lab(sets: &[(&str, &str)]) -> CrashLab {
    CrashLab::of_workload(&source(sets)).unwrap_or_else(|error| panic!("{sets:?}: {error}"))
}

/// Tries cuts at so many instants; the verdicts in the order of the instants.
fn verdicts(lab: &CrashLab, places: CutPlaces, cuts: usize, workers: usize) -> Vec<CrashVerdict> {
    let instants = lab.instants(places, cuts).expect("a session with instants");
    at(lab, &instants, workers)
}

fn at(lab: &CrashLab, instants: &[Time], workers: usize) -> Vec<CrashVerdict> {
    let cuts: Vec<CrashCut> = instants.iter().map(|&at| CrashCut { at, image: None::<PathBuf> }).collect();
    let mut found = vec![None; cuts.len()];
    let all = lab.try_cuts(&cuts, workers, &mut |tried| {
        found[tried.nth] = Some(tried.verdict);
        true
    });
    assert!(all.expect("a session that can be replayed"), "all were tried");
    found.into_iter().map(|verdict| verdict.expect("tried")).collect()
}

/// Every wanted layer that recovers, in every way that it knows.
fn layers(is_wanted: impl Fn(FtlKind) -> bool) -> Vec<(&'static str, &'static str)> {
    let ways =
        |kind: FtlKind| kind.facts().recoveries.iter().filter(|&&way| way != Recovery::Off).map(|way| way.name());
    let wanted = FtlKind::ALL.iter().filter(|&&kind| is_wanted(kind));
    wanted.flat_map(|&kind| ways(kind).map(move |way| (kind.name(), way))).collect()
}

/// Cuts a device of every layer, with and without a write buffer, at so many instants of each kind, and calls `look`
/// with its name and what was found. Every promise must be kept.
fn all_keep_their_promises(
    layers: &[(&str, &str)],
    further: &[(&str, &str)],
    cuts: usize,
    look: impl Fn(&str, CutPlaces, &[CrashVerdict]),
) {
    for &(kind, recovery) in layers {
        for buffer in ["0", "256"] {
            let sets = [
                ("ftl.kind", kind),
                ("ftl.recovery", recovery),
                ("host.write_buffer_kib", buffer),
                ("host.flush", "lru"),
            ];
            let sets = [&sets, further].concat();
            let lab = lab(&sets);
            for places in CutPlaces::ALL.iter().copied() {
                let found = verdicts(&lab, places, cuts, 1);
                let broken: Vec<_> = found.iter().filter(|verdict| !verdict.is_kept()).collect();
                assert!(broken.is_empty(), "{sets:?}, {places}: {:?}", broken[0]);
                look(kind, places, &found);
            }
        }
    }
}

#[test]
fn c100_an_honest_device_keeps_its_promises_wherever_its_power_is_cut() {
    all_keep_their_promises(&layers(|_| true), &[], 30, |kind, places, found| {
        assert!(found.len() > 20, "{kind}, {places}: {}", found.len());
        // Right behind an event nothing need be under way.
        let met = found.iter().any(|verdict| verdict.under_way > 0);
        assert!(met || places != CutPlaces::Random, "{kind}, {places}: something was torn");
    });
}

#[test]
fn c103_what_was_trimmed_stays_so_behind_a_flush() {
    let giving_up = layers(|kind| kind.facts().gives_up_trimmed && !kind.facts().forgets_trims());
    all_keep_their_promises(&giving_up, &[("workload.trim_fraction", "0.3")], 60, |_, _, _| {});
}

#[test]
fn c104_layers_that_keep_what_is_trimmed_take_trims_and_keep_their_promises() {
    let keeping = layers(|kind| !kind.facts().gives_up_trimmed);
    assert!(keeping.len() > 6, "{keeping:?}");
    let trims = [("workload.trim_fraction", "0.3")];
    let requests = |more: &[(&str, &str)]| {
        let device = [("ftl.kind", "nftl"), ("ftl.recovery", "scan")];
        lab(&[&device, more].concat()).requests()
    };
    assert_eq!(requests(&trims), requests(&[]), "no trim is left out");
    all_keep_their_promises(&keeping, &trims, 30, |_, _, _| {});
}

#[test]
fn c112_a_device_of_mapping_units_keeps_its_promises_wherever_its_power_is_cut() {
    let units = [("ftl.map_unit_bytes", "1024"), ("timing.copyback", "false"), ("ftl.over_provisioning", "0.4")];
    for protection in ["none", "operations"] {
        let further = [&units[..], &[("power.protection", protection)]].concat();
        all_keep_their_promises(&[("page", "scan")], &further, 40, |_, _, found| assert!(found.len() > 20));
    }
}

#[test]
fn c101_a_cut_has_one_verdict_however_it_is_reached() {
    let lab = lab(&[("ftl.kind", "page"), ("ftl.recovery", "scan"), ("host.write_buffer_kib", "256")]);
    let instants = lab.instants(CutPlaces::Random, 60).expect("instants");
    let alone = at(&lab, &instants, 1);
    assert_eq!(alone, at(&lab, &instants, 3));
    for nth in [0, 31, 59] {
        assert_eq!(at(&lab, &instants[nth..=nth], 1), alone[nth..=nth]);
    }
}

/// A key, its value, and what the lab must find.
type Failure = (&'static str, &'static str, fn(&CrashVerdict) -> bool);

/// Each way to fail.
const FAILURES: &[Failure] = &[
    ("power.failure", "bit-corruption", |verdict| verdict.pages.corrupt > 0),
    ("power.failure", "shorn-writes", |verdict| verdict.pages.shorn > 0),
    ("power.failure", "flying-writes", |verdict| verdict.pages.foreign > 0),
    ("power.failure", "unserializable-writes", |verdict| verdict.out_of_order),
    ("power.failure", "metadata-corruption", |verdict| {
        verdict.pages.lost + verdict.pages.unreadable + verdict.pages.rolled_back > 9
    }),
    ("power.failure", "dead-device", |verdict| verdict.failure.is_some()),
    ("host.flush", "ignored", |verdict| verdict.pages.lost + verdict.pages.rolled_back > 0),
];

#[test]
fn c102_every_way_to_fail_is_noticed() {
    for (key, value, shows) in FAILURES {
        let units: &[(&str, &str)] = &[
            ("geometry.page_bytes", "16384"),
            ("geometry.pages_per_block", "16"),
            ("ftl.map_unit_bytes", "4096"),
            ("timing.copyback", "false"),
        ];
        for (kind, more) in [("page", &[][..]), ("nftl", &[]), ("page", units)] {
            let sets = [("ftl.kind", kind), ("ftl.recovery", "scan"), ("host.write_buffer_kib", "256"), (key, value)];
            let sets = [&sets[..], more].concat();
            let found = verdicts(&lab(&sets), CutPlaces::Random, 60, 1);
            let broken = found.iter().filter(|verdict| !verdict.is_kept()).count();
            let shown = found.iter().filter(|verdict| shows(verdict)).count();
            assert!(shown > 0, "{kind} {value}: {broken} of {} are broken", found.len());
        }
    }
}
