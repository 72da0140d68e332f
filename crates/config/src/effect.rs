//! Keys that a run does not read. If the user set a key that the run does not read, the user is warned, because the
//! result does not depend on that key.
//!
//! When a key is read stands in its row, and which keys of `[ftl]` a translation layer reads stands in that
//! layer's file. A key whose other values are refused where they mean nothing, such as `ftl.hot_cold` with an
//! NFTL, is idle as well: its default does nothing.

use pumice_types::key::{Key, Keys, Values};

use crate::{Config, table};

/// Why a run does not read a key, as `key = value`; `None` if it does.
pub fn idle(config: &Config, path: &str) -> Option<String> {
    let key = table::lookup(path).ok()?;
    if is_of_ftl(key) && !config.ftl.kind.reads(path) {
        return Some(format!("ftl.kind = \"{}\"", config.ftl.kind));
    }
    let mut values = Values::new();
    config.write(&mut values);
    key.when.idle(&values)
}

/// Whether a run may ignore the key: it is read under a condition, and no other value of it is refused then.
pub fn is_conditional(key: &Key) -> bool {
    let by_layer = is_of_ftl(key) && !EVERY_LAYER.contains(&key.path);
    (!key.when.paths().is_empty() || by_layer) && !pumice_ftl::is_strict(key.path)
}

/// Keys of `[ftl]` that every layer reads.
const EVERY_LAYER: [&str; 5] = ["ftl.kind", "ftl.merge", "ftl.map_place", "ftl.over_provisioning", "ftl.recovery"];

fn is_of_ftl(key: &Key) -> bool {
    key.path.starts_with("ftl.")
}
