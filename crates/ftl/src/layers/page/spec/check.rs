//! What stands in the way of a page-level FTL.

use pumice_types::erase::MAX_LOOPS;
use pumice_types::refusal::{needs, quoted};
use pumice_types::{SpecError, WornBlockRule, refuse};

use super::map_units;
use super::page_spec::{
    Leveling, OpenBlocks, PageKeys, Separation, data_blocks_max, data_pages, map_reserve, reserve, stores_wear,
};
use crate::blocks::victims::GcPolicy;
use crate::layers::page::map::map_log::SLOT_RECORD;
use crate::layers::page::{Isolation, LogShape};
use crate::plan::EraseUnit;
use crate::recovery;
use crate::seam::{LayerSpec, MapPlace, Recovery, typed_share};

/// Most pages of a device whose journal tells a page from an open block by one bit of 32.
const LOGGED_PAGES_MAX: u64 = SLOT_RECORD as u64;

/// Bytes of a spare area that say how often the block was erased.
const WEAR_BYTES: u32 = 4;

/// Refuses what a page-level FTL cannot be, and what its keys exclude among each other.
pub(in crate::layers::page) fn check(spec: &LayerSpec, keys: &PageKeys) -> Result<(), SpecError> {
    if keys.gc_stop_threshold.is_some_and(|stop| stop < spec.shared.gc_free_threshold) {
        return Err("ftl.gc_stop_threshold is below ftl.gc_free_threshold; allowed: at least that".into());
    }
    map_units::check(spec, keys)?;
    check_erase_unit(spec, keys)?;
    check_map(spec, keys)?;
    check_recovery(spec, keys)?;
    check_handles(spec, keys)?;
    check_erase_group(spec, keys)?;
    check_policy(spec, keys)?;
    check_drawn(spec, keys)?;
    check_room(spec, keys)
}

/// Refuses a state that has no closed form to draw it from.
fn check_drawn(spec: &LayerSpec, keys: &PageKeys) -> Result<(), SpecError> {
    if !spec.initial.is_drawn() {
        return Ok(());
    }
    let (policy, unit, place) = (spec.policies.policy, keys.erase_unit, spec.shared.map_place);
    needs(
        "initial.aged_by = \"drawn\"",
        [
            (policy != GcPolicy::Greedy, "ftl.gc_policy = \"greedy\"", quoted(policy)),
            (unit != EraseUnit::Block, "ftl.erase_unit = \"block\"", quoted(unit)),
            (place != MapPlace::Ram, "ftl.map_place = \"ram\"", quoted(place)),
            (spec.decides.concerns_ftl(), "no policy that decides for the layer", "one".into()),
        ],
    )
}

/// Refuses what does not recover yet.
fn check_recovery(spec: &LayerSpec, keys: &PageKeys) -> Result<(), SpecError> {
    let recovery = spec.shared.recovery;
    if recovery == Recovery::Off {
        return Ok(());
    }
    check_summary(spec)?;
    let whole_blocks = "ftl.erase_unit = \"block\"";
    let (unit, leveling, place) = (keys.erase_unit, keys.wear_leveling, spec.shared.map_place);
    // The log holds neither the erases of blocks nor the open blocks that level wear.
    let no_counts = recovery == Recovery::Checkpoint;
    needs(
        format_args!("ftl.recovery = \"{recovery}\""),
        [
            (place != MapPlace::Ram && recovery == Recovery::Checkpoint, "ftl.map_place = \"ram\"", quoted(place)),
            (no_counts && leveling != Leveling::None, "ftl.wear_leveling = \"none\"", quoted(leveling)),
            (no_counts && spec.decides.wear_swap, "a policy that does not decide wear_swap", "one that does".into()),
            (
                unit != EraseUnit::Block && recovery != Recovery::Scan,
                whole_blocks,
                format!("\"{unit}\"; with it, recovery can be \"scan\""),
            ),
        ],
    )?;
    if keys.open_block == OpenBlocks::Reuse {
        needs(
            "ftl.open_block = \"reuse\"",
            [
                (recovery == Recovery::Checkpoint, "ftl.recovery = \"scan\" | \"summary\"", quoted(recovery)),
                (unit != EraseUnit::Block, whole_blocks, quoted(unit)),
            ],
        )?;
    }
    // With handles, spare areas also say which open block took the page.
    let marked = keys.handles.is_some();
    let numbers = if marked { recovery::MARKED_SPARE_BYTES } else { recovery::SPARE_BYTES };
    spec.check_spare_bytes(numbers + if stores_wear(spec, keys) { WEAR_BYTES } else { 0 })?;
    if recovery == Recovery::Checkpoint { check_log(spec) } else { Ok(()) }
}

