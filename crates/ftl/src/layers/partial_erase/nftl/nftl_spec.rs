//! The NFTL as a spec asks for it.

use pumice_types::{Geometry, SpecError, refuse};

use super::{Nftl, NftlConfig};
use crate::plan::{FillTarget, FtlError, program_and_note};
use crate::recovery::MARKED_SPARE_BYTES;
use crate::seam::{
    Facts, Layer, LayerParts, LayerSpec, MergeMethod, Recovery, RecoveryCounts, Reports, Restart, UIndex, UPointer,
    typed_share,
};

/// Free blocks of a plane that only merges take: one to merge into. After a power cut another one is needed, because
/// nothing proves what the merge that was cut has left in the first.
fn kept_blocks(spec: &LayerSpec) -> u32 {
    if spec.shared.recovery == Recovery::Off { 1 } else { 2 }
}

impl Layer for Nftl {
    type Keys = ();
    type Running = Nftl;

    const FACTS: Facts = Facts {
        reads: &["over_provisioning", "gc_free_threshold", "u_index", "u_pointer"],
        merges: &[MergeMethod::BlockErase, MergeMethod::MMerge],
        recoveries: &[Recovery::Off, Recovery::Scan],
        copies_on_one_die: true,
        reports: Reports::PAIRS,
        ..Facts::PLAIN
    };

    fn check(spec: &LayerSpec, _: &()) -> Result<(), SpecError> {
        spec.check_spare_bytes(MARKED_SPARE_BYTES)?;
        check_room(spec, spec.user_blocks_per_plane(), kept_blocks(spec))
    }

    fn capacity(spec: &LayerSpec, _: &(), geometry: &Geometry) -> Result<u32, SpecError> {
        Ok(geometry.planes() * spec.user_blocks_per_plane() * u32::from(geometry.pages_per_block))
    }

    fn recover(parts: &LayerParts, _: &(), restart: &mut Restart) -> Result<(Nftl, RecoveryCounts), FtlError> {
        Nftl::scan(config(parts), parts.bad_blocks, restart)
    }

    fn build(parts: &LayerParts, _: &(), target: &mut dyn FillTarget) -> Result<Nftl, FtlError> {
        let mut ftl = Nftl::new(config(parts), parts.bad_blocks);
        ftl.fill(parts.spec.initial.of_blocks(), |filled| program_and_note(target, &filled))?;
        Ok(ftl)
    }
}

/// Settings of the layer.
fn config(parts: &LayerParts) -> NftlConfig {
    config_keeping(parts, kept_blocks(&parts.spec))
}

/// The settings of an NFTL that keeps so many free blocks a plane for merges alone.
pub(in crate::layers) fn config_keeping(parts: &LayerParts, kept_blocks: u32) -> NftlConfig {
    let spec = &parts.spec;
    NftlConfig {
        geometry: parts.geometry,
        tree: parts.tree,
        program_order: spec.chip.geometry.program_order,
        logical_blocks_per_plane: spec.user_blocks_per_plane(),
        gc_free_blocks: spec.gc_start_blocks().max(kept_blocks),
        kept_blocks,
        u_index: spec.shared.u_index,
        // An index in RAM says how far U is written.
        u_pointer: match spec.shared.u_index {
            UIndex::Spare => spec.shared.u_pointer,
            UIndex::Ram => UPointer::Ram,
        },
        merge: parts.merge_policy(),
    }
}

/// Refuses a device whose `logical` blocks a plane leave no room to merge in, with `kept` free blocks that only merges
/// take.
///
/// # Errors
/// The impossibility, with the smallest over-provisioning that works.
pub(in crate::layers) fn check_room(spec: &LayerSpec, logical: u32, kept: u32) -> Result<(), SpecError> {
    let good = spec.chip.geometry.good_blocks_per_plane();
    let (kind, over_provisioning) = (spec.kind, spec.shared.over_provisioning);
    if logical == 0 {
        return Err(refuse!(
            "ftl.over_provisioning = {over_provisioning} leaves no block a plane for the host; lower it"
        ));
    }
    // A U-block beside them.
    let spare = 1 + kept;
    if logical + spare <= good {
        return Ok(());
    }
    let possible = good.saturating_sub(spare);
    if possible == 0 {
        return Err(refuse!(
            "geometry.blocks_per_plane leaves {good} good blocks; ftl.kind = \"{kind}\" needs at least {}",
            spare + 1
        ));
    }
    let smallest = typed_share(1.0 - f64::from(possible) / f64::from(spec.blocks_per_plane()));
    Err(refuse!(
        "ftl.over_provisioning = {over_provisioning} leaves {} blocks a plane beyond the {logical} logical ones, and \
         ftl.kind = \"{kind}\" needs {spare} to update and merge in; the smallest value that works is {smallest}",
        good.saturating_sub(logical),
    ))
}
