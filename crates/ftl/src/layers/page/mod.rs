//! Page-level translation layer with greedy and other garbage collection.
//!
//! Built: one map entry a logical page, in RAM or in flash (`map`); writes go to the planes in turn, in a static order;
//! each plane has open blocks of its own and reclaims for itself when its free blocks run low
//! (`collect`). Reclaiming stays inside the plane, so it can use copyback, and all commands of one
//! write are on one die.
//!
//! A plane that holds nearly as much valid data as it can while keeping its free blocks is passed
//! over by the writes, so that a victim with an invalid page always exists.
//!
//! Both maps hold differences from the initial fill (`map::page_maps`), so that a device of terabytes starts at
//! the cost of its blocks, not of its pages.

mod capabilities;
mod collect;
mod map;
mod open_pages;
mod recovery;
mod spec;
mod streams;

use pumice_types::{BlockId, Cause, DieId, FlashCommand, Lpn, PageAddress, PlaneId, UnitSet, bits};
use serde::{Deserialize, Serialize};

use crate::blocks::block_pool::BlockPool;
use crate::blocks::reclaim_units::UnitId;
use crate::blocks::wear::Wear;
use crate::plan::{FtlError, GcCounters, Plan};
use crate::seam::{Conduct, GatheredUnits, Homes, MapLoads, Proofs, Streams, TranslationLayer};
use collect::neighbours::Disturbs;
pub use collect::neighbours::Neighbours;
use collect::plane::{Plane, WriteStream};
pub use collect::stripe::{EraseGroup, Stripes};
pub use collect::units::EraseUnits;
use collect::units::FreeUnits;
pub use map::cached_map::CachedMap;
use map::cached_map::{CACHED_ENTRY_BYTES, STORED_ENTRY_BYTES, Translation};
pub use map::map_log::LogShape;
use map::map_log::MapLog;
use map::page_maps::PageMaps;
use map::trim_map::TrimMap;
pub use map::trim_map::TrimShape;
use open_pages::OpenPages;
pub use spec::config::{Allocation, GcMode, GcPlanes, HotCold, PageConfig};
pub use spec::page_spec::{Leveling, OpenBlocks, PageKeys, Separation};
pub use streams::handles::{CollectedPlace, Handles, Isolation};
use streams::heat::RecentWrites;

/// The translation layer's state.
#[derive(Clone, Serialize, Deserialize)]
pub struct PageFtl {
    config: PageConfig,
    maps: PageMaps,
    pool: BlockPool,
    free: FreeUnits,
    planes: Vec<Plane>,
    /// Pages in which mapping units gather, if units are smaller than pages.
    gathering: Option<Box<OpenPages>>,
    plane_pages_max: u64,
    next_plane: usize,
    translation: Option<Translation>,
    /// The map and its journal in flash, if the device recovers from them.
    log: Option<Box<MapLog>>,
    /// What is trimmed, if the device recovers from spare areas.
    trims: Option<Box<TrimMap>>,
    recent: Option<RecentWrites>,
    wear: Option<Wear>,
    counters: GcCounters,
    /// Disturbs of every erase unit, where units disturb each other.
    disturbs: Disturbs,
    /// A bit a block: the chip reported that its next erase fails. Empty until the first such report.
    failing: Vec<u64>,
    proofs: Proofs,
}