/// Refuses blocks that have no room for data beside their summary.
fn check_summary(spec: &LayerSpec) -> Result<(), SpecError> {
    if data_pages(spec) == 0 {
        return Err(refuse!(
            "ftl.recovery = \"{}\" takes the last page of each block; geometry.pages_per_block must be at least 2, found {}",
            spec.shared.recovery,
            spec.chip.geometry.pages_per_block
        ));
    }
    Ok(())
}

/// Refuses a device whose map and journal do not fit the words and pages of the log.
fn check_log(spec: &LayerSpec) -> Result<(), SpecError> {
    let geometry = spec.chip.geometry.scaled(1.0)?;
    if geometry.pages() > LOGGED_PAGES_MAX {
        return Err(refuse!(
            "ftl.recovery = \"checkpoint\": a journal can name {LOGGED_PAGES_MAX} pages, and geometry gives {}; allowed: \"scan\" | \"summary\"",
            geometry.pages()
        ));
    }
    let (units, planes) = (spec.chip.units.per_page, geometry.planes());
    let page_bytes = geometry.page_bytes * u32::from(units);
    let smallest = LogShape::page_bytes_min(planes, units);
    if page_bytes < smallest {
        return Err(refuse!(
            "ftl.recovery = \"checkpoint\" with {planes} planes needs geometry.page_bytes of at least {smallest}, found {page_bytes}"
        ));
    }
    Ok(())
}

/// Refuses what stands in the way of a user's own policy.
fn check_policy(spec: &LayerSpec, keys: &PageKeys) -> Result<(), SpecError> {
    let decides = spec.decides;
    needs(
        format_args!("a policy that decides {}", decides.names().join(", ")),
        [
            (
                decides.concerns_ftl() && keys.erase_unit != EraseUnit::Block,
                "ftl.erase_unit = \"block\"",
                quoted(keys.erase_unit),
            ),
            (
                decides.streams > 0 && keys.hot_cold == Separation::Recency,
                "ftl.hot_cold = \"mixed\" | \"gc\"",
                quoted(keys.hot_cold),
            ),
            (
                decides.wear_swap && keys.wear_leveling.moves_data(),
                "ftl.wear_leveling = \"none\" | \"dynamic\"",
                quoted(keys.wear_leveling),
            ),
        ],
    )
}

/// Refuses what stands in the way of handles.
fn check_handles(spec: &LayerSpec, keys: &PageKeys) -> Result<(), SpecError> {
    if keys.handles.is_none() {
        return Ok(());
    }
    let (recovery, decides) = (spec.shared.recovery, spec.decides);
    let is_persistent = keys.isolation == Isolation::Persistent;
    needs(
        "ftl.handles",
        [
            (recovery == Recovery::Checkpoint, "ftl.recovery = \"off\" | \"scan\" | \"summary\"", quoted(recovery)),
            (decides.streams > 0, "a policy that does not decide placement", "one that does".into()),
            // Emptying parts of several handles at once would take a free block for each of them.
            (
                is_persistent && keys.erase_unit != EraseUnit::Block,
                "ftl.erase_unit = \"block\" (the parts of one block may hold data of several handles), or ftl.isolation = \"initial\"",
                quoted(keys.erase_unit),
            ),
            (keys.hot_cold == Separation::Recency, "ftl.hot_cold = \"gc\" | \"mixed\"", quoted(keys.hot_cold)),
            (
                keys.hot_cold == Separation::Mixed && !is_persistent,
                "ftl.hot_cold = \"gc\", or ftl.isolation = \"persistent\"",
                quoted(keys.hot_cold),
            ),
            (
                is_persistent && keys.wear_leveling.moves_data(),
                "ftl.wear_leveling = \"none\" | \"dynamic\", or ftl.isolation = \"initial\"",
                quoted(keys.wear_leveling),
            ),
        ],
    )
}

