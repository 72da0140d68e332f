//! The configuration of a run: TOML in, one typed [`Config`] out, whose fields are enums and numbers.
//!
//! The keys stand beside the code that reads them, in `types`, `ftl` and `workload`; those of the host and of
//! the run itself stand here. [`Config`] lists the sections once. Everything that must know every key asks
//! [`table::rows`].
#![forbid(unsafe_code)]

pub mod aged;
mod capacity;
mod check;
mod controller;
pub mod effect;
mod flow;
mod host;
mod power;
pub mod preset;
mod retired;
mod run;
mod schema;
mod sources;
mod synonyms;
pub mod table;
mod units;
mod until;

use std::fmt::Display;

use pumice_ftl::plugin::OwnLayer;
use pumice_ftl::policy::OwnPolicy;
use pumice_ftl::{FtlKeys, InitialKeys, LayerSpec, Recovery};
use pumice_types::key::{CHOSEN, Field, Key, Keys, Value, Values, When, int, read_field};
use pumice_types::{ChipKeys, Geometry, refuse};
use pumice_workload::{SharedContent, WorkloadKeys};
use serde::Deserialize;
use sha2::{Digest, Sha256};

pub use controller::ControllerKeys;
pub use flow::{FLOWS_MAX, Flow, FlowKeys, FlowMode, FlowPriority};
pub use host::{FlushPolicy, HostKeys, HostMode, PartialPage};
pub use power::{Cuts, PowerFailure, PowerKeys, TornKind};
pub use pumice_types::SpecError;
pub use run::{Check, OutputKeys, RunKeys};
pub use schema::{explain, schema};
pub use sources::{own_keys, without_effect, without_effect_on_a_chip};
pub use until::{Goal, Until};

/// Longest piece of a user's text that an error repeats, in characters.
const SHOWN_CHARS: usize = 80;

/// A user's text as an error may repeat it: on one line, without control characters, not too long.
pub(crate) fn shown(text: &str) -> String {
    let escape = |c: char| if c.is_control() { c.escape_debug().to_string() } else { c.to_string() };
    let tail = if text.chars().count() > SHOWN_CHARS { "…" } else { "" };
    text.chars().take(SHOWN_CHARS).map(escape).chain([tail.to_string()]).collect()
}

/// A message with the place that it is about before it; a value that a program set has no place but its key.
pub(crate) fn at_place(at: &str, text: impl Display) -> SpecError {
    if at.is_empty() { refuse!("{text}") } else { refuse!("{at}: {text}") }
}

/// Longest name that is compared with the known ones to find the nearest. Comparing costs time with its square.
const NAME_CHARS: usize = 100;

/// How far a name is from a known one, in letters to change; of a very long name, its beginning. Capitals do not count,
/// nor does what stands between words.
pub(crate) fn distance(name: &str, known: &str) -> usize {
    let plain = |text: &str| text.chars().take(NAME_CHARS).collect::<String>().to_lowercase().replace(['_', ' '], "-");
    strsim::damerau_levenshtein(&plain(name), &plain(known))
}

/// How many letters differ, if the known name may be meant: at most a third of them.
pub(crate) fn near(name: &str, known: &str) -> Option<usize> {
    let away = distance(name, known);
    (away * 3 <= name.chars().count()).then_some(away)
}

/// Where a spec comes from: each layer overrides the ones before it.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SpecSource {
    /// TOML text of a spec file.
    #[serde(default)]
    pub spec_text: Option<String>,
    /// Name of the spec, for messages.
    #[serde(default)]
    pub spec_name: Option<String>,
    /// Preset to start from, in place of one that the file names.
    #[serde(default)]
    pub preset: Option<String>,
    /// `key = value` pairs, values as TOML text or bare words.
    #[serde(default)]
    pub sets: Vec<(String, String)>,
    /// Where each of these pairs comes from, as messages name it: an option of the command line, or nothing for a
    /// value that a program set. `--set` where the list is shorter.
    #[serde(default)]
    pub origins: Vec<String>,
    /// `--scale`; 1 if absent.
    #[serde(default)]
    pub scale: Option<f64>,
    /// The user's own policy; code, and therefore no text of a spec.
    #[serde(skip)]
    pub own_policy: Option<OwnPolicy>,
    /// The user's own translation layers; likewise.
    #[serde(skip)]
    pub plugins: Vec<OwnLayer>,
}

