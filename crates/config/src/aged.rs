//! What an aged device depends on: the keys that are read before the first request, found in the table of all keys.
//!
//! A key belongs to them unless its row says that filling and ageing do not read it: that it is read only with a clock,
//! or only for requests ([`When::Requests`](pumice_types::key::When::Requests)). So a key that nobody thought of counts.
//! Keys of the parts of a block always count: the columns of the chips' state take their shape, read or not.

use std::fmt;
use std::sync::Arc;

use pumice_ftl::AgedBy;
use pumice_types::key::{Key, Keys, Values};
use sha2::{Digest, Sha256};

use crate::{Config, effect, json, schema, table};

/// The aged device of a configuration at a scale, as far as its keys tell: two with the same identity are equal.
#[derive(Clone, Debug, PartialEq)]
pub struct AgedIdentity {
    /// The keys that it depends on, in sections, and its scale.
    pub keys: serde_json::Value,
    /// SHA-256 of these, in hexadecimal.
    pub sha256: String,
}

impl AgedIdentity {
    /// The identity of a configuration's aged device; `None` if nothing ages it, or if the workload or code of the user's
    /// own takes part: neither is known by keys alone.
    pub fn of(config: &Config, scale: f64) -> Option<AgedIdentity> {
        let has_own_code = config.ftl.own_policy.is_some() || config.ftl.own_layer().is_some();
        let by_workload = config.initial.aged_by == AgedBy::Requests;
        if config.initial.age_writes == 0.0 || by_workload || has_own_code {
            return None;
        }
        let mut keys = serde_json::Map::new().into();
        for (path, value) in values_before_requests(config) {
            *schema::place(&mut keys, path) = json(&value);
        }
        keys["scale"] = scale.into();
        if config.flows.iter().any(|flow| flow.stream().is_some()) {
            keys["flows"] = config.flows.iter().map(|flow| serde_json::json!([flow.range(), flow.stream()])).collect();
        }
        let sha256 = Sha256::digest(keys.to_string().as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect();
        Some(AgedIdentity { keys, sha256 })
    }
}

/// The value of each key that filling and ageing read.
pub fn values_before_requests(config: &Config) -> Values {
    let mut values = Values::new();
    config.write(&mut values);
    let is_read = |key: &&Key| {
        key.path.starts_with("partial_erase.")
            || effect::is_of_layer(config, key) && key.when.is_read_before_requests(&values)
    };
    table::rows().iter().filter(is_read).filter_map(|key| Some((key.path, values.get(key.path)?.clone()))).collect()
}

/// Where aged devices are kept for other runs. What is found there gives the same results as ageing a device anew.
pub trait AgedDevices: fmt::Debug + Send + Sync {
    /// The device with this identity as the engine wrote it down; `None` if there is none that can be used.
    fn find(&self, identity: &AgedIdentity) -> Option<Arc<Vec<u8>>>;

    /// Keeps a device that was just aged.
    fn keep(&self, identity: &AgedIdentity, device: Vec<u8>);

    /// What was found turned out to be none: it is aged anew, and kept in its place.
    fn refuse(&self, why: &str);
}

/// [`AgedDevices`] of a configuration. Any two count as equal: where a device comes from does not change a result.
#[derive(Clone, Debug)]
pub struct SharedAgedDevices(pub Arc<dyn AgedDevices>);

impl PartialEq for SharedAgedDevices {
    fn eq(&self, _: &SharedAgedDevices) -> bool {
        true
    }
}
