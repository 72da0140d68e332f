//! What the scheduler does for a device that may lose power: erases that wait for the programs decided before them,
//! and the cut itself.

use pumice_types::{Cause, EraseStep, FlashCommand, FlashOp, Time};

use super::Scheduler;
use super::die::WORK;
use super::segment::{Phase, Resources};
use super::steps::Operation;
use crate::error::SimError;
use crate::observe::ObserverRef;

/// A command that was changing flash when the power was cut.
#[derive(Debug)]
pub struct UnderWay {
    /// The command.
    pub command: FlashCommand,
    /// Time that it still needs.
    pub left: Time,
    /// Steps of an erase in steps, and how much of them had run.
    pub erase: Option<(Vec<EraseStep>, Time)>,
    /// An erase on several planes: its own plane is done, and waits for the others.
    pub has_ended: bool,
}

/// Commands that change flash, counted as they begin, and the one in which the power is cut.
#[derive(Clone, Debug)]
pub(super) struct CommandCut {
    begun: u64,
    target: u64,
    /// How far the change has come by then, in 2^-32.
    part: u32,
    /// When that is, once the command has begun.
    at: Option<Time>,
}

impl CommandCut {
    /// Whether the power is cut in a command that is to come, so that commands are counted.
    #[inline]
    pub(super) fn is_awaited(&self) -> bool {
        self.target != u64::MAX
    }
}

impl Default for CommandCut {
    fn default() -> CommandCut {
        CommandCut { begun: 0, target: u64::MAX, part: 0, at: None }
    }
}

impl Scheduler {
    /// Cuts the power in this command that changes flash (from 1), when so many 2^-32 of its change are done.
    pub fn cut_in(&mut self, command: u64, part: u32) {
        self.cut = CommandCut { target: command, part, at: None, ..self.cut };
    }

    /// Commands that change flash and have begun while a cut waited for one.
    pub fn changes_begun(&self) -> u64 {
        self.cut.begun
    }

    /// When the power is cut, if the command of [`Scheduler::cut_in`] has begun.
    pub fn cut_at(&self) -> Option<Time> {
        self.cut.at
    }

    /// Counts a command whose end is now known, if it changes flash and a cut waits for one. None is counted between
    /// the command in which the power is cut and the cut itself: the next one is the first after it.
    #[inline]
    pub(super) fn note_change(&mut self, index: usize, due: Time) {
        if self.cut.is_awaited() && self.cut.at.is_none() {
            self.count_change(index, due);
        }
    }

    #[cold]
    fn count_change(&mut self, index: usize, due: Time) {
        let die = &self.dies[index];
        let command = die.active.and_then(|lane| die.lanes[lane].commands.front());
        let Some(command) = command.filter(|command| command.changes_pages()) else { return };
        let Some(begins) = self.change_begins(index, command, due) else { return };
        self.cut.begun += 1;
        if self.cut.begun == self.cut.target {
            let part = (u128::from((due - begins).0) * u128::from(self.cut.part)) >> 32;
            self.cut.at = Some(begins + Time(part as u64));
        }
    }

    /// Whether a die's next command must wait for one that was decided before it and has not ended, on another die.
    /// What was decided first waits for nothing, and all commands run in the end.
    #[inline]
    pub(super) fn must_wait(&self, index: usize) -> bool {
        (self.policy.erases_wait && self.next_is_held_back(index)) || (self.policy.moves_wait && self.move_waits(index))
    }

    #[cold]
    fn next_is_held_back(&self, index: usize) -> bool {
        self.dies[index].lanes[WORK].commands.front().is_some_and(|next| self.is_held_back(next))
    }

    /// Whether a command may not join the one before it in a multi-plane command: it waits itself.
    #[inline]
    pub(super) fn may_not_join(&self, command: &FlashCommand) -> bool {
        self.policy.erases_wait && self.is_held_back(command)
    }

