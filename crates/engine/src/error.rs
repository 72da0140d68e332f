//! Why a run did not end well.

use pumice_config::SpecError;
use pumice_ftl::FtlError;
use pumice_nand::{ChipError, Violation};
use pumice_workload::TraceError;
use thiserror::Error;

/// A run that could not start or could not end. Every text is one line.
#[derive(Clone, Debug, Error)]
pub enum SimError {
    /// The spec is at fault.
    #[error(transparent)]
    Spec(#[from] SpecError),
    /// The trace or workload is at fault.
    #[error(transparent)]
    Trace(#[from] TraceError),
    /// The simulation ended in an error: a flash rule, a wrong belief, lost data.
    #[error("{0}")]
    Simulation(String),
    /// No block is left to write to, because blocks are retired: the device is read-only from here on.
    #[error("{0}")]
    WornOut(String),
    /// An observer failed, for example because a log could not be written.
    #[error("{0}")]
    Output(String),
    /// The caller asked to stop.
    #[error("interrupted")]
    Interrupted,
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
