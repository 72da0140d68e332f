//! Blocks that fail, and wear that no erase of the run has made.

use pumice_types::BlockId;

use super::Controller;
use crate::chip::Chips;

impl Controller {
    /// Tells the layer for which blocks the next erase is the last.
    pub(super) fn tell_failing(&mut self) {
        let failing = self.scheduler.chips.eraser.iter().flat_map(|eraser| eraser.ending());
        failing.for_each(|block| self.ftl.note_failing(BlockId(block)));
    }

    /// Refuses wear that the device cannot take.
    ///
    /// # Errors
    /// In one line: blocks of this device do not wear, or would wear beyond what is counted.
    pub fn check_wear(&self, cycles: u32) -> Result<u16, String> {
        let none = "pec needs an erase scheme in loops (erase.scheme): nothing about this device changes with wear";
        let max = self.scheduler.chips.eraser.as_ref().ok_or(none)?.wear_max();
        let cycles = u16::try_from(cycles).ok().filter(|&cycles| cycles <= max);
        cycles.ok_or_else(|| {
            format!("pec: the most worn block can take {max} P/E cycles more, and no further one is counted")
        })
    }

    /// P/E cycles of the most worn block; 0 if blocks do not wear.
    pub fn most_worn(&self) -> u32 {
        self.scheduler.chips.eraser.as_ref().map_or(0, |eraser| u32::from(u16::MAX - eraser.wear_max()))
    }

    /// Wears every good block by so many P/E cycles, as if it had been erased so often; what it holds stays. No command is
    /// under way.
    ///
    /// # Errors
    /// As [`Controller::check_wear`].
    pub fn wear(&mut self, cycles: u32) -> Result<(), String> {
        let cycles = self.check_wear(cycles)?;
        let Chips { checked, eraser, .. } = &mut self.scheduler.chips;
        let is_in_use = |block| !checked.array.is_bad(BlockId(block));
        eraser.iter_mut().for_each(|eraser| eraser.wear(cycles, is_in_use));
        self.tell_failing();
        Ok(())
    }
}
