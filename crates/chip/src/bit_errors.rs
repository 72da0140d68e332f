//! Bit errors of stored data by wear, place and age, where the spec asks for them (`erase.read_retry`).
//!
//! Wear and place are those of a run (`pumice_engine::chip::read_retry`). A run reads all data as if it were a year
//! old; here data has an age.

use pumice_engine::chip::Chips;
use pumice_engine::chip::read_retry::ErrorModel;
use pumice_nand::rber_map::retries;
use pumice_types::{ChipKeys, Draw, Time};

/// Share of a year's bit errors that data has when it was just written. Chosen from two chips: the worst page of the
/// fresh one of GLSVLSI'24, read at once, has 2.6 bits per KiB; fresh blocks of AERO have 16 after a year. Between
/// and beyond, errors grow in proportion to age.
pub const AT_ONCE: f64 = 2.6 / 16.0;

/// A year of 365 days.
const YEAR: Time = Time(365 * 24 * 3600 * 1_000_000_000);

/// Bits of one piece that errors are counted in.
const PIECE_BYTES: usize = 1024;

/// Mean above which a count is its mean: a Poisson count would differ from it by a few per cent.
const LARGE_MEAN: f64 = 500.0;

/// One page and its state, as far as bit errors depend on it.
#[derive(Clone, Copy, Debug)]
pub struct Aged {
    /// Page in its block.
    pub page: u16,
    /// P/E cycles of the part of the block that the page lies in.
    pub pec: u32,
    /// How long ago it was programmed.
    pub age: Time,
    /// Tells this program from all others.
    pub program: u64,
}

/// Errors of a device's pages.
pub struct BitErrors {
    model: ErrorModel,
    /// Errors at age 0 as a share of the model's.
    at_once: f64,
    /// What a year adds, likewise.
    a_year: f64,
    draws: Draw,
}

impl BitErrors {
    /// Builds the bit errors of a spec's chips; `None` if every read succeeds at once.
    pub fn new(chips: &Chips, keys: &ChipKeys, seed: u64) -> Option<BitErrors> {
        let model = chips.retry.as_ref()?.model().clone();
        // Under a scheme that wears, the model's level is that of a year; under fixed erases it is a read at once.
        let unit = if keys.erase.scheme.has_loops() { 1.0 } else { AT_ONCE };
        let draws = Draw::new(seed, "chip-bit-errors");
        Some(BitErrors { model, at_once: AT_ONCE / unit, a_year: (1.0 - AT_ONCE) / unit, draws })
    }

    /// Raw bit errors per KiB.
    pub fn bits_per_kib(&self, of: &Aged) -> f64 {
        let years = of.age.0 as f64 / YEAR.0 as f64;
        self.model.bits_per_kib(of.page, of.pec) * (self.at_once + self.a_year * years)
    }

    /// Retries that a read needs; `None` if no number of them is enough.
    pub fn retries(&self, of: &Aged) -> Option<u32> {
        retries(self.bits_per_kib(of), self.model.ecc_bits_per_kib)
    }

    /// Flips bits of data that was just sensed. The same program has the same wrong bits, and more of them with age.
    pub fn flip(&self, of: &Aged, data: &mut [u8]) {
        let mean = self.bits_per_kib(of);
        for (nth, piece) in data.chunks_mut(PIECE_BYTES).enumerate() {
            let place = self.draws.bits(of.program).wrapping_add(nth as u64);
            let bits = piece.len() * 8;
            let count = poisson(mean * piece.len() as f64 / PIECE_BYTES as f64, self.draws.unit(place));
            for error in 1..=u64::from(count) {
                let bit = (self.draws.bits(place.wrapping_add(error << 32)) % bits as u64) as usize;
                piece[bit / 8] ^= 1 << (bit % 8);
            }
        }
    }
}

/// The Poisson count of this mean at a quantile.
fn poisson(mean: f64, quantile: f64) -> u32 {
    if mean > LARGE_MEAN {
        return mean.round() as u32;
    }
    let mut chance = libm::exp(-mean);
    let (mut sum, mut count) = (chance, 0);
    while sum < quantile && chance > 0.0 {
        count += 1;
        chance *= mean / f64::from(count);
        sum += chance;
    }
    count
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn t130_counts_have_their_mean_and_grow_with_it() {
        let draws = Draw::new(1, "test");
        for mean in [0.0, 0.4, 2.6, 16.0, 63.0] {
            let counts: Vec<u32> = (0..20_000).map(|place| poisson(mean, draws.unit(place))).collect();
            let found = counts.iter().map(|&count| f64::from(count)).sum::<f64>() / 20_000.0;
            assert!((found - mean).abs() <= 5.0 * (mean / 20_000.0).sqrt(), "{found} for {mean}");
            let more = (0..20_000).map(|place| poisson(mean * 1.5, draws.unit(place)));
            assert!(counts.iter().zip(more).all(|(&count, more)| count <= more));
        }
    }
}
