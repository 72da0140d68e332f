//! What the lab works on: a device and a session.

use pumice_config::Config;

use super::submitted::SubmittedSession;

/// A device and a session on it.
pub struct CrashSubject {
    /// The device.
    pub config: Config,
    /// Scale of the device.
    pub scale: f64,
    /// The session.
    pub session: SubmittedSession,
}
