//! Traces: looked into, read as columns, and written.

use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::str::FromStr;

use pumice_workload::{
    AddressPolicy, Compression, Placement, RequestKind, TraceError as EngineTraceError, TraceFormat, TraceOptions,
    Volumes, open_trace_with,
};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

use crate::attended::{Desk, attend};
use crate::errors::{sim_error, trace_error};
use crate::json::to_json;
use crate::runs::{Request, parse_request};

/// Bytes of a written trace that are handed over at once.
const PIECE_BYTES: usize = 1 << 20;

/// Requests read between two looks at whether to go on.
const LOOK_EVERY: usize = 1 << 12;

fn trace_options(format: Option<&str>, volumes: Option<&str>) -> PyResult<TraceOptions> {
    let format = format.map(TraceFormat::from_str).transpose().map_err(trace_error)?;
    let volumes = volumes.map(Volumes::from_str).transpose().map_err(trace_error)?;
    Ok(TraceOptions { format, volumes: volumes.unwrap_or_default(), ..TraceOptions::default() })
}

/// Does work that asks nothing of the calling thread.
fn quietly<T: Send + 'static>(
    py: Python<'_>,
    work: impl FnOnce(&Desk<()>) -> Result<T, EngineTraceError> + Send + 'static,
) -> PyResult<T> {
    attend(py, work, |_, ()| Ok(true))?.map_err(trace_error)
}

/// How a trace is understood, as JSON.
#[pyfunction]
#[pyo3(signature = (path, format=None, volumes=None))]
pub fn trace_check(py: Python<'_>, path: PathBuf, format: Option<&str>, volumes: Option<&str>) -> PyResult<String> {
    let options = trace_options(format, volumes)?;
    to_json(&quietly(py, move |_| pumice_workload::check_with(&path, &options))?)
}

/// Statistics of a trace, as JSON.
#[pyfunction]
#[pyo3(signature = (path, format=None, volumes=None))]
pub fn trace_info(py: Python<'_>, path: PathBuf, format: Option<&str>, volumes: Option<&str>) -> PyResult<String> {
    let options = trace_options(format, volumes)?;
    to_json(&quietly(py, move |_| pumice_workload::info_with(&path, &options))?)
}

/// Columns of a trace.
const COLUMNS: [&str; 7] = ["arrival_ns", "offset_bytes", "bytes", "is_write", "is_trim", "is_flush", "is_fua"];

/// Requests of a trace, one entry each: arrival in nanoseconds and first byte (u64), bytes (u32),
/// whether it writes, trims, flushes, and has force unit access (u8), as little-endian bytes.
#[pyfunction]
#[pyo3(signature = (path, format=None, volumes=None))]
pub fn trace_read<'py>(
    py: Python<'py>,
    path: PathBuf,
    format: Option<&str>,
    volumes: Option<&str>,
) -> PyResult<Bound<'py, PyDict>> {
    let options = trace_options(format, volumes)?;
    let columns = quietly(py, move |desk| read_columns(&path, &options, desk))?;
    let out = PyDict::new(py);
    for (name, column) in COLUMNS.into_iter().zip(&columns) {
        out.set_item(name, PyBytes::new(py, column))?;
    }
    Ok(out)
}

fn read_columns(
    path: &Path,
    options: &TraceOptions,
    desk: &Desk<()>,
) -> Result<[Vec<u8>; COLUMNS.len()], EngineTraceError> {
    let everything = Placement { capacity_bytes: u64::MAX, page_bytes: 1, policy: AddressPolicy::Exact };
    let mut trace = open_trace_with(path, options, &everything)?;
    let mut columns: [Vec<u8>; COLUMNS.len()] = Default::default();
    while let Some(request) = trace.next_request()? {
        columns[0].extend(request.arrival.0.to_le_bytes());
        columns[1].extend(request.offset_bytes.to_le_bytes());
        columns[2].extend(request.bytes.to_le_bytes());
        columns[3].push(u8::from(request.kind == RequestKind::Write));
        columns[4].push(u8::from(request.kind == RequestKind::Trim));
        columns[5].push(u8::from(request.kind == RequestKind::Flush));
        columns[6].push(u8::from(request.fua));
        if columns[3].len().is_multiple_of(LOOK_EVERY) && desk.is_stopped() {
            break; // nobody waits for the columns any more
        }
    }
    Ok(columns)
}

/// Hands what is written to the calling thread.
struct Handed<'a>(&'a Desk<Vec<u8>>);

impl Write for Handed<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.0.ask(bytes.to_vec()) { Ok(bytes.len()) } else { Err(io::Error::other("stopped")) }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Writes the workload of a request as a trace, piece by piece into `sink(bytes)`. The ending of `name` decides the
/// compression. Returns a report as JSON.
#[pyfunction]
pub fn trace_write(py: Python<'_>, request: &str, format: String, name: PathBuf, sink: Py<PyAny>) -> PyResult<String> {
    let Request { config, scale, .. } = parse_request(py, request, None)?;
    let write = move |desk: &Desk<Vec<u8>>| {
        let mut out = BufWriter::with_capacity(PIECE_BYTES, Handed(desk));
        let as_what = (format.as_str(), Compression::of_name(&name));
        let report = pumice_engine::write_workload(&config, scale, as_what, &mut out)?;
        // Only a caller that has stopped refuses bytes, and it has an error of its own.
        out.flush().map_err(|error| pumice_engine::SimError::Output(error.to_string()))?;
        Ok(report)
    };
    let keep = |py: Python<'_>, bytes: Vec<u8>| sink.call1(py, (PyBytes::new(py, &bytes),)).map(|_| true);
    to_json(&attend(py, write, keep)?.map_err(sim_error)?)
}
