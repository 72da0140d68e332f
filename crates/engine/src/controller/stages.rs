//! The stages of a page access, from the first to the last.

use pumice_ftl::FtlError;
use pumice_types::{Cause, FlashCommand, FlashOp, RequestKind, Time};

use super::access::{PageAccess, Waits};
use super::buffer::WriteBuffer;
use super::submit::Wait;
use super::{BufferedWrite, Controller, HeldBack, Moment};
use crate::error::SimError;
use crate::host::oracle::Oracle;
use crate::metrics::Stage;
use crate::observe::{ObserverRef, PageRead, PageReader};

impl Controller {
    /// Begins a page access of a request. Returns whether it is done at once.
    ///
    /// # Errors
    /// A broken rule or belief.
    #[inline]
    pub fn begin(&mut self, mut access: PageAccess, moment: &mut Moment) -> Result<bool, SimError> {
        if let Some(buffer) = &mut self.buffer {
            match access.kind {
                RequestKind::Read if buffer.holds(access.lpn, access.mask) => {
                    self.tally.counts.buffer_hits += 1;
                    self.plan.clear();
                    self.tell_read(&access.in_last_stage(), &mut moment.observer);
                    return Ok(true);
                }
                RequestKind::Write => {
                    // Those who wait longer go first.
                    if !self.waiting.is_empty() {
                        self.waiting.push_back((access, moment.now));
                        return Ok(false);
                    }
                    let written = self.write_to_buffer(&access, moment)?;
                    if matches!(written, BufferedWrite::NoRoom) {
                        self.waiting.push_back((access, moment.now));
                    }
                    return Ok(matches!(written, BufferedWrite::Done));
                }
                RequestKind::Read | RequestKind::Trim | RequestKind::Flush | RequestKind::Zone(_) => {}
            }
        }
        let Waits::Request(id) = access.waits else { return Ok(true) };
        if !self.is_staged(&access) {
            access.stage = Stage::Data;
            let planned = self.plan_stage(&access, moment.oracle);
            self.unless_worn_out(planned, moment)?;
            self.tell_read(&access, &mut moment.observer);
            let wait = Wait::of(&access, id, &self.scheduler.chips.timing);
            let is_done = self.submit_plan(&wait, moment)? == 0;
            self.note_placed(&access, moment.oracle);
            self.begin_operations(moment)?;
            return Ok(is_done);
        }
        let token = self.accesses.insert(access);
        Ok(!self.proceed(token, moment)?)
    }

    /// Whether an access may take more than one stage, or wait before its last.
    #[inline]
    pub(super) fn is_staged(&self, access: &PageAccess) -> bool {
        self.rules.loads_map || self.needs_old_copy(access) || self.trim_waits(access)
    }

    /// Whether an access is a trim of a page that the write buffer has begun to program and that has no place yet: its old
    /// copy is being read. A trim before the place would not count for what is put there.
    #[inline]
    pub(super) fn trim_waits(&self, access: &PageAccess) -> bool {
        let is_placing = |buffer: &WriteBuffer| buffer.is_placing(access.lpn);
        access.kind == RequestKind::Trim && self.buffer.as_ref().is_some_and(is_placing)
    }

    /// Whether an access reads the page's old copy first.
    #[inline]
    fn needs_old_copy(&self, access: &PageAccess) -> bool {
        self.rules.reads_old_copy && access.kind == RequestKind::Write && !access.is_whole()
    }

    /// Takes an access through its stages until one has to be waited for. Returns whether one has.
    pub(super) fn proceed(&mut self, token: u32, moment: &mut Moment) -> Result<bool, SimError> {
        loop {
            let Some(&mut access) = self.accesses.get(token) else { return Ok(false) };
            if access.stage == Stage::Data && self.trim_waits(&access) {
                self.held_back.push(HeldBack::Trim(token));
                return Ok(true);
            }
            let planned = self.plan_stage(&access, moment.oracle);
            self.unless_worn_out(planned, moment)?;
            self.tell_read(&access, &mut moment.observer);
            let wait = Wait::of(&access, token, &self.scheduler.chips.timing);
            let look_up = self.plan.look_up;
            let holds = self.plan.commands.last().map_or(0, |last| self.in_turn.programmed_with(last));
            let mut groups = match self.in_turn.holds(&access) {
                true => self.send_or_hold(wait, moment)?,
                false => self.submit_plan(&wait, moment)?,
            };
            if look_up > Time::ZERO {
                self.looking_up.push((token, look_up));
                groups += 1;
            }
            self.note_placed(&access, moment.oracle);
            if let Some(access) = self.accesses.get(token) {
                access.groups_left = groups;
            }
            if let (Stage::Data, Waits::Buffer(entry), Some(buffer)) = (access.stage, access.waits, &mut self.buffer) {
                buffer.note_placed(entry, if self.in_turn.holds(&access) { holds } else { 0 });
            }
            self.begin_operations(moment)?;
            if groups > 0 {
                return Ok(true);
            }
            if !self.next_stage(token) {
                return Ok(false);
            }
        }
    }

