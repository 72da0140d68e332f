//! Greedy: the block with the fewest valid pages, unchanged longest among equals.

use super::{ClosedBlocks, VictimRule};
use serde::{Deserialize, Serialize};

/// The policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Greedy;

impl VictimRule for Greedy {
    type Keys = ();

    fn of(_: &()) -> Greedy {
        Greedy
    }

    fn choose(self, blocks: &mut ClosedBlocks, _: u64) -> Option<u32> {
        blocks.fewest_valid()
    }
}
