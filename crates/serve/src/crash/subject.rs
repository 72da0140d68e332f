//! What the lab works on: a device and a session.

use pumice_config::Config;

use crate::recording::RecordedSession;

/// A device and a recorded session.
pub struct CrashSubject {
    /// The device.
    pub config: Config,
    /// Its scale.
    pub scale: f64,
    /// The session.
    pub recorded: RecordedSession,
}
