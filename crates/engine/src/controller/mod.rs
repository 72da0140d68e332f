//! The controller: takes page accesses through their stages, keeps the write buffer, asks the translation layer
//! where pages go, and hands its commands to the scheduler.
//!
//! An access goes through up to three stages: the map's entry is loaded (if it is not in RAM), the old copy is
//! read (if a write covers part of the page), and the page itself is read or programmed. The translation layer
//! decides a stage when it begins, so a page is given its place when it is about to be programmed, not while its
//! old copy is being read.

mod access;
pub(crate) mod buffer;
mod copied;
mod gathering;
mod operations;
mod stages;
mod start;
mod submit;
mod untimed;
mod wear;
mod zone_order;

use std::collections::VecDeque;

use pumice_ftl::{BegunRequest, Ftl, Plan};
use pumice_types::{DieId, HostRequest, Lpn, PageAddress, RequestKind, Time};

use crate::error::SimError;
use crate::host::oracle::Oracle;
use crate::metrics::{CommandTally, LatencyParts, Stage};
use crate::observe::ObserverRef;
use crate::scheduler::{PageDone, Scheduler};
use access::AccessTable;
pub use access::{PageAccess, Waits, names_request};
use buffer::{DuePage, WriteBuffer};
use operations::ZoneTimes;
use submit::Wait;
use zone_order::InTurn;

/// What a page access needs besides itself, settled once for a run.
#[derive(Clone)]
struct Rules {
    /// Writes of part of a page read its old copy first.
    reads_old_copy: bool,
    /// The map may have to be read.
    loads_map: bool,
    /// The commands of a plan may lie on several dies: pages of a map, and pages that are moved, lie on others than
    /// the access.
    spans_dies: bool,
    /// Zone operations follow accesses.
    has_zones: bool,
    /// Requests have the addresses of zones.
    has_host_zones: bool,
    /// Erases can be the last of their blocks.
    erases_end_blocks: bool,
    /// The layer has steps for an idle die.
    works_when_idle: bool,
    /// Flushes and force unit access change nothing.
    ignores_flushes: bool,
    /// The write buffer outlasts power cuts.
    keeps_buffer: bool,
    /// Mapping units gather in open pages.
    gathers: bool,
    /// The layer hears of requests before their pages.
    hears_requests: bool,
}

/// The controller of one device.
pub struct Controller {
    /// The translation layer.
    pub ftl: Ftl,
    /// Time, and the chips.
    pub scheduler: Scheduler,
    /// Commands emitted while measuring. They are counted when they are decided, as the layer's own
    /// counters are, so that both agree wherever measuring starts.
    pub tally: CommandTally,
    /// How long zone operations take.
    pub zone_times: ZoneTimes,
    /// Flash commands of the warm-up and of ageing.
    pub(crate) uncounted_commands: u64,
    /// Commands handed to the scheduler since somebody last asked.
    handed_over: u64,
    rules: Rules,
    /// The number of the next command that changes flash, if spare areas keep such numbers.
    pub(crate) next_number: Option<u64>,
    plan: Plan,
    accesses: AccessTable,
    pub(crate) buffer: Option<WriteBuffer>,
    /// Pages that wait for room in the write buffer, as accesses not begun, and since when.
    waiting: VecDeque<(PageAccess, Time)>,
    /// Requests of which a page that waited for the buffer is done.
    pages_done: VecDeque<u32>,
    /// What waits until programs of its page have their places.
    held_back: Vec<HeldBack>,
    /// Pages in which units of the host have begun to gather since this was last asked.
    pub(crate) opened: Vec<PageAddress>,
    /// Accesses whose look-ups in the map have just begun, with the time that each takes.
    pub(crate) looking_up: Vec<(u32, Time)>,
    /// Zone operations whose commands follow one another.
    in_turn: InTurn,
    /// Places of the write buffer became free without a program, because their units gather in open pages.
    has_released: bool,
}

/// One instant of a run with a clock: what is passed down with every call.
pub struct Moment<'a> {
    /// The present.
    pub now: Time,
    /// What the host stored.
    pub oracle: &'a mut Oracle,
    /// Observer of the run.
    pub observer: ObserverRef<'a>,
}

/// What the end of a stage is to the host.
#[derive(Clone, Copy, Debug)]
pub enum PageEnd {
    /// The request that waited for an access of several stages, and the parts of its time.
    Staged(u32, LatencyParts),
    /// No request of the host waited for it.
    Internal,
}

/// An access that waits until programs of its page, which the write buffer has begun, have their places.
#[derive(Clone, Copy)]
enum HeldBack {
    /// A program, which waits for older ones: its token and its entry.
    Program(u32, u32),
    /// A trim, which waits for all: its token.
    Trim(u32),
}

