//! The flows of a run: several workloads side by side, each in its own addresses and at its own pace.
//!
//! A flow offers its next request with the instant from which it may be submitted: its arrival, or the present where only
//! completions pace it. The flow whose request comes first submits; of equals the one with the smaller number.

use pumice_config::{Config, Flow, FlowMode, SpecError};
use pumice_types::{HostRequest, RequestKind, Time};
use pumice_workload::{Fact, Workload};

use crate::error::SimError;
use crate::host::Host;
use crate::workload;

/// One flow.
struct Source {
    workload: Workload,
    number: u8,
    /// The stream that all of its writes name; `None` leaves what the workload names.
    stream: Option<u8>,
    mode: FlowMode,
    /// First byte of its addresses.
    first_byte: u64,
    /// Requests that it may submit before one is done; `None` if nothing limits them.
    room: Option<u64>,
    /// The request that it submits next.
    next: HostRequest,
    /// The flow has no next request.
    is_over: bool,
}

/// The flows that send requests.
pub(crate) struct Flows {
    sources: Vec<Source>,
    speedup: f64,
    /// Requests that may still be submitted.
    left: u64,
    /// The flow whose turn it is without a clock.
    turn: usize,
    /// The request that was taken last in turn.
    taken: HostRequest,
}

/// The next request of the flows.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Offer {
    /// From when on it may be submitted, by the workload's clock.
    pub at: Time,
    /// Place of its flow among those that send requests.
    source: usize,
    /// Whether what is due at the same instant happens first, as it does before an arrival by the clock.
    pub by_clock: bool,
}

impl Flows {
    /// The flows of a spec on a device of so many pages.
    ///
    /// # Errors
    /// As [`workload::open_flow`].
    pub fn open(config: &Config, scale: f64, user_pages: u32) -> Result<Flows, SimError> {
        let is_meant = |number: usize| config.run.only_flow.is_none_or(|only| only as usize == number);
        let flows = config.flows.iter().enumerate().filter(|(number, _)| is_meant(*number));
        let sources = flows.map(|(number, flow)| Source::open(config, (number, flow), scale, user_pages));
        Ok(Flows {
            sources: sources.collect::<Result<_, _>>()?,
            speedup: config.host.speedup,
            left: config.run.max_requests.unwrap_or(u64::MAX),
            turn: 0,
            taken: HostRequest::flush(Time::ZERO),
        })
    }

    /// The request that may be submitted first, if one may be before another is done; it is `present` now by the
    /// workload's clock.
    pub fn next(&self, present: Time) -> Option<Offer> {
        let offers = self.sources.iter().enumerate().filter_map(|(source, flow)| {
            let is_full = flow.room == Some(0);
            let arrival = || match self.speedup {
                1.0 => flow.next.arrival,
                speedup => Time((flow.next.arrival.0 as f64 / speedup).round() as u64),
            };
            let (at, by_clock) = match flow.mode {
                _ if flow.is_over || is_full => return None,
                FlowMode::OpenLoop => (arrival(), true),
                FlowMode::ClosedLoop => (present, false),
                FlowMode::RateLimited => (arrival().max(present), arrival() >= present),
            };
            Some(Offer { at, source, by_clock })
        });
        offers.filter(|_| self.left > 0).min_by_key(|offer| (offer.at, offer.source))
    }

    /// Takes the request that was offered.
    ///
    /// # Errors
    /// A workload that cannot be read on.
    pub fn take(&mut self, offer: Offer) -> Result<HostRequest, SimError> {
        self.left -= 1;
        let flow = &mut self.sources[offer.source];
        flow.room.iter_mut().for_each(|room| *room -= 1);
        flow.take()
    }

    /// Without a clock: the next request of the next flow in turn that has one.
    ///
    /// # Errors
    /// A workload that cannot be read on.
    pub fn take_in_turn(&mut self) -> Result<Option<&HostRequest>, SimError> {
        let flows = self.sources.len();
        let Some(source) = (0..flows).map(|nth| (self.turn + nth) % flows).find(|&at| !self.sources[at].is_over) else {
            return Ok(None);
        };
        if self.left == 0 {
            return Ok(None);
        }
        self.left -= 1;
        self.turn = (source + 1) % flows;
        self.taken = self.sources[source].take()?;
        Ok(Some(&self.taken))
    }

    /// Gives flows room for the requests that are done.
    pub fn note_completed(&mut self, host: &mut Host) {
        for flow in &mut self.sources {
            let done = host.flows[usize::from(flow.number)].take_completed();
            flow.room.iter_mut().for_each(|room| *room += done);
        }
    }

    /// Whether no flow has a next request.
    pub fn are_over(&self) -> bool {
        self.left == 0 || self.sources.iter().all(|flow| flow.is_over)
    }

    /// Share of the work done: of the flow that has done least of its own. `None` if it is not known.
    pub fn progress(&self) -> Option<f64> {
        let shares: Option<Vec<f64>> = self.sources.iter().map(|flow| flow.workload.progress()).collect();
        shares?.into_iter().reduce(f64::min)
    }

    /// What is known of each flow's workload, by the number of the flow.
    pub fn facts(&self) -> Vec<(u8, Vec<(&'static str, Fact)>)> {
        self.sources.iter().map(|flow| (flow.number, flow.workload.facts())).collect()
    }

    /// What was changed or overlooked.
    pub fn warnings(&self, flows: &[Flow]) -> Vec<String> {
        let of = |flow: &Source| {
            let name = &flows[usize::from(flow.number)].name;
            flow.workload
                .notes()
                .warnings()
                .into_iter()
                .map(move |line| format!("flow {name}: {line}"))
                .collect::<Vec<_>>()
        };
        self.sources.iter().flat_map(of).collect()
    }
}

impl Source {
    fn open(config: &Config, (number, flow): (usize, &Flow), scale: f64, user_pages: u32) -> Result<Source, SimError> {
        let page_bytes = u64::from(config.mapped_page_bytes());
        let zone = workload::zone_bytes(config, scale)?.map_or(1, |bytes| (bytes / page_bytes) as u32);
        let [first, end] = flow.pages(user_pages, zone);
        if end > user_pages {
            let text = format!(
                "workload.flow[{number}].zones end at zone {}; the device has {}",
                end / zone,
                user_pages / zone
            );
            return Err(SpecError(text).into());
        }
        let [first, end] = [first, end].map(|page| u64::from(page) * page_bytes);
        let mode = flow.mode(&config.host);
        let mut workload = workload::open_flow(config, number, scale, end - first)?;
        if !config.run.timed || mode == FlowMode::ClosedLoop {
            workload.skip_arrivals();
        }
        let mut source = Source {
            workload,
            number: number as u8,
            stream: flow.stream(),
            mode,
            first_byte: first,
            room: flow.depth(&config.host),
            next: HostRequest::flush(Time::ZERO),
            is_over: false,
        };
        source.read_on()?;
        Ok(source)
    }

    /// Takes the next request, and reads the one behind it.
    fn take(&mut self) -> Result<HostRequest, SimError> {
        let request = self.next;
        self.read_on()?;
        Ok(request)
    }

    fn read_on(&mut self) -> Result<(), SimError> {
        self.is_over = !self.workload.take_next(&mut self.next)?;
        if self.next.kind != RequestKind::Flush {
            self.next.offset_bytes += self.first_byte;
        }
        self.next.flow = self.number;
        self.next.stream = self.stream.unwrap_or(self.next.stream);
        Ok(())
    }
}
