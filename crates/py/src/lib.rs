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
use errors::{SpecError, sim_error, spec_error, trace_error};
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
mod _engine {
    #[pymodule_export]
    use super::{
        block_pages,
        chip::{ChipError, ChipState, OperationFailed, PowerLost, PythonChip, Refused, Uncorrectable},
        commit,
        crash::{PythonCrashLab, cut_places, recording_header},
        device::{DeviceRefusal, PythonDevice},
        erase_model,
        errors::{SimulationError, SpecError, TraceError},
        explain, explain_all, file_digest, fio_job_settings, life, merges_of_updates,
        outputs::verify_log,
        plan_m_merge, plan_reclaim,
        plugins::{conform, plugin_of_library},
        policies::policy_of_library,
        preset_facts, preset_toml, presets,
        recorded::table_layout,
        result_fields,
        runs::{resolve, run},
        schema,
        serve::{PythonServer, ask_served},
        snapshots::{aged_keys, snapshot_info, snapshot_save},
        superblock_indices,
        torture::PythonTorture,
        traces::{fit_device, trace_check, trace_formats, trace_info, trace_read, trace_write},
        version, workloads,
    };
}