/// What became of a page that was to go into the write buffer.
enum BufferedWrite {
    /// The write has to wait for room.
    NoRoom,
    /// The write is in, and done.
    Done,
    /// The write is in, and done when it is programmed.
    Programs,
}

impl Controller {
    /// Gives the commands of a plan that change flash their numbers, in this order, if spare areas keep them; and the
    /// chips what the layer writes into pages of its own.
    #[inline]
    pub fn number(&mut self, plan: &mut Plan) {
        let Some(next) = &mut self.next_number else { return };
        for command in plan.commands.iter_mut().filter(|command| command.changes_pages()) {
            *command = command.with_number(*next);
            *next += 1;
        }
        for (at, unit, content) in plan.contents.drain(..) {
            self.scheduler.chips.checked.array.stage(plan.commands[at].number(), unit, content);
        }
    }

    /// Flash commands handed to the scheduler since this was last asked.
    pub fn take_handed_over(&mut self) -> u64 {
        std::mem::take(&mut self.handed_over)
    }

    /// Whether mapping units gather in open pages.
    #[inline]
    pub fn gathers(&self) -> bool {
        self.rules.gathers
    }

    /// Whether the controller may want to be reminded of pages in which units gather, or wants to be of look-ups.
    #[inline]
    pub fn wants_reminders(&self) -> bool {
        self.rules.gathers || !self.looking_up.is_empty()
    }

    /// Tells a layer that hears of requests of one whose pages come next; `pages` are all of its pages.
    ///
    /// # Errors
    /// Code of the user's own failed.
    #[inline]
    pub fn tell_begun(
        &mut self,
        request: &HostRequest,
        pages: impl Iterator<Item = Lpn>,
        now: Time,
    ) -> Result<(), SimError> {
        if !self.rules.hears_requests {
            return Ok(());
        }
        let (kind, stream, mut pages) = (request.kind, request.stream, pages.peekable());
        let first = pages.peek().copied().unwrap_or_default();
        if let Some(requests) = self.ftl.layer_mut().requests() {
            requests.begin(&BegunRequest { kind, first, pages: pages.count() as u32, stream, now });
        }
        self.raise_fault()
    }

    /// Whether there is a write buffer.
    #[inline]
    pub fn is_buffered(&self) -> bool {
        self.buffer.is_some()
    }

    /// Whether RAM alone holds newest data of a page: in the write buffer, which may be programming it, or in an open page.
    pub fn is_buffering(&mut self, lpn: Lpn) -> bool {
        let is_buffered = self.buffer.as_ref().is_some_and(|buffer| buffer.holds_any(lpn));
        is_buffered || self.ftl.layer_mut().open_pages().is_some_and(|open| open.gathers(lpn))
    }

    /// Prefetches the state that the first page of a coming request will need; no effect on results.
    #[inline]
    pub fn expect(&self, lpn: Lpn) {
        self.ftl.expect(lpn);
    }

    /// Prefetches what a coming request will invalidate or look at, once its map entry is in the cache; no effect on
    /// results.
    #[inline]
    pub fn expect_soon(&self, lpn: Lpn, request: &HostRequest) {
        match request.kind {
            RequestKind::Write => self.ftl.expect_overwrite(lpn),
            RequestKind::Read => {
                if let Some(page) = self.ftl.expect_look_up(lpn) {
                    self.scheduler.chips.checked.array.expect(page);
                }
            }
            RequestKind::Trim | RequestKind::Flush | RequestKind::Zone(_) => {}
        }
    }

    /// Notes a group of commands that is done, and goes on with its access. Nothing to do if a request waited for it
    /// ([`names_request`]).
    ///
    /// # Errors
    /// A broken rule or belief.
    #[inline]
    pub fn note_done(&mut self, done: &PageDone, moment: &mut Moment) -> Result<PageEnd, SimError> {
        let Some(access) = self.accesses.get(done.token) else { return Ok(PageEnd::Internal) };
        access.groups_left -= 1;
        if access.groups_left > 0 {
            self.command_ended(done.token, moment)?;
            return Ok(PageEnd::Internal);
        }
        let stage = access.stage;
        self.accesses.parts(done.token).add(stage, done);
        if self.next_stage(done.token) && self.proceed(done.token, moment)? {
            self.proceed_held_back(moment)?;
            return Ok(PageEnd::Internal);
        }
        // The access's record is free by now, but nothing has taken its place yet.
        let Some(&mut access) = self.accesses.get(done.token) else { return Ok(PageEnd::Internal) };
        let parts = *self.accesses.parts(done.token);
        if self.rules.gathers {
            // A unit may have its place although nothing was waited for.
            self.proceed_held_back(moment)?;
        }
        match access.waits {
            Waits::Request(id) => {
                self.operation_ended(done.token, moment)?;
                Ok(PageEnd::Staged(id, parts))
            }
            Waits::Buffer(entry) => {
                self.buffered_page_ended(entry, moment)?;
                Ok(PageEnd::Internal)
            }
            Waits::Operation(operation, since) => {
                self.zone_times.record(operation, moment.now - since);
                Ok(PageEnd::Internal)
            }
            Waits::Nobody => Ok(PageEnd::Internal),
        }
    }

