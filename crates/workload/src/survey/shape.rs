//! The shape of a stream of requests: the curves and histograms that a figure shows.

use pumice_types::Time;
use serde::Serialize;

use crate::survey::footprint::SectorSet;

/// Most samples of the footprint over time: beyond, every second one is dropped.
const SAMPLES_MAX: usize = 256;

/// One bin of a histogram: values from `from` up to, but not including, twice that (the bin from 0
/// holds 0 alone).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Bin {
    /// Least value.
    pub from: u64,
    /// Number of values.
    pub count: u64,
}

/// Distinct bytes touched up to a moment.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct FootprintSample {
    /// Seconds since the first request.
    pub at_s: f64,
    /// Distinct bytes read so far.
    pub read_bytes: u64,
    /// Distinct bytes written so far.
    pub written_bytes: u64,
}

/// Curves and histograms of a workload.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct WorkloadShape {
    /// Share of the page writes that go to the hottest 0, 1, … 100 % of the written pages of 16 KiB;
    /// empty without writes.
    pub hottest_percent_share: Vec<f64>,
    /// Inter-arrival times in nanoseconds.
    pub interarrival_ns: Vec<Bin>,
    /// Reads by their size in bytes.
    pub read_bytes: Vec<Bin>,
    /// Writes by their size in bytes.
    pub write_bytes: Vec<Bin>,
    /// Reads by the number of requests in the sequential run that they belong to.
    pub read_runs: Vec<Bin>,
    /// Writes, likewise.
    pub write_runs: Vec<Bin>,
    /// At most 257 moments, evenly spaced by requests.
    pub footprint: Vec<FootprintSample>,
}

/// Counts by powers of two.
#[derive(Clone, Debug)]
pub(super) struct Histogram([u64; 65]);

impl Default for Histogram {
    fn default() -> Histogram {
        Histogram([0; 65])
    }
}

impl Histogram {
    /// Counts `count` occurrences of a value.
    #[inline]
    pub fn add(&mut self, value: u64, count: u64) {
        self.0[(u64::BITS - value.leading_zeros()) as usize] += count;
    }

    /// The bins from the first to the last that is not empty.
    pub fn bins(&self) -> Vec<Bin> {
        let used = |&(_, &count): &(usize, &u64)| count > 0;
        let Some((first, _)) = self.0.iter().enumerate().find(used) else { return Vec::new() };
        let last = self.0.iter().rposition(|&count| count > 0).unwrap_or(first);
        let from = |bin: usize| if bin == 0 { 0 } else { 1 << (bin - 1) };
        (first..=last).map(|bin| Bin { from: from(bin), count: self.0[bin] }).collect()
    }
}

/// Footprints at moments that grow apart as the stream grows longer.
#[derive(Clone, Debug)]
pub(super) struct Growth {
    samples: Vec<FootprintSample>,
    stride: u64,
    seen: u64,
}

impl Growth {
    pub fn new() -> Growth {
        Growth { samples: Vec::with_capacity(SAMPLES_MAX), stride: 1, seen: 0 }
    }

    /// Notes a request that arrived at `at`, already counted in the sets.
    #[inline]
    pub fn add(&mut self, at: Time, read: &SectorSet, written: &SectorSet) {
        self.seen += 1;
        if self.seen.is_multiple_of(self.stride) {
            self.take(at, read, written);
        }
    }

    fn take(&mut self, at: Time, read: &SectorSet, written: &SectorSet) {
        self.samples.push(sample(at, read, written));
        if self.samples.len() == SAMPLES_MAX {
            let mut place = 0;
            self.samples.retain(|_| {
                place += 1;
                place % 2 == 0
            });
            self.stride *= 2;
        }
    }

    /// The samples and, behind them, where the stream ended.
    pub fn samples(&self, end: Time, read: &SectorSet, written: &SectorSet) -> Vec<FootprintSample> {
        let mut samples = self.samples.clone();
        if self.seen > 0 && !self.seen.is_multiple_of(self.stride) {
            samples.push(sample(end, read, written));
        }
        samples
    }
}

fn sample(at: Time, read: &SectorSet, written: &SectorSet) -> FootprintSample {
    FootprintSample { at_s: at.as_s(), read_bytes: read.footprint().bytes, written_bytes: written.footprint().bytes }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn w142_bins_are_powers_of_two_and_begin_at_the_first_value() {
        let mut histogram = Histogram::default();
        assert_eq!(histogram.bins(), []);
        for value in [4, 7, 16] {
            histogram.add(value, 1);
        }
        let bins: Vec<(u64, u64)> = histogram.bins().iter().map(|bin| (bin.from, bin.count)).collect();
        assert_eq!(bins, [(4, 2), (8, 0), (16, 1)]);
        histogram.add(0, 5);
        histogram.add(u64::MAX, 1);
        let bins = histogram.bins();
        assert_eq!((bins[0], bins[64]), (Bin { from: 0, count: 5 }, Bin { from: 1 << 63, count: 1 }));
    }

    #[test]
    fn w143_the_footprint_keeps_its_ends_however_long_the_stream() {
        let (mut growth, mut written, read) = (Growth::new(), SectorSet::default(), SectorSet::default());
        for n in 0..10_000 {
            written.add(n * 512, 512);
            growth.add(Time(n * 1_000_000), &read, &written);
        }
        let samples = growth.samples(Time(9_999_000_000), &read, &written);
        assert!((100..=SAMPLES_MAX + 1).contains(&samples.len()), "{}", samples.len());
        let last = samples.last().expect("some");
        assert_eq!((last.at_s, last.written_bytes, last.read_bytes), (9.999, 10_000 * 512, 0));
        let steps: Vec<u64> = samples.windows(2).map(|w| w[1].written_bytes - w[0].written_bytes).collect();
        assert!(steps[..steps.len() - 1].iter().all(|&step| step == steps[0]), "{steps:?}");
    }
}
