//! What keeps the order of a zone: erases that follow one another, padding that shares the write buffer, and pages that
//! wait for room in the write buffer.

use std::collections::VecDeque;

use pumice_ftl::{FinishPace, ResetErases, ZoneOperation};
use pumice_types::{Cause, DieId, FlashCommand, FlashOp, Lpn, RequestKind, ZoneCommand};

use super::access::{PageAccess, Waits};
use super::submit::Wait;
use super::{Controller, Moment};
use crate::error::SimError;
use crate::metrics::LatencyParts;

/// The commands of one zone operation.
#[derive(Clone)]
struct ZoneCommands {
    operation: ZoneOperation,
    /// The access that waits for them.
    token: u32,
    /// A page of the zone.
    page: Lpn,
    /// Commands that have not begun.
    left: VecDeque<FlashCommand>,
    /// Commands that run.
    running: usize,
}

/// Zone operations whose commands follow one another.
#[derive(Clone)]
pub(super) struct InTurn {
    rule: ResetErases,
    /// Padding goes through the write buffer, a part of it as large as that of each open zone.
    shares: bool,
    zones: Vec<ZoneCommands>,
    /// By die, programs of buffered pages that wait until no zone is erased any more and the die has done what it has.
    held: Vec<VecDeque<(FlashCommand, Wait)>>,
    /// Pages that one command programs.
    together: u16,
}

impl InTurn {
    /// As the layer's rules say, if its host knows of zones, on so many dies of which a command programs so many pages.
    pub(super) fn new(rules: Option<(ResetErases, FinishPace)>, [dies, together]: [u32; 2]) -> InTurn {
        let held = vec![VecDeque::new(); if rules.is_some() { dies as usize } else { 0 }];
        let (rule, pace) = rules.unwrap_or((ResetErases::Together, FinishPace::AtOnce));
        let together = together as u16;
        InTurn { rule, shares: pace == FinishPace::Shared, zones: Vec::new(), held, together }
    }

    /// Whether not all commands of an operation begin at once.
    pub(super) fn has_turns(&self, operation: ZoneOperation) -> bool {
        match operation {
            ZoneOperation::Reset => self.rule != ResetErases::Together,
            ZoneOperation::Finish => self.shares,
        }
    }

    /// Whether programs of this access may have to wait for their dies in the write buffer.
    #[inline]
    pub(super) fn holds(&self, access: &PageAccess) -> bool {
        matches!(access.waits, Waits::Buffer(_)) && !self.held.is_empty()
    }

    /// How many pages of the host a program has in its command beside its own, which have moved to the chip before.
    pub(super) fn programmed_with(&self, program: &FlashCommand) -> u16 {
        let is_last = program.cause == Cause::Host && (program.target.page + 1).is_multiple_of(self.together);
        if is_last { self.together - 1 } else { 0 }
    }

    fn is_resetting(&self) -> bool {
        self.zones.iter().any(|zone| zone.operation == ZoneOperation::Reset)
    }

    /// The commands of an operation that have not begun.
    fn left(&mut self, token: u32) -> Option<&mut VecDeque<FlashCommand>> {
        self.zones.iter_mut().find(|zone| zone.token == token).map(|zone| &mut zone.left)
    }
}

impl Controller {
    /// Begins the first commands of an operation in the plan; the others follow them. Returns for how many groups `request`
    /// waits.
    pub(super) fn begin_in_turn(
        &mut self,
        (request, page): (u32, Lpn),
        operation: ZoneOperation,
        moment: &mut Moment,
    ) -> Result<u32, SimError> {
        let kind = RequestKind::Zone(ZoneCommand::Reset);
        let mut access = PageAccess::new(Waits::Request(request), page, kind, u64::MAX).in_last_stage();
        access.groups_left = self.join_erases();
        let token = self.accesses.insert(access);
        let left = self.plan.commands.drain(..).collect();
        self.in_turn.zones.push(ZoneCommands { operation, token, page, left, running: 0 });
        self.begin_due(token, moment)?;
        Ok(1)
    }

