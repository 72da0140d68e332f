//! Every key of the spec, found by path.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use pumice_ftl::plugin::OwnLayer;
use pumice_ftl::policy::OwnPolicy;
use pumice_types::key::{Key, Keys, ValueKind};
use pumice_types::{SpecError, interned, refuse};

use crate::{Config, distance, near, retired, shown, synonyms};

/// What stands in a spec beside its keys.
const PRESET: &str = "preset";

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
pub fn lookup(path: &str) -> Result<&'static Key, SpecError> {
    BUILT_IN.lookup(path)
}

/// Whether a key lies in this section, or in a section inside it.
fn is_inside(key: &str, section: &str) -> bool {
    key.strip_prefix(section).is_some_and(|rest| rest.starts_with('.'))
}

impl KeyTable {
    /// The keys with those of plug-ins and of a policy of the user's own.
    ///
    /// # Errors
    /// Two plug-ins of one name, or one whose section would be a key or section that is there.
    pub fn with(plugins: &[OwnLayer], policy: Option<&OwnPolicy>) -> Result<KeyTable, SpecError> {
        let mut table = BUILT_IN.clone();
        table.rows.extend(policy.map_or(&[][..], |policy| policy.0.keys()));
        for (nth, plugin) in plugins.iter().enumerate() {
            let name = plugin.source.name();
            let section = format!("ftl.{}", name.name());
            if plugins[..nth].iter().any(|earlier| earlier.source.name() == name) {
                return Err(refuse!("plug-in \"{}\": is given twice", name.name()));
            }
            if BUILT_IN.is_section(&section) || BUILT_IN.rows.iter().any(|key| key.path == section) {
                return Err(refuse!(
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
    pub fn lookup(&self, path: &str) -> Result<&Key, SpecError> {
        if let Some(key) = self.rows.iter().find(|key| key.path == path) {
            return Ok(key);
        }
        if path == PRESET {
            return Err(refuse!("'{PRESET}' is no key: it names what a spec starts from; `pumice presets` lists them"));
        }
        if let Some(instead) = retired::key(path) {
            return Err(refuse!("'{path}' is no key any more; {instead}"));
        }
        let mut names: Vec<String> = Vec::new();
        for name in self.rows.iter().filter_map(|key| inside(key.path, path)) {
            if !names.contains(&name) {
                names.push(name);
            }
        }
        match names.is_empty() {
            false => Err(refuse!("'{path}' is a section; its keys are {}", names.join(", "))),
            true => Err(refuse!("unknown key '{}'; {}", shown(path), self.instead_of(path))),
        }
    }

    /// What to say of a path that is no key: where its word is known from, else the nearest name, if one is near.
    fn instead_of(&self, path: &str) -> String {
        let nearest = || {
            let near = self.nearest(path).or_else(|| synonyms::instead_of_nearly(path));
            near.unwrap_or_else(|| "`pumice explain --all` lists the keys".into())
        };
        match synonyms::instead_of(path) {
            Some(meant) if !self.is_name(path) => meant,
            Some(meant) => match self.nearest_known(path) {
                Some((key, false)) if meant.contains(key) => meant,
                _ => format!("{meant}; {}", nearest()),
            },
            None => retired::key_of_value(&self.rows, path).unwrap_or_else(nearest),
        }
    }

    /// Whether a path ends like a key: the name is right, and the section is missing or wrong.
    fn is_name(&self, path: &str) -> bool {
        let last = |path: &str| path.rsplit('.').next().unwrap_or_default().to_string();
        self.rows.iter().any(|key| last(key.path) == last(path))
    }

    /// The nearest key or section to a misspelt path; `None` if none is near. A right name in a wrong section is.
    pub(crate) fn nearest(&self, path: &str) -> Option<String> {
        self.nearest_known(path).map(|(name, is_section)| match is_section {
            true => format!("nearest valid section: [{name}]"),
            false => format!("nearest valid key: '{name}'"),
        })
    }

    /// The name of [`KeyTable::nearest`], and whether it is that of a section.
    fn nearest_known(&self, path: &str) -> Option<(&'static str, bool)> {
        let keys = self.rows.iter().map(|key| (key.path, false)).chain([(PRESET, false)]);
        let sections = self.sections().into_iter().map(|section| (section, true));
        let away = |(known, is_section): (&'static str, bool)| Some((path_away(path, known)?, is_section, known));
        sections.chain(keys).filter_map(away).min().map(|(_, is_section, name)| (name, is_section))
    }

    /// Every section, and every section inside one.
    pub(crate) fn sections(&self) -> BTreeSet<&'static str> {
        let inside = |path: &'static str| path.match_indices('.').map(move |(end, _)| &path[..end]);
        self.rows.iter().flat_map(|key| inside(key.path)).collect()
    }
}

/// What a wrong section counts at the most, in letters of the name.
const SECTION_AWAY_MAX: usize = 3;

/// How far a path is from a known one, if the known one may be meant: their last parts are near. Of those that are
/// equally near the one in the nearest section comes first.
fn path_away(path: &str, known: &str) -> Option<usize> {
    let (section, name) = path.rsplit_once('.').unwrap_or(("", path));
    let (known_section, known_name) = known.rsplit_once('.').unwrap_or(("", known));
    Some(near(name, known_name)? + distance(section, known_section).min(SECTION_AWAY_MAX))
}

/// A key of a section; of a section inside it, that it has keys.
fn inside(key: &str, section: &str) -> Option<String> {
    if !is_inside(key, section) {
        return None;
    }
    let rest = &key[section.len() + 1..];
    Some(rest.split_once('.').map_or_else(|| key.to_string(), |(inner, _)| format!("{section}.{inner}.*")))
}
