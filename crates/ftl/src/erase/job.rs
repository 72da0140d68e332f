//! One erase of one block as the controller conducts it: pulse, verify, decide.

use pumice_types::erase::schemes::FirstStep;
use pumice_types::erase::{BlockMemory, PULSES_PER_LOOP};
use pumice_types::{EraseStep, FailBits, StepKind, Time};

use super::EraseControllerConfig;

/// What the controller does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EraseAction {
    /// Put this step on the die.
    Step(EraseStep),
    /// The block is erased.
    Done,
    /// The block failed after five loops and must not be used again.
    Retire,
}

/// What an erase showed, so far or in the end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EraseReport {
    /// Erase loops begun; a shallow erase and its remainder are one. A fixed erase counts one.
    pub loops: u8,
    /// Unit pulses applied.
    pub pulses: u8,
    /// Voltage level of the last pulse.
    pub last_level: u8,
    /// Predictions that turned out short.
    pub mispredictions: u8,
    /// The erase ended with fail bits that the ECC takes care of.
    pub uses_margin: bool,
    /// The first loop took its full time although it was begun shallow.
    pub shallow_was_useless: bool,
}

impl EraseReport {
    /// What is remembered after this erase of a block of which `before` was remembered.
    pub fn remembered_after(&self, before: BlockMemory) -> BlockMemory {
        BlockMemory { last_loop: self.last_level, skips_shallow: before.skips_shallow || self.shallow_was_useless }
    }
}

/// Where a job stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum JobPhase {
    Start(FirstStep),
    Pulsed,
    Verified,
    Ended(EraseAction),
}

/// An erase in progress. Asked with [`EraseJob::next`] until it answers `Done` or `Retire`.
#[derive(Clone, Copy, Debug)]
pub struct EraseJob {
    config: EraseControllerConfig,
    phase: JobPhase,
    begins_shallow: bool,
    level: u8,
    /// Unit pulses of the current loop.
    in_loop: u8,
    /// The last pulse was shorter than a full loop, as predicted from fail bits.
    predicted: bool,
    report: EraseReport,
}

impl EraseJob {
    pub(super) fn new(config: EraseControllerConfig, first: FirstStep) -> EraseJob {
        let (begins_shallow, level) = match first {
            FirstStep::Fixed => (false, 1),
            FirstStep::Shallow => (true, 1),
            FirstStep::FullPulse(level) => (false, level),
        };
        EraseJob {
            config,
            phase: JobPhase::Start(first),
            begins_shallow,
            level,
            in_loop: 0,
            predicted: false,
            report: EraseReport::default(),
        }
    }

    /// What the erase has shown so far.
    pub fn report(&self) -> EraseReport {
        self.report
    }

    /// The next action. `last` is the count of the verify read that this job asked for last, and is
    /// ignored after any other step. An ended job repeats its answer.
    ///
    /// # Panics
    /// If the count of a verify read is withheld: a fault of the caller.
    pub fn next(&mut self, last: Option<FailBits>) -> EraseAction {
        match self.phase {
            JobPhase::Start(FirstStep::Fixed) => self.fixed(),
            JobPhase::Start(FirstStep::Shallow) => self.pulse(StepKind::Shallow, self.config.timing.shallow_pulses),
            JobPhase::Start(FirstStep::FullPulse(_)) => self.pulse(StepKind::Pulse, PULSES_PER_LOOP),
            JobPhase::Pulsed => self.verify(),
            JobPhase::Verified => self.decide(last.expect("a verify read reports its fail bits")),
            JobPhase::Ended(action) => action,
        }
    }

    fn fixed(&mut self) -> EraseAction {
        self.phase = JobPhase::Ended(EraseAction::Done);
        self.report.loops = 1;
        let duration = self.config.timing.fixed;
        EraseAction::Step(EraseStep { kind: StepKind::Fixed, level: 0, pulses: 0, duration })
    }