impl SpecSource {
    /// Name of the preset that the spec starts from: the one that is asked for, else the one that its text names.
    pub fn preset_name(&self) -> Option<String> {
        let named = || {
            let table: toml::Table = toml::from_str(self.spec_text.as_deref()?).ok()?;
            Some(table.get("preset")?.as_str()?.to_string())
        };
        self.preset.clone().or_else(named)
    }
}

/// The one key outside every section.
const SEED: Key = Key {
    path: "seed",
    shape: u64::SHAPE,
    range: int(0, i64::MAX),
    unit: "",
    default: "1",
    source: CHOSEN,
    when: When::Always,
    text: "Seed of every random stream: twins, generators, bad blocks. Same spec and seed, same result.",
    check: |value| u64::read(Some(value)).map(|_| ()),
};

/// A validated spec, one field a section.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// Seed of every random stream.
    pub seed: u64,
    /// `[geometry]`, `[timing]`, `[erase]`, `[partial_erase]`
    pub chip: ChipKeys,
    /// `[ftl]`
    pub ftl: FtlKeys,
    /// `[host]`
    pub host: HostKeys,
    /// `[controller]`
    pub controller: ControllerKeys,
    /// `[workload]`: what the run asks for, or what all its flows have in common.
    pub workload: WorkloadKeys,
    /// `[[workload.flow]]`
    pub flows: Vec<Flow>,
    /// `[initial]`
    pub initial: InitialKeys,
    /// `[power]`
    pub power: PowerKeys,
    /// `[run]`
    pub run: RunKeys,
    /// `[output]`
    pub output: OutputKeys,
    /// What `workload.path` is read from in place of the file. It is no key: the caller sets it, and the result
    /// identifies it by its SHA-256.
    pub recorded: Option<SharedContent>,
    /// Where aged devices are kept for other runs. It is no key: the caller sets it, and no result depends on it.
    pub aged_devices: Option<aged::SharedAgedDevices>,
}

impl Keys for Config {
    fn rows() -> Vec<&'static Key> {
        [
            vec![&SEED],
            ChipKeys::rows(),
            FtlKeys::rows(),
            HostKeys::rows(),
            ControllerKeys::rows(),
            WorkloadKeys::rows(),
            InitialKeys::rows(),
            PowerKeys::rows(),
            RunKeys::rows(),
            OutputKeys::rows(),
        ]
        .concat()
    }

    fn read(values: &Values) -> Result<Config, SpecError> {
        Ok(Config {
            seed: read_field(SEED.path, values)?,
            chip: Keys::read(values)?,
            ftl: Keys::read(values)?,
            host: Keys::read(values)?,
            controller: Keys::read(values)?,
            workload: Keys::read(values)?,
            flows: flow::read(values)?,
            initial: Keys::read(values)?,
            power: Keys::read(values)?,
            run: Keys::read(values)?,
            output: Keys::read(values)?,
            recorded: None,
            aged_devices: None,
        })
    }

    fn write(&self, values: &mut Values) {
        values.extend(self.seed.write().map(|seed| (SEED.path, seed)));
        self.chip.write(values);
        self.ftl.write(values);
        self.host.write(values);
        self.controller.write(values);
        self.workload.write(values);
        flow::write(&self.flows, values);
        self.initial.write(values);
        self.power.write(values);
        self.run.write(values);
        self.output.write(values);
    }
}

impl Config {
    /// Resolves and validates a spec.
    ///
    /// # Errors
    /// [`SpecError`]: one line that names the place, what was found and what is allowed.
    pub fn resolve(source: &SpecSource) -> Result<Config, SpecError> {
        let values = sources::values(source)?;
        let mut config = Config::read(&values)?;
        config.ftl.shared.spare_over_user = Some(sources::spare_over_user(config.ftl.shared.over_provisioning));
        config.ftl.own_policy = source.own_policy.as_ref().map(|policy| policy.with_values(&values));
        config.ftl.give_plugins(&source.plugins);
        let config = capacity::sized(config, source.scale).map_err(|error| sources::with_aliases(source, error))?;
        check::check(&config).map_err(|error| sources::with_aliases(source, error))?;
        Ok(config)
    }

