//! A served device; see `pumice.serve`.

use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use pumice_serve::{Address, ControlRequest, ServeClock, ServeOptions, Server};
use pumice_types::Choice;
use pyo3::prelude::*;

use crate::attended::{Desk, attend};
use crate::errors::{SimulationError, SpecError, sim_error};
use crate::runs::parse_source;

/// A device that is being served, until it is stopped.
#[pyclass(frozen, name = "Server", module = "pumice._engine")]
pub struct PythonServer {
    server: Mutex<Option<Server>>,
    uri: String,
    address: String,
    capacity: u64,
    lateness: Box<dyn Fn() -> Option<serde_json::Value> + Send + Sync>,
}

/// An address that an option gives.
fn address(option: &str, text: &str) -> PyResult<Address> {
    text.parse().map_err(|refusal| SpecError::new_err(format!("{option} {refusal}")))
}

impl PythonServer {
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
    #[allow(clippy::too_many_arguments, reason = "the Python call's arguments, one to one")]
    fn new(
        py: Python<'_>,
        request: &str,
        listen: &str,
        control: Option<&str>,
        store: Option<PathBuf>,
        record: Option<PathBuf>,
        session: Option<PathBuf>,
        clock: &str,
    ) -> PyResult<PythonServer> {
        let source = parse_source(py, request, None)?;
        let listen = address("--listen", listen)?;
        let control = control.map(|text| address("--control", text)).transpose()?;
        let refused = || format!("--clock {clock}: no such clock; allowed: {}", ServeClock::NAMES.join(", "));
        let clock = ServeClock::from_name(clock).ok_or_else(|| SpecError::new_err(refused()))?;
        let options = ServeOptions { source, listen, control, store, record, recording: session, clock };
        let start = move |desk: &Desk<()>| Server::start_while(&options, &mut || !desk.is_stopped());
        let server = attend(py, start, |_, ()| Ok(true))?.map_err(sim_error)?;
        let lateness = Box::new(server.lateness());
        let (uri, address, capacity) = (server.address().uri(), server.address().to_string(), server.capacity());
        Ok(PythonServer { server: Mutex::new(Some(server)), uri, address, capacity, lateness })
    }

    /// Where NBD clients connect.
    fn uri(&self) -> &str {
        &self.uri
    }

    /// The server's address, as `--listen` takes it.
    fn address(&self) -> &str {
        &self.address
    }

    /// Bytes of the device.
    fn capacity(&self) -> u64 {
        self.capacity
    }

    /// Whether the simulation has ended in an error, or a control client has asked for the end.
    fn is_over(&self, py: Python<'_>) -> PyResult<bool> {
        self.ask(py, Server::is_over)
    }

    /// How late replies were, as JSON; `None`: the device has a clock of its own.
    fn lateness(&self) -> Option<String> {
        (self.lateness)().map(|told| told.to_string())
    }

    /// Answers a question of the control socket; JSON in and out.
    fn answer(&self, py: Python<'_>, question: &str) -> PyResult<String> {
        let request = ControlRequest::parse(question).map_err(|error| SpecError::new_err(error.0))?;
        let answer = self.ask(py, |server| server.answer(&request))?;
        Ok(answer.map_err(|error| SimulationError::new_err(error.to_string()))?.to_string())
    }

    /// Ends the server; returns the result document.
    fn stop(&self, py: Python<'_>) -> PyResult<String> {
        let server = self.server.lock().unwrap_or_else(PoisonError::into_inner).take();
        let server = server.ok_or_else(|| SimulationError::new_err("the device is not served any more"))?;
        Ok(py.detach(|| server.stop()).map_err(sim_error)?.to_string())
    }
}

/// Asks a device that another process serves; JSON in and out.
#[pyfunction]
pub fn ask_served(py: Python<'_>, address: &str, question: String) -> PyResult<String> {
    let to: Address = address.parse().map_err(|error: pumice_config::SpecError| SpecError::new_err(error.0))?;
    let answer = attend::<(), _>(py, move |_| pumice_serve::ask(&to, &question), |_, ()| Ok(true))?;
    let line = answer.map_err(|error| {
        SpecError::new_err(format!("{address}: {error}; is a device served with --control {address}?"))
    })?;
    if line.is_empty() {
        return Err(SimulationError::new_err(format!("{address}: no answer; the device has ended")));
    }
    Ok(line)
}
