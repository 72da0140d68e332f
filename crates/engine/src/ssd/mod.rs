//! A device with its host: requests go in, and come back completed. One way: host, controller, translation layer,
//! scheduler, chips.

mod zone_requests;

use pumice_config::Config;
use pumice_ftl::Ftl;
use pumice_ftl::Recovery;
use pumice_types::{FlashCommand, HostRequest, LastLoop, RequestKind, Time};
use pumice_workload::RandomStream;

use crate::build::Built;
use crate::chip::erase::suspension_rule;
use crate::controller::{Controller, Moment, PageAccess, PageEnd, Waits, names_request};
use crate::error::SimError;
use crate::host::{Due, Host};
use crate::metrics::PowerFigures;
use crate::observe::ObserverSlot;
use crate::results::BusyTimes;
use crate::scheduler::{NOBODY, PageDone, Policy, Scheduler, Submission, UnderWay};

/// A device, its host, and the observer of the run.
pub struct Ssd<O: ObserverSlot> {
    /// Requests in flight and what was measured of them.
    pub host: Host,
    /// Controller, translation layer, scheduler and chips.
    pub controller: Controller,
    /// The present.
    pub now: Time,
    /// What power cuts did.
    pub power: PowerFigures,
    /// Observer of the run.
    pub observer: O,
}

impl<O: ObserverSlot> Ssd<O> {
    /// A device that was just built.
    pub fn new(config: &Config, built: Built, observer: O) -> Ssd<O> {
        let Built { geometry, ftl, chips, oracle, decider, .. } = built;
        let (chip, conduct) = (config.assumed_chip(), ftl.layer().conduct());
        let policy = Policy {
            read_priority: config.host.read_priority,
            read_tokens: config.host.read_tokens,
            holds_die: conduct.holds_die,
            erase: suspension_rule(&chip),
            late_loops: config.run.timed
                && chip.erase.scheme.has_loops()
                && chip.erase.last_loop == LastLoop::FirstWrite,
            program: chip.program.suspension_rule().map(|rule| (rule, chip.program.pulses_of_program())),
            plane_reads: chip.timing.plane_reads,
            multi_plane: chip.timing.multi_plane,
            erases_wait: config.ftl.shared.recovery != Recovery::Off && !config.ftl.kind.facts().copies_on_one_die,
            // The erase of a block comes behind the programs that take units out of it.
            changes_in_order: config.ftl.shared.recovery != Recovery::Off || geometry.units_per_page > 1,
            moves_wait: conduct.moves_between_dies,
            log_waits: config.ftl.shared.recovery == Recovery::Checkpoint,
        };
        let mut scheduler = Scheduler::new(geometry, chips, policy);
        scheduler.suspend_by(decider);
        scheduler.spread_programs(chip.program.spread, config.seed);
        Ssd {
            host: Host::new(config, geometry.page_bytes, oracle),
            controller: Controller::new(&config.host, geometry.page_bytes, ftl, scheduler)
                .numbering(config.ftl.shared.recovery)
                .protected_by(config.power.protection)
                .with_write_series(config.output.write_series),
            now: Time::ZERO,
            power: PowerFigures::default(),
            observer,
        }
    }

    /// The translation layer.
    pub fn ftl(&self) -> &Ftl {
        &self.controller.ftl
    }

    /// Prefetches the state that the first page of a coming request will need; no effect on results.
    #[inline]
    pub fn expect(&self, request: &HostRequest) {
        let lpn = self.host.pages.first_of(request);
        self.host.oracle.expect(lpn);
        self.controller.expect(lpn);
    }

    /// Prefetches what a coming write will invalidate, once its map entry is in the cache; no effect on results.
    #[inline]
    pub fn expect_soon(&self, request: &HostRequest) {
        self.controller.expect_soon(self.host.pages.first_of(request), request);
    }

    /// How long each part was busy up to `now`.
    pub fn busy_times(&self, now: Time) -> BusyTimes {
        let (dies, channels) = self.controller.scheduler.busy_times(now);
        BusyTimes { of: now, dies, channels, cores: self.host.cores_worked(now) }
    }

    /// When something happens next.
    #[inline]
    pub fn next_event(&self) -> Option<Time> {
        match (self.controller.scheduler.next_event(), self.host.next_event()) {
            (Some(flash), Some(host)) => Some(flash.min(host)),
            (flash, host) => flash.or(host),
        }
    }

