//! AERO at a fitted wear: conservative pulses on blocks that need as little as makes the mean of `aero`.

use super::{FittedNeed, PulseNeed, SchemeMemory, SchemeRules};
use crate::EraseMode;

/// Fitted to the mean pulse times measured under `aero`.
const FITTED: FittedNeed =
    FittedNeed { pec: [0, 0, 600, 1100, 1425, 1750, 2200, 2975, 3625, 4200, 4875], least_pulses: 4 };

pub(super) struct AeroFit;

impl SchemeRules for AeroFit {
    const NAME: &'static str = "aero-fit";
    const ABOUT: &'static str = "aero at a fitted wear";
    const PREDICTS: bool = true;
    const MEMORY: SchemeMemory = SchemeMemory::UselessShallow;

    fn need(mode: EraseMode) -> PulseNeed {
        match mode {
            EraseMode::Table | EraseMode::Mechanism => PulseNeed::Fitted(&FITTED),
        }
    }
}
