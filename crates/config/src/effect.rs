//! Keys that a run does not read. If the user set a key that the run does not read, the user is warned, because the
//! result does not depend on that key.
//!
//! When a key is read stands in its row, and which keys of `[ftl]` a translation layer reads stands in that
//! layer's file. A key whose other values are refused where they mean nothing, such as `ftl.hot_cold` with an
//! NFTL, is idle as well: its default does nothing.

use pumice_types::Choice;
use pumice_types::key::{Key, Keys, Values, When};

use pumice_ftl::{FtlKind, PolicyKeys};

use crate::{Config, flow};

/// Share of the raw capacity that the host cannot address.
pub(crate) const OVER_PROVISIONING: &str = "ftl.over_provisioning";

/// Another name of [`OVER_PROVISIONING`], as a share of the user capacity.
pub(crate) const SPARE_OVER_USER: &str = "ftl.spare_over_user";

/// Why a run with these values does not read a key, as `key = value`; `None` if it does.
pub fn idle(config: &Config, key: &Key, values: &Values) -> Option<String> {
    if !is_of_layer(config, key) {
        return Some(format!("ftl.kind = \"{}\"", config.ftl.kind));
    }
    if let Some(policy) = config.ftl.own_policy.as_ref().filter(|_| is_decided_by_policy(config, key.path)) {
        return Some(format!("policy \"{}\"", policy.0.name()));
    }
    if config.flows.is_empty() { key.when.idle(values) } else { flow::idle(config, key, values) }
}

/// What would read a key that a run does not, as `key = value`, if one other key decides.
pub(crate) fn reader(config: &Config, key: &Key, values: &Values) -> Option<String> {
    if !is_of_layer(config, key) {
        let layers = FtlKind::ALL.iter().filter(|kind| kind.reads(key.path)).map(|kind| kind.to_string());
        return listed("ftl.kind", layers);
    }
    let is_decided = config.ftl.own_policy.is_some() && is_decided_by_policy(config, key.path);
    if is_decided || !config.flows.is_empty() { None } else { reading(key.when, values) }
}

fn reading(when: When, values: &Values) -> Option<String> {
    match when {
        When::Is(path, names) => listed(path, names.iter().map(|name| (*name).to_string())),
        When::On(path) => Some(format!("{path} = true")),
        When::Positive(path) => Some(format!("{path} above 0")),
        When::All(conditions) => reading(*conditions.iter().find(|when| when.idle(values).is_some())?, values),
        When::Always
        | When::Requests
        | When::IsNot(..)
        | When::Given(_)
        | When::NotGiven(_)
        | When::List(_)
        | When::Any(_) => None,
    }
}

fn listed(path: &str, names: impl Iterator<Item = String>) -> Option<String> {
    let names: Vec<String> = names.map(|name| format!("\"{name}\"")).collect();
    (!names.is_empty()).then(|| format!("{path} = {}", names.join(" | ")))
}

/// Whether the run's translation layer reads the key, or any run does.
pub(crate) fn is_of_layer(config: &Config, key: &Key) -> bool {
    let path = if key.path == SPARE_OVER_USER { OVER_PROVISIONING } else { key.path };
    !is_of_ftl(key) || config.ftl.kind.reads(path)
}

/// Whether the user's own policy decides what a key would.
fn is_decided_by_policy(config: &Config, path: &str) -> bool {
    let decides = config.ftl.decides();
    decides.victim && PolicyKeys::rows().iter().any(|key| key.path == path)
        || decides.streams > 0 && path == "ftl.hot_cold"
}

/// Whether a run may ignore the key: it is read under a condition, and no other value of it is refused then.
pub fn is_conditional(key: &Key) -> bool {
    let by_layer = is_of_ftl(key) && !EVERY_LAYER.contains(&key.path);
    (!key.when.paths().is_empty() || by_layer) && !pumice_ftl::is_strict(key.path)
}

/// Keys of `[ftl]` that every layer reads.
const EVERY_LAYER: [&str; 6] =
    ["ftl.kind", "ftl.merge", "ftl.map_place", OVER_PROVISIONING, SPARE_OVER_USER, "ftl.recovery"];

fn is_of_ftl(key: &Key) -> bool {
    key.path.starts_with("ftl.")
}
