//! What a stream of requests is like: volumes, footprints, heat, sequentiality, arrivals.

use std::path::Path;

use pumice_types::{HostRequest, RequestKind, Time, ZoneCommand};
use serde::Serialize;

use crate::source::error::TraceError;
use crate::source::fact::Fact;
use crate::source::notes::Notes;
use crate::source::placement::{AddressPolicy, Placement};
use crate::source::request_source::RequestSource;
use crate::survey::footprint::{Footprint, PageWrites, SectorSet, refuse_too_wide};
use crate::survey::shape::{Growth, Histogram, WorkloadShape};
use crate::trace::formats::TraceFormat;
use crate::trace::options::TraceOptions;
use crate::trace::requests::Trace;

/// The reads or the writes of a workload.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct KindSummary {
    /// Number of requests.
    pub requests: u64,
    /// Bytes moved.
    pub bytes: u64,
    /// Distinct bytes and pages.
    pub footprint: Footprint,
    /// Share of the requests that start where the one before them of this kind ended.
    pub sequential_share: f64,
}

/// The trims of a workload.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct TrimSummary {
    /// Number of requests.
    pub requests: u64,
    /// Bytes given up, each as often as it was.
    pub bytes: u64,
}

/// Share of page writes that go to the hottest of the written pages of 16 KiB, 0 to 1.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Heat {
    /// To the hottest 1 %.
    pub hottest_1_percent: f64,
    /// To the hottest 10 %.
    pub hottest_10_percent: f64,
    /// To the hottest 20 %.
    pub hottest_20_percent: f64,
}

/// What [`info`] found, times in microseconds.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct InfoReport {
    /// The file, its format, compression, volume and digest; for other workloads their facts.
    #[serde(serialize_with = "as_map")]
    pub facts: Vec<(&'static str, Fact)>,
    /// What was changed or overlooked.
    pub notes: Notes,
    /// Requests in all.
    pub requests: u64,
    /// From the first arrival to the last.
    pub span_us: f64,
    /// Reads.
    pub read: KindSummary,
    /// Writes.
    pub write: KindSummary,
    /// Trims.
    pub trim: TrimSummary,
    /// Flushes.
    pub flushes: u64,
    /// Writes with force unit access.
    pub fua_writes: u64,
    /// Writes to each stream that the host names, from stream 0 to the highest one; a single number if it names none.
    pub writes_by_stream: Vec<u64>,
    /// First byte touched.
    pub first_byte: u64,
    /// Last byte touched.
    pub last_byte: u64,
    /// Bytes written / distinct bytes written; `None` without writes.
    pub overwrite_factor: Option<f64>,
    /// `None` without writes.
    pub heat: Option<Heat>,
    /// Mean inter-arrival time; `None` below two requests.
    pub interarrival_mean_us: Option<f64>,
    /// Standard deviation of the inter-arrival times over their mean; `None` if the mean is 0.
    pub interarrival_cv: Option<f64>,
    /// What a figure shows.
    pub shape: WorkloadShape,
}

