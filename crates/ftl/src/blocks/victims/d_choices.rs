//! d-choices: the block with the fewest valid pages among some drawn at random.

use pumice_types::key::{CHOSEN, When, int};
use pumice_types::keys;
use serde::{Deserialize, Serialize};

use super::{ClosedBlocks, VictimRule};

keys! {
    /// Keys of d-choices alone.
    pub struct DChoicesKeys in "ftl" {
        d_choices: u32 = "8", int(1, 1024), "blocks", CHOSEN, When::Is("ftl.gc_policy", &["d-choices"]),
            "Random blocks that gc_policy = \"d-choices\" looks at.";
    }
}

/// The policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DChoices {
    /// Closed blocks that it looks at.
    pub choices: u32,
}

impl VictimRule for DChoices {
    type Keys = DChoicesKeys;

    fn of(keys: &DChoicesKeys) -> DChoices {
        DChoices { choices: keys.d_choices }
    }

    fn choose(self, blocks: &mut ClosedBlocks, _: u64) -> Option<u32> {
        blocks.best_of_random(self.choices)
    }
}