/// Refuses what stands in the way of stripes over planes.
fn check_erase_group(spec: &LayerSpec, keys: &PageKeys) -> Result<(), SpecError> {
    let (group, chip, recovery) = (keys.erase_group, spec.chip, spec.shared.recovery);
    let geometry = chip.geometry.scaled(1.0)?;
    // Where the planes of a group are one, its stripes are blocks.
    if group.planes(&geometry) == 1 {
        return Ok(());
    }
    let bad_blocks = chip.geometry.bad_blocks_per_plane;
    needs(
        format_args!("ftl.erase_group = \"{group}\""),
        [
            (keys.erase_unit != EraseUnit::Block, "ftl.erase_unit = \"block\"", quoted(keys.erase_unit)),
            (spec.shared.map_place != MapPlace::Ram, "ftl.map_place = \"ram\"", quoted(spec.shared.map_place)),
            (recovery != Recovery::Off, "ftl.recovery = \"off\"", quoted(recovery)),
            (chip.timing.copyback, "timing.copyback = false", "true".into()),
            (bad_blocks > 0, "geometry.bad_blocks_per_plane = 0", bad_blocks.to_string()),
            // A stripe has no block to put in the place of one that is retired.
            (
                chip.erase.worn_blocks != WornBlockRule::Used,
                "erase.worn_blocks = \"used\"",
                quoted(chip.erase.worn_blocks),
            ),
            (chip.erase.max_loops < MAX_LOOPS, "erase.max_loops = 5", chip.erase.max_loops.to_string()),
            (spec.decides.concerns_ftl(), "no policy that decides for the layer", "one".into()),
        ],
    )?;
    let pages = u32::from(geometry.pages_per_block) * group.planes(&geometry);
    if pages > u32::from(u16::MAX) {
        return Err(refuse!(
            "ftl.erase_group = \"{group}\" makes stripes of {pages} {}; allowed: at most {}",
            if chip.units.per_page > 1 { "mapping units" } else { "pages" },
            u16::MAX
        ));
    }
    Ok(())
}

/// Refuses an erase unit that other settings do not go with.
fn check_erase_unit(spec: &LayerSpec, keys: &PageKeys) -> Result<(), SpecError> {
    let unit = keys.erase_unit;
    spec.check_unit("ftl.erase_unit", unit)?;
    if unit == EraseUnit::Block {
        return Ok(());
    }
    let leveling = keys.wear_leveling;
    let whole_blocks = "ftl.erase_unit = \"block\" (parts of blocks are not built here)";
    needs(
        format_args!("ftl.wear_leveling = \"{leveling}\""),
        [(leveling != Leveling::None, whole_blocks, quoted(unit))],
    )
}

/// Refuses a map in flash without a budget, with two, or a budget without such a map.
fn check_map(spec: &LayerSpec, keys: &PageKeys) -> Result<(), SpecError> {
    let budgets = usize::from(keys.map_ram_kib.is_some()) + usize::from(spec.shared.map_cache_entries.is_some());
    match (spec.shared.map_place, budgets) {
        (MapPlace::Cached, 1) | (MapPlace::Ram | MapPlace::Spare, 0) => Ok(()),
        (MapPlace::Cached, 0) => {
            Err("ftl.map_place = \"cached\" needs ftl.map_ram_kib or ftl.map_cache_entries, found neither".into())
        }
        (MapPlace::Cached, _) => {
            Err("ftl.map_ram_kib and ftl.map_cache_entries are both given; allowed: one of them".into())
        }
        (place @ (MapPlace::Ram | MapPlace::Spare), _) => Err(refuse!(
            "ftl.map_ram_kib and ftl.map_cache_entries belong to ftl.map_place = \"cached\", found \"{place}\""
        )),
    }
}

/// Refuses an over-provisioning that leaves too few blocks beside the data.
fn check_room(spec: &LayerSpec, keys: &PageKeys) -> Result<(), SpecError> {
    let (raw, data) = (spec.blocks_per_plane(), data_blocks_max(spec, keys));
    if data == 0 {
        return Err(refuse!(
            "geometry.blocks_per_plane = {raw}; a page-level FTL needs {} with these thresholds",
            reserve(spec, keys) + 1 + map_reserve(spec, 1)
        ));
    }
    let kept = raw - data;
    let (pages, data_pages) = (u64::from(spec.chip.geometry.pages_per_block), u64::from(data_pages(spec)));
    let raw_pages = u64::from(raw) * pages;
    let smallest = (raw_pages - u64::from(data) * data_pages) as f64 / raw_pages as f64;
    if spec.shared.over_provisioning < smallest {
        let map = if spec.shared.map_place == MapPlace::Cached { ", for translation pages" } else { "" };
        return Err(refuse!(
            "ftl.over_provisioning = {}: garbage collection cannot make progress, because {kept} of {raw} blocks a plane are kept \
             free, open{map} or bad; the smallest value that works is {}",
            spec.shared.over_provisioning,
            typed_share(smallest)
        ));
    }
    Ok(())
}
