//! Random: any closed block.

use super::{ClosedBlocks, VictimRule};

/// The policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Random;

impl VictimRule for Random {
    type Keys = ();

    fn of(_: &()) -> Random {
        Random
    }

    fn choose(self, blocks: &mut ClosedBlocks, _: u64) -> Option<u32> {
        blocks.best_of_random(1)
    }
}
