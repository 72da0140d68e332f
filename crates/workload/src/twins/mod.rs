//! Twins: synthetic stand-ins for traces that cannot be shipped.
//!
//! A twin meets the published figures of its trace (requests, bytes, coverage of reads and
//! writes). Everything else about it is a choice, stated in `docs/WORKLOADS.md`. It is not the
//! trace and is never called by the trace's bare name.

mod access;
mod catalogue;
mod coverage;
mod layout;
mod runs;
mod size;

use pumice_types::{HostRequest, RequestKind};

use crate::arrival::Clock;
use crate::error::excerpt;
use crate::placement::{AddressPolicy, Placer};
use crate::random::Stream;
use crate::workload::Fact;
use crate::{Placement, TraceError, Workload};
use access::{Reader, Target, Writer};
pub use catalogue::{TwinFacts, WEEK_SECONDS, twin_catalogue};
use layout::{Layout, LayoutPlan};

/// What may be varied about a twin.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TwinOptions {
    /// Factor on requests, bytes, coverage and address range alike, above 0 up to 1. The week stays.
    pub scale: f64,
    /// Seed of every stream.
    pub seed: u64,
    /// Share of the read bytes that go to write extents, 0 to 1; `None` is the catalogue's. The
    /// published read coverage is met only near the catalogue's value.
    pub write_extent_read_share: Option<f64>,
    /// Mean length of a write extent in KiB; `None` is the catalogue's.
    pub mean_extent_kib: Option<f64>,
    /// Coefficient of variation of the inter-arrival times, at least 1.
    pub interarrival_cv: f64,
    /// Chance that a request is of the kind of the one before it, 0 to below 1; else the kind is drawn. At 0
    /// bursts of arrivals mix reads and writes; towards 1 a burst is all reads or all writes, so that
    /// bursts of reads and of writes come apart.
    pub kind_persistence: f64,
}

impl Default for TwinOptions {
    fn default() -> TwinOptions {
        TwinOptions {
            scale: 1.0,
            seed: 1,
            write_extent_read_share: None,
            mean_extent_kib: None,
            interarrival_cv: 7.0,
            kind_persistence: 0.0,
        }
    }
}

/// The twin of one trace, as a stream of requests.
#[derive(Debug)]
pub struct Twin {
    facts: &'static TwinFacts,
    options: TwinOptions,
    mean_extent_kib: f64,
    extent_read_share: f64,
    granule: u64,
    volume_bytes: u64,
    layout: Layout,
    clock: Clock,
    kinds: Stream,
    persistence: Stream,
    last_kind: Option<RequestKind>,
    reads_left: u64,
    writes_left: u64,
    reader: Reader,
    writer: Writer,
    placer: Placer,
    issued: u64,
    total: u64,
}

/// The twin of the trace `name` (with or without `twin:` before it).
///
/// Under [`AddressPolicy::Exact`] its volume must fit the device.
pub fn twin(name: &str, options: &TwinOptions, placement: &Placement) -> Result<Workload, TraceError> {
    let facts = find(name.strip_prefix("twin:").unwrap_or(name))?;
    Twin::new(facts, options, placement).map(|twin| Workload::Twin(Box::new(twin)))
}

fn find(name: &str) -> Result<&'static TwinFacts, TraceError> {
    let catalogue = twin_catalogue();
    if let Some(facts) = catalogue.iter().find(|facts| facts.name == name) {
        return Ok(facts);
    }
    let all: Vec<&str> = catalogue.iter().map(|facts| facts.name).collect();
    let nearest = all.iter().min_by_key(|known| distance(known, name)).copied().unwrap_or_default();
    let found = excerpt(name.as_bytes());
    Err(TraceError::option(format!("twin {found} found; nearest is \"{nearest}\"; allowed are {}", all.join(", "))))
}

/// Edits (insert, delete, replace) from one name to the other.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().take(64).collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], i + 1);
        for (j, &y) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(x != y);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}

/// Refuses a value outside its range, naming both.
fn require(allowed: bool, key: &str, value: f64, range: &str) -> Result<(), TraceError> {
    if allowed {
        return Ok(());
    }
    Err(TraceError::option(format!("{key} = {value} found; allowed are {range}")))
}

