//! The calls that make and describe snapshots of aged devices.

use std::path::PathBuf;

use pumice_config::aged::AgedIdentity;
use pumice_engine::snapshot::{Places, SealKey, Shelf, SnapshotFile};
use pumice_engine::{Progress, age};
use pyo3::exceptions::PyOSError;
use pyo3::prelude::*;
use serde_json::json;

use crate::attended::{Desk, attend};
use crate::errors::{SpecError, sim_error};
use crate::runs::{parse_request, tell};

/// Ages the device of a request and writes it to a file, sealed with the key in another file; returns the file's header
/// as JSON. `engine` tells one build from another; `progress` is as in `run`.
#[pyfunction]
#[pyo3(signature = (request, path, key, engine, progress=None))]
#[allow(clippy::too_many_arguments, reason = "the Python call's arguments, one to one")]
pub fn snapshot_save(
    py: Python<'_>,
    request: &str,
    path: PathBuf,
    key: PathBuf,
    engine: String,
    progress: Option<Py<PyAny>>,
) -> PyResult<String> {
    let asked = parse_request(py, request, None)?;
    let key = SealKey::read(&key).map_err(SpecError::new_err)?;
    let work = move |desk: &Desk<Progress>| age(&asked.config, asked.scale, &mut |report| desk.ask(*report));
    let (identity, device) = attend(py, work, |py, report| tell(py, &report, progress.as_ref()))?.map_err(sim_error)?;
    let header = Shelf::new(engine, Places::default()).header(&identity, &device);
    let written = py.detach(|| SnapshotFile::write(&path, &header, &device, &key));
    written.map_err(|error| PyOSError::new_err(format!("{}: {error}", path.display())))?;
    Ok(json!(header).to_string())
}

/// What a snapshot is of, verified, as JSON.
#[pyfunction]
pub fn snapshot_info(py: Python<'_>, path: PathBuf, key: PathBuf) -> PyResult<String> {
    let key = SealKey::read(&key).map_err(SpecError::new_err)?;
    let read = py.detach(|| SnapshotFile::read(&path, &key));
    let file = read.map_err(|why| SpecError::new_err(format!("{}: {why}", path.display())))?;
    Ok(json!(file.header).to_string())
}

/// The keys that the aged device of a request depends on, in sections, as JSON; `null` if there is nothing to keep.
#[pyfunction]
pub fn aged_keys(py: Python<'_>, request: &str) -> PyResult<String> {
    let asked = parse_request(py, request, None)?;
    Ok(json!(AgedIdentity::of(&asked.config, asked.scale).map(|identity| identity.keys)).to_string())
}
