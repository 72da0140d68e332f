//! Uniform and sequential requests over a share of the device.

use pumice_types::{HostRequest, RequestKind};

use crate::arrival::{Arrival, Clock};
use crate::random::Stream;
use crate::workload::Fact;
use crate::{Placement, TraceError, Workload};

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

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Order {
    Uniform,
    Sequential,
}

/// Requests of one size over a share of the device, in random or ascending order.
#[derive(Debug)]
pub struct Generator {
    options: GeneratorOptions,
    order: Order,
    clock: Clock,
    kinds: Stream,
    addresses: Stream,
    /// Bytes between possible starts: the request rounded up to pages.
    stride: u64,
    slots: u64,
    issued: u64,
}

/// Requests at page-aligned addresses, every slot of `request_bytes` (rounded up to pages) in the
/// footprint equally likely.
pub fn uniform(options: &GeneratorOptions, placement: &Placement) -> Result<Workload, TraceError> {
    Generator::new(options, placement, Order::Uniform).map(|g| Workload::Uniform(Box::new(g)))
}

/// Requests one after the other over the footprint, starting again at its first byte.
pub fn sequential(options: &GeneratorOptions, placement: &Placement) -> Result<Workload, TraceError> {
    Generator::new(options, placement, Order::Sequential).map(|g| Workload::Sequential(Box::new(g)))
}

impl Generator {
    fn new(options: &GeneratorOptions, placement: &Placement, order: Order) -> Result<Generator, TraceError> {
        let GeneratorOptions { requests, request_bytes, read_fraction, footprint, arrival, seed } = *options;
        let refuse = |what: String| Err(TraceError::option(what));
        if requests == 0 || request_bytes == 0 || placement.page_bytes == 0 {
            return refuse(format!(
                "requests = {requests}, request_bytes = {request_bytes}, page_bytes = {} found; each must be at least 1",
                placement.page_bytes
            ));
        }
        if !(0.0..=1.0).contains(&read_fraction) {
            return refuse(format!("read_fraction = {read_fraction} found; allowed are numbers from 0 to 1"));
        }
        if !(footprint > 0.0 && footprint <= 1.0) {
            return refuse(format!("footprint = {footprint} found; allowed are numbers above 0 up to 1"));
        }
        let page = u64::from(placement.page_bytes);
        let stride = u64::from(request_bytes).div_ceil(page) * page;
        let footprint_bytes = (placement.capacity_bytes as f64 * footprint) as u64;
        let slots = footprint_bytes.min(placement.capacity_bytes) / stride;
        if slots == 0 {
            return refuse(format!(
                "a footprint of {footprint_bytes} bytes found; a request of {request_bytes} bytes, in whole pages, needs \
                 {stride}: allowed are smaller requests or a larger footprint"
            ));
        }
        let clock = Clock::new(arrival, seed)?;
        let (kinds, addresses) = (Stream::new(seed, "kinds"), Stream::new(seed, "addresses"));
        Ok(Generator { options: *options, order, clock, kinds, addresses, stride, slots, issued: 0 })
    }

    /// The next request, `None` after the last.
    #[inline]
    pub fn next_request(&mut self) -> Option<HostRequest> {
        if self.issued == self.options.requests {
            return None;
        }
        let slot = match self.order {
            Order::Uniform => self.addresses.below(self.slots),
            Order::Sequential => self.issued % self.slots,
        };
        self.issued += 1;
        let read = self.kinds.unit() < self.options.read_fraction;
        Some(HostRequest {
            arrival: self.clock.tick(),
            offset_bytes: slot * self.stride,
            bytes: self.options.request_bytes,
            kind: if read { RequestKind::Read } else { RequestKind::Write },
        })
    }

    pub(crate) fn issued(&self) -> u64 {
        self.issued
    }

    pub(crate) fn requests(&self) -> u64 {
        self.options.requests
    }

    pub(crate) fn facts(&self) -> Vec<(&'static str, Fact)> {
        let GeneratorOptions { requests, request_bytes, read_fraction, footprint, arrival, seed } = self.options;
        let (law, mean_us) = match arrival {
            Arrival::Poisson { mean_us } => ("poisson", mean_us),
            Arrival::Fixed { mean_us } => ("fixed", mean_us),
        };
        vec![
            ("requests", Fact::Count(requests)),
            ("request_bytes", Fact::Count(u64::from(request_bytes))),
            ("read_fraction", Fact::Real(read_fraction)),
            ("footprint", Fact::Real(footprint)),
            ("footprint_bytes", Fact::Count(self.slots * self.stride)),
            ("arrival", Fact::Text(law.to_owned())),
            ("mean_interarrival_us", Fact::Real(mean_us)),
            ("seed", Fact::Count(seed)),
        ]
    }
}
