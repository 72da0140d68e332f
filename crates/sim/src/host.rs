//! The host: turns requests into page accesses and hears when they are done.

use pumice_ftl::{Ftl, Plan};
use pumice_types::{HostRequest, Lpn, RequestKind, Time};

use crate::device::{Device, Tally};
use crate::error::SimError;
use crate::metrics::Metrics;
use crate::scheduler::{PageDone, Scheduler};

/// Room for the commands of the largest merge seen in practice; the plan grows if it must.
const PLAN_COMMANDS: usize = 4096;

/// A request in flight.
#[derive(Clone, Copy)]
struct Slot {
    arrival: Time,
    bytes: u32,
    pages_left: u32,
    kind: RequestKind,
    measured: bool,
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
    page_bytes: u64,
    plan: Plan,
    slots: Vec<Slot>,
    free_slots: Vec<u32>,
}

impl Host {
    /// A host of this device, nothing in flight.
    pub fn new(ftl: Ftl, device: Device, page_bytes: u32) -> Host {
        Host {
            ftl,
            device,
            metrics: Metrics::new(),
            tally: Tally::default(),
            uncounted_commands: 0,
            page_bytes: u64::from(page_bytes),
            plan: Plan::with_capacity(PLAN_COMMANDS),
            slots: Vec::new(),
            free_slots: Vec::new(),
        }
    }

    /// Logical pages of a request.
    fn pages(&self, request: &HostRequest) -> std::ops::RangeInclusive<u32> {
        let first = request.offset_bytes / self.page_bytes;
        let last = (request.offset_bytes + u64::from(request.bytes) - 1) / self.page_bytes;
        first as u32..=last as u32
    }

    /// Fills the plan with the commands of one page access.
    #[inline]
    fn translate(&mut self, kind: RequestKind, lpn: Lpn) -> Result<(), SimError> {
        self.plan.clear();
        self.ftl.load_map(lpn, kind, &mut self.plan)?;
        match kind {
            RequestKind::Write => {
                let version = self.device.ledger.next_version(lpn);
                self.ftl.write(lpn, version, &mut self.plan)?;
            }
            RequestKind::Read => {
                let found = self.ftl.read(lpn, self.device.ledger.version(lpn), &mut self.plan);
                if !found && self.device.ledger.is_stored(lpn) {
                    let text = format!("integrity: the FTL does not find logical page {}, which was stored", lpn.0);
                    return Err(SimError::Simulation(text));
                }
            }
            RequestKind::Trim => self.ftl.trim(lpn),
        }
        self.plan.commands.iter().for_each(|command| self.tally.note(command));
        Ok(())
    }

    /// Runs a request without a clock.
    ///
    /// # Errors
    /// A broken rule or belief.
    pub fn run_untimed(&mut self, request: &HostRequest, measured: bool) -> Result<(), SimError> {
        for lpn in self.pages(request) {
            self.translate(request.kind, Lpn(lpn))?;
            for command in &self.plan.commands {
                self.device.execute(command)?;
            }
        }
        if measured {
            self.metrics.record(request.kind, request.bytes, Time::ZERO, None);
        }
        Ok(())
    }

    /// Submits a request at `now`. Returns whether it is done at once (no flash command needed).
    ///
    /// # Errors
    /// A broken rule or belief.
    pub fn submit(
        &mut self,
        request: &HostRequest,
        now: Time,
        measured: bool,
        scheduler: &mut Scheduler,
    ) -> Result<bool, SimError> {
        let slot = Slot { arrival: now, bytes: request.bytes, pages_left: 0, kind: request.kind, measured };
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
        for lpn in self.pages(request) {
            self.translate(request.kind, Lpn(lpn))?;
            if !self.plan.commands.is_empty() {
                self.slots[id as usize].pages_left += 1;
                scheduler.submit(&self.plan.commands, id, now, &mut self.device)?;
            }
        }
        let at_once = self.slots[id as usize].pages_left == 0;
        if at_once {
            self.complete(id, now, None);
        }
        Ok(at_once)
    }

    /// Notes a page access that is done. Returns whether that completes its request.
    #[inline]
    pub fn note_page(&mut self, done: &PageDone) -> bool {
        let slot = &mut self.slots[done.request as usize];
        slot.pages_left -= 1;
        let complete = slot.pages_left == 0;
        if complete {
            self.complete(done.request, done.at, Some(done));
        }
        complete
    }

    #[inline]
    fn complete(&mut self, id: u32, now: Time, last_page: Option<&PageDone>) {
        let slot = self.slots[id as usize];
        self.free_slots.push(id);
        self.metrics.note_done(now);
        if slot.measured {
            self.metrics.record(slot.kind, slot.bytes, now - slot.arrival, last_page);
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
        self.ftl.reset_counters();
    }
}
