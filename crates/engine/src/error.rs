//! Why a run did not end well.

use std::fmt;

use pumice_config::SpecError;
use pumice_ftl::FtlError;
use pumice_nand::{ChipError, Violation};
use pumice_workload::TraceError;

/// A run that could not start or could not end. Every text is one line.
#[derive(Clone, Debug)]
pub enum SimError {
    /// The spec is at fault.
    Spec(SpecError),
    /// The trace or workload is at fault.
    Trace(TraceError),
    /// The simulation ended in an error: a flash rule, a wrong belief, lost data.
    Simulation(String),
    /// No block is left to write to, because blocks are retired: the device is read-only from here on.
    WornOut(String),
    /// An observer failed, for example because a log could not be written.
    Output(String),
    /// The caller asked to stop.
    Interrupted,
}

impl fmt::Display for SimError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SimError::Spec(error) => error.fmt(f),
            SimError::Trace(error) => error.fmt(f),
            SimError::Simulation(text) | SimError::WornOut(text) | SimError::Output(text) => f.write_str(text),
            SimError::Interrupted => f.write_str("interrupted"),
        }
    }
}

impl std::error::Error for SimError {}

impl From<SpecError> for SimError {
    fn from(error: SpecError) -> SimError {
        SimError::Spec(error)
    }
}

impl From<TraceError> for SimError {
    fn from(error: TraceError) -> SimError {
        SimError::Trace(error)
    }
}

impl From<Violation> for SimError {
    fn from(violation: Violation) -> SimError {
        SimError::Simulation(violation.to_string())
    }
}

impl From<FtlError> for SimError {
    fn from(error: FtlError) -> SimError {
        let text = error.to_string();
        if matches!(error, FtlError::WornOut { .. }) { SimError::WornOut(text) } else { SimError::Simulation(text) }
    }
}

impl From<ChipError> for SimError {
    fn from(error: ChipError) -> SimError {
        SimError::Simulation(error.to_string())
    }
}
