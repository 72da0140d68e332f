//! The host side of a device: requests in flight, the way in and out, and what the host knows that it stored.
//!
//! A request comes in over the link and is split into pages; its last page completes it.

mod cores;
mod link;
pub mod oracle;
pub mod pages;
pub mod portion;
pub mod programs;
pub mod promises;
#[cfg(test)]
mod tests;

use pumice_config::Config;
use pumice_ftl::ZoneError;
use pumice_types::{HostRequest, Lpn, PageAddress, RequestKind, Time, ZoneCommand};

use crate::metrics::{FlowMetrics, LatencyParts, Metrics, Stage, TimeSeries};
use crate::observe::{ObserverRef, RequestRecord};
use crate::scheduler::PageDone;
use crate::stopping::StoppingRule;
use cores::Cores;
pub use link::Due;
use link::Link;
use oracle::Oracle;
pub use pages::Pages;
use portion::Portion;

/// A request in flight.
#[derive(Clone, Copy)]
struct InFlight {
    request: HostRequest,
    arrival: Time,
    /// When its pages were submitted; before that, when it began to wait for a core of the controller.
    submitted: Time,
    /// Time that it waited for a core of the controller and took it.
    controller: Time,
    pages_left: u32,
    measured: bool,
}

/// The host side of a device.
#[derive(Clone)]
pub struct Host {
    /// What the host stored.
    pub oracle: Oracle,
    /// Measurements.
    pub metrics: Metrics,
    /// Measurements by flow; empty without flows.
    pub flows: Vec<FlowMetrics>,
    /// Measurements by windows of time, if they are asked for.
    pub series: Option<TimeSeries>,
    /// The rule that ends the run, if there is one.
    pub stopping: Option<StoppingRule>,
    /// How requests fall into pages.
    pub pages: Pages,
    /// Logical pages that the final read-back did not find.
    pub lost_pages: u64,
    /// The part of the device that this thread runs, if there are several.
    pub portion: Option<Box<Portion>>,
    slots: Vec<InFlight>,
    free_slots: Vec<u32>,
    link: Link,
    /// The cores of the controller, if they take time.
    cores: Option<Cores>,
    /// How long a page gathers mapping units.
    open_page: Time,
    completed: u64,
}

impl Host {
    /// A host of a device with such pages, nothing in flight.
    pub fn new(config: &Config, page_bytes: u32, oracle: Oracle) -> Host {
        let keys = &config.host;
        Host {
            oracle,
            metrics: Metrics::default(),
            flows: config.flows.iter().map(|_| FlowMetrics::default()).collect(),
            series: config.output.time_series_s.map(TimeSeries::new),
            stopping: StoppingRule::new(&config.run),
            pages: Pages::new(page_bytes),
            lost_pages: 0,
            portion: None,
            slots: Vec::new(),
            free_slots: Vec::new(),
            link: Link::new(Time::from_us(keys.overhead_us), keys.link_mb_per_s),
            cores: Cores::new(config),
            open_page: Time::from_us(config.ftl.page.open_page_us),
            completed: 0,
        }
    }

    /// When something is due on the link.
    #[inline]
    pub fn next_event(&self) -> Option<Time> {
        self.link.next_event()
    }

    /// What is due on the link next, with its time.
    pub fn take_due(&mut self) -> Option<(Time, Due)> {
        self.link.pop()
    }

    /// Sets when the time of a page is over in which mapping units of the host gather from `now` on.
    pub fn remind_of_page(&mut self, page: PageAddress, now: Time) {
        self.link.push(now + self.open_page, Due::Gathered(page));
    }

    /// Sets when the look-up of an access is over that begins `now`.
    pub fn remind_of_look_up(&mut self, token: u32, time: Time, now: Time) {
        self.link.push(now + time, Due::LookedUp(token, time));
    }

    /// Requests done since this was last asked.
    #[inline]
    pub fn take_completed(&mut self) -> u64 {
        std::mem::take(&mut self.completed)
    }

