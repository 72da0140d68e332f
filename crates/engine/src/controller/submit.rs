//! From a plan to the scheduler: groups of commands on one die each, and who waits for them.

use pumice_types::{FlashCommand, FlashOp, FlashTiming, RequestKind, Time};

use super::access::{PageAccess, Waits};
use super::{Controller, Moment};
use crate::error::SimError;
use crate::metrics::Stage;
use crate::observe::ObserverRef;
use crate::scheduler::{NOBODY, Submission};

/// What waits for a plan, and how.
#[derive(Clone, Copy, Debug)]
pub struct Wait {
    token: u32,
    /// The parts of the waiting time must be computed.
    parts: bool,
    /// A host read.
    urgent: bool,
    /// All groups of commands are waited for.
    every_group: bool,
    /// Channel time of its reads, if they move only part of their page; else zero.
    part: Time,
}

impl Wait {
    /// No page access waits.
    pub const NOBODY: Wait = Wait { token: NOBODY, parts: false, urgent: false, every_group: false, part: Time::ZERO };

    /// The access of this token waits for all groups of commands.
    pub fn for_all(token: u32) -> Wait {
        Wait { token, every_group: true, ..Wait::NOBODY }
    }

    /// Whether the access of this token waits.
    pub(super) fn is_of(&self, token: u32) -> bool {
        self.token == token
    }

    /// How the stage of an access waits, and how much of its page it reads.
    #[inline]
    pub fn of(access: &PageAccess, token: u32, timing: &FlashTiming) -> Wait {
        let of_request = matches!(access.waits, Waits::Request(_));
        Wait {
            token,
            parts: of_request && access.kind == RequestKind::Write,
            urgent: of_request && access.kind == RequestKind::Read,
            every_group: access.stage == Stage::Map,
            part: access.needed_of_page().and_then(|needed| timing.part_transfer(needed)).unwrap_or_default(),
        }
    }
}

impl Controller {
    /// Gives the plan to the scheduler, a group of commands for each run on one die. Returns for how
    /// many groups is waited: for the one that completes the access, or for all of them.
    #[inline]
    pub(super) fn submit_plan(&mut self, wait: &Wait, moment: &mut Moment) -> Result<u32, SimError> {
        self.prepare_plan(&mut moment.observer);
        let completes = self.plan.completes();
        let (mut waiting, mut start) = (0, 0);
        while let Some(first) = self.plan.commands.get(start) {
            let rest = &self.plan.commands[start..];
            let length = match self.rules.spans_dies {
                false => rest.len(),
                true => {
                    let die = self.scheduler.die_of(first);
                    rest.iter().position(|command| self.scheduler.die_of(command) != die).unwrap_or(rest.len())
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
                part: wait.part,
            };
            let answered = self.scheduler.submit(&group, moment.now, &mut moment.observer)?;
            if answered {
                self.tally.counts.buffer_hits += 1;
            } else {
                commands.iter().for_each(|command| self.tally.note(command));
                self.handed_over += commands.len() as u64;
            }
            waiting += u32::from(group.token != NOBODY && !answered);
            start += length;
        }
        Ok(waiting)
    }

    /// What is done with every plan before its first command runs.
    #[inline]
    pub(super) fn prepare_plan(&mut self, observer: &mut ObserverRef) {
        self.note_erases();
        if !self.plan.units.is_empty() {
            self.stage_units(observer);
        }
        if self.next_number.is_some() {
            let mut plan = std::mem::take(&mut self.plan);
            self.number(&mut plan);
            self.plan = plan;
        }
    }

    /// Records the erases of the plan, so that the status of later erases of the same blocks can be predicted.
    #[inline]
    fn note_erases(&mut self) {
        let Some(eraser) = self.scheduler.chips.eraser.as_mut().filter(|_| self.rules.erases_end_blocks) else {
            return;
        };
        for FlashCommand { op, target, .. } in &self.plan.commands {
            if *op == FlashOp::Erase && eraser.decide(target.block.0) {
                self.ftl.note_failing(target.block);
            }
        }
    }
}
