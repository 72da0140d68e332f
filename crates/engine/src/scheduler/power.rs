//! What the scheduler does for a device that may lose power: erases that wait for the programs decided before them,
//! and the cut itself.

use pumice_types::{FlashCommand, FlashOp, RecoveryFault, Time};

use super::Scheduler;
use super::die::WORK;
use super::segment::{Phase, Resources, die_only_time};
use crate::error::SimError;
use crate::observe::Observer;

impl Scheduler {
    /// Whether a die's next erase must wait: a program that was decided before it has not ended, on another die. It
    /// may be the new copy of a page whose old copy the erase takes away. Commands have ascending numbers, so what
    /// has the lowest number waits for nothing, and all of them run in the end.
    #[inline]
    pub(super) fn erase_waits(&self, index: usize) -> bool {
        self.policy.erases_wait && self.is_held_back(index)
    }

    /// The same, of a device that may lose power.
    #[cold]
    fn is_held_back(&self, index: usize) -> bool {
        if RecoveryFault::ErasesDoNotWait.is_on() {
            return false;
        }
        let erases = |op| matches!(op, FlashOp::Erase | FlashOp::PartialErase | FlashOp::SubBlockErase);
        let Some(erase) = self.dies[index].lanes[WORK].commands.front().filter(|command| erases(command.op)) else {
            return false;
        };
        let before = |number: u64| number < erase.number();
        self.dies.iter().any(|die| die.first_program().is_some_and(before))
    }

    /// A die does nothing until [`Scheduler::wake`] finds that its next erase may begin, or a read comes.
    #[cold]
    pub(super) fn stall(&mut self, index: usize, now: Time) {
        self.dies[index].active = None;
        self.dies[index].stalled_since.get_or_insert(now);
        if !self.stalled.contains(&index) {
            self.stalled.push(index);
        }
    }

    /// Notes what a die did while it was stalled, if it was: it waited for the erase.
    #[inline]
    pub(super) fn end_stall(&mut self, index: usize, now: Time) {
        let die = &mut self.dies[index];
        if let Some(since) = die.stalled_since.take() {
            die.spent[Phase::GcErase as usize] += now - since;
        }
    }

    /// A command has ended: erases that waited for it begin.
    #[cold]
    pub(super) fn wake(&mut self, now: Time) {
        for nth in (0..self.stalled.len()).rev() {
            let index = self.stalled[nth];
            if self.dies[index].active.is_some() || !self.erase_waits(index) {
                self.stalled.swap_remove(nth);
                if self.dies[index].active.is_none() && self.dies[index].is_waited_for() {
                    self.start(index, now);
                }
            }
        }
    }

    /// Power is cut at `now`: queues vanish, what had ended stays. Returns the commands that were changing flash at
    /// that instant; what becomes of them is the chip's matter. A page that is still on its way over the channel is
    /// as it was.
    ///
    /// # Errors
    /// What executing overdue commands finds.
    pub fn cut_power(&mut self, now: Time, observer: &mut impl Observer) -> Result<Vec<FlashCommand>, SimError> {
        let mut torn = Vec::new();
        for index in 0..self.dies.len() {
            self.advance(index, now, observer)?;
            torn.extend(self.changing(index, now));
            self.dies[index].power_off(now);
            self.events.clear(index);
        }
        self.channels.iter_mut().for_each(|channel| channel.free_at = now.min(channel.free_at));
        self.done.clear();
        self.stalled.clear();
        self.idle = None;
        Ok(torn)
    }

    /// The command that changes pages of a die at `now`.
    fn changing(&self, index: usize, now: Time) -> Option<FlashCommand> {
        let die = &self.dies[index];
        let lane = &die.lanes[die.active?];
        if die.usage.shape == Resources::Die && lane.segments.front()?.commands == 0 {
            return None; // all of it has ended, at this instant
        }
        let command = *lane.commands.front()?;
        let due = self.events.of(index)?;
        // When its last part on the die begins: the program of a page, or an erase.
        let begun = match die.usage.shape {
            Resources::Erase => die.started,
            Resources::Die if command.op == FlashOp::Copy => die.cursor + self.timing.t_r,
            Resources::Die => die.cursor,
            Resources::DieThenChannel => return None,
            Resources::DieChannelDie if !die.on_channel => return None,
            Resources::ChannelThenDie | Resources::DieChannelDie | Resources::Copyback => due - die.usage.die_last,
        };
        debug_assert!(die.usage.shape != Resources::Die || now < die.cursor + die_only_time(&self.timing, &command));
        (begun <= now && command.changes_pages()).then_some(command)
    }
}
