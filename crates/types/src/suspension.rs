//! When an erase may be suspended, as data: pure functions of its steps. The scheduler decides
//! whether it is.
//!
//! After Kim et al., "Practical Erase Suspension" (ATC'19), and AERO (ASPLOS'24), §7.3: the chip lets
//! go of an erase only where no pulse is cut short, so a suspended erase loses no work.

use crate::erase::EraseStep;
use crate::{Time, choice};

choice! {
    /// Instants at which an erase lets a read in between.
    pub enum Suspension {
        /// Never.
        Off = "off",
        /// After every verify read: the end of an erase loop, shallow erase included.
        Loop = "loop",
        /// After every unit pulse and every verify read.
        Pulse = "pulse",
        /// As `Pulse`, until the erase was suspended so often, or is urgent: then the rest is one piece.
        Capped = "capped",
    }
}

/// The rule of one device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SuspensionRule {
    /// Where an erase may be suspended.
    pub mode: Suspension,
    /// Time from the boundary until the die takes another command.
    pub suspend: Time,
    /// Time from the end of the other commands until the erase goes on.
    pub resume: Time,
    /// Suspensions of one erase after which `Capped` allows no more.
    pub max_suspensions: u32,
}

/// How far an erase has come with being suspended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SuspensionState {
    /// Suspensions so far.
    pub suspensions: u32,
    /// Somebody needs the erased block now.
    pub urgent: bool,
}

impl SuspensionRule {
    /// Whether the rule allows this erase any further suspension.
    pub fn open(&self, state: SuspensionState) -> bool {
        match self.mode {
            Suspension::Off => false,
            Suspension::Loop | Suspension::Pulse => true,
            Suspension::Capped => !state.urgent && state.suspensions < self.max_suspensions,
        }
    }

    /// The earliest boundary of a step, from its start, at or after `from`; `None` if the step has
    /// none. The step's end is one where the rule says so; a step's start belongs to the step before.
    ///
    /// The end of an erase's last step is its completion and no boundary: the scheduler, which learns
    /// only then that no step follows, must ask about the end of a step after that is known.
    pub fn boundary_in_step(&self, step: &EraseStep, from: Time, state: SuspensionState) -> Option<Time> {
        if !self.open(state) || from > step.duration {
            return None;
        }
        let is_pulse = step.pulses > 0;
        match self.mode {
            Suspension::Off => None,
            Suspension::Loop => (step.kind == crate::erase::StepKind::Verify).then_some(step.duration),
            Suspension::Pulse | Suspension::Capped if is_pulse => {
                let pulses = u64::from(step.pulses);
                // The k-th of n pulses ends at ⌈k · duration / n⌉.
                let end = |k: u64| (step.duration.0 * k).div_ceil(pulses);
                (1..=pulses).map(end).find(|&end| end >= from.0).map(Time)
            }
            Suspension::Pulse | Suspension::Capped => {
                (step.kind == crate::erase::StepKind::Verify).then_some(step.duration)
            }
        }
    }

    /// The earliest instant at or after `from`, in time of the erase itself, at which a whole known
    /// sequence of steps may be suspended; `None` if only its end is left.
    pub fn next_boundary(&self, steps: &[EraseStep], from: Time, state: SuspensionState) -> Option<Time> {
        let mut start = Time::ZERO;
        for (index, step) in steps.iter().enumerate() {
            let end = start + step.duration;
            let inside = from.saturating_sub(start);
            let boundary = self.boundary_in_step(step, inside.max(Time(1)), state);
            let is_completion = index + 1 == steps.len() && boundary == Some(step.duration);
            if let Some(offset) = boundary
                && !is_completion
            {
                return Some(start + offset);
            }
            start = end;
        }
        None
    }

    /// Whether the sequence may be suspended exactly at `at`.
    pub fn allows(&self, steps: &[EraseStep], at: Time, state: SuspensionState) -> bool {
        self.next_boundary(steps, at, state) == Some(at)
    }

    /// What one suspension adds to the erase itself.
    pub fn overhead(&self) -> Time {
        self.suspend + self.resume
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::erase::{StepKind, total_time};

    fn rule(mode: Suspension) -> SuspensionRule {
        SuspensionRule { mode, suspend: Time(50_000), resume: Time(20_000), max_suspensions: 2 }
    }

    /// Shallow erase of two pulses, verify, remainder of three pulses, verify.
    fn steps() -> [EraseStep; 4] {
        let pulse =
            |kind, pulses: u8| EraseStep { kind, level: 1, pulses, duration: Time(500_000 * u64::from(pulses)) };
        let verify = EraseStep { kind: StepKind::Verify, level: 1, pulses: 0, duration: Time(100_000) };
        [pulse(StepKind::Shallow, 2), verify, pulse(StepKind::Pulse, 3), verify]
    }

    fn boundaries(mode: Suspension, state: SuspensionState) -> Vec<u64> {
        let (rule, steps) = (rule(mode), steps());
        let mut found = Vec::new();
        let mut from = Time::ZERO;
        while let Some(at) = rule.next_boundary(&steps, from, state) {
            found.push(at.0);
            from = at + Time(1);
        }
        found
    }

    #[test]
    fn t210_suspension_is_legal_at_t_and_refused_a_nanosecond_earlier_or_later() {
        let state = SuspensionState::default();
        for (mode, expected) in [
            (Suspension::Off, vec![]),
            (Suspension::Loop, vec![1_100_000]),
            (Suspension::Pulse, vec![500_000, 1_000_000, 1_100_000, 1_600_000, 2_100_000, 2_600_000]),
        ] {
            assert_eq!(boundaries(mode, state), expected, "{mode:?}");
            for at in expected {
                assert!(rule(mode).allows(&steps(), Time(at), state), "{mode:?} at {at}");
                assert!(!rule(mode).allows(&steps(), Time(at - 1), state), "{mode:?} at {at} - 1");
                assert!(!rule(mode).allows(&steps(), Time(at + 1), state), "{mode:?} at {at} + 1");
            }
        }
    }

    #[test]
    fn t211_neither_start_nor_completion_is_a_suspension() {
        let state = SuspensionState::default();
        for mode in [Suspension::Off, Suspension::Loop, Suspension::Pulse, Suspension::Capped] {
            assert!(!rule(mode).allows(&steps(), Time::ZERO, state));
            assert!(!rule(mode).allows(&steps(), total_time(&steps()), state));
        }
    }

    #[test]
    fn t212_a_capped_erase_cannot_starve() {
        let state = |suspensions, urgent| SuspensionState { suspensions, urgent };
        assert_eq!(boundaries(Suspension::Capped, state(1, false)).len(), 6);
        assert!(boundaries(Suspension::Capped, state(2, false)).is_empty(), "the cap is reached");
        assert!(boundaries(Suspension::Capped, state(0, true)).is_empty(), "somebody waits for the block");
        assert_eq!(boundaries(Suspension::Pulse, state(99, true)).len(), 6, "without a cap it can be put off for ever");
        assert_eq!(rule(Suspension::Capped).overhead(), Time(70_000));
    }

    #[test]
    fn t213_a_scaled_pulse_has_as_many_boundaries() {
        let [_, _, pulse, _] = steps();
        let scaled = pulse.scaled(Time(927), Time(1_000));
        let (rule, state) = (rule(Suspension::Pulse), SuspensionState::default());
        let mut from = Time(1);
        let mut found = Vec::new();
        while let Some(at) = rule.boundary_in_step(&scaled, from, state) {
            found.push(at);
            from = at + Time(1);
        }
        assert_eq!(found.len(), 3);
        assert_eq!(found[2], scaled.duration);
    }
}
