//! Operations in steps: erases, and programs of pages that may be suspended. They start, let reads in between, and go
//! on. Several planes of a die may erase or program at once.

use pumice_ftl::policy::SuspensionPoint;
use pumice_types::suspension::SuspensionState;
use pumice_types::{DieId, ErasePiece, EraseStep, FlashOp, StepKind, SuspensionFor, SuspensionRule, Time};

use super::Scheduler;
use super::die::{READS, WORK};
use super::segment::{Resources, phase};
use super::steps::Operation;
use crate::error::SimError;
use crate::observe::ObserverRef;

impl Scheduler {
    /// When operations of segments of this shape may be suspended; `None` if they run in one piece.
    pub(super) fn suspension_rule(&self, shape: Resources) -> Option<SuspensionRule> {
        match shape {
            Resources::Erase => self.policy.erase,
            Resources::ChannelThenDie | Resources::DieChannelDie | Resources::Copyback => {
                self.policy.program.map(|(rule, _)| rule)
            }
            Resources::Die | Resources::DieThenChannel => None,
        }
    }

    /// Starts the erases at the head of the work lane that run together.
    pub(super) fn begin_erase(&mut self, index: usize, now: Time) {
        let die = &mut self.dies[index];
        let (run, lane, group) = (&mut die.operation, &die.lanes[WORK], die.group);
        run.begin(Resources::Erase, group, now);
        let urgent = lane.segments.iter().take(group).any(|segment| segment.urgent);
        run.state = SuspensionState { suspensions: 0, urgent };
        for (plane, command) in run.planes.iter_mut().zip(lane.commands.iter().take(group)) {
            if command.op == FlashOp::Pause {
                self.late_loops.begin(command.target.block, plane);
                continue;
            }
            self.chips.begin_erase(command, &mut plane.steps);
            plane.begin();
            if command.op == FlashOp::Erase && !self.chips.fails(command.target.block) {
                self.late_loops.put_off(command.target.block, plane);
            }
        }
        let end = now + run.left();
        self.events.set(index, end);
        self.note_change(index, end);
        self.let_in(index, now);
    }

    /// Runs the program that ends the segments at the head of the work lane, due at `due`, in steps, if it may be
    /// suspended. While an erase is suspended it may not.
    #[inline]
    pub(super) fn begin_program(&mut self, index: usize, due: Time, now: Time) {
        if let Some((_, pulses)) = self.policy.program {
            self.begin_program_of(index, pulses, [due, now]);
        }
    }

    fn begin_program_of(&mut self, index: usize, [open, protected]: [u8; 2], [due, now]: [Time; 2]) {
        let die = &mut self.dies[index];
        let (shape, duration) = (die.usage.shape, die.usage.die_last);
        if die.operation.is_suspended || die.round < die.usage.retries || duration == Time::ZERO {
            return;
        }
        die.operation.begin(shape, die.group, due - duration);
        let first = Time(duration.0 * u64::from(open) / u64::from(open + protected));
        let step = |pulses, duration| EraseStep { kind: StepKind::Fixed, level: 0, pulses, duration };
        let parts = [step(open, first), step(protected, duration - first)];
        for plane in die.operation.running() {
            plane.steps.clear();
            plane.steps.extend(parts.into_iter().filter(|part| part.pulses > 0));
            plane.begin();
        }
        self.let_in(index, now);
    }

    /// Whether what is suspended on a die is next in this lane.
    pub(super) fn is_suspended_operation(&self, index: usize, lane: usize) -> bool {
        let die = &self.dies[index];
        lane == WORK && die.lanes[WORK].segments.front().is_some_and(|first| first.shape == die.operation.shape)
    }

    /// Lets what is suspended at the head of the work lane go on.
    pub(super) fn resume(&mut self, index: usize, now: Time) {
        let Some(rule) = self.suspension_rule(self.dies[index].operation.shape) else { return };
        let die = &mut self.dies[index];
        (die.active, die.group, die.usage) = (Some(WORK), die.operation.together, die.operation.rest);
        (die.started, die.cursor, die.on_channel, die.round) = (now, now, true, 0);
        let run = &mut die.operation;
        (run.is_suspended, run.is_running, run.stops) = (false, true, false);
        run.since = now + rule.resume;
        let end = run.since + run.left();
        self.events.set(index, end);
        self.let_in(index, now);
    }

    /// Reads that a plan without gaps has kept waiting come in at the first stop, and so do writes.
    fn let_in(&mut self, index: usize, now: Time) {
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
            let (lane, at) = (&mut die.lanes[WORK], passed + die.operation.together);
            if let (Some(segment), Some(command)) = (lane.segments.remove(at), lane.commands.remove(at)) {
                lane.segments.insert(passed, segment);
                lane.commands.insert(passed, command);
            }
            passed += 1;
        }
    }

    /// Lets the operation that runs, if one does and its rule has a boundary, stop there: a read waits.
    pub(super) fn ask_to_suspend(&mut self, index: usize, now: Time) {
        let run = &self.dies[index].operation;
        if !run.is_running || run.stops {
            return;
        }
        let shape = run.shape;
        let Some(mut rule) = self.suspension_rule(shape) else { return };
        if self.tokens_are_spent(index) {
            rule = SuspensionRule { piece: rule.piece.and(Some(ErasePiece::Loop)), interruption: None, ..rule };
        }
        let Some(mut stopped) = self.dies[index].operation.stop_planes(&rule, now) else { return };
        if shape == Resources::Erase {
            let Some(agreed) = self.agreed_stop(index, &rule, now, stopped) else { return };
            stopped = agreed;
        }
        let lets_go = self.dies[index].operation.since + stopped + rule.suspend;
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
            let run = &mut die.operation;
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

    /// The operation has let go of the die: the reads go on.
    pub(super) fn suspend(&mut self, index: usize, now: Time, observer: &mut ObserverRef) -> Result<(), SimError> {
        if let Some(fault) = self.policy_fault.take() {
            return Err(SimError::Simulation(fault.to_string()));
        }
        let die = &self.dies[index];
        // The transfers before it are told of once, when its first part ends.
        self.tell_transfers(index, die.operation.begun + die.after_transfers(), observer);
        let die = &mut self.dies[index];
        let command = die.lanes[WORK].commands[0];
        die.clock.occupy(die.started, now, &command)?;
        for part in die.lanes[WORK].commands.iter().take(die.operation.together) {
            observer.suspended(die.started, now, part);
        }
        die.usage.charge(&mut die.spent, &command, now - die.started);
        die.busy += now - die.started;
        let run = &mut die.operation;
        (run.rest, run.phase) = (die.usage.rest(), phase(&command));
        if run.shape == Resources::Erase {
            run.running().iter().for_each(|plane| self.chips.interrupt_erase(&plane.steps, plane.stop));
            self.suspensions.erases += 1;
        } else {
            self.suspensions.programs += 1;
        }
        run.let_go();
        die.reads_passed = 0;
        self.start(index, now);
        Ok(())
    }
}

impl Operation {
    /// Progress of the plane that takes longest: how much of its erase is done when it stops, and the whole of it. And
    /// whether any plane loses something by its stop.
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
        (self.stops, self.is_running, self.is_suspended) = (false, false, true);
        self.state.suspensions += 1;
    }
}
