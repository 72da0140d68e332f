//! Plug-ins for the tests: built from the examples, and compiled from C with faults.

use std::path::{Path, PathBuf};
use std::process::Command;

use pumice_config::{Config, SpecSource};
use pumice_engine::run;
use pumice_ftl::plugin::OwnLayer;
use serde_json::Value;

use crate::folder::Folder;

impl Folder {
    /// The plug-in `broken.c` with what these flags break.
    pub fn broken(&self, name: &str, flags: &str) -> PathBuf {
        let flags = flags.replace("\\\"", "\"");
        let flags: Vec<&str> = flags.split_whitespace().chain(["-shared", "-fPIC"]).collect();
        self.compile(&format!("{name}.so"), include_str!("broken.c"), &flags)
    }
}

/// Builds the example in Rust as its reader would; returns the shared object.
pub fn rust_example() -> PathBuf {
    built("../../examples/own-ftl-rust", "own_ftl")
}

/// Builds the layer in Rust that has faults; returns the shared object.
pub fn faulty() -> PathBuf {
    built("tests/ftl/faulty", "faulty")
}

/// Builds a crate outside the workspace. All of them share a folder, in which what they depend on is built once.
fn built(folder: &str, library: &str) -> PathBuf {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join("plugins");
    let done = Command::new(env!("CARGO"))
        .args(["build", "--release", "--locked", "--quiet", "--target-dir"])
        .arg(&target)
        .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join(folder))
        .output()
        .expect("cargo runs this test");
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    target.join("release").join(format!("{}{library}{}", std::env::consts::DLL_PREFIX, std::env::consts::DLL_SUFFIX))
}

/// A load that makes a log collect.
pub const LOAD: &[(&str, &str)] = &[
    ("ftl.merge", "block-erase"),
    ("partial_erase.unit", "none"),
    ("ftl.over_provisioning", "0.2"),
    ("workload.kind", "zipf"),
    ("workload.footprint", "1.0"),
    ("workload.read_fraction", "0.3"),
    ("initial.fill", "0.9"),
    ("run.check", "integrity"),
];

/// A spec of the tiny device.
pub fn source(sets: &[(&str, &str)], plugins: &[OwnLayer]) -> SpecSource {
    let sets = sets.iter().map(|(key, value)| (key.to_string(), value.to_string())).collect();
    SpecSource { preset: Some("tiny".into()), sets, plugins: plugins.to_vec(), ..SpecSource::default() }
}

/// The document of a run of the tiny device.
pub fn document(sets: &[(&str, &str)], plugins: &[OwnLayer]) -> Result<Value, String> {
    let config = Config::resolve(&source(sets, plugins)).map_err(|error| error.to_string())?;
    let outcome = run(&config, 1.0, &mut |_| true).map_err(|error| error.to_string())?;
    outcome.integrity_error.map_or(Ok(outcome.document), Err)
}

/// How such a run fails.
pub fn error_of(sets: &[(&str, &str)], plugins: &[OwnLayer]) -> String {
    document(sets, plugins).map(|_| "it ends well").expect_err("a run with a faulty plug-in fails")
}
