//! What may be varied about a twin, and the keys that it comes from.

use pumice_types::key::float;

use crate::family::OpenFor;
use crate::shared_keys::{IS_TWIN, SharedWorkloadKeys};
use crate::source::error::TraceError;
use crate::twins::catalogue::TwinFacts;

pumice_types::keys! {
    /// What twins read of `[workload]`.
    pub struct TwinKeys in "workload" {
        mean_extent_kib: Option<f64> = "", float(4.0, 1e9), "KiB", "the twin's own, see docs/WORKLOADS.md", IS_TWIN, "Mean length of a twin's write extents, for sensitivity studies.";
        write_extent_read_share: Option<f64> = "", float(0.0, 1.0), "share of read bytes", "the twin's own, see docs/WORKLOADS.md", IS_TWIN, "Read bytes of a twin that go to its write extents, for sensitivity studies.";
        kind_persistence: f64 = "0.0", float(0.0, 0.9999), "", "chosen: no published figure; 0 mixes kinds in every burst", IS_TWIN, "Chance that a twin's request has the kind of the one before it, else it is drawn. Towards 1, reads and writes come in separate bursts.";
    }
}

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

impl TwinOptions {
    /// The options that the keys ask for.
    pub(super) fn of_keys(keys: &TwinKeys, shared: &SharedWorkloadKeys, run: &OpenFor) -> TwinOptions {
        TwinOptions {
            scale: run.scale,
            seed: run.seed,
            write_extent_read_share: keys.write_extent_read_share,
            mean_extent_kib: keys.mean_extent_kib,
            interarrival_cv: shared.interarrival_cv,
            kind_persistence: keys.kind_persistence,
        }
    }

    /// Refuses options outside their ranges, of those that a twin reads first.
    pub(super) fn validate(&self, facts: &TwinFacts) -> Result<(), TraceError> {
        let TwinOptions { scale, kind_persistence, .. } = *self;
        let (share, mean_kib) = (self.share(facts), self.mean_kib(facts));
        require(scale > 0.0 && scale <= 1.0, "scale", scale, "numbers above 0 up to 1")?;
        require((0.0..=1.0).contains(&share), "write_extent_read_share", share, "numbers from 0 to 1")?;
        let persists = (0.0..1.0).contains(&kind_persistence);
        require(persists, "kind_persistence", kind_persistence, "numbers from 0 to below 1")?;
        let granule_kib = f64::from(facts.granule_bytes) / 1024.0;
        let range = format!("finite numbers from {granule_kib}");
        require(mean_kib.is_finite() && mean_kib >= granule_kib, "mean_extent_kib", mean_kib, &range)
    }

    /// Share of the read bytes that go to write extents.
    pub(super) fn share(&self, facts: &TwinFacts) -> f64 {
        self.write_extent_read_share.unwrap_or(facts.write_extent_read_share)
    }

    /// Mean length of a write extent in KiB.
    pub(super) fn mean_kib(&self, facts: &TwinFacts) -> f64 {
        self.mean_extent_kib.unwrap_or(facts.mean_extent_kib)
    }
}

/// Refuses a value outside its range, naming both.
fn require(allowed: bool, key: &str, value: f64, range: &str) -> Result<(), TraceError> {
    if allowed {
        return Ok(());
    }
    Err(TraceError::option(format!("{key} = {value} found; allowed are {range}")))
}
