//! Erases in steps: they start, let reads in between, and go on. Several planes of a die may erase at once.

use pumice_ftl::policy::SuspensionPoint;
use pumice_types::suspension::{PieceRestarts, SuspensionState};
use pumice_types::{DieId, SuspensionFor, SuspensionRule, Time, erase};

use super::Scheduler;
use super::die::{EraseRun, PlaneErase, READS, WORK};
use super::segment::Resources;
use crate::error::SimError;
use crate::observe::Observer;

impl Scheduler {
    /// Starts the erases at the head of the work lane that run together, or lets them go on.
    pub(super) fn start_erase(&mut self, index: usize, now: Time) {
        let Some(rule) = self.policy.erase else { return };
        let die = &mut self.dies[index];
        let (run, lane) = (&mut die.erase, &die.lanes[WORK]);
        let is_new = !run.is_suspended;
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
        if is_new {
            self.note_change(index, end);
        }
        // Reads that a plan without gaps has kept waiting come in at the first stop, and so do writes.
        if !self.dies[index].lanes[READS].segments.is_empty() || self.writes_wait(index) {
            self.ask_to_suspend(index, now);
        }
    }

    /// Whether a host write waits for the erase that runs, and may go before what is left of it.
    #[inline]
    pub(super) fn writes_wait(&self, index: usize) -> bool {
        let die = &self.dies[index];
        self.lets_writes_in() && die.active_shape() == Some(Resources::Erase) && die.may_pass_erase(0)
    }

    fn lets_writes_in(&self) -> bool {
        self.policy.erase.is_some_and(|rule| rule.whom == SuspensionFor::ReadsAndWrites)
    }

    /// Moves the host writes that may pass a suspended erase before it, if it is next and its rule lets them.
    pub(super) fn let_writes_pass(&mut self, index: usize) {
        if !self.lets_writes_in() {
            return;
        }
        let die = &mut self.dies[index];
        if die.lanes[WORK].segments.front().is_none_or(|first| first.shape != Resources::Erase) {
            return;
        }
        let mut passed = 0;
        while die.may_pass_erase(passed) {
            let (lane, at) = (&mut die.lanes[WORK], passed + die.erase.together);
            if let (Some(segment), Some(command)) = (lane.segments.remove(at), lane.commands.remove(at)) {
                lane.segments.insert(passed, segment);
                lane.commands.insert(passed, command);
            }
            passed += 1;
        }
    }

    /// Lets the erase that runs, if one does and its rule has a boundary, stop there: a read waits.
    pub(super) fn ask_to_suspend(&mut self, index: usize, now: Time) {
        let Some(rule) = self.policy.erase else { return };
        let die = &mut self.dies[index];
        if die.active_shape() != Some(Resources::Erase) || die.erase.stops {
            return;
        }
        let Some(stopped) = die.erase.stop_planes(&rule, now) else { return };
        let Some(stopped) = self.agreed_stop(index, &rule, now, stopped) else { return };
        let lets_go = self.dies[index].erase.since + stopped + rule.suspend;
        self.events.set(index, lets_go);
    }

    /// The stop that a user's own policy agrees to, from the first one that the rule allows: that one itself if there
    /// is no policy. A policy that fails is told of when the erase lets go of the die, which it then does at once.
    fn agreed_stop(&mut self, index: usize, rule: &SuspensionRule, now: Time, first: Time) -> Option<Time> {
        let Some(decider) = &self.suspends_by else { return Some(first) };
        let die = &mut self.dies[index];
        let waiting_reads = die.lanes[READS].segments.len() as u32;
        let mut stopped = first;
        loop {
            let run = &mut die.erase;
            let (state, since) = (run.state, run.since);
            let (done, total, loses) = run.progress_at_stop();
            let asked = SuspensionPoint {
                die: DieId(index as u32),
                now,
                done,
                total,
                suspensions: state.suspensions,
                waiting_reads,
                is_urgent: state.urgent,
            };
            match decider.suspend(&asked) {
                Ok(true) => return Some(stopped),
                Ok(false) => run.stops = false,
                Err(fault) => {
                    self.policy_fault = Some(fault);
                    return Some(now.saturating_sub(since));
                }
            }
            // Where an erase can stop at any instant there is no next point to ask about until somebody else waits.
            if loses {
                return None;
            }
            stopped = run.stop_planes(rule, since + stopped + Time(1))?;
        }
    }

    /// The erase has let go of the die: the reads go on.
    pub(super) fn suspend(&mut self, index: usize, now: Time, observer: &mut impl Observer) -> Result<(), SimError> {
        if let Some(fault) = self.policy_fault.take() {
            return Err(SimError::Simulation(fault.to_string()));
        }
        let die = &mut self.dies[index];
        let command = die.lanes[WORK].commands[0];
        die.clock.occupy(die.started, now, &command)?;
        for part in die.lanes[WORK].commands.iter().take(die.erase.together) {
            observer.suspended(die.started, now, part);
        }
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
    /// Of the plane that takes longest: how much of its erase is done when it stops, and the whole of it; and whether
    /// any plane loses something by its stop.
    fn progress_at_stop(&mut self) -> (Time, Time, bool) {
        let loses = self.running().iter().any(|plane| plane.stop.keeps < plane.stop.at);
        let slowest = self.running().iter().max_by_key(|plane| plane.total - plane.done);
        slowest.map_or((Time::ZERO, Time::ZERO, loses), |plane| (plane.stop.at, plane.total, loses))
    }

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
