//! A twin as a stream of requests.

use pumice_types::{HostRequest, RequestKind};

use crate::source::arrival::ArrivalClock;
use crate::source::error::TraceError;
use crate::source::fact::Fact;
use crate::source::notes::Notes;
use crate::source::placement::{AddressPolicy, Placement, Placer};
use crate::source::random::RandomStream;
use crate::source::request_source::{RequestSource, share_of_requests};
use crate::twins::access::{Reader, TwinTarget, Writer};
use crate::twins::catalogue::{EXTENT_SIGMA, READ_SEGMENT_BYTES, TwinFacts, WEEK_SECONDS};
use crate::twins::layout::{LayoutPlan, TwinLayout};
use crate::twins::options::TwinOptions;

/// Bytes of so many GiB at a scale.
fn bytes(gib: f64, scale: f64) -> f64 {
    gib * (1u64 << 30) as f64 * scale
}

impl TwinFacts {
    fn target(&self, kind: RequestKind, scale: f64) -> TwinTarget {
        let (millions, moved, covered) = match kind {
            RequestKind::Read => (self.read_requests_m, self.read_gib, self.read_coverage_gib),
            RequestKind::Write => (self.write_requests_m, self.write_gib, self.write_coverage_gib),
            RequestKind::Trim | RequestKind::Flush | RequestKind::Zone(_) => (0.0, 0.0, 0.0),
        };
        let granules = |gib| (bytes(gib, scale) / f64::from(self.granule_bytes)).round() as u64;
        let requests = ((millions * 1e6 * scale).round() as u64).max(1);
        TwinTarget { requests, moved: granules(moved).max(requests), covered: granules(covered).max(1) }
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
    layout: TwinLayout,
    clock: ArrivalClock,
    kinds: RandomStream,
    persistence: RandomStream,
    last_kind: Option<RequestKind>,
    reads_left: u64,
    writes_left: u64,
    reader: Reader,
    writer: Writer,
    placer: Placer,
    issued: u64,
    total: u64,
}

impl Twin {
    /// The twin of a trace.
    ///
    /// # Errors
    /// Options outside their ranges, or under [`AddressPolicy::Exact`] a volume larger than the device.
    pub(crate) fn new(
        facts: &'static TwinFacts,
        options: &TwinOptions,
        placement: &Placement,
    ) -> Result<Twin, TraceError> {
        let TwinOptions { scale, seed, .. } = *options;
        options.validate(facts)?;
        let (share, mean_kib) = (options.share(facts), options.mean_kib(facts));
        let granule = u64::from(facts.granule_bytes);
        let (reads, writes) = (facts.target(RequestKind::Read, scale), facts.target(RequestKind::Write, scale));
        let volume = ((bytes(facts.volume_gib, scale) / granule as f64) as u64).max(writes.covered + reads.covered);
        refuse_too_large(facts, scale, volume * granule, placement)?;
        let segment = READ_SEGMENT_BYTES / granule;
        let plan =
            LayoutPlan { volume, written: writes.covered, mean_extent: mean_kib * 1024.0 / granule as f64, segment };
        let layout = TwinLayout::draw(&plan, seed);
        let requests = reads.requests + writes.requests;
        let mean_ns = WEEK_SECONDS as f64 * 1e9 / requests as f64;
        Ok(Twin {
            facts,
            options: *options,
            mean_extent_kib: mean_kib,
            extent_read_share: share,
            granule,
            volume_bytes: volume * granule,
            clock: ArrivalClock::two_phase(mean_ns, options.interarrival_cv, seed)?,
            kinds: RandomStream::new(seed, "kinds"),
            persistence: RandomStream::new(seed, "kind persistence"),
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
}

impl RequestSource for Twin {
    /// The next request, `false` after the last.
    ///
    /// Reads and writes are drawn without replacement from their published numbers, so that both are
    /// met exactly. Without persistence every order is equally likely: the kind of a request then says
    /// nothing about its neighbours'.
    #[inline]
    fn take_next(&mut self, request: &mut HostRequest) -> Result<bool, TraceError> {
        if self.issued == self.total {
            return Ok(false);
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
        *request =
            HostRequest { arrival: self.clock.tick(), offset_bytes, bytes, kind, fua: false, stream: 0, flow: 0 };
        Ok(true)
    }

    fn skip_arrivals(&mut self) {
        self.clock.stop();
    }

    fn requests_expected(&self) -> Option<u64> {
        Some(self.total)
    }

    fn progress(&self) -> Option<f64> {
        share_of_requests(self.issued, self.total)
    }

    fn notes(&self) -> Notes {
        Notes::of_placer(&self.placer)
    }

    /// The twin's parameters and published figures.
    fn facts(&self) -> Vec<(&'static str, Fact)> {
        let mut facts = vec![
            ("twin", Fact::Text(self.facts.name.to_owned())),
            ("source", Fact::Text(self.facts.source.to_owned())),
            ("scale", Fact::Real(self.options.scale)),
            ("seed", Fact::Count(self.options.seed)),
            ("requests", Fact::Count(self.total)),
            ("volume_gib", Fact::Real(self.volume_bytes as f64 / (1u64 << 30) as f64)),
            ("mean_extent_kib", Fact::Real(self.mean_extent_kib)),
            ("extent_sigma", Fact::Real(EXTENT_SIGMA)),
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

/// Under [`AddressPolicy::Exact`] the volume must fit the device.
fn refuse_too_large(facts: &TwinFacts, scale: f64, volume: u64, placement: &Placement) -> Result<(), TraceError> {
    let capacity = placement.capacity_bytes;
    let must_fit = match placement.policy {
        AddressPolicy::Exact => true,
        AddressPolicy::Wrap | AddressPolicy::Compact => false,
    };
    if !must_fit || volume <= capacity {
        return Ok(());
    }
    Err(TraceError::capacity(format!(
        "twin {} at scale {scale} addresses {volume} bytes, more than the device's user capacity of {capacity} bytes; set \
         workload.address = \"wrap\" or \"compact\", use a larger device, or a scale of at most {:.6}",
        facts.name,
        capacity as f64 * scale / volume as f64
    )))
}
