//! PEN's superblock FTL as a spec asks for it.

use pumice_types::{Geometry, SpecError, refuse};

use super::{SuperblockPen, SuperblockPenConfig};
use crate::layers::partial_erase::nftl::check_room;
use crate::plan::{FillTarget, FtlError, program_and_note};
use crate::recovery;
use crate::recovery::MARKED_SPARE_BYTES;
use crate::seam::{Facts, Layer, LayerParts, LayerSpec, MergeMethod, Recovery, RecoveryCounts, Reports, Restart};

/// Most logical pages of a superblock: its pages are numbered in 16 bits.
const SUPERBLOCK_PAGES_MAX: u32 = 1 << 16;

/// Superblocks of a plane: its logical blocks in whole groups of M.
fn superblocks_per_plane(spec: &LayerSpec) -> u32 {
    spec.user_blocks_per_plane() / spec.superblock.logical
}

/// N: blocks that a superblock may own.
fn physical(spec: &LayerSpec) -> u32 {
    spec.superblock.physical.unwrap_or(spec.superblock.logical + 1)
}

impl Layer for SuperblockPen {
    type Keys = ();
    type Running = SuperblockPen;

    const FACTS: Facts = Facts {
        reads: &["over_provisioning", "gc_free_threshold", "superblock.logical", "superblock.physical"],
        merges: &[MergeMethod::BlockErase, MergeMethod::MMerge, MergeMethod::MMergeBudgeted],
        recoveries: &[Recovery::Off, Recovery::Scan],
        copies_on_one_die: true,
        reports: Reports { full_merges: true, superblock_triggers: true, ..Reports::NOTHING },
        ..Facts::PLAIN
    };

    fn check(spec: &LayerSpec, _: &()) -> Result<(), SpecError> {
        let (logical, physical) = (spec.superblock.logical, physical(spec));
        if physical <= logical {
            return Err(refuse!("ftl.superblock.physical = {physical} must exceed ftl.superblock.logical = {logical}"));
        }
        let pages = u32::from(spec.chip.geometry.pages_per_block);
        if logical * pages > SUPERBLOCK_PAGES_MAX {
            return Err(refuse!(
                "ftl.superblock.logical = {logical} gives superblocks of {} pages; allowed: at most {SUPERBLOCK_PAGES_MAX}, so \
                 ftl.superblock.logical = {} with geometry.pages_per_block = {pages}",
                logical * pages,
                SUPERBLOCK_PAGES_MAX / pages
            ));
        }
        let blocks = spec.user_blocks_per_plane();
        if blocks < logical {
            return Err(refuse!(
                "ftl.over_provisioning = {} leaves {blocks} blocks a plane for the host, less than one superblock of \
                 ftl.superblock.logical = {logical}",
                spec.shared.over_provisioning
            ));
        }
        let raw = spec.blocks_per_plane();
        if physical > raw {
            return Err(refuse!(
                "ftl.superblock.physical = {physical} exceeds the blocks of a plane, geometry.blocks_per_plane = {raw}"
            ));
        }
        spec.check_spare_bytes(MARKED_SPARE_BYTES)?;
        check_room(spec, superblocks_per_plane(spec) * logical, 1 + recovery::reserve(spec))
    }

    fn capacity(spec: &LayerSpec, _: &(), geometry: &Geometry) -> Result<u32, SpecError> {
        let blocks = geometry.planes() * superblocks_per_plane(spec) * spec.superblock.logical;
        Ok(blocks * u32::from(geometry.pages_per_block))
    }

    fn recover(parts: &LayerParts, _: &(), restart: &mut Restart) -> Result<(SuperblockPen, RecoveryCounts), FtlError> {
        SuperblockPen::recover(config(parts), parts.bad_blocks, restart)
    }

    fn build(parts: &LayerParts, _: &(), target: &mut dyn FillTarget) -> Result<SuperblockPen, FtlError> {
        let mut ftl = SuperblockPen::new(config(parts), parts.bad_blocks);
        ftl.fill(parts.spec.initial.of_blocks(), |filled| program_and_note(target, &filled))?;
        Ok(ftl)
    }
}

/// Settings of the layer.
fn config(parts: &LayerParts) -> SuperblockPenConfig {
    let spec = &parts.spec;
    SuperblockPenConfig {
        geometry: parts.geometry,
        tree: parts.tree,
        logical: spec.superblock.logical,
        physical: physical(spec),
        superblocks_per_plane: superblocks_per_plane(spec),
        gc_free_blocks: spec.gc_start_blocks().max(1 + recovery::reserve(spec)),
        reserve: recovery::reserve(spec),
        merge: parts.merge_policy(),
        costs: parts.merge_costs(),
    }
}
