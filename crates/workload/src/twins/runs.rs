//! Repeated access: short sequential runs on a few streams, at places of skewed popularity.
//! Addresses are in granules.

use crate::source::random::RandomStream;
use crate::twins::layout::Stretch;

/// Streams that run side by side.
const STREAMS: usize = 4;

/// A request's place and size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RequestSpan {
    /// Index of the extent or segment it lies in.
    pub index: usize,
    /// First granule.
    pub start: u64,
    /// Granules, at least 1.
    pub len: u64,
}

#[derive(Clone, Copy, Debug, Default)]
struct SequentialRun {
    index: usize,
    at: u64,
    /// Where its extent ends; the run is over when `at` reaches it.
    end: u64,
}

/// Runs of four requests on average, over the first of a list of places.
#[derive(Debug)]
pub(crate) struct Runs {
    stream: RandomStream,
    runs: [SequentialRun; STREAMS],
}

impl Runs {
    pub fn new(stream: RandomStream) -> Runs {
        Runs { stream, runs: [SequentialRun::default(); STREAMS] }
    }

    /// The next request of `want` granules, cut where its place ends. `places` are those completed
    /// so far, at least one.
    ///
    /// One draw decides the stream (2 bits) and whether the run ends with this request (2 bits: a
    /// chance of 1/4, so a mean of 4 requests).
    #[inline]
    pub fn next(&mut self, places: &[Stretch], want: u64) -> RequestSpan {
        let bits = self.stream.bits();
        let run = &mut self.runs[(bits & 3) as usize];
        if run.at == run.end {
            let index = skewed(self.stream.unit(), places.len());
            let Stretch { start, len } = places[index];
            *run = SequentialRun { index, at: start + self.stream.below(len), end: start + len };
        }
        let len = want.min(run.end - run.at);
        let span = RequestSpan { index: run.index, start: run.at, len };
        run.at = if bits >> 2 & 3 == 0 { run.end } else { run.at + len };
        span
    }
}

/// Index ⌊count · u⁶⌋ for a uniform u: the first tenth of the places takes two thirds of the
/// accesses, the heat of the real slices' writes.
fn skewed(u: f64, count: usize) -> usize {
    let square = u * u;
    ((count as f64 * (square * square * square)) as usize).min(count - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn w060_a_tenth_of_the_places_takes_two_thirds_of_the_runs() {
        let mut stream = RandomStream::new(1, "skew");
        let n = 100_000;
        let hot = (0..n).filter(|_| skewed(stream.unit(), 1000) < 100).count() as f64 / f64::from(n);
        // P(u^6 < 0.1) = 0.1^(1/6) = 0.681.
        assert!((hot - 0.681).abs() < 0.01, "{hot}");
    }

    #[test]
    fn w061_runs_stay_inside_their_place_and_have_four_requests_on_average() {
        let places: Vec<Stretch> = (0..50).map(|i| Stretch { start: i * 2_000_000, len: 1_000_000 }).collect();
        let mut runs = Runs::new(RandomStream::new(1, "runs"));
        let (mut follows, mut ends) = (0, std::collections::BTreeSet::new());
        let n = 100_000;
        for _ in 0..n {
            let RequestSpan { index, start, len } = runs.next(&places, 3);
            assert!(start >= places[index].start && start + len <= places[index].start + places[index].len);
            follows += u32::from(ends.remove(&start));
            ends.insert(start + len);
        }
        let follow = f64::from(follows) / f64::from(n);
        assert!((follow - 0.75).abs() < 0.01, "{follow}");
    }
}
