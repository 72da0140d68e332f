//! Streams of different lifetimes, each over a range of its own.

use pumice_types::key::{CHOSEN, When, float};

use crate::generator::pattern::{Pattern, SlotLaw};
use crate::source::error::TraceError;
use crate::source::fact::Fact;
use crate::source::random::RandomStream;

/// The most streams.
const STREAMS_MAX: usize = 8;

/// One value a stream.
type PerStream = [f64; STREAMS_MAX];

/// The footprint is cut into ranges, one a stream, in their order; each takes its share of the requests, equally likely
/// within the range. So data of a stream lives as long as its range is large and its share is small.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StreamsAccess {
    /// How many lengths and weights are given.
    given: [usize; 2],
    /// Length of each range, in proportion to their sum.
    space: PerStream,
    /// Weight of each stream among the requests, in proportion to their sum.
    share: PerStream,
}

/// When such a workload runs.
const IS_STREAMS: When = When::All(&[When::Requests, When::Is("workload.kind", &[StreamsAccess::NAME])]);

pumice_types::keys! {
    /// What streams read of `[workload]`.
    pub struct StreamsKeys in "workload" {
        stream_space: Vec<f64> = "[0.1, 0.3, 0.6]", float(1e-9, 1e9), "", CHOSEN, IS_STREAMS, "Lengths of the streams' ranges, in proportion to their sum; 1 to 8 (kind = \"streams\").";
        stream_share: Vec<f64> = "[0.6, 0.3, 0.1]", float(0.0, 1e9), "", CHOSEN, IS_STREAMS, "Requests to each stream, in proportion to their sum (kind = \"streams\").";
    }
}

impl StreamsAccess {
    /// Streams with these lengths of their ranges and these weights, as many of either, 1 to 8.
    pub fn new(space: &[f64], share: &[f64]) -> StreamsAccess {
        let kept = |values: &[f64]| std::array::from_fn(|at| values.get(at).copied().unwrap_or_default());
        StreamsAccess { given: [space.len(), share.len()], space: kept(space), share: kept(share) }
    }
}

impl Pattern for StreamsAccess {
    const NAME: &'static str = "streams";
    const ABOUT: &'static str = "streams that the host names, each with a range stream_space of the footprint and a share stream_share of the requests";
    type Keys = StreamsKeys;
    type Law = StreamsLaw;

    fn of_keys(keys: &StreamsKeys) -> StreamsAccess {
        StreamsAccess::new(&keys.stream_space, &keys.stream_share)
    }

    fn law(self, slots: u64, _: u64) -> Result<StreamsLaw, TraceError> {
        let [count, shares] = self.given;
        let refuse = |what: String| Err(TraceError::option(what));
        if count != shares || !(1..=STREAMS_MAX).contains(&count) {
            return refuse(format!(
                "stream_space has {count} entries and stream_share {shares}; allowed: 1 to {STREAMS_MAX}, as many in both"
            ));
        }
        let (space, share): (f64, f64) = (self.space.iter().sum(), self.share.iter().sum());
        if share <= 0.0 {
            return refuse("stream_share holds nothing but zeros; allowed: at least one number above 0".to_owned());
        }
        let mut law = StreamsLaw { count, ends: [slots; STREAMS_MAX], shares: [1.0; STREAMS_MAX] };
        let (mut spaces, mut shares) = (0.0, 0.0);
        for stream in 0..count - 1 {
            spaces += self.space[stream];
            shares += self.share[stream];
            law.ends[stream] = libm::round(spaces / space * slots as f64) as u64;
            law.shares[stream] = shares / share;
        }
        match (0..count).find(|&stream| law.range(stream).is_empty()) {
            Some(stream) => refuse(format!(
                "stream_space = {} of stream {stream} found, which is less than a request; allowed are larger ones",
                self.space[stream]
            )),
            None => Ok(law),
        }
    }

    fn streams(self) -> u8 {
        self.given[0] as u8
    }

    fn parameters(self) -> Vec<(&'static str, Fact)> {
        let text = |values: &PerStream| {
            let values: Vec<String> = values[..self.given[0].min(STREAMS_MAX)].iter().map(f64::to_string).collect();
            Fact::Text(values.join(","))
        };
        vec![("stream_space", text(&self.space)), ("stream_share", text(&self.share))]
    }
}

/// Where each stream's range ends, and how the requests fall to them.
#[derive(Debug)]
pub struct StreamsLaw {
    count: usize,
    /// The slot behind each range.
    ends: [u64; STREAMS_MAX],
    /// The share of the requests that go to this stream or one before it.
    shares: PerStream,
}

impl StreamsLaw {
    fn range(&self, stream: usize) -> std::ops::Range<u64> {
        let start = if stream == 0 { 0 } else { self.ends[stream - 1] };
        start..self.ends[stream]
    }
}

impl SlotLaw for StreamsLaw {
    #[inline]
    fn draw(&mut self, random: &mut RandomStream) -> Option<u64> {
        let drawn = random.unit();
        let stream = self.shares[..self.count].iter().position(|&share| drawn < share).unwrap_or(self.count - 1);
        let range = self.range(stream);
        Some(range.start + random.below(range.end - range.start))
    }

    #[inline]
    fn stream_of(&self, slot: u64) -> u8 {
        self.ends[..self.count].iter().position(|&end| slot < end).unwrap_or(self.count - 1) as u8
    }
}
