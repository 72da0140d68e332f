//! What a page-level layer offers beyond reads and writes.

use pumice_types::{BlockId, Lpn, PlaneId, RequestKind, bits};

use super::PageFtl;
use super::collect::stripe::Stripes;
use super::map::cached_map::{STORED_ENTRY_BYTES, Translation};
use super::streams::heat::RecentWrites;
use crate::blocks::reclaim_units::UnitId;
use crate::blocks::wear::Wear;
use crate::plan::{FtlError, GcCounters, Plan};
use crate::seam::{DurableTrims, Figures, FreshRoom, LogSize, LookAhead, MapLoads, MemoryUse, Retirement, Streams};

impl Figures for PageFtl {
    /// What garbage collection did so far.
    fn counters(&self) -> &GcCounters {
        &self.counters
    }

    fn counters_mut(&mut self) -> &mut GcCounters {
        &mut self.counters
    }

    fn log_size(&self) -> Option<LogSize> {
        let log = self.log.as_ref().map(|log| log.size());
        match &self.trims {
            Some(trims) => Some(LogSize { ram_bytes: trims.ram_bytes(), ..log.unwrap_or_default() }),
            None => log,
        }
    }

    fn open_pages_of(&self, stream: u8) -> u64 {
        self.open_pages(stream)
    }

    fn fresh_room(&self) -> Option<FreshRoom> {
        let before = |plane| self.free_units(PlaneId(plane)).saturating_sub(self.start()) as u64;
        let blocks: u64 = (0..self.config.geometry.planes()).map(before).sum();
        let data_pages = self.config.data_pages();
        let joined_planes = self.config.stripes.as_ref().map_or(1, Stripes::members);
        let pages_per_block = u32::from(data_pages) / joined_planes;
        Some(FreshRoom { pages: blocks * u64::from(data_pages), pages_per_block, joined_planes })
    }
}

impl MemoryUse for PageFtl {
    /// RAM of the map: four bytes a logical page, or what the cache and its directory take.
    fn map_ram_bytes(&self) -> u64 {
        match &self.translation {
            Some(translation) => translation.ram_bytes(),
            None => {
                u64::from(self.config.user_pages) * u64::from(STORED_ENTRY_BYTES)
                    + self.log_size().unwrap_or_default().ram_bytes
            }
        }
    }

    /// Bytes of this struct's columns.
    fn state_bytes(&self) -> u64 {
        self.maps.state_bytes()
            + self.free.state_bytes()
            + self.planes.iter().map(|plane| plane.victims.state_bytes()).sum::<u64>()
            + self.disturbs.state_bytes()
            + self.translation.as_ref().map_or(0, Translation::state_bytes)
            + self.log.as_ref().map_or(0, |log| log.state_bytes())
            + self.trims.as_ref().map_or(0, |trims| trims.ram_bytes())
            + self.recent.as_ref().map_or(0, RecentWrites::state_bytes)
            + self.wear.as_ref().map_or(0, Wear::state_bytes)
    }
}

impl LookAhead for PageFtl {
    /// Prefetches the map entry of `lpn`, which the host will access; no effect on results.
    #[inline]
    fn expect(&self, lpn: Lpn) {
        self.maps.expect(lpn);
    }

    /// Prefetches what the write of `lpn` will invalidate, once its map entry is in the cache; no effect on results.
    #[inline]
    fn expect_overwrite(&self, lpn: Lpn) {
        if let Some(block) = self.maps.expect_overwrite(lpn, &self.pool) {
            let geometry = &self.config.geometry;
            let plane = &self.planes[geometry.plane_of(block).index()];
            plane.victims.expect(UnitId { block: geometry.index_in_plane(block), unit: 0 });
        }
    }
}

impl Streams for PageFtl {
    #[inline]
    fn write_to_stream(&mut self, lpn: Lpn, version: u8, stream: u8, plan: &mut Plan) -> Result<(), FtlError> {
        let first = plan.commands.len();
        self.write_page(lpn, version, stream, plan)?;
        self.translate(plan, first);
        Ok(())
    }
}

impl DurableTrims for PageFtl {
    fn keep_trims(&mut self, plan: &mut Plan) -> Result<(), FtlError> {
        self.write_down_if_full(plan);
        self.write_trims_if_full(plan)
    }

    fn flush_trims(&mut self, again: bool, plan: &mut Plan) -> Result<(), FtlError> {
        self.write_down_trims(again, plan);
        self.flush_trim_pages(again, plan)
    }
}

impl MapLoads for PageFtl {
    #[inline]
    fn load_map(&mut self, lpn: Lpn, _kind: RequestKind, plan: &mut Plan) -> Result<(), FtlError> {
        self.load_entry(lpn, plan)
    }
}

impl Retirement for PageFtl {
    fn note_failing(&mut self, block: BlockId) {
        let block = self.config.stripes.as_ref().map_or(block, |stripes| stripes.stripe_of(block));
        if self.failing.is_empty() {
            self.failing = vec![0; bits::words_for(self.config.geometry.blocks() as usize)];
        }
        bits::set(&mut self.failing, block.index());
    }
}
