//! The document as its reader gets it: with what only a wall clock, the operating system and the request know.

use std::time::Instant;

use serde_json::{Value, json};

use super::Outcome;
use crate::error::SimError;

/// What a result document needs that the engine does not know.
pub struct Circumstances {
    /// When the run began.
    pub started: Instant,
    /// Name of the preset that its spec starts from.
    pub preset: Option<String>,
    /// A line for each key that was set and is not read.
    pub without_effect: Vec<String>,
}

impl Outcome {
    /// The whole document.
    ///
    /// # Errors
    /// What an integrity run found wrong.
    pub fn told(self, circumstances: &Circumstances) -> Result<Value, SimError> {
        if let Some(text) = self.integrity_error {
            return Err(SimError::Simulation(text));
        }
        let mut document = self.document;
        document["preset"] = json!(circumstances.preset);
        let wall_s = circumstances.started.elapsed().as_secs_f64();
        if let Some(run) = document.get_mut("run").and_then(Value::as_object_mut) {
            run.insert("wall_s".into(), json!(wall_s));
            run.insert("requests_per_s".into(), json!(self.requests as f64 / wall_s));
            run.insert("flash_commands_per_s".into(), json!(self.flash_commands as f64 / wall_s));
            run.insert("peak_rss_mib".into(), json!(peak_rss_mib()));
        }
        if let Some(warnings) = document.get_mut("warnings").and_then(Value::as_array_mut) {
            warnings.splice(..0, circumstances.without_effect.iter().map(|line| json!(line)));
        }
        Ok(document)
    }
}

/// Peak resident memory of this process, where the system tells (Linux).
fn peak_rss_mib() -> Option<f64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    let kib: f64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kib / 1024.0)
}
