//! What PEN is compared with: GFTL, and PBE as a device.

use std::borrow::Cow;

use pumice_ftl::{Ftl, Gftl, GftlConfig};
use pumice_types::Time;

use super::{InitialState, Parts, initial_fill, nftl, whole_share};
use crate::device::{flash_timing, tree};
use crate::error::SimError;
use crate::spec::{Spec, SpecError, refuse};

/// More disturbs than a counter of one byte can hold: no leaf is ever over tolerance.
const UNDISTURBED: u8 = u8::MAX;

/// The spec of the device that is built. PBE's chips isolate their partial blocks, so nothing is
/// disturbed, and pay for it with blocks; every share is one of the blocks that are left. Taking the
/// device of a device changes nothing.
pub fn device_of(spec: &Spec) -> Cow<'_, Spec> {
    if spec.ftl.comparator != "pbe" {
        return Cow::Borrowed(spec);
    }
    let mut device = spec.clone();
    let blocks = u64::from(spec.geometry.blocks_per_plane);
    device.geometry.blocks_per_plane = whole_share(blocks, 1.0 - spec.ftl.capacity_loss);
    device.partial_erase.disturb_tolerance = UNDISTURBED;
    device.partial_erase.disturb_aware = false;
    device.ftl.comparator = "none".into();
    device.ftl.capacity_loss = 0.0;
    Cow::Owned(device)
}

/// Blocks that each plane has beyond the geometry of the spec: GFTL's write buffer.
pub fn extra_blocks(spec: &Spec) -> u32 {
    match spec.ftl.comparator.as_str() {
        "gftl" => whole_share(u64::from(spec.geometry.blocks_per_plane), spec.ftl.write_buffer_share).max(1),
        _ => 0,
    }
}

/// Builds and fills GFTL.
///
/// # Errors
/// A fill that does not fit, which [`check`] rules out.
pub fn build_gftl(parts: &Parts, mut initial: InitialState) -> Result<Ftl, SimError> {
    let timing = &parts.timing;
    let config = GftlConfig {
        nftl: nftl::config(parts),
        buffer_blocks: extra_blocks(parts.spec),
        slot: timing.t_bers,
        copy: timing.copy(),
        search_page: timing.t_r + timing.spare_transfer,
        search: timing.command_overhead,
    };
    let mut ftl = Gftl::new(config, &parts.bad);
    ftl.fill(initial_fill(parts.spec), |filled| {
        initial.program(&filled);
        initial.note(filled.first, u32::from(filled.pages));
    })?;
    Ok(Ftl::Gftl(Box::new(ftl)))
}

/// Refuses a comparator that cannot work.
///
/// # Errors
/// The impossibility, with what would work.
pub fn check(spec: &Spec) -> Result<(), SpecError> {
    let comparator = spec.ftl.comparator.as_str();
    if comparator != "none" && spec.ftl.kind != "nftl" {
        let kind = &spec.ftl.kind;
        return refuse(format!("ftl.comparator = \"{comparator}\" needs ftl.kind = \"nftl\", found \"{kind}\""));
    }
    match comparator {
        "gftl" => check_gftl(spec),
        "pbe" => check_pbe(spec),
        _ if spec.ftl.capacity_loss > 0.0 => {
            refuse(format!("ftl.capacity_loss = {} needs ftl.comparator = \"pbe\"", spec.ftl.capacity_loss))
        }
        _ => Ok(()),
    }
}

fn check_gftl(spec: &Spec) -> Result<(), SpecError> {
    if spec.ftl.merge != "block-erase" {
        let merge = &spec.ftl.merge;
        return refuse(format!("ftl.comparator = \"gftl\" needs ftl.merge = \"block-erase\", found \"{merge}\""));
    }
    let timing = flash_timing(spec, tree(spec)?);
    let search = timing.t_r + timing.spare_transfer + timing.command_overhead;
    let step: Time = timing.copy().max(search);
    if timing.t_bers < step {
        return refuse(format!(
            "timing.t_bers_us = {}: a slot of GFTL must hold a page copy and a spare read; the smallest value that works is {}",
            spec.timing.t_bers_us,
            step.as_us()
        ));
    }
    Ok(())
}

fn check_pbe(spec: &Spec) -> Result<(), SpecError> {
    let left = device_of(spec).geometry.blocks_per_plane;
    if left <= spec.geometry.bad_blocks_per_plane {
        return refuse(format!(
            "ftl.capacity_loss = {} leaves no good block in a plane; lower it",
            spec.ftl.capacity_loss
        ));
    }
    Ok(())
}
