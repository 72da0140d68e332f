//! The Python extension module `pumice._engine`: few coarse calls, JSON in and out, no model logic.

mod outputs;

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;
use std::str::FromStr;
use std::time::Instant;

use outputs::Pieces;
use pumice_config::{Config, SpecError as EngineSpecError, SpecSource, preset, without_effect};
use pumice_engine::results::fields_of_result;
use pumice_engine::{Outcome, Progress, SimError, run_logged};
use pumice_ftl::TableIndices;
use pumice_lab::merge::{PairInput, plan_pair};
use pumice_lab::updates::{FIGURE_4, Updates, merges_of};
use pumice_types::Choice;
use pumice_workload::{
    AddressPolicy, Compression, Placement, RequestKind, TraceError as EngineTraceError, TraceFormat, TraceOptions,
    Volumes, open_trace_with,
};
use pyo3::exceptions::{PyKeyboardInterrupt, PyOSError, PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use serde_json::{Value, json};

pyo3::create_exception!(pumice, SpecError, PyValueError, "A spec that cannot be run; the text is one line.");
pyo3::create_exception!(pumice, TraceError, PyValueError, "A trace that cannot be read; the text is one line.");
pyo3::create_exception!(pumice, SimulationError, PyRuntimeError, "A simulation that ended in an error.");

fn spec_error(error: EngineSpecError) -> PyErr {
    SpecError::new_err(error.to_string())
}

fn trace_error(error: EngineTraceError) -> PyErr {
    TraceError::new_err(error.to_string())
}

fn sim_error(error: SimError) -> PyErr {
    match error {
        SimError::Spec(error) => spec_error(error),
        SimError::Trace(error) => trace_error(error),
        SimError::Simulation(text) => SimulationError::new_err(text),
        SimError::Output(text) => PyOSError::new_err(text),
        SimError::Interrupted => PyKeyboardInterrupt::new_err("interrupted"),
    }
}

/// A request as it is to be run.
struct Request {
    config: Config,
    scale: f64,
    /// A line for each key that was set and is not read.
    without_effect: Vec<String>,
}

fn parse_request(request: &str) -> PyResult<Request> {
    let source: SpecSource =
        serde_json::from_str(request).map_err(|error| PyValueError::new_err(format!("request: {error}")))?;
    let scale = source.scale.unwrap_or(1.0);
    if !(scale > 0.0 && scale <= 1.0) {
        return Err(SpecError::new_err(format!("scale = {scale} is not allowed; allowed: above 0, at most 1")));
    }
    let config = Config::resolve(&source).map_err(spec_error)?;
    let without_effect = without_effect(&source, &config).map_err(spec_error)?;
    Ok(Request { config, scale, without_effect })
}

/// Version of the engine.
#[pyfunction]
fn version() -> &'static str {
    env!("CARGO_PKG_VERSION")
}

/// Validates a request; returns its resolved configuration, digest and scale as JSON, and a line for each
/// key that it sets and that its run does not read.
#[pyfunction]
fn resolve(request: &str) -> PyResult<String> {
    let Request { config, scale, without_effect } = parse_request(request)?;
    config.chip.geometry.scaled(scale).map_err(SpecError::new_err)?;
    let found = json!({ "config": config.to_json(), "config_sha256": config.digest(), "scale": scale, "without_effect": without_effect });
    Ok(found.to_string())
}

/// Runs a request; returns the result document as JSON. `progress(requests, share, simulated_s)`
/// returning `False` stops the run. `sink(name, content)` takes what the keys of `[output]` ask for:
/// request_log (several calls, a dictionary of columns each), command_log (several calls, bytes),
/// histograms (bytes) and wear_map (a dictionary).
#[pyfunction]
#[pyo3(signature = (request, progress=None, sink=None))]
fn run(py: Python<'_>, request: &str, progress: Option<Py<PyAny>>, sink: Option<Py<PyAny>>) -> PyResult<String> {
    let Request { config, scale, without_effect } = parse_request(request)?;
    if let (Some(key), None) = (config.output.files().first(), &sink) {
        return Err(SpecError::new_err(format!(
            "{key} writes a file: it needs a single run with an output directory, and is not for sweeps, comparisons or repeated runs"
        )));
    }
    let started = Instant::now();
    let mut stopped_by: Option<PyErr> = None;
    let mut pieces = Pieces::new(sink.as_ref());
    let result = py.detach(|| {
        run_logged(&config, scale, &mut pieces, &mut |report| match report_progress(report, progress.as_ref()) {
            Ok(go_on) => go_on,
            Err(error) => {
                stopped_by = Some(error);
                false
            }
        })
    });
    match (result, stopped_by.or(pieces.take_error())) {
        (_, Some(error)) => Err(error),
        (Err(error), None) => Err(sim_error(error)),
        (Ok(outcome), None) => {
            pieces.pass_rest(py, &outcome)?;
            finish(outcome, started.elapsed().as_secs_f64(), without_effect)
        }
    }
}

