//! Faults in recovery that the sources still name themselves; [`crate::fault`] has all others.

/// One thing done wrong.
#[derive(Clone, Copy)]
pub enum RecoveryFault {
    /// Collection works while spare areas are still being read.
    CollectsWhileStarting,
    /// Writes are acknowledged before they are programmed.
    AcknowledgedEarly,
}

impl RecoveryFault {
    /// Whether it is switched on.
    #[inline]
    pub fn is_on(self) -> bool {
        match self {
            RecoveryFault::CollectsWhileStarting => false,
            RecoveryFault::AcknowledgedEarly => false,
        }
    }
}
