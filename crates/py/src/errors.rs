//! The exceptions of the module, and what each error of the engine becomes.

use pumice_config::SpecError as EngineSpecError;
use pumice_engine::SimError;
use pumice_workload::TraceError as EngineTraceError;
use pyo3::exceptions::{PyKeyboardInterrupt, PyOSError, PyRuntimeError, PyValueError};
use pyo3::prelude::*;

pyo3::create_exception!(pumice, SpecError, PyValueError, "A spec that cannot be run; the text is one line.");
pyo3::create_exception!(pumice, TraceError, PyValueError, "A trace that cannot be read; the text is one line.");
pyo3::create_exception!(pumice, SimulationError, PyRuntimeError, "A simulation that ended in an error.");

pub fn spec_error(error: EngineSpecError) -> PyErr {
    SpecError::new_err(error.to_string())
}

pub fn trace_error(error: EngineTraceError) -> PyErr {
    TraceError::new_err(error.to_string())
}

pub fn sim_error(error: SimError) -> PyErr {
    match error {
        SimError::Spec(error) => spec_error(error),
        SimError::Trace(error) => trace_error(error),
        SimError::Simulation(text) | SimError::WornOut(text) => SimulationError::new_err(text),
        SimError::Output(text) => PyOSError::new_err(text),
        SimError::Interrupted => PyKeyboardInterrupt::new_err("interrupted"),
    }
}
