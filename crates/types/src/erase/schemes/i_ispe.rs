//! i-ISPE (AERO, ASPLOS'24, §3.3): ISPE that starts in the loop which ended the block's last erase.

use super::{BlockMemory, FirstStep, PulseNeed, SchemeMemory, SchemeRules};
use crate::EraseMode;

pub(super) struct IIspe;

impl SchemeRules for IIspe {
    const NAME: &'static str = "i-ispe";
    const ABOUT: &'static str = "begins in the loop that ended the block's last erase";
    const MEMORY: SchemeMemory = SchemeMemory::LastLoop;

    fn first_step(memory: BlockMemory, max_loops: u8) -> FirstStep {
        FirstStep::FullPulse(memory.last_loop.clamp(1, max_loops))
    }

    fn need(mode: EraseMode) -> PulseNeed {
        match mode {
            EraseMode::Table => PulseNeed::Measured,
            EraseMode::Mechanism => PulseNeed::LeastAfterFullPulses,
        }
    }
}
