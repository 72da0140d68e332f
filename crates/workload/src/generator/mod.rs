//! Requests drawn from stated distributions over a share of the device.

mod access;
mod fio_job;
mod scatter;
mod sizes;
mod zipf;

use pumice_types::{HostRequest, RequestKind};

use crate::arrival::{Arrival, Clock};
use crate::random::Stream;
use crate::workload::Fact;
use crate::{Placement, TraceError, Workload};
use access::Slots;
pub use access::{Access, W_PERCENT};
pub use fio_job::FioJob;
pub use sizes::RequestSizes;

/// What [`uniform`] and [`sequential`] generate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GeneratorOptions {
    /// Number of requests, at least 1.
    pub requests: u64,
    /// Bytes of every request, at least 1.
    pub request_bytes: u32,
    /// Chance that a request is a read, 0 to 1.
    pub read_fraction: f64,
    /// Share of the user capacity that is addressed, from its start, above 0 up to 1.
    pub footprint: f64,
    /// When requests arrive.
    pub arrival: Arrival,
    /// Seed of every stream.
    pub seed: u64,
}

/// What [`synthetic`] generates.
#[derive(Clone, Debug, PartialEq)]
pub struct SyntheticOptions {
    /// Number of requests, at least 1.
    pub requests: u64,
    /// How long requests are.
    pub sizes: RequestSizes,
    /// Where requests go.
    pub access: Access,
    /// Chance that a request is a read, 0 to 1.
    pub read_fraction: f64,
    /// Chance that a request is a trim, 0 to 1; what is neither read nor trim is a write.
    pub trim_fraction: f64,
    /// Share of the user capacity that is addressed, from its start, above 0 up to 1.
    pub footprint: f64,
    /// When requests arrive.
    pub arrival: Arrival,
    /// Seed of every stream.
    pub seed: u64,
}

impl GeneratorOptions {
    fn with(&self, access: Access) -> SyntheticOptions {
        let GeneratorOptions { requests, request_bytes, read_fraction, footprint, arrival, seed } = *self;
        let sizes = RequestSizes::one(request_bytes);
        SyntheticOptions { requests, sizes, access, read_fraction, trim_fraction: 0.0, footprint, arrival, seed }
    }
}

/// Requests over a share of the device.
#[derive(Debug)]
pub struct Generator {
    options: SyntheticOptions,
    clock: Clock,
    kinds: Stream,
    lengths: Stream,
    slots: Slots,
    /// Bytes addressed, in whole slots.
    footprint_bytes: u64,
    /// Where the next request begins, if they are sequential.
    next_offset: u64,
    issued: u64,
}

/// Requests at page-aligned addresses, every slot of `request_bytes` (rounded up to pages) in the
/// footprint equally likely.
pub fn uniform(options: &GeneratorOptions, placement: &Placement) -> Result<Workload, TraceError> {
    Generator::new(&options.with(Access::Uniform), placement).map(|g| Workload::Uniform(Box::new(g)))
}

/// Requests one after the other over the footprint, starting again at its first byte.
pub fn sequential(options: &GeneratorOptions, placement: &Placement) -> Result<Workload, TraceError> {
    Generator::new(&options.with(Access::Sequential), placement).map(|g| Workload::Sequential(Box::new(g)))
}

/// Requests of one or several sizes, in any of the ways of [`Access`].
///
/// The footprint is divided into slots as long as the smallest size, rounded up to whole pages, and
/// every request begins at a slot. One that would cross the footprint's end is moved back to the
/// last slot from which it does not; a sequential one starts again at the first.
///
/// # Errors
/// Options outside the ranges that their fields state.
pub fn synthetic(options: &SyntheticOptions, placement: &Placement) -> Result<Workload, TraceError> {
    Generator::new(options, placement).map(|g| Workload::Synthetic(Box::new(g)))
}

