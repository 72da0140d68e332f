//! The page-level FTL of a spec.

use pumice_ftl::{
    Allocation, CACHED_ENTRY_BYTES, CachedMap, EraseUnits, Ftl, GcMode, HotCold, LeafRule, PageConfig, PageFtl,
    STORED_ENTRY_BYTES, VictimPolicy, WearLeveling,
};
use pumice_types::erase_unit::UNITS_MAX;
use pumice_types::{Geometry, Lpn, UnitPages};
use pumice_workload::RandomStream;

use super::{InitialState, Parts, gc_start_blocks, typed_share, whole_share};
use crate::device::block_shape;
use crate::error::SimError;
use crate::spec::{FtlSpec, Spec, SpecError, refuse};

/// Logical pages that the host may address.
pub fn user_pages(spec: &Spec, geometry: &Geometry) -> u32 {
    whole_share(geometry.pages(), 1.0 - spec.ftl.over_provisioning)
}

/// Pages that hold the map of so many logical pages; none if the map is in RAM.
pub fn translation_pages(spec: &Spec, user_pages: u32) -> u32 {
    cached_map(spec).map_or(0, |map| user_pages.div_ceil(map.entries_per_page))
}

/// The map that a spec wants in flash.
fn cached_map(spec: &Spec) -> Option<CachedMap> {
    let plane_pages = u64::from(spec.geometry.blocks_per_plane) * u64::from(spec.geometry.pages_per_block);
    let entries = cache_entries(&spec.ftl).filter(|_| spec.ftl.map_place == "cached")?;
    let user_pages = whole_share(plane_pages, 1.0 - spec.ftl.over_provisioning);
    Some(CachedMap {
        entries,
        entries_per_page: entries_per_page(spec),
        blocks_per_plane: map_blocks(spec, user_pages),
    })
}

fn hot_cold(spec: &Spec, user_pages: u32) -> HotCold {
    match spec.ftl.hot_cold.as_str() {
        "mixed" => HotCold::Mixed,
        "recency" => HotCold::Recency { window: whole_share(u64::from(user_pages), spec.ftl.hot_window).max(1) },
        _ => HotCold::Copies,
    }
}

fn wear_leveling(ftl: &FtlSpec) -> WearLeveling {
    let is = |name: &str| ftl.wear_leveling == name || ftl.wear_leveling == "both";
    WearLeveling { dynamic: is("dynamic"), static_threshold: is("static").then_some(ftl.wear_threshold) }
}

/// Entries that the cache of a map in flash holds.
fn cache_entries(ftl: &FtlSpec) -> Option<usize> {
    let by_ram = ftl.map_ram_kib.map(|kib| (u64::from(kib) * 1024 / CACHED_ENTRY_BYTES) as usize);
    ftl.map_cache_entries.map(|entries| entries as usize).or(by_ram)
}

fn entries_per_page(spec: &Spec) -> u32 {
    spec.geometry.page_bytes / STORED_ENTRY_BYTES
}

/// Blocks that a plane of `user_pages` pages of the host sets aside for a map in flash. One page more
/// than the plane's own share, because rounding over the planes depends on the scale.
fn map_blocks(spec: &Spec, user_pages: u32) -> u32 {
    let pages = (user_pages + 1).div_ceil(entries_per_page(spec)) + 1;
    CachedMap::blocks_for(pages, spec.geometry.pages_per_block)
}

