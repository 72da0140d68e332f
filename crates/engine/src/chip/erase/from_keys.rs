//! How a spec's chips erase: the scheme, the blocks, and when an erase may be suspended.

use pumice_types::erase::PULSES_PER_LOOP;
use pumice_types::{
    ChipKeys, EraseKeys, ErasePiece, EraseTiming, FailBitRanges, FlashTiming, Geometry, Interruption, MultiPlane,
    PbTree, Suspension, SuspensionRule, Time,
};

use super::{DistributionRequest, EraseConfig, Eraser, distribution};

/// Blocks over which an expected erase time is averaged: a multiple of 200, so that measured shares are met.
const BLOCKS: u32 = 400;

/// Time that must be left of a loop for the public simulator of AERO's authors to interrupt it.
const AUTHORS_GUARD: Time = Time(700_000);

/// Time for which that simulator suspends an erase.
const AUTHORS_SUSPEND: Time = Time(100_000);

/// The erase models of a spec's chips; `None` if every erase takes one fixed time.
pub fn erase_config(chip: &ChipKeys, seed: u64) -> Option<EraseConfig> {
    let keys = &chip.erase;
    if !keys.scheme.has_loops() {
        return None;
    }
    Some(EraseConfig {
        scheme: keys.scheme,
        mode: keys.mode,
        cycled: None,
        memory: keys.initial_memory,
        requirement: keys.rber_requirement,
        misprediction_rate: keys.misprediction_rate,
        ranges: FailBitRanges { gamma: keys.gamma, delta: keys.delta },
        timing: EraseTiming {
            fixed: Time::from_us(chip.timing.t_bers_us),
            pulse: Time::from_us(keys.t_ep_us / f64::from(PULSES_PER_LOOP)),
            verify: Time::from_us(keys.t_vr_us + if keys.scheme.predicts() { 2.0 * keys.t_feature_us } else { 0.0 }),
            shallow_pulses: (keys.t_se_us * f64::from(PULSES_PER_LOOP) / keys.t_ep_us).round() as u8,
        },
        max_loops: keys.max_loops,
        worn_blocks: keys.worn_blocks,
        seed,
    })
}

/// The blocks of a device at the spec's initial wear; `None` if every erase takes one fixed time.
pub fn eraser(chip: &ChipKeys, seed: u64, geometry: &Geometry, tree: PbTree) -> Option<Eraser> {
    let leaves = chip.erased_sub_blocks().map_or(tree.leaves(), |shape| usize::from(shape.sub_blocks()));
    let eraser = Eraser::new(erase_config(chip, seed)?, geometry.blocks() as usize, chip.erase.initial_pec);
    Some(eraser.with_leaves(leaves))
}

/// What a controller expects an erase of a whole block to take: tBERS, or the mean of its scheme's erases at the
/// blocks' initial wear. A controller could measure this mean on its own erases. It stays constant during the run,
/// although erases become longer with wear.
pub fn expected_time(chip: &ChipKeys, seed: u64, timing: &FlashTiming) -> Time {
    let mean =
        |config| distribution(&DistributionRequest { config, pec: chip.erase.initial_pec.into(), blocks: BLOCKS });
    erase_config(chip, seed).map_or(timing.t_bers, |config| Time::from_us(mean(config).mean_time_us))
}

/// When erases may be suspended; `None` if each runs in one piece of known time, and on its own.
pub fn suspension_rule(chip: &ChipKeys) -> Option<SuspensionRule> {
    let keys = &chip.erase;
    if !keys.scheme.has_loops() && keys.suspension == Suspension::Off && chip.timing.multi_plane == MultiPlane::Off {
        return None;
    }
    Some(SuspensionRule { whom: keys.suspension_for, ..rule_of(keys) })
}

/// The rule that the keys name.
fn rule_of(keys: &EraseKeys) -> SuspensionRule {
    let with_keys = |rule: SuspensionRule| SuspensionRule {
        protected_loops: keys.protected_loops,
        suspend: Time::from_us(keys.suspend_us),
        resume: Time::from_us(keys.resume_us),
        ..rule
    };
    let interrupted = |piece, guard| SuspensionRule {
        interruption: Some(Interruption { guard, max_restarts: keys.suspension_max_restarts }),
        ..SuspensionRule::after_each(piece)
    };
    match keys.suspension {
        Suspension::Off => SuspensionRule::NEVER,
        Suspension::Loop => with_keys(SuspensionRule::after_each(ErasePiece::Loop)),
        Suspension::Pulse => with_keys(SuspensionRule::after_each(ErasePiece::Pulse)),
        Suspension::Capped => with_keys(SuspensionRule {
            max_suspensions: Some(keys.max_suspensions),
            ..SuspensionRule::after_each(ErasePiece::Pulse)
        }),
        Suspension::Immediate => {
            with_keys(interrupted(keys.suspension_restart, Time::from_us(keys.suspension_guard_us)))
        }
        Suspension::AuthorsCode => SuspensionRule {
            protected_loops: 1,
            suspend: AUTHORS_SUSPEND,
            ..interrupted(ErasePiece::Loop, AUTHORS_GUARD)
        },
    }
}
