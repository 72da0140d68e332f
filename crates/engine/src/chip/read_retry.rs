//! Which reads must be repeated, and how often: bit errors by wear and place against the controller's
//! code.
//!
//! The wear of a block gives the errors of its worst page (AERO, ASPLOS'24, §7.2: M_RBER), the place of
//! a page and the write sequence its share of them (GLSVLSI'24, Figure 3). Beyond what the code corrects
//! each retry costs tR and a transfer and leaves a part of the errors (`pumice_nand::rber_map`).

use pumice_nand::rber_map::{bits_per_kib, rber, retries, worst_layer_first};
use pumice_types::{BlockShape, ChipKeys, EraseScheme};

use super::erase::{EraseConfig, LAST_PEC, Lifetime, erase_config};

/// Errors of every page of a device, and the code that corrects them.
#[derive(Clone, Debug, PartialEq)]
pub struct ErrorModel {
    /// Errors of each page of a block, as a multiple of those of the worst page written layer first.
    pub share: Vec<f64>,
    /// Bit errors per KiB of the worst page written layer first, by P/E cycles; the last also beyond.
    pub level: Vec<f64>,
    /// What the code corrects, in bits per KiB.
    pub ecc_bits_per_kib: f64,
}

impl ErrorModel {
    /// Bit errors per KiB of a page of a block with so many P/E cycles.
    pub fn bits_per_kib(&self, page: u16, pec: u32) -> f64 {
        self.level[(pec as usize).min(self.level.len() - 1)] * self.share[usize::from(page)]
    }

    /// Retries that a read of the page needs; `None` if no number of them is enough.
    pub fn retries(&self, page: u16, pec: u32) -> Option<u32> {
        retries(self.bits_per_kib(page, pec), self.ecc_bits_per_kib)
    }
}

/// An [`ErrorModel`] that counts.
#[derive(Clone, Debug)]
pub struct ReadRetry {
    model: ErrorModel,
    retries: u64,
}

impl ReadRetry {
    /// Nothing counted yet.
    pub fn new(model: ErrorModel) -> ReadRetry {
        ReadRetry { model, retries: 0 }
    }

    /// The errors behind it.
    pub fn model(&self) -> &ErrorModel {
        &self.model
    }

    /// The retries of a read that begins now. No spec needs more than there are.
    pub fn note(&mut self, page: u16, pec: u32) -> u8 {
        let needed = self.model.retries(page, pec).unwrap_or_default();
        self.retries += u64::from(needed);
        needed as u8
    }

    /// Retries so far: times that a page was read again.
    pub fn retries(&self) -> u64 {
        self.retries
    }

    /// Forgets what was counted: measuring starts here.
    pub fn restart_measuring(&mut self) {
        self.retries = 0;
    }
}

/// The read retries that a spec asks for; `None` if every read succeeds at once.
pub fn read_retry(chip: &ChipKeys, seed: u64) -> Option<ReadRetry> {
    if !chip.erase.read_retry {
        return None;
    }
    let shape = chip.geometry.block_shape();
    let level = match erase_config(chip, seed) {
        Some(config) => worn_levels(&Lifetime::of(&config)),
        None => vec![unworn_level(shape?, f64::from(chip.erase.initial_pec))],
    };
    let share = match shape {
        Some(shape) => shares(shape),
        None => vec![1.0; usize::from(chip.geometry.pages_per_block)],
    };
    Some(ReadRetry::new(ErrorModel { share, level, ecc_bits_per_kib: chip.erase.ecc_bits_per_kib }))
}

/// Errors of each page by its place, as a multiple of the worst that layer first gives.
fn shares(shape: BlockShape) -> Vec<f64> {
    let worst = worst_layer_first(shape);
    (0..shape.pages_per_block()).map(|page| rber(shape, shape.position(page)) / worst).collect()
}

/// M_RBER after 0, 1, … cycles of the run's scheme.
fn worn_levels(life: &Lifetime) -> Vec<f64> {
    (0..=LAST_PEC).map(|pec| life.at(f64::from(pec)).m_rber).collect()
}

/// Where erases do not wear: the paper's chip, grown with the initial cycles as M_RBER grows under ISPE.
fn unworn_level(shape: BlockShape, pec: f64) -> f64 {
    let life = Lifetime::of(&EraseConfig::aero_chips(EraseScheme::Ispe));
    bits_per_kib(worst_layer_first(shape)) * life.at(pec).m_rber / life.at(0.0).m_rber
}
