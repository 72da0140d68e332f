//! The NFTL as a spec asks for it.

use pumice_types::Geometry;

use super::{Nftl, NftlConfig};
use crate::error::FtlError;
use crate::fill::{FillTarget, program_and_note};
use crate::layer::{Layer, LayerParts, LayerSpec, MergeMethod, Reports, typed_share};

/// Blocks a plane that an NFTL needs beyond its logical blocks: a U-block and one free block for
/// the merge.
const SPARE_BLOCKS_MIN: u32 = 2;

impl Layer for Nftl {
    type Keys = ();
    type Running = Nftl;

    const READS: &'static [&'static str] = &["over_provisioning", "gc_free_threshold", "u_index"];
    const MERGES: &'static [MergeMethod] = &[MergeMethod::BlockErase, MergeMethod::MMerge];
    const REPORTS: Reports = Reports::PAIRS;

    fn check(spec: &LayerSpec, _: &()) -> Result<(), String> {
        check_room(spec, spec.user_blocks_per_plane())
    }

    fn user_pages(spec: &LayerSpec, _: &(), geometry: &Geometry) -> u32 {
        geometry.planes() * spec.user_blocks_per_plane() * u32::from(geometry.pages_per_block)
    }

    fn build(parts: &LayerParts, _: &(), target: &mut dyn FillTarget) -> Result<Nftl, FtlError> {
        let mut ftl = Nftl::new(config(parts), parts.bad_blocks);
        ftl.fill(parts.spec.initial.of_blocks(), |filled| program_and_note(target, &filled))?;
        Ok(ftl)
    }
}

/// Its settings.
pub(in crate::layers) fn config(parts: &LayerParts) -> NftlConfig {
    let spec = &parts.spec;
    NftlConfig {
        geometry: parts.geometry,
        tree: parts.tree,
        program_order: spec.chip.geometry.program_order,
        logical_blocks_per_plane: spec.user_blocks_per_plane(),
        gc_free_blocks: spec.gc_start_blocks(),
        u_index: spec.shared.u_index,
        merge: parts.merge_policy(),
    }
}

/// Refuses a device whose `logical` blocks a plane leave no room to merge in.
///
/// # Errors
/// The impossibility, with the smallest over-provisioning that works.
pub(in crate::layers) fn check_room(spec: &LayerSpec, logical: u32) -> Result<(), String> {
    let good = spec.chip.geometry.good_blocks_per_plane();
    let (kind, over_provisioning) = (spec.kind, spec.shared.over_provisioning);
    if logical == 0 {
        return Err(format!(
            "ftl.over_provisioning = {over_provisioning} leaves no block a plane for the host; lower it"
        ));
    }
    if logical + SPARE_BLOCKS_MIN <= good {
        return Ok(());
    }
    let possible = good.saturating_sub(SPARE_BLOCKS_MIN);
    if possible == 0 {
        return Err(format!(
            "geometry has {good} good blocks a plane; ftl.kind = \"{kind}\" needs at least {}",
            SPARE_BLOCKS_MIN + 1
        ));
    }
    let smallest = typed_share(1.0 - f64::from(possible) / f64::from(spec.blocks_per_plane()));
    Err(format!(
        "ftl.over_provisioning = {over_provisioning} leaves {} blocks a plane beyond the {logical} logical ones, and \
         ftl.kind = \"{kind}\" needs {SPARE_BLOCKS_MIN} to update and merge in; the smallest value that works is {smallest}",
        good.saturating_sub(logical),
    ))
}
