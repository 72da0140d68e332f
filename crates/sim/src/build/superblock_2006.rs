//! The superblock FTL of 2006 of a spec.

use pumice_ftl::merge::plan::ValidBlocks;
use pumice_ftl::{BLOCKS_MAX, Ftl, IMAGE_BYTES, MapPlace, PT_PAGES, PTS, Striped, Superblock2006, SuperblockConfig};

use super::{InitialState, Parts, hybrid};
use crate::error::SimError;
use crate::spec::{Spec, SpecError, refuse};

/// Pages of a block that the tables in spare areas can name.
const PAGES_MAX: u16 = PT_PAGES * PTS as u16;

/// Blocks of a device that a PBMT can name; the highest number stands for none.
const NAMED_BLOCKS_MAX: u64 = u16::MAX as u64;

/// Logical blocks whose tables the map cache holds unless the spec says otherwise (EMSOFT'06, section 5.2).
const CACHE_ENTRIES: u32 = 16;

fn map_place(spec: &Spec) -> MapPlace {
    match spec.ftl.map_place.as_str() {
        "spare" => {
            MapPlace::Spare { cache_entries: spec.ftl.map_cache_entries.unwrap_or(CACHE_ENTRIES), keep_images: false }
        }
        _ => MapPlace::Ram,
    }
}

/// Blocks that a superblock may own.
fn physical(spec: &Spec) -> u32 {
    let without = if spec.ftl.map_place == "spare" { BLOCKS_MAX } else { u32::MAX };
    spec.ftl.superblock.physical.unwrap_or(without)
}

/// Builds and fills it.
///
/// # Errors
/// A fill that does not fit, which [`check`] rules out.
pub fn build(parts: &Parts, initial: InitialState) -> Result<Ftl, SimError> {
    let spec = parts.spec;
    let config = SuperblockConfig {
        logical: spec.ftl.superblock.logical,
        physical: physical(spec),
        u_blocks: hybrid::u_blocks(spec),
        map: map_place(spec),
        valid_blocks: match spec.ftl.superblock.valid_blocks.as_str() {
            "keep" => ValidBlocks::Keep,
            _ => ValidBlocks::Copy,
        },
    };
    let ftl = Striped::new(&hybrid::striped(parts), &parts.bad, |book| Superblock2006::new(book, config));
    Ok(Ftl::Superblock2006(hybrid::filled(ftl, spec, initial)?))
}

/// Refuses superblocks without room for a U-block, and devices that the tables in spare areas cannot name.
///
/// # Errors
/// The impossibility, with what would work.
pub fn check(spec: &Spec) -> Result<(), SpecError> {
    let (logical, physical) = (spec.ftl.superblock.logical, physical(spec));
    if physical <= logical {
        return refuse(format!(
            "ftl.superblock.logical = {logical} leaves no U-block among the {physical} blocks that a superblock may own; \
             raise ftl.superblock.physical, or with ftl.map_place = \"spare\" lower ftl.superblock.logical"
        ));
    }
    if spec.ftl.map_place == "spare" {
        check_tables(spec, physical)?;
    }
    hybrid::check(spec)
}

fn check_tables(spec: &Spec, physical: u32) -> Result<(), SpecError> {
    let g = &spec.geometry;
    let or_ram = "or set ftl.map_place = \"ram\"";
    if physical > BLOCKS_MAX {
        return refuse(format!(
            "ftl.superblock.physical = {physical}; the map in spare areas can name {BLOCKS_MAX} blocks: lower it, {or_ram}"
        ));
    }
    if g.pages_per_block > PAGES_MAX {
        return refuse(format!(
            "geometry.pages_per_block = {}; the map in spare areas can name {PAGES_MAX} pages: lower it, {or_ram}",
            g.pages_per_block
        ));
    }
    if g.spare_bytes < IMAGE_BYTES {
        return refuse(format!(
            "geometry.spare_bytes = {}; the map in spare areas needs {IMAGE_BYTES}: raise it, {or_ram}",
            g.spare_bytes
        ));
    }
    let planes = [g.channels, g.chips_per_channel, g.dies_per_chip, g.planes_per_die];
    let blocks = planes.iter().fold(u64::from(g.blocks_per_plane), |n, &f| n * u64::from(f));
    if blocks > NAMED_BLOCKS_MAX {
        return refuse(format!(
            "geometry gives {blocks} blocks; the map in spare areas can name {NAMED_BLOCKS_MAX}: use fewer, {or_ram}"
        ));
    }
    Ok(())
}
