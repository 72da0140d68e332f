//! The page-level FTL of a spec.

use pumice_ftl::{Allocation, EraseUnits, Ftl, GcMode, OPEN_BLOCKS, PageConfig, PageFtl, VictimPolicy};
use pumice_types::{Geometry, Lpn, UnitPages};
use pumice_workload::Stream;

use super::{InitialState, Parts, gc_start_blocks, typed_share, whole_share};
use crate::device::block_shape;
use crate::error::SimError;
use crate::spec::{Spec, SpecError, refuse};

/// Logical pages that the host may address.
pub fn user_pages(spec: &Spec, geometry: &Geometry) -> u32 {
    whole_share(geometry.pages(), 1.0 - spec.ftl.over_provisioning)
}

/// Builds and fills it.
///
/// # Errors
/// A fill that does not fit, which [`check`] rules out.
pub fn build(parts: &Parts, mut initial: InitialState) -> Result<Ftl, SimError> {
    let (spec, geometry) = (parts.spec, &parts.geometry);
    let policy = match spec.ftl.gc_policy.as_str() {
        "cost-benefit" => VictimPolicy::CostBenefit,
        "d-choices" => VictimPolicy::DChoices(spec.ftl.d_choices),
        "fifo" => VictimPolicy::Fifo,
        "random" => VictimPolicy::Random,
        _ => VictimPolicy::Greedy,
    };
    let stop = spec.ftl.gc_stop_threshold.unwrap_or(spec.ftl.gc_free_threshold);
    let config = PageConfig {
        geometry: *geometry,
        user_pages: user_pages(spec, geometry),
        order: (0..geometry.planes()).map(|turn| geometry.plane_in_order(&spec.ftl.allocation_order, turn)).collect(),
        allocation: if spec.ftl.allocation == "static" { Allocation::Static } else { Allocation::Dynamic },
        policy,
        units: erase_units(parts),
        gc_mode: match spec.ftl.gc_mode.as_str() {
            "foreground" => GcMode::Foreground,
            "background" => GcMode::Background,
            "preemptible" => GcMode::Preemptible,
            _ => GcMode::Blocking,
        },
        gc_start_blocks: gc_start_blocks(spec),
        gc_stop_blocks: whole_share(u64::from(geometry.blocks_per_plane), stop).max(gc_start_blocks(spec)),
        seed: Stream::new(spec.seed, "gc-victims").bits(),
    };
    let mut ftl = PageFtl::new(config, &parts.bad);
    let filled = ftl.fill(spec.initial.fill, |filled| initial.program(&filled))?;
    initial.note(Lpn(0), filled);
    Ok(Ftl::Page(Box::new(ftl)))
}

/// What is erased apart: blocks, or the physical sub-blocks of each.
fn erase_units(parts: &Parts) -> EraseUnits {
    let (copy, erase) = (parts.timing.copy(), parts.timing.t_bers);
    match block_shape(parts.spec) {
        Some(shape) if parts.spec.ftl.erase_unit == "sub-block" => {
            EraseUnits { pages: UnitPages::sub_blocks(shape), copy, erase }
        }
        _ => EraseUnits::whole_blocks(parts.geometry.pages_per_block),
    }
}

/// Refuses an erase unit that the chip does not have.
fn check_erase_unit(spec: &Spec) -> Result<(), SpecError> {
    let unit = &spec.ftl.erase_unit;
    if unit != "block" && *unit != spec.partial_erase.unit {
        return refuse(format!(
            "ftl.erase_unit = \"{unit}\" needs partial_erase.unit = \"{unit}\", found \"{}\"",
            spec.partial_erase.unit
        ));
    }
    Ok(())
}

/// Refuses settings that only a page-level FTL knows, for the others.
///
/// # Errors
/// The first such setting.
pub fn check_absent(spec: &Spec) -> Result<(), SpecError> {
    let ftl = &spec.ftl;
    let settings = [
        ("gc_mode", &ftl.gc_mode, "blocking"),
        ("allocation", &ftl.allocation, "dynamic"),
        ("erase_unit", &ftl.erase_unit, "block"),
    ];
    match settings.iter().find(|(_, value, default)| value != default) {
        Some((key, value, _)) => {
            refuse(format!("ftl.{key} = \"{value}\" needs ftl.kind = \"page\", found \"{}\"", ftl.kind))
        }
        None => Ok(()),
    }
}

/// Refuses what the scheduler does not serve yet.
fn check_clock(spec: &Spec) -> Result<(), SpecError> {
    if spec.run.timed && spec.ftl.gc_mode != "blocking" {
        return refuse(format!("ftl.gc_mode = \"{}\" needs run.timed = false", spec.ftl.gc_mode));
    }
    Ok(())
}

/// Blocks of each plane that a page-level FTL cannot fill with valid data: those it keeps free, the
/// open ones and the bad ones, and one more, so that some plane always has room for a write.
fn reserve(spec: &Spec) -> u32 {
    gc_start_blocks(spec) + OPEN_BLOCKS + spec.geometry.bad_blocks_per_plane + 1
}

/// Refuses a device whose garbage collection could not make progress.
///
/// # Errors
/// The impossibility, with the smallest value that works.
pub fn check(spec: &Spec) -> Result<(), SpecError> {
    if spec.ftl.merge != "block-erase" {
        return refuse(format!("ftl.merge = \"{}\" needs ftl.kind = \"nftl\", found \"page\"", spec.ftl.merge));
    }
    if spec.ftl.gc_stop_threshold.is_some_and(|stop| stop < spec.ftl.gc_free_threshold) {
        return refuse("ftl.gc_stop_threshold is below ftl.gc_free_threshold; allowed: at least that".into());
    }
    check_clock(spec)?;
    check_erase_unit(spec)?;
    let raw = spec.geometry.blocks_per_plane;
    let reserve = reserve(spec);
    if reserve >= raw {
        return refuse(format!(
            "geometry.blocks_per_plane = {raw}; a page-level FTL needs {} with these thresholds",
            reserve + 1
        ));
    }
    let smallest = f64::from(reserve) / f64::from(raw);
    if spec.ftl.over_provisioning < smallest {
        let shown = typed_share(smallest);
        return refuse(format!(
            "ftl.over_provisioning = {}: garbage collection cannot make progress, because {reserve} of {raw} blocks a plane are kept \
             free, open or bad; the smallest value that works is {shown}",
            spec.ftl.over_provisioning
        ));
    }
    Ok(())
}
