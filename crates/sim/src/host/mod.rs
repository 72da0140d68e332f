//! The host: turns requests into page accesses and hears when they are done.
//!
//! A request comes in over the link, is split into pages, and each page goes through up to three
//! stages: the map's entry is loaded (if it is not in RAM), the old copy is read (if a write covers
//! part of it), and the page itself is read or programmed. The FTL decides a stage when it begins, so
//! a page is given its place when it is about to be programmed, not while its old copy is being read.

mod access;
mod buffer;
mod link;
mod pages;
mod parts;

use std::collections::VecDeque;

use pumice_ftl::{Ftl, Plan};
use pumice_types::{BlockId, DieId, HostRequest, Lpn, RequestKind, Time};

use crate::device::{Device, Tally};
use crate::erase::Eraser;
use crate::error::SimError;
use crate::metrics::Metrics;
use crate::output::{Observer, RequestRecord};
use crate::scheduler::Scheduler;
use crate::spec::Spec;
use access::{Access, Accesses, Waits};
use buffer::{FlushPolicy, WriteBuffer, part_mask};
use link::{Due, Link};
use pages::Wait;
pub use parts::Parts;

/// Room for the commands of the largest merge seen in practice; the plan grows if it must.
const PLAN_COMMANDS: usize = 4096;

/// A request in flight.
#[derive(Clone, Copy)]
struct Slot {
    request: HostRequest,
    arrival: Time,
    /// When its pages were submitted.
    submitted: Time,
    pages_left: u32,
    measured: bool,
}

/// What a page access needs besides itself, settled once for a run.
struct Rules {
    page_bytes: u64,
    /// Writes of part of a page read its old copy first.
    reads_old_copy: bool,
    /// The map may have to be read.
    loads_map: bool,
    /// Erases can fail.
    erases_fail: bool,
    /// The FTL has steps for an idle die.
    works_when_idle: bool,
}

/// The functional side of a run: FTL, device and the requests in flight.
pub struct Host {
    /// The translation layer.
    pub ftl: Ftl,
    /// The array with its checks.
    pub device: Device,
    /// Measurements.
    pub metrics: Metrics,
    /// Commands emitted while measuring. They are counted when they are decided, as the FTL's own
    /// counters are, so that both agree wherever measuring starts.
    pub tally: Tally,
    /// Flash commands of the warm-up and of ageing.
    uncounted_commands: u64,
    rules: Rules,
    plan: Plan,
    slots: Vec<Slot>,
    free_slots: Vec<u32>,
    accesses: Accesses,
    link: Link,
    buffer: Option<WriteBuffer>,
    /// Pages that wait for room in the write buffer, as accesses not begun.
    waiting: VecDeque<Access>,
    completed: u64,
}

/// The timed side of a run, at one instant.
pub struct Clock<'a, O: Observer> {
    /// Gives commands their time.
    pub scheduler: &'a mut Scheduler,
    /// Who watches.
    pub observer: &'a mut O,
    /// The present.
    pub now: Time,
}

impl Host {
    /// A host of this device, nothing in flight.
    pub fn new(spec: &Spec, ftl: Ftl, device: Device) -> Host {
        let (host, page_bytes) = (&spec.host, u64::from(spec.geometry.page_bytes));
        let buffer_pages = (host.write_buffer_kib * 1024 / page_bytes) as usize;
        let policy = if host.flush == "lru" { FlushPolicy::Lru } else { FlushPolicy::Eager };
        let mut plan = Plan::with_capacity(PLAN_COMMANDS);
        let erases_fail = device.eraser.as_ref().is_some_and(Eraser::can_fail);
        if let Some(eraser) = device.eraser.as_ref().filter(|_| erases_fail) {
            plan.set_failing(eraser.blocks(), eraser.failing().map(BlockId));
        }
        Host {
            ftl,
            device,
            metrics: Metrics::new(),
            tally: Tally::default(),
            uncounted_commands: 0,
            rules: Rules {
                page_bytes,
                reads_old_copy: host.partial_page == "rmw",
                loads_map: spec.ftl.map_place == "cached",
                erases_fail,
                works_when_idle: matches!(spec.ftl.gc_mode.as_str(), "background" | "preemptible"),
            },
            plan,
            slots: Vec::new(),
            free_slots: Vec::new(),
            accesses: Accesses::default(),
            link: Link::new(Time::from_us(host.overhead_us), host.link_mb_per_s),
            buffer: (buffer_pages > 0).then(|| WriteBuffer::new(buffer_pages, policy)),
            waiting: VecDeque::new(),
            completed: 0,
        }
    }

    /// When the host has something to do of its own.
    #[inline]
    pub fn next_event(&self) -> Option<Time> {
        self.link.next_event()
    }

    /// Requests done since this was last asked.
    #[inline]
    pub fn take_completed(&mut self) -> u64 {
        std::mem::take(&mut self.completed)
    }

    /// Takes a request in.
    ///
    /// # Errors
    /// A broken rule or belief.
    pub fn arrive<O: Observer>(
        &mut self,
        request: &HostRequest,
        measured: bool,
        clock: &mut Clock<O>,
    ) -> Result<(), SimError> {
        let now = clock.now;
        let slot = Slot { request: *request, arrival: now, submitted: now, pages_left: 0, measured };
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
        self.metrics.note_arrival(now);
        if self.link.is_free() {
            return self.begin(id, clock);
        }
        let inward = if request.kind == RequestKind::Write { request.bytes } else { 0 };
        self.link.receive(id, inward, now);
        Ok(())
    }

