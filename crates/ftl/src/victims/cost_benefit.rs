//! Cost-benefit: the block with the largest age × (1 − u) / 2u, u being the share of its valid pages and the age
//! counted in pages written to the plane since the block last changed (Rosenblum and Ousterhout's segment cleaner).
//!
//! Among blocks of one count the one unchanged longest has the largest score, so one look at each count finds it.

use super::{ClosedBlocks, VictimRule};

/// The policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CostBenefit;

impl VictimRule for CostBenefit {
    type Keys = ();

    fn of(_: &()) -> CostBenefit {
        CostBenefit
    }

    fn choose(self, blocks: &mut ClosedBlocks, now: u64) -> Option<u32> {
        let score = |used: f64, changed: u64| (now - changed + 1) as f64 * (1.0 - used) / (2.0 * used);
        let scored = blocks.oldest_by_count().map(|(block, used, changed)| (block, score(used, changed)));
        scored.max_by(|(_, a), (_, b)| a.total_cmp(b)).map(|(block, _)| block)
    }
}
