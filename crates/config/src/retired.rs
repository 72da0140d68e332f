//! Spellings that are no longer valid, and other names that people type: each is told what to write.

use pumice_types::key::{Key, ValueKind};

use crate::{distance, near, synonyms};

/// What to write instead of a key that is gone; `None` if the key never was one.
pub fn key(path: &str) -> Option<&'static str> {
    match path {
        "ftl.comparator" => Some("write ftl.kind = \"gftl\" or ftl.kind = \"pbe\""),
        "ftl.superblock.variant" => Some("write ftl.kind = \"superblock-pen\" or ftl.kind = \"superblock-2006\""),
        _ => None,
    }
}

/// What to write instead of a value that is gone, given as its plain text.
pub fn value(path: &str, value: &str) -> Option<&'static str> {
    match (path, value) {
        ("ftl.kind", "superblock") => Some("\"superblock-pen\" (map in RAM, M-Merge) or \"superblock-2006\""),
        ("ftl.kind", "bast") => Some("\"log-block\""),
        ("timing.multi_plane", "false") => Some("\"off\""),
        ("timing.multi_plane", "true") => Some("\"neighbours\""),
        _ => None,
    }
}

/// A name that stands for values of several keys.
pub struct Alias {
    /// Keys and values, as TOML text.
    pub values: &'static [(&'static str, &'static str)],
    /// One line that says so.
    pub note: &'static str,
}

/// What a value stands for, if it is an alias.
pub fn alias(path: &str, value: &str) -> Option<Alias> {
    match (path, value) {
        ("ftl.kind", "dftl") => Some(Alias {
            values: &[("ftl.kind", "\"page\""), ("ftl.map_place", "\"cached\"")],
            note: "ftl.kind = \"dftl\" stands for ftl.kind = \"page\" with ftl.map_place = \"cached\"",
        }),
        _ => None,
    }
}

/// Where a word that is no key is known from: a value of a key, or a name that stands for one.
pub fn key_of_value(rows: &[Key], word: &str) -> Option<String> {
    if let Some(alias) = alias("ftl.kind", word) {
        return Some(alias.note.to_string());
    }
    let holds = |key: &&Key| matches!(key.shape, ValueKind::Choice(names) if names.contains(&word));
    rows.iter().find(holds).map(|key| format!("it is a value of '{}'", key.path))
}

/// What is probably meant by a value that a key does not allow: what stands for another name of it, or the nearest
/// of the allowed names.
pub fn meant(key: &Key, value: &str) -> Option<String> {
    let plain = value.to_lowercase().replace(['_', ' '], "-");
    if key.path == "ftl.kind" && plain.starts_with("plugin:") {
        return Some("the file of a plug-in is given by --plugin FILE, in Python by plugins=[FILE]".into());
    }
    synonyms::value(key.path, &plain).map(|instead| format!("here it is {instead}")).or_else(|| nearest(key, &plain))
}

/// Letters that are enough to tell a name by its beginning.
const BEGINNING_CHARS: usize = 3;

fn nearest(key: &Key, value: &str) -> Option<String> {
    let ValueKind::Choice(names) = key.shape else { return None };
    let is_begun = |name: &str| value.chars().count() >= BEGINNING_CHARS && name.starts_with(value);
    let may_be_meant = |name: &&&str| is_begun(name) || near(value, name).is_some();
    let name = names.iter().filter(may_be_meant).min_by_key(|name| distance(value, name))?;
    Some(format!("nearest: \"{name}\""))
}
