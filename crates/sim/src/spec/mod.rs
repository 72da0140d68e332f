//! The spec: TOML in, one validated [`Spec`] out.

pub mod effect;
pub mod keys;
mod layers;
pub mod preset;
mod schema;
mod validate;

use std::fmt;

use serde::{Deserialize, Serialize};

pub use schema::{explain, schema};
pub(crate) use validate::{check_erase_table, refuse};

/// A spec that cannot be run, in one line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpecError(pub String);

impl fmt::Display for SpecError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for SpecError {}

/// Longest piece of a user's text that an error repeats, in characters.
const SHOWN_CHARS: usize = 80;

/// A user's text as an error may repeat it: on one line, without control characters, not too long.
pub(crate) fn shown(text: &str) -> String {
    let escape = |c: char| if c.is_control() { c.escape_debug().to_string() } else { c.to_string() };
    let tail = if text.chars().count() > SHOWN_CHARS { "…" } else { "" };
    text.chars().take(SHOWN_CHARS).map(escape).chain([tail.to_string()]).collect()
}

/// Where a spec comes from: each layer overrides the ones before it.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SpecSource {
    /// TOML text of a spec file.
    #[serde(default)]
    pub spec_text: Option<String>,
    /// Its name, for messages.
    #[serde(default)]
    pub spec_name: Option<String>,
    /// Preset to start from, in place of one that the file names.
    #[serde(default)]
    pub preset: Option<String>,
    /// `key = value` pairs, values as TOML text or bare words.
    #[serde(default)]
    pub sets: Vec<(String, String)>,
    /// `--scale`; 1 if absent.
    #[serde(default)]
    pub scale: Option<f64>,
}

