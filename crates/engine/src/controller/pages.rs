//! Page accesses: from their first stage to their last, with a clock and without one.

use pumice_types::{Cause, FlashCommand, FlashOp, HostRequest, RequestKind, Time};

use super::access::{Access, Waits};
use super::parts::{Parts, Stage};
use super::{Clock, Host};
use crate::error::SimError;
use crate::output::{Observer, RequestRecord};
use crate::scheduler::{NOBODY, PageDone, Submission};

impl Host {
    /// Begins a page access of a request. Returns whether it is done at once.
    #[inline]
    pub(super) fn begin_page<O: Observer>(&mut self, access: &Access, clock: &mut Clock<O>) -> Result<bool, SimError> {
        if let Some(buffer) = &mut self.buffer {
            match access.kind {
                RequestKind::Read if buffer.holds(access.lpn, access.mask) => {
                    self.metrics.buffer_hits += 1;
                    return Ok(true);
                }
                RequestKind::Write => {
                    // Those who wait longer go first.
                    let stored = self.waiting.is_empty() && buffer.write(access.lpn, access.mask);
                    if !stored {
                        self.waiting.push_back(*access);
                    }
                    return Ok(stored);
                }
                RequestKind::Trim => buffer.trim(access.lpn),
                RequestKind::Read => {}
            }
        }
        let Waits::Request(id) = access.waits else { return Ok(true) };
        if !self.is_staged(access) {
            let access = Access { stage: Stage::Data, ..*access };
            self.plan_stage(&access)?;
            return Ok(self.submit_plan(&Wait::of(&access, id), clock)? == 0);
        }
        let token = self.accesses.insert(*access);
        Ok(!self.proceed(token, clock)?)
    }

    /// Whether an access may take more than one stage.
    #[inline]
    fn is_staged(&self, access: &Access) -> bool {
        self.rules.loads_map || self.needs_old_copy(access)
    }

    /// Whether an access reads the page's old copy first.
    #[inline]
    fn needs_old_copy(&self, access: &Access) -> bool {
        self.rules.reads_old_copy && access.kind == RequestKind::Write && !access.is_whole()
    }

    /// Takes an access through its stages until one has to be waited for. Returns whether one has.
    fn proceed<O: Observer>(&mut self, token: u32, clock: &mut Clock<O>) -> Result<bool, SimError> {
        loop {
            let Some(&mut access) = self.accesses.get(token) else { return Ok(false) };
            self.plan_stage(&access)?;
            let groups = self.submit_plan(&Wait::of(&access, token), clock)?;
            if let Some(access) = self.accesses.get(token) {
                access.groups_left = groups;
            }
            if groups > 0 {
                return Ok(true);
            }
            if !self.next_stage(token) {
                return Ok(false);
            }
        }
    }

    /// Moves an access on; `false`, and it is forgotten, if it was in its last stage.
    fn next_stage(&mut self, token: u32) -> bool {
        let Some(access) = self.accesses.get(token) else { return false };
        access.stage = match access.stage {
            Stage::Map => Stage::Rmw,
            Stage::Rmw => Stage::Data,
            Stage::Data => {
                self.accesses.remove(token);
                return false;
            }
        };
        true
    }

    /// Fills the plan with the commands of an access's stage.
    #[inline]
    fn plan_stage(&mut self, access: &Access) -> Result<(), SimError> {
        self.plan.clear();
        match access.stage {
            Stage::Map if self.rules.loads_map => self.ftl.load_map(access.lpn, access.kind, &mut self.plan)?,
            Stage::Rmw if self.needs_old_copy(access) => {
                // Nothing to read if the page was never written.
                self.ftl.read(access.lpn, self.device.ledger.version(access.lpn), &mut self.plan);
                self.plan.commands.iter_mut().for_each(|command| command.cause = Cause::Rmw);
            }
            Stage::Map | Stage::Rmw => {}
            Stage::Data => self.translate(access)?,
        }
        Ok(())
    }

    /// Adds the commands of a page access itself to the plan.
    #[inline]
    fn translate(&mut self, access: &Access) -> Result<(), SimError> {
        let lpn = access.lpn;
        match access.kind {
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
            RequestKind::Trim => {
                self.device.ledger.note_trim(lpn);
                self.ftl.trim(lpn);
            }
        }
        Ok(())
    }