    /// Frees a place in the write buffer and stores the writes that waited for it.
    fn buffered_page_ended(&mut self, entry: u32, moment: &mut Moment) -> Result<(), SimError> {
        if let Some(buffer) = &mut self.buffer {
            buffer.release(entry, &mut self.pages_done);
        }
        self.let_in(moment)?;
        self.flush(false, moment)
    }

    /// Stores writes that waited for room in the write buffer.
    pub(super) fn let_in(&mut self, moment: &mut Moment) -> Result<(), SimError> {
        while let Some(&(access, _)) = self.waiting.front() {
            match self.write_to_buffer(&access, moment)? {
                BufferedWrite::NoRoom => break,
                BufferedWrite::Done => self.pages_done.extend(access.waits.request()),
                BufferedWrite::Programs => {}
            }
            self.waiting.pop_front();
        }
        Ok(())
    }

    /// Writes a page into the buffer, if there is one with room. With force unit access its program begins at once,
    /// and the page is done with it.
    fn write_to_buffer(&mut self, access: &PageAccess, moment: &mut Moment) -> Result<BufferedWrite, SimError> {
        let Some(buffer) = &mut self.buffer else { return Ok(BufferedWrite::NoRoom) };
        let Some(entry) = buffer.write(access.lpn, access.mask, access.stream) else {
            return Ok(BufferedWrite::NoRoom);
        };
        moment.oracle.note_buffered(access.lpn, access.waits.request());
        let heeds = !self.rules.ignores_flushes && !self.rules.keeps_buffer;
        let is_through = access.fua && heeds;
        let Some(request) = access.waits.request().filter(|_| is_through) else { return Ok(BufferedWrite::Done) };
        buffer.wait_for(entry, request);
        if let Some(due) = buffer.begin_program(entry) {
            self.program(&due, true, moment)?;
        }
        Ok(BufferedWrite::Programs)
    }

    /// Begins a flush; `again`: another one is not done yet. Returns for how much it waits: what says which pages were
    /// given up, and all that is buffered.
    ///
    /// # Errors
    /// A broken rule or belief.
    pub fn begin_flush(&mut self, request: u32, again: bool, moment: &mut Moment) -> Result<u32, SimError> {
        if self.rules.ignores_flushes || self.rules.keeps_buffer {
            return Ok(0);
        }
        let trims = self.write_down_trims(&Wait::for_all(request), again, moment)?;
        self.flush(true, moment)?;
        let programs = if self.rules.gathers { self.await_open_pages(request, moment)? } else { 0 };
        let waits = self.buffer.as_mut().is_some_and(|buffer| buffer.wait_for_all(request));
        Ok(trims + programs + u32::from(waits))
    }

    /// Lets the layer write down which pages were given up; `again`: also what it is writing down. Returns for how much
    /// `wait` waits.
    fn write_down_trims(&mut self, wait: &Wait, again: bool, moment: &mut Moment) -> Result<u32, SimError> {
        self.plan.clear();
        self.number_write();
        if let Some(trims) = self.ftl.layer_mut().durable_trims() {
            trims.flush_trims(again, &mut self.plan)?;
        }
        if self.plan.commands.is_empty() { Ok(0) } else { self.submit_plan(wait, moment) }
    }

    /// The power is cut, and the device's own energy lasts: what was given up is written down.
    ///
    /// # Errors
    /// A broken rule or belief.
    pub fn save_trims(&mut self, moment: &mut Moment) -> Result<(), SimError> {
        self.write_down_trims(&Wait::NOBODY, false, moment).map(drop)
    }

    /// Whether flushes and force unit access of the host change something.
    pub fn heeds_flushes(&self) -> bool {
        !self.rules.ignores_flushes
    }

    /// A request of which a page has just been let into the write buffer, or out of it.
    #[inline]
    pub fn take_page_done(&mut self) -> Option<u32> {
        self.pages_done.pop_front()
    }

