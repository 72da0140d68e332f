//! Suites that iterate the registries, so that no translation layer, victim policy or erase scheme can be left out:
//! golden results and command orders, and what every layer owes its host.

use pumice_commandlog::LogRecord;
use pumice_config::{Config, SpecSource};
use pumice_engine::observe::Observer;
use pumice_engine::{build, run};
use pumice_ftl::{FtlKind, GcPolicy, MergeMethod, Plan};
use pumice_types::{Choice, EraseMode, EraseScheme, FlashCommand, Lpn, Time};
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::contract::{check_clock_changes_no_count, check_counts, run_with};
use crate::golden::{Fields, assert_golden, fields};
use crate::support::run_seen_by;

/// Settings of one run, under a name.
pub type Case = (String, Vec<(String, String)>);

pub fn case(name: String, sets: &[(&str, &str)]) -> Case {
    (name, sets.iter().map(|(key, value)| (key.to_string(), value.to_string())).collect())
}

/// A load that makes every layer collect: random writes and a few reads over most of a small device.
pub const LOAD: &[(&str, &str)] = &[
    ("workload.kind", "hot-cold"),
    ("workload.requests", "6000"),
    ("workload.request_bytes", "4096"),
    ("workload.read_fraction", "0.2"),
    ("workload.footprint", "0.9"),
    ("ftl.over_provisioning", "0.3"),
    ("initial.fill", "0.8"),
    ("initial.age_writes", "1.0"),
];

/// Every translation layer with each merge that it knows.
fn layers() -> Vec<Case> {
    let merges = |kind: &FtlKind| kind.facts().merges.iter().map(move |merge| (*kind, *merge)).collect::<Vec<_>>();
    let sets = |(kind, merge): (FtlKind, MergeMethod)| {
        let own = [("ftl.kind", kind.name()), ("ftl.merge", merge.name())];
        case(format!("layer {kind} {merge}"), &[LOAD, &own].concat())
    };
    FtlKind::ALL.iter().flat_map(merges).map(sets).collect()
}

/// Every victim policy.
fn policies() -> Vec<Case> {
    let sets = |policy: &GcPolicy| {
        let own = [("ftl.kind", "page"), ("ftl.gc_policy", policy.name())];
        case(format!("policy {policy}"), &[LOAD, &own].concat())
    };
    GcPolicy::ALL.iter().map(sets).collect()
}

/// Every erase scheme, from measured times and from one need for all.
fn schemes() -> Vec<Case> {
    let modes = |scheme: &EraseScheme| EraseMode::ALL.iter().map(|mode| (*scheme, *mode)).collect::<Vec<_>>();
    let sets = |(scheme, mode): (EraseScheme, EraseMode)| {
        let own = [
            ("ftl.kind", "page"),
            ("erase.scheme", scheme.name()),
            ("erase.mode", mode.name()),
            ("erase.initial_pec", "1500"),
        ];
        case(format!("scheme {scheme} {mode}"), &[LOAD, &own].concat())
    };
    EraseScheme::ALL.iter().flat_map(modes).map(sets).collect()
}

/// Every case of the registries.
pub fn cases() -> Vec<Case> {
    [layers(), policies(), schemes()].concat()
}

/// The order and the times of all commands, as one digest.
#[derive(Default)]
struct Order(Sha256);

impl Observer for Order {
    fn command(&mut self, start: Time, end: Time, command: &FlashCommand) {
        self.0.update(LogRecord::Command { start, end, command: *command }.encode());
    }
}

/// Fields of a case's result, and the digest of its commands.
fn golden_fields((name, sets): &Case) -> Fields {
    let source = SpecSource { preset: Some("tiny".into()), sets: sets.clone(), ..SpecSource::default() };
    let config = Config::resolve(&source).unwrap_or_else(|error| panic!("{name}: {error}"));
    let mut order = Order::default();
    let outcome = run_seen_by(&config, &mut order);
    let outcome = outcome.unwrap_or_else(|error| panic!("{name}: {error}"));
    assert!(number_of_erases(&outcome.document) > 10, "{name}: collects too little to be worth comparing");
    let commands: String = order.0.finalize().iter().take(8).map(|byte| format!("{byte:02x}")).collect();
    let mut fields = fields(&outcome.document);
    fields.insert("commands".to_string(), commands);
    fields
}

