//! Whole parts of exponential numbers, mostly without a logarithm.
//!
//! Sizes are whole parts of scaled exponential numbers, so most digits of the logarithm are thrown away. A table and two
//! terms of a series give the logarithm within [`ERROR`]; only where its ends lie on both sides of a whole number is the
//! true one computed. The result is that of the true one for every number drawn.

use std::f64::consts::LN_2;

use crate::source::random::RandomStream;

/// Parts of the numbers from 1 to 2 that have an entry of their own.
const PARTS: usize = 128;

/// Bits of a number below the ones that name its part.
const BELOW_PART: u32 = 52 - PARTS.trailing_zeros();

/// By how much the logarithm may be wrong. A number is at most 1/256 of the centre of its part away from it, so what the
/// series leaves out is at most (1/256)³ / 3 = 2·10⁻⁸; the rest is for rounding.
const ERROR: f64 = 1e-7;

/// The entry of a part.
#[derive(Clone, Copy, Debug)]
struct LogPart {
    /// One over its centre.
    inverse: f64,
    /// The logarithm of that.
    log: f64,
}

/// Draws whole parts of exponential numbers.
#[derive(Debug)]
pub(crate) struct WholeExponentials(Box<[LogPart; PARTS]>);

impl WholeExponentials {
    pub fn new() -> WholeExponentials {
        WholeExponentials(Box::new(std::array::from_fn(|part| {
            let inverse = 1.0 / (1.0 + (part as f64 + 0.5) / PARTS as f64);
            LogPart { inverse, log: libm::log(inverse) }
        })))
    }

    /// The whole part of `scale` times an exponential number with mean 1: `(stream.exponential() * scale) as u64`.
    #[inline]
    pub fn draw(&self, stream: &mut RandomStream, scale: f64) -> u64 {
        self.whole(stream.positive_unit(), scale)
    }

    #[inline]
    fn whole(&self, unit: f64, scale: f64) -> u64 {
        let near = self.minus_log(unit);
        let (low, high) = (((near - ERROR) * scale) as u64, ((near + ERROR) * scale) as u64);
        if low == high { low } else { exactly(unit, scale) }
    }

    /// About −ln `unit`; `unit` is positive and no denormal.
    #[inline]
    fn minus_log(&self, unit: f64) -> f64 {
        let bits = unit.to_bits();
        let exponent = (bits >> 52) as i32 - 1023;
        let LogPart { inverse, log } = self.0[(bits >> BELOW_PART) as usize % PARTS];
        let mantissa = f64::from_bits(bits & ((1 << 52) - 1) | 1023 << 52);
        let off = mantissa * inverse - 1.0;
        log - f64::from(exponent) * LN_2 - off + 0.5 * off * off
    }
}

#[cold]
fn exactly(unit: f64, scale: f64) -> u64 {
    (-libm::log(unit) * scale) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn w052_the_logarithm_is_within_its_error_in_every_part() {
        let whole = WholeExponentials::new();
        for part in 0..PARTS * 64 {
            let mantissa = 1.0 + part as f64 / (PARTS * 64) as f64;
            for exponent in [0, 1, 5, 52] {
                for unit in [mantissa, mantissa.next_up(), mantissa.next_down()] {
                    let unit = unit / (2u64 << exponent) as f64;
                    let error = (whole.minus_log(unit) + libm::log(unit)).abs();
                    assert!(error < ERROR / 4.0, "{unit}: {error}");
                }
            }
        }
    }

    #[test]
    fn w053_whole_parts_are_those_of_the_true_logarithm() {
        let whole = WholeExponentials::new();
        let (mut stream, mut compared) = (RandomStream::new(1, "whole parts"), RandomStream::new(1, "whole parts"));
        for nth in 0..300_000 {
            let scale = [0.0, 0.3, 1.0, 3.7, 40.0, 12_345.6][nth % 6];
            assert_eq!(whole.draw(&mut stream, scale), (compared.exponential() * scale) as u64);
        }
        // Where the whole part changes, and the numbers beside it.
        for scale in [0.3, 1.0, 3.7, 40.0, 12_345.6] {
            for size in 0..30 {
                let mut unit = libm::exp(-f64::from(size) / scale).clamp(f64::EPSILON, 1.0);
                (0..20).for_each(|_| unit = unit.next_down());
                for _ in 0..40 {
                    let unit_drawn = unit.min(1.0);
                    assert_eq!(whole.whole(unit_drawn, scale), exactly(unit_drawn, scale), "{unit_drawn} {scale}");
                    unit = unit.next_up();
                }
            }
        }
    }
}