    /// Takes a request in at `now`, which is not before anything that happened.
    ///
    /// # Errors
    /// A broken rule or belief.
    pub fn arrive(&mut self, request: &HostRequest, measured: bool, now: Time) -> Result<(), SimError> {
        self.now = now;
        let (id, is_here) = self.host.accept(request, measured, now);
        self.observer.observer().accepted(id, request);
        if is_here { self.begin(id) } else { Ok(()) }
    }

    /// Begins all page accesses of a request that has come in.
    fn begin(&mut self, id: u32) -> Result<(), SimError> {
        let now = self.now;
        let mut request = self.host.begin_split(id, now);
        if self.is_for_zones(&request) {
            match self.begin_in_zone(id, &request)? {
                Some(pages) => request = pages,
                None => {
                    self.host.page_ended(id, now, None, &mut self.observer.observer());
                    return Ok(());
                }
            }
        }
        self.controller.tell_begun(&request, self.host.pages.of(&request).map(|(lpn, _)| lpn), now)?;
        if request.kind == RequestKind::Flush {
            self.host.oracle.note_flush(id);
            let again = self.host.is_flushing_for_another(id);
            let moment = &mut Moment { now, oracle: &mut self.host.oracle, observer: self.observer.observer() };
            for _ in 0..self.controller.begin_flush(id, again, moment)? {
                self.host.page_begun(id);
            }
        }
        for (lpn, mask) in self.host.pages.of(&request) {
            if self.host.is_foreign(lpn) {
                continue;
            }
            self.host.page_begun(id);
            let access = PageAccess::new(Waits::Request(id), lpn, request.kind, mask).of(&request);
            let moment = &mut Moment { now, oracle: &mut self.host.oracle, observer: self.observer.observer() };
            if self.controller.begin(access, moment)? {
                self.host.page_done_at_once(id);
            }
            self.note_u_blocks();
        }
        if self.controller.is_buffered() {
            self.flush(false)?;
        }
        self.host.page_ended(id, now, None, &mut self.observer.observer());
        self.remind()
    }

    /// Notes how a page access changed the number of U-blocks in use, if several threads run the device.
    #[inline]
    fn note_u_blocks(&mut self) {
        if let Some(portion) = &mut self.host.portion {
            portion.note_u_blocks(&mut self.controller.ftl);
        }
    }

    /// Sets when the controller is to be reminded of what has just begun, and tells the host of pages that are done
    /// without an event.
    #[inline]
    fn remind(&mut self) -> Result<(), SimError> {
        if self.controller.wants_reminders() { self.set_reminders() } else { Ok(()) }
    }

    #[inline(never)]
    fn set_reminders(&mut self) -> Result<(), SimError> {
        while let Some(page) = self.controller.opened.pop() {
            self.host.remind_of_page(page, self.now);
        }
        for (token, time) in self.controller.looking_up.drain(..) {
            self.host.remind_of_look_up(token, time, self.now);
        }
        while let Some(id) = self.controller.take_page_done() {
            self.host.page_ended(id, self.now, None, &mut self.observer.observer());
        }
        Ok(())
    }

    /// Begins to program buffered pages: those that are due, or all.
    ///
    /// # Errors
    /// A broken rule or belief.
    pub fn flush(&mut self, everything: bool) -> Result<(), SimError> {
        let moment = &mut Moment { now: self.now, oracle: &mut self.host.oracle, observer: self.observer.observer() };
        self.controller.flush(everything, moment)?;
        self.remind()
    }

    /// Handles the next event, if it is due by `due`; the host's go first among those of one instant. Events of dies behind
    /// it that are due follow in one go, until one is noticed by more than its die. Returns how many it handled.
    ///
    /// # Errors
    /// A broken rule or belief.
    #[inline]
    pub fn run_until(&mut self, due: Time) -> Result<u64, SimError> {
        let flash = self.controller.scheduler.next_event();
        match self.host.next_event() {
            Some(at) if flash.is_none_or(|flash| at <= flash) => {
                if at > due {
                    return Ok(0);
                }
                debug_assert!(at >= self.now, "what a power cut took with it must not be due behind it");
                self.now = at;
                self.handle_due().map(|()| 1)
            }
            Some(at) => self.run_flash_until(due.min(at - Time(1))),
            None => self.run_flash_until(due),
        }
    }

