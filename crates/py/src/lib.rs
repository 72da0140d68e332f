//! The Python extension module `pumice._engine`: few coarse calls, JSON in and out, no model logic.

mod attended;
mod chip;
mod crash;
mod device;
mod errors;
mod json;
mod outputs;
mod own_code_watch;
mod plugins;
mod policies;
mod recorded;
mod requested_snapshots;
mod runs;
mod serve;
mod snapshots;
mod torture;
mod traces;

use std::path::PathBuf;

use attended::{Desk, attend};
use errors::{SimulationError, SpecError, TraceError, sim_error, spec_error, trace_error};
use json::{parse, to_json};
use pumice_config::{Config, SpecSource, preset};
use pumice_engine::results::fields_of_result;
use pumice_ftl::TableIndices;
use pumice_lab::merge::{PairInput, plan_pair};
use pumice_lab::updates::{FIGURE_4, Updates, merges_of};
use pumice_types::Choice;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use runs::Request;
use serde_json::{Value, json};

/// Version of the engine.
#[pyfunction]
fn version() -> &'static str {
    env!("CARGO_PKG_VERSION")
}

/// The commit that the engine was built from; `None` if it was not built by `make` in a clone.
#[pyfunction]
fn commit() -> Option<&'static str> {
    option_env!("PUMICE_COMMIT").filter(|text| !text.is_empty())
}

/// Names of the presets.
#[pyfunction]
fn presets() -> Vec<&'static str> {
    preset::names().collect()
}

/// What each preset is, as a JSON list: name, kind, user capacity in bytes, cells, year and translation layer; null
/// where it has none.
#[pyfunction]
fn preset_facts() -> PyResult<String> {
    let facts = |preset: &preset::Preset| -> Result<Value, pumice_config::SpecError> {
        let source = SpecSource { preset: Some(preset.name.into()), ..SpecSource::default() };
        let config = Config::resolve(&source)?;
        Ok(json!({
            "name": preset.name, "kind": preset.kind.name(), "cells": preset.cells, "year": preset.year,
            "ftl": config.ftl.kind.to_string(),
            "user_bytes": config.user_bytes(1.0)?,
        }))
    };
    let all: Result<Vec<Value>, pumice_config::SpecError> = preset::PRESETS.iter().map(facts).collect();
    Ok(Value::from(all.map_err(|error| SpecError::new_err(error.to_string()))?).to_string())
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
    let list: Vec<Value> = pumice_workload::catalogue()
        .into_iter()
        .map(|(name, about)| serde_json::json!({ "name": name, "about": about }))
        .collect();
    Value::from(list).to_string()
}

/// Every field of a result document, as a JSON list: path, type, unit, when it is null, what it means, and the
/// workloads that have it (empty: all).
#[pyfunction]
fn result_fields() -> String {
    let field = |field: &pumice_engine::results::ResultField| {
        serde_json::json!({
            "path": field.path, "type": field.kind.name(), "unit": field.unit, "null_when": field.null,
            "text": field.text, "workloads": field.workloads,
        })
    };
    Value::from(fields_of_result().map(field).collect::<Vec<_>>()).to_string()
}

/// JSON Schema of a spec, with the keys of the plug-ins at these paths.
#[pyfunction]
#[pyo3(signature = (plugins=Vec::new()))]
fn schema(plugins: Vec<PathBuf>) -> PyResult<String> {
    let plugins = plugins::open_all(&plugins)?;
    pumice_config::schema(&plugins).map(|value| value.to_string()).map_err(spec_error)
}

/// What a key means, as JSON; those of the plug-ins at these paths are known.
#[pyfunction]
#[pyo3(signature = (key, plugins=Vec::new()))]
fn explain(key: &str, plugins: Vec<PathBuf>) -> PyResult<String> {
    let plugins = plugins::open_all(&plugins)?;
    pumice_config::explain(key, &plugins).map(|value| value.to_string()).map_err(spec_error)
}

/// Explains several keys, as a JSON list. Plug-ins are loaded once.
#[pyfunction]
fn explain_all(keys: Vec<String>, plugins: Vec<PathBuf>) -> PyResult<String> {
    let plugins = plugins::open_all(&plugins)?;
    let explained = keys.iter().map(|key| pumice_config::explain(key, &plugins)).collect::<Result<Vec<_>, _>>();
    explained.map(|list| Value::from(list).to_string()).map_err(spec_error)
}

/// Settings of a spec that generate what a job in fio's words describes, as a JSON list of pairs.
#[pyfunction]
fn fio_job_settings(job: &str) -> PyResult<String> {
    to_json(&pumice_engine::fio_job_settings(job).map_err(|error| SpecError::new_err(error.to_string()))?)
}