impl PageFtl {
    /// An empty device. `config.user_pages` must fit its planes; the check of the spec ensures that.
    pub fn new(config: PageConfig, bad_blocks: &[BlockId]) -> PageFtl {
        let geometry = config.geometry;
        let mut pool = BlockPool::new(&geometry, bad_blocks);
        if config.wear_leveling.dynamic {
            pool = pool.by_wear();
        }
        let mut free = FreeUnits::new(geometry, config.units.pages.units(), &pool);
        let log = config.log.map(|shape| MapLog::new(shape, &geometry, config.user_pages, &pool, &config.order));
        log.iter().flat_map(|log| &log.blocks).for_each(|&block| free.withdraw(block, &mut pool));
        let good = (0..geometry.planes()).map(|p| pool.free_blocks(PlaneId(p)) as u32).min().unwrap_or(0);
        PageFtl {
            maps: PageMaps::new(
                geometry,
                [u32::from(config.data_pages()), config.log.map_or(0, |log| log.rows)],
                config.logical_pages(),
                &config.order,
            ),
            translation: config.cached_map.map(|map| Translation::new(&config, map)),
            log: log.map(Box::new),
            trims: config.trims.map(|shape| Box::new(TrimMap::new(shape, config.user_pages))),
            free,
            pool,
            planes: (0..geometry.planes()).map(|plane| Plane::new(config.victims(plane))).collect(),
            gathering: OpenPages::new(&geometry).map(Box::new),
            plane_pages_max: config.plane_pages_max(good),
            next_plane: 0,
            recent: match config.hot_cold {
                HotCold::Recency { window } => Some(RecentWrites::new(config.logical_pages(), window)),
                HotCold::Mixed | HotCold::Copies | HotCold::Placed { .. } | HotCold::Handles(_) => None,
            },
            wear: Wear::new(&geometry, config.wear_leveling),
            counters: GcCounters::default(),
            failing: Vec::new(),
            proofs: Proofs::default(),
            disturbs: Disturbs::new(&geometry, &config.units),
            config,
        }
    }

    /// Free erase units of a plane that data may be written to.
    #[inline]
    fn free_units(&self, plane: PlaneId) -> usize {
        let others = self.translation.as_ref().map_or(0, |translation| translation.blocks_in_pool(plane));
        self.free.in_plane(plane) - others
    }

    /// Notes that the map entry of `lpn` changed.
    #[inline]
    fn note_change(&mut self, lpn: Lpn) {
        if let Some(translation) = &mut self.translation {
            // Where trim pages lie is always in RAM.
            if lpn.0 < self.config.user_pages {
                translation.change(lpn);
            }
        }
        // The place of a unit that gathers counts when its page is programmed.
        if let Some(log) = self.log.as_mut().filter(|_| self.gathering.is_none()) {
            log.note_change(lpn);
        }
    }

    /// Notes that the host gave up the content of `page`.
    #[inline]
    fn invalidate(&mut self, page: PageAddress) {
        self.maps.invalidate(page);
        let geometry = &self.config.geometry;
        let plane = &mut self.planes[geometry.plane_of(page.block).index()];
        let unit = self.config.units.pages.unit_of(page.page);
        plane.victims.invalidate(UnitId { block: geometry.index_in_plane(page.block), unit }, plane.now);
        plane.valid_pages -= 1;
    }

    /// Maps `lpn` to a page that is about to be programmed.
    #[inline]
    fn place(&mut self, lpn: Lpn, page: PageAddress, plane: PlaneId) {
        self.maps.place(lpn, page);
        self.planes[plane.index()].now += 1;
    }

    /// The plane of a write: the page's own, or the next in turn that can take another valid page.
    #[inline]
    fn choose_plane(&mut self, lpn: Lpn) -> Result<PlaneId, FtlError> {
        if self.config.geometry.units_per_page > 1
            && let Some(plane) = self.plane_of_unit(lpn)
        {
            return Ok(plane);
        }
        if self.config.allocation == Allocation::Static {
            return Ok(self.config.order[lpn.index() % self.config.order.len()]);
        }
        for _ in 0..self.config.order.len() {
            let plane = self.config.order[self.next_plane];
            self.next_plane += 1;
            if self.next_plane == self.config.order.len() {
                self.next_plane = 0;
            }
            let state = &self.planes[plane.index()];
            if state.valid_pages < self.plane_pages_max.saturating_sub(state.retired_pages(&self.config.geometry)) {
                return Ok(plane);
            }
        }
        Err(self.no_free_block(self.config.order[self.next_plane]))
    }

    /// A plane that cannot go on, and why.
    fn no_free_block(&self, plane: PlaneId) -> FtlError {
        match self.planes[plane.index()].retired {
            0 => FtlError::NoFreeBlock { plane: plane.0 },
            retired => FtlError::WornOut { plane: plane.0, retired },
        }
    }

