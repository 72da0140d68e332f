//! Requests drawn from stated distributions over a share of the device.

use pumice_types::{Choice, HostRequest, RequestKind};

use crate::generator::options::SyntheticOptions;
use crate::generator::pattern::SlotLaw;
use crate::generator::patterns::PatternLaw;
use crate::source::arrival::{ArrivalClock, ArrivalKind};
use crate::source::error::TraceError;
use crate::source::fact::Fact;
use crate::source::notes::Notes;
use crate::source::placement::Placement;
use crate::source::random::RandomStream;
use crate::source::request_source::{RequestSource, share_of_requests};

/// Requests over a share of the device.
///
/// The footprint is divided into slots as long as the smallest size, rounded up to whole pages, and
/// every request begins at a slot. One that would cross the footprint's end is moved back to the
/// last slot from which it does not; a sequential one starts again at the first.
#[derive(Debug)]
pub struct Generator {
    options: SyntheticOptions,
    clock: ArrivalClock,
    kinds: RandomStream,
    fua: RandomStream,
    lengths: RandomStream,
    addresses: RandomStream,
    law: PatternLaw,
    /// Bytes addressed, in whole slots.
    footprint_bytes: u64,
    /// Bytes of a slot.
    stride: u64,
    /// Where the request behind the last one begins.
    next_offset: u64,
    issued: u64,
    /// Requests since the last flush, or since the start.
    since_flush: u64,
}

impl Generator {
    /// A generator for a device.
    ///
    /// # Errors
    /// Options outside the ranges that their fields state.
    pub(crate) fn new(options: &SyntheticOptions, placement: &Placement) -> Result<Generator, TraceError> {
        options.validate(placement.page_bytes)?;
        let in_pages = |bytes: u32| u64::from(bytes).next_multiple_of(u64::from(placement.page_bytes));
        let stride = in_pages(options.sizes.smallest());
        let wanted = ((placement.capacity_bytes as f64 * options.footprint) as u64).min(placement.capacity_bytes);
        let footprint_bytes = wanted / stride * stride;
        let longest = options.sizes.largest();
        if footprint_bytes < in_pages(longest) {
            return Err(TraceError::option(format!(
                "a footprint of {wanted} bytes found; a request of {longest} bytes, in whole pages, needs {}: allowed \
                 are smaller requests or a larger footprint",
                in_pages(longest)
            )));
        }
        let seed = options.seed;
        Ok(Generator {
            clock: ArrivalClock::new(options.arrival, seed)?,
            kinds: RandomStream::new(seed, "kinds"),
            fua: RandomStream::new(seed, "fua"),
            lengths: RandomStream::new(seed, "sizes"),
            addresses: RandomStream::new(seed, "addresses"),
            law: options.access.law(footprint_bytes / stride, seed)?,
            options: options.clone(),
            footprint_bytes,
            stride,
            next_offset: 0,
            issued: 0,
            since_flush: 0,
        })
    }

    #[inline]
    fn place(&mut self, bytes: u32) -> u64 {
        let stride = self.stride;
        let latest = (self.footprint_bytes - u64::from(bytes)) / stride * stride;
        let Some(slot) = self.law.draw(&mut self.addresses) else {
            let start = if self.next_offset > latest { 0 } else { self.next_offset };
            self.next_offset = start + u64::from(bytes).next_multiple_of(stride);
            return start;
        };
        (slot * stride).min(latest)
    }
}

impl RequestSource for Generator {
    #[inline]
    fn take_next(&mut self, request: &mut HostRequest) -> Result<bool, TraceError> {
        if self.options.flush_every == Some(self.since_flush) {
            self.since_flush = 0;
            *request = HostRequest::flush(self.clock.tick());
            return Ok(true);
        }
        if self.issued == self.options.requests {
            return Ok(false);
        }
        let bytes = self.options.sizes.draw(&mut self.lengths);
        let offset_bytes = self.place(bytes);
        self.issued += 1;
        self.since_flush += 1;
        let SyntheticOptions { read_fraction, trim_fraction, fua_fraction, .. } = self.options;
        let drawn = self.kinds.unit();
        let kind = if drawn < read_fraction {
            RequestKind::Read
        } else if drawn < read_fraction + trim_fraction {
            RequestKind::Trim
        } else {
            RequestKind::Write
        };
        let fua = fua_fraction > 0.0 && kind == RequestKind::Write && self.fua.unit() < fua_fraction;
        let stream = self.law.stream_of(offset_bytes / self.stride);
        *request = HostRequest { arrival: self.clock.tick(), offset_bytes, bytes, kind, fua, stream, flow: 0 };
        Ok(true)
    }

    fn skip_arrivals(&mut self) {
        self.clock.stop();
    }

    fn requests_expected(&self) -> Option<u64> {
        let SyntheticOptions { requests, flush_every, .. } = self.options;
        Some(requests + flush_every.map_or(0, |every| requests / every))
    }

    fn streams(&self) -> u16 {
        u16::from(self.options.access.streams())
    }

    fn progress(&self) -> Option<f64> {
        share_of_requests(self.issued, self.options.requests)
    }

    fn notes(&self) -> Notes {
        Notes::default()
    }

    /// The generator's options.
    fn facts(&self) -> Vec<(&'static str, Fact)> {
        let SyntheticOptions { requests, read_fraction, trim_fraction, footprint, arrival, seed, access, .. } =
            self.options;
        let SyntheticOptions { flush_every, fua_fraction, .. } = self.options;
        let cv = (arrival.kind == ArrivalKind::Bursty).then_some(arrival.cv);
        let mut facts = vec![("requests", Fact::Count(requests)), self.options.sizes.fact()];
        facts.push(("access", Fact::text(access.kind().name())));
        facts.extend(access.parameters());
        facts.extend([
            ("read_fraction", Fact::Real(read_fraction)),
            ("trim_fraction", Fact::Real(trim_fraction)),
            ("footprint", Fact::Real(footprint)),
            ("footprint_bytes", Fact::Count(self.footprint_bytes)),
            ("arrival", Fact::text(arrival.kind.name())),
            ("mean_interarrival_us", Fact::Real(arrival.mean_us)),
        ]);
        facts.extend(flush_every.map(|every| ("flush_every", Fact::Count(every))));
        facts.extend((fua_fraction > 0.0).then_some(("fua_fraction", Fact::Real(fua_fraction))));
        facts.extend(cv.map(|cv| ("interarrival_cv", Fact::Real(cv))));
        facts.push(("seed", Fact::Count(seed)));
        facts
    }
}
