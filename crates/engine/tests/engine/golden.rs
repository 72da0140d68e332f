//! Golden results: a result that changes is shown field by field, and needs a line in the changelog.

use std::collections::BTreeMap;
use std::path::PathBuf;

use pumice_config::{Config, SpecSource};
use pumice_engine::run;
use serde_json::Value;

use crate::support::document;

/// Set to write the accepted results anew instead of comparing with them.
const ACCEPT: &str = "PUMICE_ACCEPT_GOLDEN";

/// Fields of one result: its paths, each with its value as text.
pub type Fields = BTreeMap<String, String>;

/// Adds every value of a section under its path, but nulls and zeros: a field that does not apply here is not listed.
fn flatten(path: &str, value: &Value, fields: &mut Fields) {
    match value {
        Value::Null => {}
        Value::Object(inner) => {
            inner.iter().for_each(|(name, value)| flatten(&format!("{path}.{name}"), value, fields));
        }
        value if value.as_f64() == Some(0.0) => {}
        value => {
            fields.insert(path.to_string(), value.to_string());
        }
    }
}

/// Fields of host, flash, gc and wear.
pub fn fields(document: &Value) -> Fields {
    let mut fields = Fields::new();
    for section in ["host", "flash", "gc", "wear"] {
        flatten(section, &document[section], &mut fields);
    }
    fields
}

/// Results as an accepted file holds them: each name in brackets, below it a line a field.
fn written(results: &BTreeMap<String, Fields>) -> String {
    let lines = |fields: &Fields| fields.iter().map(|(path, value)| format!("{path} = {value}\n")).collect::<String>();
    results.iter().map(|(name, fields)| format!("[{name}]\n{}", lines(fields))).collect()
}

/// Reads what [`written`] wrote.
fn read(text: &str) -> BTreeMap<String, Fields> {
    let mut results = BTreeMap::new();
    for section in text.split("\n[").map(|section| section.trim_start_matches('[')).filter(|s| !s.is_empty()) {
        let (name, lines) = section.split_once("]\n").unwrap_or((section.trim_end_matches(']'), ""));
        let fields = lines.lines().filter_map(|line| line.split_once(" = "));
        results.insert(name.to_string(), fields.map(|(path, value)| (path.into(), value.into())).collect());
    }
    results
}

/// What sets a result apart from the accepted one: fields with another value, fields that are gone, fields that are new.
fn differences(accepted: &Fields, found: &Fields) -> (Vec<String>, Vec<String>) {
    let changed = accepted.iter().filter(|(path, old)| found.get(*path) != Some(old));
    let changed = changed.map(|(path, old)| format!("{path} {old} -> {}", found.get(path).map_or("gone", |new| new)));
    let new = found.iter().filter(|(path, _)| !accepted.contains_key(*path));
    (changed.collect(), new.map(|(path, value)| format!("{path} {value}")).collect())
}

/// Compares results with those of `golden/FILE.txt`, or accepts them.
pub fn assert_golden(file: &str, found: &BTreeMap<String, Fields>) {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(format!("tests/engine/golden/{file}.txt"));
    if std::env::var_os(ACCEPT).is_some() {
        std::fs::write(&path, written(found)).expect("part of the repository");
    }
    let accepted = read(&std::fs::read_to_string(&path).unwrap_or_default());
    let (mut changes, mut additions) = (String::new(), String::new());
    for (name, fields) in found {
        let (changed, new) = differences(accepted.get(name).unwrap_or(&Fields::new()), fields);
        changed.iter().for_each(|change| changes += &format!("  {name}: {change}\n"));
        new.iter().for_each(|field| additions += &format!("  {name}: {field}\n"));
    }
    for name in accepted.keys().filter(|name| !found.contains_key(*name)) {
        changes += &format!("  {name}: gone\n");
    }
    assert!(
        changes.is_empty() && additions.is_empty(),
        "{}{}if intended, run the test with {ACCEPT}=1, and say in CHANGELOG.md what changed and why",
        if changes.is_empty() { String::new() } else { format!("results changed:\n{changes}") },
        if additions.is_empty() { String::new() } else { format!("fields are new:\n{additions}") },
    );
}