    /// Appends the erase of units that hold nothing any more, and gives them back; a block whose erase fails
    /// is never used again.
    fn erase(&mut self, block: BlockId, units: UnitSet, plan: &mut Plan) {
        self.force_out_before_erase(block, plan);
        self.write_down_before_erase(plan);
        let first = plan.commands.len();
        match &self.config.units.neighbours {
            _ if self.free.is_whole(units) => plan.push(FlashCommand::erase(block)),
            Neighbours::Leaves(rule) => {
                units.partial_blocks(rule.tree).for_each(|pb| plan.push(FlashCommand::partial_erase(block, pb)));
            }
            Neighbours::Isolated | Neighbours::SharedLines(_) => {
                plan.push(FlashCommand::sub_block_erase(block, units));
            }
        }
        self.gather(self.config.geometry.plane_of(block), first, plan);
        let blank = self.free.of(block);
        self.note_disturb(block, units, blank);
        let erases = self.wear.as_mut().map_or(0, |wear| wear.note_erase(block));
        if !self.failing.is_empty() && bits::get(&self.failing, block.index()) {
            self.planes[self.config.geometry.plane_of(block).index()].retired += 1;
            return;
        }
        self.free.give_back(block, units.without(blank), erases, &mut self.pool);
    }

    /// Where the current page of `lpn` is.
    #[inline]
    fn find(&self, lpn: Lpn) -> Option<PageAddress> {
        self.maps.locate(lpn, &self.pool)
    }

    /// Translates what was planned from the `first` command on, if blocks of several planes are one here.
    #[inline]
    fn translate(&self, plan: &mut Plan, first: usize) {
        if let Some(stripes) = &self.config.stripes {
            stripes.translate(plan, first);
        }
    }

    /// Where the chips hold what the layer has in a place; `None` for what only the controller's RAM holds.
    #[inline]
    fn on_chips(&self, place: PageAddress) -> Option<PageAddress> {
        let held = match &self.gathering {
            Some(gathering) => gathering.source_of(place, self.config.geometry.plane_of(place.block))?,
            None => place,
        };
        Some(self.in_stripe(held))
    }

    /// A place as the chips know it, if blocks of several planes are one here.
    #[inline]
    fn in_stripe(&self, place: PageAddress) -> PageAddress {
        self.config.stripes.as_ref().map_or(place, |stripes| stripes.unit(place))
    }

    /// Appends the commands that store a version of `lpn`.
    #[inline]
    fn write_page(&mut self, lpn: Lpn, version: u8, stream: u8, plan: &mut Plan) -> Result<(), FtlError> {
        let plane = self.choose_plane(lpn)?;
        let stream = self.stream_of_write(lpn, plane, stream)?;
        self.count_written(stream);
        if let Some(trims) = &mut self.trims {
            trims.note_write(lpn);
        }
        let mark = self.config.hot_cold.mark(stream);
        self.store(lpn, (plane, stream), plan, |target, sequence, plan| {
            plan.push(FlashCommand::program(Cause::Host, target, lpn, version, sequence).with_mark(mark));
            plan.complete_here();
        })
    }

    /// Places a logical page in a stream of a plane; `program` appends its program, of a page in a block with this
    /// sequence number.
    #[inline]
    fn store(
        &mut self,
        lpn: Lpn,
        (plane, stream): (PlaneId, WriteStream),
        plan: &mut Plan,
        program: impl FnOnce(PageAddress, u32, &mut Plan),
    ) -> Result<(), FtlError> {
        let collect_behind = self.make_room(plane, stream, plan)?;
        let free_before = collect_behind.then(|| self.free_units(plane));
        let was_open = self.planes[plane.index()].open[stream.index()].is_some();
        let (target, sequence) = self.next_page(plane, stream, plan)?;
        self.proofs.prove(target.block, plan);
        debug_assert!(was_open || self.keeps_room(plane), "a block opened for the host leaves copies their room");
        // Reclaiming may have moved the old copy, so it is looked up only now.
        let old = self.find(lpn);
        if let Some(old) = old {
            self.invalidate(old);
        }
        self.place(lpn, target, plane);
        self.planes[plane.index()].valid_pages += 1;
        self.note_change(lpn);
        let first = plan.commands.len();
        program(target, sequence, plan);
        self.gather(plane, first, plan);
        if self.config.recovers {
            self.note_replaced(old, target);
        }
        self.end_page(plane, stream, target.page, plan);
        if let Some(free) = free_before {
            let taken = free - self.free_units(plane);
            self.collect(plane, taken, plan)?;
        }
        match self.config.gc_mode {
            GcMode::Paced => self.pace(plane, plan),
            GcMode::Background | GcMode::Preemptible if self.config.gc_write_tokens > 0 => {
                self.spend_token(plane, plan)
            }
            GcMode::Blocking | GcMode::Foreground | GcMode::Background | GcMode::Preemptible => Ok(()),
        }
    }

