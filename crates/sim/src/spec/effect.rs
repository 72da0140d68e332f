//! Keys that are not read in every run, and when. A key that the user set and the run does not read
//! deserves a word: the result does not depend on it, whatever the user expected.
//!
//! Left out are keys whose other values are refused where they have no effect, such as `ftl.hot_cold`
//! with an NFTL, and `erase.gamma` and `erase.delta`, which scale fail-bit counts and no run at all.

use std::collections::BTreeSet;

use super::{Spec, SpecError, SpecSource, layers};

/// Keys that are read together.
pub struct Effect {
    /// Their paths.
    pub keys: &'static [&'static str],
    /// What keeps a run from reading them, as `key = value`; `None` if it does read them.
    pub idle: fn(&Spec) -> Option<String>,
}

/// The keys that some runs do not read. No key stands twice.
pub const EFFECTS: &[Effect] = &[
    Effect { keys: &["geometry.bits_per_cell"], idle: |s| given(s.geometry.layers.is_some(), "geometry.layers") },
    Effect {
        keys: &["geometry.write_sequence"],
        idle: |s| if s.erase.read_retry { None } else { one_of(&["sub-block"], "ftl.erase_unit", &s.ftl.erase_unit) },
    },
    Effect { keys: &["timing.multi_plane"], idle: timed },
    Effect {
        keys: &["erase.mode", "erase.initial_pec", "erase.rber_requirement", "erase.t_ep_us", "erase.t_vr_us"],
        idle: |s| none_of(&["fixed"], "erase.scheme", &s.erase.scheme),
    },
    Effect {
        keys: &["erase.misprediction_rate", "erase.t_se_us"],
        idle: |s| one_of(&["aero-cons", "aero", "aero-fit"], "erase.scheme", &s.erase.scheme),
    },
    Effect {
        keys: &["erase.ecc_bits_per_kib"],
        idle: |s| if s.erase.read_retry { None } else { none_of(&["fixed"], "erase.scheme", &s.erase.scheme) },
    },
    Effect { keys: &["erase.suspension"], idle: timed },
    Effect { keys: &["erase.suspend_us", "erase.resume_us"], idle: |s| timed(s).or_else(|| suspended(s)) },
    Effect {
        keys: &["erase.max_suspensions"],
        idle: |s| timed(s).or_else(|| one_of(&["capped"], "erase.suspension", &s.erase.suspension)),
    },
    Effect { keys: &["partial_erase.max_splits"], idle: splits },
    Effect {
        keys: &["partial_erase.t_us", "partial_erase.disturb_tolerance", "partial_erase.disturb_aware"],
        idle: |s| splits(s).or_else(|| erases_parts(s)),
    },
    Effect {
        keys: &["partial_erase.wear_limit_w"],
        idle: |s| splits(s).or_else(|| none_of(&["block-erase"], "ftl.merge", &s.ftl.merge)),
    },
    Effect {
        keys: &["ftl.superblock.variant", "ftl.superblock.logical", "ftl.superblock.physical"],
        idle: |s| ftl(s, &["superblock"]),
    },
    Effect { keys: &["ftl.superblock.valid_blocks"], idle: |s| ftl(s, &["superblock"]).or_else(|| variant_2006(s)) },
    Effect { keys: &["ftl.write_buffer_share"], idle: |s| one_of(&["gftl"], "ftl.comparator", &s.ftl.comparator) },
    Effect {
        keys: &["ftl.gc_free_threshold"],
        idle: |s| match s.ftl.superblock.variant.as_str() {
            "2006" => ftl(s, &["page", "nftl"]),
            _ => ftl(s, &["page", "nftl", "superblock"]),
        },
    },
    Effect { keys: &["ftl.gc_stop_threshold", "ftl.gc_policy", "ftl.allocation_order"], idle: page },
    Effect {
        keys: &["ftl.d_choices"],
        idle: |s| page(s).or_else(|| one_of(&["d-choices"], "ftl.gc_policy", &s.ftl.gc_policy)),
    },
    Effect {
        keys: &["ftl.hot_window"],
        idle: |s| page(s).or_else(|| one_of(&["recency"], "ftl.hot_cold", &s.ftl.hot_cold)),
    },
    Effect {
        keys: &["ftl.wear_threshold"],
        idle: |s| page(s).or_else(|| one_of(&["static", "both"], "ftl.wear_leveling", &s.ftl.wear_leveling)),
    },
    Effect { keys: &["ftl.map_ram_kib"], idle: page },
    Effect { keys: &["ftl.map_cache_entries"], idle: map_cache },
    Effect { keys: &["ftl.u_index"], idle: |s| ftl(s, &["nftl"]) },
    Effect {
        keys: &["ftl.u_blocks"],
        idle: |s| match s.ftl.kind.as_str() {
            "superblock" => variant_2006(s),
            _ => ftl(s, &["replacement-block", "log-block", "fast"]),
        },
    },
    Effect { keys: &["host.mode", "host.link_mb_per_s", "host.overhead_us", "host.read_priority"], idle: timed },
    Effect {
        keys: &["host.queue_depth", "host.queues"],
        idle: |s| timed(s).or_else(|| one_of(&["closed-loop"], "host.mode", &s.host.mode)),
    },
    Effect { keys: &["host.speedup"], idle: open_loop },
    Effect {
        keys: &["host.flush"],
        idle: |s| (s.host.write_buffer_kib == 0).then(|| "host.write_buffer_kib = 0".into()),
    },
    Effect { keys: &["workload.address"], idle: |s| (is_drawn(s) || is_w(s)).then(|| kind(s)) },
    Effect { keys: &["workload.volumes", "workload.trims"], idle: |s| (s.workload.kind != "trace").then(|| kind(s)) },
    Effect {
        keys: &["workload.requests", "workload.trim_fraction"],
        idle: |s| (!is_drawn(s) && !is_w(s)).then(|| kind(s)),
    },
    Effect {
        keys: &["workload.footprint"],
        idle: |s| (!is_drawn(s) && !is_w(s) && s.initial.age_writes == 0.0).then(|| kind(s)),
    },
    Effect {
        keys: &["workload.request_sizes", "workload.request_weights", "workload.read_fraction"],
        idle: |s| (!is_drawn(s)).then(|| kind(s)),
    },
    Effect {
        keys: &["workload.request_bytes"],
        idle: |s| match is_drawn(s) {
            true => s.workload.request_sizes.is_some().then(|| "workload.request_sizes given".into()),
            false => Some(kind(s)),
        },
    },
    Effect { keys: &["workload.zipf_theta"], idle: |s| one_of(&["zipf"], "workload.kind", &s.workload.kind) },
    Effect {
        keys: &["workload.hot_space", "workload.hot_share"],
        idle: |s| one_of(&["hot-cold"], "workload.kind", &s.workload.kind),
    },
    Effect {
        keys: &["workload.arrival", "workload.mean_interarrival_us"],
        idle: |s| (is_twin(s) || s.workload.kind == "trace").then(|| kind(s)).or_else(|| open_loop(s)),
    },
    Effect { keys: &["workload.interarrival_cv"], idle: interarrival_cv },
    Effect {
        keys: &["workload.mean_extent_kib", "workload.write_extent_read_share", "workload.kind_persistence"],
        idle: |s| (!is_twin(s)).then(|| kind(s)),
    },
    Effect {
        keys: &["workload.fat_volume_mib", "workload.fat_flush_kib", "workload.fat_fragmentation"],
        idle: |s| (is_drawn(s) || is_w(s) || is_twin(s) || s.workload.kind == "trace").then(|| kind(s)),
    },
    Effect { keys: &["initial.fill_unit"], idle: |s| none_of(&["page"], "ftl.kind", &s.ftl.kind) },
];

