//! Every key of the spec, found by path.

use std::sync::LazyLock;

use pumice_types::key::{Key, Keys};

use crate::{Config, distance, retired, shown};

static ROWS: LazyLock<Vec<&'static Key>> = LazyLock::new(Config::rows);

/// Every key, section by section.
pub fn rows() -> &'static [&'static Key] {
    &ROWS
}

/// Whether a key lies in this section, or in a section inside it.
fn is_inside(key: &str, section: &str) -> bool {
    key.strip_prefix(section).is_some_and(|rest| rest.starts_with('.'))
}

/// Whether there is a section of this name, such as `ftl` or `ftl.superblock`.
pub fn is_section(path: &str) -> bool {
    rows().iter().any(|key| is_inside(key.path, path))
}

/// The key with this path, or in one line why there is none and what there is.
///
/// # Errors
/// A section, or a path that is no key.
pub fn lookup(path: &str) -> Result<&'static Key, String> {
    if let Some(key) = rows().iter().find(|key| key.path == path) {
        return Ok(key);
    }
    if let Some(instead) = retired::key(path) {
        return Err(format!("'{path}' is no key any more; {instead}"));
    }
    let mut names: Vec<String> = rows().iter().filter_map(|key| inside(key.path, path)).collect();
    names.dedup();
    match names.is_empty() {
        false => Err(format!("'{path}' is a section; its keys are {}", names.join(", "))),
        true => Err(format!("unknown key '{}'; {}", shown(path), instead_of(path))),
    }
}

/// A key of a section; of a section inside it, that it has keys.
fn inside(key: &str, section: &str) -> Option<String> {
    if !is_inside(key, section) {
        return None;
    }
    let rest = &key[section.len() + 1..];
    Some(rest.split_once('.').map_or_else(|| key.to_string(), |(inner, _)| format!("{section}.{inner}.*")))
}

/// What to say of a path that is no key: where its word is known from, else the nearest key.
fn instead_of(path: &str) -> String {
    retired::key_of_value(rows(), path).unwrap_or_else(|| format!("nearest valid key: '{}'", nearest(path)))
}

/// The nearest valid path to a misspelt one; a right key in a wrong section counts as near.
pub fn nearest(path: &str) -> &'static str {
    let own_name = |path: &str| path.rsplit('.').next().unwrap_or_default().to_string();
    let wanted = own_name(path);
    let away = |key: &Key| {
        let whole = distance(path, key.path);
        whole.min(distance(&wanted, &own_name(key.path)) + 1)
    };
    rows().iter().min_by_key(|key| away(key)).map_or("seed", |key| key.path)
}
