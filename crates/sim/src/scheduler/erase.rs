//! Erases in steps: they start, let reads in between, and go on.

use pumice_types::suspension::SuspensionState;
use pumice_types::{Time, erase};

use super::Scheduler;
use super::die::READS;
use crate::device::Device;
use crate::error::SimError;

impl Scheduler {
    /// Starts the erase at the head of the work lane, or lets it go on.
    pub(super) fn start_erase(&mut self, index: usize, now: Time, device: &mut Device) {
        let Some(rule) = self.policy.erase else { return };
        let die = &mut self.dies[index];
        let lane = &die.lanes[super::WORK];
        let (segment, command) = (lane.segments[0], lane.commands[0]);
        let run = &mut die.erase;
        if run.is_suspended {
            run.is_suspended = false;
            run.since = now + rule.resume;
        } else {
            device.begin_erase(&command, &mut run.steps);
            run.total = erase::total_time(&run.steps);
            run.done = Time::ZERO;
            run.since = now;
            run.state = SuspensionState { suspensions: 0, urgent: segment.urgent };
        }
        run.boundary = None;
        let end = run.since + (run.total - run.done);
        self.events.set(index, end);
        // Reads that a plan without gaps has kept waiting come in at the first boundary.
        if !self.dies[index].lanes[READS].segments.is_empty() {
            self.ask_to_suspend(index, now);
        }
    }

    /// Sets the next boundary of the erase that runs, if one does and its rule has one: a read waits.
    pub(super) fn ask_to_suspend(&mut self, index: usize, now: Time) {
        let Some(rule) = self.policy.erase else { return };
        let die = &mut self.dies[index];
        if die.active_shape() != Some(super::Shape::Erase) {
            return;
        }
        let run = &mut die.erase;
        if run.boundary.is_some() {
            return;
        }
        // What was reached before the last suspension is no new boundary.
        let elapsed = (run.done + now.saturating_sub(run.since)).max(run.done + Time(1));
        run.boundary = rule.next_boundary(&run.steps, elapsed, run.state);
        if let Some(boundary) = run.boundary {
            let lets_go = run.since + (boundary - run.done) + rule.suspend;
            self.events.set(index, lets_go);
        }
    }

    /// The erase has let go of the die: the reads go on.
    pub(super) fn suspend(&mut self, index: usize, now: Time, device: &mut Device) -> Result<(), SimError> {
        let die = &mut self.dies[index];
        let command = die.lanes[super::WORK].commands[0];
        die.clock.occupy(die.started, now, &command)?;
        die.usage.charge(&mut die.spent, &command, now - die.started);
        die.busy += now - die.started;
        let run = &mut die.erase;
        run.done = run.boundary.take().unwrap_or(run.done);
        run.is_suspended = true;
        run.state.suspensions += 1;
        self.suspensions += 1;
        self.start(index, now, device);
        Ok(())
    }
}