    /// Takes a request in. Returns its number, and whether it is there at once; else the link brings it later.
    #[inline]
    pub fn accept(&mut self, request: &HostRequest, measured: bool, now: Time) -> (u32, bool) {
        let slot = InFlight {
            request: *request,
            arrival: now,
            submitted: now,
            controller: Time::ZERO,
            pages_left: 0,
            measured,
        };
        let id = match self.free_slots.pop() {
            Some(id) => {
                self.slots[id as usize] = slot;
                id
            }
            None => {
                self.slots.push(slot);
                (self.slots.len() - 1) as u32
            }
        };
        if let Some(portion) = &mut self.portion {
            portion.note_accepted(id);
        }
        self.metrics.note_arrival(now);
        if self.link.is_free() {
            return (id, !self.enter_controller(id, now));
        }
        let inward = match request.kind {
            RequestKind::Write | RequestKind::Zone(ZoneCommand::Append) => request.bytes,
            RequestKind::Read | RequestKind::Trim | RequestKind::Flush | RequestKind::Zone(_) => 0,
        };
        self.link.receive(id, inward, now);
        (id, false)
    }

    /// A request that the link has brought waits for a core of the controller. `false` if it needs none.
    #[inline]
    pub fn enter_controller(&mut self, id: u32, now: Time) -> bool {
        let Some(cores) = &mut self.cores else { return false };
        let slot = &mut self.slots[id as usize];
        slot.submitted = now;
        let flow = slot.request.flow;
        cores.enter((id, flow), now, &mut self.link);
        true
    }

    /// The request that a core has handled has caused so many flash commands, and the core goes on with them.
    pub fn core_goes_on(&mut self, commands: u64, now: Time) {
        self.cores.iter_mut().for_each(|cores| cores.go_on(commands, now, &mut self.link));
    }

    /// A core of the controller has ended its work.
    pub fn core_is_free(&mut self, now: Time) {
        self.cores.iter_mut().for_each(|cores| cores.free(now, &mut self.link));
    }

    /// Whether flash commands take a core of the controller time.
    #[inline]
    pub fn has_cores(&self) -> bool {
        self.cores.is_some()
    }

    /// Flash commands have gone out that no request has just caused.
    pub fn owe_cores(&mut self, commands: u64, now: Time) {
        self.cores.iter_mut().for_each(|cores| cores.owe(commands, now, &mut self.link));
    }

    /// Time that the cores of the controller have worked up to `now`, all of them together.
    pub fn cores_worked(&self, now: Time) -> Time {
        self.cores.as_ref().map_or(Time::ZERO, |cores| cores.worked(now))
    }

    /// How many cores the controller has; `None` if they take no time.
    pub fn cores(&self) -> Option<u32> {
        self.cores.as_ref().map(Cores::count)
    }

    /// Starts measuring at `now`.
    pub fn restart_measuring(&mut self, now: Time) {
        self.metrics.restart(now);
        self.flows.iter_mut().for_each(FlowMetrics::restart);
    }

    /// A request has come in and is being split into pages. Until [`Host::split_ended`] one page more than it
    /// has counts as left, so that nothing completes it meanwhile.
    #[inline]
    pub fn begin_split(&mut self, id: u32, now: Time) -> HostRequest {
        let slot = &mut self.slots[id as usize];
        if self.cores.is_some() {
            slot.controller = now - slot.submitted;
        }
        slot.submitted = now;
        slot.pages_left = 1;
        slot.request
    }

    /// Whether a flush other than this request is not done yet.
    pub fn is_flushing_for_another(&self, id: u32) -> bool {
        let flushes = |&other: &u32| self.slots[other as usize].request.kind == RequestKind::Flush;
        let mut others = (0..self.slots.len() as u32).filter(|other| *other != id).filter(flushes);
        others.any(|other| !self.free_slots.contains(&other))
    }

    /// Notes that its zone refuses a request, which is then done without having done anything.
    pub fn refuse(&mut self, id: u32, error: ZoneError) {
        let slot = &mut self.slots[id as usize];
        self.metrics.refused[error.place()] += u64::from(slot.measured);
        slot.measured = false;
    }

    /// A page of a request that is being split has begun.
    #[inline]
    pub fn page_begun(&mut self, id: u32) {
        self.slots[id as usize].pages_left += 1;
    }

    /// Notes a page that was done at once.
    #[inline]
    pub fn page_done_at_once(&mut self, id: u32) {
        self.slots[id as usize].pages_left -= 1;
    }