    /// Handles what is due on the link.
    fn handle_due(&mut self) -> Result<(), SimError> {
        match self.host.take_due() {
            Some((at, Due::Received(id))) => {
                if self.host.enter_controller(id, at) {
                    Ok(())
                } else {
                    self.begin(id)
                }
            }
            Some((at, Due::Handled(id))) => {
                self.begin(id)?;
                self.host.core_goes_on(self.controller.take_handed_over(), at);
                Ok(())
            }
            Some((at, Due::CoreFree)) => {
                self.host.core_is_free(at);
                Ok(())
            }
            Some((at, Due::Sent(id))) => {
                self.host.complete(id, at, None, &mut self.observer.observer());
                Ok(())
            }
            Some((at, Due::LookedUp(token, took))) => {
                self.end_stage(&PageDone::without_flash(token, at, took))?;
                self.owe_cores();
                self.remind()
            }
            Some((now, Due::Gathered(page))) => {
                let moment = &mut Moment { now, oracle: &mut self.host.oracle, observer: self.observer.observer() };
                self.controller.force_out_page(page, moment)?;
                self.owe_cores();
                Ok(())
            }
            None => Ok(()),
        }
    }

    /// Handles events of the scheduler: what is done comes back to the host.
    #[inline]
    fn run_flash_until(&mut self, due: Time) -> Result<u64, SimError> {
        let handled = self.controller.scheduler.run_until(due, &mut self.now, &mut self.observer.observer())?;
        self.notice()?;
        Ok(handled)
    }

    /// What is done on flash comes back to the host, and a die that is idle gets its next step.
    #[inline]
    fn notice(&mut self) -> Result<(), SimError> {
        let now = self.now;
        while let Some(done) = self.controller.scheduler.first_done() {
            if names_request(done.token) {
                self.host.note_page_done(done, now, &mut self.observer.observer());
                self.controller.scheduler.take_done();
                continue;
            }
            let Some(done) = self.controller.scheduler.take_done() else { break };
            self.end_stage(&done)?;
        }
        let moment = &mut Moment { now, oracle: &mut self.host.oracle, observer: self.observer.observer() };
        self.controller.send_held(moment)?;
        if let Some(die) = self.controller.scheduler.take_idle() {
            self.controller.work_when_idle(die, moment)?;
        }
        self.owe_cores();
        self.remind()
    }

    /// What a stage of an access waited for is done.
    fn end_stage(&mut self, done: &PageDone) -> Result<(), SimError> {
        let now = self.now;
        let moment = &mut Moment { now, oracle: &mut self.host.oracle, observer: self.observer.observer() };
        match self.controller.note_done(done, moment)? {
            PageEnd::Staged(id, parts) => self.host.page_ended(id, now, Some(parts), &mut self.observer.observer()),
            PageEnd::Internal => {}
        }
        while let Some(id) = self.controller.take_page_done() {
            self.host.page_ended(id, now, None, &mut self.observer.observer());
        }
        Ok(())
    }

    /// Commands have gone out that no request has just caused: the cores are owed work for them from this instant on.
    fn owe_cores(&mut self) {
        if self.host.has_cores() {
            self.host.owe_cores(self.controller.take_handed_over(), self.now);
        }
    }

    /// Power is cut now: everything under way ends. Returns the commands that were changing flash.
    ///
    /// # Errors
    /// A broken rule or belief, found in commands that had ended.
    pub fn cut_flash(&mut self) -> Result<Vec<UnderWay>, SimError> {
        self.controller.scheduler.cut_power(self.now, &mut self.observer.observer())
    }

    /// The commands that are changing flash at an instant that no event comes before.
    ///
    /// # Errors
    /// A broken rule or belief, found in commands that had ended.
    pub fn changing_at(&mut self, at: Time) -> Result<Vec<UnderWay>, SimError> {
        self.controller.scheduler.changing_at(at, &mut self.observer.observer())
    }

    /// Tells the observer that the power was cut, and what was under way torn.
    pub fn tell_power_lost(&mut self, random: &mut RandomStream) {
        self.observer.observer().power_lost(&mut self.controller.scheduler.chips.checked.array, random);
    }

    /// The power is cut, and the device's own energy lasts: what is queued ends, what is buffered is programmed, and what
    /// was trimmed is written down. The host hears of nothing.
    ///
    /// # Errors
    /// A broken rule or belief.
    pub fn run_on(&mut self) -> Result<(), SimError> {
        self.controller.forget_waiting();
        self.flush(true)?;
        self.run_out(|_| None)?;
        if self.controller.gathers() {
            // What had to read its old copy first has gone into open pages meanwhile.
            self.flush(true)?;
            self.run_out(|_| None)?;
        }
        let moment = &mut Moment { now: self.now, oracle: &mut self.host.oracle, observer: self.observer.observer() };
        self.controller.save_trims(moment)?;
        self.run_out(|_| None).map(drop)
    }

