//! What every check of the suite starts from: a device with a layer, its run, and what came of it.

use pumice_config::{Config, SpecSource};
use pumice_engine::run;
use pumice_ftl::plugin::OwnLayer;
use serde_json::Value;

use super::requests::PageRequest;

/// Settings of a spec.
pub type Sets = Vec<(String, String)>;

/// What every device has.
const COMMON: &[(&str, &str)] = &[
    ("ftl.merge", "block-erase"),
    ("partial_erase.unit", "none"),
    ("partial_erase.max_splits", "0"),
    ("ftl.over_provisioning", "0.4"),
    ("run.check", "integrity"),
    ("initial.fill", "0.0"),
];

/// What came of one check.
#[derive(Clone, Debug, PartialEq)]
pub enum Finding {
    /// The layer keeps what was checked.
    Holds,
    /// The check was not run, for this reason.
    NotRun(String),
    /// The layer breaks what was checked.
    Fails {
        /// What is wrong, in one line.
        text: String,
        /// The shortest sequence that shows it, from an empty device; empty if it shows in a whole run.
        requests: Vec<PageRequest>,
    },
}

/// Settings of a check on a device.
pub fn settings(layer: &OwnLayer, device: &[(&str, &str)], more: &[(&str, &str)]) -> Sets {
    let all = [COMMON, device, more, &[("ftl.kind", layer.source.name().kind())]].concat();
    let is_last = |nth: usize| all[nth + 1..].iter().all(|later| later.0 != all[nth].0);
    let sets = all.iter().enumerate().filter(|&(nth, _)| is_last(nth));
    sets.map(|(_, (key, value))| (key.to_string(), value.to_string())).collect()
}

/// The configuration of the preset `tiny` with these settings.
///
/// # Errors
/// A layer that refuses the device.
pub fn config_of(layer: &OwnLayer, sets: &[(String, String)]) -> Result<Config, String> {
    let source = SpecSource {
        preset: Some("tiny".into()),
        sets: sets.to_vec(),
        plugins: vec![layer.clone()],
        ..SpecSource::default()
    };
    Config::resolve(&source).map_err(|error| error.to_string())
}

/// A finding of a whole run.
pub fn fails(text: String) -> Finding {
    Finding::Fails { text, requests: Vec::new() }
}

/// The document of a run, without what only a wall clock knows; an error if it fails.
///
/// # Errors
/// The failure in one line.
pub fn outcome_of(config: &Config) -> Result<Value, String> {
    let outcome = run(config, 1.0, &mut |_| true).map_err(|error| error.to_string())?;
    outcome.integrity_error.map_or(Ok(outcome.document), Err)
}
