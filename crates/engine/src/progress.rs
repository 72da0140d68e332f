//! How far a run has come, for whoever waits for it.

use pumice_types::Time;

/// Pages submitted and events handled between two progress reports.
pub const PROGRESS_EVERY: u64 = 1 << 17;

/// How far a run has come.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    /// Requests submitted.
    pub requests: u64,
    /// Share of the workload consumed, if it can be told.
    pub share: Option<f64>,
    /// Simulated time so far.
    pub simulated: Time,
}