/// One line for each key that a source sets itself, not by its preset, and that its spec does not read.
///
/// # Errors
/// A source that [`Spec::resolve`] refuses as well.
pub fn without_effect(source: &SpecSource, spec: &Spec) -> Result<Vec<String>, SpecError> {
    let own = own_keys(source)?;
    let line = |key: &&str, idle: &str| format!("{key} has no effect with {idle}");
    let silent = EFFECTS.iter().filter_map(|effect| Some((effect.keys, (effect.idle)(spec)?)));
    Ok(silent
        .flat_map(|(keys, idle)| keys.iter().filter(|&&key| own.contains(key)).map(move |key| line(key, &idle)))
        .collect())
}

/// The keys that a source sets in its text and its sets.
fn own_keys(source: &SpecSource) -> Result<BTreeSet<&'static str>, SpecError> {
    let mut values = layers::Values::new();
    if let Some(text) = &source.spec_text {
        layers::apply_text(&mut values, source.spec_name.as_deref().unwrap_or("spec"), text, None)?;
    }
    for (path, text) in &source.sets {
        layers::apply_set(&mut values, path, text)?;
    }
    Ok(values.into_keys().collect())
}

fn one_of(read_with: &[&str], key: &str, value: &str) -> Option<String> {
    (!read_with.contains(&value)).then(|| format!("{key} = \"{value}\""))
}

