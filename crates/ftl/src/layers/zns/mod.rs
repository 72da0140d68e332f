//! Zones (NVMe Zoned Namespaces) with a host that runs ordinary block requests on them.
//!
//! Two parts, as in a real system. The *device* (`device`) has zones over stripes of erase units (`layout`), with the
//! states, limits and errors of the standard (`state`). It moves no data of its own accord. The *host* keeps a log on it:
//! one map entry a logical page (`maps`), streams of data that is expected to live equally long, each with a zone of
//! its own, and cleaning (`clean`): it moves the valid data out of a zone and resets it.

mod clean;
mod device;
mod host_zones;
pub mod layout;
mod maps;
pub mod state;
mod zns_spec;
mod zone_recovery;
mod zones_to_resume;

use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

use pumice_types::{BlockId, Cause, DieId, FlashCommand, Lpn, PageAddress, PlaneId};

use crate::plan::{FtlError, GcCounters, InitialBlock, Plan};
use crate::seam::{
    Conduct, Figures, FinishPace, HostZones, LookAhead, MemoryUse, ResetErases, TranslationLayer, ZoneOperation,
    ZoneOperations, ZoneReport, whole_share,
};
use clean::ZoneCleaning;
pub use clean::{CleaningPace, ZoneVictim};
pub use device::erase::UnitKind;
use device::erase::Work;
use device::{DeviceRules, ZonedDevice};
pub use device::{FinishFill, ResetTime, ZoneMapping};
pub use host_zones::ZoneInterface;
use layout::{LayoutConfig, ZoneLayout};
use maps::{ZoneMaps, ZonePage};
use state::{ZoneLimits, ZoneTable};
pub use zns_spec::ZnsKeys;

/// Bytes of RAM of one entry of the host's map.
const ENTRY_BYTES: u64 = 4;

/// Settings of a zoned device and its host.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ZnsConfig {
    /// The addresses that requests have.
    pub interface: ZoneInterface,
    /// Where zones lie.
    pub layout: LayoutConfig,
    /// How its units are erased.
    pub units: UnitKind,
    /// Which units a zone consists of.
    pub mapping: ZoneMapping,
    /// Pages from the start of a zone to that of the next; at least its capacity.
    pub zone_size: u32,
    /// Most zones open and active.
    pub limits: ZoneLimits,
    /// When the units of a zone that was reset are erased.
    pub resets: ResetTime,
    /// How the erases of a zone that the host resets follow one another.
    pub erases: ResetErases,
    /// How fast a zone that the host finishes is filled.
    pub finish_pace: FinishPace,
    /// What the device fills when a zone is finished.
    pub finish: FinishFill,
    /// Logical pages.
    pub user_pages: u32,
    /// Pages of a zone after which the host finishes it; its capacity if it never does.
    pub used_pages: u32,
    /// Streams of the host, at least 1 and at most the zones that may be active.
    pub streams: u8,
    /// Empty zones at or under which the host cleans, at least 2 more than the reserve.
    pub clean_start: usize,
    /// Empty zones that only moves may open: a device that may lose power keeps some for its starts.
    pub reserve: usize,
    /// Which zone it cleans.
    pub victim: ZoneVictim,
    /// How fast.
    pub pace: CleaningPace,
}

/// Device and host.
#[derive(Clone, Serialize, Deserialize)]
pub struct Zns {
    config: ZnsConfig,
    zoned: ZonedDevice,
    maps: ZoneMaps,
    /// The zone that each stream writes.
    current: Vec<Option<u32>>,
    /// The stream that wrote each zone last.
    streams: Vec<u8>,
    /// How many pages the host had written when each zone was full.
    filled_at: Vec<u64>,
    /// Pages that the host has written, those moved included.
    written: u64,
    /// Empty zones, the one empty longest in front.
    empty: VecDeque<u32>,
    cleaning: Option<ZoneCleaning>,
    counters: GcCounters,
}

/// A page that the host appended to a stream.
struct Placed {
    page: PageAddress,
    place: ZonePage,
    sequence: u32,
}

