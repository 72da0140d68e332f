//! AERO (ASPLOS'24, §4 to §6): as `aero-cons`, but fail bits that the ECC can correct may stay.

use super::{EraseScheme, Felp, SchemeMemory, SchemeRules};
use crate::RberRequirement;

pub(super) struct Aero;

impl SchemeRules for Aero {
    const NAME: &'static str = "aero";
    const ABOUT: &'static str = "leaves to the ECC what the requirement allows";
    const PREDICTS: bool = true;
    const MEMORY: SchemeMemory = SchemeMemory::UselessShallow;

    fn felp(requirement: RberRequirement) -> Felp {
        Felp::with_margin(requirement)
    }

    /// At 40 the margin is used only where the bit errors stay below the requirement, so no least value is known.
    fn uses_margin(requirement: RberRequirement) -> bool {
        match requirement {
            RberRequirement::Bits40 => false,
            RberRequirement::Bits50 | RberRequirement::Bits63 => true,
        }
    }

    fn measured_over(requirement: RberRequirement) -> Option<EraseScheme> {
        match requirement {
            RberRequirement::Bits40 | RberRequirement::Bits50 => Some(EraseScheme::AeroCons),
            RberRequirement::Bits63 => None,
        }
    }
}
