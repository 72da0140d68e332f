//! How reliability falls with P/E cycles, and at which the requirement is met no more: AERO's Figures
//! 13, 16 and 17.

use pumice_nand::erase::LAST_MEASURED_PEC;
use pumice_nand::reliability::{ISPE_PEC_AT_63, m_rber, relative_stress_at};
use pumice_types::{EraseMode, EraseScheme, RberRequirement};

use super::distribution::stresses;
use super::{DistributionRequest, EraseConfig, distribution};

/// PEC of one step of the integral over a block's life.
const STEP_PEC: u32 = 100;

/// Steps after which a block counts as immortal.
const MOST_STEPS: usize = 200;

/// PEC up to which a life is known.
pub const LAST_PEC: u32 = STEP_PEC * MOST_STEPS as u32;

/// Blocks over which stress is averaged: a multiple of 200, so that every measured share is met.
const BLOCKS: u32 = 400;

/// A point of a block's life.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LifetimePoint {
    /// P/E cycles taken.
    pub pec: f64,
    /// Mean stress of all erases so far, as a multiple of what meets requirement 63.
    pub relative_stress: f64,
    /// Most raw bit errors per KiB after a year.
    pub m_rber: f64,
}

/// The life of the mean block under one scheme.
#[derive(Clone, Debug)]
pub struct Lifetime {
    scheme: EraseScheme,
    requirement: RberRequirement,
    /// Stress at 0, [`STEP_PEC`], …
    relative_stress: Vec<f64>,
}

impl Lifetime {
    /// Integrates the mean stress of a scheme's erases over PEC. The unit is the stress of `ispe` at 5.3K
    /// PEC as measured, whatever the mode of the scheme.
    pub fn of(config: &EraseConfig) -> Lifetime {
        let curve = stress_curve(config, MOST_STEPS);
        let unit = unit_of_stress(config, &curve);
        Lifetime::with_curve(config, curve, unit)
    }

    /// Lives of single blocks, at evenly spread quantiles from the easiest to erase: each by the stress of its own erases;
    /// and that of the mean block, as [`Lifetime::of`] has it.
    pub fn of_blocks(config: &EraseConfig) -> (Vec<Lifetime>, Lifetime) {
        let mut curves = vec![vec![0.0]; BLOCKS as usize];
        let mut mean = vec![0.0];
        let (mut erases, mut of_mean): (Vec<f64>, f64) = (Vec::new(), 0.0);
        for step in 0..MOST_STEPS as u32 {
            let pec = step * STEP_PEC + STEP_PEC / 2;
            if erases.is_empty() || pec <= LAST_MEASURED_PEC + STEP_PEC {
                erases = stresses(&DistributionRequest { config: *config, pec, blocks: BLOCKS });
                of_mean = config.scheme.stress_factor() * (erases.iter().sum::<f64>() / f64::from(BLOCKS));
                erases.iter_mut().for_each(|erase| *erase *= config.scheme.stress_factor());
            }
            for (curve, erase) in curves.iter_mut().zip(&erases).chain([(&mut mean, &of_mean)]) {
                curve.push(curve[step as usize] + erase * f64::from(STEP_PEC));
            }
        }
        let unit = unit_of_stress(config, &mean);
        let life = |curve| Lifetime::with_curve(config, curve, unit);
        (curves.into_iter().map(life).collect(), life(mean))
    }

    fn with_curve(config: &EraseConfig, mut curve: Vec<f64>, unit: f64) -> Lifetime {
        curve.iter_mut().for_each(|stress| *stress /= unit);
        Lifetime { scheme: config.scheme, requirement: config.requirement, relative_stress: curve }
    }

    /// Makes every erase of the life wear so many times as much.
    pub fn with_stress(mut self, factor: f64) -> Lifetime {
        self.relative_stress.iter_mut().for_each(|stress| *stress *= factor);
        self
    }

    /// Reliability after so many cycles; beyond the last step the last one.
    pub fn at(&self, pec: f64) -> LifetimePoint {
        let relative_stress = interpolate(&self.relative_stress, pec);
        LifetimePoint { pec, relative_stress, m_rber: m_rber(relative_stress, self.scheme, self.requirement) }
    }

    /// The PEC at which the requirement is just met; `None` if it always is.
    pub fn pec_at_requirement(&self) -> Option<f64> {
        self.pec_at(f64::from(self.requirement.bits_per_kib()))
    }

    /// The PEC at which a block has so many raw bit errors per KiB; 0 if it always has more, `None` if it
    /// never has.
    pub fn pec_at(&self, bits_per_kib: f64) -> Option<f64> {
        if self.at(0.0).m_rber > bits_per_kib {
            return Some(0.0);
        }
        let limit = relative_stress_at(bits_per_kib);
        let above = self.relative_stress.iter().position(|&stress| stress > limit)?;
        let (a, b) = (self.relative_stress[above - 1], self.relative_stress[above]);
        Some(f64::from(STEP_PEC) * (above as f64 - 1.0 + (limit - a) / (b - a)))
    }
}

/// The stress at which `ispe` as measured meets requirement 63. `curve`: the mean stress of the configured erases.
fn unit_of_stress(config: &EraseConfig, curve: &[f64]) -> f64 {
    let EraseConfig { scheme, misprediction_rate, mode, .. } = *config;
    if scheme == EraseScheme::Ispe && misprediction_rate == 0.0 && mode == EraseMode::Table {
        return interpolate(curve, ISPE_PEC_AT_63);
    }
    let unit = EraseConfig { scheme: EraseScheme::Ispe, misprediction_rate: 0.0, mode: EraseMode::Table, ..*config };
    interpolate(&stress_curve(&unit, (ISPE_PEC_AT_63 / f64::from(STEP_PEC)) as usize + 1), ISPE_PEC_AT_63)
}

/// Mean stress of all erases up to 0, 1, … steps of PEC; each step counts as it is at its middle.
fn stress_curve(config: &EraseConfig, steps: usize) -> Vec<f64> {
    let mut total = 0.0;
    let mut frozen = None;
    let mut curve = vec![0.0];
    for step in 0..steps as u32 {
        let pec = step * STEP_PEC + STEP_PEC / 2;
        let erase = frozen.unwrap_or_else(|| mean_stress(config, pec));
        if pec > LAST_MEASURED_PEC {
            frozen = Some(erase);
        }
        total += erase * f64::from(STEP_PEC);
        curve.push(total);
    }
    curve
}

fn mean_stress(config: &EraseConfig, pec: u32) -> f64 {
    config.scheme.stress_factor()
        * distribution(&DistributionRequest { config: *config, pec, blocks: BLOCKS }).mean_stress
}

fn interpolate(curve: &[f64], pec: f64) -> f64 {
    let place = (pec / f64::from(STEP_PEC)).clamp(0.0, (curve.len() - 1) as f64);
    let below = place as usize;
    let above = (below + 1).min(curve.len() - 1);
    curve[below] + (place - below as f64) * (curve[above] - curve[below])
}
