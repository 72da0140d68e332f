//! Translation layers of the user's own on their way from Python into a run: shared objects by their paths.

use std::path::{Path, PathBuf};

use pumice_capi::ftl::load;
use pumice_ftl::plugin::OwnLayer;
use pumice_lab::conform::Verdict;
use pyo3::prelude::*;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::attended::{Desk, attend_watching};
use crate::errors::SpecError;
use crate::own_code_watch::OwnCodeWatch;

/// A plug-in in a request: its file, and the digest that the file had when the request was made.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RequestedPlugin {
    path: PathBuf,
    sha256: String,
}

impl RequestedPlugin {
    /// Loads it.
    ///
    /// # Errors
    /// The plug-in cannot be loaded, or is another one than when the request was made.
    pub fn load(&self) -> PyResult<OwnLayer> {
        let found = open(&self.path)?;
        if found.source.sha256() == self.sha256 {
            return Ok(found);
        }
        let path = self.path.display();
        Err(SpecError::new_err(format!("plug-in {path}: is another file than when the run was asked for")))
    }
}

fn open(path: &Path) -> PyResult<OwnLayer> {
    load(path).map_err(|text| SpecError::new_err(format!("plug-in {text}")))
}

/// Loads the plug-ins at these paths.
///
/// # Errors
/// One cannot be loaded.
pub fn open_all(paths: &[PathBuf]) -> PyResult<Vec<OwnLayer>> {
    paths.iter().map(|path| open(path)).collect()
}

/// Runs the contract suite on a shared object's plug-in; its verdicts as a JSON list.
#[pyfunction]
pub fn conform(py: Python<'_>, path: PathBuf, sets: Vec<(String, String)>) -> PyResult<String> {
    let layer = open(&path)?;
    let mut watch = OwnCodeWatch::of(None, Some(&layer));
    let work = move |desk: &Desk<()>| pumice_lab::conform::conform(&layer, &sets, &mut || !desk.is_stopped());
    let verdicts = attend_watching(py, work, |_, ()| Ok(true), &mut watch)?;
    Ok(Value::from(verdicts.iter().map(Verdict::to_json).collect::<Vec<_>>()).to_string())
}

/// What a shared object's plug-in declares, as JSON: name, SHA-256, whether it retires blocks and recovers after
/// power cuts, and what `explain` says of its keys.
#[pyfunction]
pub fn plugin_of_library(path: PathBuf) -> PyResult<String> {
    let layer = open(&path)?;
    let plugins = std::slice::from_ref(&layer);
    let keys: Result<Vec<_>, _> =
        layer.source.keys().iter().map(|key| pumice_config::explain(key.path, plugins)).collect();
    let found = json!({
        "name": layer.source.name().name(), "sha256": layer.source.sha256(),
        "retires_blocks": layer.source.retires_blocks(), "recovers": layer.source.recovers(),
        "keys": keys.map_err(crate::errors::spec_error)?,
    });
    Ok(found.to_string())
}
