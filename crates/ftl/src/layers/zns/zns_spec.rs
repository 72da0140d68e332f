//! Zones as a spec asks for them.

use pumice_types::geometry::greatest_common_divisor;
use pumice_types::key::{ANY, CHOSEN, COUNT_MAX, When, float, int};
use pumice_types::refusal::{needs, quoted};
use pumice_types::{ChipKeys, Draw, Geometry, Lpn, MultiPlane, SpecError, UnitPages, WriteSequence, keys, refuse};

use super::layout::{FirstPlane, LayoutConfig};
use super::state::ZoneLimits;
use super::zone_recovery::{RESERVE, SPARE_BYTES};
use super::{CleaningPace, FinishFill, ResetTime, UnitKind, Zns, ZnsConfig, ZoneInterface, ZoneMapping, ZoneVictim};
use crate::plan::{EraseUnit, FillTarget, FtlError, ZoneError};
use crate::seam::{
    Facts, FinishPace, Layer, LayerParts, LayerSpec, Recovery, RecoveryCounts, Reports, ResetErases, Restart,
    typed_share, whole_share,
};

/// Most streams of the host: a zone keeps the number of its own in a byte.
const STREAMS_MAX: i64 = 64;

/// Source of the limits of open and active zones.
const ZN540: &str = "Western Digital ZN540 as zbd reports it (github.com/johnramsden/gczns)";

/// The host keeps a log on the zones.
const OF_LOG: When = When::Is("ftl.zns.interface", &["log"]);

/// Requests have the addresses of zones.
const OF_ZONES: When = When::Is("ftl.zns.interface", &["zones"]);

keys! {
    /// Keys of zones alone.
    pub struct ZnsKeys in "ftl.zns" {
        interface: ZoneInterface = "\"log\"", ANY, "", CHOSEN, When::Always,
            "zns: the addresses of requests. log: of a log that the host keeps on the zones, so that every workload runs. zones: of the zones, end to end without gaps: the host writes each from its start, appends, finishes and resets; refusals are counted.";
        zone_planes: Option<u32> = "", int(1, COUNT_MAX), "planes", "all planes of the device", When::Always,
            "zns: planes that a zone is striped over, a divisor of the device's; at a scale, the largest number that also divides the planes left.";
        unit: EraseUnit = "\"block\"", ANY, "", CHOSEN, When::Always,
            "zns: the erase units of zones; a part of a block needs the partial_erase.unit of its name. block: blocks. partial-block: leaves of partial blocks; each plane keeps a block for leaves that would be disturbed beyond tolerance. sub-block: physical sub-blocks.";
        units_per_plane: u32 = "1", int(1, COUNT_MAX), "erase units", CHOSEN, When::Always,
            "zns: erase units that a zone takes of each of its planes: a divisor or a multiple of those of a block.";
        run_pages: u32 = "1", int(1, COUNT_MAX), "pages", CHOSEN, When::Always,
            "zns: pages of a zone on one plane before the next plane's turn, a divisor of an erase unit's pages. More than 1 needs ftl.recovery = \"off\".";
        first_plane: FirstPlane = "\"same\"", ANY, "", CHOSEN, When::Always,
            "zns: the plane where a zone begins. same: the first of its planes. drawn: by the seed for each zone, so that zones written in step meet on a plane by chance only.";
        zone_size_kib: Option<u64> = "", int(1, i64::MAX), "KiB", "the capacity, rounded up to a power of two of pages", When::Always,
            "zns: distance from the start of a zone to that of the next, at least its capacity; the rest cannot be written.";
        mapping: ZoneMapping = "\"fixed\"", ANY, "", CHOSEN, When::Always,
            "zns: the erase units of a zone. fixed: always the same. on-demand: the least recently used ones of each plane, taken at the zone's first write; those blank at a finish go back (SilentZNS, with finish = \"pad-units\").";
        max_open: u32 = "14", int(1, COUNT_MAX), "zones", ZN540, When::Always,
            "zns: most zones open at once (maximum open resources), at most max_active. The controller closes implicitly opened zones to open others.";
        max_active: u32 = "14", int(1, COUNT_MAX), "zones", ZN540, When::Always,
            "zns: most zones open or closed at once (maximum active resources).";
        reset: ResetTime = "\"at-once\"", ANY, "", CHOSEN, When::Always,
            "zns: when the units of a reset zone are erased. at-once: with the reset. when-opened: when the zone is next written. idle: one by one on idle dies, the rest when the zone is next written.";
        reset_erases: ResetErases = "\"together\"", ANY, "", CHOSEN, OF_ZONES,
            "zns: order of a reset's erases, with reset = \"at-once\". together: on all dies. in-turn: one die after the other. alone: in turn, and meanwhile the write buffer sends no program.";
        finish_pace: FinishPace = "\"at-once\"", ANY, "", CHOSEN, OF_ZONES,
            "zns: how fast a zone that the host finishes is filled. at-once: all pages are queued at once. shared: through the write buffer, of which the zone has as large a part as each open one.";
        finish_at: f64 = "1.0", float(0.0, 1.0), "share of the capacity", CHOSEN, OF_LOG,
            "zns: the host finishes a zone when it has written this share of its capacity, at least one page.";
        finish: FinishFill = "\"pad\"", ANY, "", CHOSEN, When::Always,
            "zns: what the device programs when a zone is finished early. pad: all unwritten pages. pad-units: those of erase units that hold something. leave: none.";
        streams: u32 = "2", int(1, STREAMS_MAX), "zones", CHOSEN, OF_LOG,
            "zns: streams of the host's log, each on a zone of its own, at most max_active. Users write to the first; cleaning moves data on to the next, so that data of one age lies together.";
        cleaning: ZoneVictim = "\"greedy\"", ANY, "", CHOSEN, OF_LOG,
            "zns: which full zone the host cleans. greedy: the one with the fewest valid pages. cost-benefit: the one with the largest (1 - u) * age / (1 + u), u the share of valid pages.";
        pace: CleaningPace = "\"paced\"", ANY, "", CHOSEN, OF_LOG,
            "zns: how fast the host cleans once few zones are empty (ftl.gc_free_threshold). paced: with each page written, enough to win room for one. whole-zone: a whole zone before the page.";
    }
}