    /// Whether a command waits for a program on a device that may lose power. For an erase, that may be the new copy of
    /// a page that the erase takes away; for a page of the map, a page that it tells of.
    #[cold]
    fn is_held_back(&self, next: &FlashCommand) -> bool {
        let is_of_log = |command: &FlashCommand| self.policy.log_waits && command.cause == Cause::Map;
        let (waits, for_log) = match next.op {
            FlashOp::Erase | FlashOp::PartialErase | FlashOp::SubBlockErase => (true, true),
            FlashOp::Program if next.waits_for_programs() => (true, true),
            FlashOp::Program if is_of_log(next) => (true, false),
            FlashOp::Program | FlashOp::Copy | FlashOp::Read | FlashOp::SpareSearch | FlashOp::Pause => (false, false),
        };
        let is_waited_for = |command: &FlashCommand| for_log || !is_of_log(command);
        let before = |number: u64| number < next.number();
        waits && self.dies.iter().any(|die| die.first_program(is_waited_for).is_some_and(before))
    }

    /// A die does nothing until [`Scheduler::wake`] finds that its next command may begin, or a read comes.
    #[cold]
    pub(super) fn stall(&mut self, index: usize, now: Time) {
        self.dies[index].active = None;
        self.dies[index].stalled_since.get_or_insert(now);
        if !self.stalled.contains(&index) {
            self.stalled.push(index);
        }
    }

    /// Notes what a die did while it was stalled, if it was.
    #[inline]
    pub(super) fn end_stall(&mut self, index: usize, now: Time) {
        let phase = self.phase_of_stall() as usize;
        let die = &mut self.dies[index];
        if let Some(since) = die.stalled_since.take() {
            die.spent[phase] += now - since;
        }
    }

    /// What a stalled die waits for: the read of a page that is moved, or else an erase that may not begin.
    pub(super) fn phase_of_stall(&self) -> Phase {
        if self.policy.moves_wait { Phase::GcRead } else { Phase::GcErase }
    }

    /// A command has ended: what waited for it begins.
    #[cold]
    pub(super) fn wake(&mut self, now: Time) {
        for nth in (0..self.stalled.len()).rev() {
            let index = self.stalled[nth];
            if self.dies[index].active.is_some() || !self.must_wait(index) {
                self.stalled.swap_remove(nth);
                if self.dies[index].active.is_none() && self.dies[index].is_waited_for() {
                    self.start(index, now);
                }
            }
        }
    }

    /// Power is cut at `now`: queues vanish, what had ended stays. Returns the commands that were changing flash at
    /// that instant, suspended erases among them; what becomes of them is the chip's matter. A page that is still on
    /// its way over the channel is as it was.
    ///
    /// # Errors
    /// What executing overdue commands finds.
    pub fn cut_power(&mut self, now: Time, observer: &mut ObserverRef) -> Result<Vec<UnderWay>, SimError> {
        let under_way = self.changing_at(now, observer)?;
        for index in 0..self.dies.len() {
            self.dies[index].power_off(now);
            self.events.clear(index);
        }
        for channel in &mut self.channels {
            // A transfer is booked whole when it is granted. What is left of it does not come.
            channel.busy = channel.busy - channel.free_at.saturating_sub(now);
            channel.free_at = now.min(channel.free_at);
        }
        self.moves.power_off();
        self.done.clear();
        self.stalled.clear();
        self.idle = None;
        self.cut = CommandCut { begun: self.cut.begun, ..CommandCut::default() };
        Ok(under_way)
    }

    /// The commands that are changing flash at `now`, suspended erases among them. All that had ended by then has been
    /// executed afterwards.
    ///
    /// # Errors
    /// What executing overdue commands finds.
    pub fn changing_at(&mut self, now: Time, observer: &mut ObserverRef) -> Result<Vec<UnderWay>, SimError> {
        let mut under_way = Vec::new();
        for index in 0..self.dies.len() {
            self.advance(index, now, observer)?;
            self.suspended(index, &mut under_way);
            self.changing(index, now, &mut under_way);
        }
        Ok(under_way)
    }

    /// The commands that wait at `now` and have changed nothing yet.
    ///
    /// # Errors
    /// As [`Scheduler::changing_at`].
    pub fn waiting_at(&mut self, now: Time, observer: &mut ObserverRef) -> Result<Vec<FlashCommand>, SimError> {
        let under_way = self.changing_at(now, observer)?;
        let has_begun = |command: &FlashCommand| under_way.iter().any(|one| one.command == *command);
        let queued = self.dies.iter().flat_map(|die| &die.lanes).flat_map(|lane| &lane.commands);
        Ok(queued.filter(|command| !has_begun(command)).copied().collect())
    }

