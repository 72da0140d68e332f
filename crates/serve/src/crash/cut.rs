//! Power cuts that are to be tried, and those that were.

use std::path::PathBuf;

use pumice_types::{Time, choice};

use super::verdict::CrashVerdict;

choice! {
    /// Where the power of a session is cut.
    pub enum CutPlaces {
        /// At instants that the seed draws, each as likely as any other.
        Random = "random",
        /// One nanosecond after the device has promised something: a flush, a write with force unit access, or without a
        /// write buffer any write.
        Promises = "promises",
        /// One nanosecond after each event of the device, and in the middle between two of them.
        Dense = "dense",
    }
}

/// A power cut to be tried.
#[derive(Clone, Debug)]
pub struct CrashCut {
    /// When, on the device's clock.
    pub at: Time,
    /// Where the device is written that a host would then find; not at all if absent.
    pub image: Option<PathBuf>,
}

/// A power cut that was tried.
#[derive(Clone, Debug)]
pub struct TriedCut {
    /// Which of those that were to be tried.
    pub nth: usize,
    /// What a host would find.
    pub verdict: CrashVerdict,
    /// Where the image is, if one was wanted and the device started again.
    pub image: Option<PathBuf>,
}