    /// Begins to program buffered pages: those that are due, or all.
    ///
    /// # Errors
    /// A broken rule or belief.
    pub fn flush(&mut self, everything: bool, moment: &mut Moment) -> Result<(), SimError> {
        loop {
            while let Some(due) = self.buffer.as_mut().and_then(|buffer| buffer.next_flush(everything)) {
                self.program(&due, false, moment)?;
            }
            if !std::mem::take(&mut self.has_released) {
                break;
            }
            self.let_in(moment)?;
        }
        if everything && self.rules.gathers { self.force_out_all(moment) } else { Ok(()) }
    }

    /// Begins to program a buffered page; `through`: it is done only when it is on flash.
    fn program(&mut self, due: &DuePage, through: bool, moment: &mut Moment) -> Result<(), SimError> {
        let access = PageAccess::new(Waits::Buffer(due.entry), due.lpn, RequestKind::Write, due.mask);
        let access = access.to_stream(due.stream).through(through);
        let token = self.accesses.insert(access);
        moment.oracle.note_program_begun(due.lpn);
        if self.buffer.as_ref().is_some_and(|buffer| buffer.must_wait(due.entry)) {
            self.held_back.push(HeldBack::Program(token, due.entry));
            return Ok(());
        }
        self.proceed_program(token, due.entry, moment)
    }

    /// Goes on with the program of a buffered page.
    fn proceed_program(&mut self, token: u32, entry: u32, moment: &mut Moment) -> Result<(), SimError> {
        if !self.proceed(token, moment)?
            && let Some(buffer) = &mut self.buffer
        {
            buffer.release(entry, &mut self.pages_done);
            self.has_released = true;
        }
        Ok(())
    }

    /// Goes on with what no longer waits for places of older programs: programs in the order in which they began, and
    /// trims.
    fn proceed_held_back(&mut self, moment: &mut Moment) -> Result<(), SimError> {
        let mut nth = 0;
        while let Some(&held) = self.held_back.get(nth) {
            if self.must_wait(held) {
                nth += 1;
                continue;
            }
            self.held_back.remove(nth);
            match held {
                HeldBack::Program(token, entry) => self.proceed_program(token, entry, moment)?,
                HeldBack::Trim(token) => self.proceed_trim(token, moment)?,
            }
            // A trim may have waited for this place.
            nth = 0;
        }
        if self.has_released { self.flush(false, moment) } else { Ok(()) }
    }

    fn must_wait(&mut self, held: HeldBack) -> bool {
        match held {
            HeldBack::Program(_, entry) => self.buffer.as_ref().is_some_and(|buffer| buffer.must_wait(entry)),
            HeldBack::Trim(token) => self.accesses.get(token).copied().is_some_and(|access| self.trim_waits(&access)),
        }
    }

    /// Goes on with a trim that had to wait. Nothing but this tells its request that the page is done, if nothing else is
    /// to be waited for.
    fn proceed_trim(&mut self, token: u32, moment: &mut Moment) -> Result<(), SimError> {
        let request = self.accesses.get(token).and_then(|access| access.waits.request());
        if !self.proceed(token, moment)? {
            self.pages_done.extend(request);
        }
        Ok(())
    }

    /// Raises what code of the user's own could not return.
    ///
    /// # Errors
    /// Code of the user's own failed in a call that returns no error.
    #[cold]
    pub fn raise_fault(&mut self) -> Result<(), SimError> {
        self.ftl.take_fault().map_or(Ok(()), |fault| Err(fault.into()))
    }

    /// Gives an idle die its next step of reclaiming, if one is due.
    ///
    /// # Errors
    /// A broken rule or belief.
    pub fn work_when_idle(&mut self, die: DieId, moment: &mut Moment) -> Result<(), SimError> {
        if self.rules.works_when_idle && !self.in_turn.holds_for(die) {
            self.plan.clear();
            let stepped = self.ftl.step(die, &mut self.plan).map_err(SimError::from);
            self.unless_worn_out(stepped, moment)?;
            self.submit_plan(&Wait::NOBODY, moment)?;
        }
        Ok(())
    }

    /// Idle dies get no further steps of reclaiming.
    pub fn stop_idle_work(&mut self) {
        self.rules.works_when_idle = false;
    }

    /// Flash commands of the whole run, warm-up and ageing included.
    pub fn flash_commands_total(&self) -> u64 {
        self.uncounted_commands + self.tally.counts.flash_commands()
    }
}

/// The stages of an access that goes through all of them.
const STAGES: [Stage; 3] = [Stage::Map, Stage::Rmw, Stage::Data];