fn number_of_erases(document: &Value) -> u64 {
    ["block", "partial"].iter().filter_map(|kind| document["flash"]["erases"][kind].as_u64()).sum()
}

#[test]
fn t901_no_layer_policy_or_scheme_changes_its_results_or_commands_unnoticed() {
    assert_golden("registry", &cases().iter().map(|case| (case.0.clone(), golden_fields(case))).collect());
}

#[test]
fn t903_every_layer_policy_and_scheme_tells_the_same_with_a_clock_and_without() {
    for (name, sets) in cases() {
        let checked = [("run.check", "integrity")];
        let timed = run_with(&sets, &checked);
        check_counts(&timed);
        let untimed = run_with(&sets, &[checked[0], ("run.timed", "false")]);
        check_counts(&untimed);
        check_clock_changes_no_count(&timed, &untimed);
        assert_eq!(timed["integrity"]["lost_pages"], 0, "{name}");
    }
}

/// Whoever tries a translation layer first does so on one of these.
#[test]
fn t905_every_layer_runs_on_the_small_presets() {
    for preset in ["tiny", "small"] {
        for (kind, merge) in
            FtlKind::ALL.iter().flat_map(|kind| kind.facts().merges.iter().map(move |merge| (*kind, *merge)))
        {
            let name = format!("{preset} {kind} {merge}");
            let sets = [("ftl.kind", kind.name()), ("ftl.merge", merge.name()), ("workload.requests", "2000")];
            let sets = sets.map(|(key, value)| (key.to_owned(), value.to_owned())).to_vec();
            let source = SpecSource { preset: Some(preset.to_owned()), sets, ..SpecSource::default() };
            let config = Config::resolve(&source).unwrap_or_else(|error| panic!("{name}: {error}"));
            let outcome = run(&config, 1.0, &mut |_| true).unwrap_or_else(|error| panic!("{name}: {error}"));
            assert_eq!((outcome.integrity_error, outcome.requests), (None, 2_000), "{name}");
            let capacity = config.user_bytes(1.0).expect("legal");
            assert!(preset == "tiny" || capacity >= 1 << 30, "{name}: {capacity} bytes");
        }
    }
}

/// A layer says in the registry whether a trim makes a page one that was never written.
#[test]
fn t445_every_layer_gives_up_what_is_trimmed_or_keeps_it_as_it_says() {
    let mut given_up = 0;
    for kind in FtlKind::ALL {
        let (_, sets) = case(kind.to_string(), &[("ftl.kind", kind.name()), ("initial.fill", "0.8")]);
        let source = SpecSource { preset: Some("tiny".into()), sets, ..SpecSource::default() };
        let config = Config::resolve(&source).unwrap_or_else(|error| panic!("{kind}: {error}"));
        let mut ftl = build(&config, 1.0).unwrap_or_else(|error| panic!("{kind}: {error}")).ftl;
        let mut plan = Plan::with_capacity(16);
        assert!(ftl.locate(Lpn(3)).is_some() && ftl.read(Lpn(3), 0, &mut plan), "{kind}: the page was filled");
        ftl.trim(Lpn(3));
        plan.clear();
        let is_kept = ftl.read(Lpn(3), 0, &mut plan);
        assert_eq!((is_kept, ftl.locate(Lpn(3)).is_some()), (!kind.facts().gives_up_trimmed, is_kept), "{kind}");
        assert!(ftl.locate(Lpn(2)).is_some() && ftl.locate(Lpn(4)).is_some(), "{kind}: its neighbours stay");
        given_up += u32::from(kind.facts().gives_up_trimmed);
    }
    assert!(given_up > 0 && (given_up as usize) < FtlKind::ALL.len(), "both sorts are tested");
}
