//! Predicts whether an erase will be a block's last, because it fails or wears the block out, at the moment the FTL
//! decides on it.
//!
//! The FTL changes its belief when it decides on an erase, long before the die executes it. At that moment it must
//! know whether the block can be used again. The outcome of an erase depends on its block alone, so it can be
//! computed in advance: simulate the erases that are already decided, then the next one.

use pumice_ftl::erase::EraseAction;
use pumice_types::erase::{BlockMemory, MAX_LOOPS};

use super::{Eraser, RunningErase};

impl Eraser {
    /// Whether any erase can be the last of its block. With all loops none fails: no block needs more.
    pub fn can_end_blocks(&self) -> bool {
        self.config.max_loops < MAX_LOOPS || self.endurance.is_some()
    }

    /// Blocks whose next erase is their last, ascending.
    pub fn ending(&self) -> impl Iterator<Item = u32> + '_ {
        let blocks = if self.can_end_blocks() { self.blocks() as u32 } else { 0 };
        (0..blocks).filter(|&block| self.ends_next(block))
    }

    /// Records that an erase of a whole block was decided. Returns whether the next erase of that block would be its last.
    pub fn decide(&mut self, block: u32) -> bool {
        if let Some(decided) = self.decided.get_mut(block as usize) {
            *decided += 1;
        }
        self.can_end_blocks() && self.ends_next(block)
    }

    /// Returns whether the next erase of a block is its last, given the erases that are already decided.
    fn ends_next(&self, block: u32) -> bool {
        let ahead = u32::from(self.decided[block as usize]);
        let wears_out = self.cycles_left(block).is_some_and(|left| left <= ahead + 1);
        wears_out || self.config.max_loops < MAX_LOOPS && self.fails_next(block)
    }

    /// Returns whether the next erase of a block fails, given the erases that are already decided.
    fn fails_next(&self, block: u32) -> bool {
        let ahead = self.decided[block as usize];
        let mut memory = self.controller.memory(block as usize);
        let mut failed = false;
        for nth in 0..=u32::from(ahead) {
            let pec = self.pec(block) + nth;
            if self.config.memory_is_measured() {
                let last_loop = self.truth.ispe_loops(self.truth.quantile(block), pec);
                memory = BlockMemory { last_loop, ..memory };
            }
            let truth = self.truth.begin(block, pec);
            let job = self.controller.begin_from(memory);
            let mut erase = RunningErase { job, truth, is_verified: false };
            failed = fails(&mut erase);
            memory = erase.report().remembered_after(memory);
        }
        failed
    }
}

/// Runs all steps of an erase. Returns whether it fails.
fn fails(erase: &mut RunningErase) -> bool {
    loop {
        match erase.next_action() {
            EraseAction::Step(_) => {}
            EraseAction::Done => return false,
            EraseAction::Retire => return true,
        }
    }
}
