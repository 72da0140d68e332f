//! What keeps the order of a zone: erases that follow one another, padding that shares the write buffer, and pages that
//! wait for room in the write buffer.

use std::collections::VecDeque;

use pumice_ftl::{FinishPace, ResetErases, ZoneOperation};
use pumice_types::{DieId, FlashCommand, FlashOp, Lpn, RequestKind, ZoneCommand};

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
    /// Stands for pages of padding that only move to the chip; a later page of their command programs them.
    moved: u32,
    /// A page of the zone.
    page: Lpn,
    /// Commands that have not begun.
    left: VecDeque<FlashCommand>,
    /// Commands that run; of a finish, the places that they hold in the write buffer.
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
    /// As the layer's rules say, if its host knows of zones. Programs may be held back for so many dies: none without a
    /// write buffer. A command programs `together` pages.
    pub(super) fn new(rules: Option<(ResetErases, FinishPace)>, dies: u32, together: u16) -> InTurn {
        let held = vec![VecDeque::new(); if rules.is_some() { dies as usize } else { 0 }];
        let (rule, pace) = rules.unwrap_or((ResetErases::Together, FinishPace::AtOnce));
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

    /// How many pages a program has in its command beside its own, which have moved to the chip before.
    pub(super) fn programmed_with(&self, program: &FlashCommand) -> u16 {
        if self.only_moves(program) { 0 } else { self.together - 1 }
    }

    /// Whether a page only moves to the chip, to be programmed with later ones.
    fn only_moves(&self, program: &FlashCommand) -> bool {
        !(program.target.page + 1).is_multiple_of(self.together)
    }

    /// Whether programs are held back for a die: it is not idle then.
    pub(super) fn holds_for(&self, die: DieId) -> bool {
        self.held.get(die.index()).is_some_and(|held| !held.is_empty())
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
        let mut moved = PageAccess::new(Waits::Nobody, page, kind, u64::MAX).in_last_stage();
        access.groups_left = self.join_erases();
        if operation == ZoneOperation::Finish {
            let only_move = |command: &&FlashCommand| self.in_turn.only_moves(command);
            let pages = self.plan.commands.iter().filter(only_move).count() as u32;
            access.groups_left -= pages;
            // One too many, so that only the end of the operation ends it.
            moved.groups_left = pages + 1;
            debug_assert!(access.groups_left > 0, "the last page of a zone is the last of a command");
        }
        let token = self.accesses.insert(access);
        let moved = self.accesses.insert(moved);
        let left = self.plan.commands.drain(..).collect();
        self.in_turn.zones.push(ZoneCommands { operation, token, moved, page, left, running: 0 });
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
        let is_of = |zone: &&mut ZoneCommands| zone.token == token || zone.moved == token;
        let together = self.in_turn.together;
        let Some(zone) = self.in_turn.zones.iter_mut().find(is_of) else { return Ok(()) };
        let (operation, places) = (zone.token, if zone.moved == token { 1 } else { together });
        if zone.operation == ZoneOperation::Reset {
            zone.running = zone.running.saturating_sub(1);
            return self.begin_due(operation, moment);
        }
        zone.running -= usize::from(places);
        self.padding_ended(places, moment)?;
        self.begin_due(operation, moment)
    }

    /// Padding has moved, or been programmed: so many places in the write buffer are free, first for a write that waits.
    fn padding_ended(&mut self, places: u16, moment: &mut Moment) -> Result<(), SimError> {
        self.buffer.iter_mut().for_each(|buffer| buffer.let_go(places));
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
        let moved = zone.moved;
        self.plan.clear();
        self.plan.push(next);
        if zone.operation == ZoneOperation::Finish {
            let waits = if self.in_turn.only_moves(&next) { moved } else { token };
            self.buffer.iter_mut().for_each(|buffer| buffer.hold(1));
            return self.send_or_hold(Wait::for_all(waits), moment).map(drop);
        }
        while let Some(left) = self.in_turn.left(token)
            && left.front().is_some_and(|other| self.scheduler.run_joined(&next, other))
        {
            self.plan.commands.extend(left.pop_front());
        }
        self.submit_plan(&Wait::for_all(token), moment).map(drop)
    }

    /// Puts the programs in the plan, which have their places, behind those that are held back for their dies, and begins
    /// those that may. The erases before them begin at once: a die has erased a block before it is sent a page of it.
    /// Returns for how many groups is waited.
    pub(super) fn send_or_hold(&mut self, wait: Wait, moment: &mut Moment) -> Result<u32, SimError> {
        let is_program = |command: &FlashCommand| command.op == FlashOp::Program;
        let erases = self.plan.commands.iter().position(is_program).unwrap_or(self.plan.commands.len());
        debug_assert!(self.plan.commands[erases..].iter().all(is_program), "what a zone needs comes before its pages");
        let groups = (self.plan.commands.len() - erases) as u32;
        for program in self.plan.commands.drain(erases..) {
            self.in_turn.held[self.scheduler.die_of(&program).index()].push_back((program, wait));
        }
        if erases > 0 {
            self.plan.complete_here();
            self.submit_plan(&Wait::NOBODY, moment)?;
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

    /// Begins the programs to the zone of a page that were held back, and padding for which an access of these waits.
    fn begin_held(&mut self, page: Lpn, padding: &[u32], moment: &mut Moment) -> Result<(), SimError> {
        for die in 0..self.in_turn.held.len() {
            for (program, wait) in std::mem::take(&mut self.in_turn.held[die]) {
                if self.is_same_zone(page, program.lpn) || padding.iter().any(|&token| wait.is_of(token)) {
                    self.begin_program(program, &wait, moment)?;
                } else {
                    self.in_turn.held[die].push_back((program, wait));
                }
            }
        }
        Ok(())
    }

    fn begin_program(&mut self, program: FlashCommand, wait: &Wait, moment: &mut Moment) -> Result<(), SimError> {
        let holds = self.in_turn.programmed_with(&program);
        self.buffer.iter_mut().for_each(|buffer| buffer.hold(holds));
        let zone = self.in_turn.zones.iter_mut().find(|zone| wait.is_of(zone.token));
        zone.into_iter().for_each(|zone| zone.running += usize::from(holds));
        self.plan.clear();
        self.plan.push(program);
        self.submit_plan(wait, moment).map(drop)
    }

    /// The last of the commands that an access waited for has ended.
    #[inline]
    pub(super) fn operation_ended(&mut self, token: u32, moment: &mut Moment) -> Result<(), SimError> {
        let Some(at) = self.in_turn.zones.iter().position(|zone| zone.token == token) else { return Ok(()) };
        let ZoneCommands { operation, moved, .. } = self.in_turn.zones.swap_remove(at);
        self.accesses.remove(moved);
        if operation == ZoneOperation::Finish { self.padding_ended(self.in_turn.together, moment) } else { Ok(()) }
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
            let ZoneCommands { token, moved, page: other, .. } = self.in_turn.zones[at];
            if !self.is_same_zone(page, other) {
                continue;
            }
            while !self.in_turn.zones[at].left.is_empty() {
                self.begin_next(token, moment)?;
            }
            if self.in_turn.zones[at].operation == ZoneOperation::Finish {
                self.begin_held(page, &[token, moved], moment)?;
            }
        }
        if kind != RequestKind::Write {
            self.begin_held(page, &[], moment)?;
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
            self.begin_held(access.lpn, &[], moment)?;
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