    /// Notes a page of a request that is done, in one stage.
    #[inline]
    pub fn note_page_done(&mut self, done: &PageDone, now: Time, observer: &mut ObserverRef) {
        let slot = &mut self.slots[done.token as usize];
        if slot.pages_left > 1 {
            slot.pages_left -= 1;
            return;
        }
        // Only writes ask where their time went.
        let parts = (slot.request.kind == RequestKind::Write).then(|| {
            let mut parts = LatencyParts::default();
            parts.add(Stage::Data, done);
            parts
        });
        self.page_ended(done.token, now, parts, observer);
    }

    /// Notes that a page of a request is done, or that all its pages have begun.
    #[inline]
    pub fn page_ended(&mut self, id: u32, now: Time, parts: Option<LatencyParts>, observer: &mut ObserverRef) {
        let slot = &mut self.slots[id as usize];
        slot.pages_left -= 1;
        if slot.pages_left > 0 {
            return;
        }
        if slot.request.kind == RequestKind::Read && !self.link.is_free() {
            self.link.send(id, slot.request.bytes, now);
        } else {
            self.complete(id, now, parts, observer);
        }
    }

    /// Completes a request.
    #[inline]
    pub fn complete(&mut self, id: u32, now: Time, parts: Option<LatencyParts>, observer: &mut ObserverRef) {
        let InFlight { request, arrival, submitted, controller, measured, .. } = self.slots[id as usize];
        if self.oracle.keeps_promises() {
            self.oracle.note_done(id, &request, self.pages.of(&request).map(|(lpn, _)| lpn));
        }
        self.free_slots.push(id);
        self.completed += 1;
        if let Some(flow) = self.flows.get_mut(usize::from(request.flow)) {
            flow.note_completed();
        }
        observer.completed(id, now);
        self.metrics.note_done(now);
        if measured {
            let parts = || LatencyParts {
                link: submitted - controller - arrival,
                controller,
                ..parts.unwrap_or_else(|| LatencyParts::waited_for_host(now - submitted))
            };
            if let Some(portion) = &mut self.portion
                && portion.note_done(id, (&request, arrival, now), parts)
            {
                return;
            }
            self.metrics.record(&request, now - arrival, parts);
            if let Some(flow) = self.flows.get_mut(usize::from(request.flow)) {
                flow.record(&request, now - arrival, now);
            }
            self.note_measured(&RequestRecord { arrival, done: now, request }, observer);
        }
    }

    /// Whether a page that a request touches is another thread's.
    #[inline]
    pub fn is_foreign(&mut self, lpn: Lpn) -> bool {
        self.portion.as_mut().is_some_and(|portion| !portion.has_next(lpn))
    }

    /// Everything in flight fails at `now`. Returns how many requests that are.
    pub fn fail_outstanding(&mut self, now: Time, observer: &mut ObserverRef) -> u64 {
        let mut is_free = vec![false; self.slots.len()];
        self.free_slots.iter().for_each(|&id| is_free[id as usize] = true);
        let in_flight = (0..self.slots.len()).filter(|&id| !is_free[id]);
        for id in in_flight {
            observer.failed(id as u32, now);
            let flow = self.flows.get_mut(usize::from(self.slots[id].request.flow));
            flow.into_iter().for_each(FlowMetrics::note_completed);
        }
        let failed = self.slots.len() - self.free_slots.len();
        self.slots.clear();
        self.free_slots.clear();
        self.forget_due(now);
        self.cores.iter_mut().for_each(|cores| cores.clear(now));
        (0..failed).for_each(|_| self.metrics.note_done(now));
        self.completed += failed as u64;
        failed as u64
    }

    /// Forgets what is on the link and which open pages are due.
    pub fn forget_due(&mut self, now: Time) {
        self.link.clear(now);
    }

    /// Notes a request of a run without a clock.
    pub fn note_untimed(&mut self, request: &HostRequest, observer: &mut ObserverRef) {
        self.metrics.record_untimed(request);
        let flow = self.flows.get_mut(usize::from(request.flow));
        flow.into_iter().for_each(|flow| flow.record_untimed(request));
        self.note_measured(&RequestRecord { arrival: Time::ZERO, done: Time::ZERO, request: *request }, observer);
    }

    /// Tells all who watch the run of a measured request that is done.
    #[inline]
    fn note_measured(&mut self, record: &RequestRecord, observer: &mut ObserverRef) {
        if let Some(series) = &mut self.series {
            series.note(record);
        }
        if let Some(stopping) = &mut self.stopping {
            stopping.note(record);
        }
        observer.request(record);
    }
}