/// Bytes of so many GiB at a scale.
fn bytes(gib: f64, scale: f64) -> f64 {
    gib * (1u64 << 30) as f64 * scale
}

impl TwinFacts {
    fn target(&self, kind: RequestKind, scale: f64) -> Target {
        let (millions, moved, covered) = match kind {
            RequestKind::Read => (self.read_requests_m, self.read_gib, self.read_coverage_gib),
            RequestKind::Write => (self.write_requests_m, self.write_gib, self.write_coverage_gib),
            RequestKind::Trim => (0.0, 0.0, 0.0),
        };
        let granules = |gib| (bytes(gib, scale) / f64::from(self.granule_bytes)).round() as u64;
        let requests = ((millions * 1e6 * scale).round() as u64).max(1);
        Target { requests, moved: granules(moved).max(requests), covered: granules(covered).max(1) }
    }
}

impl Twin {
    fn new(facts: &'static TwinFacts, options: &TwinOptions, placement: &Placement) -> Result<Twin, TraceError> {
        let TwinOptions { scale, seed, .. } = *options;
        require(scale > 0.0 && scale <= 1.0, "scale", scale, "numbers above 0 up to 1")?;
        let share = options.write_extent_read_share.unwrap_or(facts.write_extent_read_share);
        require((0.0..=1.0).contains(&share), "write_extent_read_share", share, "numbers from 0 to 1")?;
        let mean_kib = options.mean_extent_kib.unwrap_or(facts.mean_extent_kib);
        let persistence = options.kind_persistence;
        require((0.0..1.0).contains(&persistence), "kind_persistence", persistence, "numbers from 0 to below 1")?;
        let granule_kib = f64::from(facts.granule_bytes) / 1024.0;
        let range = format!("finite numbers from {granule_kib}");
        require(mean_kib.is_finite() && mean_kib >= granule_kib, "mean_extent_kib", mean_kib, &range)?;

        let granule = u64::from(facts.granule_bytes);
        let (reads, writes) = (facts.target(RequestKind::Read, scale), facts.target(RequestKind::Write, scale));
        let volume = ((bytes(facts.volume_gib, scale) / granule as f64) as u64).max(writes.covered + reads.covered);
        refuse_too_large(facts, scale, volume * granule, placement)?;
        let segment = catalogue::READ_SEGMENT_BYTES / granule;
        let plan = LayoutPlan { volume, written: writes.covered, mean_extent: mean_kib / granule_kib, segment };
        let layout = Layout::draw(&plan, seed);
        let requests = reads.requests + writes.requests;
        let mean_ns = WEEK_SECONDS as f64 * 1e9 / requests as f64;
        Ok(Twin {
            facts,
            options: *options,
            mean_extent_kib: mean_kib,
            extent_read_share: share,
            granule,
            volume_bytes: volume * granule,
            clock: Clock::two_phase(mean_ns, options.interarrival_cv, seed)?,
            kinds: Stream::new(seed, "kinds"),
            persistence: Stream::new(seed, "kind persistence"),
            last_kind: None,
            reads_left: reads.requests,
            writes_left: writes.requests,
            reader: Reader::new(reads, share, &layout, seed),
            writer: Writer::new(writes, seed),
            layout,
            placer: Placer::new(placement),
            issued: 0,
            total: requests,
        })
    }

    /// The next request, `None` after the last.
    ///
    /// Reads and writes are drawn without replacement from their published numbers, so that both are
    /// met exactly. Without persistence every order is equally likely: the kind of a request then says
    /// nothing about its neighbours'.
    #[inline]
    pub fn next_request(&mut self) -> Result<Option<HostRequest>, TraceError> {
        if self.issued == self.total {
            return Ok(None);
        }
        self.issued += 1;
        let (kind, span) = if self.next_is_read() {
            self.reads_left -= 1;
            (RequestKind::Read, self.reader.next(&self.layout, self.writer.completed()))
        } else {
            self.writes_left -= 1;
            (RequestKind::Write, self.writer.next(&self.layout))
        };
        self.last_kind = Some(kind);
        // A place is at most a volume long but a size is geometric: beyond 4 GiB never happens.
        let bytes = u32::try_from(span.len * self.granule).unwrap_or(u32::MAX / 4096 * 4096);
        let offset_bytes = match self.placer.place(span.start * self.granule, bytes) {
            Ok(offset) => offset,
            Err(misfit) => return Err(TraceError::capacity(format!("twin {}: {misfit}", self.facts.name))),
        };
        Ok(Some(HostRequest { arrival: self.clock.tick(), offset_bytes, bytes, kind }))
    }