impl ZnsKeys {
    /// Pages of a zone on a device of this shape, if requests have the addresses of zones.
    pub(crate) fn host_zone_pages(&self, geometry: &Geometry) -> Option<u32> {
        let planes = geometry.planes();
        let width = greatest_common_divisor(self.zone_planes.unwrap_or(planes), planes);
        let pages = width * self.units_per_plane * u32::from(geometry.pages_per_block);
        match self.interface {
            ZoneInterface::Log => None,
            ZoneInterface::Zones => Some(pages),
        }
    }
}

/// Where zones lie on a device of this shape.
fn layout(spec: &LayerSpec, keys: &ZnsKeys, geometry: &Geometry) -> LayoutConfig {
    let planes = geometry.planes();
    LayoutConfig {
        geometry: *geometry,
        units: unit_pages(spec, keys),
        width: greatest_common_divisor(keys.zone_planes.unwrap_or(planes), planes),
        depth: keys.units_per_plane,
        run: keys.run_pages,
        first: None,
    }
}

/// The pages of each erase unit of a block.
fn unit_pages(spec: &LayerSpec, keys: &ZnsKeys) -> UnitPages {
    let chip = spec.chip;
    let parts = match keys.unit {
        EraseUnit::Block => None,
        EraseUnit::SubBlock => chip.geometry.block_shape().map(UnitPages::sub_blocks),
        EraseUnit::PartialBlock => chip.tree().ok().and_then(UnitPages::leaves),
    };
    parts.unwrap_or_else(|| UnitPages::whole_block(chip.geometry.pages_per_block))
}

/// How the units are erased.
fn unit_kind(parts: &LayerParts, keys: &ZnsKeys) -> UnitKind {
    match keys.unit {
        EraseUnit::Block => UnitKind::Blocks,
        EraseUnit::SubBlock => UnitKind::SubBlocks,
        EraseUnit::PartialBlock => UnitKind::Leaves(parts.leaf_rule()),
    }
}

/// Blocks of each plane in which zones lie.
fn zone_blocks(spec: &LayerSpec, keys: &ZnsKeys) -> u32 {
    let spare = match keys.unit {
        EraseUnit::Block | EraseUnit::SubBlock => 0,
        EraseUnit::PartialBlock => 1,
    };
    spec.chip.geometry.good_blocks_per_plane().saturating_sub(spare)
}

/// Zones of a device, and those that the host cannot fill with data.
struct ZoneRoom {
    zones: u32,
    capacity: u32,
    /// Pages of a zone that the host uses.
    used_pages: u32,
    /// Empty zones that only moves may open.
    reserve: u32,
    /// Empty zones at or under which the host cleans.
    clean_start: u32,
    kept: u32,
}