/// Preset, scale, requests, and a setting of its own.
type GoldenRun = (&'static str, f64, &'static str, Option<(&'static str, &'static str)>);

/// Every preset of a paper; other merges and comparators on PEN's device.
const GOLDEN: &[GoldenRun] = &[
    ("tiny", 1.0, "20000", None),
    ("pen-1tb", 0.0625, "100000", None),
    ("pen-1tb-m-merge", 0.0625, "100000", None),
    ("lfws-256gb", 0.0625, "2100000", None),
    ("sfws-256gb", 0.0625, "2100000", None),
    ("pen-superblock-4-5", 0.0625, "100000", None),
    ("pen-superblock-4-5-m-merge", 0.0625, "100000", None),
    ("pen-superblock-4-8", 0.0625, "100000", None),
    ("pen-superblock-4-8-m-merge", 0.0625, "100000", None),
    ("superblock-2006-2g", 1.0, "20000", None),
    ("superblock-2006-4g", 1.0, "20000", None),
    ("zn540-like", 0.0625, "700000", None),
    ("pen-superblock-4-5", 0.0625, "100000", Some(("ftl.merge", "m-merge-budgeted"))),
    ("pen-1tb", 0.0625, "100000", Some(("ftl.kind", "gftl"))),
    ("pen-1tb-m-merge", 0.0625, "100000", Some(("ftl.kind", "pbe"))),
];

#[test]
fn t900_results_do_not_change_unnoticed() {
    let mut found = BTreeMap::new();
    for &(preset, scale, requests, set) in GOLDEN {
        let sets = [Some(("run.max_requests", requests)), set].into_iter().flatten();
        let sets = sets.map(|(key, value)| (key.to_string(), value.to_string())).collect();
        let spec = Config::resolve(&SpecSource { preset: Some(preset.into()), sets, ..SpecSource::default() });
        let document = run(&spec.expect("a valid preset"), scale, &mut |_| true).expect("it runs").document;
        let name = set.map_or(preset.to_string(), |(key, value)| format!("{preset} {key}={value}"));
        found.insert(name, fields(&document));
    }
    assert_golden("presets", &found);
}

#[test]
fn t909_results_of_page_level_ftls_do_not_change_unnoticed() {
    let runs = [("greedy", "true"), ("cost-benefit", "false"), ("d-choices", "true"), ("fifo", "true")];
    let found = runs.map(|(policy, copyback)| {
        let document = document(&[
            ("ftl.kind", "page"),
            ("ftl.gc_policy", policy),
            ("timing.copyback", copyback),
            ("ftl.gc_stop_threshold", "0.12"),
            ("ftl.over_provisioning", "0.25"),
            ("geometry.program_order", "in-order"),
            ("geometry.bad_blocks_per_plane", "2"),
            ("initial.age_writes", "1.5"),
            ("workload.footprint", "0.9"),
        ]);
        (policy.to_string(), fields(&document))
    });
    assert_golden("page", &found.into());
}

#[test]
fn t990_a_changed_field_is_told_from_a_new_one() {
    let of = |pairs: &[(&str, &str)]| pairs.iter().map(|(path, value)| (path.to_string(), value.to_string())).collect();
    let accepted: Fields = of(&[("gc.copied_pages", "512"), ("wear.aep", "1.5")]);
    let found: Fields = of(&[("gc.copied_pages", "520"), ("flash.programs.gc", "520")]);
    let changed = ["gc.copied_pages 512 -> 520", "wear.aep 1.5 -> gone"].map(str::to_string).to_vec();
    assert_eq!(differences(&accepted, &found), (changed, vec!["flash.programs.gc 520".to_string()]));
    let results = BTreeMap::from([("a [b]".to_string(), accepted), ("c".to_string(), found)]);
    assert_eq!(read(&written(&results)), results);
}