impl Zns {
    /// An empty device. `config.user_pages` must leave the zones that cleaning needs; the check of the spec ensures
    /// that.
    pub fn new(config: ZnsConfig, bad_blocks: &[BlockId]) -> Zns {
        let geometry = config.layout.geometry;
        let good = |plane| {
            let blocks = (0..geometry.blocks_per_plane).map(move |nth| geometry.block(PlaneId(plane), nth));
            blocks.filter(|block| !bad_blocks.contains(block)).collect()
        };
        let mut good: Vec<Vec<BlockId>> = (0..geometry.planes()).map(good).collect();
        let spare_blocks: Vec<BlockId> = match config.units {
            UnitKind::Leaves(_) => good.iter_mut().filter_map(Vec::pop).collect(),
            UnitKind::Blocks | UnitKind::SubBlocks => Vec::new(),
        };
        let layout = ZoneLayout::new(config.layout.clone(), &good);
        let zones = layout.zones();
        let table = ZoneTable::new(zones, [layout.capacity(), config.zone_size], config.limits);
        let rules = DeviceRules {
            units: config.units.clone(),
            mapping: config.mapping,
            resets: config.resets,
            finish: config.finish,
            padding: Lpn(config.user_pages),
        };
        let maps = ZoneMaps::new(&layout, config.user_pages);
        let mut zoned = ZonedDevice::new(layout, table, rules);
        zoned.share_blocks(&spare_blocks);
        Zns {
            maps,
            zoned,
            current: vec![None; usize::from(config.streams)],
            streams: vec![0; zones as usize],
            filled_at: vec![0; zones as usize],
            written: 0,
            empty: (0..zones).collect(),
            cleaning: None,
            counters: GcCounters::default(),
            config,
        }
    }

    /// Stores a share of the logical pages before the first request, from the first one on, in whole rows of zones.
    /// Returns how many pages that are.
    pub fn fill(&mut self, share: f64, mut programmed: impl FnMut(InitialBlock)) -> u32 {
        let layout = &self.zoned.layout;
        let (row_pages, row_zones) = (layout.row_pages(), layout.row_zones());
        let rows = whole_share(u64::from(self.config.user_pages), share) / row_pages;
        let (stride, pages) = (self.config.layout.width, self.config.layout.geometry.pages_per_block);
        for row in 0..rows {
            let zones = row * row_zones..(row + 1) * row_zones;
            let sequence = zones.map(|zone| self.zoned.begin_filled(zone)).last().unwrap_or_default();
            let blocks: Vec<_> = self.zoned.layout.row_fill(row).collect();
            for (block, nth) in blocks {
                self.zoned.note_block_filled(block);
                programmed(InitialBlock { block, first: Lpn(row * row_pages + nth), stride, pages, sequence });
            }
        }
        self.maps.note_fill(rows);
        self.empty.drain(..(rows * row_zones) as usize);
        self.zoned.fill_pool();
        rows * row_pages
    }

    /// The zones: their states, and what happened to them.
    pub fn report(&self) -> ZoneReport {
        let table = &self.zoned.table;
        ZoneReport {
            zones: table.len(),
            capacity: table.capacity(),
            size: table.size(),
            states: table.states(),
            counters: self.zoned.counters,
        }
    }

    /// Appends one page to a stream. `moved`: it was moved, so its zone may be the last empty one.
    #[inline]
    fn append(&mut self, stream: u8, moved: bool, plan: &mut Plan) -> Result<Placed, FtlError> {
        let zone = match self.current[usize::from(stream)] {
            Some(zone) => zone,
            None => self.open(stream, moved, plan)?,
        };
        let work = &mut Work { maps: &self.maps, gc: &mut self.counters, plan };
        let appended = self.zoned.append(zone, work);
        let appended = appended.map_err(|error| FtlError::Zone { zone, command: "Zone Append", error })?;
        self.written += 1;
        let finishes = !appended.fills && appended.offset + 1 == self.config.used_pages;
        if finishes {
            let finished = self.zoned.finish(zone);
            finished.map_err(|error| FtlError::Zone { zone, command: "Finish Zone", error })?;
        }
        if appended.fills || finishes {
            self.current[usize::from(stream)] = None;
            self.filled_at[zone as usize] = self.written;
        }
        let place = ZonePage { zone, offset: appended.offset };
        Ok(Placed { page: appended.page, place, sequence: appended.sequence })
    }