    /// Resolves and validates a spec for its chips alone: seed and the sections that describe chips. The other
    /// sections may be there, and their values are checked one by one.
    ///
    /// # Errors
    /// [`SpecError`]: one line that names the place, what was found and what is allowed.
    pub fn resolve_chip(source: &SpecSource) -> Result<(u64, ChipKeys), SpecError> {
        let Config { seed, chip, .. } = Config::read(&sources::values(source)?)?;
        check::check_chip(&chip)?;
        Ok((seed, chip))
    }

    /// The chips that the translation layer assumes: the spec's, but for layers that are compared on chips of
    /// their own.
    pub fn assumed_chip(&self) -> ChipKeys {
        self.ftl.adapted(&self.chip)
    }

    /// Bytes that one entry of the map stands for: of a page, or of a mapping unit.
    pub fn mapped_page_bytes(&self) -> u32 {
        self.assumed_chip().geometry.page_bytes
    }

    /// Whether the device recovers from power cuts, and may bring back then what was trimmed: its layer has no way to
    /// write trims down.
    pub fn forgets_trims(&self) -> bool {
        self.ftl.shared.recovery != Recovery::Off && self.ftl.kind.facts().forgets_trims()
    }

    /// The device's shape at a scale, with the blocks that the translation layer adds.
    ///
    /// # Errors
    /// A scale that does not fit the geometry.
    pub fn device_geometry(&self, scale: f64) -> Result<Geometry, SpecError> {
        let chip = self.assumed_chip();
        let mut geometry = chip.scaled(scale)?;
        geometry.blocks_per_plane += self.ftl.extra_blocks(&self.layer_spec(&chip));
        Ok(geometry)
    }

    /// Logical pages that the host may address on the device at a scale.
    ///
    /// # Errors
    /// A scale that does not fit the geometry.
    pub fn user_pages(&self, scale: f64) -> Result<u32, SpecError> {
        let chip = self.assumed_chip();
        self.ftl.user_pages(&self.layer_spec(&chip), &self.device_geometry(scale)?)
    }

    /// Bytes that the host can address at a scale.
    ///
    /// # Errors
    /// As [`Config::user_pages`].
    pub fn user_bytes(&self, scale: f64) -> Result<u64, SpecError> {
        Ok(u64::from(self.user_pages(scale)?) * u64::from(self.assumed_chip().geometry.page_bytes))
    }

    /// What the run asks for: its workload, or the workloads of its flows.
    pub fn workloads(&self) -> impl Iterator<Item = &WorkloadKeys> {
        let own = self.flows.is_empty().then_some(&self.workload);
        own.into_iter().chain(self.flows.iter().map(|flow| &flow.workload))
    }

    /// The translation layer's part of the spec; `chip` is [`Config::assumed_chip`].
    pub fn layer_spec<'a>(&'a self, chip: &'a ChipKeys) -> LayerSpec<'a> {
        self.ftl.spec(chip, &self.initial)
    }

    /// Every key with its value as JSON, in sections; null for a key that has none.
    pub fn to_json(&self) -> serde_json::Value {
        let mut values = Values::new();
        self.write(&mut values);
        let mut root = serde_json::Map::new().into();
        let of_layer = self.ftl.own_layer().map_or(&[][..], |layer| layer.source.keys());
        let of_policy = self.ftl.own_policy.as_ref().map_or(&[][..], |policy| policy.0.keys());
        for key in table::rows().iter().chain(of_layer).chain(of_policy) {
            let value = values.get(key.path).map_or(serde_json::Value::Null, json);
            *schema::place(&mut root, key.path) = value;
        }
        if !self.flows.is_empty() {
            *schema::place(&mut root, flow::SECTION) = flow::to_json(&self.flows, &values);
        }
        root
    }

    /// The keys that a result depends on: all but those that only ask for files.
    pub fn result_keys(&self) -> serde_json::Value {
        let mut keys = self.to_json();
        keys["output"] = serde_json::json!({
            "time_series_s": self.output.time_series_s, "write_series": self.output.write_series,
        });
        keys
    }

    /// SHA-256 of [`Config::result_keys`]: two specs with the same digest have the same result.
    pub fn digest(&self) -> String {
        Sha256::digest(self.result_keys().to_string().as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

fn json(value: &Value) -> serde_json::Value {
    match value {
        Value::Int(number) => (*number).into(),
        Value::Float(number) => (*number).into(),
        Value::Bool(on) => (*on).into(),
        Value::Text(text) => text.as_str().into(),
        Value::Floats(list) => list.as_slice().into(),
    }
}

#[cfg(test)]
mod tests;
