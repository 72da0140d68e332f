//! Erases in steps: they start, let reads in between, and go on. Several planes of a die may erase at once.

use pumice_types::suspension::{PieceRestarts, SuspensionState};
use pumice_types::{Time, erase};

use super::Scheduler;
use super::die::{EraseRun, PlaneErase, READS};
use crate::error::SimError;

impl Scheduler {
    /// Starts the erases at the head of the work lane that run together, or lets them go on.
    pub(super) fn start_erase(&mut self, index: usize, now: Time) {
        let Some(rule) = self.policy.erase else { return };
        let die = &mut self.dies[index];
        let (run, lane) = (&mut die.erase, &die.lanes[super::WORK]);
        if run.is_suspended {
            run.is_suspended = false;
            run.since = now + rule.resume;
        } else {
            let urgent = lane.segments.iter().take(die.group).any(|segment| segment.urgent);
            run.together = die.group;
            run.since = now;
            run.state = SuspensionState { suspensions: 0, urgent };
            if run.planes.len() < die.group {
                run.planes.resize_with(die.group, PlaneErase::default);
            }
            for (plane, command) in run.planes.iter_mut().zip(lane.commands.iter().take(die.group)) {
                self.chips.begin_erase(command, &mut plane.steps);
                (plane.total, plane.done) = (erase::total_time(&plane.steps), Time::ZERO);
                plane.restarts = PieceRestarts::default();
            }
        }
        run.stops = false;
        let end = run.since + run.left();
        self.events.set(index, end);
        // Reads that a plan without gaps has kept waiting come in at the first boundary.
        if !self.dies[index].lanes[READS].segments.is_empty() {
            self.ask_to_suspend(index, now);
        }
    }

    /// Lets the erase that runs, if one does and its rule has a boundary, stop there: a read waits.
    pub(super) fn ask_to_suspend(&mut self, index: usize, now: Time) {
        let Some(rule) = self.policy.erase else { return };
        let die = &mut self.dies[index];
        if die.active_shape() != Some(super::Resources::Erase) || die.erase.stops {
            return;
        }
        if let Some(stopped) = die.erase.stop_planes(&rule, now) {
            let lets_go = die.erase.since + stopped + rule.suspend;
            self.events.set(index, lets_go);
        }
    }

    /// The erase has let go of the die: the reads go on.
    pub(super) fn suspend(&mut self, index: usize, now: Time) -> Result<(), SimError> {
        let die = &mut self.dies[index];
        let command = die.lanes[super::WORK].commands[0];
        die.clock.occupy(die.started, now, &command)?;
        die.usage.charge(&mut die.spent, &command, now - die.started);
        die.busy += now - die.started;
        for plane in die.erase.running() {
            self.chips.interrupt_erase(&plane.steps, plane.stop);
        }
        die.erase.let_go();
        self.suspensions += 1;
        self.start(index, now);
        Ok(())
    }
}

impl EraseRun {
    /// Every plane has come to its stop.
    fn let_go(&mut self) {
        for plane in self.running() {
            plane.restarts = plane.restarts.after(plane.stop);
            plane.done = plane.stop.keeps;
        }
        self.stops = false;
        self.is_suspended = true;
        self.state.suspensions += 1;
    }
}