impl Generator {
    fn new(options: &SyntheticOptions, placement: &Placement) -> Result<Generator, TraceError> {
        let SyntheticOptions { requests, read_fraction, trim_fraction, footprint, arrival, seed, .. } = *options;
        let sizes = &options.sizes;
        let refuse = |what: String| Err(TraceError::option(what));
        sizes.validate()?;
        if requests == 0 || placement.page_bytes == 0 {
            return refuse(format!(
                "requests = {requests}, page_bytes = {} found; each must be at least 1",
                placement.page_bytes
            ));
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
        if !(footprint > 0.0 && footprint <= 1.0) {
            return refuse(format!("footprint = {footprint} found; allowed are numbers above 0 up to 1"));
        }
        let in_pages = |bytes: u32| u64::from(bytes).next_multiple_of(u64::from(placement.page_bytes));
        let stride = in_pages(sizes.smallest());
        let wanted = ((placement.capacity_bytes as f64 * footprint) as u64).min(placement.capacity_bytes);
        let footprint_bytes = wanted / stride * stride;
        let longest = sizes.largest();
        if footprint_bytes < in_pages(longest) {
            return refuse(format!(
                "a footprint of {wanted} bytes found; a request of {longest} bytes, in whole pages, needs {}: allowed \
                 are smaller requests or a larger footprint",
                in_pages(longest)
            ));
        }
        Ok(Generator {
            clock: Clock::new(arrival, seed)?,
            kinds: Stream::new(seed, "kinds"),
            lengths: Stream::new(seed, "sizes"),
            slots: Slots::new(options.access, footprint_bytes / stride, stride, seed)?,
            options: options.clone(),
            footprint_bytes,
            next_offset: 0,
            issued: 0,
        })
    }

    /// The next request, `None` after the last.
    #[inline]
    pub fn next_request(&mut self) -> Option<HostRequest> {
        if self.issued == self.options.requests {
            return None;
        }
        let bytes = self.options.sizes.draw(&mut self.lengths);
        let offset_bytes = self.place(bytes);
        self.issued += 1;
        let SyntheticOptions { read_fraction, trim_fraction, .. } = self.options;
        let drawn = self.kinds.unit();
        Some(HostRequest {
            arrival: self.clock.tick(),
            offset_bytes,
            bytes,
            kind: match drawn {
                _ if drawn < read_fraction => RequestKind::Read,
                _ if drawn < read_fraction + trim_fraction => RequestKind::Trim,
                _ => RequestKind::Write,
            },
        })
    }

    #[inline]
    fn place(&mut self, bytes: u32) -> u64 {
        let stride = self.slots.stride();
        let latest = (self.footprint_bytes - u64::from(bytes)) / stride * stride;
        let Some(start) = self.slots.draw() else {
            let start = if self.next_offset > latest { 0 } else { self.next_offset };
            self.next_offset = start + u64::from(bytes).next_multiple_of(stride);
            return start;
        };
        start.min(latest)
    }

    pub(crate) fn issued(&self) -> u64 {
        self.issued
    }

    pub(crate) fn requests(&self) -> u64 {
        self.options.requests
    }

    pub(crate) fn facts(&self) -> Vec<(&'static str, Fact)> {
        let SyntheticOptions { requests, read_fraction, trim_fraction, footprint, arrival, seed, access, .. } =
            self.options;
        let (law, mean_us, cv) = match arrival {
            Arrival::Poisson { mean_us } => ("poisson", mean_us, None),
            Arrival::Fixed { mean_us } => ("fixed", mean_us, None),
            Arrival::Bursty { mean_us, cv } => ("bursty", mean_us, Some(cv)),
        };
        let mut facts = vec![("requests", Fact::Count(requests)), self.options.sizes.fact()];
        facts.extend(access.facts());
        facts.extend([
            ("read_fraction", Fact::Real(read_fraction)),
            ("trim_fraction", Fact::Real(trim_fraction)),
            ("footprint", Fact::Real(footprint)),
            ("footprint_bytes", Fact::Count(self.footprint_bytes)),
            ("arrival", Fact::Text(law.to_owned())),
            ("mean_interarrival_us", Fact::Real(mean_us)),
        ]);
        facts.extend(cv.map(|cv| ("interarrival_cv", Fact::Real(cv))));
        facts.push(("seed", Fact::Count(seed)));
        facts
    }
}
