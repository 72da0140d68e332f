//! Keys that a run does not read. If the user set a key that the run does not read, the user is warned, because the
//! result does not depend on that key.
//!
//! When a key is read stands in its row, and which keys of `[ftl]` a translation layer reads stands in that
//! layer's file. A key whose other values are refused where they mean nothing, such as `ftl.hot_cold` with an
//! NFTL, is idle as well: its default does nothing.

use pumice_types::key::{Key, Keys, Values};

use pumice_ftl::PolicyKeys;

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
