//! What a run measures: latencies, parts of write latency, time with requests outstanding.

use hdrhistogram::Histogram;
use pumice_ftl::ZoneError;
use pumice_types::{HostRequest, RequestKind, Time, ZoneCommand};

mod flash_counts;
mod flow;
mod histograms;
mod joined;
mod parts;
mod power;
mod time_series;
mod wear_map;
mod write_series;

pub use flash_counts::{FlashCounts, UnitCounts};
pub use flow::FlowMetrics;
pub use histograms::interval_log;
pub use joined::in_order;
pub use parts::{LatencyParts, Stage};
pub use power::PowerFigures;
pub use time_series::TimeSeries;
pub use wear_map::WearMap;
pub use write_series::CommandTally;

use crate::scheduler::{PHASES, Phase};

/// Latencies above this (about 52 days) are counted as this.
const LATENCY_MAX_NS: u64 = 1 << 52;

/// Significant decimal digits of the latency histograms.
const LATENCY_DIGITS: u8 = 3;

/// Requests of one direction.
#[derive(Clone)]
pub struct KindMetrics {
    /// Requests done.
    pub requests: u64,
    /// Bytes of these requests.
    pub bytes: u64,
    /// Latency in nanoseconds.
    pub latency: Histogram<u64>,
    /// Sum of latencies in nanoseconds.
    pub latency_sum: u128,
    /// Largest latency.
    pub latency_max: Time,
}

/// An empty histogram of latencies in nanoseconds.
pub fn latency_histogram() -> Histogram<u64> {
    // The bounds are constants that the histogram accepts; a default histogram would resize.
    Histogram::new_with_bounds(1, LATENCY_MAX_NS, LATENCY_DIGITS)
        .unwrap_or_else(|_| unreachable!("constant bounds are valid"))
}

/// Nothing measured yet.
impl Default for KindMetrics {
    fn default() -> KindMetrics {
        KindMetrics { requests: 0, bytes: 0, latency: latency_histogram(), latency_sum: 0, latency_max: Time::ZERO }
    }
}

impl KindMetrics {
    /// Records a request of so many bytes.
    #[inline]
    pub fn record(&mut self, bytes: u32, latency: Time) {
        self.requests += 1;
        self.bytes += u64::from(bytes);
        self.latency.saturating_record(latency.0);
        self.latency_sum += u128::from(latency.0);
        self.latency_max = self.latency_max.max(latency);
    }

    /// Records a request without a clock; its latency of 0 comes into the histogram with
    /// [`Metrics::end_untimed`].
    #[inline]
    fn record_untimed(&mut self, bytes: u32) {
        self.requests += 1;
        self.bytes += u64::from(bytes);
    }

    /// Mean latency in microseconds, of at least one request.
    pub fn mean_us(&self) -> Option<f64> {
        (self.requests > 0).then(|| self.latency_sum as f64 / self.requests as f64 / 1_000.0)
    }
}

/// LatencyParts of write latency, summed over requests, in nanoseconds.
#[derive(Clone, Copy, Debug, Default)]
pub struct WriteParts {
    /// Overhead, and the way over the link.
    pub link: u128,
    /// Waiting for a core of the controller, and its time for the request.
    pub controller: u128,
    /// Own reads of old copies.
    pub rmw_read: u128,
    /// The request's own transfer.
    pub transfer: u128,
    /// The request's own program.
    pub program: u128,
    /// Waiting by phase; [`Phase::Host`] is queueing behind host commands and for the channel.
    pub waited: [u128; PHASES],
}

impl WriteParts {
    #[inline]
    fn add(&mut self, parts: &LatencyParts) {
        self.link += u128::from(parts.link.0);
        self.controller += u128::from(parts.controller.0);
        self.transfer += u128::from(parts.transfer.0);
        self.program += u128::from(parts.die.0);
        self.rmw_read += u128::from(parts.rmw_read.0);
        for (sum, waited) in self.waited.iter_mut().zip(parts.waited) {
            *sum += u128::from(waited.0);
        }
    }