fn report_progress(report: &Progress, progress: Option<&Py<PyAny>>) -> PyResult<bool> {
    Python::attach(|py| {
        py.check_signals()?;
        match progress {
            None => Ok(true),
            Some(progress) => {
                let arguments = (report.requests, report.share, report.simulated.as_s());
                let answer = progress.call1(py, arguments)?;
                Ok(answer.is_none(py) || answer.is_truthy(py)?)
            }
        }
    })
}

/// Adds to the document what only a wall clock and the operating system know, and what the request set in vain.
fn finish(outcome: Outcome, wall_s: f64, without_effect: Vec<String>) -> PyResult<String> {
    if let Some(text) = outcome.integrity_error {
        return Err(SimulationError::new_err(text));
    }
    let mut document = outcome.document;
    if let Some(run) = document.get_mut("run").and_then(Value::as_object_mut) {
        run.insert("wall_s".into(), json!(wall_s));
        run.insert("requests_per_s".into(), json!(outcome.requests as f64 / wall_s));
        run.insert("flash_commands_per_s".into(), json!(outcome.flash_commands as f64 / wall_s));
        run.insert("peak_rss_mib".into(), json!(peak_rss_mib()));
    }
    if let Some(warnings) = document.get_mut("warnings").and_then(Value::as_array_mut) {
        warnings.splice(..0, without_effect.into_iter().map(Value::from));
    }
    Ok(document.to_string())
}

/// Peak resident memory of this process, where the system tells (Linux).
fn peak_rss_mib() -> Option<f64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    let kib: f64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kib / 1024.0)
}

/// Names of the presets.
#[pyfunction]
fn presets() -> Vec<&'static str> {
    preset::names().collect()
}

/// TOML text of a preset.
#[pyfunction]
fn preset_toml(name: &str) -> PyResult<&'static str> {
    preset::text(name).ok_or_else(|| {
        let nearest = preset::nearest(name).unwrap_or_default();
        SpecError::new_err(format!("preset \"{name}\" does not exist; nearest: \"{nearest}\""))
    })
}

/// Workloads that need no file, as a JSON list of names and descriptions.
#[pyfunction]
fn workloads() -> String {
    let list: Vec<Value> =
        pumice_workload::catalogue().into_iter().map(|(name, about)| json!({ "name": name, "about": about })).collect();
    Value::from(list).to_string()
}

/// Every field of a result document, as a JSON list: path, type, unit, when it is null, what it means, and the
/// workloads that have it (empty: all).
#[pyfunction]
fn result_fields() -> String {
    let field = |field: &pumice_engine::results::ResultField| {
        json!({
            "path": field.path, "type": field.kind.name(), "unit": field.unit, "null_when": field.null,
            "text": field.text, "workloads": field.workloads,
        })
    };
    Value::from(fields_of_result().map(field).collect::<Vec<_>>()).to_string()
}

/// JSON Schema of a spec.
#[pyfunction]
fn schema() -> String {
    pumice_config::schema().to_string()
}

/// What a key means, as JSON.
#[pyfunction]
fn explain(key: &str) -> PyResult<String> {
    pumice_config::explain(key).map(|value| value.to_string()).map_err(spec_error)
}

fn trace_options(format: Option<&str>, volumes: Option<&str>) -> PyResult<TraceOptions> {
    let format = format.map(TraceFormat::from_str).transpose().map_err(trace_error)?;
    let volumes = volumes.map(Volumes::from_str).transpose().map_err(trace_error)?;
    Ok(TraceOptions { format, volumes: volumes.unwrap_or_default(), ..TraceOptions::default() })
}

fn to_json(report: &impl serde::Serialize) -> PyResult<String> {
    serde_json::to_string(report).map_err(|error| PyRuntimeError::new_err(error.to_string()))
}

/// How a trace is understood, as JSON.
#[pyfunction]
#[pyo3(signature = (path, format=None, volumes=None))]
fn trace_check(py: Python<'_>, path: &str, format: Option<&str>, volumes: Option<&str>) -> PyResult<String> {
    let options = trace_options(format, volumes)?;
    let report = py.detach(|| pumice_workload::check_with(Path::new(path), &options)).map_err(trace_error)?;
    to_json(&report)
}

/// Statistics of a trace, as JSON.
#[pyfunction]
#[pyo3(signature = (path, format=None, volumes=None))]
fn trace_info(py: Python<'_>, path: &str, format: Option<&str>, volumes: Option<&str>) -> PyResult<String> {
    let options = trace_options(format, volumes)?;
    let report = py.detach(|| pumice_workload::info_with(Path::new(path), &options)).map_err(trace_error)?;
    to_json(&report)
}