    /// Begins the commands of an operation that may run: one of a reset, and of a finish as many as it has places in the
    /// write buffer.
    fn begin_due(&mut self, token: u32, moment: &mut Moment) -> Result<(), SimError> {
        while let Some(at) = self.in_turn.zones.iter().position(|zone| zone.token == token)
            && !self.in_turn.zones[at].left.is_empty()
            && self.in_turn.zones[at].running < self.most_at_once(self.in_turn.zones[at].operation)
        {
            self.begin_next(token, moment)?;
        }
        Ok(())
    }

    /// How many commands of an operation run at one time. A zone that is finished has as large a part of the write buffer
    /// as each that is open.
    fn most_at_once(&mut self, operation: ZoneOperation) -> usize {
        let finishing = self.in_turn.zones.iter().filter(|zone| zone.operation == ZoneOperation::Finish).count();
        let open = self.host_zones().map_or(0, |zones| zones.open_zones()) as usize;
        match (operation, &self.buffer) {
            (ZoneOperation::Finish, Some(buffer)) => (buffer.capacity() / (open + finishing)).max(1),
            (ZoneOperation::Finish | ZoneOperation::Reset, _) => 1,
        }
    }

    /// A command that an access waits for has ended, and others follow it.
    #[inline]
    pub(super) fn command_ended(&mut self, token: u32, moment: &mut Moment) -> Result<(), SimError> {
        let Some(zone) = self.in_turn.zones.iter_mut().find(|zone| zone.token == token) else { return Ok(()) };
        zone.running = zone.running.saturating_sub(1);
        if zone.operation == ZoneOperation::Reset {
            return self.begin_due(token, moment);
        }
        self.padding_ended(moment)?;
        self.begin_due(token, moment)
    }

    /// A page of padding has been programmed: its place in the write buffer is free, first for a write that waits.
    fn padding_ended(&mut self, moment: &mut Moment) -> Result<(), SimError> {
        self.buffer.iter_mut().for_each(|buffer| buffer.let_go(1));
        self.let_in(moment)?;
        self.flush(false, moment)
    }

    /// Brings the erases of a die's planes together in the plan, where they run together. Returns how many commands follow
    /// one another then.
    fn join_erases(&mut self) -> u32 {
        let scheduler = &self.scheduler;
        let commands = &mut self.plan.commands;
        if scheduler.joins_erases() && commands.iter().all(|command| command.op == FlashOp::Erase) {
            commands.sort_by_key(|command| scheduler.die_of(command));
        }
        commands.chunk_by(|one, other| scheduler.run_joined(one, other)).count() as u32
    }

    /// Begins the next of the commands that an access waits for, if they follow one another.
    fn begin_next(&mut self, token: u32, moment: &mut Moment) -> Result<(), SimError> {
        let Some(zone) = self.in_turn.zones.iter_mut().find(|zone| zone.token == token) else { return Ok(()) };
        let Some(next) = zone.left.pop_front() else { return Ok(()) };
        zone.running += 1;
        self.plan.clear();
        self.plan.push(next);
        if zone.operation == ZoneOperation::Finish {
            self.buffer.iter_mut().for_each(|buffer| buffer.hold(1));
            return self.send_or_hold(Wait::for_all(token), moment).map(drop);
        }
        while let Some(left) = self.in_turn.left(token)
            && left.front().is_some_and(|other| self.scheduler.run_joined(&next, other))
        {
            self.plan.commands.extend(left.pop_front());
        }
        self.submit_plan(&Wait::for_all(token), moment).map(drop)
    }

    /// Puts the programs in the plan, which have their places, behind those that are held back for their dies, and begins
    /// those that may. Returns for how many groups is waited.
    pub(super) fn send_or_hold(&mut self, wait: Wait, moment: &mut Moment) -> Result<u32, SimError> {
        let groups = self.plan.commands.len() as u32;
        for program in self.plan.commands.drain(..) {
            self.in_turn.held[self.scheduler.die_of(&program).index()].push_back((program, wait));
        }
        self.send_held(moment)?;
        Ok(groups)
    }

