//! Every key of the spec, found by path.

use std::sync::LazyLock;

use pumice_ftl::plugin::OwnLayer;
use pumice_types::interned;
use pumice_types::key::{Key, Keys, ValueKind};

use crate::{Config, distance, retired, shown};

/// The keys without those of plug-ins.
static BUILT_IN: LazyLock<KeyTable> =
    LazyLock::new(|| KeyTable { rows: Config::rows().into_iter().copied().collect() });

/// The keys that a spec may set: those that are built in, and those of the plug-ins that are given with it.
#[derive(Clone, Debug)]
pub struct KeyTable {
    rows: Vec<Key>,
}

/// Every key that is built in, section by section.
pub fn rows() -> &'static [Key] {
    &BUILT_IN.rows
}

/// See [`KeyTable::lookup`], without plug-ins.
///
/// # Errors
/// As there.
pub fn lookup(path: &str) -> Result<&'static Key, String> {
    BUILT_IN.lookup(path)
}

/// Whether a key lies in this section, or in a section inside it.
fn is_inside(key: &str, section: &str) -> bool {
    key.strip_prefix(section).is_some_and(|rest| rest.starts_with('.'))
}

impl KeyTable {
    /// The keys with those of plug-ins.
    ///
    /// # Errors
    /// Two plug-ins of one name, or one whose section would be a key or section that is there.
    pub fn with(plugins: &[OwnLayer]) -> Result<KeyTable, String> {
        let mut table = BUILT_IN.clone();
        for (nth, plugin) in plugins.iter().enumerate() {
            let name = plugin.source.name();
            let section = format!("ftl.{}", name.name());
            if plugins[..nth].iter().any(|earlier| earlier.source.name() == name) {
                return Err(format!("plug-in \"{}\": is given twice", name.name()));
            }
            if BUILT_IN.is_section(&section) || BUILT_IN.rows.iter().any(|key| key.path == section) {
                return Err(format!(
                    "plug-in \"{}\": cannot have this name, because there is a key {section}",
                    name.name()
                ));
            }
            table.name_layer(name.kind());
            table.rows.extend(plugin.source.keys());
        }
        Ok(table)
    }

    /// Allows `ftl.kind` a value more.
    fn name_layer(&mut self, kind: &'static str) {
        let rows = self.rows.iter_mut().filter(|key| key.path == "ftl.kind");
        for key in rows {
            if let ValueKind::Choice(names) = key.shape {
                key.shape = ValueKind::Choice(interned::list(&[names, &[kind]].concat()));
            }
        }
    }

    /// Every key, section by section.
    pub fn rows(&self) -> &[Key] {
        &self.rows
    }

    /// Whether there is a section of this name, such as `ftl` or `ftl.superblock`.
    pub fn is_section(&self, path: &str) -> bool {
        self.rows.iter().any(|key| is_inside(key.path, path))
    }

    /// The key with this path, or in one line why there is none and what there is.
    ///
    /// # Errors
    /// A section, or a path that is no key.
    pub fn lookup(&self, path: &str) -> Result<&Key, String> {
        if let Some(key) = self.rows.iter().find(|key| key.path == path) {
            return Ok(key);
        }
        if let Some(instead) = retired::key(path) {
            return Err(format!("'{path}' is no key any more; {instead}"));
        }
        let mut names: Vec<String> = Vec::new();
        for name in self.rows.iter().filter_map(|key| inside(key.path, path)) {
            if !names.contains(&name) {
                names.push(name);
            }
        }
        match names.is_empty() {
            false => Err(format!("'{path}' is a section; its keys are {}", names.join(", "))),
            true => Err(format!("unknown key '{}'; {}", shown(path), self.instead_of(path))),
        }
    }

    /// What to say of a path that is no key: where its word is known from, else the nearest key.
    fn instead_of(&self, path: &str) -> String {
        let nearest = || format!("nearest valid key: '{}'", self.nearest(path));
        retired::key_of_value(&self.rows, path).unwrap_or_else(nearest)
    }

    /// The nearest valid path to a misspelt one; a right key in a wrong section counts as near.
    fn nearest(&self, path: &str) -> &'static str {
        let own_name = |path: &str| path.rsplit('.').next().unwrap_or_default().to_string();
        let wanted = own_name(path);
        let away = |key: &Key| {
            let whole = distance(path, key.path);
            whole.min(distance(&wanted, &own_name(key.path)) + 1)
        };
        self.rows.iter().min_by_key(|key| away(key)).map_or("seed", |key| key.path)
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
