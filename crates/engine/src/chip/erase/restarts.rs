//! Pulses and loops that began again because a suspension had interrupted them: what that cost.
//!
//! An interrupted piece is done anew in full, so what it had erased counts for nothing. Its voltage was on all
//! the same: its time holds the die, and its pulses wear the block.

use pumice_nand::reliability::stress_between;
use pumice_types::suspension::Stop;
use pumice_types::{EraseStep, Time};

/// What all restarts of a run amount to.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RestartTotals {
    /// Pulses or loops interrupted.
    pub count: u64,
    /// Time for which they had run.
    pub time: Time,
    /// Stress of their pulses, in milliseconds at level 1.
    pub stress: f64,
}

impl RestartTotals {
    /// Records a stop, if it loses anything.
    pub fn note(&mut self, steps: &[EraseStep], stop: Stop) {
        let Stop { at, keeps } = stop;
        if at > keeps {
            self.count += 1;
            self.time += at - keeps;
            self.stress += stress_between(steps, keeps, at);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pumice_types::StepKind;

    #[test]
    fn t379_what_began_again_counts_by_time_and_by_the_voltage_of_its_pulses() {
        let step = |kind, level, pulses, ms: f64| EraseStep { kind, level, pulses, duration: Time((ms * 1e6) as u64) };
        let of_loop = |level| [step(StepKind::Pulse, level, 7, 3.5), step(StepKind::Verify, level, 0, 0.1)];
        let steps = [of_loop(1), of_loop(2)].concat();
        let mut totals = RestartTotals::default();
        totals.note(&steps, Stop::after(Time(3_600_000)));
        assert_eq!(totals, RestartTotals::default(), "nothing is lost at a boundary");
        totals.note(&steps, Stop { at: Time(2_000_000), keeps: Time(0) });
        assert_eq!((totals.count, totals.time, totals.stress), (1, Time(2_000_000), 2.0));
        let level_2 = pumice_nand::reliability::stress(&of_loop(2)) / 3.5;
        totals.note(&steps, Stop { at: Time(4_600_000), keeps: Time(3_600_000) });
        assert_eq!((totals.count, totals.time), (2, Time(3_000_000)));
        assert!((totals.stress - 2.0 - level_2).abs() < 1e-12);
        totals.note(&steps, Stop { at: Time(3_550_000), keeps: Time(0) });
        assert!((totals.stress - 5.5 - level_2).abs() < 1e-12, "a verify read does not wear");
    }
}
