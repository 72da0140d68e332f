//! DPES (AERO, ASPLOS'24, §3.3): ISPE at lower voltage while the block is young, for which page programs take longer.
//!
//! The lower voltage shows in program times and in stress. The erase loops are those of ISPE, as measured.

use super::{EraseScheme, SchemeRules};
use crate::RberRequirement;

/// PEC from which the voltage can no longer be lowered (AERO, §7.1).
const LIMIT_PEC: u32 = 3_000;

/// Factors on program times, each at a PEC (AERO, Table 2: 385 and 455 us of 350).
const PROGRAM: [(f64, f64); 2] = [(500.0, 1.1), (2_500.0, 1.3)];

pub(super) struct Dpes;

impl SchemeRules for Dpes {
    const NAME: &'static str = "dpes";
    const ABOUT: &'static str = "ispe at lower voltage, with slower programs, up to 3K PEC";

    /// Calibrated, so that `dpes` meets requirement 63 at its published 6.68K PEC (26 % beyond `ispe`; AERO, §7.2). The
    /// factor holds for the whole life, also past the PEC up to which the voltage is lowered: young cycles without any
    /// stress would not be enough for the published lifetime.
    const STRESS_FACTOR: f64 = 0.732;

    /// 10 % more up to 0.5K PEC, 30 % more from 2.5K on, linear between, and nothing from 3K on.
    fn program_time_factor(pec: u32) -> f64 {
        if pec >= LIMIT_PEC {
            return 1.0;
        }
        let [(young, least), (old, most)] = PROGRAM;
        let share = ((f64::from(pec) - young) / (old - young)).clamp(0.0, 1.0);
        least + share * (most - least)
    }

    fn measured_over(_requirement: RberRequirement) -> Option<EraseScheme> {
        Some(EraseScheme::Ispe)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Choice;

    #[test]
    fn t380_dpes_pays_for_its_voltage_in_program_time() {
        for (pec, factor) in
            [(0, 1.1), (500, 1.1), (1_500, 1.2), (2_500, 1.3), (2_999, 1.3), (3_000, 1.0), (9_000, 1.0)]
        {
            assert!((EraseScheme::Dpes.program_time_factor(pec) - factor).abs() < 1e-12, "{pec}");
            for &scheme in EraseScheme::ALL.iter().filter(|&&scheme| scheme != EraseScheme::Dpes) {
                assert_eq!(scheme.program_time_factor(pec), 1.0, "{scheme}");
            }
        }
    }
}
