//! Traces that do not come out of text files: tables of a program, and Parquet and Arrow files, which Python decodes.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;

use pumice_config::Config;
use pumice_workload::{
    ColumnRequest, RecordedContent, SharedContent, TableColumn, TableLayout, TraceFormat, TraceOptions, Volumes,
    file_digest, is_columnar,
};
use pyo3::prelude::*;
use serde::Deserialize;

use crate::errors::{SpecError, trace_error};
use crate::json::{parse, to_json};

/// The Python module that decodes Parquet and Arrow files.
const DECODER: &str = "pumice.traces.columnar";

/// Requests as Python hands them over: the text, its origin as results name it, and which column of the origin is what.
pub type Handed = (Vec<u8>, String, String);

/// How a trace is to be read, as Python gives it.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct ReadingOptions {
    format: Option<String>,
    columns: Option<String>,
    volumes: Option<String>,
}

/// The options of reading in `reading`, JSON with `format`, `columns` and `volumes`.
pub fn trace_options(reading: Option<&str>) -> PyResult<TraceOptions> {
    let given: ReadingOptions = reading.map(parse).transpose()?.unwrap_or_default();
    let columns = given.columns.as_deref().map(ColumnRequest::parse).transpose().map_err(|fault| {
        SpecError::new_err(format!("columns \"{}\" {fault}", given.columns.as_deref().unwrap_or_default()))
    })?;
    let volumes = given.volumes.as_deref().map(Volumes::from_str).transpose().map_err(trace_error)?;
    Ok(TraceOptions {
        format: given.format.as_deref().map(TraceFormat::from_str).transpose().map_err(trace_error)?,
        columns,
        volumes: volumes.unwrap_or_default(),
        ..TraceOptions::default()
    })
}

/// The options of one file, with its content if Python has to decode it.
pub fn file_options(py: Python<'_>, path: &Path, reading: Option<&str>) -> PyResult<TraceOptions> {
    let options = trace_options(reading)?;
    let content = decoded(py, path, &options)?;
    Ok(TraceOptions { content, ..options })
}

/// What a configuration's trace is read from if not from a text file: requests that Python hands over, or a file that
/// Python has to decode.
pub fn content(py: Python<'_>, config: &Config, handed: Option<Handed>) -> PyResult<Option<SharedContent>> {
    if !config.workload.kind().is_trace() {
        return Ok(None);
    }
    let keys = &config.workload.trace;
    match (handed, &keys.path) {
        (Some((text, format, origin_columns)), _) => {
            Ok(Some(Arc::new(RecordedContent { text, format, origin_columns, sha256: None })))
        }
        (None, Some(path)) => decoded(py, &PathBuf::from(path), &keys.options()),
        (None, None) => Ok(None),
    }
}

/// The content of a Parquet or Arrow file; `None` if the file is none, or cannot be looked into. Whoever reads it then
/// says why.
fn decoded(py: Python<'_>, path: &Path, options: &TraceOptions) -> PyResult<Option<SharedContent>> {
    if !path.is_file() {
        return Ok(None);
    }
    let mut head = Vec::new();
    let looked = File::open(path).and_then(|file| file.take(6).read_to_end(&mut head));
    if looked.is_err() || !is_columnar(&head) {
        return Ok(None);
    }
    let format = options.format.map(|format| format.to_string());
    let columns = options.columns.as_ref().map(ToString::to_string);
    let found = py.import(DECODER)?.call_method1("decode", (path, format, columns))?;
    let (text, format, origin_columns): Handed = found.extract()?;
    let sha256 = py.detach(|| file_digest(path)).map_err(trace_error)?;
    Ok(Some(Arc::new(RecordedContent { text, format, origin_columns, sha256: Some(sha256) })))
}

/// Which column of a table is what, as JSON (`pumice_workload::TableLayout`). `columns` are names, each with whether
/// its values are times in nanoseconds.
#[pyfunction]
#[pyo3(signature = (columns, reading=None))]
pub fn table_layout(columns: Vec<(String, bool)>, reading: Option<&str>) -> PyResult<String> {
    let columns: Vec<TableColumn> = columns.into_iter().map(|(name, is_time)| TableColumn { name, is_time }).collect();
    to_json(&TableLayout::of(&columns, &trace_options(reading)?).map_err(trace_error)?)
}
