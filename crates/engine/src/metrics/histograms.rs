//! Latencies as HDR histograms in an interval log: the text format (version 1.3, histograms in V2) that
//! HdrHistogram's tools of every language read. One interval, the measured run; one tag a kind.

use std::time::{Duration, SystemTime};

use hdrhistogram::serialization::V2DeflateSerializer;
use hdrhistogram::serialization::interval_log::{IntervalLogWriterBuilder, Tag};

use super::Metrics;
use crate::error::SimError;

/// The log's unit for largest values is milliseconds, as its other writers have it.
const MAX_VALUE_DIVISOR: f64 = 1e6;

/// The latencies of a run, in nanoseconds. Kinds without a request are left out.
///
/// # Errors
/// A histogram that its own format cannot hold.
pub fn interval_log(metrics: &Metrics) -> Result<Vec<u8>, SimError> {
    let refuse = |error: &dyn std::fmt::Display| SimError::Output(format!("output.histograms: {error}"));
    let (mut text, mut serializer) = (Vec::new(), V2DeflateSerializer::new());
    let mut builder = IntervalLogWriterBuilder::new();
    builder.add_comment("[Histogram log format version 1.3]");
    builder.add_comment("[Latencies in nanoseconds; largest values in milliseconds; simulated time]");
    builder.with_base_time(SystemTime::UNIX_EPOCH).with_max_value_divisor(MAX_VALUE_DIVISOR);
    let mut log = builder.begin_log_with(&mut text, &mut serializer).map_err(|error| refuse(&error))?;
    let (since, length) = (Duration::from_nanos(metrics.since.0), Duration::from_nanos(metrics.simulated().0));
    let Metrics { read, write, trim, flush, append, reset, finish, .. } = metrics;
    let of_zones = [("append", append), ("reset", reset), ("finish", finish)];
    for (name, kind) in [("read", read), ("write", write), ("trim", trim), ("flush", flush)].into_iter().chain(of_zones)
    {
        if kind.requests > 0 {
            log.write_histogram(&kind.latency, since, length, Tag::new(name)).map_err(|error| refuse(&error))?;
        }
    }
    Ok(text)
}