macro_rules! section {
    ($(#[$doc:meta])* $name:ident { $($(#[$field_doc:meta])* $field:ident : $type:ty),* $(,)? }) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
        #[serde(deny_unknown_fields)]
        #[allow(missing_docs, reason = "each key is documented in the key table")]
        pub struct $name { $($(#[$field_doc])* pub $field: $type),* }
    };
}

section!(
    /// A validated spec. Fields carry the names of the keys; their meaning stands in [`keys`].
    Spec {
        seed: u64,
        geometry: GeometrySpec,
        timing: TimingSpec,
        erase: EraseSpec,
        partial_erase: PartialEraseSpec,
        ftl: FtlSpec,
        host: HostSpec,
        workload: WorkloadSpec,
        initial: InitialSpec,
        run: RunSpec,
        output: OutputSpec,
    }
);
section!(
    /// `[geometry]`
    GeometrySpec {
        channels: u32,
        chips_per_channel: u32,
        dies_per_chip: u32,
        planes_per_die: u32,
        blocks_per_plane: u32,
        pages_per_block: u16,
        page_bytes: u32,
        spare_bytes: u32,
        layers: Option<u16>,
        sub_blocks: Option<u16>,
        bits_per_cell: u8,
        write_sequence: String,
        program_order: String,
        bad_blocks_per_plane: u32,
    }
);
section!(
    /// `[timing]`
    TimingSpec {
        t_r_us: f64,
        t_prog_us: f64,
        t_bers_us: f64,
        channel_mb_per_s: f64,
        copyback: bool,
        command_overhead_us: f64,
        multi_plane: bool,
    }
);
section!(
    /// `[erase]`
    EraseSpec {
        scheme: String,
        mode: String,
        initial_pec: u16,
        rber_requirement: u32,
        ecc_bits_per_kib: f64,
        read_retry: bool,
        misprediction_rate: f64,
        max_loops: u8,
        t_ep_us: f64,
        t_vr_us: f64,
        t_se_us: f64,
        gamma: u32,
        delta: u32,
        suspension: String,
        suspend_us: f64,
        resume_us: f64,
        max_suspensions: u32,
    }
);
section!(
    /// `[partial_erase]`
    PartialEraseSpec {
        unit: String,
        max_splits: u8,
        t_us: Option<Vec<f64>>,
        disturb_tolerance: u8,
        disturb_aware: bool,
        wear_limit_w: u32,
    }
);
section!(
    /// `[ftl]`
    FtlSpec {
        kind: String,
        merge: String,
        superblock: SuperblockSpec,
        comparator: String,
        capacity_loss: f64,
        write_buffer_share: f64,
        over_provisioning: f64,
        gc_policy: String,
        d_choices: u32,
        gc_free_threshold: f64,
        gc_stop_threshold: Option<f64>,
        erase_unit: String,
        allocation: String,
        allocation_order: String,
        gc_mode: String,
        hot_cold: String,
        hot_window: f64,
        wear_leveling: String,
        wear_threshold: u32,
        map_place: String,
        map_ram_kib: Option<u32>,
        map_cache_entries: Option<u32>,
        u_index: String,
        u_blocks: Option<u32>,
    }
);
section!(
    /// `[ftl.superblock]`
    SuperblockSpec { variant: String, logical: u32, physical: Option<u32>, valid_blocks: String }
);
section!(
    /// `[host]`
    HostSpec {
        mode: String,
        queue_depth: u32,
        queues: u32,
        speedup: f64,
        write_buffer_kib: u64,
        flush: String,
        link_mb_per_s: Option<f64>,
        overhead_us: f64,
        partial_page: String,
        read_priority: bool,
    }
);
section!(
    /// `[workload]`
    WorkloadSpec {
        kind: String,
        path: Option<String>,
        format: Option<String>,
        address: String,
        volumes: String,
        trims: String,
        requests: u64,
        request_bytes: u32,
        request_sizes: Option<Vec<f64>>,
        request_weights: Option<Vec<f64>>,
        read_fraction: f64,
        trim_fraction: f64,
        footprint: f64,
        zipf_theta: f64,
        hot_space: f64,
        hot_share: f64,
        arrival: String,
        mean_interarrival_us: f64,
        mean_extent_kib: Option<f64>,
        write_extent_read_share: Option<f64>,
        fat_volume_mib: Option<u32>,
        fat_flush_kib: u32,
        fat_fragmentation: f64,
        interarrival_cv: f64,
        kind_persistence: f64,
    }
);
section!(
    /// `[initial]`
    InitialSpec { fill: f64, fill_unit: String, age_writes: f64 }
);
section!(
    /// `[run]`
    RunSpec { max_requests: Option<u64>, warmup_requests: u64, timed: bool, check: String }
);
section!(
    /// `[output]`
    OutputSpec {
        request_log: bool,
        command_log: bool,
        histograms: bool,
        wear_map: bool,
        time_series_s: Option<f64>,
    }
);

impl OutputSpec {
    /// Keys that ask for a file and are on: what a run without an output directory cannot give.
    pub fn files(&self) -> Vec<&'static str> {
        let keys = [
            (self.request_log, "output.request_log"),
            (self.command_log, "output.command_log"),
            (self.histograms, "output.histograms"),
            (self.wear_map, "output.wear_map"),
        ];
        keys.into_iter().filter(|(on, _)| *on).map(|(_, key)| key).collect()
    }
}

impl Spec {
    /// Resolves and validates a spec.
    ///
    /// # Errors
    /// [`SpecError`]: one line that names the place, what was found and what is allowed.
    pub fn resolve(source: &SpecSource) -> Result<Spec, SpecError> {
        let mut values = layers::defaults()?;
        if let Some(name) = &source.preset {
            layers::apply_preset(&mut values, "--preset", &toml::Value::from(name.as_str()), 0)?;
        }
        if let Some(text) = &source.spec_text {
            let name = source.spec_name.as_deref().unwrap_or("spec");
            let own_preset = source.preset.is_none();
            layers::apply_text(&mut values, name, text, if own_preset { Some(0) } else { None })?;
        }
        for (path, text) in &source.sets {
            layers::apply_set(&mut values, path, text)?;
        }
        let spec = Spec::from_values(values)?;
        validate::check(&spec)?;
        Ok(spec)
    }

    fn from_values(values: layers::Values) -> Result<Spec, SpecError> {
        let mut root = toml::Table::new();
        for (path, value) in values {
            let mut table = &mut root;
            let mut names = path.split('.');
            let key = names.next_back().unwrap_or_default();
            for section in names {
                let entry = table.entry(section).or_insert_with(|| toml::Table::new().into());
                let inner = entry.as_table_mut();
                table = inner.ok_or_else(|| SpecError(format!("spec: {section} is both a key and a section")))?;
            }
            table.insert(key.into(), value);
        }
        root.try_into().map_err(|error: toml::de::Error| SpecError(format!("spec: {}", error.message())))
    }
}

#[cfg(test)]
mod tests;
