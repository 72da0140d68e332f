//! How the blocks of a device are erased.

use pumice_ftl::erase::{EraseController, EraseControllerConfig};
use pumice_nand::erase::{EraseTruth, EraseTruthConfig};
use pumice_types::erase::schemes::SchemeMemory;
use pumice_types::erase::{Felp, MAX_LOOPS};
use pumice_types::{
    EraseMode, EraseScheme, EraseTiming, FailBitRanges, InitialMemory, RberRequirement, Time, WornBlockRule,
};

/// How the blocks of a device are erased.
#[derive(Clone, Copy, Debug)]
pub struct EraseConfig {
    /// Scheme of all blocks.
    pub scheme: EraseScheme,
    /// Where the blocks' behaviour comes from.
    pub mode: EraseMode,
    /// Scheme under which the blocks were cycled; `None`: under the same. Any other needs `mechanism` mode.
    pub cycled: Option<EraseScheme>,
    /// What is remembered of blocks that were cycled before.
    pub memory: InitialMemory,
    /// Requirement for which `aero` uses the ECC margin.
    pub requirement: RberRequirement,
    /// Chance that a prediction is one unit pulse short.
    pub misprediction_rate: f64,
    /// γ and δ of the chips.
    pub ranges: FailBitRanges,
    /// Times of the steps.
    pub timing: EraseTiming,
    /// Erase loops after which an erase has failed.
    pub max_loops: u8,
    /// What becomes of blocks beyond the requirement.
    pub worn_blocks: WornBlockRule,
    /// Seed of the blocks.
    pub seed: u64,
}

impl EraseConfig {
    /// AERO's chips under a scheme (ASPLOS'24, §3 and §5): table mode, requirement 63, no misprediction.
    /// γ is chosen: a tenth of δ, where the paper prints γ ≪ δ ≈ 5000.
    pub fn aero_chips(scheme: EraseScheme) -> EraseConfig {
        EraseConfig {
            scheme,
            mode: EraseMode::Table,
            cycled: None,
            memory: InitialMemory::Clear,
            requirement: RberRequirement::Bits63,
            misprediction_rate: 0.0,
            ranges: FailBitRanges { gamma: 500, delta: 5_000 },
            timing: EraseTiming::aero(Time(3_600_000)),
            max_loops: MAX_LOOPS,
            worn_blocks: WornBlockRule::Used,
            seed: 1,
        }
    }

    /// In table mode a measured total already holds what the margin saved, so the controller must not
    /// save it again: every scheme then erases to a pass.
    pub(super) fn felp(&self) -> Felp {
        match self.mode {
            EraseMode::Table => Felp::conservative(),
            EraseMode::Mechanism => self.scheme.felp(self.requirement),
        }
    }

    pub(super) fn truth(&self) -> EraseTruth {
        EraseTruth::new(EraseTruthConfig {
            scheme: self.cycled.unwrap_or(self.scheme),
            mode: self.mode,
            requirement: self.requirement,
            ranges: self.ranges,
            misprediction_rate: self.misprediction_rate,
            seed: self.seed,
        })
    }

    pub(super) fn controller(&self, blocks: usize) -> EraseController {
        let EraseConfig { scheme, timing, ranges, max_loops, .. } = *self;
        EraseController::new(EraseControllerConfig { scheme, timing, ranges, felp: self.felp(), max_loops }, blocks)
    }

    /// Whether the scheme remembers what erases before the run showed about shallow erases.
    pub(super) fn has_learned(&self) -> bool {
        self.scheme.memory() == SchemeMemory::UselessShallow && self.memory == InitialMemory::Learned
    }

    /// Whether the loop that ended a block's last erase is taken from the measurements instead of from this run. In
    /// table mode the measured loops already include the effect of that memory.
    pub(super) fn memory_is_measured(&self) -> bool {
        self.remembers_last_loop() && self.mode == EraseMode::Table
    }

    /// Whether the scheme remembers the loop that ended a block's last erase.
    pub(super) fn remembers_last_loop(&self) -> bool {
        self.scheme.memory() == SchemeMemory::LastLoop
    }
}
