//! From the spec's `[workload]` to a stream of requests.

use std::io::Write;
use std::path::Path;
use std::str::FromStr;

use pumice_workload::{
    Access, Arrival, ArrivalKind, Compression, FatOptions, Notes, Placement, RequestSizes, SyntheticOptions,
    TraceFormat, TraceOptions, Trims, TwinOptions, Volumes, W_PERCENT, Workload, WriteReport, fat, fat_catalogue,
    open_trace_with, synthetic, twin, twin_catalogue, write_trace_as,
};

use pumice_config::{Config, SpecError};

use crate::build;
use crate::error::SimError;

/// Prefix of workloads that stand in for a published trace.
const TWIN: &str = "twin:";

/// Every workload that needs no file: name and description.
pub fn catalogue() -> Vec<(String, String)> {
    let twins = twin_catalogue().iter().map(|facts| {
        let about = format!(
            "stand-in for {} ({}): {} M reads of {} GiB, {} M writes of {} GiB to {} GiB, one week",
            facts.name,
            facts.description,
            to_thousandths(facts.read_requests_m),
            to_thousandths(facts.read_gib),
            to_thousandths(facts.write_requests_m),
            to_thousandths(facts.write_gib),
            facts.write_coverage_gib
        );
        (format!("{TWIN}{}", facts.name), about)
    });
    let file_systems = fat_catalogue().iter().map(|facts| {
        let about = format!(
            "{}; FAT32 of {} MiB, {} pages of 2 KiB written",
            facts.description, facts.storage_mib, facts.pages_written
        );
        (facts.name.to_string(), about)
    });
    let generators = [
        ("uniform", "requests at uniformly random addresses of the footprint"),
        ("sequential", "requests one after the other through the footprint"),
        ("zipf", "requests whose addresses follow Zipf's law with exponent zipf_theta, spread over the footprint"),
        ("hot-cold", "a share hot_space of the footprint takes a share hot_share of the requests"),
    ];
    let generators = generators.map(|(name, about)| (name.to_string(), about.to_string()));
    let hot = W_PERCENT.map(|percent| {
        let share = 100 - percent;
        (format!("w{percent}"), format!("one-page random writes, {share} % of them to {percent} % of the footprint"))
    });
    twins.chain(file_systems).chain(generators).chain(hot).collect()
}

fn to_thousandths(value: f64) -> f64 {
    (value * 1e3).round() / 1e3
}

/// Opens the spec's workload for a device of `capacity_bytes`.
///
/// # Errors
/// A trace that cannot be read, or a workload that does not fit the device.
pub fn open(config: &Config, scale: f64, capacity_bytes: u64) -> Result<Workload, SimError> {
    let workload = &config.workload;
    let page_bytes = config.chip.geometry.page_bytes;
    let placement = Placement { capacity_bytes, page_bytes, policy: workload.address };
    if let Some(path) = &workload.path {
        if scale != 1.0 {
            return Err(SpecError(format!("scale {scale}: a real trace is never scaled; leave the scale at 1")).into());
        }
        return Ok(open_trace_with(Path::new(path), &trace_options(config)?, &placement)?);
    }
    if let Some(name) = workload.kind.strip_prefix(TWIN) {
        let options = TwinOptions {
            scale,
            seed: config.seed,
            write_extent_read_share: workload.write_extent_read_share,
            mean_extent_kib: workload.mean_extent_kib,
            interarrival_cv: workload.interarrival_cv,
            kind_persistence: workload.kind_persistence,
        };
        return Ok(twin(name, &options, &placement)?);
    }
    if fat_catalogue().iter().any(|facts| facts.name == workload.kind) {
        return Ok(fat(&workload.kind, &file_system(config, scale), &placement)?);
    }
    Ok(synthetic(&generator(config, scale)?, &placement)?)
}

/// The options of the spec's file system.
fn file_system(config: &Config, scale: f64) -> FatOptions {
    let workload = &config.workload;
    FatOptions {
        scale,
        seed: config.seed,
        volume_mib: workload.fat_volume_mib,
        flush_kib: workload.fat_flush_kib,
        fragmentation: workload.fat_fragmentation,
        arrival: arrival(config, scale),
    }
}

