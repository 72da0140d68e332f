//! Request sizes that meet a total: geometric, their mean steered by what is left to move.

use crate::source::random::RandomStream;
use crate::twins::whole_exponentials::WholeExponentials;

/// Requests between two looks at what is left. The parameter of the sizes needs a logarithm, which this spreads over
/// many requests.
const STEER_EVERY: u64 = 64;

/// Weight, in requests, of the assumption that no request is cut.
const PRIOR_REQUESTS: f64 = 1000.0;

/// What the ratio of drawn to issued granules keeps of its past at each such look: it remembers
/// some six thousand requests, because cuts change with the extents that happen to be hot.
const MEMORY: f64 = 0.99;

/// Most by which sizes are drawn larger to make up for cuts.
const MAX_MAKEUP: f64 = 8.0;

/// The sizes of one kind of request, in granules.
#[derive(Debug)]
pub(crate) struct SizeBudget {
    stream: RandomStream,
    whole: WholeExponentials,
    granules_left: u64,
    requests_left: u64,
    /// Granules drawn and granules that remained after cuts at the end of an extent or segment.
    drawn: f64,
    issued: f64,
    /// `-1 / ln(1 - 1/mean)`: the scale of the exponential whose floor is geometric.
    scale: f64,
}

impl SizeBudget {
    /// `granules` in all over `requests` requests, which are at least 1.
    pub fn new(granules: u64, requests: u64, stream: RandomStream) -> SizeBudget {
        let prior = PRIOR_REQUESTS * granules as f64 / requests as f64;
        let (granules_left, requests_left) = (granules, requests);
        let whole = WholeExponentials::new();
        let (drawn, issued) = (prior, prior);
        let mut budget = SizeBudget { stream, whole, granules_left, requests_left, drawn, issued, scale: 0.0 };
        budget.steer();
        budget
    }

    /// Granules still to move.
    pub fn granules_left(&self) -> u64 {
        self.granules_left
    }

    /// The next size, at least 1.
    #[inline]
    pub fn draw(&mut self) -> u64 {
        if self.requests_left.is_multiple_of(STEER_EVERY) {
            self.steer();
        }
        1 + self.whole.draw(&mut self.stream, self.scale)
    }

    /// Says what became of the size drawn last: `issued` granules of it.
    #[inline]
    pub fn settle(&mut self, drawn: u64, issued: u64) {
        self.drawn += drawn as f64;
        self.issued += issued as f64;
        self.granules_left = self.granules_left.saturating_sub(issued);
        self.requests_left = self.requests_left.saturating_sub(1);
    }

    fn steer(&mut self) {
        self.drawn *= MEMORY;
        self.issued *= MEMORY;
        let makeup = (self.drawn / self.issued).min(MAX_MAKEUP);
        let mean = makeup * self.granules_left as f64 / self.requests_left.max(1) as f64;
        self.scale = if mean > 1.0 { -1.0 / libm::log1p(-1.0 / mean) } else { 0.0 };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Total issued if every request is cut at `cut` granules.
    fn total(granules: u64, requests: u64, cut: u64) -> u64 {
        let mut budget = SizeBudget::new(granules, requests, RandomStream::new(1, "sizes"));
        let mut sum = 0;
        for _ in 0..requests {
            let drawn = budget.draw();
            let issued = drawn.min(cut);
            budget.settle(drawn, issued);
            sum += issued;
        }
        sum
    }

    #[test]
    fn w050_sizes_meet_their_total() {
        for (granules, cut) in [(100_000, u64::MAX), (116_000, u64::MAX), (1_200_000, u64::MAX), (1_200_000, 16)] {
            let error = total(granules, 100_000, cut) as f64 / granules as f64 - 1.0;
            assert!(error.abs() < 0.005, "{granules} granules, cut at {cut}: {error}");
        }
    }

    #[test]
    fn w051_sizes_are_geometric() {
        let mut budget = SizeBudget::new(u64::MAX / 2, u64::MAX / 8, RandomStream::new(1, "sizes"));
        let n = 100_000;
        let ones = (0..n).filter(|_| budget.draw() == 1).count() as f64 / f64::from(n);
        assert!((ones - 0.25).abs() < 5.0 * 0.433 / f64::from(n).sqrt(), "{ones}");
    }
}
