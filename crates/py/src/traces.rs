//! Traces: looked into, read as columns, and written.

use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use pumice_types::{Choice, ZoneCommand};
use pumice_workload::{
    AddressPolicy, Compression, Placement, RequestKind, TraceError as EngineTraceError, TraceFormat, TraceOptions,
    open_trace_with,
};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use serde_json::json;

use crate::attended::{Desk, attend};
use crate::errors::{sim_error, trace_error};
use crate::json::to_json;
use crate::recorded::{self, Handed, file_options};
use crate::runs::{Request, parse_request};

/// Bytes of a written trace that are handed over at once.
const PIECE_BYTES: usize = 1 << 20;

/// Requests read between two looks at whether to go on.
const LOOK_EVERY: usize = 1 << 12;

/// Names of the formats in which traces can be written.
#[pyfunction]
pub fn trace_formats() -> Vec<&'static str> {
    TraceFormat::ALL.iter().filter(|format| format.is_writable()).map(|format| format.name()).collect()
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
#[pyo3(signature = (path, reading=None))]
pub fn trace_check(py: Python<'_>, path: PathBuf, reading: Option<&str>) -> PyResult<String> {
    let options = file_options(py, &path, reading)?;
    to_json(&quietly(py, move |_| pumice_workload::check_with(&path, &options))?)
}

/// Statistics of a trace, as JSON.
#[pyfunction]
#[pyo3(signature = (path, reading=None))]
pub fn trace_info(py: Python<'_>, path: PathBuf, reading: Option<&str>) -> PyResult<String> {
    let options = file_options(py, &path, reading)?;
    to_json(&quietly(py, move |_| pumice_workload::info_with(&path, &options))?)
}

/// Columns of a trace.
const COLUMNS: [&str; 9] =
    ["arrival_ns", "offset_bytes", "bytes", "is_write", "is_trim", "is_flush", "is_fua", STREAM, ZONE_COMMAND];

/// The column of streams, of a trace that names them alone.
const STREAM: &str = "stream";

/// The column of commands to zones, of a trace that has some alone.
const ZONE_COMMAND: &str = "zone_command";

/// Requests of a trace, one entry each: arrival in nanoseconds and first byte (u64), bytes (u32),
/// whether it writes, trims, flushes, and has force unit access (u8), as little-endian bytes; the stream (u8), if
/// the trace names streams; and the command to a zone, if there are any: 0, or its place among `zone_commands`
/// counted from 1 (u8).
#[pyfunction]
#[pyo3(signature = (path, reading=None))]
pub fn trace_read<'py>(py: Python<'py>, path: PathBuf, reading: Option<&str>) -> PyResult<Bound<'py, PyDict>> {
    let options = file_options(py, &path, reading)?;
    let (columns, names_streams) = quietly(py, move |desk| read_columns(&path, &options, desk))?;
    let out = PyDict::new(py);
    for (name, column) in COLUMNS.into_iter().zip(&columns) {
        let is_there = match name {
            STREAM => names_streams,
            ZONE_COMMAND => column.iter().any(|&command| command != 0),
            _ => true,
        };
        if is_there {
            out.set_item(name, PyBytes::new(py, column))?;
        }
    }
    out.set_item("zone_commands", ZoneCommand::NAMES)?;
    Ok(out)
}

/// The columns, and whether the trace names streams.
fn read_columns(
    path: &Path,
    options: &TraceOptions,
    desk: &Desk<()>,
) -> Result<([Vec<u8>; COLUMNS.len()], bool), EngineTraceError> {
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
        columns[7].push(request.stream);
        columns[8].push(match request.kind {
            RequestKind::Zone(command) => command as u8 + 1,
            RequestKind::Read | RequestKind::Write | RequestKind::Trim | RequestKind::Flush => 0,
        });
        if columns[3].len().is_multiple_of(LOOK_EVERY) && desk.is_stopped() {
            break; // nobody waits for the columns any more
        }
    }
    Ok((columns, trace.names_streams()))
}

/// Hands what is written to the calling thread.
struct Passed<'a>(&'a Desk<Vec<u8>>);

impl Write for Passed<'_> {
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
#[pyo3(signature = (request, format, name, sink, requests=None))]
#[allow(clippy::too_many_arguments, reason = "the Python call's arguments, one to one")]
pub fn trace_write(
    py: Python<'_>,
    request: &str,
    format: String,
    name: PathBuf,
    sink: Py<PyAny>,
    requests: Option<Handed>,
) -> PyResult<String> {
    let Request { mut config, scale, .. } = parse_request(py, request, None)?;
    config.recorded = recorded::content(py, &config, requests)?;
    let write = move |desk: &Desk<Vec<u8>>| {
        let mut out = BufWriter::with_capacity(PIECE_BYTES, Passed(desk));
        let as_what = (format.as_str(), Compression::of_name(&name));
        let report = pumice_engine::write_workload(&config, scale, as_what, &mut out)?;
        // Only a caller that has stopped refuses bytes, and it has an error of its own.
        out.flush().map_err(|error| pumice_engine::SimError::Output(error.to_string()))?;
        Ok(report)
    };
    let keep = |py: Python<'_>, bytes: Vec<u8>| sink.call1(py, (PyBytes::new(py, &bytes),)).map(|_| true);
    to_json(&attend(py, write, keep)?.map_err(sim_error)?)
}

/// The smallest device of a request's kind on which its recorded trace fits, as JSON: `channels`, `chips_per_channel`
/// and `dies_per_chip` of `[geometry]`, and the bytes `user_bytes` that it has and `needed_bytes` that the trace needs.
#[pyfunction]
#[pyo3(signature = (request, requests=None))]
pub fn fit_device(py: Python<'_>, request: &str, requests: Option<Handed>) -> PyResult<String> {
    let Request { config, .. } = parse_request(py, request, None)?;
    let content = recorded::content(py, &config, requests)?;
    let workload = config.workload.clone();
    let needed = quietly(py, move |_| workload.trace_extent(content))?;
    let found = pumice_engine::fit_device(&config, needed).map_err(sim_error)?;
    Ok(json!({
        "channels": found.channels, "chips_per_channel": found.chips_per_channel, "dies_per_chip": found.dies_per_chip,
        "user_bytes": found.user_bytes, "needed_bytes": needed,
    })
    .to_string())
}
