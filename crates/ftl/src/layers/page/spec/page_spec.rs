//! The page-level FTL as a spec asks for it.

use pumice_types::key::{ANY, ANY_US, CHOSEN, COUNT_MAX, TIMED, When, float, int};
use pumice_types::{ChipKeys, Geometry, MultiPlane, PlaneOrder, UnitPages, choice, keys};

use crate::blocks::reclaim_lines::LineRule;
use crate::blocks::wear::WearLeveling;
use crate::layers::page::{
    Allocation, CACHED_ENTRY_BYTES, CachedMap, CollectedPlace, EraseGroup, EraseUnits, GcMode, GcPlanes, Handles,
    HotCold, Isolation, LogShape, Neighbours, PageConfig, STORED_ENTRY_BYTES, Stripes, TrimShape,
};
use crate::plan::{EraseUnit, STREAMS_MAX};
use crate::seam::{LayerParts, LayerSpec, MapPlace, Recovery, whole_share};

choice! {
    /// Which pages share an open block.
    pub enum Separation {
        /// All pages share an open block.
        Mixed = "mixed",
        /// Copies of collection are apart.
        Gc = "gc",
        /// Copies of collection and hot pages are apart.
        Recency = "recency",
    }
}

choice! {
    /// What becomes after a power cut of blocks that were being written.
    pub enum OpenBlocks {
        /// Open blocks are closed as they are.
        Close = "close",
        /// Open blocks are written further.
        Reuse = "reuse",
    }
}

choice! {
    /// What is done about uneven wear.
    pub enum Leveling {
        /// Nothing.
        None = "none",
        /// Little worn free blocks are taken first.
        Dynamic = "dynamic",
        /// Data is moved off little worn blocks.
        Static = "static",
        /// Both.
        Both = "both",
    }
}

impl Leveling {
    /// Whether free blocks are taken by their wear.
    fn is_dynamic(self) -> bool {
        match self {
            Leveling::None | Leveling::Static => false,
            Leveling::Dynamic | Leveling::Both => true,
        }
    }

    /// Whether data is moved off little worn blocks.
    pub fn moves_data(self) -> bool {
        match self {
            Leveling::None | Leveling::Dynamic => false,
            Leveling::Static | Leveling::Both => true,
        }
    }
}

