//! The NFTL of a spec.

use pumice_ftl::{Ftl, Nftl, NftlConfig, UIndex};
use pumice_types::Geometry;

use super::{
    InitialState, Parts, gc_start_blocks, initial_fill, merge_policy, program_order, typed_share, whole_share,
};
use crate::error::SimError;
use crate::spec::{Spec, SpecError, refuse};

/// Blocks a plane that an NFTL needs beyond its logical blocks: a U-block and one free block for
/// the merge.
pub(super) const SPARE_BLOCKS_MIN: u32 = 2;

/// Logical blocks that the host may address in each plane.
pub(super) fn logical_blocks_per_plane(spec: &Spec) -> u32 {
    whole_share(u64::from(spec.geometry.blocks_per_plane), 1.0 - spec.ftl.over_provisioning)
}

/// Logical pages that the host may address: whole blocks.
pub fn user_pages(spec: &Spec, geometry: &Geometry) -> u32 {
    geometry.planes() * logical_blocks_per_plane(spec) * u32::from(geometry.pages_per_block)
}

/// Its settings.
pub(super) fn config(parts: &Parts) -> NftlConfig {
    let spec = parts.spec;
    NftlConfig {
        geometry: parts.geometry,
        tree: parts.tree,
        program_order: program_order(spec),
        logical_blocks_per_plane: logical_blocks_per_plane(spec),
        gc_free_blocks: gc_start_blocks(spec),
        u_index: if spec.ftl.u_index == "ram" { UIndex::Ram } else { UIndex::Spare },
        merge: merge_policy(spec, &parts.timing),
    }
}

/// Builds and fills it.
///
/// # Errors
/// A fill that does not fit, which [`check`] rules out.
pub fn build(parts: &Parts, mut initial: InitialState) -> Result<Ftl, SimError> {
    let spec = parts.spec;
    let mut ftl = Nftl::new(config(parts), &parts.bad);
    ftl.fill(initial_fill(spec), |filled| {
        initial.program(&filled);
        initial.note(filled.first, u32::from(filled.pages));
    })?;
    Ok(Ftl::Nftl(Box::new(ftl)))
}

/// Refuses a device without room for U-blocks.
///
/// # Errors
/// The impossibility, with the smallest value that works.
pub fn check(spec: &Spec) -> Result<(), SpecError> {
    if spec.ftl.merge == "m-merge-budgeted" {
        return refuse("ftl.merge = \"m-merge-budgeted\" needs ftl.kind = \"superblock\", found \"nftl\"".into());
    }
    check_room(spec, logical_blocks_per_plane(spec))
}

/// Refuses a device whose `logical` blocks a plane leave no room to merge in.
///
/// # Errors
/// The impossibility, with the smallest over-provisioning that works.
pub(super) fn check_room(spec: &Spec, logical: u32) -> Result<(), SpecError> {
    let good = spec.geometry.blocks_per_plane - spec.geometry.bad_blocks_per_plane;
    let kind = &spec.ftl.kind;
    if logical == 0 {
        let op = spec.ftl.over_provisioning;
        return refuse(format!("ftl.over_provisioning = {op} leaves no block a plane for the host; lower it"));
    }
    if logical + SPARE_BLOCKS_MIN > good {
        let raw = spec.geometry.blocks_per_plane;
        let possible = good.saturating_sub(SPARE_BLOCKS_MIN);
        if possible == 0 {
            return refuse(format!(
                "geometry has {good} good blocks a plane; ftl.kind = \"{kind}\" needs at least {}",
                SPARE_BLOCKS_MIN + 1
            ));
        }
        let shown = typed_share(1.0 - f64::from(possible) / f64::from(raw));
        return refuse(format!(
            "ftl.over_provisioning = {} leaves {} blocks a plane beyond the {logical} logical ones, and ftl.kind = \"{kind}\" \
             needs {SPARE_BLOCKS_MIN} to update and merge in; the smallest value that works is {shown}",
            spec.ftl.over_provisioning,
            good.saturating_sub(logical),
        ));
    }
    Ok(())
}