    /// When the last part on the die begins of a command that ends at `due`: the program of a page, or an erase.
    /// `None` before that is known.
    fn change_begins(&self, index: usize, command: &FlashCommand, due: Time) -> Option<Time> {
        let die = &self.dies[index];
        if die.operation.is_running {
            return Some(die.operation.begun);
        }
        match die.usage.shape {
            Resources::Erase => Some(die.started),
            Resources::Die if command.op == FlashOp::Copy => Some(die.cursor + self.timing.t_r(command.source.page)),
            Resources::Die => Some(die.cursor),
            Resources::DieThenChannel => None,
            Resources::DieChannelDie if !die.on_channel || die.riders.are_there() => None,
            Resources::ChannelThenDie | Resources::DieChannelDie | Resources::Copyback => {
                Some(due - die.usage.die_last)
            }
        }
    }

    /// The commands that change pages of a die at `now`: one, or one on each of several planes.
    fn changing(&mut self, index: usize, now: Time, under_way: &mut Vec<UnderWay>) {
        let die = &mut self.dies[index];
        let Some(lane) = die.active.map(|active| &die.lanes[active]) else { return };
        if die.usage.shape == Resources::Die && lane.segments.front().is_none_or(|first| first.commands == 0) {
            return; // all of it has ended, at this instant
        }
        let (Some(command), Some(due)) = (lane.commands.front().copied(), self.events.of(index)) else { return };
        let Some(begun) = self.change_begins(index, &command, due) else { return };
        let die = &mut self.dies[index];
        debug_assert!(
            die.usage.shape != Resources::Die || now < die.cursor + self.usages.die_only_time(&self.timing, &command)
        );
        if begun > now || !command.changes_pages() {
            return;
        }
        let together = die.lanes[die.active.unwrap_or(WORK)].commands.iter().take(die.group);
        let one = |command: &FlashCommand, ends: Time| {
            let left = ends.saturating_sub(now);
            UnderWay { command: *command, left, erase: None, has_ended: false }
        };
        if die.operation.is_running {
            return die.operation.under_way(together.copied(), Some(now), Time::ZERO, under_way);
        }
        match die.usage.shape {
            Resources::Die => {
                under_way.push(one(&command, die.cursor + self.usages.die_only_time(&self.timing, &command)));
            }
            Resources::DieThenChannel
            | Resources::ChannelThenDie
            | Resources::DieChannelDie
            | Resources::Copyback
            | Resources::Erase => {
                under_way.extend(together.map(|command| one(command, due)));
            }
        }
    }

    /// What is suspended on a die. Writes that went before an erase may wait in front of it.
    fn suspended(&mut self, index: usize, under_way: &mut Vec<UnderWay>) {
        let shape = self.dies[index].operation.shape;
        let Some(rule) = self.suspension_rule(shape).filter(|_| self.dies[index].operation.is_suspended) else {
            return;
        };
        let die = &mut self.dies[index];
        let work = &die.lanes[WORK];
        let Some(at) = work.segments.iter().position(|segment| segment.shape == shape) else { return };
        let commands = work.commands.iter().skip(at).copied();
        die.operation.under_way(commands, None, rule.resume, under_way);
    }
}

impl Operation {
    /// What is left of it: since it last went on if it runs at `now`, or after its `resume` if it is suspended.
    fn under_way(
        &mut self,
        commands: impl Iterator<Item = FlashCommand>,
        now: Option<Time>,
        resume: Time,
        under_way: &mut Vec<UnderWay>,
    ) {
        let (since, stops, all_left) = (self.since, self.stops, self.left());
        let ran = now.map_or(Time::ZERO, |now| now.saturating_sub(since));
        let left = all_left.saturating_sub(ran) + now.map_or(Time::ZERO, |now| since.saturating_sub(now)) + resume;
        let is_alone = self.together < 2;
        for (plane, command) in self.planes.iter().take(self.together).zip(commands) {
            let limit = if stops { plane.stop.at } else { plane.total };
            let done = (plane.done + ran).min(limit);
            let has_ended = self.shape == Resources::Erase && !is_alone && done == plane.total;
            let erase = (self.shape == Resources::Erase).then(|| (plane.steps.clone(), done));
            under_way.push(UnderWay { command, left, erase, has_ended });
        }
    }
}
