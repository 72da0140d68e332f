//! The superblock FTL of 2006 as a spec asks for it.

use pumice_types::key::{ANY, When};
use pumice_types::{SpecError, keys, refuse};

use super::spare::{BLOCKS_MAX, IMAGE_BYTES, PT_PAGES, PTS, WRITE_NUMBER_BYTES};
use super::{SpareTables, Superblock2006, SuperblockConfig};
use crate::layers::block_mapped::plane_book::PlaneBook;
use crate::layers::block_mapped::striped_room::{HYBRID, PlaneLayer, Room};
use crate::merge::plan::ValidBlocks;
use crate::recovery;
use crate::seam::{Facts, LayerParts, LayerSpec, MapPlace, MergeMethod, Reports};

/// Pages of a block that the tables in spare areas can name.
const PAGES_MAX: u16 = PT_PAGES * PTS as u16;

/// Blocks of a device that a PBMT can name; the highest number stands for none.
const NAMED_BLOCKS_MAX: u64 = u16::MAX as u64;

/// Logical blocks whose tables the map cache holds unless the spec says otherwise (EMSOFT'06, section 5.2).
const CACHE_ENTRIES: u32 = 16;

keys! {
    /// Keys of the superblock FTL of 2006 alone.
    pub struct Superblock2006Keys in "ftl.superblock" {
        valid_blocks: ValidBlocks = "\"copy\"", ANY, "", "EMSOFT'06, section 4.3, as it is written", When::Always,
            "superblock-2006: D-blocks without an invalid page, in a full merge of more than two blocks. copy: copied like others, before the U-block. keep: they stay.";
    }
}

/// Blocks that a superblock may own.
fn physical(spec: &LayerSpec) -> u32 {
    let without = match spec.shared.map_place {
        MapPlace::Spare => BLOCKS_MAX,
        MapPlace::Ram | MapPlace::Cached => u32::MAX,
    };
    spec.superblock.physical.unwrap_or(without)
}

impl PlaneLayer for Superblock2006 {
    type OwnKeys = Superblock2006Keys;

    const FIXED: Facts = Facts {
        reads: &["over_provisioning", "map_cache_entries", "u_blocks", "superblock.logical", "superblock.physical"],
        merges: &[MergeMethod::BlockErase, MergeMethod::MMerge, MergeMethod::MMergeBudgeted],
        reports: Reports { pair_triggers: false, superblock_triggers: true, ..Reports::HYBRID_PAIRS },
        ..HYBRID
    };

    fn room<'a>(spec: &'a LayerSpec<'a>) -> Room<'a> {
        Room { unit_blocks: spec.superblock.logical, ..Room::of_blocks(spec) }
    }

    fn check_shape(spec: &LayerSpec) -> Result<(), SpecError> {
        let (logical, physical) = (spec.superblock.logical, physical(spec));
        if physical <= logical {
            return Err(refuse!(
                "ftl.superblock.logical = {logical} leaves no U-block among the {physical} blocks that a superblock may own; \
                 raise ftl.superblock.physical, or with ftl.map_place = \"spare\" lower ftl.superblock.logical"
            ));
        }
        match spec.shared.map_place {
            MapPlace::Spare => check_tables(spec, physical),
            MapPlace::Ram | MapPlace::Cached => Ok(()),
        }
    }

    fn empty(book: PlaneBook, u_blocks: u32, parts: &LayerParts, keys: &Superblock2006Keys) -> Superblock2006 {
        let spec = &parts.spec;
        let tables =
            SpareTables { cache_entries: spec.shared.map_cache_entries.unwrap_or(CACHE_ENTRIES), keep_images: false };
        let config = SuperblockConfig {
            logical: spec.superblock.logical,
            physical: physical(spec),
            u_blocks,
            tables: (spec.shared.map_place == MapPlace::Spare).then_some(tables),
            valid_blocks: keys.valid_blocks,
        };
        let ftl = Superblock2006::new(book, config);
        ftl.merging_as(parts.tree, &parts.merge_policy(), recovery::reserve(spec))
    }
}

fn check_tables(spec: &LayerSpec, physical: u32) -> Result<(), SpecError> {
    let g = &spec.chip.geometry;
    let or_ram = "or set ftl.map_place = \"ram\"";
    if physical > BLOCKS_MAX {
        return Err(refuse!(
            "ftl.superblock.physical = {physical}; the map in spare areas can name {BLOCKS_MAX} blocks: lower it, {or_ram}"
        ));
    }
    if g.pages_per_block > PAGES_MAX {
        return Err(refuse!(
            "geometry.pages_per_block = {}; the map in spare areas can name {PAGES_MAX} pages: lower it, {or_ram}",
            g.pages_per_block
        ));
    }
    if g.spare_bytes < IMAGE_BYTES {
        return Err(refuse!(
            "geometry.spare_bytes = {}; the map in spare areas needs {IMAGE_BYTES}: raise it, {or_ram}",
            g.spare_bytes
        ));
    }
    let role = recovery::spare_bytes(spec) - recovery::SPARE_BYTES;
    spec.check_spare_bytes(IMAGE_BYTES + WRITE_NUMBER_BYTES + role)
        .map_err(|error| format!("{error}: raise it, {or_ram}"))?;
    let planes = [g.channels, g.chips_per_channel, g.dies_per_chip, g.planes_per_die];
    let blocks = planes.iter().fold(u64::from(g.blocks_per_plane), |n, &f| n * u64::from(f));
    if blocks > NAMED_BLOCKS_MAX {
        return Err(refuse!(
            "geometry gives {blocks} blocks; the map in spare areas can name {NAMED_BLOCKS_MAX}: use fewer, {or_ram}"
        ));
    }
    Ok(())
}
