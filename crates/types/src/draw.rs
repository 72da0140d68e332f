//! Random numbers that are looked up, not drawn in turn: a pure function of seed, purpose and place.
//!
//! A property of a block (how hard it is to erase) must be the same whenever it is asked for, in
//! whatever order blocks are met, and must cost no memory. Purposes are named like the streams of
//! drawn numbers, so that one purpose tells nothing of another.

use serde::{Deserialize, Serialize};

/// The numbers of one purpose.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Draw(u64);

impl Draw {
    /// The numbers of `purpose` in the run of `seed`.
    pub fn new(seed: u64, purpose: &str) -> Draw {
        let named = purpose.bytes().fold(mix(seed), |state, byte| mix(state ^ u64::from(byte)));
        Draw(mix(named))
    }

    /// 64 random bits for a place.
    #[inline]
    pub fn bits(self, place: u64) -> u64 {
        mix(self.0 ^ mix(place))
    }

    /// Uniform in (0, 1), never at either end.
    #[inline]
    pub fn unit(self, place: u64) -> f64 {
        ((self.bits(place) >> 12) as f64 + 0.5) / (1u64 << 52) as f64
    }
}

/// Steele, Lea and Flood's SplitMix64 (OOPSLA 2014): a bijection; each output bit depends on all
/// input bits.
#[inline]
fn mix(value: u64) -> u64 {
    let mut z = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn t032_places_are_uniform_and_purposes_independent() {
        let (one, other) = (Draw::new(1, "erase-quantile"), Draw::new(1, "fail-bits"));
        let n = 100_000u64;
        let (mut bins, mut product) = ([0u32; 10], 0.0);
        for place in 0..n {
            let u = one.unit(place);
            assert!(u > 0.0 && u < 1.0);
            bins[(u * 10.0) as usize] += 1;
            product += (u - 0.5) * (other.unit(place) - 0.5);
        }
        // Five standard deviations of a bin's count, and of the mean product.
        let spread = 5.0 * (n as f64 * 0.09).sqrt();
        assert!(bins.iter().all(|&bin| (f64::from(bin) - n as f64 / 10.0).abs() < spread), "{bins:?}");
        assert!((product / n as f64).abs() < 5.0 / 12.0 / (n as f64).sqrt());
        assert_ne!(Draw::new(2, "fail-bits"), other);
        assert_eq!(Draw::new(1, "fail-bits").bits(7), other.bits(7));
    }
}
