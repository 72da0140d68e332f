//! Golden digests: a result that changes needs a line in the changelog.

use pumice_sim::{Spec, SpecSource, run};
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::support::document;

/// Preset, scale, requests, first 16 digits of the digest of host, flash, gc and wear.
const GOLDEN: &[(&str, f64, &str, &str)] = &[
    ("tiny", 1.0, "20000", "a3d67221f1067946"),
    ("pen-1tb", 0.0625, "100000", "d990957e71b9707c"),
    ("pen-1tb-m-merge", 0.0625, "100000", "54be8dce89c1e883"),
];

/// The same for page-level FTLs on the tiny device: policy, copyback, digest.
const GOLDEN_PAGE: &[(&str, &str, &str)] = &[
    ("greedy", "true", "2b9544ae72237780"),
    ("cost-benefit", "false", "2f64d6bce82aedec"),
    ("d-choices", "true", "cf3ca1ceb57e4386"),
    ("fifo", "true", "92ceaec2ad48afa1"),
];

fn digest(document: &Value) -> String {
    let text: String = ["host", "flash", "gc", "wear"].iter().map(|section| document[section].to_string()).collect();
    Sha256::digest(text.as_bytes()).iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}

#[test]
fn t900_results_do_not_change_unnoticed() {
    let mut changed = Vec::new();
    for &(preset, scale, requests, golden) in GOLDEN {
        let sets = vec![("run.max_requests".to_string(), requests.to_string())];
        let spec = Spec::resolve(&SpecSource { preset: Some(preset.into()), sets, ..SpecSource::default() });
        let document = run(&spec.expect("a valid preset"), scale, &mut |_| true).expect("it runs").document;
        if digest(&document) != golden {
            changed.push(format!("{preset}: {} instead of {golden}", digest(&document)));
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