    /// Gives the plan to the scheduler, a group of commands for each run on one die. Returns for how
    /// many groups is waited: for the one that completes the access, or for all of them.
    #[inline]
    pub(super) fn submit_plan<O: Observer>(&mut self, wait: &Wait, clock: &mut Clock<O>) -> Result<u32, SimError> {
        self.note_erases();
        let completes = self.plan.completes();
        let (mut waiting, mut start) = (0, 0);
        while let Some(first) = self.plan.commands.get(start) {
            let rest = &self.plan.commands[start..];
            let length = match self.rules.loads_map {
                // Only the pages of a map lie on other dies than the access.
                false => rest.len(),
                true => {
                    let die = clock.scheduler.die_of(first);
                    rest.iter().position(|command| clock.scheduler.die_of(command) != die).unwrap_or(rest.len())
                }
            };
            let commands = &rest[..length];
            let completing = completes.filter(|at| (start..start + length).contains(at)).map(|at| at - start);
            let is_waited_for = wait.every_group || completing.is_some();
            let group = Submission {
                commands,
                completes: completing.filter(|_| !wait.every_group).unwrap_or(length - 1),
                token: if is_waited_for { wait.token } else { NOBODY },
                parts: wait.parts && is_waited_for,
                urgent: wait.urgent,
            };
            let answered = clock.scheduler.submit(&group, clock.now, &mut self.device, clock.observer)?;
            if answered {
                self.metrics.buffer_hits += 1;
            } else {
                commands.iter().for_each(|command| self.tally.note(command));
            }
            waiting += u32::from(group.token != NOBODY && !answered);
            start += length;
        }
        Ok(waiting)
    }

    /// Takes note of the erases in the plan, so that the FTL is told the status of those after them.
    #[inline]
    fn note_erases(&mut self) {
        let Some(eraser) = self.device.eraser.as_mut().filter(|_| self.rules.erases_fail) else { return };
        for nth in 0..self.plan.commands.len() {
            let FlashCommand { op, target, .. } = self.plan.commands[nth];
            if op == FlashOp::Erase && eraser.decide(target.block.0) {
                self.plan.note_failing(target.block);
            }
        }
    }

    /// Notes a group of commands that is done.
    ///
    /// # Errors
    /// A broken rule or belief.
    #[inline]
    pub fn note_done<O: Observer>(&mut self, done: &PageDone, clock: &mut Clock<O>) -> Result<(), SimError> {
        let Some(access) = self.accesses.get(done.token) else {
            // Only writes ask where their time went.
            let parts = (self.slots[done.token as usize].request.kind == RequestKind::Write).then(|| {
                let mut parts = Parts::default();
                parts.add(Stage::Data, done);
                parts
            });
            self.page_ended(done.token, done.at, parts, clock.observer);
            return Ok(());
        };
        access.groups_left -= 1;
        if access.groups_left > 0 {
            return Ok(());
        }
        access.parts.add(access.stage, done);
        if self.next_stage(done.token) && self.proceed(done.token, clock)? {
            return Ok(());
        }
        self.access_ended(done.token, clock)
    }

    /// Tells whoever waited for an access that it is done.
    fn access_ended<O: Observer>(&mut self, token: u32, clock: &mut Clock<O>) -> Result<(), SimError> {
        // Its record is free, but nothing has taken its place yet.
        let Some(&mut access) = self.accesses.get(token) else { return Ok(()) };
        match access.waits {
            Waits::Request(id) => {
                self.page_ended(id, clock.now, Some(access.parts), clock.observer);
                Ok(())
            }
            Waits::Buffer(entry) => self.buffered_page_ended(entry, clock),
            Waits::Nobody => Ok(()),
        }
    }

    /// Frees a place in the write buffer and lets in who waited for it.
    fn buffered_page_ended<O: Observer>(&mut self, entry: u32, clock: &mut Clock<O>) -> Result<(), SimError> {
        let Some(buffer) = &mut self.buffer else { return Ok(()) };
        buffer.release(entry);
        while let Some(&Access { lpn, mask, waits: Waits::Request(id), .. }) = self.waiting.front() {
            if !self.buffer.as_mut().is_some_and(|buffer| buffer.write(lpn, mask)) {
                break;
            }
            self.waiting.pop_front();
            self.page_ended(id, clock.now, None, clock.observer);
        }
        self.flush(false, clock)
    }

