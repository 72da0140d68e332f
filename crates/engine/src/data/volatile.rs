//! What of a device's bytes is in RAM, as a store keeps it.

use serde::{Deserialize, Serialize};

use super::queued::QueuedPages;
use super::ram::ControllerRam;
use crate::error::SimError;

/// Bytes in RAM at one instant.
#[derive(Clone, Serialize, Deserialize)]
pub struct VolatileBytes {
    /// Pages whose newest bytes are in the controller's RAM.
    pub(super) ram: ControllerRam,
    /// Pages that queued commands will fill.
    pub(super) queued: QueuedPages,
    /// Logical pages that RAM may hold no longer.
    pub(super) settled: Vec<u32>,
}

impl VolatileBytes {
    /// As they are kept.
    ///
    /// # Errors
    /// None in practice.
    pub fn encode(&self) -> Result<Vec<u8>, SimError> {
        postcard::to_stdvec(self).map_err(|error| SimError::Output(error.to_string()))
    }

    /// The bytes that were kept so.
    ///
    /// # Errors
    /// What was kept is something else.
    pub fn decode(kept: &[u8]) -> Result<VolatileBytes, SimError> {
        let damaged = |error| SimError::Output(format!("what was in the device's RAM is damaged: {error}"));
        postcard::from_bytes(kept).map_err(damaged)
    }
}
