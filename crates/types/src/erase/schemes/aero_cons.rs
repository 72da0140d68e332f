//! AERO without use of the ECC margin (ASPLOS'24, §4 to §6): a shallow erase first, then pulses predicted from fail
//! bits, until the block is erased completely.

use super::{SchemeMemory, SchemeRules};

pub(super) struct AeroCons;

impl SchemeRules for AeroCons {
    const NAME: &'static str = "aero-cons";
    const ABOUT: &'static str = "pulses predicted from fail bits, to a complete erase";
    const PREDICTS: bool = true;
    const MEMORY: SchemeMemory = SchemeMemory::UselessShallow;
}
