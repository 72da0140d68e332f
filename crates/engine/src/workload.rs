//! From the spec's `[workload]` to a stream of requests.

use std::io::Write;
use std::str::FromStr;

use pumice_config::{Config, SpecError};
use pumice_types::refuse;
use pumice_workload::{
    Compression, OpenFor, Placement, RandomStream, TraceFormat, Workload, WriteReport, write_trace_as,
};

use crate::error::SimError;

/// What is said of a workload that cannot age a device.
pub const NOTHING_WRITTEN: &str = "the workload writes nothing, so it cannot age the device; allowed: initial.aged_by = \"pages\", or a workload with writes";

/// Opens the spec's workload for a device of `capacity_bytes`.
///
/// # Errors
/// Flows, a trace that cannot be read, or a workload that does not fit the device.
pub fn open(config: &Config, scale: f64, capacity_bytes: u64) -> Result<Workload, SimError> {
    let workload = &config.workload;
    if !config.flows.is_empty() {
        let text = "workload.flow: one workload is wanted here, and flows are several; allowed: a spec without flows";
        return Err(SpecError(text.into()).into());
    }
    workload.kind().check_scale(scale)?;
    let page_bytes = config.mapped_page_bytes();
    let placement = Placement { capacity_bytes, page_bytes, policy: workload.shared.address };
    Ok(workload.open(&OpenFor {
        placement,
        seed: config.seed,
        scale,
        zone_bytes: zone_bytes(config, scale)?,
        content: config.recorded.clone(),
    })?)
}

/// Bytes of a zone, if requests have the addresses of zones.
pub(crate) fn zone_bytes(config: &Config, scale: f64) -> Result<Option<u64>, SimError> {
    let pages = config.ftl.host_zone_pages(&config.device_geometry(scale)?);
    Ok(pages.map(|pages| u64::from(pages) * u64::from(config.chip.geometry.page_bytes)))
}

/// Opens the workload of a flow for addresses of so many bytes. The first flow draws as a workload alone would; each
/// other one has random streams of its own, which do not depend on the flows beside it.
///
/// # Errors
/// As [`open`]; the flow stands in front.
pub fn open_flow(config: &Config, number: usize, scale: f64, capacity_bytes: u64) -> Result<Workload, SimError> {
    let workload = &config.flows[number].workload;
    let at = |error: String| refuse!("workload.flow[{number}]: {error}");
    workload.kind().check_scale(scale).map_err(|error| at(error.0))?;
    let page_bytes = config.mapped_page_bytes();
    let placement = Placement { capacity_bytes, page_bytes, policy: workload.shared.address };
    let seed = match number {
        0 => config.seed,
        other => RandomStream::new(config.seed, &format!("flow {other}")).bits() >> 1,
    };
    workload
        .open(&OpenFor { placement, seed, scale, zone_bytes: zone_bytes(config, scale)?, content: None })
        .map_err(|error| at(error.to_string()).into())
}

/// Opens the spec's workload so that it goes on behind the requests of a run, where its kind is drawn without end.
///
/// # Errors
/// As [`open`]; what is drawn without end would never write.
pub fn open_endless(config: &Config, scale: f64, capacity_bytes: u64) -> Result<Workload, SimError> {
    if !config.workload.is_endless() {
        return open(config, scale, capacity_bytes);
    }
    if !config.workload.draws_writes() {
        return Err(SpecError(NOTHING_WRITTEN.into()).into());
    }
    let mut endless = config.clone();
    endless.workload.shared.requests = i64::MAX as u64;
    open(&endless, scale, capacity_bytes)
}

/// Opens the spec's workload at the first request behind those of a run, where its kind is drawn without end; at the
/// first request of all where a run takes all that there is.
///
/// # Errors
/// As [`open`].
pub fn open_behind(config: &Config, scale: f64, capacity_bytes: u64) -> Result<Workload, SimError> {
    let mut workload = open_endless(config, scale, capacity_bytes)?;
    if config.workload.is_endless() {
        workload.skip_arrivals();
        let taken = open(config, scale, capacity_bytes)?.requests_expected().unwrap_or(0);
        for _ in 0..taken {
            workload.next_request()?;
        }
    }
    Ok(workload)
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
    let capacity = if config.workload.kind().is_trace() { u64::MAX } else { config.user_bytes(scale)? };
    Ok(write_trace_as(&mut open(config, scale, capacity)?, format, compression, out)?)
}
