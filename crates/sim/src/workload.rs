//! From the spec's `[workload]` to a stream of requests.

use std::io::Write;
use std::str::FromStr;

use pumice_types::key::{Key, Keys, Shape, Value, Values};
use pumice_workload::{
    Compression, OpenFor, Placement, TraceFormat, Workload, WorkloadKeys, WorkloadKind, WriteReport, write_trace_as,
};
use serde_json::Value as Json;

use crate::error::SimError;
use crate::spec::{Spec, SpecError, shown};
use crate::{build, device};

/// The spec's `[workload]` as its keys read it.
///
/// # Errors
/// A name that does not exist.
pub fn keys(spec: &Spec) -> Result<WorkloadKeys, SpecError> {
    let kind = &spec.workload.kind;
    WorkloadKind::parse(kind).map_err(|why| SpecError(format!("workload.kind = \"{}\" {why}", shown(kind))))?;
    let format = spec.workload.format.as_deref().map(TraceFormat::from_str).transpose();
    format.map_err(|error| SpecError(error.to_string()))?;
    let section = serde_json::to_value(&spec.workload).map_err(|error| SpecError(error.to_string()))?;
    let value = |key: &Key| section.get(key.path.strip_prefix("workload.")?).and_then(|json| value(key.shape, json));
    let values: Values = WorkloadKeys::rows().into_iter().filter_map(|key| Some((key.path, value(key)?))).collect();
    WorkloadKeys::read(&values).map_err(SpecError)
}

/// A field of the section as a value; `None` if it is absent.
fn value(shape: Shape, json: &Json) -> Option<Value> {
    match shape {
        Shape::Int => json.as_i64().map(Value::Int),
        Shape::Float => json.as_f64().map(Value::Float),
        Shape::Bool => json.as_bool().map(Value::Bool),
        Shape::Text | Shape::Choice(_) => json.as_str().map(|text| Value::Text(text.into())),
        Shape::Floats => json.as_array().map(|list| Value::Floats(list.iter().filter_map(Json::as_f64).collect())),
    }
}

/// Opens the spec's workload for a device of `capacity_bytes`.
///
/// # Errors
/// A trace that cannot be read, or a workload that does not fit the device.
pub fn open(spec: &Spec, scale: f64, capacity_bytes: u64) -> Result<Workload, SimError> {
    let keys = keys(spec)?;
    keys.kind().check_scale(scale).map_err(SpecError)?;
    let placement = Placement { capacity_bytes, page_bytes: spec.geometry.page_bytes, policy: keys.shared.address };
    Ok(keys.open(&OpenFor { placement, seed: spec.seed, scale })?)
}

/// Writes the spec's workload as a trace, every address as the workload gives it: a trace keeps its
/// own, others have those of the spec's device.
///
/// # Errors
/// As [`open`], and a workload or stream that cannot be written.
pub fn write(
    spec: &Spec,
    scale: f64,
    (format, compression): (&str, Compression),
    out: &mut dyn Write,
) -> Result<WriteReport, SimError> {
    let format = TraceFormat::from_str(format)?;
    let geometry = device::scaled_geometry(spec, scale)?;
    let capacity = match spec.workload.path {
        Some(_) => u64::MAX,
        None => u64::from(build::user_pages(spec, &geometry)) * u64::from(geometry.page_bytes),
    };
    Ok(write_trace_as(&mut open(spec, scale, capacity)?, format, compression, out)?)
}