/// Facts by name, in their order.
fn as_map<S: serde::Serializer>(facts: &[(&'static str, Fact)], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(facts.iter().map(|(name, fact)| (name, fact)))
}

/// Counts of one kind.
#[derive(Debug, Default)]
struct KindTally {
    requests: u64,
    bytes: u64,
    sequential: u64,
    previous_end: Option<u64>,
    sectors: SectorSet,
    sizes: Histogram,
    /// Requests of the run that is not over.
    run: u64,
    runs: Histogram,
}

impl KindTally {
    fn add(&mut self, offset: u64, bytes: u32) {
        self.requests += 1;
        self.bytes += u64::from(bytes);
        self.sizes.add(u64::from(bytes), 1);
        if self.previous_end == Some(offset) {
            self.sequential += 1;
            self.run += 1;
        } else {
            self.runs.add(self.run, self.run);
            self.run = 1;
        }
        self.previous_end = Some(offset + u64::from(bytes));
        self.sectors.add(offset, bytes);
    }

    /// Requests by the length of their run, the last one included.
    fn runs(&self) -> Histogram {
        let mut runs = self.runs.clone();
        runs.add(self.run, self.run);
        runs
    }

    fn summary(&self) -> KindSummary {
        KindSummary {
            requests: self.requests,
            bytes: self.bytes,
            footprint: self.sectors.footprint(),
            sequential_share: self.sequential as f64 / self.requests.max(1) as f64,
        }
    }
}

/// Streams that a request can name.
const STREAMS: usize = 1 + u8::MAX as usize;

/// Looks at requests one by one; knows nothing of where they come from.
#[derive(Debug)]
pub struct Survey {
    read: KindTally,
    write: KindTally,
    trim: TrimSummary,
    flushes: u64,
    /// Commands to zones without data.
    zone_commands: u64,
    fua_writes: u64,
    /// Writes to each stream.
    streams: [u64; STREAMS],
    growth: Growth,
    page_writes: PageWrites,
    first_byte: u64,
    last_byte: u64,
    gaps: Gaps,
}

/// Mean and variance of the inter-arrival times, in nanoseconds (Welford).
#[derive(Clone, Debug, Default)]
struct Gaps {
    histogram: Histogram,
    previous: Option<Time>,
    count: f64,
    mean: f64,
    squares: f64,
    total: u64,
}

impl Gaps {
    fn add(&mut self, arrival: Time) {
        if let Some(previous) = self.previous {
            let gap = arrival.saturating_sub(previous).0;
            self.total += gap;
            self.histogram.add(gap, 1);
            self.count += 1.0;
            let off = gap as f64 - self.mean;
            self.mean += off / self.count;
            self.squares += off * (gap as f64 - self.mean);
        }
        self.previous = Some(arrival);
    }

    fn cv(&self) -> Option<f64> {
        (self.mean > 0.0).then(|| libm::sqrt(self.squares / self.count) / self.mean)
    }
}

impl Default for Survey {
    fn default() -> Survey {
        Survey::new()
    }
}

impl Survey {
    /// A survey of nothing so far.
    pub fn new() -> Survey {
        Survey {
            read: KindTally::default(),
            write: KindTally::default(),
            trim: TrimSummary::default(),
            flushes: 0,
            zone_commands: 0,
            fua_writes: 0,
            streams: [0; STREAMS],
            growth: Growth::new(),
            page_writes: PageWrites::default(),
            first_byte: u64::MAX,
            last_byte: 0,
            gaps: Gaps::default(),
        }
    }

    /// Counts one request.
    ///
    /// # Errors
    /// More than 2 TiB in regions of 1 MiB touched: the survey's memory is bounded.
    pub fn add(&mut self, request: &HostRequest) -> Result<(), TraceError> {
        let HostRequest { arrival, offset_bytes: offset, bytes, kind, fua, stream, flow: _ } = *request;
        match kind {
            RequestKind::Read => self.read.add(offset, bytes),
            RequestKind::Write => {
                self.write.add(offset, bytes);
                self.streams[usize::from(stream)] += 1;
                self.page_writes.add(offset, bytes);
            }
            RequestKind::Trim => {
                self.trim.requests += 1;
                self.trim.bytes += u64::from(bytes);
            }
            RequestKind::Flush => self.flushes += 1,
            RequestKind::Zone(ZoneCommand::Append) => self.write.add(offset, bytes),
            RequestKind::Zone(_) => self.zone_commands += 1,
        }
        self.fua_writes += u64::from(fua);
        if bytes > 0 {
            self.first_byte = self.first_byte.min(offset);
            self.last_byte = self.last_byte.max(offset + u64::from(bytes) - 1);
        }
        self.gaps.add(arrival);
        self.growth.add(arrival, &self.read.sectors, &self.write.sectors);
        refuse_too_wide(self.read.sectors.chunks() + self.write.sectors.chunks())
    }

    /// What was found, with the facts and notes of the workload surveyed.
    pub fn report(&self, facts: Vec<(&'static str, Fact)>, notes: Notes) -> InfoReport {
        let (read, write) = (self.read.summary(), self.write.summary());
        let requests = read.requests + write.requests + self.trim.requests + self.flushes + self.zone_commands;
        let written = write.footprint.bytes;
        let counts = self.page_writes.sorted();
        let highest = self.streams.iter().rposition(|&writes| writes > 0).unwrap_or_default();
        InfoReport {
            facts,
            notes,
            requests,
            span_us: Time(self.gaps.total).as_us(),
            read,
            write,
            trim: self.trim,
            flushes: self.flushes,
            fua_writes: self.fua_writes,
            writes_by_stream: self.streams[..=highest].to_vec(),
            first_byte: if self.first_byte == u64::MAX { 0 } else { self.first_byte },
            last_byte: self.last_byte,
            overwrite_factor: (written > 0).then(|| write.bytes as f64 / written as f64),
            heat: heat(&counts),
            interarrival_mean_us: (requests > 1).then(|| self.gaps.mean / 1e3),
            interarrival_cv: self.gaps.cv(),
            shape: self.shape(&counts),
        }
    }

    /// Curves and histograms; `counts` are the writes of each page, hottest first.
    fn shape(&self, counts: &[u32]) -> WorkloadShape {
        let (read, write) = (&self.read, &self.write);
        let percent = if counts.is_empty() { 0..0 } else { 0..101 };
        WorkloadShape {
            hottest_percent_share: percent.map(|percent| share_of_hottest(counts, percent)).collect(),
            interarrival_ns: self.gaps.histogram.bins(),
            read_bytes: read.sizes.bins(),
            write_bytes: write.sizes.bins(),
            read_runs: read.runs().bins(),
            write_runs: write.runs().bins(),
            footprint: self.growth.samples(Time(self.gaps.total), &read.sectors, &write.sectors),
        }
    }
}

/// Shares of the hottest pages, from the writes of each page in descending order.
fn heat(counts: &[u32]) -> Option<Heat> {
    (!counts.is_empty()).then(|| Heat {
        hottest_1_percent: share_of_hottest(counts, 1),
        hottest_10_percent: share_of_hottest(counts, 10),
        hottest_20_percent: share_of_hottest(counts, 20),
    })
}

/// Share of all writes that goes to the hottest percentage of the pages. `counts`, in descending
/// order and none 0, are not empty. A page on the boundary counts in part.
fn share_of_hottest(counts: &[u32], percent: usize) -> f64 {
    let all: u64 = counts.iter().copied().map(u64::from).sum();
    let pages = counts.len() * percent;
    let (whole, hundredths) = (pages / 100, pages % 100);
    let sum: u64 = counts[..whole].iter().copied().map(u64::from).sum();
    let part = counts.get(whole).map_or(0.0, |&next| f64::from(next) * hundredths as f64 / 100.0);
    (sum as f64 + part) / all as f64
}

/// Reads a whole trace and says what it is like. Addresses are taken as they are.
pub fn info(path: &Path, format: Option<TraceFormat>) -> Result<InfoReport, TraceError> {
    info_with(path, &TraceOptions { format, ..TraceOptions::default() })
}

/// What [`info`] says, with a choice of what becomes of the trace's volumes.
pub fn info_with(path: &Path, options: &TraceOptions) -> Result<InfoReport, TraceError> {
    let placement = Placement { capacity_bytes: u64::MAX, page_bytes: 1, policy: AddressPolicy::Exact };
    let mut trace = Trace::open(path, options, &placement)?;
    let mut survey = Survey::new();
    while let Some(request) = trace.next_request()? {
        survey.add(&request)?;
    }
    Ok(survey.report(trace.facts(), trace.notes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn w140_heat_splits_pages_between_shares() {
        let heat = heat(&[50, 30, 10, 5, 5]).expect("written");
        assert!((heat.hottest_20_percent - 0.5).abs() < 1e-12);
        assert!((heat.hottest_10_percent - 0.25).abs() < 1e-12);
        assert_eq!(super::heat(&[]), None);
    }

    #[test]
    fn w141_a_small_survey_by_hand() {
        let mut survey = Survey::new();
        for (us, offset_bytes, bytes, kind) in [
            (0, 0, 16_384, RequestKind::Write),
            (1, 16_384, 512, RequestKind::Write),
            (2, 0, 1024, RequestKind::Read),
            (5, 512, 1024, RequestKind::Write),
        ] {
            let request =
                HostRequest { arrival: Time(us * 1000), offset_bytes, bytes, kind, fua: false, stream: 0, flow: 0 };
            survey.add(&request).expect("small");
        }
        let report = survey.report(Vec::new(), Notes::default());
        assert_eq!(report.write.footprint, Footprint { bytes: 16_896, pages: 2 });
        assert_eq!(report.read.footprint, Footprint { bytes: 1024, pages: 1 });
        assert_eq!(report.write.sequential_share, 1.0 / 3.0);
        assert_eq!((report.span_us, report.last_byte), (5.0, 16_895));
        assert!((report.overwrite_factor.expect("written") - 17_920.0 / 16_896.0).abs() < 1e-12);
        assert!((report.interarrival_mean_us.expect("three gaps") - 5.0 / 3.0).abs() < 1e-12);
        assert!((report.interarrival_cv.expect("mean above 0") - 0.565_685).abs() < 1e-5);
    }
}
