//! What crosses to Python as JSON text.

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;

use crate::errors::SpecError;

pub fn to_json(report: &impl serde::Serialize) -> PyResult<String> {
    serde_json::to_string(report).map_err(|error| PyRuntimeError::new_err(error.to_string()))
}

pub fn parse<'a, T: serde::Deserialize<'a>>(request: &'a str) -> PyResult<T> {
    serde_json::from_str(request).map_err(|error| SpecError::new_err(format!("request: {error}")))
}
