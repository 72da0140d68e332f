//! The controller's share of an erase: which pulse comes next, and what is remembered of a block.
//!
//! Cho et al., "AERO" (ASPLOS'24): §3.2 (ISPE), §3.3 (DPES, i-ISPE), §4 and §6 (FELP, shallow erase,
//! SEF bits, misprediction, multi-plane), Table 1. A job knows the fail bits that verify reads report
//! and nothing of the block behind them. DPES's lower voltage shows in program times here and in
//! stress in the array's model; its erase loops are ISPE's, as measured.

mod felp;
mod job;

pub use felp::Felp;
pub use job::{EraseAction, EraseJob, EraseReport};

use pumice_types::{ChipKeys, EraseScheme, EraseTiming, FailBitRanges, FlashTiming, bits};

/// PEC from which DPES can lower the voltage no more (AERO, §7.1).
pub const DPES_LIMIT_PEC: u32 = 3_000;

/// Program times under DPES, as factors at a PEC (AERO, Table 2: 385 and 455 us of 350).
const DPES_PROGRAM: [(f64, f64); 2] = [(500.0, 1.1), (2_500.0, 1.3)];

/// What a page program's time is multiplied by under a scheme: 1 except for DPES, which takes 10 % more
/// up to 0.5K PEC, 30 % more from 2.5K, linear between, and nothing from 3K on.
pub fn program_time_factor(scheme: EraseScheme, pec: u32) -> f64 {
    if scheme != EraseScheme::Dpes || pec >= DPES_LIMIT_PEC {
        return 1.0;
    }
    let [(young, least), (old, most)] = DPES_PROGRAM;
    let share = ((f64::from(pec) - young) / (old - young)).clamp(0.0, 1.0);
    least + share * (most - least)
}

/// The timing table of a spec's chips, page programs as its erase scheme makes them.
///
/// # Errors
/// More halvings of a block than its pages allow.
pub fn flash_timing(chip: &ChipKeys) -> Result<FlashTiming, String> {
    let factor = program_time_factor(chip.erase.scheme, u32::from(chip.erase.initial_pec));
    Ok(chip.flash_timing(chip.tree()?, factor))
}

/// What the controller is told about its chips and its scheme.
#[derive(Clone, Copy, Debug)]
pub struct EraseControllerConfig {
    /// Scheme of all blocks.
    pub scheme: EraseScheme,
    /// Times of the steps.
    pub timing: EraseTiming,
    /// γ and δ of the chips.
    pub ranges: FailBitRanges,
    /// Pulses predicted from fail bits.
    pub felp: Felp,
    /// Erase loops after which an erase has failed, 1 to [`pumice_types::erase::MAX_LOOPS`]; also the
    /// highest voltage level.
    pub max_loops: u8,
}

/// What the scheme remembers of one block.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BlockMemory {
    /// Loop that ended the last erase (i-ISPE); 0 before the first.
    pub last_loop: u8,
    /// Shallow erase does not pay (AERO's SEF bit).
    pub skips_shallow: bool,
}

impl BlockMemory {
    /// What is remembered after an erase that showed this.
    pub fn after(self, report: &EraseReport) -> BlockMemory {
        let skips_shallow = self.skips_shallow || report.shallow_was_useless;
        BlockMemory { last_loop: report.last_level, skips_shallow }
    }
}

/// Erases blocks under one scheme and remembers what the scheme remembers: a bit a block for AERO
/// (does shallow erase pay?), a byte a block for i-ISPE (which loop was the last?), else nothing.
#[derive(Clone, Debug)]
pub struct EraseController {
    config: EraseControllerConfig,
    /// SEF, AERO's bitmap: set where shallow erase is skipped.
    skips_shallow: Vec<u64>,
    /// Loop that ended the block's last erase; 0 before the first.
    last_loop: Vec<u8>,
}

impl EraseController {
    /// A controller of so many fresh blocks.
    pub fn new(config: EraseControllerConfig, blocks: usize) -> EraseController {
        let shallow = if config.scheme.predicts() { bits::words_for(blocks) } else { 0 };
        let remembered = if config.scheme == EraseScheme::IIspe { blocks } else { 0 };
        EraseController { config, skips_shallow: vec![0; shallow], last_loop: vec![0; remembered] }
    }

    /// The scheme.
    pub fn scheme(&self) -> EraseScheme {
        self.config.scheme
    }

    /// RAM that the scheme takes, in bytes.
    pub fn ram_bytes(&self) -> usize {
        self.skips_shallow.len() * 8 + self.last_loop.len()
    }

    /// Begins an erase of a block.
    pub fn begin(&self, block: usize) -> EraseJob {
        self.begin_from(self.memory(block))
    }

    /// Begins an erase of a block of which this is remembered.
    pub fn begin_from(&self, memory: BlockMemory) -> EraseJob {
        let EraseControllerConfig { scheme, max_loops, .. } = self.config;
        let shallow = scheme.predicts() && !memory.skips_shallow;
        let first_level = if scheme == EraseScheme::IIspe { memory.last_loop.clamp(1, max_loops) } else { 1 };
        EraseJob::new(self.config, first_level, shallow)
    }

    /// What is remembered of a block.
    pub fn memory(&self, block: usize) -> BlockMemory {
        BlockMemory {
            last_loop: self.last_loop.get(block).copied().unwrap_or_default(),
            skips_shallow: !self.skips_shallow.is_empty() && bits::get(&self.skips_shallow, block),
        }
    }

    /// Tells an i-ISPE controller in which loop a block's last erase ended, for blocks that were
    /// cycled before the run. No effect under other schemes.
    pub fn remember_loop(&mut self, block: usize, level: u8) {
        if let Some(last) = self.last_loop.get_mut(block) {
            *last = level;
        }
    }

    /// Remembers what a finished erase of a block showed.
    pub fn finish(&mut self, block: usize, report: &EraseReport) {
        self.remember_loop(block, report.last_level);
        if report.shallow_was_useless {
            bits::set(&mut self.skips_shallow, block);
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
    fn t380_dpes_pays_for_its_voltage_in_program_time() {
        for (pec, factor) in
            [(0, 1.1), (500, 1.1), (1_500, 1.2), (2_500, 1.3), (2_999, 1.3), (3_000, 1.0), (9_000, 1.0)]
        {
            assert!((program_time_factor(EraseScheme::Dpes, pec) - factor).abs() < 1e-12, "{pec}");
            assert_eq!(program_time_factor(EraseScheme::Aero, pec), 1.0);
        }
    }

    #[test]
    fn t381_a_scheme_remembers_a_bit_or_a_byte_a_block() {
        let bytes = |scheme| controller(scheme).ram_bytes();
        assert_eq!(bytes(EraseScheme::Aero), 128);
        assert_eq!(bytes(EraseScheme::IIspe), 1_000);
        assert_eq!([EraseScheme::Fixed, EraseScheme::Ispe, EraseScheme::Dpes].map(bytes), [0; 3]);
    }
}