impl ZoneRoom {
    fn new(spec: &LayerSpec, keys: &ZnsKeys, layout: &LayoutConfig) -> ZoneRoom {
        let zones = layout.zones(zone_blocks(spec, keys));
        let capacity = layout.capacity();
        let reserve = if spec.shared.recovery == Recovery::Off { 0 } else { RESERVE };
        let clean_start = whole_share(u64::from(zones), spec.shared.gc_free_threshold).max(2) + reserve;
        ZoneRoom {
            zones,
            capacity,
            used_pages: whole_share(u64::from(capacity), keys.finish_at).max(1),
            reserve,
            clean_start,
            kept: clean_start + keys.streams + 1,
        }
    }

    /// Logical pages that the host can store.
    fn pages_max(&self) -> u64 {
        u64::from(self.zones.saturating_sub(self.kept)) * u64::from(self.used_pages)
    }
}

impl Layer for Zns {
    type Keys = ZnsKeys;
    type Running = Zns;

    const FACTS: Facts = Facts {
        reads: &["over_provisioning", "gc_free_threshold"],
        recoveries: &[Recovery::Off, Recovery::Scan],
        keeps_blocks: true,
        gives_up_trimmed: true,
        reports: Reports::VICTIMS,
        ..Facts::PLAIN
    };

    fn erase_unit(keys: &ZnsKeys) -> EraseUnit {
        keys.unit
    }

    /// Zones of sub-blocks are written sub-block after sub-block, whatever order the spec gives the pages of a block.
    fn adapt(chip: &mut ChipKeys, keys: &ZnsKeys) {
        if keys.unit == EraseUnit::SubBlock && chip.geometry.block_shape().is_some() {
            chip.geometry.write_sequence = WriteSequence::Sfws;
        }
    }

    fn check(spec: &LayerSpec, keys: &ZnsKeys) -> Result<(), SpecError> {
        let geometry = spec.chip.geometry.scaled(1.0)?;
        spec.check_unit("ftl.zns.unit", keys.unit)?;
        if keys.unit == EraseUnit::SubBlock && spec.chip.partial_erase.sub_block_disturb.is_some() {
            return Err("ftl.zns.unit = \"sub-block\" needs sub-blocks that do not disturb each other: leave partial_erase.sub_block_disturb out".into());
        }
        check_shape(spec, keys, &geometry)?;
        check_size(spec, keys, &geometry)?;
        check_limits(keys)?;
        match keys.interface {
            ZoneInterface::Log => {
                check_recovery(spec, keys)?;
                check_room(spec, keys, &geometry)
            }
            ZoneInterface::Zones => check_host_zones(spec, keys, &geometry),
        }
    }

    fn capacity(spec: &LayerSpec, keys: &ZnsKeys, geometry: &Geometry) -> Result<u32, SpecError> {
        Ok(user_pages(spec, keys, geometry))
    }

    /// One that stands for all padding.
    fn translation_pages(_: &LayerSpec, _: &ZnsKeys, _: u32) -> u32 {
        1
    }

    fn recover(parts: &LayerParts, keys: &ZnsKeys, restart: &mut Restart) -> Result<(Zns, RecoveryCounts), FtlError> {
        Zns::recover(config(parts, keys), parts.bad_blocks, restart)
    }

    fn build(parts: &LayerParts, keys: &ZnsKeys, target: &mut dyn FillTarget) -> Result<Zns, FtlError> {
        let mut ftl = Zns::new(config(parts, keys), parts.bad_blocks);
        let filled = ftl.fill(parts.spec.initial.fill, |filled| target.program(&filled));
        target.note_stored(Lpn(0), filled);
        Ok(ftl)
    }
}

/// Logical pages of the host: those that over-provisioning leaves, as far as its log has room for them.
fn user_pages(spec: &LayerSpec, keys: &ZnsKeys, geometry: &Geometry) -> u32 {
    if keys.interface == ZoneInterface::Zones {
        let layout = layout(spec, keys, geometry);
        return layout.zones(zone_blocks(spec, keys)) * layout.capacity();
    }
    let room = ZoneRoom::new(spec, keys, &layout(spec, keys, geometry)).pages_max();
    spec.pages_for_host(geometry).min(room as u32)
}