keys! {
    /// Keys of the page-level FTL alone.
    pub struct PageKeys in "ftl" {
        map_unit_bytes: Option<u32> = "", int(512, 1 << 20), "bytes", "none: geometry.page_bytes, as the papers map", When::Always,
            "page: bytes of one map entry, a divisor of geometry.page_bytes. Units gather in an open page until it is full or forced out. Drives map 4096 bytes.";
        open_page_us: f64 = "5000.0", ANY_US, "us", "chosen: long beside the time between two writes of a busy host, short beside its flushes", When::All(&[TIMED, When::Given("ftl.map_unit_bytes")]),
            "page: an open page that has held host data for this long is programmed, with padding.";
        gc_stop_threshold: Option<f64> = "", float(0.0, 1.0), "share of a plane's blocks", "the start threshold", When::Always,
            "page: a plane reclaims until it has more free blocks than this.";
        erase_unit: EraseUnit = "\"block\"", ANY, "", CHOSEN, When::Always,
            "page: what collection erases; a part of a block needs the partial_erase.unit of its name. block: whole blocks. partial-block: the partial blocks that win most pages in a time of the die, with the leaves that they would disturb beyond tolerance. sub-block: any set of a block's physical sub-blocks in one operation of tBERS.";
        allocation: Allocation = "\"dynamic\"", ANY, "", CHOSEN, When::Always,
            "page: which plane a write goes to. dynamic: the next one with room, so all planes fill alike and collect at the same time. static: that of its logical page, as in MQSim; writes wait while it collects.";
        allocation_order: PlaneOrder = "\"CWDP\"", ANY, "", CHOSEN, When::Always,
            "page: order in which writes visit, or pages are dealt to, channels (C), chips (W), dies (D) and planes (P); first letter fastest.";
        gc_mode: GcMode = "\"blocking\"", ANY, "", "PEN, FAST'18, section 2.2.2", When::Always,
            "blocking: a merge or collection holds its die, and the write that triggered it waits. Only page has the others. foreground: after that write's program. background: in steps of one page while a die is idle, at or under the stop threshold. preemptible: in such steps, begun at the start threshold. paced: after each write, none at the stop threshold up to one page a page written at the start threshold. Without a free block, writes wait in every mode.";
        gc_write_tokens: u32 = "0", int(0, COUNT_MAX), "pages", CHOSEN, When::Is("ftl.gc_mode", &["background", "preemptible"]),
            "page: pages that the host may write to a plane that collects until a step of collection follows one, idle or not. 0: no limit. The simulator of AERO's authors has 2.";
        gc_planes: GcPlanes = "\"own\"", ANY, "", CHOSEN, When::Is("ftl.gc_mode", &["blocking", "foreground"]),
            "page: which planes of a die reclaim when one must. own: that one. die: all at or under the start threshold together, for multi-plane commands (timing.multi_plane = \"queue\").";
        hot_cold: Separation = "\"gc\"", ANY, "", CHOSEN, When::Always,
            "page: which pages share an open block of a plane. mixed: all. gc: collection's copies have their own. recency: hot pages too, written and copied ones apart; hot are pages that the host also wrote before, in this or the last window.";
        erase_group: EraseGroup = "\"plane\"", ANY, "", CHOSEN, When::Always,
            "page: what is written, reclaimed and erased as one, like a controller's superblock. plane: a block of one plane. die: a stripe of blocks over the planes of a die. device: one over all planes, only without a clock.";
        handles: Option<u32> = "", int(1, STREAMS_MAX as i64), "reclaim unit handles", "none: streams are ignored", When::Always,
            "page: flexible data placement. Writes of the host's stream n fill open blocks of handle n; a stream without a handle goes to handle 0.";
        isolation: Isolation = "\"initial\"", ANY, "", "drives measured for WARP, FAST'26: initially isolated", When::Given("ftl.handles"),
            "page: where collection copies the pages of several handles. initial: to one open block. persistent: to one for each handle (hot_cold = \"gc\"), or that of the handle's writes (\"mixed\").";
        hot_window: f64 = "0.5", float(1e-9, 1000.0), "user capacities", "chosen: see docs/models/page-level.md", When::Is("ftl.hot_cold", &["recency"]),
            "Host writes of a window of hot_cold = \"recency\".";
        wear_leveling: Leveling = "\"none\"", ANY, "", CHOSEN, When::Always,
            "page: dynamic takes the free block with the fewest erases. static moves the data of a plane's least erased closed block when the most erased one is over wear_threshold ahead.";
        wear_threshold: u32 = "50", int(1, COUNT_MAX), "erases", CHOSEN, When::Is("ftl.wear_leveling", &["static", "both"]),
            "Erases by which a plane's most erased block may be ahead of its least erased closed one under static levelling.";
        wear_in_spare: bool = "true", ANY, "", CHOSEN, When::All(&[When::IsNot("ftl.recovery", &["off"]), When::IsNot("ftl.wear_leveling", &["none"])]),
            "page: whether spare areas hold their block's erase count, four bytes each; otherwise all blocks count as new after a power cut.";
        checkpoint_interval: f64 = "0.1", float(1e-6, 1000.0), "user capacities", CHOSEN, When::Is("ftl.recovery", &["checkpoint"]),
            "recovery = \"checkpoint\": pages programmed while every page of the map is written once. Longer: fewer programs, and more journal to read after a power cut.";
        open_block: OpenBlocks = "\"close\"", ANY, "", CHOSEN, When::IsNot("ftl.recovery", &["off"]),
            "page: blocks that were being written at a power cut. close: collection reclaims their blank pages. reuse: they are written further; needs power.protection = \"operations\" | \"full\", because otherwise a blank page may hide a program that was cut.";
        map_ram_kib: Option<u32> = "", int(1, COUNT_MAX), "KiB", "none: map_place = \"cached\" needs this or map_cache_entries", When::Always,
            "RAM for cached map entries, 8 bytes each, without the directory of translation pages.";
    }
}

