//! What users of MQSim, SimpleSSD, FEMU and fio call things: the key that is meant, or why there is none.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::Deserialize;

use crate::near;

/// What each of several names is told.
type Told = BTreeMap<String, String>;

/// The names of `data/other_names.toml`: between blanks, behind what is meant by them.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OtherNames {
    pub keys: Told,
    pub told: Told,
    sections: Told,
    values: BTreeMap<String, Told>,
}

/// Read when the first name is looked up.
pub static NAMES: LazyLock<OtherNames> = LazyLock::new(|| {
    let names = toml::from_str(include_str!("../data/other_names.toml"));
    names.expect("the file is compiled in, and tests read it")
});

/// What the names are told of which one `is_meant`.
fn find(told: &'static Told, is_meant: impl Fn(&str) -> bool) -> Option<&'static str> {
    told.iter().find(|(_, names)| names.split(' ').any(&is_meant)).map(|(told, _)| told.as_str())
}

/// What to tell whoever types a name that is no key, by its last part in lower case with underscores.
pub fn instead_of(path: &str) -> Option<String> {
    let plain = path.rsplit('.').next().unwrap_or(path).to_lowercase().replace(['-', ' '], "_");
    instead(|name| name == plain)
}

/// What to tell whoever misspells such a name by one letter.
pub fn instead_of_nearly(path: &str) -> Option<String> {
    let last = path.rsplit('.').next().unwrap_or(path);
    instead(|name| near(last, name) == Some(1))
}

fn instead(is_meant: impl Fn(&str) -> bool) -> Option<String> {
    let key = find(&NAMES.keys, &is_meant).map(|key| format!("here it is '{key}'"));
    key.or_else(|| find(&NAMES.told, &is_meant).map(str::to_string))
}

/// What to tell whoever writes a section of another simulator.
pub fn section(name: &str) -> Option<&'static str> {
    let plain = name.to_lowercase();
    find(&NAMES.sections, |known| known == plain)
}

/// What other names of a key's value are called here; `value` is in lower case with hyphens.
pub fn value(path: &str, value: &str) -> Option<&'static str> {
    find(NAMES.values.get(path)?, |known| known == value)
}
