//! Slots whose popularity follows Zipf's law; ranks are drawn in constant time and memory.
//!
//! W. Hörmann and G. Derflinger, "Rejection-inversion to generate variates from monotone discrete
//! distributions", ACM TOMACS 6(3), 1996. The hat is the density x^-theta itself, integrated over
//! one unit around each rank; a rank is drawn by inverting that integral and kept unless it fell
//! into the sliver by which the unit's integral exceeds the rank's weight.

use pumice_types::key::{When, float};

use crate::generator::pattern::{Pattern, SlotLaw, places};
use crate::generator::scatter::Scatter;
use crate::source::error::TraceError;
use crate::source::fact::Fact;
use crate::source::random::RandomStream;

/// The k-th most popular slot is as likely as 1 / k^theta. Which slot has which rank is random,
/// so popular slots lie spread over the footprint.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ZipfAccess {
    /// Exponent, a number from 0 (uniform) to 10.
    pub theta: f64,
}

/// When such a workload runs.
const IS_ZIPF: When = When::All(&[When::Requests, When::Is("workload.kind", &[ZipfAccess::NAME])]);

pumice_types::keys! {
    /// What Zipf's law reads of `[workload]`.
    pub struct ZipfKeys in "workload" {
        zipf_theta: f64 = "0.99", float(0.0, 10.0), "", "chosen: YCSB's default", IS_ZIPF, "Exponent of Zipf's law (kind = \"zipf\"); 0 is uniform.";
    }
}

impl Pattern for ZipfAccess {
    const NAME: &'static str = "zipf";
    const ABOUT: &'static str =
        "requests whose addresses follow Zipf's law with exponent zipf_theta, spread over the footprint";
    type Keys = ZipfKeys;
    type Law = ZipfLaw;

    fn of_keys(keys: &ZipfKeys) -> ZipfAccess {
        ZipfAccess { theta: keys.zipf_theta }
    }

    fn law(self, slots: u64, seed: u64) -> Result<ZipfLaw, TraceError> {
        let theta = self.theta;
        if !(0.0..=10.0).contains(&theta) {
            let message = format!("zipf_theta = {theta} found; allowed are numbers from 0 to 10");
            return Err(TraceError::option(message));
        }
        Ok(ZipfLaw { ranks: ZipfRanks::new(slots, theta), scatter: Scatter::new(slots, &mut places(seed)) })
    }

    fn parameters(self) -> Vec<(&'static str, Fact)> {
        vec![("zipf_theta", Fact::Real(self.theta))]
    }
}

/// Draws ranks, and knows which slot has which rank.
#[derive(Debug)]
pub struct ZipfLaw {
    ranks: ZipfRanks,
    scatter: Scatter,
}

impl SlotLaw for ZipfLaw {
    #[inline]
    fn draw(&mut self, stream: &mut RandomStream) -> Option<u64> {
        Some(self.scatter.place(self.ranks.rank(stream)))
    }
}

/// Below this the functions of a small exponent are taken from their series, which is then exact
/// to the last bit.
const SMALL: f64 = 1e-8;

/// Ranks 0 to n - 1 of which rank k has a weight of 1 / (k + 1)^theta.
#[derive(Clone, Copy, Debug)]
struct ZipfRanks {
    items: f64,
    theta: f64,
    /// The hat's integral up to the upper end of the first and of the last rank.
    first: f64,
    last: f64,
    /// A draw this close above its rank is accepted without the rejection test.
    squeeze: f64,
}

impl ZipfRanks {
    /// `items` is at least 1, `theta` at least 0.
    fn new(items: u64, theta: f64) -> ZipfRanks {
        let mut zipf = ZipfRanks { items: items as f64, theta, first: 0.0, last: 0.0, squeeze: 0.0 };
        zipf.first = zipf.integral(1.5) - 1.0;
        zipf.last = zipf.integral(zipf.items + 0.5);
        zipf.squeeze = 2.0 - zipf.inverse(zipf.integral(2.5) - zipf.weight(2.0));
        zipf
    }

