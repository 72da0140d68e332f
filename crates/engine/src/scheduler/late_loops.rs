//! Last loops of block erases that run when the block is first written.
//!
//! Such an erase ends before its last loop, and the array counts its block as erased from then on. The loop is queued
//! directly before the block's first program or copy, as an erase in steps under a pause, which changes nothing in the
//! array.

use pumice_types::{BlockId, EraseStep, FlashCommand, FlashOp, Time, erase};

use super::steps::PlaneSteps;

/// What is left of erases, by block; nothing where last loops do not wait.
#[derive(Clone, Debug)]
pub(super) struct LateLoops {
    /// An erase was queued, and its last loop was not.
    wait: Vec<bool>,
    /// The steps of the erase, until its last loop begins.
    steps: Vec<Vec<EraseStep>>,
}

impl LateLoops {
    /// No erase has left anything; `blocks` is 0 if none ever does.
    pub(super) fn new(blocks: u32) -> LateLoops {
        LateLoops { wait: vec![false; blocks as usize], steps: vec![Vec::new(); blocks as usize] }
    }

    /// Notes that a command is queued. Returns whether the last loop of its block's erase must be queued before it.
    #[inline]
    pub(super) fn queued(&mut self, command: &FlashCommand) -> bool {
        let Some(waits) = self.wait.get_mut(command.target.block.index()) else { return false };
        match command.op {
            FlashOp::Program | FlashOp::Copy => std::mem::take(waits),
            FlashOp::Erase => {
                *waits = true;
                false
            }
            FlashOp::Read | FlashOp::SpareSearch | FlashOp::PartialErase | FlashOp::SubBlockErase | FlashOp::Pause => {
                false
            }
        }
    }

    /// Lets an erase that begins now end before its last loop.
    pub(super) fn put_off(&mut self, block: BlockId, plane: &mut PlaneSteps) {
        if let Some(kept) = self.steps.get_mut(block.index()) {
            kept.clone_from(&plane.steps);
            plane.total = before_last_loop(&plane.steps);
        }
    }

    /// Begins the last loop of a block's erase. One that failed has none left.
    pub(super) fn begin(&mut self, block: BlockId, plane: &mut PlaneSteps) {
        plane.steps.clear();
        plane.steps.append(&mut self.steps[block.index()]);
        plane.begin();
        plane.done = before_last_loop(&plane.steps);
    }
}

/// Time of all loops of an erase but the last.
fn before_last_loop(steps: &[EraseStep]) -> Time {
    let last = steps.split_inclusive(EraseStep::ends_loop).next_back().unwrap_or_default();
    erase::total_time(&steps[..steps.len() - last.len()])
}