/// Writes the workload of a request as a trace; returns a report as JSON. The file is overwritten. It
/// is compressed as `name` ends: the file may only become that of this name when it is whole.
#[pyfunction]
fn trace_write(py: Python<'_>, request: &str, path: &str, format: &str, name: &str) -> PyResult<String> {
    let Request { config, scale, .. } = parse_request(request)?;
    let file = File::create(path).map_err(|error| PyOSError::new_err(format!("{path}: {error}")))?;
    let mut out = BufWriter::new(file);
    let as_what = (format, Compression::of_name(Path::new(name)));
    let report = py.detach(|| pumice_engine::write_workload(&config, scale, as_what, &mut out)).map_err(sim_error)?;
    out.flush().map_err(|error| PyOSError::new_err(format!("{path}: {error}")))?;
    to_json(&report)
}

/// Requests of a trace, one entry each: arrival in nanoseconds and first byte (u64), bytes (u32),
/// whether it writes and whether it trims (u8), as little-endian bytes.
#[pyfunction]
#[pyo3(signature = (path, format=None, volumes=None))]
fn trace_read<'py>(
    py: Python<'py>,
    path: &str,
    format: Option<&str>,
    volumes: Option<&str>,
) -> PyResult<Bound<'py, PyDict>> {
    let options = trace_options(format, volumes)?;
    let columns = py.detach(|| read_columns(Path::new(path), &options)).map_err(trace_error)?;
    let out = PyDict::new(py);
    for (name, column) in ["arrival_ns", "offset_bytes", "bytes", "is_write", "is_trim"].into_iter().zip(&columns) {
        out.set_item(name, PyBytes::new(py, column))?;
    }
    Ok(out)
}

fn read_columns(path: &Path, options: &TraceOptions) -> Result<[Vec<u8>; 5], EngineTraceError> {
    let everything = Placement { capacity_bytes: u64::MAX, page_bytes: 1, policy: AddressPolicy::Exact };
    let mut trace = open_trace_with(path, options, &everything)?;
    let mut columns: [Vec<u8>; 5] = Default::default();
    while let Some(request) = trace.next_request()? {
        columns[0].extend(request.arrival.0.to_le_bytes());
        columns[1].extend(request.offset_bytes.to_le_bytes());
        columns[2].extend(request.bytes.to_le_bytes());
        columns[3].push(u8::from(request.kind == RequestKind::Write));
        columns[4].push(u8::from(request.kind == RequestKind::Trim));
    }
    Ok(columns)
}

/// Settings of a spec that generate what a job in fio's words describes, as a JSON list of pairs.
#[pyfunction]
fn fio_job_settings(job: &str) -> PyResult<String> {
    to_json(&pumice_engine::fio_job_settings(job).map_err(|error| SpecError::new_err(error.to_string()))?)
}

/// SHA-256 of a file, in hexadecimal.
#[pyfunction]
fn file_digest(py: Python<'_>, path: &str) -> PyResult<String> {
    py.detach(|| pumice_workload::file_digest(Path::new(path))).map_err(trace_error)
}

/// Plans one merge; see `pumice.plan_m_merge`.
#[pyfunction]
#[pyo3(signature = (d, u, disturb, max_splits, page_copy_us, block_erase_us, t_us, disturb_tolerance, m_merge_count,
    wear_limit_w, disturb_aware=true))]
#[allow(clippy::too_many_arguments, reason = "the Python call's keyword arguments, one to one")]
fn plan_m_merge<'py>(
    py: Python<'py>,
    d: &[u8],
    u: &[u8],
    disturb: &[u8],
    max_splits: u8,
    page_copy_us: f64,
    block_erase_us: f64,
    t_us: Option<Vec<f64>>,
    disturb_tolerance: u8,
    m_merge_count: u32,
    wear_limit_w: u32,
    disturb_aware: bool,
) -> PyResult<Bound<'py, PyDict>> {
    let input = PairInput {
        d_state: d,
        u_state: u,
        disturb,
        max_splits,
        page_copy_us,
        block_erase_us,
        t_us: t_us.as_deref(),
        disturb_tolerance,
        disturb_aware,
        m_merge_count,
        wear_limit_w,
    };
    let plan = plan_pair(&input).map_err(spec_error)?;
    let out = PyDict::new(py);
    out.set_item("choice", plan.choice_name())?;
    out.set_item("m_merge_us", plan.m_merge.as_us())?;
    out.set_item("merge_us", plan.merge.as_us())?;
    out.set_item("restores", plan.restores.iter().map(|pb| pb.0).collect::<Vec<_>>())?;
    out.set_item("copy_out", plan.copy_out)?;
    out.set_item("copy_back", plan.copy_back)?;
    out.set_item("u_pre_erase", plan.u_pre_erase.map(|pb| pb.0))?;
    out.set_item("disturb_after", PyBytes::new(py, &plan.disturb_after))?;
    Ok(out)
}