    fn pulse(&mut self, kind: StepKind, pulses: u8) -> EraseAction {
        self.report.loops += u8::from(self.in_loop == 0);
        self.in_loop += pulses;
        self.report.pulses += pulses;
        self.report.last_level = self.level;
        self.predicted = kind == StepKind::Pulse && self.in_loop < PULSES_PER_LOOP;
        self.phase = JobPhase::Pulsed;
        let duration = Time(self.config.timing.pulse.0 * u64::from(pulses));
        EraseAction::Step(EraseStep { kind, level: self.level, pulses, duration })
    }

    fn verify(&mut self) -> EraseAction {
        self.phase = JobPhase::Verified;
        let duration = self.config.timing.verify;
        EraseAction::Step(EraseStep { kind: StepKind::Verify, level: self.level, pulses: 0, duration })
    }

    fn end(&mut self, action: EraseAction) -> EraseAction {
        self.phase = JobPhase::Ended(action);
        action
    }

    fn decide(&mut self, bits: FailBits) -> EraseAction {
        if bits.passed() {
            return self.end(EraseAction::Done);
        }
        let loop_is_over = self.in_loop >= PULSES_PER_LOOP;
        if loop_is_over && self.report.loops == self.config.max_loops {
            return self.end(EraseAction::Retire);
        }
        // A job that began at a higher level has loops left at the highest; it repeats that.
        let level = (self.level + u8::from(loop_is_over)).min(self.config.max_loops);
        let range = self.config.ranges.range(bits);
        let wanted = self.config.scheme.next_pulses(self.config.felp, level, range);
        if wanted == 0 {
            self.report.uses_margin = true;
            return self.end(EraseAction::Done);
        }
        self.report.mispredictions += u8::from(self.predicted);
        let after_shallow = self.report.pulses == self.config.timing.shallow_pulses && self.begins_shallow;
        if loop_is_over {
            self.level = level;
            self.in_loop = 0;
        }
        let pulses = wanted.min(PULSES_PER_LOOP - self.in_loop);
        self.report.shallow_was_useless |= after_shallow && self.in_loop + pulses == PULSES_PER_LOOP;
        self.pulse(StepKind::Pulse, pulses)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::erase::EraseController;
    use pumice_types::erase::Felp;
    use pumice_types::{EraseScheme, EraseTiming, FailBitRanges, RberRequirement};

    const RANGES: FailBitRanges = FailBitRanges { gamma: 500, delta: 5_000 };

    fn controller(scheme: EraseScheme, felp: Felp) -> EraseController {
        let timing = EraseTiming::aero(Time::from_us(3_600.0));
        EraseController::new(EraseControllerConfig { scheme, timing, ranges: RANGES, felp, max_loops: 5 }, 4)
    }

    /// Runs a job against the given counts; steps as (pulses at level) or 0 for a verify, and the end.
    fn run(mut job: EraseJob, counts: &[u32]) -> (Vec<(u8, u8)>, EraseAction, EraseReport) {
        let (mut steps, mut counts, mut last) = (Vec::new(), counts.iter(), None);
        loop {
            match job.next(last.take()) {
                EraseAction::Step(step) => {
                    if step.kind == StepKind::Verify {
                        last = counts.next().map(|&bits| FailBits(bits));
                    } else {
                        steps.push((step.level, step.pulses));
                    }
                }
                end @ (EraseAction::Done | EraseAction::Retire) => return (steps, end, job.report()),
            }
        }
    }

    #[test]
    fn t550_ispe_raises_the_level_until_a_verify_passes_and_retires_after_the_fifth() {
        let ispe = controller(EraseScheme::Ispe, Felp::conservative());
        let (steps, end, report) = run(ispe.begin(0), &[40_000, 10, 0]);
        assert_eq!((steps, end), (vec![(1, 7), (2, 7), (3, 7)], EraseAction::Done));
        assert_eq!((report.loops, report.pulses), (3, 21));
        let (steps, end, _) = run(ispe.begin(0), &[9; 5]);
        assert_eq!((steps.len(), end), (5, EraseAction::Retire));
    }

    #[test]
    fn t551_i_ispe_starts_at_the_loop_that_ended_the_last_erase() {
        let mut i_ispe = controller(EraseScheme::IIspe, Felp::conservative());
        let (steps, _, report) = run(i_ispe.begin(1), &[40_000, 0]);
        assert_eq!(steps, [(1, 7), (2, 7)]);
        i_ispe.finish(1, &report);
        let (steps, _, report) = run(i_ispe.begin(1), &[300, 0]);
        assert_eq!(steps, [(2, 7), (3, 7)], "a failure costs a further loop at the next level");
        i_ispe.finish(1, &report);
        assert_eq!(run(i_ispe.begin(1), &[0]).0, [(3, 7)]);
        assert_eq!(run(i_ispe.begin(2), &[0]).0, [(1, 7)], "another block has its own memory");
        i_ispe.remember_loop(3, 5);
        assert_eq!(run(i_ispe.begin(3), &[300, 0]).0, [(5, 7), (5, 7)], "there is no sixth level");
    }

    #[test]
    fn t552_aero_cuts_the_first_loop_by_a_shallow_erase() {
        let cons = controller(EraseScheme::AeroCons, Felp::conservative());
        let (steps, end, report) = run(cons.begin(0), &[4_000, 0]);
        assert_eq!((steps, end), (vec![(1, 2), (1, 2)], EraseAction::Done));
        assert_eq!((report.loops, report.mispredictions, report.shallow_was_useless), (1, 0, false));
        assert_eq!(run(cons.begin(0), &[0]).0, [(1, 2)], "enough already");
    }

    #[test]
    fn t553_a_useless_shallow_erase_is_not_tried_again() {
        let mut cons = controller(EraseScheme::AeroCons, Felp::conservative());
        let (steps, _, report) = run(cons.begin(3), &[90_000, 12_000, 0]);
        assert_eq!(steps, [(1, 2), (1, 5), (2, 4)]);
        assert!(report.shallow_was_useless);
        cons.finish(3, &report);
        assert_eq!(run(cons.begin(3), &[12_000, 0]).0, [(1, 7), (2, 4)]);
        assert_eq!(run(cons.begin(2), &[0]).0, [(1, 2)], "another block has its own bit");
    }

    #[test]
    fn t554_a_short_prediction_costs_one_more_pulse_at_the_same_level() {
        let cons = controller(EraseScheme::AeroCons, Felp::conservative());
        let (steps, _, report) = run(cons.begin(0), &[60_000, 12_000, 200, 0]);
        assert_eq!(steps, [(1, 2), (1, 5), (2, 4), (2, 1)]);
        assert_eq!((report.mispredictions, report.loops), (1, 2));
    }

    #[test]
    fn t555_aero_leaves_to_the_ecc_what_the_requirement_allows() {
        let bits = [30_000, 4_000];
        for (requirement, steps, uses_margin) in [
            (RberRequirement::Bits63, vec![(1, 2), (1, 5)], true),
            (RberRequirement::Bits40, vec![(1, 2), (1, 5), (2, 1)], true),
        ] {
            let aero = controller(EraseScheme::Aero, Felp::with_margin(requirement));
            let (found, end, report) = run(aero.begin(0), &[bits[0], bits[1], 300]);
            assert_eq!((found, end, report.uses_margin), (steps, EraseAction::Done, uses_margin));
        }
    }

    #[test]
    fn t556_a_fixed_erase_is_one_step() {
        let fixed = controller(EraseScheme::Fixed, Felp::conservative());
        let mut job = fixed.begin(0);
        let EraseAction::Step(step) = job.next(None) else { panic!("a step") };
        assert_eq!((step.kind, step.duration), (StepKind::Fixed, Time::from_us(3_600.0)));
        assert_eq!(job.next(None), EraseAction::Done);
        assert_eq!(job.next(None), EraseAction::Done);
    }
}
