//! How many P/E cycles a block takes before it is unusable.

use pumice_types::WornBlockRule;

use super::{EraseConfig, Lifetime};

/// The last P/E cycles after which blocks still meet the requirement.
#[derive(Clone, Debug)]
pub struct Endurance {
    /// By the block's quantile, from the easiest to erase; one entry if all blocks share it.
    limits: Vec<u16>,
    /// The life of the mean block.
    mean: Lifetime,
}

impl Endurance {
    /// The endurance of a device's blocks; `None` if they are used however worn they are.
    pub fn of(config: &EraseConfig) -> Option<Endurance> {
        let (lives, mean) = match config.worn_blocks {
            WornBlockRule::Used => return None,
            WornBlockRule::RetiredByCycles => {
                let mean = Lifetime::of(config);
                (vec![mean.clone()], mean)
            }
            WornBlockRule::RetiredByErrors => Lifetime::of_blocks(config),
        };
        let limit = |life: Lifetime| life.pec_at_requirement().map_or(u16::MAX, |pec| pec.min(65_535.0) as u16);
        Some(Endurance { limits: lives.into_iter().map(limit).collect(), mean })
    }

    /// The life of the mean block.
    pub fn mean(&self) -> &Lifetime {
        &self.mean
    }

    /// The last P/E cycles after which a block at a quantile still meets the requirement.
    pub fn limit(&self, quantile: f64) -> u32 {
        let place = (quantile * self.limits.len() as f64) as usize;
        u32::from(self.limits[place.min(self.limits.len() - 1)])
    }
}
