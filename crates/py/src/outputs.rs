//! What a run writes besides its document, on its way to Python; and the replay of a command log.

use std::path::Path;

use pumice_commandlog::{LogError, Verification, verify_file};
use pumice_engine::results::RequestBatch;
use pumice_engine::{Outcome, Sink};
use pyo3::exceptions::{PyKeyboardInterrupt, PyRuntimeError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use serde_json::json;

/// Hands the pieces of a run's outputs to a Python function. A coarse call each: 65,536 requests, or a
/// mebibyte of commands.
pub struct Pieces<'a> {
    sink: Option<&'a Py<PyAny>>,
    error: Option<PyErr>,
}

impl<'a> Pieces<'a> {
    /// For this function; without one nothing may be asked for.
    pub fn new(sink: Option<&'a Py<PyAny>>) -> Pieces<'a> {
        Pieces { sink, error: None }
    }

    /// What the function raised, if it did.
    pub fn take_error(&mut self) -> Option<PyErr> {
        self.error.take()
    }

    /// Passes on what is known at the end of a run.
    ///
    /// # Errors
    /// What the function raises.
    pub fn pass_rest(&self, py: Python<'_>, outcome: &Outcome) -> PyResult<()> {
        let Some(sink) = self.sink else { return Ok(()) };
        if let Some(text) = &outcome.histograms {
            sink.call1(py, ("histograms", PyBytes::new(py, text)))?;
        }
        if let Some(map) = &outcome.wear_map {
            let content = PyDict::new(py);
            content.set_item("blocks", map.blocks)?;
            content.set_item("leaves", map.leaves)?;
            let erases: Vec<u8> = map.erases.iter().flat_map(|count| count.to_le_bytes()).collect();
            content.set_item("erases", PyBytes::new(py, &erases))?;
            sink.call1(py, ("wear_map", content))?;
        }
        Ok(())
    }

    fn pass(&mut self, call: impl FnOnce(Python<'_>, &Py<PyAny>) -> PyResult<()>) -> Result<(), String> {
        let Some(sink) = self.sink else { return Ok(()) };
        Python::attach(|py| call(py, sink)).map_err(|error| {
            let text = error.to_string();
            self.error = Some(error);
            text
        })
    }
}

impl Sink for Pieces<'_> {
    fn requests(&mut self, batch: &RequestBatch) -> Result<(), String> {
        self.pass(|py, sink| {
            let columns = PyDict::new(py);
            for (name, bytes) in batch.columns() {
                columns.set_item(name, PyBytes::new(py, &bytes))?;
            }
            sink.call1(py, ("request_log", columns)).map(|_| ())
        })
    }

    fn commands(&mut self, bytes: &[u8]) -> Result<(), String> {
        self.pass(|py, sink| sink.call1(py, ("command_log", PyBytes::new(py, bytes))).map(|_| ()))
    }
}

/// Replays a command log into the chip's rules; returns the verdict as JSON.
#[pyfunction]
pub fn verify_log(py: Python<'_>, path: &str) -> PyResult<String> {
    let mut stopped_by = None;
    let result = py.detach(|| {
        verify_file(Path::new(path), &mut |_| {
            stopped_by = Python::attach(|py| py.check_signals()).err();
            stopped_by.is_none()
        })
    });
    match result {
        Ok(verdict) => to_json(&verdict),
        Err(LogError::Damaged(text)) => Err(crate::TraceError::new_err(text)),
        Err(LogError::Interrupted) => Err(stopped_by.unwrap_or_else(|| PyKeyboardInterrupt::new_err("interrupted"))),
    }
}

fn to_json(verdict: &Verification) -> PyResult<String> {
    let broken = verdict
        .broken
        .as_ref()
        .map(|broken| json!({ "record": broken.record, "start_ns": broken.start.0, "text": broken.text }));
    let header = serde_json::to_value(&verdict.header).map_err(|error| PyRuntimeError::new_err(error.to_string()))?;
    let verdict = json!({
        "commands": verdict.commands, "corrupt_pages": verdict.corrupt_pages, "broken": broken, "header": header,
    });
    Ok(verdict.to_string())
}