    /// Whether the next request is a read; of the two kinds at least one is left.
    #[inline]
    fn next_is_read(&mut self) -> bool {
        let persistence = self.options.kind_persistence;
        let persists = persistence > 0.0 && self.persistence.unit() < persistence;
        match self.last_kind {
            Some(RequestKind::Read) if persists && self.reads_left > 0 => true,
            Some(RequestKind::Write) if persists && self.writes_left > 0 => false,
            _ => self.kinds.below(self.reads_left + self.writes_left) < self.reads_left,
        }
    }

    pub(crate) fn placer(&self) -> &Placer {
        &self.placer
    }

    pub(crate) fn issued(&self) -> u64 {
        self.issued
    }

    pub(crate) fn requests(&self) -> u64 {
        self.total
    }

    pub(crate) fn facts(&self) -> Vec<(&'static str, Fact)> {
        let mut facts = vec![
            ("twin", Fact::Text(self.facts.name.to_owned())),
            ("source", Fact::Text(self.facts.source.to_owned())),
            ("scale", Fact::Real(self.options.scale)),
            ("seed", Fact::Count(self.options.seed)),
            ("requests", Fact::Count(self.total)),
            ("volume_gib", Fact::Real(self.volume_bytes as f64 / (1u64 << 30) as f64)),
            ("mean_extent_kib", Fact::Real(self.mean_extent_kib)),
            ("extent_sigma", Fact::Real(catalogue::EXTENT_SIGMA)),
            ("write_extents", Fact::Count(self.layout.extents.len() as u64)),
            ("write_extent_read_share", Fact::Real(self.extent_read_share)),
            ("granule_bytes", Fact::Count(self.granule)),
            ("interarrival_cv", Fact::Real(self.options.interarrival_cv)),
            ("kind_persistence", Fact::Real(self.options.kind_persistence)),
            ("published_read_requests", Fact::Real(self.facts.read_requests_m * 1e6)),
            ("published_write_requests", Fact::Real(self.facts.write_requests_m * 1e6)),
            ("published_read_gib", Fact::Real(self.facts.read_gib)),
            ("published_write_gib", Fact::Real(self.facts.write_gib)),
        ];
        let coverage = [
            ("published_read_coverage_gib", self.facts.read_coverage_gib),
            ("published_write_coverage_gib", self.facts.write_coverage_gib),
        ];
        if self.facts.coverage_is_published {
            facts.extend(coverage.map(|(name, gib)| (name, Fact::Real(gib))));
        }
        facts
    }
}

fn refuse_too_large(facts: &TwinFacts, scale: f64, volume: u64, placement: &Placement) -> Result<(), TraceError> {
    let capacity = placement.capacity_bytes;
    if placement.policy != AddressPolicy::Exact || volume <= capacity {
        return Ok(());
    }
    Err(TraceError::capacity(format!(
        "twin {} at scale {scale} addresses {volume} bytes, more than the device's user capacity of {capacity} bytes; set \
         workload.address = \"wrap\" or \"compact\", use a larger device, or a scale of at most {:.6}",
        facts.name,
        capacity as f64 * scale / volume as f64
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn w080_an_unknown_twin_names_the_nearest() {
        let message = find("prn1").expect_err("unknown").to_string();
        assert!(message.contains("nearest is \"prn_1\"") && message.contains("usr_2"), "{message}");
        assert_eq!(distance("kitten", "sitting"), 3);
    }

    #[test]
    fn w081_catalogue_rows_leave_room_for_their_coverage() {
        for row in twin_catalogue() {
            assert!(row.read_coverage_gib + row.write_coverage_gib < row.volume_gib, "{}", row.name);
            assert!(row.read_coverage_gib <= row.read_gib && row.write_coverage_gib <= row.write_gib, "{}", row.name);
        }
    }
}
