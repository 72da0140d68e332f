//! The superblock FTL of a spec, in PEN's variant.

use pumice_ftl::{Ftl, SuperblockPen, SuperblockPenConfig};
use pumice_types::Geometry;

use super::{InitialState, Parts, gc_start_blocks, initial_fill, merge_costs, merge_policy, nftl};
use crate::error::SimError;
use crate::spec::{Spec, SpecError, refuse};

/// Most logical pages of a superblock: its pages are numbered in 16 bits.
const SUPERBLOCK_PAGES_MAX: u32 = 1 << 16;

/// Superblocks of a plane: its logical blocks in whole groups of M.
fn superblocks_per_plane(spec: &Spec) -> u32 {
    nftl::logical_blocks_per_plane(spec) / spec.ftl.superblock.logical
}

/// N: blocks that a superblock may own.
fn physical(spec: &Spec) -> u32 {
    spec.ftl.superblock.physical.unwrap_or(spec.ftl.superblock.logical + 1)
}

/// Logical pages that the host may address: whole superblocks.
pub fn user_pages(spec: &Spec, geometry: &Geometry) -> u32 {
    let blocks = geometry.planes() * superblocks_per_plane(spec) * spec.ftl.superblock.logical;
    blocks * u32::from(geometry.pages_per_block)
}

/// Builds and fills it.
///
/// # Errors
/// A fill that does not fit, which [`check`] rules out.
pub fn build(parts: &Parts, mut initial: InitialState) -> Result<Ftl, SimError> {
    let spec = parts.spec;
    let config = SuperblockPenConfig {
        geometry: parts.geometry,
        tree: parts.tree,
        logical: spec.ftl.superblock.logical,
        physical: physical(spec),
        superblocks_per_plane: superblocks_per_plane(spec),
        gc_free_blocks: gc_start_blocks(spec),
        merge: merge_policy(spec, &parts.timing),
        costs: merge_costs(parts.spec, &parts.timing),
    };
    let mut ftl = SuperblockPen::new(config, &parts.bad);
    ftl.fill(initial_fill(spec), |filled| {
        initial.program(&filled);
        initial.note(filled.first, u32::from(filled.pages));
    })?;
    Ok(Ftl::SuperblockPen(Box::new(ftl)))
}

/// Refuses superblocks that cannot work.
///
/// # Errors
/// The impossibility, with what would work.
pub fn check(spec: &Spec) -> Result<(), SpecError> {
    let (logical, physical) = (spec.ftl.superblock.logical, physical(spec));
    if physical <= logical {
        return refuse(format!("ftl.superblock.physical = {physical} must exceed ftl.superblock.logical = {logical}"));
    }
    let pages = u32::from(spec.geometry.pages_per_block);
    if logical * pages > SUPERBLOCK_PAGES_MAX {
        return refuse(format!(
            "ftl.superblock.logical = {logical} gives superblocks of {} pages; allowed: at most {SUPERBLOCK_PAGES_MAX}, so \
             ftl.superblock.logical = {} with geometry.pages_per_block = {pages}",
            logical * pages,
            SUPERBLOCK_PAGES_MAX / pages
        ));
    }
    let blocks = nftl::logical_blocks_per_plane(spec);
    if blocks < logical {
        return refuse(format!(
            "ftl.over_provisioning = {} leaves {blocks} blocks a plane for the host, less than one superblock of \
             ftl.superblock.logical = {logical}",
            spec.ftl.over_provisioning
        ));
    }
    let raw = spec.geometry.blocks_per_plane;
    if physical > raw {
        return refuse(format!(
            "ftl.superblock.physical = {physical} exceeds the blocks of a plane, geometry.blocks_per_plane = {raw}"
        ));
    }
    nftl::check_room(spec, superblocks_per_plane(spec) * logical)
}