/// Settings of the page-level FTL.
pub(in crate::layers::page) fn config(parts: &LayerParts, keys: &PageKeys) -> PageConfig {
    let (spec, geometry) = (&parts.spec, &parts.geometry);
    let user_pages = spec.pages_for_host(geometry);
    let turns = |geometry: &Geometry| {
        (0..geometry.planes()).map(|turn| geometry.plane_in_order(keys.allocation_order, turn)).collect::<Vec<_>>()
    };
    let stripes = Stripes::new(keys.erase_group, geometry, &turns(geometry));
    let seen = stripes.as_ref().map_or(*geometry, Stripes::joined);
    let stop = keys.gc_stop_threshold.unwrap_or(spec.shared.gc_free_threshold);
    PageConfig {
        geometry: seen,
        user_pages,
        order: turns(&seen),
        stripes,
        allocation: keys.allocation,
        policy: spec.policies.policy(),
        units: erase_units(parts, keys, &seen),
        gc_mode: keys.gc_mode,
        gc_write_tokens: keys.gc_write_tokens,
        gc_planes: keys.gc_planes,
        gc_start_blocks: spec.gc_start_blocks(),
        gc_stop_blocks: whole_share(u64::from(geometry.blocks_per_plane), stop).max(spec.gc_start_blocks()),
        cached_map: cached_map(spec, keys),
        hot_cold: hot_cold(spec, keys, user_pages),
        wear_leveling: wear_leveling(spec, keys),
        log: (spec.shared.recovery == Recovery::Checkpoint)
            .then(|| LogShape::new(geometry, user_pages, keys.checkpoint_interval, hot_cold(spec, keys, user_pages))),
        trims: trim_shape(spec, keys, user_pages),
        recovers: spec.shared.recovery != Recovery::Off,
        blank_blocks: blank_blocks(spec, keys),
        reuses_open_blocks: keys.open_block == OpenBlocks::Reuse,
        erases_together: spec.chip.timing.multi_plane != MultiPlane::Off,
        decider: parts.decider.clone().filter(|decider| decider.decides().concerns_ftl()),
        seed: parts.seed,
    }
}

fn hot_cold(spec: &LayerSpec, keys: &PageKeys, user_pages: u32) -> HotCold {
    if let Some(count) = keys.handles {
        let collected = match (keys.isolation, keys.hot_cold) {
            (Isolation::Initial, Separation::Mixed | Separation::Gc | Separation::Recency) => CollectedPlace::Shared,
            (Isolation::Persistent, Separation::Gc | Separation::Recency) => CollectedPlace::Apart,
            (Isolation::Persistent, Separation::Mixed) => CollectedPlace::WithHost,
        };
        return HotCold::Handles(Handles { count: count as u8, collected });
    }
    match keys.hot_cold {
        _ if spec.decides.streams > 0 => HotCold::Placed { streams: spec.decides.streams },
        Separation::Mixed => HotCold::Mixed,
        Separation::Gc => HotCold::Copies,
        Separation::Recency => HotCold::Recency { window: whole_share(u64::from(user_pages), keys.hot_window).max(1) },
    }
}

/// Blocks of a plane that stay blank for the case of a power cut. Where they are set aside, one more: collection has then
/// none that is blank for certain.
fn blank_blocks(spec: &LayerSpec, keys: &PageKeys) -> u32 {
    u32::from(forces_copies_out(spec, keys)) + blank_after_cuts(spec, keys)
}

/// Whether a block that is opened for copies may make collection force out, with padding, what other copies gather. The
/// room that this takes is less than a block.
fn forces_copies_out(spec: &LayerSpec, keys: &PageKeys) -> bool {
    let streams_of_copies = keys.hot_cold == Separation::Recency
        || keys.wear_leveling.moves_data()
        || keys.handles.is_some()
        || spec.decides.concerns_ftl();
    spec.chip.units.per_page > 1 && streams_of_copies
}

fn blank_after_cuts(spec: &LayerSpec, keys: &PageKeys) -> u32 {
    match (spec.shared.recovery, keys.erase_unit) {
        (Recovery::Off, _) => 0,
        (Recovery::Scan | Recovery::Summary | Recovery::Checkpoint, EraseUnit::Block) => 2,
        (Recovery::Scan | Recovery::Summary | Recovery::Checkpoint, EraseUnit::PartialBlock | EraseUnit::SubBlock) => 3,
    }
}

