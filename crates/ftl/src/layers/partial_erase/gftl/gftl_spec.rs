//! GFTL as a spec asks for it.

use pumice_types::key::{When, float};
use pumice_types::{Geometry, SpecError, Time, keys, refuse};

use super::{Gftl, GftlConfig};
use crate::erase::flash_timing;
use crate::layers::partial_erase::nftl;
use crate::layers::partial_erase::nftl::Nftl;
use crate::plan::{FillTarget, FtlError, program_and_note};
use crate::recovery;
use crate::seam::{Facts, Layer, LayerParts, LayerSpec, MergeMethod, RecoveryCounts, Restart, whole_share};

keys! {
    /// Keys of GFTL alone.
    pub struct GftlKeys in "ftl" {
        write_buffer_share: f64 = "0.16", float(0.0, 1.0), "share of a plane's blocks", "Choudhuri and Givargis, CODES+ISSS 2008", When::Always,
            "gftl: write-buffer blocks that each plane has in addition to geometry.blocks_per_plane, at least 1.";
    }
}

/// Free blocks of a plane that only merges take, and recovery.
fn kept_blocks(spec: &LayerSpec) -> u32 {
    1 + recovery::reserve(spec)
}

/// Settings of the layer.
fn config(parts: &LayerParts, keys: &GftlKeys) -> GftlConfig {
    let timing = parts.timing;
    GftlConfig {
        nftl: nftl::config_keeping(parts, kept_blocks(&parts.spec)),
        reserve: recovery::reserve(&parts.spec) as usize,
        buffer_blocks: Gftl::extra_blocks(&parts.spec, keys),
        slot: timing.t_bers,
        copy: timing.mean_copy(),
        partial_erase: timing.partial_erase.clone(),
        search_page: timing.pages.mean_t_r() + timing.spare_transfer,
        search: timing.command_overhead,
    }
}

impl Layer for Gftl {
    type Keys = GftlKeys;
    type Running = Gftl;

    const FACTS: Facts = Nftl::FACTS;

    fn check(spec: &LayerSpec, _: &GftlKeys) -> Result<(), SpecError> {
        check_slot(spec)?;
        spec.check_spare_bytes(recovery::spare_bytes(spec))?;
        nftl::check_room(spec, spec.user_blocks_per_plane(), kept_blocks(spec))
    }

    fn extra_blocks(spec: &LayerSpec, keys: &GftlKeys) -> u32 {
        whole_share(u64::from(spec.blocks_per_plane()), keys.write_buffer_share).max(1)
    }

    fn capacity(spec: &LayerSpec, _: &GftlKeys, geometry: &Geometry) -> Result<u32, SpecError> {
        Nftl::capacity(spec, &(), geometry)
    }

    fn recover(parts: &LayerParts, keys: &GftlKeys, restart: &mut Restart) -> Result<(Gftl, RecoveryCounts), FtlError> {
        Gftl::recover(config(parts, keys), parts.bad_blocks, restart)
    }

    fn build(parts: &LayerParts, keys: &GftlKeys, target: &mut dyn FillTarget) -> Result<Gftl, FtlError> {
        let mut ftl = Gftl::new(config(parts, keys), parts.bad_blocks);
        ftl.fill(parts.spec.initial.of_blocks(), |filled| program_and_note(target, &filled))?;
        Ok(ftl)
    }
}

/// Refuses a slot that holds no step of a merge.
fn check_slot(spec: &LayerSpec) -> Result<(), SpecError> {
    let timing = flash_timing(spec.chip)?;
    let search = timing.pages.mean_t_r() + timing.spare_transfer + timing.command_overhead;
    let parts = if spec.shared.merge == MergeMethod::BlockErase { &[][..] } else { &timing.partial_erase[..] };
    let step: Time = parts.iter().copied().fold(timing.mean_copy().max(search), Time::max);
    if timing.t_bers < step {
        return Err(refuse!(
            "timing.t_bers_us = {}: a slot of GFTL must hold a page copy, a spare read and, with M-Merge, a partial erase; the smallest value that works is {}",
            spec.chip.timing.t_bers_us,
            step.as_us()
        ));
    }
    Ok(())
}
