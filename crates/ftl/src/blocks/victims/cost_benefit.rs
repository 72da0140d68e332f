//! Cost-benefit: the block with the largest age × (1 − u) / 2u, u being the share of its valid pages and the age
//! counted in pages written to the plane since the block last changed (Rosenblum and Ousterhout's segment cleaner).
//!
//! Among blocks of one count the one unchanged longest has the largest score, so one look at each count finds it.

use super::{ClosedBlocks, VictimRule};
use serde::{Deserialize, Serialize};

/// The policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Closed blocks of ten pages, each with its valid pages and the time when it last changed.
    fn closed(blocks: &[(u16, u64)]) -> ClosedBlocks {
        let mut lists = ClosedBlocks::new(CostBenefit.into(), blocks.len() as u32, 10, 1);
        (0..).zip(blocks).for_each(|(block, &(valid, changed))| lists.close(block, valid, changed));
        lists
    }

    #[test]
    fn t514_cost_benefit_takes_the_largest_age_times_free_share_over_twice_the_valid_share() {
        let chosen = |blocks: &[(u16, u64)]| closed(blocks).choose(100);
        // An age is 100 - changed + 1. Scores: 11 × 0.8 / 0.4 = 22 and 51 × 0.5 / 1.0 = 25.5. Greedy would take
        // the other one.
        assert_eq!(chosen(&[(2, 90), (5, 50)]), Some(1));
        // 13 × 2 = 26 and 25.5: a little older, and the emptier block wins. An age that counts from zero would
        // give 24 and 25.
        assert_eq!(chosen(&[(2, 88), (5, 50)]), Some(0));
        // 4 × 0.9 / 0.2 = 18 and 76 × 0.2 / 1.6 = 9.5. (1 - u) / (1 + u) would give 3.3 and 8.4.
        assert_eq!(chosen(&[(1, 97), (8, 25)]), Some(0));
        // The age counts from one: a block that changed just now is no worse than nothing to win.
        assert_eq!(chosen(&[(5, 100), (10, 0)]), Some(0));
        // Without a valid page there is nothing to copy, whatever the age.
        assert_eq!(chosen(&[(1, 0), (0, 100)]), Some(1));
        // Ages 2 and 1 at equal shares; among equal valid pages the longest unchanged one.
        assert_eq!(chosen(&[(5, 100), (5, 99)]), Some(0), "closed first is first of its list");
        assert_eq!(chosen(&[(4, 100), (5, 99)]), Some(1), "1 × 0.75 is less than 2 × 0.5");
    }
}