/// The map and its journal in flash, on a device of the spec's size.
pub(super) fn log_shape(spec: &LayerSpec, keys: &PageKeys) -> Option<LogShape> {
    let geometry = spec.chip.scaled(1.0).ok().filter(|_| spec.shared.recovery == Recovery::Checkpoint)?;
    let user_pages = spec.pages_for_host(&geometry);
    Some(LogShape::new(&geometry, user_pages, keys.checkpoint_interval, hot_cold(spec, keys, user_pages)))
}

/// The pages that say what is trimmed, behind those of a map in flash and the logical page that stands for all summaries.
pub(super) fn trim_shape(spec: &LayerSpec, keys: &PageKeys, user_pages: u32) -> Option<TrimShape> {
    let summaries = match spec.shared.recovery {
        Recovery::Off | Recovery::Checkpoint => return None,
        Recovery::Scan => 0,
        Recovery::Summary => 1,
    };
    let map = cached_map(spec, keys).map_or(0, |map| user_pages.div_ceil(map.entries_per_page));
    Some(TrimShape::new(user_pages + map + summaries, user_pages, spec.chip.geometry.page_bytes))
}

/// Whole blocks of a plane that trim pages fill. A plane has room for a part of one beside the data of the host; how many
/// of them it holds depends on the scale, so it is reckoned with two more.
fn trim_blocks(spec: &LayerSpec, keys: &PageKeys) -> u32 {
    let pages = spec.blocks_per_plane() * u32::from(spec.chip.geometry.pages_per_block);
    trim_shape(spec, keys, pages).map_or(0, |trims| (trims.pages() + 2) / u32::from(data_pages(spec)))
}

/// Blocks of a plane that padding fills where every block that is reclaimed forces a page of mapping units out.
fn padding_blocks(spec: &LayerSpec) -> u32 {
    let chip = spec.chip;
    let padding = match spec.shared.recovery {
        Recovery::Off => 0,
        Recovery::Scan | Recovery::Summary | Recovery::Checkpoint => u32::from(chip.units.per_page) - 1,
    };
    (spec.blocks_per_plane() * padding).div_ceil(u32::from(chip.geometry.pages_per_block))
}

/// Pages of a block that take data.
pub(in crate::layers::page) fn data_pages(spec: &LayerSpec) -> u16 {
    let geometry = &spec.chip.geometry;
    let units = spec.chip.units.per_page;
    geometry.pages_per_block - spec.shared.recovery.summary_pages(geometry.pages_per_block, geometry.page_bytes, units)
}

fn wear_leveling(spec: &LayerSpec, keys: &PageKeys) -> WearLeveling {
    let (dynamic, moves_data) = (keys.wear_leveling.is_dynamic(), keys.wear_leveling.moves_data());
    WearLeveling {
        dynamic,
        static_threshold: moves_data.then_some(keys.wear_threshold),
        asks_policy: spec.decides.wear_swap,
        in_spare: stores_wear(spec, keys),
    }
}

/// Whether spare areas say how often their block was erased: where the spec wants that, and where a policy moves data by
/// what it remembers of that.
pub(super) fn stores_wear(spec: &LayerSpec, keys: &PageKeys) -> bool {
    let recovers = match spec.shared.recovery {
        Recovery::Off | Recovery::Checkpoint => false,
        Recovery::Scan | Recovery::Summary => true,
    };
    let wanted = if keys.wear_leveling == Leveling::None { spec.decides.wear_swap } else { keys.wear_in_spare };
    recovers && wanted
}

/// The map that a spec wants in flash.
pub(in crate::layers::page) fn cached_map(spec: &LayerSpec, keys: &PageKeys) -> Option<CachedMap> {
    if spec.shared.map_place != MapPlace::Cached {
        return None;
    }
    let geometry = &spec.chip.geometry;
    let plane_pages = u64::from(geometry.blocks_per_plane) * u64::from(geometry.pages_per_block);
    let by_ram = keys.map_ram_kib.map(|kib| (u64::from(kib) * 1024 / CACHED_ENTRY_BYTES) as usize);
    let entries = spec.shared.map_cache_entries.map(|entries| entries as usize).or(by_ram)?;
    let user_pages = whole_share(plane_pages, 1.0 - spec.shared.over_provisioning);
    Some(CachedMap {
        entries,
        entries_per_page: entries_per_page(spec),
        blocks_per_plane: map_blocks(spec, user_pages),
    })
}