/// When requests of a generator or a file system arrive.
fn arrival(config: &Config, scale: f64) -> Arrival {
    let mean_us = config.workload.mean_interarrival_us / scale;
    match config.workload.arrival {
        ArrivalKind::Poisson => Arrival::Poisson { mean_us },
        ArrivalKind::Fixed => Arrival::Fixed { mean_us },
        ArrivalKind::Bursty => Arrival::Bursty { mean_us, cv: config.workload.interarrival_cv },
    }
}

/// How the spec's trace is to be read.
fn trace_options(config: &Config) -> Result<TraceOptions, SimError> {
    let format = config.workload.format.as_deref().map(TraceFormat::from_str).transpose()?;
    let drop_trims = config.workload.trims == Trims::Drop;
    Ok(TraceOptions { format, volumes: Volumes::from_str(&config.workload.volumes)?, drop_trims })
}

/// The spec's generator.
fn generator(config: &Config, scale: f64) -> Result<SyntheticOptions, SimError> {
    let workload = &config.workload;
    // w10 to w40 say themselves where and how long requests are.
    let w = Access::of_w(&workload.kind);
    let sizes = match &workload.request_sizes {
        _ if w.is_some() => RequestSizes::one(config.chip.geometry.page_bytes),
        None => RequestSizes::one(workload.request_bytes),
        Some(sizes) => {
            let weights = workload.request_weights.clone().unwrap_or_else(|| vec![1.0; sizes.len()]);
            let pairs: Vec<(u32, f64)> = sizes.iter().map(|&bytes| bytes as u32).zip(weights).collect();
            RequestSizes::mixed(&pairs)?
        }
    };
    Ok(SyntheticOptions {
        requests: ((workload.requests as f64 * scale).round() as u64).max(1),
        sizes,
        access: w.unwrap_or(match workload.kind.as_str() {
            "sequential" => Access::Sequential,
            "zipf" => Access::Zipf { theta: workload.zipf_theta },
            "hot-cold" => Access::HotCold { hot_space: workload.hot_space, hot_share: workload.hot_share },
            _ => Access::Uniform,
        }),
        read_fraction: if w.is_some() { 0.0 } else { workload.read_fraction },
        trim_fraction: workload.trim_fraction,
        footprint: workload.footprint,
        arrival: arrival(config, scale),
        seed: config.seed,
    })
}

/// Writes the spec's workload as a trace, every address as the workload gives it: a trace keeps its
/// own, others have those of the spec's device.
///
/// # Errors
/// As [`open`], and a workload or stream that cannot be written.
pub fn write(
    config: &Config,
    scale: f64,
    (format, compression): (&str, Compression),
    out: &mut dyn Write,
) -> Result<WriteReport, SimError> {
    let format = TraceFormat::from_str(format)?;
    let capacity = match config.workload.path {
        Some(_) => u64::MAX,
        None => u64::from(build::user_pages(config, scale)?) * u64::from(config.chip.geometry.page_bytes),
    };
    Ok(write_trace_as(&mut open(config, scale, capacity)?, format, compression, out)?)
}

/// What happened to the workload on its way in, as warnings.
pub fn warnings(workload: &Workload) -> Vec<String> {
    let notes = workload.notes();
    [
        (notes.reordered, "requests ran backwards in time and were reordered"),
        (notes.clamped, "requests ran backwards beyond the reordering window and were set to the time before"),
        (notes.wrapped, "requests lay beyond the device and were wrapped into it"),
        (notes.moved, "requests were moved back so as not to cross the end of the device or of a compacted region"),
        (
            notes.other_volumes,
            "records are of another volume than the first; all share one address space (workload.volumes)",
        ),
        (notes.left_out, "records are of another volume than the one asked for and were left out"),
        (notes.discards, "trims were left out"),
        (notes.no_data, "records move no data and were left out"),
        (notes.clock_jumps, "times ran backwards far enough for the clock to have been set"),
        (notes.unlikely_times, "records have a time that the format's calendar does not expect; taken as it stands"),
    ]
    .into_iter()
    .filter(|(count, _)| *count > 0)
    .map(|(count, what)| format!("{count} {what}"))
    .chain(clock_warning(&notes))
    .collect()
}

/// What a trace without a fine clock means for latencies.
fn clock_warning(notes: &Notes) -> Option<String> {
    match notes.coarse_clock_ns {
        _ if notes.untimed => {
            Some("the trace has no times: all requests arrive at once; use host.mode = \"closed-loop\"".into())
        }
        0 => None,
        grain => Some(format!(
            "the trace's clock has a grain of {} ms: requests of one grain arrive at once",
            grain as f64 / 1e6
        )),
    }
}