/// Merges of a short sequence of page updates under an FTL, by kind; by default EMSOFT'06, figure 4.
#[pyfunction]
#[pyo3(signature = (kind, pages=None, pages_per_block=4, logical_blocks=2))]
fn merges_of_updates<'py>(
    py: Python<'py>,
    kind: &str,
    pages: Option<Vec<u32>>,
    pages_per_block: u16,
    logical_blocks: u32,
) -> PyResult<Bound<'py, PyDict>> {
    let pages = pages.as_deref().unwrap_or(FIGURE_4.pages);
    let merges = merges_of(kind, &Updates { pages_per_block, logical_blocks, pages }).map_err(sim_error)?;
    let out = PyDict::new(py);
    for (name, count) in
        [("full", merges.full), ("partial", merges.partial), ("switch", merges.switch), ("dead", merges.dead)]
    {
        out.set_item(name, count)?;
    }
    Ok(out)
}

/// Superblock, PGD index, PMD index and PTE index of a page (EMSOFT'06, figure 6).
#[pyfunction]
fn superblock_indices(logical_block: u32, page: u16, blocks: u32) -> PyResult<(u32, u32, u16, u16)> {
    if blocks == 0 {
        return Err(SpecError::new_err("blocks = 0 is not allowed; allowed: at least 1"));
    }
    let TableIndices { superblock, pgd, pmd, pte } = TableIndices::of(logical_block, page, blocks);
    Ok((superblock, pgd, pmd, pte))
}

fn parse<'a, T: serde::Deserialize<'a>>(request: &'a str) -> PyResult<T> {
    serde_json::from_str(request).map_err(|error| SpecError::new_err(format!("request: {error}")))
}

/// Where the pages of a block lie and their raw bit error rates; a shape and columns as JSON.
#[pyfunction]
fn block_pages(request: &str) -> PyResult<String> {
    to_json(&pumice_lab::block::pages(&parse(request)?).map_err(spec_error)?)
}

/// What is reclaimed of a block by its sub-blocks in one operation; block and plan as JSON.
#[pyfunction]
fn plan_reclaim(request: &str) -> PyResult<String> {
    to_json(&pumice_lab::block::reclaim(&parse(request)?).map_err(spec_error)?)
}

/// Answers a question about the erase models (`pumice_lab::erase::EraseQuery`); JSON in and out.
#[pyfunction]
fn erase_model(py: Python<'_>, request: &str) -> PyResult<String> {
    let query: pumice_lab::erase::EraseQuery = parse(request)?;
    py.detach(|| pumice_lab::erase::answer(&query)).map(|value| value.to_string()).map_err(spec_error)
}

/// The module.
#[pymodule]
fn _engine(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let py = module.py();
    module.add("SpecError", py.get_type::<SpecError>())?;
    module.add("TraceError", py.get_type::<TraceError>())?;
    module.add("SimulationError", py.get_type::<SimulationError>())?;
    module.add_function(wrap_pyfunction!(version, module)?)?;
    module.add_function(wrap_pyfunction!(resolve, module)?)?;
    module.add_function(wrap_pyfunction!(run, module)?)?;
    module.add_function(wrap_pyfunction!(presets, module)?)?;
    module.add_function(wrap_pyfunction!(preset_toml, module)?)?;
    module.add_function(wrap_pyfunction!(workloads, module)?)?;
    module.add_function(wrap_pyfunction!(result_fields, module)?)?;
    module.add_function(wrap_pyfunction!(schema, module)?)?;
    module.add_function(wrap_pyfunction!(explain, module)?)?;
    module.add_function(wrap_pyfunction!(trace_check, module)?)?;
    module.add_function(wrap_pyfunction!(trace_info, module)?)?;
    module.add_function(wrap_pyfunction!(trace_read, module)?)?;
    module.add_function(wrap_pyfunction!(trace_write, module)?)?;
    module.add_function(wrap_pyfunction!(fio_job_settings, module)?)?;
    module.add_function(wrap_pyfunction!(file_digest, module)?)?;
    module.add_function(wrap_pyfunction!(outputs::verify_log, module)?)?;
    module.add_function(wrap_pyfunction!(plan_m_merge, module)?)?;
    module.add_function(wrap_pyfunction!(merges_of_updates, module)?)?;
    module.add_function(wrap_pyfunction!(superblock_indices, module)?)?;
    module.add_function(wrap_pyfunction!(block_pages, module)?)?;
    module.add_function(wrap_pyfunction!(plan_reclaim, module)?)?;
    module.add_function(wrap_pyfunction!(erase_model, module)?)?;
    Ok(())
}
