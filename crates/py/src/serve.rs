//! A served device; see `pumice.serve`.

use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use pumice_engine::{Outcome, SimError};
use pumice_serve::{Address, ServeOptions, Server, without_effect_on_a_served_device};
use pyo3::prelude::*;

use crate::errors::{SimulationError, SpecError, sim_error, spec_error};
use crate::runs::{finish, parse_source};

/// A device that is being served, until it is stopped.
#[pyclass(frozen, name = "Server", module = "pumice._engine")]
pub struct PythonServer {
    server: Mutex<Option<Server>>,
    uri: String,
    address: String,
    capacity: u64,
    preset: Option<String>,
    without_effect: Vec<String>,
    started: Instant,
}

impl PythonServer {
    /// The result document that an outcome gives.
    fn document(&self, outcome: Result<Outcome, SimError>) -> PyResult<String> {
        let wall_s = self.started.elapsed().as_secs_f64();
        finish(outcome.map_err(sim_error)?, wall_s, self.preset.clone(), self.without_effect.clone())
    }

    /// Asks the server something.
    fn ask<T: Send>(&self, py: Python<'_>, question: impl FnOnce(&Server) -> T + Send) -> PyResult<T> {
        let answer = py.detach(|| {
            let server = self.server.lock().unwrap_or_else(PoisonError::into_inner);
            server.as_ref().map(question)
        });
        answer.ok_or_else(|| SimulationError::new_err("the device is not served any more"))
    }
}

#[pymethods]
impl PythonServer {
    #[new]
    fn new(py: Python<'_>, request: &str, listen: &str, record: Option<PathBuf>) -> PyResult<PythonServer> {
        let source = parse_source(py, request, None)?;
        let listen: Address = listen.parse().map_err(|text| SpecError::new_err(format!("--listen {text}")))?;
        let preset = source.preset_name();
        let options = ServeOptions { source, listen, record };
        let started = Instant::now();
        let server = py.detach(|| Server::start(&options)).map_err(sim_error)?;
        let without_effect = without_effect_on_a_served_device(&options.source, server.config()).map_err(spec_error)?;
        let (uri, address, capacity) = (server.address().uri(), server.address().to_string(), server.capacity());
        let server = Mutex::new(Some(server));
        Ok(PythonServer { server, uri, address, capacity, preset, without_effect, started })
    }

    /// Where NBD clients connect.
    fn uri(&self) -> &str {
        &self.uri
    }

    /// The same, as `--listen` takes it.
    fn address(&self) -> &str {
        &self.address
    }

    /// Bytes of the device.
    fn capacity(&self) -> u64 {
        self.capacity
    }

    /// Whether the simulation has ended in an error.
    fn has_failed(&self, py: Python<'_>) -> PyResult<bool> {
        self.ask(py, Server::has_failed)
    }

    /// The result document so far.
    fn result(&self, py: Python<'_>) -> PyResult<String> {
        self.document(self.ask(py, Server::result)?)
    }

    /// Ends the server; returns the result document.
    fn stop(&self, py: Python<'_>) -> PyResult<String> {
        let server = self.server.lock().unwrap_or_else(PoisonError::into_inner).take();
        let server = server.ok_or_else(|| SimulationError::new_err("the device is not served any more"))?;
        self.document(py.detach(|| server.stop()))
    }
}
