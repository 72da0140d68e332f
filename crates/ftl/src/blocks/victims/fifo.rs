//! FIFO: the block that was closed first, even if it has no invalid page. Its data is then copied once more, as in a
//! log.

use super::{ClosedBlocks, VictimRule};
use serde::{Deserialize, Serialize};

/// The policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fifo;

impl VictimRule for Fifo {
    type Keys = ();

    const ORDERS_BY_CLOSING: bool = true;

    fn of(_: &()) -> Fifo {
        Fifo
    }

    fn choose(self, blocks: &mut ClosedBlocks, _: u64) -> Option<u32> {
        blocks.first_closed()
    }
}
