//! What a generator generates.

use crate::family::OpenFor;
use crate::generator::patterns::AccessPattern;
use crate::generator::sizes::RequestSizes;
use crate::shared_keys::SharedWorkloadKeys;
use crate::source::arrival::Arrival;
use crate::source::error::TraceError;

/// What a generator generates.
#[derive(Clone, Debug, PartialEq)]
pub struct SyntheticOptions {
    /// Number of requests, at least 1, flushes not counted.
    pub requests: u64,
    /// How long requests are.
    pub sizes: RequestSizes,
    /// Where requests go.
    pub access: AccessPattern,
    /// Chance that a request is a read, 0 to 1.
    pub read_fraction: f64,
    /// Chance that a request is a trim, 0 to 1; what is neither read nor trim is a write.
    pub trim_fraction: f64,
    /// Requests behind which a flush comes, again and again; never if `None`.
    pub flush_every: Option<u64>,
    /// Chance that a write has force unit access, 0 to 1.
    pub fua_fraction: f64,
    /// Share of the user capacity that is addressed, from its start, above 0 up to 1.
    pub footprint: f64,
    /// When requests arrive.
    pub arrival: Arrival,
    /// Seed of every stream.
    pub seed: u64,
}

impl SyntheticOptions {
    /// What every generator takes from the spec: requests of one page in this pattern, without reads.
    pub(super) fn of_shared(access: AccessPattern, shared: &SharedWorkloadKeys, run: &OpenFor) -> SyntheticOptions {
        SyntheticOptions {
            requests: shared.requests_at(run.scale),
            sizes: RequestSizes::one(run.placement.page_bytes),
            access,
            read_fraction: 0.0,
            trim_fraction: shared.trim_fraction,
            flush_every: shared.flush_every,
            fua_fraction: shared.fua_fraction,
            footprint: shared.footprint,
            arrival: shared.arrival_at(run.scale),
            seed: run.seed,
        }
    }

    /// Refuses options outside the ranges that their fields state.
    pub(super) fn validate(&self, page_bytes: u32) -> Result<(), TraceError> {
        let SyntheticOptions { requests, read_fraction, trim_fraction, flush_every, fua_fraction, footprint, .. } =
            *self;
        let refuse = |what: String| Err(TraceError::option(what));
        self.sizes.validate()?;
        if requests == 0 || page_bytes == 0 {
            return refuse(format!("requests = {requests}, page_bytes = {page_bytes} found; each must be at least 1"));
        }
        if !(0.0..=1.0).contains(&read_fraction) {
            return refuse(format!("read_fraction = {read_fraction} found; allowed are numbers from 0 to 1"));
        }
        if !(trim_fraction >= 0.0 && read_fraction + trim_fraction <= 1.0) {
            return refuse(format!(
                "trim_fraction = {trim_fraction} beside read_fraction = {read_fraction} found; allowed are numbers from 0 \
                 that leave their sum at 1 or below"
            ));
        }
        if flush_every == Some(0) {
            return refuse("flush_every = 0 found; allowed are whole numbers from 1".to_owned());
        }
        if !(0.0..=1.0).contains(&fua_fraction) {
            return refuse(format!("fua_fraction = {fua_fraction} found; allowed are numbers from 0 to 1"));
        }
        if !(footprint > 0.0 && footprint <= 1.0) {
            return refuse(format!("footprint = {footprint} found; allowed are numbers above 0 up to 1"));
        }
        Ok(())
    }
}