    /// Summed waiting in one phase.
    pub fn waited(&self, phase: Phase) -> u128 {
        self.waited[phase as usize]
    }
}

/// Everything measured at the host side.
#[derive(Clone)]
pub struct Metrics {
    /// Reads.
    pub read: KindMetrics,
    /// Writes.
    pub write: KindMetrics,
    /// Trims.
    pub trim: KindMetrics,
    /// Flushes.
    pub flush: KindMetrics,
    /// Zone appends.
    pub append: KindMetrics,
    /// Zones reset.
    pub reset: KindMetrics,
    /// Zones finished.
    pub finish: KindMetrics,
    /// Zones opened and closed by a command.
    pub zones_opened_closed: u64,
    /// Requests that a zone refused, by the place of the error among all.
    pub refused: [u64; ZoneError::ALL.len()],
    /// Writes with force unit access.
    pub fua_writes: u64,
    /// Parts of write latency.
    pub write_parts: WriteParts,
    /// Time with at least one request outstanding.
    pub serving: Time,
    /// Where measuring started.
    pub since: Time,
    /// When the last request arrived.
    pub last_arrival: Time,
    /// When the last request was done.
    pub last_done: Time,
    /// When the device was ready again after its last power cut.
    last_ready: Time,
    outstanding: u32,
    serving_since: Time,
    /// When requests were outstanding, if several threads run the device.
    spans: Option<Vec<[Time; 2]>>,
}

/// Nothing measured yet.
impl Default for Metrics {
    fn default() -> Metrics {
        Metrics {
            read: KindMetrics::default(),
            write: KindMetrics::default(),
            trim: KindMetrics::default(),
            flush: KindMetrics::default(),
            append: KindMetrics::default(),
            reset: KindMetrics::default(),
            finish: KindMetrics::default(),
            zones_opened_closed: 0,
            refused: [0; ZoneError::ALL.len()],
            fua_writes: 0,
            write_parts: WriteParts::default(),
            serving: Time::ZERO,
            since: Time::ZERO,
            last_arrival: Time::ZERO,
            last_done: Time::ZERO,
            last_ready: Time::ZERO,
            outstanding: 0,
            serving_since: Time::ZERO,
            spans: None,
        }
    }
}

impl Metrics {
    /// Forgets what was measured; measuring starts at `now`.
    pub fn restart(&mut self, now: Time) {
        let (outstanding, spans) = (self.outstanding, self.spans.as_ref().map(|_| Vec::new()));
        *self = Metrics { since: now, last_done: now, outstanding, serving_since: now, spans, ..Metrics::default() };
    }

    /// A request arrives.
    #[inline]
    pub fn note_arrival(&mut self, now: Time) {
        if self.outstanding == 0 {
            self.serving_since = now;
        }
        self.outstanding += 1;
        self.last_arrival = now;
    }

    /// Whether no request is under way.
    #[inline]
    pub fn is_quiet(&self) -> bool {
        self.outstanding == 0
    }

    /// A request is done.
    #[inline]
    pub fn note_done(&mut self, now: Time) {
        self.outstanding -= 1;
        if self.outstanding == 0 {
            self.serving += now - self.serving_since;
            self.note_span(now);
        }
        self.last_done = self.last_done.max(now);
    }

    /// The device is ready again after a power cut.
    pub fn note_ready(&mut self, now: Time) {
        self.last_ready = now;
    }

    /// Records a request that arrived while measuring. A write's parts are its last page's; of others nobody asks.
    #[inline]
    pub fn record(&mut self, request: &HostRequest, latency: Time, parts: impl FnOnce() -> LatencyParts) {
        let bytes = request.bytes;
        match request.kind {
            RequestKind::Read => self.read.record(bytes, latency),
            RequestKind::Trim => self.trim.record(bytes, latency),
            RequestKind::Flush => self.flush.record(bytes, latency),
            RequestKind::Zone(command) => match self.of_zones(command) {
                Some(kind) => kind.record(bytes, latency),
                None => self.zones_opened_closed += 1,
            },
            RequestKind::Write => {
                self.write.record(bytes, latency);
                self.write_parts.add(&parts());
                self.fua_writes += u64::from(request.fua);
            }
        }
    }

