//! What a run writes besides its document, on its way to Python; and the replay of a command log.

use std::path::PathBuf;

use pumice_commandlog::{LogError, verify_file};
use pumice_engine::results::RequestBatch;
use pumice_engine::{Outcome, Progress, Sink};
use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

use crate::attended::{Desk, attend};
use crate::errors::TraceError;
use crate::json::to_json;

/// A piece of a run's outputs. A coarse call each: 65,536 requests, or a mebibyte of commands.
pub enum Piece {
    /// The next finished requests, a column each.
    Requests([(&'static str, Vec<u8>); 5]),
    /// The next bytes of the command log.
    Commands(Vec<u8>),
    /// The next text of the timeline.
    Timeline(String),
}

/// What a run asks of the thread that waits for it.
pub enum Handover {
    /// The run has come this far. Shall it go on?
    Progress(Progress),
    /// A piece that is to be kept.
    Keep(Piece),
}

impl Piece {
    /// Hands the piece to the Python function that takes them.
    ///
    /// # Errors
    /// What the function raises.
    pub fn pass(self, py: Python<'_>, sink: &Py<PyAny>) -> PyResult<()> {
        match self {
            Piece::Requests(columns) => {
                let content = PyDict::new(py);
                for (name, bytes) in columns {
                    content.set_item(name, PyBytes::new(py, &bytes))?;
                }
                sink.call1(py, ("request_log", content))?;
            }
            Piece::Timeline(text) => drop(sink.call1(py, ("timeline", text))?),
            Piece::Commands(bytes) => drop(sink.call1(py, ("command_log", PyBytes::new(py, &bytes)))?),
        }
        Ok(())
    }
}

/// Passes on what is known at the end of a run.
///
/// # Errors
/// What the function raises.
pub fn pass_rest(py: Python<'_>, sink: &Py<PyAny>, outcome: &Outcome) -> PyResult<()> {
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

/// Takes the pieces of a run and asks for them to be kept.
pub struct Pieces<'a>(pub &'a Desk<Handover>);

impl Pieces<'_> {
    fn keep(&self, piece: Piece) -> Result<(), String> {
        if self.0.ask(Handover::Keep(piece)) { Ok(()) } else { Err("stopped".into()) }
    }
}

impl Sink for Pieces<'_> {
    fn requests(&mut self, batch: &RequestBatch) -> Result<(), String> {
        self.keep(Piece::Requests(batch.columns()))
    }

    fn commands(&mut self, bytes: &[u8]) -> Result<(), String> {
        self.keep(Piece::Commands(bytes.to_vec()))
    }

    fn timeline(&mut self, text: &str) -> Result<(), String> {
        self.keep(Piece::Timeline(text.into()))
    }
}

/// Replays a command log into the chip's rules; returns the verdict as JSON.
#[pyfunction]
pub fn verify_log(py: Python<'_>, path: PathBuf) -> PyResult<String> {
    let verdict = attend(py, move |desk: &Desk<()>| verify_file(&path, &mut |_| !desk.is_stopped()), |_, ()| Ok(true))?;
    match verdict {
        Ok(verdict) => to_json(&verdict),
        Err(LogError::Damaged(text)) => Err(TraceError::new_err(text)),
        Err(LogError::Interrupted) => Err(PyKeyboardInterrupt::new_err("interrupted")),
    }
}