/// SHA-256 of a file, in hexadecimal.
#[pyfunction]
fn file_digest(py: Python<'_>, path: PathBuf) -> PyResult<String> {
    attend(py, move |_| pumice_workload::file_digest(&path), |_, ()| Ok(true))?.map_err(trace_error)
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

/// Lives the life of a request's device (`pumice_lab::life::LifeQuery`); JSON in and out. `progress(share)` returning
/// `False` stops it.
#[pyfunction]
#[pyo3(signature = (request, query, progress=None))]
fn life(py: Python<'_>, request: &str, query: &str, progress: Option<Py<PyAny>>) -> PyResult<String> {
    let Request { config, scale, .. } = runs::parse_request(py, request, None)?;
    let query: pumice_lab::life::LifeQuery = parse(query)?;
    let work = move |desk: &Desk<f64>| pumice_lab::life::life(&config, scale, query, &mut |share| desk.ask(share));
    let serve = |py: Python<'_>, share: f64| match &progress {
        None => Ok(true),
        Some(progress) => {
            progress.call1(py, (share,)).and_then(|answer| Ok(answer.is_none(py) || answer.is_truthy(py)?))
        }
    };
    to_json(&attend(py, work, serve)?.map_err(sim_error)?)
}

/// The module.
#[pymodule]
fn _engine(module: &Bound<'_, PyModule>) -> PyResult<()> {
    add_errors(module)?;
    add_classes(module)?;
    crash::add_to(module)?;
    module.add_function(wrap_pyfunction!(serve::ask_served, module)?)?;
    module.add_function(wrap_pyfunction!(version, module)?)?;
    module.add_function(wrap_pyfunction!(commit, module)?)?;
    module.add_function(wrap_pyfunction!(runs::resolve, module)?)?;
    module.add_function(wrap_pyfunction!(runs::run, module)?)?;
    module.add_function(wrap_pyfunction!(plugins::conform, module)?)?;
    module.add_function(wrap_pyfunction!(plugins::plugin_of_library, module)?)?;
    module.add_function(wrap_pyfunction!(snapshots::snapshot_save, module)?)?;
    module.add_function(wrap_pyfunction!(snapshots::snapshot_info, module)?)?;
    module.add_function(wrap_pyfunction!(snapshots::aged_keys, module)?)?;
    module.add_function(wrap_pyfunction!(policies::policy_of_library, module)?)?;
    module.add_function(wrap_pyfunction!(presets, module)?)?;
    module.add_function(wrap_pyfunction!(preset_facts, module)?)?;
    module.add_function(wrap_pyfunction!(preset_toml, module)?)?;
    module.add_function(wrap_pyfunction!(workloads, module)?)?;
    module.add_function(wrap_pyfunction!(result_fields, module)?)?;
    module.add_function(wrap_pyfunction!(schema, module)?)?;
    module.add_function(wrap_pyfunction!(explain, module)?)?;
    module.add_function(wrap_pyfunction!(explain_all, module)?)?;
    module.add_function(wrap_pyfunction!(traces::trace_check, module)?)?;
    module.add_function(wrap_pyfunction!(traces::trace_info, module)?)?;
    module.add_function(wrap_pyfunction!(traces::trace_read, module)?)?;
    module.add_function(wrap_pyfunction!(traces::trace_write, module)?)?;
    module.add_function(wrap_pyfunction!(traces::trace_formats, module)?)?;
    module.add_function(wrap_pyfunction!(traces::fit_device, module)?)?;
    module.add_function(wrap_pyfunction!(recorded::table_layout, module)?)?;
    module.add_function(wrap_pyfunction!(fio_job_settings, module)?)?;
    module.add_function(wrap_pyfunction!(file_digest, module)?)?;
    module.add_function(wrap_pyfunction!(outputs::verify_log, module)?)?;
    module.add_function(wrap_pyfunction!(plan_m_merge, module)?)?;
    module.add_function(wrap_pyfunction!(merges_of_updates, module)?)?;
    module.add_function(wrap_pyfunction!(superblock_indices, module)?)?;
    module.add_function(wrap_pyfunction!(block_pages, module)?)?;
    module.add_function(wrap_pyfunction!(plan_reclaim, module)?)?;
    module.add_function(wrap_pyfunction!(erase_model, module)?)?;
    module.add_function(wrap_pyfunction!(life, module)?)?;
    Ok(())
}

/// What lasts from call to call.
fn add_classes(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<chip::PythonChip>()?;
    module.add_class::<chip::ChipState>()?;
    module.add_class::<torture::PythonTorture>()?;
    module.add_class::<device::PythonDevice>()?;
    module.add_class::<serve::PythonServer>()
}

/// What the module's functions raise.
fn add_errors(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let py = module.py();
    module.add("SpecError", py.get_type::<SpecError>())?;
    module.add("TraceError", py.get_type::<TraceError>())?;
    module.add("SimulationError", py.get_type::<SimulationError>())?;
    module.add("DeviceRefusal", py.get_type::<device::DeviceRefusal>())?;
    module.add("ChipError", py.get_type::<chip::ChipError>())?;
    module.add("Refused", py.get_type::<chip::Refused>())?;
    module.add("Uncorrectable", py.get_type::<chip::Uncorrectable>())?;
    module.add("OperationFailed", py.get_type::<chip::OperationFailed>())?;
    module.add("PowerLost", py.get_type::<chip::PowerLost>())
}
