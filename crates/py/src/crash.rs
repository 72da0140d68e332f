//! The crash lab; see `pumice.crash`.

use std::path::PathBuf;

use pumice_serve::RecordedSession;
use pumice_serve::crash::{CrashCut, CrashLab, CutPlaces};
use pumice_types::{Choice, Time};
use pyo3::exceptions::{PyOSError, PyValueError};
use pyo3::prelude::*;
use serde_json::json;

use crate::errors::sim_error;
use crate::runs::parse_source;

/// A device and a recorded session, or a workload in its place.
#[pyclass(frozen, name = "CrashLab", module = "pumice._engine")]
pub struct PythonCrashLab {
    lab: CrashLab,
}

#[pymethods]
impl PythonCrashLab {
    #[new]
    fn new(py: Python<'_>, request: &str, recording: Option<PathBuf>) -> PyResult<PythonCrashLab> {
        let source = parse_source(py, request, None)?;
        let lab = py.detach(|| match recording {
            Some(path) => {
                let recorded = RecordedSession::read(&path).map_err(|error| PyOSError::new_err(error.to_string()))?;
                CrashLab::new(&source, recorded).map_err(sim_error)
            }
            None => CrashLab::of_workload(&source).map_err(sim_error),
        })?;
        Ok(PythonCrashLab { lab })
    }

    /// Requests of the session.
    fn requests(&self) -> usize {
        self.lab.requests()
    }

    /// Whether images can be written.
    fn has_data(&self) -> bool {
        self.lab.has_data()
    }

    /// At most so many instants, in nanoseconds of the device's clock.
    fn instants(&self, py: Python<'_>, places: &str, cuts: usize) -> PyResult<Vec<u64>> {
        let places = CutPlaces::from_name(places).ok_or_else(|| PyValueError::new_err("unknown places"))?;
        let instants = py.detach(|| self.lab.instants(places, cuts)).map_err(sim_error)?;
        Ok(instants.into_iter().map(|at| at.0).collect())
    }

    /// Tries cuts: instants in ascending order, each with the path of an image that is wanted. `each` gets the verdicts
    /// as JSON, in any order; `False` ends the work. Returns whether all were tried.
    fn try_cuts(
        &self,
        py: Python<'_>,
        cuts: Vec<(u64, Option<PathBuf>)>,
        workers: usize,
        each: Py<PyAny>,
    ) -> PyResult<bool> {
        let cuts: Vec<CrashCut> = cuts.into_iter().map(|(at, image)| CrashCut { at: Time(at), image }).collect();
        let mut raised = None;
        let tried = py.detach(|| {
            self.lab.try_cuts(&cuts, workers, &mut |tried| {
                let told = json!({ "nth": tried.nth, "verdict": tried.verdict, "image": tried.image }).to_string();
                let answer = Python::attach(|py| each.call1(py, (told,))?.extract::<bool>(py));
                answer.unwrap_or_else(|error| {
                    raised = Some(error);
                    false
                })
            })
        });
        raised.map_or(Ok(()), Err)?;
        tried.map_err(sim_error)
    }
}

/// The spec in the header of a recording, as JSON.
#[pyfunction]
pub fn recording_header(path: PathBuf) -> PyResult<String> {
    let header = RecordedSession::header(&path).map_err(|error| PyOSError::new_err(error.to_string()))?;
    Ok(json!(header.spec).to_string())
}

/// Where cuts can be made, by name.
#[pyfunction]
pub fn cut_places() -> Vec<&'static str> {
    CutPlaces::NAMES.to_vec()
}