fn config(parts: &LayerParts, keys: &ZnsKeys) -> ZnsConfig {
    let (spec, geometry) = (&parts.spec, &parts.geometry);
    let drawn = || Draw::new(parts.seed, "first-plane");
    let first = (keys.first_plane == FirstPlane::Drawn).then(drawn);
    let layout = LayoutConfig { first, ..layout(spec, keys, geometry) };
    let room = ZoneRoom::new(spec, keys, &layout);
    ZnsConfig {
        interface: keys.interface,
        units: unit_kind(parts, keys),
        mapping: keys.mapping,
        zone_size: zone_size(keys, geometry, room.capacity) as u32,
        limits: ZoneLimits { open: keys.max_open, active: keys.max_active },
        resets: keys.reset,
        erases: keys.reset_erases,
        finish_pace: keys.finish_pace,
        finish: keys.finish,
        used_pages: room.used_pages,
        user_pages: user_pages(spec, keys, geometry),
        streams: keys.streams as u8,
        clean_start: room.clean_start as usize,
        reserve: room.reserve as usize,
        victim: keys.cleaning,
        pace: keys.pace,
        layout,
    }
}

/// Pages from the start of a zone to that of the next.
fn zone_size(keys: &ZnsKeys, geometry: &Geometry, capacity: u32) -> u64 {
    let given = keys.zone_size_kib.map(|kib| kib.saturating_mul(1024) / u64::from(geometry.page_bytes));
    given.unwrap_or(match keys.interface {
        ZoneInterface::Log => u64::from(capacity).next_power_of_two(),
        ZoneInterface::Zones => u64::from(capacity),
    })
}

/// Refuses zones that are no stripes of the device.
fn check_shape(spec: &LayerSpec, keys: &ZnsKeys, geometry: &Geometry) -> Result<(), SpecError> {
    let planes = geometry.planes();
    if let Some(width) = keys.zone_planes.filter(|&width| !planes.is_multiple_of(width)) {
        let divisors: Vec<String> =
            (1..=planes).filter(|by| planes.is_multiple_of(*by)).map(|by| by.to_string()).collect();
        return Err(refuse!(
            "ftl.zns.zone_planes = {width} does not divide the device's {planes} planes; allowed: {}",
            divisors.join(" | ")
        ));
    }
    let per_unit = unit_pages(spec, keys).pages_per_unit() as u32;
    if !per_unit.is_multiple_of(keys.run_pages) {
        let run = keys.run_pages;
        return Err(refuse!("ftl.zns.run_pages = {run} does not divide the {per_unit} pages of an erase unit"));
    }
    let (depth, per_block, blocks) =
        (keys.units_per_plane, unit_pages(spec, keys).units() as u32, zone_blocks(spec, keys));
    if !depth.is_multiple_of(per_block) && !per_block.is_multiple_of(depth) {
        return Err(refuse!(
            "ftl.zns.units_per_plane = {depth} neither divides the {per_block} units of a block nor is a multiple of them"
        ));
    }
    if depth > blocks * per_block {
        return Err(refuse!(
            "ftl.zns.units_per_plane = {depth} exceeds the {} units of a plane's {blocks} good blocks",
            blocks * per_block
        ));
    }
    Ok(())
}

/// Refuses a zone size below the capacity, or of no whole number of pages.
fn check_size(spec: &LayerSpec, keys: &ZnsKeys, geometry: &Geometry) -> Result<(), SpecError> {
    let capacity = layout(spec, keys, geometry).capacity();
    let Some(kib) = keys.zone_size_kib else { return Ok(()) };
    let page_bytes = u64::from(geometry.page_bytes);
    let smallest = (u64::from(capacity) * page_bytes).div_ceil(1024);
    if kib < smallest {
        return Err(refuse!(
            "ftl.zns.zone_size_kib = {kib} is below the zone's capacity of {capacity} pages; the smallest value that works is {smallest}"
        ));
    }
    if kib.checked_mul(1024).is_none_or(|bytes| bytes % page_bytes != 0 || bytes / page_bytes > u64::from(u32::MAX)) {
        return Err(refuse!(
            "ftl.zns.zone_size_kib = {kib} is not a whole number of pages of geometry.page_bytes = {page_bytes} below 2^32"
        ));
    }
    Ok(())
}

/// Refuses limits that the host's streams would break.
fn check_limits(keys: &ZnsKeys) -> Result<(), SpecError> {
    let ZnsKeys { max_open, max_active, streams, interface, .. } = *keys;
    if max_open > max_active {
        return Err(refuse!(
            "ftl.zns.max_open = {max_open} exceeds ftl.zns.max_active = {max_active}; allowed: at most that, because every open zone is active"
        ));
    }
    if interface == ZoneInterface::Log && streams > max_active {
        return Err(refuse!(
            "ftl.zns.streams = {streams} exceeds ftl.zns.max_active = {max_active}: the device would answer {}; allowed: at most {max_active}",
            ZoneError::TooManyActiveZones.told()
        ));
    }
    Ok(())
}