    /// The next rank.
    #[inline]
    fn rank(&self, stream: &mut RandomStream) -> u64 {
        loop {
            let area = self.last + stream.unit() * (self.first - self.last);
            let x = self.inverse(area);
            let rank = libm::floor(x + 0.5).clamp(1.0, self.items);
            if rank - x <= self.squeeze || area >= self.integral(rank + 0.5) - self.weight(rank) {
                return rank as u64 - 1;
            }
        }
    }

    /// x^-theta.
    #[inline]
    fn weight(&self, x: f64) -> f64 {
        libm::exp(-self.theta * libm::log(x))
    }

    /// The integral of t^-theta from 1 to x: (x^(1 - theta) - 1) / (1 - theta), or ln x at 1.
    #[inline]
    fn integral(&self, x: f64) -> f64 {
        let log = libm::log(x);
        let exponent = (1.0 - self.theta) * log;
        let ratio = if exponent.abs() < SMALL { 1.0 + exponent / 2.0 } else { libm::expm1(exponent) / exponent };
        ratio * log
    }

    /// The x whose integral is `area`.
    #[inline]
    fn inverse(&self, area: f64) -> f64 {
        // Rounding must not lead below the pole of the logarithm.
        let exponent = (area * (1.0 - self.theta)).max(-1.0);
        let ratio = if exponent.abs() < SMALL { 1.0 - exponent / 2.0 } else { libm::log1p(exponent) / exponent };
        libm::exp(ratio * area)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Largest deviation of the first ranks' counts from the weights, in standard errors.
    fn deviation(items: u64, theta: f64, draws: u32) -> f64 {
        let (zipf, mut stream) = (ZipfRanks::new(items, theta), RandomStream::new(1, "zipf"));
        let mut counts = vec![0u32; items.min(100) as usize];
        for _ in 0..draws {
            let rank = zipf.rank(&mut stream);
            assert!(rank < items);
            if let Some(count) = counts.get_mut(rank as usize) {
                *count += 1;
            }
        }
        let total: f64 = (1..=items).map(|k| libm::pow(k as f64, -theta)).sum();
        let off = |(k, &count): (usize, &u32)| {
            let p = libm::pow(k as f64 + 1.0, -theta) / total;
            (f64::from(count) - p * f64::from(draws)).abs() / (f64::from(draws) * p * (1.0 - p) + 1.0).sqrt()
        };
        counts.iter().enumerate().map(off).fold(0.0, f64::max)
    }

    #[test]
    fn w033_ranks_have_the_weights_of_the_law() {
        for theta in [0.0, 0.5, 0.99, 1.0, 1.0 + 1e-12, 1.2, 3.0, 10.0] {
            for items in [1, 2, 10, 100_000] {
                let worst = deviation(items, theta, 200_000);
                // The largest of at most 100 normal numbers exceeds 4.5 once in 1,500 cases.
                assert!(worst < 4.5, "theta {theta}, {items} items: {worst} standard errors");
            }
        }
    }

    #[test]
    fn w034_a_thousand_million_items_cost_nothing_to_set_up() {
        let (zipf, mut stream) = (ZipfRanks::new(1_000_000_000, 0.99), RandomStream::new(1, "zipf"));
        let tail = (0..100_000).filter(|_| zipf.rank(&mut stream) >= 1_000_000).count() as f64 / 1e5;
        // H(n) by Euler-Maclaurin: ((n + 1/2)^0.01 - 1) / 0.01 + 0.5777, for n = 10^9 and 10^6.
        let sum = |n: f64| (libm::pow(n + 0.5, 0.01) - 1.0) / 0.01 + 0.5777;
        let expected = 1.0 - sum(1e6) / sum(1e9);
        assert!((tail - expected).abs() < 0.01, "{tail}, expected {expected}");
    }
}
