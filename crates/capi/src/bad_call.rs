//! Why a call from C is refused.

use pumice_types::SpecError;

/// A call that is refused before anything comes of it, in one line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BadCall {
    /// The caller was built for a version that is not served.
    Version(String),
    /// The call means nothing.
    Misuse(String),
}

impl BadCall {
    /// What is wrong with it.
    pub fn text(self) -> String {
        match self {
            BadCall::Version(text) | BadCall::Misuse(text) => text,
        }
    }
}

/// What a shared object declares belongs to a spec.
impl From<BadCall> for SpecError {
    fn from(bad: BadCall) -> SpecError {
        SpecError(bad.text())
    }
}

#[cfg(feature = "host")]
impl From<BadCall> for pumice_chip::ChipFailure {
    fn from(bad: BadCall) -> pumice_chip::ChipFailure {
        pumice_chip::ChipFailure::Usage(bad.text())
    }
}