    /// Tells the oracle which program stores what a write has brought, once it has its number.
    #[inline]
    pub(super) fn note_placed(&self, access: &PageAccess, oracle: &mut Oracle) {
        if access.kind != RequestKind::Write || access.stage != Stage::Data || !oracle.keeps_promises() {
            return;
        }
        if self.rules.gathers {
            return oracle.note_placed(access.lpn, self.plan.write_number);
        }
        let stores =
            |command: &&FlashCommand| command.op == FlashOp::Program && command.lpn == access.lpn && !command.is_move();
        let program = self.plan.commands.iter().rfind(stores);
        debug_assert!(program.is_some(), "a write is programmed by its own plan");
        program.into_iter().for_each(|program| oracle.note_placed(access.lpn, program.number()));
    }

    /// Tells the observer of a page that the plan reads for a request, or as the old copy of a page, or that is given up.
    #[inline]
    fn tell_read(&self, access: &PageAccess, observer: &mut ObserverRef) {
        if observer.is_nobody() {
            return;
        }
        let reader = match access.stage {
            Stage::Data if access.kind == RequestKind::Trim => return observer.gives_up(access.lpn),
            Stage::Data if access.kind == RequestKind::Read => access.waits.request().map(PageReader::Request),
            Stage::Rmw if self.needs_old_copy(access) => Some(PageReader::PartialWrite),
            Stage::Map | Stage::Rmw | Stage::Data => None,
        };
        let Some(reader) = reader else { return };
        let reads =
            |command: &&FlashCommand| command.op == FlashOp::Read && matches!(command.cause, Cause::Host | Cause::Rmw);
        let place = self.plan.commands.iter().rfind(reads).map(|command| command.target);
        let array = &self.scheduler.chips.checked.array;
        observer.reads_page(&PageRead { reader, lpn: access.lpn, place, array });
    }

    /// Moves an access on; `false`, and it is forgotten, if it was in its last stage.
    pub(super) fn next_stage(&mut self, token: u32) -> bool {
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

    /// Hands over what a plan holds that stopped for want of a block, because the layer believes in it already.
    pub(super) fn unless_worn_out(
        &mut self,
        planned: Result<(), SimError>,
        moment: &mut Moment,
    ) -> Result<(), SimError> {
        if matches!(planned, Err(SimError::WornOut(_))) {
            self.submit_plan(&Wait::NOBODY, moment)?;
        }
        planned
    }

    /// Fills the plan with the commands of an access's stage.
    #[inline]
    pub(super) fn plan_stage(&mut self, access: &PageAccess, oracle: &mut Oracle) -> Result<(), SimError> {
        self.plan.clear();
        match access.stage {
            Stage::Map if self.rules.loads_map => self.ftl.load_map(access.lpn, access.kind, &mut self.plan)?,
            Stage::Rmw if self.needs_old_copy(access) => {
                // Nothing to read if the page was never written.
                if !self.ftl.read(access.lpn, oracle.version(access.lpn), &mut self.plan) {
                    self.raise_fault()?;
                }
                self.plan.commands.iter_mut().for_each(|command| command.cause = Cause::Rmw);
            }
            Stage::Map | Stage::Rmw => {}
            Stage::Data => self.translate(access, oracle)?,
        }
        Ok(())
    }

    /// Adds the commands of a page access itself to the plan.
    #[inline]
    fn translate(&mut self, access: &PageAccess, oracle: &mut Oracle) -> Result<(), SimError> {
        let lpn = access.lpn;
        match access.kind {
            RequestKind::Write => self.store(access, oracle)?,
            RequestKind::Read => {
                let found = self.ftl.read(lpn, oracle.version(lpn), &mut self.plan);
                if found {
                    // A unit that still gathers is in RAM.
                    self.tally.counts.buffer_hits += u64::from(self.rules.gathers && self.plan.commands.is_empty());
                    return Ok(());
                }
                self.raise_fault()?;
                if oracle.is_stored(lpn) {
                    let text = format!("integrity: the FTL does not find logical page {}, which was stored", lpn.0);
                    return Err(SimError::Simulation(text));
                }
            }
            RequestKind::Trim => {
                self.buffer.iter_mut().for_each(|buffer| buffer.trim(lpn));
                oracle.note_trim(lpn, access.waits.request());
                self.number_write();
                self.ftl.trim(lpn);
                self.raise_fault()?;
                self.plan.complete_here();
                if let Some(trims) = self.ftl.layer_mut().durable_trims() {
                    trims.keep_trims(&mut self.plan)?;
                }
            }
            RequestKind::Flush | RequestKind::Zone(_) => unreachable!("a flush or zone command has no pages"),
        }
        Ok(())
    }

    /// Adds the commands of a write to the plan.
    #[inline]
    fn store(&mut self, access: &PageAccess, oracle: &mut Oracle) -> Result<(), SimError> {
        let lpn = access.lpn;
        let before = (oracle.version(lpn), oracle.is_trimmed(lpn));
        let version = oracle.next_version(lpn, access.waits.request());
        self.number_write();
        let written = self.ftl.write_to_stream(lpn, version, access.stream, &mut self.plan);
        // Where collection follows a write, the page may be stored before no block is left.
        let stores = |command: &FlashCommand| command.op == FlashOp::Program && command.lpn == lpn;
        let is_refused = matches!(written, Err(FtlError::WornOut { .. })) && !oracle.keeps_promises();
        if is_refused && !self.plan.commands.iter().any(stores) {
            oracle.take_back(lpn, before.0, before.1);
        }
        written?;
        if self.rules.gathers { self.note_gathering(access) } else { Ok(()) }
    }
}
