//! Random: any closed block.

use super::{ClosedBlocks, VictimRule};
use serde::{Deserialize, Serialize};

/// The policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::blocks::victims::VictimPolicy;
    use crate::blocks::victims::d_choices::DChoices;

    /// Closed blocks of ten pages, each with its valid pages and the time when it last changed.
    fn closed(policy: VictimPolicy, blocks: &[(u16, u64)]) -> ClosedBlocks {
        let mut lists = ClosedBlocks::new(policy, blocks.len() as u32, 10, 1);
        (0..).zip(blocks).for_each(|(block, &(valid, changed))| lists.close(block, valid, changed));
        lists
    }

    #[test]
    fn t515_random_choices_pass_over_full_blocks_and_see_every_other_one() {
        for policy in [Random.into(), DChoices { choices: 2 }.into()] {
            let mut lists = closed(policy, &[(10, 0), (3, 0), (10, 0), (4, 0), (5, 0)]);
            let mut seen = [0u32; 5];
            (0..4000).for_each(|_| seen[lists.choose(1).expect("there are invalid pages") as usize] += 1);
            assert_eq!((seen[0], seen[2]), (0, 0), "nothing is won there: {policy:?}");
            // One draw: a third each. Two: the emptiest is among them 36 times of 100, and 5 times of 9 among the next two
            // if both were full (16 of 100); the fullest of the three needs a full one or itself beside it.
            let expected = if policy == Random.into() { [0.333, 0.333, 0.333] } else { [0.449, 0.333, 0.218] };
            for (block, share) in [1, 3, 4].into_iter().zip(expected) {
                assert!((f64::from(seen[block]) / 4000.0 - share).abs() < 0.03, "{policy:?}: {seen:?}");
            }
        }
    }
}
