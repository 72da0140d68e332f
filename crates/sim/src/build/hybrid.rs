//! The FTLs of a spec that have D-blocks and a limited number of U-blocks: replacement block, log block,
//! FAST; and what the superblock FTL shares with them.

use pumice_ftl::{
    FAST_LOG_BLOCKS_MIN, Fast, Ftl, FtlError, InitialBlock, LogBlock, PlaneFtl, ReplacementBlock, Striped,
    StripedConfig,
};
use pumice_types::Geometry;

use super::{InitialState, Parts, initial_fill, program_order, typed_share, whole_share};
use crate::error::SimError;
use crate::spec::{Spec, SpecError, refuse};

/// Logical blocks that share their blocks.
fn unit_blocks(spec: &Spec) -> u32 {
    if spec.ftl.kind == "superblock" { spec.ftl.superblock.logical } else { 1 }
}

/// Free blocks a plane that merges copy into.
fn merge_blocks(spec: &Spec) -> u32 {
    u32::from(spec.ftl.kind != "replacement-block")
}

/// Fewest U-blocks with which the FTL works.
fn u_blocks_min(spec: &Spec) -> u32 {
    if spec.ftl.kind == "fast" { FAST_LOG_BLOCKS_MIN } else { 1 }
}

/// Units of logical blocks in each plane: superblocks, or single blocks.
fn units_per_plane(spec: &Spec) -> u32 {
    whole_share(u64::from(spec.geometry.blocks_per_plane), 1.0 - spec.ftl.over_provisioning) / unit_blocks(spec)
}

/// D-blocks of each plane.
fn d_blocks_per_plane(spec: &Spec) -> u32 {
    units_per_plane(spec) * unit_blocks(spec)
}

fn good_blocks_per_plane(spec: &Spec) -> u32 {
    spec.geometry.blocks_per_plane - spec.geometry.bad_blocks_per_plane
}

/// U-blocks of each plane: those asked for, or all that there are.
pub fn u_blocks(spec: &Spec) -> u32 {
    let left = good_blocks_per_plane(spec).saturating_sub(d_blocks_per_plane(spec) + merge_blocks(spec));
    spec.ftl.u_blocks.unwrap_or(left)
}

/// Logical pages that the host may address: whole superblocks, or whole blocks.
pub fn user_pages(spec: &Spec, geometry: &Geometry) -> u32 {
    geometry.planes() * d_blocks_per_plane(spec) * u32::from(geometry.pages_per_block)
}

/// The device's planes.
pub fn striped(parts: &Parts) -> StripedConfig {
    let spec = parts.spec;
    StripedConfig { geometry: parts.geometry, unit_blocks: unit_blocks(spec), units_per_plane: units_per_plane(spec) }
}

/// Fills a device and its array.
///
/// # Errors
/// A fill that does not fit, which [`check`] rules out.
pub fn filled<F: PlaneFtl>(
    mut ftl: Striped<F>,
    spec: &Spec,
    mut initial: InitialState,
) -> Result<Box<Striped<F>>, FtlError> {
    ftl.fill(initial_fill(spec), |filled: InitialBlock| {
        initial.program(&filled);
        initial.note(filled.first, u32::from(filled.pages));
    })?;
    Ok(Box::new(ftl))
}

/// Builds and fills one of the three.
///
/// # Errors
/// A fill that does not fit, which [`check`] rules out.
pub fn build(parts: &Parts, initial: InitialState) -> Result<Ftl, SimError> {
    let (spec, config) = (parts.spec, striped(parts));
    let (order, u_blocks) = (program_order(spec), u_blocks(spec));
    Ok(match spec.ftl.kind.as_str() {
        "replacement-block" => {
            let ftl = Striped::new(&config, &parts.bad, |book| ReplacementBlock::new(book, u_blocks));
            Ftl::ReplacementBlock(filled(ftl, spec, initial)?)
        }
        "log-block" => {
            let ftl = Striped::new(&config, &parts.bad, |book| LogBlock::new(book, order, u_blocks));
            Ftl::LogBlock(filled(ftl, spec, initial)?)
        }
        _ => {
            let ftl = Striped::new(&config, &parts.bad, |book| Fast::new(book, order, u_blocks));
            Ftl::Fast(filled(ftl, spec, initial)?)
        }
    })
}

/// Refuses a device without room for U-blocks, a merge of another FTL, and an order of programming that
/// the FTL cannot keep.
///
/// # Errors
/// The impossibility, with the nearest value that works.
pub fn check(spec: &Spec) -> Result<(), SpecError> {
    let kind = &spec.ftl.kind;
    if spec.ftl.merge != "block-erase" {
        let variant = if kind == "superblock" { " with ftl.superblock.variant = \"2006\"" } else { "" };
        return refuse(format!(
            "ftl.merge = \"{}\" needs ftl.kind = \"nftl\" or PEN's superblocks, found \"{kind}\"{variant}",
            spec.ftl.merge
        ));
    }
    if kind == "replacement-block" && spec.geometry.program_order != "any" {
        return refuse(format!(
            "ftl.kind = \"replacement-block\" programs pages at their offsets and needs geometry.program_order = \"any\", \
             found \"{}\"",
            spec.geometry.program_order
        ));
    }
    let (good, smallest) = (good_blocks_per_plane(spec), u_blocks_min(spec));
    if let Some(u_blocks) = spec.ftl.u_blocks.filter(|&u_blocks| u_blocks < smallest) {
        return refuse(format!(
            "ftl.u_blocks = {u_blocks}; ftl.kind = \"{kind}\" needs a sequential and a random log block: at least {smallest}"
        ));
    }
    let d_blocks = d_blocks_per_plane(spec);
    if d_blocks == 0 {
        return refuse(format!(
            "ftl.over_provisioning = {} leaves no room for {} logical blocks a plane; lower it",
            spec.ftl.over_provisioning,
            unit_blocks(spec)
        ));
    }
    let needed = spec.ftl.u_blocks.unwrap_or(smallest) + merge_blocks(spec);
    if d_blocks + needed > good {
        return refuse(too_few_blocks(spec, needed));
    }
    Ok(())
}

/// Why `needed` blocks a plane beyond the logical ones are not there, and what would help.
fn too_few_blocks(spec: &Spec, needed: u32) -> String {
    let (raw, good) = (spec.geometry.blocks_per_plane, good_blocks_per_plane(spec));
    let (kind, d_blocks) = (&spec.ftl.kind, d_blocks_per_plane(spec));
    let possible = good.saturating_sub(needed) / unit_blocks(spec) * unit_blocks(spec);
    let found = format!(
        "ftl.over_provisioning = {} leaves {} blocks a plane beyond the {d_blocks} logical ones, and ftl.kind = \"{kind}\" \
         needs {needed} for U-blocks and merging",
        spec.ftl.over_provisioning,
        good.saturating_sub(d_blocks)
    );
    if possible == 0 {
        return format!("{found}; geometry has only {good} good blocks a plane");
    }
    let shown = typed_share(1.0 - f64::from(possible) / f64::from(raw));
    format!("{found}; the smallest value that works is {shown}")
}
