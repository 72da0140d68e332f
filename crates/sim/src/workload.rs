//! From the spec's `[workload]` to a stream of requests.

use std::path::Path;
use std::str::FromStr;

use pumice_workload::{
    AddressPolicy, Arrival, GeneratorOptions, Placement, TraceFormat, TwinOptions, Workload, open_trace, sequential,
    twin, twin_catalogue, uniform,
};

use crate::error::SimError;
use crate::spec::{Spec, SpecError};

/// Prefix of workloads that stand in for a published trace.
const TWIN: &str = "twin:";

/// Every workload that needs no file: name and description.
pub fn catalogue() -> Vec<(String, String)> {
    let twins = twin_catalogue().iter().map(|facts| {
        let about = format!(
            "stand-in for {} ({}): {} M reads of {} GiB, {} M writes of {} GiB to {} GiB, one week",
            facts.name,
            facts.description,
            facts.read_requests_m,
            facts.read_gib,
            facts.write_requests_m,
            facts.write_gib,
            facts.write_coverage_gib
        );
        (format!("{TWIN}{}", facts.name), about)
    });
    let generators = [
        ("uniform", "requests at uniformly random addresses of the footprint"),
        ("sequential", "requests one after the other through the footprint"),
    ];
    twins.chain(generators.map(|(name, about)| (name.to_string(), about.to_string()))).collect()
}

/// Checks the name of a workload that is neither a trace nor a generator.
pub fn check_name(kind: &str) -> Result<(), SpecError> {
    let names: Vec<String> = catalogue().into_iter().map(|(name, _)| name).chain(["trace".to_string()]).collect();
    if names.iter().any(|name| name == kind) {
        return Ok(());
    }
    let nearest = names.iter().min_by_key(|name| strsim::damerau_levenshtein(name, kind)).cloned().unwrap_or_default();
    Err(SpecError(format!(
        "workload.kind = \"{kind}\" does not exist; nearest: \"{nearest}\"; `pumice workloads` lists all"
    )))
}

/// Opens the spec's workload for a device of `capacity_bytes`.
///
/// # Errors
/// A trace that cannot be read, or a workload that does not fit the device.
pub fn open(spec: &Spec, scale: f64, capacity_bytes: u64) -> Result<Workload, SimError> {
    let workload = &spec.workload;
    let policy = match workload.address.as_str() {
        "wrap" => AddressPolicy::Wrap,
        "compact" => AddressPolicy::Compact,
        _ => AddressPolicy::Exact,
    };
    let placement = Placement { capacity_bytes, page_bytes: spec.geometry.page_bytes, policy };
    if let Some(path) = &workload.path {
        if scale != 1.0 {
            return Err(SpecError(format!("scale {scale}: a real trace is never scaled; leave the scale at 1")).into());
        }
        let format = workload.format.as_deref().map(TraceFormat::from_str).transpose()?;
        return Ok(open_trace(Path::new(path), format, &placement)?);
    }
    if let Some(name) = workload.kind.strip_prefix(TWIN) {
        let options = TwinOptions {
            scale,
            seed: spec.seed,
            write_extent_read_share: workload.write_extent_read_share,
            mean_extent_kib: workload.mean_extent_kib,
            interarrival_cv: workload.interarrival_cv,
            max_requests: None,
        };
        return Ok(twin(name, &options, &placement)?);
    }
    let mean_us = workload.mean_interarrival_us / scale;
    let options = GeneratorOptions {
        requests: ((workload.requests as f64 * scale).round() as u64).max(1),
        request_bytes: workload.request_bytes,
        read_fraction: workload.read_fraction,
        footprint: workload.footprint,
        arrival: match workload.arrival.as_str() {
            "fixed" => Arrival::Fixed { mean_us },
            _ => Arrival::Poisson { mean_us },
        },
        seed: spec.seed,
    };
    Ok(if workload.kind == "sequential" { sequential(&options, &placement)? } else { uniform(&options, &placement)? })
}

/// What happened to the workload on its way in, as warnings.
pub fn warnings(workload: &Workload) -> Vec<String> {
    let notes = workload.notes();
    [
        (notes.reordered, "requests ran backwards in time and were reordered"),
        (notes.clamped, "requests ran backwards beyond the reordering window and were set to the time before"),
        (notes.wrapped, "requests lay beyond the device and were wrapped into it"),
        (notes.moved, "requests were moved back so as not to cross the end of the device or of a compacted region"),
        (notes.other_volumes, "records are of another host or disk than the first; all share one address space"),
        (notes.unlikely_times, "records have a time that is no Windows filetime; taken as ticks of 100 ns"),
    ]
    .into_iter()
    .filter(|(count, _)| *count > 0)
    .map(|(count, what)| format!("{count} {what}"))
    .collect()
}
