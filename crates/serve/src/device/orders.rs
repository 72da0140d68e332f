//! What a device is ordered to suffer, and told to note.

use pumice_engine::SimError;
use pumice_ftl::Recovery;
use pumice_types::Time;
use serde_json::{Value, json};

use super::Device;
use crate::protocol::transmission::{ErrorCode, Reply};
use crate::recording::journal::DeviceEvent;

impl<T> Device<T> {
    /// Cuts the power now and lets the device recover. What was written and not flushed may be lost.
    ///
    /// # Errors
    /// A device that cannot recover, or a simulation that ended in an error.
    pub fn cut(&mut self) -> Result<Value, SimError> {
        self.check_is_well()?;
        if self.config.ftl.shared.recovery == Recovery::Off {
            let text = "the device cannot recover after a power cut; serve it with ftl.recovery = \"scan\"";
            return Err(SimError::Simulation(text.into()));
        }
        if self.kept.recording.is_some() {
            let text = "the power of a device whose session is recorded is not cut; the crash lab cuts it";
            return Err(SimError::Simulation(text.into()));
        }
        // Behind everything that happens at this instant.
        let at = self.now() + Time(1);
        let cut = self.lose_power_now();
        self.operations.end_all(&Reply::Failed(ErrorCode::Shutdown), at);
        let kept = cut.and_then(|took| self.commit().map(|()| took));
        let took = kept.inspect_err(|error| self.failure = Some(error.to_string()))?;
        let is_dead = self.path().is_dead();
        Ok(json!({
            "cuts": self.cuts_s.len(), "at_s": at.as_s(), "recovery_us": took.as_us(), "is_dead": is_dead,
        }))
    }

    /// Lets the next erase of a block fail.
    ///
    /// # Errors
    /// Why it cannot, or a simulation that ended in an error.
    pub fn fault(&mut self, block: u32) -> Result<Value, SimError> {
        let refuse = |text: String| Err(SimError::Simulation(text));
        self.check_is_well()?;
        if self.kept.record.is_some() || self.kept.recording.is_some() {
            return refuse("a fault is no request: no record can hold it; serve without --record and --session".into());
        }
        // Whatever else happens at this instant comes first, as when a store is opened.
        let passed = self.pass_time(self.now());
        passed.inspect_err(|error| self.failure = Some(error.to_string()))?;
        let at = self.now();
        self.session.fail_next_erase(block).map_err(|why| SimError::Simulation(format!("fault: {why}")))?;
        if let Some(store) = &mut self.kept.store {
            let event = DeviceEvent::Fault(at - self.session.behind(), block);
            let kept = store.add(&event).and_then(|()| self.commit());
            kept.inspect_err(|error| self.failure = Some(error.to_string()))?;
        }
        Ok(json!({ "block": block, "at_s": at.as_s() }))
    }

    /// Notes in the recording how far the program is that uses the device.
    ///
    /// # Errors
    /// Nothing is recorded, or the recording cannot be written.
    pub fn mark(&mut self, text: &str) -> Result<Value, SimError> {
        let none = || SimError::Simulation("the session is not recorded, so it has no marks".into());
        let recording = self.kept.recording.as_mut().ok_or_else(none)?;
        recording.mark(text)?;
        Ok(json!({ "requests": self.session.submitted() }))
    }
}
