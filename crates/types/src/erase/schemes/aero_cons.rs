//! AERO without use of the ECC margin (ASPLOS'24, §4 to §6): a shallow erase first, then pulses predicted from fail
//! bits, until the block is erased completely.

use super::{BlockMemory, Felp, FirstStep, PulseNeed, SchemeMemory, SchemeRules};
use crate::EraseMode;

pub(super) struct AeroCons;

impl SchemeRules for AeroCons {
    const NAME: &'static str = "aero-cons";
    const ABOUT: &'static str = "pulses predicted from fail bits, to a complete erase";
    const PREDICTS: bool = true;
    const MEMORY: SchemeMemory = SchemeMemory::UselessShallow;

    fn first_step(memory: BlockMemory, _max_loops: u8) -> FirstStep {
        FirstStep::shallow_unless_useless(memory)
    }

    fn next_pulses(felp: Felp, level: u8, range: Option<u8>) -> u8 {
        felp.pulses(level, range)
    }

    fn need(mode: EraseMode) -> PulseNeed {
        match mode {
            EraseMode::Table => PulseNeed::Measured,
            EraseMode::Mechanism => PulseNeed::Least,
        }
    }
}