    /// Where the times of a command to a zone are kept, if they are.
    fn of_zones(&mut self, command: ZoneCommand) -> Option<&mut KindMetrics> {
        match command {
            ZoneCommand::Append => Some(&mut self.append),
            ZoneCommand::Reset => Some(&mut self.reset),
            ZoneCommand::Finish => Some(&mut self.finish),
            ZoneCommand::Open | ZoneCommand::Close => None,
        }
    }

    /// Records a request of a run without a clock.
    #[inline]
    pub fn record_untimed(&mut self, request: &HostRequest) {
        let bytes = request.bytes;
        match request.kind {
            RequestKind::Read => self.read.record_untimed(bytes),
            RequestKind::Trim => self.trim.record_untimed(bytes),
            RequestKind::Flush => self.flush.record_untimed(bytes),
            RequestKind::Zone(command) => match self.of_zones(command) {
                Some(kind) => kind.record_untimed(bytes),
                None => self.zones_opened_closed += 1,
            },
            RequestKind::Write => {
                self.write.record_untimed(bytes);
                self.fua_writes += u64::from(request.fua);
            }
        }
    }

    /// A run without a clock is over: its requests took no time.
    pub fn end_untimed(&mut self) {
        let of_zones = [&mut self.append, &mut self.reset, &mut self.finish];
        for kind in [&mut self.read, &mut self.write, &mut self.trim, &mut self.flush].into_iter().chain(of_zones) {
            kind.latency.saturating_record_n(0, kind.requests - kind.latency.len());
        }
    }

    /// Simulated time measured.
    pub fn simulated(&self) -> Time {
        self.last_done.max(self.last_arrival).max(self.last_ready).saturating_sub(self.since)
    }

    /// When the last request arrived or was done.
    pub fn end(&self) -> Time {
        self.last_done.max(self.last_arrival)
    }

    /// Requests recorded.
    pub fn requests(&self) -> u64 {
        let of_zones = self.append.requests + self.reset.requests + self.finish.requests + self.zones_opened_closed;
        self.read.requests + self.write.requests + self.trim.requests + self.flush.requests + of_zones
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The median of three equal latencies beside a longer and a shorter one, in nanoseconds.
    fn median(latency: u64) -> u64 {
        let mut kind = KindMetrics::default();
        [latency, 0, latency, latency * 2, latency].into_iter().for_each(|ns| kind.record(512, Time(ns)));
        kind.latency.value_at_quantile(0.5)
    }

    #[test]
    fn t704_latencies_keep_three_digits_from_a_nanosecond_to_52_days() {
        for (ns, unit) in [(1, 1), (1_999, 1), (80_560, 64), (910_560, 512), (3_600_000_000_000, 1 << 31)] {
            // A bucket's largest value stands for it; there are 1,024 buckets in each power of two.
            assert_eq!(median(ns), ns / unit * unit + unit - 1, "{ns} ns");
            assert!((median(ns) - ns) * 1_000 <= ns);
        }
        let days = |days: u64| days * 24 * 3_600 * 1_000_000_000;
        let month = median(days(20));
        assert!(month.abs_diff(days(20)) * 1_000 <= days(20), "20 days are {month} ns");
        // Beyond the end, which is that of the last bucket, they count as the end.
        assert!(LATENCY_MAX_NS > days(52));
        assert!(median(days(400)) >= LATENCY_MAX_NS);
        assert_eq!(median(days(400)), median(days(500)));
    }

    #[test]
    fn t705_sums_are_exact_whatever_the_histogram_keeps() {
        let mut kind = KindMetrics::default();
        [1_234_567, 1, u64::MAX >> 1].into_iter().for_each(|ns| kind.record(4_096, Time(ns)));
        assert_eq!((kind.requests, kind.bytes), (3, 12_288));
        assert_eq!(kind.latency_sum, 1_234_568 + u128::from(u64::MAX >> 1));
        assert_eq!(kind.latency_max, Time(u64::MAX >> 1));
    }
}
