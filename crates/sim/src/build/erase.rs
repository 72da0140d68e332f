//! How a spec erases: its scheme, its blocks, and when an erase may be suspended.

use pumice_types::erase::{EraseMode, EraseScheme, EraseTiming, MAX_LOOPS, PULSES_PER_LOOP, RberRequirement};
use pumice_types::suspension::{Suspension, SuspensionRule};
use pumice_types::{FailBitRanges, FlashTiming, Geometry, PbTree, Time};

use crate::erase::{DistributionRequest, EraseConfig, Eraser, distribution};
use crate::spec::{Spec, SpecError, refuse};

/// Blocks over which an expected erase time is averaged: a multiple of 200, so that measured shares are met.
const BLOCKS: u32 = 400;

/// How far a shallow erase may be from a whole number of unit pulses, in unit pulses.
const SHALLOW_TOLERANCE: f64 = 1e-6;

/// Refuses erase keys that cannot hold together.
///
/// # Errors
/// The first impossibility, with what would be possible.
pub fn check(spec: &Spec) -> Result<(), SpecError> {
    let e = &spec.erase;
    if RberRequirement::from_bits(e.rber_requirement).is_none() {
        return refuse(format!(
            "erase.rber_requirement = {} was not measured; allowed: 40, 50, 63",
            e.rber_requirement
        ));
    }
    if e.scheme != "fixed" && f64::from(e.rber_requirement) > e.ecc_bits_per_kib {
        return refuse(format!(
            "erase.rber_requirement = {} is above erase.ecc_bits_per_kib = {}, so blocks would stay in use that cannot be read",
            e.rber_requirement, e.ecc_bits_per_kib
        ));
    }
    check_retirement(spec)?;
    if e.gamma >= e.delta {
        return refuse(format!("erase.gamma = {} is not below erase.delta = {}", e.gamma, e.delta));
    }
    let pulses = shallow_pulses(spec);
    let whole = (pulses - pulses.round()).abs() <= SHALLOW_TOLERANCE;
    if !whole || !(1.0..f64::from(PULSES_PER_LOOP)).contains(&pulses.round()) {
        return refuse(format!(
            "erase.t_se_us = {} is not one to six sevenths of erase.t_ep_us = {}",
            e.t_se_us, e.t_ep_us
        ));
    }
    if e.suspension != "off" && !spec.host.read_priority {
        return refuse(format!(
            "erase.suspension = \"{}\" lets reads go first, which needs host.read_priority = true",
            e.suspension
        ));
    }
    Ok(())
}

/// Refuses erases that can fail where nobody retires blocks, or retires a part of one.
fn check_retirement(spec: &Spec) -> Result<(), SpecError> {
    let (max_loops, ftl) = (spec.erase.max_loops, &spec.ftl);
    if max_loops == MAX_LOOPS {
        return Ok(());
    }
    let needed = [
        ("erase.scheme", spec.erase.scheme.as_str(), "a scheme with erase loops", spec.erase.scheme != "fixed"),
        ("ftl.kind", &ftl.kind, "\"page\", which retires blocks", ftl.kind == "page"),
        ("ftl.erase_unit", &ftl.erase_unit, "\"block\"", ftl.erase_unit == "block"),
        ("ftl.map_place", &ftl.map_place, "\"ram\"", ftl.map_place == "ram"),
    ];
    match needed.iter().find(|(.., is_met)| !is_met) {
        Some((key, found, wanted, _)) => refuse(format!(
            "erase.max_loops = {max_loops} lets erases fail, which needs {key} = {wanted}, found \"{found}\""
        )),
        None => Ok(()),
    }
}

/// Unit pulses of a shallow erase.
fn shallow_pulses(spec: &Spec) -> f64 {
    spec.erase.t_se_us * f64::from(PULSES_PER_LOOP) / spec.erase.t_ep_us
}

/// The spec's erase models; `None` if every erase takes one fixed time.
pub fn config(spec: &Spec) -> Option<EraseConfig> {
    let e = &spec.erase;
    let scheme = EraseScheme::from_name(&e.scheme).filter(|&scheme| scheme != EraseScheme::Fixed)?;
    Some(EraseConfig {
        scheme,
        mode: EraseMode::from_name(&e.mode)?,
        requirement: RberRequirement::from_bits(e.rber_requirement)?,
        misprediction_rate: e.misprediction_rate,
        ranges: FailBitRanges { gamma: e.gamma, delta: e.delta },
        timing: EraseTiming {
            fixed: Time::from_us(spec.timing.t_bers_us),
            pulse: Time::from_us(e.t_ep_us / f64::from(PULSES_PER_LOOP)),
            verify: Time::from_us(e.t_vr_us),
            shallow_pulses: shallow_pulses(spec).round() as u8,
        },
        max_loops: e.max_loops,
        seed: spec.seed,
    })
}

/// The blocks of a device at the spec's initial wear; `None` if every erase takes one fixed time.
pub fn eraser(spec: &Spec, geometry: &Geometry, tree: PbTree) -> Option<Eraser> {
    let leaves = match spec.partial_erase.unit.as_str() {
        "sub-block" => spec.geometry.sub_blocks.map_or(1, usize::from),
        _ => tree.leaves(),
    };
    let eraser = Eraser::new(config(spec)?, geometry.blocks() as usize, spec.erase.initial_pec);
    Some(eraser.with_leaves(leaves))
}

/// What a controller expects an erase of a whole block to take: tBERS, or the mean of its scheme's erases at
/// the blocks' initial wear. It could have measured that on its own erases; that they take longer as the
/// run goes on is left out.
pub fn expected_time(spec: &Spec, timing: &FlashTiming) -> Time {
    let mean =
        |config| distribution(&DistributionRequest { config, pec: spec.erase.initial_pec.into(), blocks: BLOCKS });
    config(spec).map_or(timing.t_bers, |config| Time::from_us(mean(config).mean_time_us))
}

/// When erases may be suspended; `None` if each runs in one piece of known time, and on its own.
pub fn suspension(spec: &Spec) -> Option<SuspensionRule> {
    let e = &spec.erase;
    let mode = Suspension::from_name(&e.suspension)?;
    if e.scheme == "fixed" && mode == Suspension::Off && !spec.timing.multi_plane {
        return None;
    }
    Some(SuspensionRule {
        mode,
        suspend: Time::from_us(e.suspend_us),
        resume: Time::from_us(e.resume_us),
        max_suspensions: e.max_suspensions,
    })
}

/// What the scheme multiplies the time of a page program by.
pub fn program_time_factor(spec: &Spec) -> f64 {
    let scheme = EraseScheme::from_name(&spec.erase.scheme).unwrap_or(EraseScheme::Fixed);
    pumice_ftl::erase::program_time_factor(scheme, u32::from(spec.erase.initial_pec))
}