/// Refuses what a host that addresses zones cannot have.
fn check_host_zones(spec: &LayerSpec, keys: &ZnsKeys, geometry: &Geometry) -> Result<(), SpecError> {
    let capacity = u64::from(layout(spec, keys, geometry).capacity()) * u64::from(geometry.page_bytes);
    let recovery = spec.shared.recovery;
    let is_gapless = keys.zone_size_kib.is_none_or(|kib| kib.checked_mul(1024) == Some(capacity));
    let size = || format!("{:?}", keys.zone_size_kib.unwrap_or_default());
    let no_gaps = format!("a ftl.zns.zone_size_kib of its capacity, {}", capacity / 1024);
    needs(
        "ftl.zns.interface = \"zones\"",
        [
            (
                keys.reset_erases != ResetErases::Together && keys.reset != ResetTime::AtOnce,
                "ftl.zns.reset = \"at-once\" with ftl.zns.reset_erases",
                quoted(keys.reset),
            ),
            (keys.mapping != ZoneMapping::Fixed, "ftl.zns.mapping = \"fixed\"", quoted(keys.mapping)),
            (keys.unit != EraseUnit::Block, "ftl.zns.unit = \"block\"", quoted(keys.unit)),
            (!is_gapless, &no_gaps, size()),
            (recovery != Recovery::Off, "ftl.recovery = \"off\"", quoted(recovery)),
            (spec.initial.age_writes > 0.0, "initial.age_writes = 0", spec.initial.age_writes.to_string()),
        ],
    )
}

/// Refuses zones that cannot be found again after a power cut.
fn check_recovery(spec: &LayerSpec, keys: &ZnsKeys) -> Result<(), SpecError> {
    let recovery = spec.shared.recovery;
    if recovery != Recovery::Off && keys.run_pages > 1 {
        let found = keys.run_pages;
        return Err(refuse!("ftl.recovery = \"{recovery}\" needs ftl.zns.run_pages = 1, found {found}"));
    }
    if recovery == Recovery::Off {
        return Ok(());
    }
    if keys.unit != EraseUnit::Block {
        return Err(refuse!(
            "ftl.recovery = \"{recovery}\" needs ftl.zns.unit = \"block\" with ftl.kind = \"zns\", found \"{}\"",
            keys.unit
        ));
    }
    if keys.mapping != ZoneMapping::Fixed {
        return Err(refuse!(
            "ftl.recovery = \"{recovery}\" needs ftl.zns.mapping = \"fixed\", found \"{}\": nothing stores which zone a block belongs to",
            keys.mapping
        ));
    }
    if spec.chip.timing.multi_plane != MultiPlane::Off {
        return Err(refuse!(
            "ftl.recovery = \"{recovery}\" needs timing.multi_plane = \"off\" with ftl.kind = \"zns\", found \"{}\"",
            spec.chip.timing.multi_plane
        ));
    }
    spec.check_spare_bytes(SPARE_BYTES)
}

/// Refuses an over-provisioning that leaves too few zones beside the data.
fn check_room(spec: &LayerSpec, keys: &ZnsKeys, geometry: &Geometry) -> Result<(), SpecError> {
    let room = ZoneRoom::new(spec, keys, &layout(spec, keys, geometry));
    if room.zones <= room.kept {
        return Err(refuse!(
            "the device has {} zones of {} pages; ftl.kind = \"zns\" needs {} with these streams and this ftl.gc_free_threshold: \
             lower ftl.zns.units_per_plane or ftl.zns.zone_planes",
            room.zones,
            room.capacity,
            room.kept + 1
        ));
    }
    let wanted = spec.pages_for_host(geometry);
    if u64::from(wanted) > room.pages_max() {
        let smallest = 1.0 - room.pages_max() as f64 / geometry.pages() as f64;
        return Err(refuse!(
            "ftl.over_provisioning = {}: the host cannot clean its zones, because {} of {} are kept empty or open{}; the smallest \
             value that works is {}",
            spec.shared.over_provisioning,
            room.kept,
            room.zones,
            if room.used_pages < room.capacity { " and ftl.zns.finish_at leaves a part of each" } else { "" },
            typed_share(smallest)
        ));
    }
    Ok(())
}
