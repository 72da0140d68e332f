//! Golden digests: a result that changes needs a line in the changelog.

use pumice_config::{Config, SpecSource};
use pumice_engine::run;
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::support::document;

/// Preset, scale, requests, first 16 digits of the digest of host, flash, gc and wear.
const GOLDEN: &[(&str, f64, &str, &str)] = &[
    ("tiny", 1.0, "20000", "05f148454a9b461e"),
    ("pen-1tb", 0.0625, "100000", "556aba66a6679262"),
    ("pen-1tb-m-merge", 0.0625, "100000", "2082b51567bc362d"),
    ("lfws-256gb", 0.0625, "2100000", "0428690fe0389dff"),
    ("sfws-256gb", 0.0625, "2100000", "532fd1f34e8f7a58"),
    ("pen-superblock-4-5", 0.0625, "100000", "07e418ee1d65111e"),
    ("pen-superblock-4-5-m-merge", 0.0625, "100000", "4095269bbbf14cf7"),
    ("pen-superblock-4-8", 0.0625, "100000", "d9d184151ce6af85"),
    ("pen-superblock-4-8-m-merge", 0.0625, "100000", "5e98be19a214581f"),
    ("superblock-2006-2g", 1.0, "20000", "5f20a0abfe2ef074"),
    ("superblock-2006-4g", 1.0, "20000", "3a26d70892e15fd8"),
    ("zn540-like", 0.0625, "700000", "3b7972557aa4e211"),
];

/// Other merges and comparators on PEN's device: preset, key, value, digest.
const GOLDEN_PEN: &[(&str, &str, &str, &str)] = &[
    ("pen-superblock-4-5", "ftl.merge", "m-merge-budgeted", "3a27719f4261c8d3"),
    ("pen-1tb", "ftl.kind", "gftl", "0b826a5c27316321"),
    ("pen-1tb-m-merge", "ftl.kind", "pbe", "3baa13dad080bf70"),
];

/// Page-level FTLs on the tiny device: policy, copyback, digest.
const GOLDEN_PAGE: &[(&str, &str, &str)] = &[
    ("greedy", "true", "661c75bbd66ad621"),
    ("cost-benefit", "false", "3fe7e43cf39e621a"),
    ("d-choices", "true", "283757a5cf413970"),
    ("fifo", "true", "2a8035f8afa92a61"),
];

/// Appends every value of a section under its path, but nulls and zeros: a field that a later model
/// adds, and that does not apply here, changes no digest.
fn flatten(path: &str, value: &Value, text: &mut String) {
    match value {
        Value::Null => {}
        Value::Object(fields) => {
            fields.iter().for_each(|(name, value)| flatten(&format!("{path}.{name}"), value, text));
        }
        value if value.as_f64() == Some(0.0) => {}
        value => *text += &format!("{path}={value}\n"),
    }
}

/// Digest of host, flash, gc and wear.
pub fn digest(document: &Value) -> String {
    let mut text = String::new();
    for section in ["host", "flash", "gc", "wear"] {
        flatten(section, &document[section], &mut text);
    }
    Sha256::digest(text.as_bytes()).iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}

#[test]
fn t900_results_do_not_change_unnoticed() {
    let mut changed = Vec::new();
    let plain = GOLDEN.iter().map(|&(preset, scale, requests, golden)| (preset, scale, requests, None, golden));
    let varied =
        GOLDEN_PEN.iter().map(|&(preset, key, value, golden)| (preset, 0.0625, "100000", Some((key, value)), golden));
    for (preset, scale, requests, set, golden) in plain.chain(varied) {
        let sets = [Some(("run.max_requests", requests)), set].into_iter().flatten();
        let sets = sets.map(|(key, value)| (key.to_string(), value.to_string())).collect();
        let spec = Config::resolve(&SpecSource { preset: Some(preset.into()), sets, ..SpecSource::default() });
        let document = run(&spec.expect("a valid preset"), scale, &mut |_| true).expect("it runs").document;
        if digest(&document) != golden {
            changed.push(format!("{preset} {set:?}: {} instead of {golden}", digest(&document)));
        }
    }
    assert!(changed.is_empty(), "results changed; if intended, say so in CHANGELOG.md: {changed:?}");
}

#[test]
fn t909_results_of_page_level_ftls_do_not_change_unnoticed() {
    let mut changed = Vec::new();
    for &(policy, copyback, golden) in GOLDEN_PAGE {
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
        if digest(&document) != golden {
            changed.push(format!("{policy}: {} instead of {golden}", digest(&document)));
        }
    }
    assert!(changed.is_empty(), "results changed; if intended, say so in CHANGELOG.md: {changed:?}");
}