    /// Runs what is queued to its end: the host hears of nothing, and the layer does nothing of its own. `false` if the
    /// power is cut before the end; `next_cut` tells when it is cut next.
    ///
    /// # Errors
    /// A broken rule or belief.
    pub fn run_out(&mut self, next_cut: impl Fn(&Scheduler) -> Option<Time>) -> Result<bool, SimError> {
        while let Some(at) = self.controller.scheduler.next_event() {
            if next_cut(&self.controller.scheduler).is_some_and(|cut| cut <= at) {
                return Ok(false);
            }
            self.controller.scheduler.run_until(at, &mut self.now, &mut self.observer.observer())?;
            while let Some(done) = self.controller.scheduler.take_done() {
                let moment = &mut Moment { now: at, oracle: &mut self.host.oracle, observer: self.observer.observer() };
                self.controller.note_done(&done, moment)?;
                while self.controller.take_page_done().is_some() {}
            }
            self.controller.scheduler.take_idle();
        }
        Ok(true)
    }

    /// Commands that wait at an instant that no event comes before, and have changed nothing yet.
    ///
    /// # Errors
    /// A broken rule or belief, found in commands that had ended.
    pub fn waiting_at(&mut self, at: Time) -> Result<Vec<FlashCommand>, SimError> {
        self.controller.scheduler.waiting_at(at, &mut self.observer.observer())
    }

    /// Queues commands of a device that recovers, each on its own.
    ///
    /// # Errors
    /// A broken rule or belief.
    pub fn submit_recovery(&mut self, commands: &[FlashCommand]) -> Result<(), SimError> {
        for command in commands {
            let commands = std::slice::from_ref(command);
            let alone =
                Submission { commands, completes: 0, token: NOBODY, parts: false, urgent: false, part: Time::ZERO };
            self.controller.scheduler.submit(&alone, self.now, &mut self.observer.observer())?;
        }
        Ok(())
    }

    /// Runs a request without a clock.
    ///
    /// # Errors
    /// A broken rule or belief.
    pub fn run_untimed(&mut self, request: &HostRequest, measured: bool) -> Result<(), SimError> {
        if self.is_for_zones(request) {
            return self.run_zoned(request, measured);
        }
        self.run_pages(request)?;
        if measured && self.host.portion.as_ref().is_none_or(|portion| portion.counts()) {
            self.host.note_untimed(request, &mut self.observer.observer());
        }
        Ok(())
    }

    /// Runs a request that its zone checks, without a clock.
    fn run_zoned(&mut self, request: &HostRequest, measured: bool) -> Result<(), SimError> {
        match self.run_in_zone(request)? {
            Ok(pages) => {
                if let Some(pages) = pages {
                    self.run_pages(&pages)?;
                }
                if measured {
                    self.host.note_untimed(request, &mut self.observer.observer());
                }
            }
            Err(refusal) => self.host.metrics.refused[refusal.place()] += u64::from(measured),
        }
        Ok(())
    }

    /// Runs the pages of a request, or its flush, without a clock.
    fn run_pages(&mut self, request: &HostRequest) -> Result<(), SimError> {
        let pages = self.host.pages.of(request).map(|(lpn, _)| lpn);
        self.controller.tell_begun(request, pages, Time::ZERO)?;
        for (lpn, mask) in self.host.pages.of(request) {
            if self.host.is_foreign(lpn) {
                continue;
            }
            let access = PageAccess::new(Waits::Nobody, lpn, request.kind, mask).of(request);
            self.controller.run_untimed(&access, &mut self.host.oracle, &mut self.observer.observer())?;
            self.note_u_blocks();
        }
        if request.kind == RequestKind::Flush && self.controller.heeds_flushes() {
            self.flush_untimed()?;
        }
        Ok(())
    }

    /// Programs what is still buffered, without a clock.
    ///
    /// # Errors
    /// A broken rule or belief.
    pub fn flush_untimed(&mut self) -> Result<(), SimError> {
        self.controller.flush_untimed(true, &mut self.host.oracle, &mut self.observer.observer())
    }

    /// Starts measuring at `now`: everything counted so far is warm-up.
    pub fn restart_measuring(&mut self, now: Time) {
        self.host.restart_measuring(now);
        self.controller.restart_measuring();
        self.host.portion.iter_mut().for_each(|portion| portion.restart_measuring());
        self.power.restart();
    }

    /// Reads everything stored back, without commands.
    pub fn read_back(&mut self) {
        let Ssd { host, controller, .. } = self;
        let is_meant = |lpn| host.portion.as_ref().is_none_or(|portion| portion.has(lpn));
        host.lost_pages = controller.read_back(&host.oracle, is_meant).len() as u64;
    }
}
