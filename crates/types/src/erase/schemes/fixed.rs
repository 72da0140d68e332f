//! Every erase is one step of a fixed time.

use super::{PulseNeed, SchemeRules};
use crate::EraseMode;

pub(super) struct Fixed;

impl SchemeRules for Fixed {
    const NAME: &'static str = "fixed";
    const ABOUT: &'static str = "every erase takes tBERS, or its level's time in the partial-erase table";
    const HAS_LOOPS: bool = false;

    fn need(mode: EraseMode) -> PulseNeed {
        match mode {
            EraseMode::Table | EraseMode::Mechanism => PulseNeed::OneLoop,
        }
    }
}