/// Builds and fills it.
///
/// # Errors
/// A fill that does not fit, which [`check`] rules out.
pub fn build(parts: &Parts, mut initial: InitialState) -> Result<Ftl, SimError> {
    let (spec, geometry) = (parts.spec, &parts.geometry);
    let policy = match spec.ftl.gc_policy.as_str() {
        "cost-benefit" => VictimPolicy::CostBenefit,
        "d-choices" => VictimPolicy::DChoices(spec.ftl.d_choices),
        "fifo" => VictimPolicy::Fifo,
        "random" => VictimPolicy::Random,
        _ => VictimPolicy::Greedy,
    };
    let stop = spec.ftl.gc_stop_threshold.unwrap_or(spec.ftl.gc_free_threshold);
    let config = PageConfig {
        geometry: *geometry,
        user_pages: user_pages(spec, geometry),
        order: (0..geometry.planes()).map(|turn| geometry.plane_in_order(&spec.ftl.allocation_order, turn)).collect(),
        allocation: if spec.ftl.allocation == "static" { Allocation::Static } else { Allocation::Dynamic },
        policy,
        units: erase_units(parts),
        gc_mode: match spec.ftl.gc_mode.as_str() {
            "foreground" => GcMode::Foreground,
            "background" => GcMode::Background,
            "preemptible" => GcMode::Preemptible,
            _ => GcMode::Blocking,
        },
        gc_start_blocks: gc_start_blocks(spec),
        gc_stop_blocks: whole_share(u64::from(geometry.blocks_per_plane), stop).max(gc_start_blocks(spec)),
        cached_map: cached_map(spec),
        hot_cold: hot_cold(spec, user_pages(spec, geometry)),
        wear_leveling: wear_leveling(&spec.ftl),
        erases_together: spec.timing.multi_plane,
        seed: RandomStream::new(spec.seed, "gc-victims").bits(),
    };
    let mut ftl = PageFtl::new(config, &parts.bad);
    let filled = ftl.fill(spec.initial.fill, |filled| initial.program(&filled))?;
    initial.note(Lpn(0), filled);
    Ok(Ftl::Page(Box::new(ftl)))
}

/// What is erased apart: blocks, or the physical sub-blocks or leaves of each.
fn erase_units(parts: &Parts) -> EraseUnits {
    let (copy, erase) = (parts.timing.copy(), super::erase::expected_time(parts.spec, &parts.timing));
    let pages = match parts.spec.ftl.erase_unit.as_str() {
        "sub-block" => block_shape(parts.spec).map(UnitPages::sub_blocks),
        "partial-block" => UnitPages::leaves(parts.tree),
        _ => None,
    };
    let leaves = (parts.spec.ftl.erase_unit == "partial-block").then(|| LeafRule {
        tree: parts.tree,
        copy,
        erase: parts.timing.partial_erase.clone(),
        tolerance: parts.spec.partial_erase.disturb_tolerance,
        protects: parts.spec.partial_erase.disturb_aware,
    });
    match pages {
        Some(pages) => EraseUnits { pages, copy, erase, leaves },
        None => EraseUnits::whole_blocks(parts.geometry.pages_per_block),
    }
}

/// Refuses an erase unit that the chip does not have.
fn check_erase_unit(spec: &Spec) -> Result<(), SpecError> {
    let unit = &spec.ftl.erase_unit;
    if unit != "block" && *unit != spec.partial_erase.unit {
        return refuse(format!(
            "ftl.erase_unit = \"{unit}\" needs partial_erase.unit = \"{unit}\", found \"{}\"",
            spec.partial_erase.unit
        ));
    }
    let leaves_max = UNITS_MAX.trailing_zeros();
    if unit == "partial-block" && u32::from(spec.partial_erase.max_splits) > leaves_max {
        return refuse(format!(
            "ftl.erase_unit = \"partial-block\" with partial_erase.max_splits = {}; allowed: at most {leaves_max}",
            spec.partial_erase.max_splits
        ));
    }
    if unit == "partial-block" && spec.geometry.write_sequence == "sfws" {
        return refuse(
            "ftl.erase_unit = \"partial-block\" needs geometry.write_sequence = \"lfws\", found \"sfws\": a partial block is \
             a range of layers, and sub-block first neighbouring pages do not lie in neighbouring layers"
                .into(),
        );
    }
    let whole_blocks_only = [
        ("map_place", &spec.ftl.map_place, spec.ftl.map_place == "cached"),
        ("hot_cold", &spec.ftl.hot_cold, spec.ftl.hot_cold == "mixed"),
        ("wear_leveling", &spec.ftl.wear_leveling, spec.ftl.wear_leveling != "none"),
    ];
    match whole_blocks_only.iter().find(|(.., used)| unit != "block" && *used) {
        Some((key, value, _)) => {
            refuse(format!("ftl.{key} = \"{value}\" needs ftl.erase_unit = \"block\", found \"{unit}\""))
        }
        None => Ok(()),
    }
}