    /// Logical pages that the host may address.
    pub fn user_pages(&self) -> u32 {
        self.config.user_pages
    }
}

impl TranslationLayer for PageFtl {
    /// Appends the commands that store version `version` of `lpn`.
    fn write(&mut self, lpn: Lpn, version: u8, plan: &mut Plan) -> Result<(), FtlError> {
        self.write_to_stream(lpn, version, 0, plan)
    }

    /// Appends the read of `lpn`; `false` if it was never written, or trimmed since.
    fn read(&mut self, lpn: Lpn, version: u8, plan: &mut Plan) -> bool {
        let Some(place) = self.locate_stored(lpn) else { return false };
        if let Some(page) = self.on_chips(place) {
            plan.push(FlashCommand::read(Cause::Host, page, lpn, version));
        }
        true
    }

    /// Where the current page of `lpn` is on the chips, or will be.
    #[inline]
    fn locate(&self, lpn: Lpn) -> Option<PageAddress> {
        let place = self.locate_stored(lpn)?;
        Some(self.on_chips(place).unwrap_or_else(|| self.in_stripe(place)))
    }

    /// Gives `lpn` up: its page is invalid, and it reads as never written.
    fn trim(&mut self, lpn: Lpn) {
        if self.trims.is_some() {
            self.trim_later(lpn);
        } else if let Some(page) = self.find(lpn) {
            self.invalidate(page);
            self.maps.forget(lpn);
            self.note_change(lpn);
            if let Some(log) = &mut self.log {
                if self.gathering.is_some() {
                    log.note_change(lpn);
                }
                log.note_trim();
            }
        }
    }

    fn step(&mut self, die: DieId, plan: &mut Plan) -> Result<(), FtlError> {
        let first = plan.commands.len();
        self.collect_step(die, plan)?;
        // A unit that goes into a page with others may need no command.
        while self.gathering.is_some() && plan.commands.len() == first && self.has_job(die) {
            self.collect_step(die, plan)?;
        }
        self.translate(plan, first);
        Ok(())
    }

    /// Pages of the log and trim pages may lie on other dies than the access behind which they are written.
    fn conduct(&self) -> Conduct {
        Conduct {
            spans_dies: self.translation.is_some()
                || self.log.is_some()
                || self.trims.is_some()
                || self.gathering.is_some(),
            holds_die: self.config.gc_mode == GcMode::Blocking,
            works_when_idle: self.config.gc_mode.works_in_steps(),
            ..Conduct::default()
        }
    }

    /// Planes of their own where the page's number names its plane, and where nothing is kept for all planes together.
    fn homes(&self) -> Option<Homes> {
        let is_shared = self.translation.is_some()
            || self.log.is_some()
            || self.trims.is_some()
            || self.gathering.is_some()
            || self.recent.is_some()
            || self.wear.is_some()
            || self.config.stripes.is_some()
            || self.config.decider.is_some();
        let has_homes = self.config.allocation == Allocation::Static && !is_shared;
        has_homes.then(|| Homes { unit_pages: 1, order: self.config.order.clone() })
    }

    crate::seam::capabilities!(figures, memory, look_ahead, streams, durable_trims, retirement);

    #[inline]
    fn open_pages(&mut self) -> Option<&mut dyn GatheredUnits> {
        self.gathering.as_ref()?;
        Some(self)
    }

    #[inline]
    fn map_loads(&mut self) -> Option<&mut dyn MapLoads> {
        self.translation.as_ref()?;
        Some(self)
    }
}