    /// Gives a stream the zone that has been empty longest.
    fn open(&mut self, stream: u8, moved: bool, plan: &mut Plan) -> Result<u32, FtlError> {
        if !moved {
            self.make_room(plan)?;
            // Cleaning may have given the stream a zone, if it has only one.
            if let Some(zone) = self.current[usize::from(stream)] {
                return Ok(zone);
            }
        }
        let zone = self.empty.pop_front().ok_or(FtlError::NoEmptyZone)?;
        self.current[usize::from(stream)] = Some(zone);
        self.streams[zone as usize] = stream;
        Ok(zone)
    }

    fn physical(&self, lpn: Lpn) -> Option<PageAddress> {
        let ZonePage { zone, offset } = self.maps.locate(lpn, &self.zoned.layout)?;
        Some(self.zoned.layout.page(zone, offset))
    }

    /// Logical pages that the host may address.
    pub fn user_pages(&self) -> u32 {
        self.maps.user_pages()
    }
}

impl TranslationLayer for Zns {
    fn write(&mut self, lpn: Lpn, version: u8, plan: &mut Plan) -> Result<(), FtlError> {
        match self.config.interface {
            ZoneInterface::Log => {}
            ZoneInterface::Zones => return self.write_to_zone(lpn, version, plan),
        }
        self.clean_for_write(plan)?;
        let placed = self.append(0, false, plan)?;
        self.maps.place(lpn, version, placed.place, &self.zoned.layout);
        self.zoned.counters.user_pages += 1;
        plan.push(FlashCommand::program(Cause::Host, placed.page, lpn, version, placed.sequence));
        Ok(())
    }

    #[inline]
    fn read(&mut self, lpn: Lpn, version: u8, plan: &mut Plan) -> bool {
        let Some(page) = self.physical(lpn) else { return false };
        plan.push(FlashCommand::read(Cause::Host, page, lpn, version));
        true
    }

    fn locate(&self, lpn: Lpn) -> Option<PageAddress> {
        self.physical(lpn)
    }

    fn trim(&mut self, lpn: Lpn) {
        self.maps.trim(lpn, &self.zoned.layout);
    }

    fn step(&mut self, die: DieId, plan: &mut Plan) -> Result<(), FtlError> {
        self.zoned.idle_step(die, &mut Work { maps: &self.maps, gc: &mut self.counters, plan });
        Ok(())
    }

    /// The host's commands are apart: nothing makes a die erase a zone's blocks without a gap.
    fn conduct(&self) -> Conduct {
        Conduct {
            spans_dies: true,
            holds_die: false,
            moves_between_dies: true,
            works_when_idle: self.zoned.erases_when_idle(),
            ..Conduct::default()
        }
    }

    crate::seam::capabilities!(figures, memory, look_ahead, zone_operations);

    #[inline]
    fn host_zones(&mut self) -> Option<&mut dyn HostZones> {
        match self.config.interface {
            ZoneInterface::Log => None,
            ZoneInterface::Zones => Some(self),
        }
    }
}

impl Figures for Zns {
    fn zones(&self) -> Option<ZoneReport> {
        Some(self.report())
    }

    fn counters(&self) -> &GcCounters {
        &self.counters
    }

    fn counters_mut(&mut self) -> &mut GcCounters {
        &mut self.counters
    }

    fn reset_counters(&mut self) {
        self.counters = GcCounters::default();
        self.zoned.counters = crate::seam::ZoneCounters::default();
    }
}

impl MemoryUse for Zns {
    fn map_ram_bytes(&self) -> u64 {
        u64::from(self.config.user_pages) * ENTRY_BYTES
    }

    fn state_bytes(&self) -> u64 {
        let columns = size_of_val(&self.streams[..]) + size_of_val(&self.filled_at[..]);
        self.maps.state_bytes() + self.zoned.state_bytes() + columns as u64
    }
}

impl LookAhead for Zns {
    fn expect(&self, lpn: Lpn) {
        self.maps.expect(lpn);
    }
}

impl ZoneOperations for Zns {
    fn next_operation(&mut self, plan: &mut Plan) -> Option<ZoneOperation> {
        self.zoned.next_operation(&mut Work { maps: &self.maps, gc: &mut self.counters, plan })
    }
}