/// Refuses settings that only a page-level FTL knows, for the others.
///
/// # Errors
/// The first such setting.
pub fn check_absent(spec: &Spec) -> Result<(), SpecError> {
    let ftl = &spec.ftl;
    let settings = [
        ("gc_mode", &ftl.gc_mode, "blocking"),
        ("allocation", &ftl.allocation, "dynamic"),
        ("erase_unit", &ftl.erase_unit, "block"),
        ("hot_cold", &ftl.hot_cold, "gc"),
        ("wear_leveling", &ftl.wear_leveling, "none"),
    ];
    if ftl.map_place == "cached" {
        return refuse(format!("ftl.map_place = \"cached\" needs ftl.kind = \"page\", found \"{}\"", ftl.kind));
    }
    match settings.iter().find(|(_, value, default)| value != default) {
        Some((key, value, _)) => {
            refuse(format!("ftl.{key} = \"{value}\" needs ftl.kind = \"page\", found \"{}\"", ftl.kind))
        }
        None => Ok(()),
    }
}

/// Blocks of each plane that a page-level FTL cannot fill with valid data: those it keeps free, the
/// open ones and the bad ones, and one more, so that some plane always has room for a write.
fn reserve(spec: &Spec) -> u32 {
    // The window plays no part in how many blocks are open.
    let open = PageConfig::open_blocks(hot_cold(spec, 1), wear_leveling(&spec.ftl));
    gc_start_blocks(spec) + open + spec.geometry.bad_blocks_per_plane + 1
}

/// The most blocks of a plane that the host can fill beside that reserve and the translation pages
/// that so many blocks need.
fn data_blocks_max(spec: &Spec) -> u32 {
    let most = spec.geometry.blocks_per_plane.saturating_sub(reserve(spec));
    (0..=most).rev().find(|&data| data + map_reserve(spec, data) <= most).unwrap_or(0)
}

/// Blocks that a plane sets aside for the map of `data` blocks of the host; none if it is in RAM.
fn map_reserve(spec: &Spec, data: u32) -> u32 {
    match spec.ftl.map_place.as_str() {
        "cached" => map_blocks(spec, data * u32::from(spec.geometry.pages_per_block)),
        _ => 0,
    }
}

/// Refuses a device whose garbage collection could not make progress.
///
/// # Errors
/// The impossibility, with the smallest value that works.
pub fn check(spec: &Spec) -> Result<(), SpecError> {
    if spec.ftl.merge != "block-erase" {
        return refuse(format!(
            "ftl.merge = \"{}\" needs ftl.kind = \"nftl\" or PEN's superblocks, found \"page\"",
            spec.ftl.merge
        ));
    }
    if spec.ftl.gc_stop_threshold.is_some_and(|stop| stop < spec.ftl.gc_free_threshold) {
        return refuse("ftl.gc_stop_threshold is below ftl.gc_free_threshold; allowed: at least that".into());
    }
    check_erase_unit(spec)?;
    check_map(&spec.ftl)?;
    check_room(spec)
}

/// Refuses a map in flash without a budget, with two, or a budget without such a map.
fn check_map(ftl: &FtlSpec) -> Result<(), SpecError> {
    let budgets = usize::from(ftl.map_ram_kib.is_some()) + usize::from(ftl.map_cache_entries.is_some());
    match (ftl.map_place.as_str(), budgets) {
        ("cached", 1) | ("ram", 0) => Ok(()),
        ("cached", 0) => {
            refuse("ftl.map_place = \"cached\" needs ftl.map_ram_kib or ftl.map_cache_entries, found neither".into())
        }
        ("cached", _) => {
            refuse("ftl.map_ram_kib and ftl.map_cache_entries are both given; allowed: one of them".into())
        }
        (place, _) => refuse(format!(
            "ftl.map_ram_kib and ftl.map_cache_entries belong to ftl.map_place = \"cached\", found \"{place}\""
        )),
    }
}

/// Refuses an over-provisioning that leaves too few blocks beside the data.
fn check_room(spec: &Spec) -> Result<(), SpecError> {
    let raw = spec.geometry.blocks_per_plane;
    let data = data_blocks_max(spec);
    if data == 0 {
        return refuse(format!(
            "geometry.blocks_per_plane = {raw}; a page-level FTL needs {} with these thresholds",
            reserve(spec) + 1 + map_reserve(spec, 1)
        ));
    }
    let kept = raw - data;
    let smallest = f64::from(kept) / f64::from(raw);
    if spec.ftl.over_provisioning < smallest {
        let map = if spec.ftl.map_place == "cached" { ", for translation pages" } else { "" };
        return refuse(format!(
            "ftl.over_provisioning = {}: garbage collection cannot make progress, because {kept} of {raw} blocks a plane are kept \
             free, open{map} or bad; the smallest value that works is {}",
            spec.ftl.over_provisioning,
            typed_share(smallest)
        ));
    }
    Ok(())
}
