//! Workloads from options, without the keys of a spec.

use std::path::Path;

use crate::fat::{FatOptions, FatWorkload};
use crate::generator::options::SyntheticOptions;
use crate::generator::requests::Generator;
use crate::kinds::registry::Workload;
use crate::source::error::TraceError;
use crate::source::placement::Placement;
use crate::trace::formats::TraceFormat;
use crate::trace::options::TraceOptions;
use crate::trace::requests::Trace;
use crate::twins::names::TwinName;
use crate::twins::options::TwinOptions;
use crate::twins::requests::Twin;

/// Opens a trace whose volumes share one address space. The compression (plain, gzip, zstd, xz) is
/// recognised by content, and so is the format unless it is named. The first record is read at
/// once, so that a wrong file fails here.
pub fn open_trace(path: &Path, format: Option<TraceFormat>, placement: &Placement) -> Result<Workload, TraceError> {
    open_trace_with(path, &TraceOptions { format, ..TraceOptions::default() }, placement)
}

/// Opens a trace as [`open_trace`] does, with a choice of what becomes of its volumes and trims.
///
/// [`Volumes::Separate`](crate::Volumes::Separate) reads the file twice unless addresses are compacted: how long the
/// volumes are must be known before the second can be placed.
pub fn open_trace_with(path: &Path, options: &TraceOptions, placement: &Placement) -> Result<Workload, TraceError> {
    Trace::open(path, options, placement).map(|trace| Workload::Trace(Box::new(trace)))
}

/// The twin of the trace `name` (with or without `twin:` before it).
///
/// # Errors
/// An unknown name, options outside their ranges, or under [`Exact`](crate::AddressPolicy::Exact) a volume larger than
/// the device.
pub fn twin(name: &str, options: &TwinOptions, placement: &Placement) -> Result<Workload, TraceError> {
    let facts = TwinName::of_trace(name)?.facts();
    Twin::new(facts, options, placement).map(|twin| Workload::Twin(Box::new(twin)))
}

/// The workload `name` of the 2006 paper's Table 1. Ends with the request that reaches its number
/// of written pages of 2 KiB, whatever the device's pages are.
///
/// # Errors
/// An unknown name, an option outside its range, or under
/// [`Exact`](crate::AddressPolicy::Exact) a volume larger than the device.
pub fn fat(name: &str, options: &FatOptions, placement: &Placement) -> Result<Workload, TraceError> {
    FatWorkload::new(name, options, placement).map(|fat| Workload::FileSystem(Box::new(fat)))
}

/// Requests of one or several sizes, in any [`AccessPattern`](crate::AccessPattern).
///
/// # Errors
/// Options outside the ranges that their fields state.
pub fn synthetic(options: &SyntheticOptions, placement: &Placement) -> Result<Workload, TraceError> {
    Generator::new(options, placement).map(|generator| Workload::Drawn(Box::new(generator)))
}
