//! Random numbers: one stream a purpose, the same on every machine.
//!
//! A stream's generator (xoshiro256++) is seeded with SHA-256 of the run's seed and the purpose's
//! name, so that drawing more for one purpose changes no other. Logarithms and the like come from
//! `libm`, because the system's differ in the last bit from machine to machine.

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{RngCore, SeedableRng};
use sha2::{Digest, Sha256};

/// A stream of random numbers for one purpose.
#[derive(Clone, Debug)]
pub struct RandomStream(Xoshiro256PlusPlus);

/// 2^-53, the spacing of the uniform numbers drawn.
const ULP: f64 = 1.0 / (1u64 << 53) as f64;

impl RandomStream {
    /// The stream of `purpose` in the run of `seed`.
    pub fn new(seed: u64, purpose: &str) -> RandomStream {
        let digest = Sha256::new().chain_update(seed.to_le_bytes()).chain_update(purpose.as_bytes()).finalize();
        RandomStream(Xoshiro256PlusPlus::from_seed(digest.into()))
    }

    /// 64 random bits.
    #[inline]
    pub fn bits(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// Uniform in [0, 1).
    #[inline]
    pub fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 * ULP
    }

    /// Uniform in (0, 1]: never 0, so that its logarithm is finite.
    #[inline]
    pub fn positive_unit(&mut self) -> f64 {
        ((self.bits() >> 11) + 1) as f64 * ULP
    }

    /// Uniform in `0..bound` (0 if `bound` is 0). By multiplication; the bias is below
    /// `bound / 2^64` and nothing here has a bound near that.
    #[inline]
    pub fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.bits()) * u128::from(bound)) >> 64) as u64
    }

    /// Exponential with mean 1.
    #[inline]
    pub fn exponential(&mut self) -> f64 {
        -libm::log(self.positive_unit())
    }

    /// Normal with mean 0 and standard deviation 1 (Box–Muller; the second number is dropped).
    pub fn normal(&mut self) -> f64 {
        let radius = libm::sqrt(2.0 * self.exponential());
        radius * libm::cos(2.0 * std::f64::consts::PI * self.unit())
    }

    /// Puts the items into random order.
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.below(last as u64 + 1) as usize);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn w020_streams_differ_by_seed_and_by_purpose() {
        let first = |seed, purpose| RandomStream::new(seed, purpose).bits();
        assert_eq!(first(1, "sizes"), first(1, "sizes"));
        assert_ne!(first(1, "sizes"), first(2, "sizes"));
        assert_ne!(first(1, "sizes"), first(1, "arrivals"));
    }

    #[test]
    fn w021_moments() {
        let mut stream = RandomStream::new(1, "moments");
        let n = 200_000;
        let (mut normal, mut square, mut exponential, mut below) = (0.0, 0.0, 0.0, 0);
        for _ in 0..n {
            let z = stream.normal();
            normal += z;
            square += z * z;
            exponential += stream.exponential();
            below += stream.below(10);
        }
        let n = f64::from(n);
        // Five standard errors of each mean.
        assert!((normal / n).abs() < 5.0 / n.sqrt());
        assert!((square / n - 1.0).abs() < 5.0 * 2f64.sqrt() / n.sqrt());
        assert!((exponential / n - 1.0).abs() < 5.0 / n.sqrt());
        assert!((below as f64 / n - 4.5).abs() < 5.0 * 2.88 / n.sqrt());
    }

    #[test]
    fn w022_a_shuffle_is_a_permutation() {
        let mut items: Vec<u32> = (0..1000).collect();
        RandomStream::new(3, "shuffle").shuffle(&mut items);
        assert_ne!(items[..10], [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
        items.sort_unstable();
        assert!(items.iter().copied().eq(0..1000));
    }
}
