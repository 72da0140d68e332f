//! How the fault of a user's own policy is told.

use std::fmt;

/// Why a policy ended a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PolicyFault {
    /// Name of the policy.
    pub policy: String,
    /// What it did.
    pub text: String,
}

impl fmt::Display for PolicyFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "policy \"{}\": {}", self.policy, self.text)
    }
}