    /// Begins to program buffered pages: those that are due, or all.
    ///
    /// # Errors
    /// A broken rule or belief.
    pub fn flush<O: Observer>(&mut self, everything: bool, clock: &mut Clock<O>) -> Result<(), SimError> {
        while let Some((entry, lpn, mask)) = self.buffer.as_mut().and_then(|buffer| buffer.next_flush(everything)) {
            let access = Access::new(Waits::Buffer(entry), lpn, RequestKind::Write, mask);
            let token = self.accesses.insert(access);
            self.proceed(token, clock)?;
        }
        Ok(())
    }

    /// Runs a request without a clock.
    ///
    /// # Errors
    /// A broken rule or belief.
    pub fn run_untimed(
        &mut self,
        request: &HostRequest,
        measured: bool,
        observer: &mut impl Observer,
    ) -> Result<(), SimError> {
        for (lpn, mask) in self.rules.pages(request) {
            let access = Access::new(Waits::Nobody, lpn, request.kind, mask);
            match (&mut self.buffer, request.kind) {
                (Some(buffer), RequestKind::Write) => {
                    // Without a clock a program is done at once, so the buffer never stays full.
                    let stored = buffer.write(lpn, mask);
                    debug_assert!(stored);
                    self.flush_untimed(false, observer)?;
                    continue;
                }
                (Some(buffer), RequestKind::Read) if buffer.holds(lpn, mask) => {
                    self.metrics.buffer_hits += u64::from(measured);
                    continue;
                }
                (Some(buffer), RequestKind::Trim) => buffer.trim(lpn),
                _ => {}
            }
            self.run_access_untimed(access, observer)?;
        }
        if measured {
            self.metrics.record(request, Time::ZERO, &Parts::default());
            observer.request(&RequestRecord { arrival: Time::ZERO, done: Time::ZERO, request: *request });
        }
        Ok(())
    }

    fn run_access_untimed(&mut self, mut access: Access, observer: &mut impl Observer) -> Result<(), SimError> {
        let stages: &[Stage] =
            if self.is_staged(&access) { &[Stage::Map, Stage::Rmw, Stage::Data] } else { &[Stage::Data] };
        for &stage in stages {
            access.stage = stage;
            self.plan_stage(&access)?;
            self.note_erases();
            for command in &self.plan.commands {
                self.tally.note(command);
                self.device.execute_untimed(command)?;
                observer.command(Time::ZERO, Time::ZERO, command);
            }
        }
        Ok(())
    }

    /// Programs buffered pages without a clock: those that are due, or all.
    ///
    /// # Errors
    /// A broken rule or belief.
    pub fn flush_untimed(&mut self, everything: bool, observer: &mut impl Observer) -> Result<(), SimError> {
        while let Some((entry, lpn, mask)) = self.buffer.as_mut().and_then(|buffer| buffer.next_flush(everything)) {
            self.run_access_untimed(Access::new(Waits::Nobody, lpn, RequestKind::Write, mask), observer)?;
            if let Some(buffer) = &mut self.buffer {
                buffer.release(entry);
            }
        }
        Ok(())
    }
}

/// Who waits for a plan, and how.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wait {
    token: u32,
    /// The parts of the wait are asked for.
    parts: bool,
    /// A host read.
    urgent: bool,
    /// All groups of commands are waited for.
    every_group: bool,
}

impl Wait {
    /// Nobody waits.
    pub(super) const NOBODY: Wait = Wait { token: NOBODY, parts: false, urgent: false, every_group: false };

    #[inline]
    fn of(access: &Access, token: u32) -> Wait {
        let of_request = matches!(access.waits, Waits::Request(_));
        Wait {
            token,
            parts: of_request && access.kind == RequestKind::Write,
            urgent: of_request && access.kind == RequestKind::Read,
            every_group: access.stage == Stage::Map,
        }
    }
}
