//! Accesses without a clock: each command takes effect as soon as it is decided.

use pumice_nand::PageContent;
use pumice_types::{Lpn, RequestKind, Time};

use super::access::{PageAccess, Waits};
use super::buffer::DuePage;
use super::{Controller, STAGES};
use crate::error::SimError;
use crate::host::oracle::Oracle;
use crate::host::programs::StoredVersion;
use crate::observe::ObserverRef;

impl Controller {
    /// Runs one page access of a request.
    ///
    /// # Errors
    /// A broken rule or belief.
    pub fn run_untimed(
        &mut self,
        access: &PageAccess,
        oracle: &mut Oracle,
        observer: &mut ObserverRef,
    ) -> Result<(), SimError> {
        let PageAccess { lpn, mask, kind, .. } = *access;
        let is_through = access.fua && self.heeds_flushes();
        match (&mut self.buffer, kind) {
            (Some(buffer), RequestKind::Write) => {
                // Without a clock a program is done at once, so the buffer never stays full.
                let entry = buffer.write(lpn, mask, access.stream);
                debug_assert!(entry.is_some());
                if let Some(due) = entry.filter(|_| is_through).and_then(|entry| buffer.begin_program(entry)) {
                    self.program_untimed(&due, true, oracle, observer)?;
                }
                return self.flush_untimed(false, oracle, observer);
            }
            (Some(buffer), RequestKind::Read) if buffer.holds(lpn, mask) => {
                self.tally.counts.buffer_hits += 1;
                return Ok(());
            }
            (Some(_), RequestKind::Read | RequestKind::Trim | RequestKind::Flush | RequestKind::Zone(_))
            | (None, _) => {}
        }
        self.run_stages(*access, oracle, observer)
    }

    fn run_stages(
        &mut self,
        mut access: PageAccess,
        oracle: &mut Oracle,
        observer: &mut ObserverRef,
    ) -> Result<(), SimError> {
        let stages = if self.is_staged(&access) { &STAGES[..] } else { &STAGES[2..] };
        for &stage in stages {
            access.stage = stage;
            let planned = self.plan_stage(&access, oracle);
            if matches!(planned, Ok(()) | Err(SimError::WornOut(_))) {
                // What a plan holds that stopped for want of a block, the layer believes in already.
                self.execute_plan(observer)?;
            }
            planned?;
            self.note_placed(&access, oracle);
        }
        self.run_operations_untimed(observer)
    }

    /// Executes the commands of the plan, one after the other.
    pub(super) fn execute_plan(&mut self, observer: &mut ObserverRef) -> Result<(), SimError> {
        // Time forces no page out that gathers units.
        self.opened.clear();
        self.prepare_plan(observer);
        for command in &self.plan.commands {
            self.tally.note(command);
            self.scheduler.chips.execute_untimed(command)?;
            observer.command(Time::ZERO, Time::ZERO, command);
        }
        Ok(())
    }

    /// Programs buffered pages: those that are due, or all.
    ///
    /// # Errors
    /// A broken rule or belief.
    pub fn flush_untimed(
        &mut self,
        everything: bool,
        oracle: &mut Oracle,
        observer: &mut ObserverRef,
    ) -> Result<(), SimError> {
        while let Some(due) = self.buffer.as_mut().and_then(|buffer| buffer.next_flush(everything)) {
            self.program_untimed(&due, false, oracle, observer)?;
        }
        if everything && self.rules.gathers { self.force_out_untimed(observer) } else { Ok(()) }
    }

    /// Programs a buffered page.
    fn program_untimed(
        &mut self,
        due: &DuePage,
        through: bool,
        oracle: &mut Oracle,
        observer: &mut ObserverRef,
    ) -> Result<(), SimError> {
        let access = PageAccess::new(Waits::Nobody, due.lpn, RequestKind::Write, due.mask).to_stream(due.stream);
        let access = access.through(through);
        self.run_stages(access, oracle, observer)?;
        if let Some(buffer) = &mut self.buffer {
            buffer.release(due.entry, &mut self.pages_done);
        }
        Ok(())
    }

    /// Merges until no U-block is in use, for layers that can be asked for that. Returns whether this one can.
    ///
    /// # Errors
    /// A broken rule or belief.
    pub fn merge_all_untimed(&mut self) -> Result<bool, SimError> {
        self.plan.clear();
        let Some(merging) = self.ftl.layer_mut().merging() else { return Ok(false) };
        merging.merge_all(&mut self.plan)?;
        for command in &self.plan.commands {
            self.scheduler.chips.execute(command)?;
        }
        Ok(true)
    }

    /// What lies where the layer finds a logical page.
    pub fn find(&self, lpn: Lpn) -> Option<(PageContent, StoredVersion)> {
        let array = &self.scheduler.chips.checked.array;
        let place = self.ftl.locate(lpn)?;
        let content = array.peek(place).ok()?;
        Some((content, StoredVersion { program: array.write_number(place), version: content.version }))
    }

    /// Reads every stored page back without commands; counts corrupt pages, and returns those that are lost, with what is
    /// found in place of the version wanted, if it is one of that page. Only of pages that are meant.
    pub fn read_back(&mut self, oracle: &Oracle, is_meant: impl Fn(Lpn) -> bool) -> Vec<(Lpn, Option<StoredVersion>)> {
        let mut lost = Vec::new();
        let stored = (0..self.ftl.user_pages()).map(Lpn).filter(|&lpn| oracle.is_stored(lpn) && is_meant(lpn));
        for lpn in stored {
            let found = self.find(lpn).filter(|(page, _)| page.lpn == lpn);
            let checked = &mut self.scheduler.chips.checked;
            checked.pages_checked += 1;
            match found {
                Some((_, stored)) if !oracle.is_newest(lpn, stored) => lost.push((lpn, Some(stored))),
                Some((page, _)) if page.corrupt => checked.note_corrupt(lpn),
                Some(_) => {}
                None => lost.push((lpn, None)),
            }
        }
        lost
    }

    /// Pages that the host gave up and that the layer finds nevertheless, with what they return.
    pub fn come_back(&self, oracle: &Oracle) -> Vec<(Lpn, Option<StoredVersion>)> {
        oracle.trimmed().into_iter().filter_map(|lpn| Some((lpn, Some(self.find(lpn)?.1)))).collect()
    }
}