    /// A request comes soon: what its first page will need is brought near. Changes nothing.
    #[inline]
    pub fn expect(&self, request: &HostRequest) {
        let lpn = self.rules.first_page(request);
        self.device.ledger.expect(lpn);
        self.ftl.expect(lpn);
    }

    /// A request that was expected comes very soon.
    #[inline]
    pub fn expect_soon(&self, request: &HostRequest) {
        if request.kind == RequestKind::Write {
            self.ftl.expect_overwrite(self.rules.first_page(request));
        }
    }

    /// Handles what is due on the link.
    ///
    /// # Errors
    /// A broken rule or belief.
    pub fn step<O: Observer>(&mut self, clock: &mut Clock<O>) -> Result<(), SimError> {
        match self.link.pop() {
            Some((_, Due::Received(slot))) => self.begin(slot, clock),
            Some((at, Due::Sent(slot))) => {
                self.complete(slot, at, None, clock.observer);
                Ok(())
            }
            None => Ok(()),
        }
    }

    /// Begins all page accesses of a request.
    fn begin<O: Observer>(&mut self, id: u32, clock: &mut Clock<O>) -> Result<(), SimError> {
        let slot = &mut self.slots[id as usize];
        slot.submitted = clock.now;
        // One more than there are, so that nothing completes the request while it is being split.
        slot.pages_left = 1;
        let request = slot.request;
        for (lpn, mask) in self.rules.pages(&request) {
            self.slots[id as usize].pages_left += 1;
            let access = Access::new(Waits::Request(id), lpn, request.kind, mask);
            if self.begin_page(&access, clock)? {
                self.slots[id as usize].pages_left -= 1;
            }
        }
        if self.buffer.is_some() {
            self.flush(false, clock)?;
        }
        self.page_ended(id, clock.now, None, clock.observer);
        Ok(())
    }

    /// Gives an idle die its next step of reclaiming, if one is due.
    ///
    /// # Errors
    /// A broken rule or belief.
    pub fn work_when_idle<O: Observer>(&mut self, die: DieId, clock: &mut Clock<O>) -> Result<(), SimError> {
        if self.rules.works_when_idle {
            self.plan.clear();
            self.ftl.internal_step(die, &mut self.plan)?;
            self.submit_plan(&Wait::NOBODY, clock)?;
        }
        Ok(())
    }

    /// Notes that a page of a request is done, or that all its pages are submitted.
    #[inline]
    fn page_ended(&mut self, id: u32, now: Time, parts: Option<Parts>, observer: &mut impl Observer) {
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

    #[inline]
    fn complete(&mut self, id: u32, now: Time, parts: Option<Parts>, observer: &mut impl Observer) {
        let Slot { request, arrival, submitted, measured, .. } = self.slots[id as usize];
        self.free_slots.push(id);
        self.completed += 1;
        self.metrics.note_done(now);
        if measured {
            let mut parts = parts.unwrap_or_else(|| Parts::waited_for_host(now - submitted));
            parts.link = submitted - arrival;
            self.metrics.record(&request, now - arrival, &parts);
            observer.request(&RequestRecord { arrival, done: now, request });
        }
    }

    /// Flash commands of the whole run, warm-up and ageing included.
    pub fn flash_commands_total(&self) -> u64 {
        self.uncounted_commands + self.tally.flash_commands()
    }

    /// Starts measuring at `now`: everything counted so far is warm-up.
    pub fn restart_measuring(&mut self, now: Time) {
        self.metrics.restart(now);
        self.uncounted_commands += self.tally.flash_commands();
        self.tally = Tally::default();
        self.device.array.reset_wear();
        if let Some(eraser) = &mut self.device.eraser {
            eraser.restart_measuring();
        }
        if let Some(retry) = &mut self.device.retry {
            retry.restart_measuring();
        }
        self.ftl.reset_counters();
    }
}

impl Rules {
    /// The first logical page of a request.
    #[inline]
    fn first_page(&self, request: &HostRequest) -> Lpn {
        Lpn((request.offset_bytes / self.page_bytes) as u32)
    }

    /// Logical pages of a request with the parts that it touches. A trim leaves out pages that it
    /// covers in part.
    #[inline]
    fn pages(&self, request: &HostRequest) -> impl Iterator<Item = (Lpn, u64)> + use<> {
        let page_bytes = self.page_bytes;
        let (start, end) = (request.offset_bytes, request.offset_bytes + u64::from(request.bytes));
        let (trims, reads) = (request.kind == RequestKind::Trim, request.kind == RequestKind::Read);
        (start / page_bytes..=(end - 1) / page_bytes).filter_map(move |page| {
            let first = page * page_bytes;
            let (from, to) = (start.max(first) - first, end.min(first + page_bytes) - first);
            let mask = if to - from == page_bytes { u64::MAX } else { part_mask(page_bytes, from, to, reads) };
            (!trims || mask == u64::MAX).then_some((Lpn(page as u32), mask))
        })
    }
}