fn entries_per_page(spec: &LayerSpec) -> u32 {
    spec.chip.geometry.page_bytes * u32::from(spec.chip.units.per_page) / STORED_ENTRY_BYTES
}

/// Blocks that a plane of `user_pages` pages of the host sets aside for a map in flash. One page more
/// than the plane's own share, because rounding over the planes depends on the scale.
fn map_blocks(spec: &LayerSpec, user_pages: u32) -> u32 {
    let pages = (user_pages + 1).div_ceil(entries_per_page(spec)) + 1;
    CachedMap::blocks_for(pages, data_pages(spec) / spec.chip.units.per_page)
}

/// What is erased apart: blocks, or the physical sub-blocks or leaves of each.
fn erase_units(parts: &LayerParts, keys: &PageKeys, seen: &Geometry) -> EraseUnits {
    let (copy, erase) = (parts.timing.mean_copy(), parts.block_erase);
    let chip = parts.spec.chip;
    let joined = seen.pages_per_block / parts.geometry.pages_per_block;
    let whole = || EraseUnits::whole_blocks(data_pages(&parts.spec) * joined);
    match keys.erase_unit {
        EraseUnit::Block => whole(),
        EraseUnit::SubBlock => chip.geometry.block_shape().map_or_else(whole, |shape| EraseUnits {
            pages: UnitPages::sub_blocks(shape),
            copy,
            erase,
            neighbours: neighbours(chip),
        }),
        EraseUnit::PartialBlock => UnitPages::leaves(parts.tree).map_or_else(whole, |pages| {
            let rule = parts.leaf_rule();
            EraseUnits { pages, copy, erase, neighbours: Neighbours::Leaves(rule) }
        }),
    }
}

/// What sub-blocks do to each other. Each fill programs every word line as often as a cell has bits.
fn neighbours(chip: &ChipKeys) -> Neighbours {
    let fills = |bound: u32| bound / u32::from(chip.geometry.bits_per_cell);
    chip.partial_erase.sub_block_disturb.map_or(Neighbours::Isolated, |bound| {
        let fills_max = u16::try_from(fills(bound)).unwrap_or(u16::MAX);
        Neighbours::SharedLines(LineRule { fills_max, protects: chip.partial_erase.disturb_aware })
    })
}

/// Blocks of each plane that a page-level FTL cannot fill with valid data: those it keeps free, the
/// open ones and the bad ones, and one more, so that some plane always has room for a write.
pub(in crate::layers::page) fn reserve(spec: &LayerSpec, keys: &PageKeys) -> u32 {
    // The window plays no part in how many blocks are open.
    let open = PageConfig::open_blocks(hot_cold(spec, keys, 1), wear_leveling(spec, keys));
    let log = log_shape(spec, keys).map_or(0, |log| log.rows);
    let own = log + trim_blocks(spec, keys) + padding_blocks(spec);
    spec.gc_start_blocks() + open + blank_blocks(spec, keys) + own + spec.chip.geometry.bad_blocks_per_plane + 1
}

/// The most blocks of a plane that the host can fill beside that reserve and the translation pages
/// that so many blocks need.
pub(super) fn data_blocks_max(spec: &LayerSpec, keys: &PageKeys) -> u32 {
    let most = spec.blocks_per_plane().saturating_sub(reserve(spec, keys));
    (0..=most).rev().find(|&data| data + map_reserve(spec, data) <= most).unwrap_or(0)
}

/// Blocks that a plane sets aside for the map of `data` blocks of the host; none if it is in RAM.
pub(super) fn map_reserve(spec: &LayerSpec, data: u32) -> u32 {
    match spec.shared.map_place {
        MapPlace::Cached => map_blocks(spec, data * u32::from(spec.chip.geometry.pages_per_block)),
        MapPlace::Ram | MapPlace::Spare => 0,
    }
}
