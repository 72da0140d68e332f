//! The controller's share of an erase: the pulses and verify reads of a job, and what is remembered of a block.
//!
//! Cho et al., "AERO" (ASPLOS'24): §3.2 (loops), §4 and §6 (shallow erase, SEF bits, misprediction,
//! multi-plane). What distinguishes a scheme is in its file (`pumice_types::erase::schemes`). A job knows the
//! fail bits that verify reads report and nothing else of the block.

mod job;

pub use job::{EraseAction, EraseJob, EraseReport};

use pumice_types::erase::schemes::SchemeMemory;
use pumice_types::erase::{BlockMemory, Felp};
use pumice_types::{ChipKeys, EraseScheme, EraseTiming, FailBitRanges, FlashTiming, SpecError, bits};
use serde::{Deserialize, Serialize};

/// The timing table of a spec's chips, page programs as its erase scheme makes them.
///
/// # Errors
/// More halvings of a block than its pages allow.
pub fn flash_timing(chip: &ChipKeys) -> Result<FlashTiming, SpecError> {
    let factor = chip.erase.scheme.program_time_factor(u32::from(chip.erase.initial_pec));
    Ok(chip.flash_timing(chip.tree()?, factor))
}

/// Settings of the controller's side of an erase: times and limits of the chip, and the scheme.
#[derive(Clone, Copy, Debug)]
pub struct EraseControllerConfig {
    /// Scheme of all blocks.
    pub scheme: EraseScheme,
    /// Times of the steps.
    pub timing: EraseTiming,
    /// γ and δ of the chips.
    pub ranges: FailBitRanges,
    /// Table of pulses predicted from fail bits.
    pub felp: Felp,
    /// Erase loops after which an erase has failed, 1 to [`pumice_types::erase::MAX_LOOPS`]; also the
    /// highest voltage level.
    pub max_loops: u8,
}

/// Erases blocks under one scheme and remembers what the scheme remembers ([`SchemeMemory`]).
#[derive(Clone, Debug)]
pub struct EraseController {
    config: EraseControllerConfig,
    /// What it remembers of its blocks.
    pub memories: BlockMemories,
}

/// What a scheme remembers of all blocks; a column that it does not remember is empty.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct BlockMemories {
    /// SEF, AERO's bitmap: set where shallow erase is skipped.
    skips_shallow: Vec<u64>,
    /// Loop that ended the block's last erase; 0 before the first.
    last_loop: Vec<u8>,
}

impl BlockMemories {
    /// Nothing is remembered of a block any more.
    pub fn forget(&mut self, block: usize) {
        if !self.skips_shallow.is_empty() {
            bits::clear(&mut self.skips_shallow, block);
        }
        self.last_loop.get_mut(block).into_iter().for_each(|last| *last = 0);
    }
}

impl EraseController {
    /// A controller of so many fresh blocks.
    pub fn new(config: EraseControllerConfig, blocks: usize) -> EraseController {
        let (words, bytes) = match config.scheme.memory() {
            SchemeMemory::Nothing => (0, 0),
            SchemeMemory::UselessShallow => (bits::words_for(blocks), 0),
            SchemeMemory::LastLoop => (0, blocks),
        };
        let memories = BlockMemories { skips_shallow: vec![0; words], last_loop: vec![0; bytes] };
        EraseController { config, memories }
    }

    /// The scheme.
    pub fn scheme(&self) -> EraseScheme {
        self.config.scheme
    }

    /// RAM that the scheme takes, in bytes.
    pub fn ram_bytes(&self) -> usize {
        self.memories.skips_shallow.len() * 8 + self.memories.last_loop.len()
    }

    /// Begins an erase of a block.
    pub fn begin(&self, block: usize) -> EraseJob {
        self.begin_from(self.memory(block))
    }

    /// Begins an erase of a block of which this is remembered.
    pub fn begin_from(&self, memory: BlockMemory) -> EraseJob {
        EraseJob::new(self.config, self.config.scheme.first_step(memory, self.config.max_loops))
    }

    /// What is remembered of a block.
    pub fn memory(&self, block: usize) -> BlockMemory {
        BlockMemory {
            last_loop: self.memories.last_loop.get(block).copied().unwrap_or_default(),
            skips_shallow: !self.memories.skips_shallow.is_empty() && bits::get(&self.memories.skips_shallow, block),
        }
    }

    /// Tells the controller in which loop a block's last erase ended, for blocks that were cycled before
    /// the run. No effect under schemes that do not remember this.
    pub fn remember_loop(&mut self, block: usize, level: u8) {
        if let Some(last) = self.memories.last_loop.get_mut(block) {
            *last = level;
        }
    }

    /// Remembers what a finished erase of a block showed.
    pub fn finish(&mut self, block: usize, report: &EraseReport) {
        self.remember_loop(block, report.last_level);
        if report.shallow_was_useless {
            bits::set(&mut self.memories.skips_shallow, block);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pumice_types::Time;

    fn controller(scheme: EraseScheme) -> EraseController {
        let config = EraseControllerConfig {
            scheme,
            timing: EraseTiming::aero(Time::from_us(3_600.0)),
            ranges: FailBitRanges { gamma: 500, delta: 5_000 },
            felp: Felp::conservative(),
            max_loops: 5,
        };
        EraseController::new(config, 1_000)
    }

    #[test]
    fn t381_a_scheme_remembers_a_bit_or_a_byte_a_block() {
        let bytes = |scheme| controller(scheme).ram_bytes();
        assert_eq!(bytes(EraseScheme::Aero), 128);
        assert_eq!(bytes(EraseScheme::IIspe), 1_000);
        assert_eq!([EraseScheme::Fixed, EraseScheme::Ispe, EraseScheme::Dpes].map(bytes), [0; 3]);
    }
}
