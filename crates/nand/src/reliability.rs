//! What erases do to the reliability of a block (AERO, ASPLOS'24, §7.2, Figure 13).
//!
//! Stress of an erase is its pulse time, weighted by voltage: S = Σ t · r^(level − 1). The most raw bit
//! errors in 1 KiB of a block's worst page after a year follow from the stress of all erases so far:
//!
//! M_RBER = 16 + 47 · (S / S63)^0.30, and at least 46 while erases leave use of the ECC margin.
//!
//! 16 is the published value of fresh, completely erased blocks less what rounding hides, 63 the
//! requirement. Two numbers are calibrated: r, so that `ispe` meets 63 at its published 5.3K PEC and
//! `aero-cons` at 6.9K; and the factor of `dpes` (in its file, `pumice_types::erase::schemes`), so that it
//! meets 63 at its 6.68K (26 % beyond `ispe`). What `aero` and `i-ispe` reach, and every figure at another
//! requirement, is predicted.

use pumice_types::Time;
use pumice_types::erase::{EraseScheme, EraseStep, RberRequirement};

/// M_RBER of a fresh block that is erased completely.
pub const FRESH_BITS_PER_KIB: f64 = 16.0;

/// What M_RBER has grown by at stress S63.
pub const GROWTH_BITS_PER_KIB: f64 = 47.0;

/// Exponent of stress.
pub const STRESS_EXPONENT: f64 = 0.30;

/// M_RBER of blocks on which `aero` leaves fail bits to the ECC (AERO, §7.2).
pub const MARGIN_BITS_PER_KIB: f64 = 46.0;

/// PEC at which `ispe` meets requirement 63; defines S63 (AERO, §7.2).
pub const ISPE_PEC_AT_63: f64 = 5_300.0;

/// PEC at which `aero-cons` meets requirement 63 (AERO, §7.2); r is calibrated on it.
pub const AERO_CONS_PEC_AT_63: f64 = 6_900.0;

/// PEC at which `dpes` meets requirement 63: 26 % beyond `ispe` (AERO, §7.2).
pub const DPES_PEC_AT_63: f64 = 6_680.0;

/// r: how much more a pulse wears at one level higher. Calibrated.
pub const LEVEL_RATIO: f64 = 2.893;

/// Stress of a sequence of steps, in milliseconds at level 1. A fixed erase counts its time at level 1.
pub fn stress(steps: &[EraseStep]) -> f64 {
    steps.iter().map(|step| stress_for(step, step.duration)).sum()
}

/// Stress of what such a sequence does from one instant of it to another.
pub fn stress_between(steps: &[EraseStep], from: Time, to: Time) -> f64 {
    let mut start = Time::ZERO;
    let of = |step: &EraseStep| {
        let (begin, end) = (start, start + step.duration);
        start = end;
        stress_for(step, to.min(end).saturating_sub(from.max(begin)))
    };
    steps.iter().map(of).sum()
}

/// Stress of a step that lasts for so long.
fn stress_for(step: &EraseStep, duration: Time) -> f64 {
    match (step.pulses, step.level) {
        (0, level) if level > 0 => 0.0,
        (_, level) => duration.0 as f64 / 1e6 * libm::pow(LEVEL_RATIO, f64::from(level.max(1) - 1)),
    }
}

/// M_RBER, in bits per KiB, at so many times S63.
///
/// The floor of 46 holds where the scheme uses the margin at this requirement ([`EraseScheme::uses_margin`]).
pub fn m_rber(relative_stress: f64, scheme: EraseScheme, requirement: RberRequirement) -> f64 {
    let grown = FRESH_BITS_PER_KIB + GROWTH_BITS_PER_KIB * libm::pow(relative_stress, STRESS_EXPONENT);
    if scheme.uses_margin(requirement) { grown.max(MARGIN_BITS_PER_KIB) } else { grown }
}

/// Stress, as a multiple of S63, at which completely erased blocks have so many bit errors per KiB; 0 if
/// fresh ones already have more.
pub fn relative_stress_at(bits_per_kib: f64) -> f64 {
    let room = ((bits_per_kib - FRESH_BITS_PER_KIB) / GROWTH_BITS_PER_KIB).max(0.0);
    libm::pow(room, 1.0 / STRESS_EXPONENT)
}

#[cfg(test)]
mod tests {
    use super::*;
    use pumice_types::StepKind;

    #[test]
    fn t377_a_pulse_wears_by_its_level_and_a_verify_not_at_all() {
        let pulse = |level| EraseStep { kind: StepKind::Pulse, level, pulses: 7, duration: Time(3_500_000) };
        let verify = EraseStep { kind: StepKind::Verify, level: 2, pulses: 0, duration: Time(100_000) };
        assert_eq!(stress(&[pulse(1), verify]), 3.5);
        assert!((stress(&[pulse(1), verify, pulse(2), verify]) - 3.5 * (1.0 + LEVEL_RATIO)).abs() < 1e-12);
    }

    #[test]
    fn t378_a_block_meets_the_requirement_at_its_stress() {
        for requirement in RberRequirement::ALL {
            let limit = f64::from(requirement.bits_per_kib());
            let bits = m_rber(relative_stress_at(limit), EraseScheme::Ispe, requirement);
            assert!((bits - limit).abs() < 1e-9);
        }
        assert_eq!(m_rber(0.0, EraseScheme::AeroCons, RberRequirement::Bits63), 16.0);
        assert_eq!(m_rber(0.0, EraseScheme::Aero, RberRequirement::Bits63), 46.0);
    }
}