    /// Sends dies that have done what they had the next program that was held back for them, unless a zone is erased.
    ///
    /// # Errors
    /// A broken rule or belief.
    #[inline]
    pub fn send_held(&mut self, moment: &mut Moment) -> Result<(), SimError> {
        if self.in_turn.rule == ResetErases::Alone && self.in_turn.is_resetting() {
            return Ok(());
        }
        for die in 0..self.in_turn.held.len() {
            while !self.scheduler.has_work(DieId(die as u32))
                && let Some((program, wait)) = self.in_turn.held[die].pop_front()
            {
                self.begin_program(program, &wait, moment)?;
            }
        }
        Ok(())
    }

    /// Begins the programs that were held back: those to the zone of a page, or all.
    fn begin_held(&mut self, of: Option<Lpn>, moment: &mut Moment) -> Result<(), SimError> {
        for die in 0..self.in_turn.held.len() {
            for (program, wait) in std::mem::take(&mut self.in_turn.held[die]) {
                if of.is_some_and(|page| !self.is_same_zone(page, program.lpn)) {
                    self.in_turn.held[die].push_back((program, wait));
                } else {
                    self.begin_program(program, &wait, moment)?;
                }
            }
        }
        Ok(())
    }

    fn begin_program(&mut self, program: FlashCommand, wait: &Wait, moment: &mut Moment) -> Result<(), SimError> {
        let holds = self.in_turn.programmed_with(&program);
        self.buffer.iter_mut().for_each(|buffer| buffer.hold(holds));
        self.plan.clear();
        self.plan.push(program);
        self.submit_plan(wait, moment).map(drop)
    }

    /// The last of the commands that an access waited for has ended.
    #[inline]
    pub(super) fn operation_ended(&mut self, token: u32, moment: &mut Moment) -> Result<(), SimError> {
        let Some(at) = self.in_turn.zones.iter().position(|zone| zone.token == token) else { return Ok(()) };
        let ended = self.in_turn.zones.swap_remove(at).operation;
        if ended == ZoneOperation::Finish { self.padding_ended(moment) } else { Ok(()) }
    }

    /// A write or command (`kind`) to the zone of a page is about to begin. Its pages that wait for room in the write
    /// buffer get their places at once, and are done when they are programmed; so do those of all zones if it is to be
    /// opened, because they may open or fill zones too. Commands of it wait for each other no longer, and no program is
    /// held back from a command.
    ///
    /// # Errors
    /// A broken rule or belief.
    pub fn settle_zone(&mut self, kind: RequestKind, page: Lpn, moment: &mut Moment) -> Result<(), SimError> {
        for at in 0..self.in_turn.zones.len() {
            let ZoneCommands { token, page: erased, .. } = self.in_turn.zones[at];
            if !self.is_same_zone(page, erased) {
                continue;
            }
            while !self.in_turn.zones[at].left.is_empty() {
                self.begin_next(token, moment)?;
            }
            if self.in_turn.zones[at].operation == ZoneOperation::Finish {
                self.begin_held(None, moment)?;
            }
        }
        if kind != RequestKind::Write {
            self.begin_held(Some(page), moment)?;
        }
        let opens = self.opens_zone(kind, page);
        let mut at = 0;
        while let Some(&(access, since)) = self.waiting.get(at) {
            if !opens && !self.is_same_zone(page, access.lpn) {
                at += 1;
                continue;
            }
            self.waiting.remove(at);
            // They are programmed in this order.
            self.begin_held(Some(access.lpn), moment)?;
            let token = self.accesses.insert(access);
            *self.accesses.parts(token) = LatencyParts::waited_for_host(moment.now - since);
            if !self.proceed(token, moment)? {
                self.pages_done.extend(access.waits.request());
            }
        }
        Ok(())
    }

    /// Whether a request to the zone of a page opens it, if it may.
    fn opens_zone(&mut self, kind: RequestKind, page: Lpn) -> bool {
        match kind {
            RequestKind::Write | RequestKind::Zone(ZoneCommand::Append) => {
                self.host_zones().is_some_and(|zones| !zones.is_open(page))
            }
            RequestKind::Zone(ZoneCommand::Open) => true,
            RequestKind::Read | RequestKind::Trim | RequestKind::Flush | RequestKind::Zone(_) => false,
        }
    }

    fn is_same_zone(&mut self, page: Lpn, other: Lpn) -> bool {
        self.host_zones().is_some_and(|zones| zones.is_same_zone(page, other))
    }
}
