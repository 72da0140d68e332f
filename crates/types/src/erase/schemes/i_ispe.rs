//! i-ISPE (AERO, ASPLOS'24, §3.3): ISPE that starts in the loop which ended the block's last erase.

use super::{SchemeMemory, SchemeRules};

pub(super) struct IIspe;

impl SchemeRules for IIspe {
    const NAME: &'static str = "i-ispe";
    const ABOUT: &'static str = "begins in the loop that ended the block's last erase";
    const MEMORY: SchemeMemory = SchemeMemory::LastLoop;
}
