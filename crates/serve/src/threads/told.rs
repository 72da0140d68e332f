//! What is told of a device without waiting for what it is at.

use std::sync::atomic::AtomicBool;
use std::sync::{Mutex, PoisonError};

use serde_json::Value;

use crate::threads::clock::{Lateness, ServeClock};
use pumice_engine::SimError;

/// What is told of a device whatever it is at.
pub struct ThreadTold {
    /// The simulation has ended in an error.
    pub has_failed: AtomicBool,
    /// How late replies were; `None`: the device has a clock of its own.
    pub lateness: Option<Mutex<Lateness>>,
}

impl ThreadTold {
    /// Nothing told yet.
    ///
    /// # Errors
    /// None in practice; see [`Lateness::new`].
    pub fn new(clock: ServeClock) -> Result<ThreadTold, SimError> {
        let lateness = match clock {
            ServeClock::Virtual => None,
            ServeClock::Real => Some(Mutex::new(Lateness::new()?)),
        };
        Ok(ThreadTold { has_failed: AtomicBool::new(false), lateness })
    }

    /// How late replies were.
    pub fn lateness(&self) -> Option<Value> {
        let lateness = self.lateness.as_ref()?;
        Some(lateness.lock().unwrap_or_else(PoisonError::into_inner).told())
    }
}
