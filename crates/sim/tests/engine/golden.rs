//! Golden digests: a result that changes needs a line in the changelog.

use pumice_sim::{Spec, SpecSource, run};
use sha2::{Digest, Sha256};

/// Preset, scale, requests, first 16 digits of the digest of host, flash, gc and wear.
const GOLDEN: &[(&str, f64, &str, &str)] = &[
    ("tiny", 1.0, "20000", "a3d67221f1067946"),
    ("pen-1tb", 0.0625, "100000", "d990957e71b9707c"),
    ("pen-1tb-m-merge", 0.0625, "100000", "54be8dce89c1e883"),
    ("superblock-2006-2g", 1.0, "20000", "630397aaac007684"),
    ("superblock-2006-4g", 1.0, "20000", "3842c45ffed21bd1"),
];

#[test]
fn t900_results_do_not_change_unnoticed() {
    let mut changed = Vec::new();
    for &(preset, scale, requests, golden) in GOLDEN {
        let sets = vec![("run.max_requests".to_string(), requests.to_string())];
        let spec = Spec::resolve(&SpecSource { preset: Some(preset.into()), sets, ..SpecSource::default() });
        let document = run(&spec.expect("a valid preset"), scale, &mut |_| true).expect("it runs").document;
        let text: String =
            ["host", "flash", "gc", "wear"].iter().map(|section| document[section].to_string()).collect();
        let digest: String = Sha256::digest(text.as_bytes()).iter().take(8).map(|byte| format!("{byte:02x}")).collect();
        if digest != golden {
            changed.push(format!("{preset}: {digest} instead of {golden}"));
        }
    }
    assert!(changed.is_empty(), "results changed; if intended, say so in CHANGELOG.md: {changed:?}");
}
