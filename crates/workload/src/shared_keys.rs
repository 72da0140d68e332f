//! Keys of `[workload]` that several kinds of workloads read.

use pumice_types::Choice;
use pumice_types::key::{ANY, CHOSEN, TIMED, When, float, int};

use crate::generator::patterns::PatternKind;
use crate::source::arrival::{Arrival, ArrivalKind};
use crate::source::placement::AddressPolicy;
use crate::source::zone_job::ZoneJob;

/// The key that says which kind of workload runs.
pub(crate) const KIND: &str = "workload.kind";

/// How the names of twins begin.
const TWINS: &str = "twin:*";

/// Names of the generators of one-page writes, which say themselves what their requests are.
const HOT_WRITES: &[&str] = &["w10", "w20", "w30", "w40"];

/// Names of the jobs of a host that knows of zones.
const ZONE_JOBS: &[&str] = ZoneJob::NAMES;

/// The workload is a generator whose requests the spec describes.
pub(crate) const IS_DRAWN: When = When::All(&[When::Requests, When::Is(KIND, PatternKind::NAMES)]);

/// The workload is a twin.
pub(crate) const IS_TWIN: When = When::All(&[When::Requests, When::Is(KIND, &[TWINS])]);

/// The workload is a recorded trace.
pub(crate) const IS_TRACE: When = When::All(&[When::Requests, When::Is(KIND, &["trace"])]);

/// The workload is a file system in use.
pub(crate) const IS_FILE_SYSTEM: When = When::All(&[
    When::Requests,
    When::IsNot(KIND, PatternKind::NAMES),
    When::IsNot(KIND, HOT_WRITES),
    When::IsNot(KIND, &[TWINS, "trace"]),
    When::IsNot(KIND, ZONE_JOBS),
]);

/// The workload is any generator.
const IS_GENERATED: When = When::All(&[When::Requests, When::Any(&[IS_DRAWN, When::Is(KIND, HOT_WRITES)])]);

/// The workload has a length of its own.
const HAS_LENGTH: When = When::Any(&[IS_GENERATED, When::All(&[When::Requests, When::Is(KIND, ZONE_JOBS)])]);

/// The workload's clock decides when requests arrive.
const BY_THE_CLOCK: When = When::All(&[TIMED, When::Is("host.mode", &["open-loop"])]);

pumice_types::keys! {
    /// What several kinds of workloads read of `[workload]`.
    pub struct SharedWorkloadKeys in "workload" {
        address: AddressPolicy = "\"exact\"", ANY, "", CHOSEN, When::All(&[When::Requests, When::IsNot(KIND, PatternKind::NAMES), When::IsNot(KIND, HOT_WRITES), When::IsNot(KIND, ZONE_JOBS)]), "Requests beyond the device. exact: an error. wrap: address modulo capacity. compact: touched regions packed in order of first touch.";
        requests: u64 = "1000000", int(1, i64::MAX), "requests", CHOSEN, HAS_LENGTH, "Length of a generated workload.";
        trim_fraction: f64 = "0.0", float(0.0, 1.0), "share of requests", CHOSEN, IS_GENERATED, "Trims among generated requests; with read_fraction at most 1, the rest are writes.";
        flush_every: Option<u64> = "", int(1, i64::MAX), "requests", "no flushes", IS_GENERATED, "Requests of a generated workload between two flushes, which workload.requests does not count.";
        fua_fraction: f64 = "0.0", float(0.0, 1.0), "share of writes", CHOSEN, IS_GENERATED, "Generated writes with force unit access: done only when they would outlast a power cut.";
        footprint: f64 = "1.0", float(1e-9, 1.0), "share of user capacity", CHOSEN, When::Any(&[IS_GENERATED, When::Positive("initial.age_writes")]), "Addresses that a generated workload touches.";
        arrival: ArrivalKind = "\"poisson\"", ANY, "", CHOSEN, When::All(&[When::IsNot(KIND, &[TWINS, "trace"]), BY_THE_CLOCK]), "Arrivals of a generated workload (open loop). bursty: two-phase hyper-exponential with interarrival_cv.";
        mean_interarrival_us: f64 = "1000.0", float(0.001, 1e12), "us", CHOSEN, When::All(&[When::IsNot(KIND, &[TWINS, "trace"]), BY_THE_CLOCK]), "Mean time between generated requests (open loop).";
        interarrival_cv: f64 = "7.0", float(1.0, 1000.0), "", "chosen: short slices of real traces show 3.4 to 7.2, a week more", When::All(&[When::IsNot(KIND, &["trace"]), When::Any(&[When::Is("workload.arrival", &["bursty"]), IS_TWIN]), BY_THE_CLOCK]), "Coefficient of variation of inter-arrival times: of twins, and of arrival = \"bursty\" (two-phase hyper-exponential).";
    }
}

impl SharedWorkloadKeys {
    /// Requests of a run whose device has this share of its size.
    pub(crate) fn requests_at(&self, scale: f64) -> u64 {
        ((self.requests as f64 * scale).round() as u64).max(1)
    }

    /// When the requests of a generator or a file system arrive; a smaller scale spreads them over the same time.
    pub(crate) fn arrival_at(&self, scale: f64) -> Arrival {
        Arrival { kind: self.arrival, mean_us: self.mean_interarrival_us / scale, cv: self.interarrival_cv }
    }
}