fn none_of(idle_with: &[&str], key: &str, value: &str) -> Option<String> {
    idle_with.contains(&value).then(|| format!("{key} = \"{value}\""))
}

fn given(is_given: bool, key: &str) -> Option<String> {
    (!is_given).then(|| format!("no {key}"))
}

fn timed(spec: &Spec) -> Option<String> {
    (!spec.run.timed).then(|| "run.timed = false".into())
}

fn open_loop(spec: &Spec) -> Option<String> {
    timed(spec).or_else(|| one_of(&["open-loop"], "host.mode", &spec.host.mode))
}

fn suspended(spec: &Spec) -> Option<String> {
    none_of(&["off"], "erase.suspension", &spec.erase.suspension)
}

fn splits(spec: &Spec) -> Option<String> {
    one_of(&["partial-block"], "partial_erase.unit", &spec.partial_erase.unit)
}

/// Whether anybody erases partial blocks.
fn erases_parts(spec: &Spec) -> Option<String> {
    match spec.ftl.kind.as_str() {
        "page" => one_of(&["partial-block"], "ftl.erase_unit", &spec.ftl.erase_unit),
        _ => none_of(&["block-erase"], "ftl.merge", &spec.ftl.merge),
    }
}

fn ftl(spec: &Spec, kinds: &[&str]) -> Option<String> {
    one_of(kinds, "ftl.kind", &spec.ftl.kind)
}

fn page(spec: &Spec) -> Option<String> {
    ftl(spec, &["page"])
}

fn variant_2006(spec: &Spec) -> Option<String> {
    one_of(&["2006"], "ftl.superblock.variant", &spec.ftl.superblock.variant)
}

/// The map of a page-level FTL, which refuses the key unless it is cached, or of the superblocks of 2006.
fn map_cache(spec: &Spec) -> Option<String> {
    match spec.ftl.kind.as_str() {
        "page" => None,
        "superblock" => one_of(&["spare"], "ftl.map_place", &spec.ftl.map_place),
        _ => ftl(spec, &[]),
    }
}

/// Read by twins, and by whatever else arrives in bursts.
fn interarrival_cv(spec: &Spec) -> Option<String> {
    let read = is_twin(spec) || spec.workload.kind != "trace" && spec.workload.arrival == "bursty";
    let idle = match spec.workload.kind.as_str() {
        "trace" => kind(spec),
        _ => format!("workload.arrival = \"{}\"", spec.workload.arrival),
    };
    (!read).then_some(idle).or_else(|| open_loop(spec))
}

/// Whether the workload is a generator whose requests the spec describes.
fn is_drawn(spec: &Spec) -> bool {
    ["uniform", "sequential", "zipf", "hot-cold"].contains(&spec.workload.kind.as_str())
}

/// Whether the workload is one of w10 to w40, which say themselves what their requests are.
fn is_w(spec: &Spec) -> bool {
    ["w10", "w20", "w30", "w40"].contains(&spec.workload.kind.as_str())
}

fn is_twin(spec: &Spec) -> bool {
    spec.workload.kind.starts_with("twin:")
}

fn kind(spec: &Spec) -> String {
    format!("workload.kind = \"{}\"", spec.workload.kind)
}
