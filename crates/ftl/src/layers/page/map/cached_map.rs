//! A page map that lies in flash and is cached on demand.
//!
//! After Gupta, Kim and Urgaonkar, *DFTL: A Flash Translation Layer Employing Demand-based Selective
//! Caching of Page-level Address Mappings*, ASPLOS'09, section 3: translation pages in flash, a
//! directory of them in RAM (GTD), single entries cached (CMT), batched write-back. Deviations:
//! plain LRU in place of segmented; entries that collection moves enter the cache as the first to go
//! (there: translation pages are updated at once), so a cache with room costs no write; translation
//! pages keep to their plane, in a fixed number of blocks of their own, so that writing one back
//! never makes host data move.
//!
//! A translation page takes a whole page of flash, also where mapping units are smaller: it is known by the first of them.
//! Its block is erased whole, also where parts of blocks of data are: blocks that are free in all their parts are then set
//! aside for translation pages.
//!
//! Entries beyond the budget, which collection leaves behind, are a debt that the next access pays
//! before anything else ([`PageFtl::load_map`]). Commands of that payment lie on the dies of the
//! translation pages.

use std::collections::VecDeque;

use pumice_types::{BlockId, Cause, FlashCommand, Lpn, PageAddress, PlaneId, TagFormat, UnitSet};
use serde::{Deserialize, Serialize};

use super::map_cache::{Eviction, MapCache};
use crate::blocks::victims::ClosedBlocks;
use crate::blocks::victims::greedy::Greedy;
use crate::layers::page::collect::plane::{Open, WriteStream};
use crate::layers::page::{PageConfig, PageFtl};
use crate::plan::{FtlError, InitialBlock, Plan};

/// Bytes of an entry in the cache: logical and physical page.
pub const CACHED_ENTRY_BYTES: u64 = 8;

/// Bytes of an entry in a translation page: the physical page.
pub const STORED_ENTRY_BYTES: u32 = 4;

/// Blocks for translation pages beyond those that they fill: one open, one free to copy into, one in
/// which invalid pages gather.
const MAP_BLOCKS_BEYOND: u32 = 3;

/// A map of which only a part is in RAM.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CachedMap {
    /// Entries in RAM.
    pub entries: usize,
    /// Entries of a translation page.
    pub entries_per_page: u32,
    /// Blocks of each plane that translation pages may occupy; see [`CachedMap::blocks_for`].
    pub blocks_per_plane: u32,
}

impl CachedMap {
    /// Blocks that a plane sets aside for `pages` translation pages, of which a block takes `data_pages`: a quarter more
    /// than they fill, and three.
    pub fn blocks_for(pages: u32, data_pages: u16) -> u32 {
        let filled = pages.div_ceil(u32::from(data_pages));
        filled + filled.div_ceil(4) + MAP_BLOCKS_BEYOND
    }
}

/// Where a block that is opened comes from.
pub(in crate::layers::page) enum BlockSource {
    /// This one was set aside for translation pages.
    SetAside(BlockId),
    /// Any of the pool will do.
    Pool,
}

/// What a plane keeps of its translation pages.
#[derive(Clone, Serialize, Deserialize)]
struct PlaneShare {
    victims: ClosedBlocks,
    /// Free blocks that belong to translation pages, with those that are set aside.
    free: u32,
    /// Free blocks that are set aside; the others are any of the pool.
    aside: VecDeque<BlockId>,
}

/// The map in flash, and its part in RAM.
#[derive(Clone, Serialize, Deserialize)]
pub(in crate::layers::page) struct Translation {
    cache: MapCache,
    /// Version of each translation page.
    versions: Vec<u8>,
    tags: TagFormat,
    planes: Vec<PlaneShare>,
}

impl Translation {
    /// Translation pages of an empty device, none written yet.
    pub(in crate::layers::page) fn new(config: &PageConfig, map: CachedMap) -> Translation {
        let geometry = &config.geometry;
        let pages = config.translation_pages();
        let in_pool = if config.erases_parts() { 0 } else { map.blocks_per_plane };
        let share = || PlaneShare {
            victims: ClosedBlocks::new(Greedy.into(), geometry.blocks_per_plane, geometry.pages_per_block, 0),
            free: in_pool,
            aside: VecDeque::new(),
        };
        Translation {
            cache: MapCache::new(map.entries, map.entries_per_page, config.user_pages),
            versions: vec![0; pages as usize],
            tags: TagFormat::new(config.logical_pages()),
            planes: (0..geometry.planes()).map(|_| share()).collect(),
        }
    }

    /// Free blocks in the pool of `plane` that are not for data.
    #[inline]
    pub(in crate::layers::page) fn blocks_in_pool(&self, plane: PlaneId) -> usize {
        let share = &self.planes[plane.index()];
        share.free as usize - share.aside.len()
    }

    /// Sets these blocks of `plane`, which are free, aside for translation pages.
    pub(in crate::layers::page) fn set_aside(&mut self, plane: PlaneId, blocks: Vec<BlockId>) {
        let share = &mut self.planes[plane.index()];
        share.free += blocks.len() as u32;
        share.aside.extend(blocks);
    }

    fn version_of(&self, page: u32) -> u8 {
        self.versions[page as usize]
    }

    /// Notes that the entry of `lpn` changed.
    #[inline]
    pub(in crate::layers::page) fn change(&mut self, lpn: Lpn) {
        self.cache.change(lpn);
    }

    /// RAM of cached entries and of the directory.
    pub(in crate::layers::page) fn ram_bytes(&self) -> u64 {
        let directory = self.versions.len() as u64 * u64::from(STORED_ENTRY_BYTES);
        self.cache.entries_max() as u64 * CACHED_ENTRY_BYTES + directory
    }

    /// Bytes of the simulator's state.
    pub(in crate::layers::page) fn state_bytes(&self) -> u64 {
        self.cache.state_bytes() + self.versions.len() as u64
    }

    /// Opens a block for translation pages. `None` if they have none left.
    pub(in crate::layers::page) fn open(&mut self, plane: PlaneId) -> Option<BlockSource> {
        let share = &mut self.planes[plane.index()];
        share.free = share.free.checked_sub(1)?;
        Some(share.aside.pop_front().map_or(BlockSource::Pool, BlockSource::SetAside))
    }

    /// Makes a full block of translation pages a candidate for reclaiming.
    pub(in crate::layers::page) fn close(&mut self, plane: PlaneId, index: u32, valid: u16, now: u64) {
        self.planes[plane.index()].victims.close(index, valid, now);
    }
}

impl PageFtl {
    /// Appends the map commands that come before an access to `lpn`. First, write-backs that bring the cache back
    /// into its budget after a collection; no access waits for them. Then, if the entry is not cached, the read of
    /// its translation page, which completes the plan. The plan must be empty before. Its commands may be on several
    /// dies, in order on each die.
    ///
    /// # Errors
    /// [`FtlError`] if translation pages find no free block, which their reserve rules out.
    pub(in crate::layers::page) fn load_entry(&mut self, lpn: Lpn, plan: &mut Plan) -> Result<(), FtlError> {
        let Some(translation) = &mut self.translation else { return Ok(()) };
        if translation.cache.touch(lpn) {
            self.counters.map_hits += 1;
            plan.complete_here();
            return self.make_map_room(0, plan);
        }
        self.counters.map_misses += 1;
        self.make_map_room(1, plan)?;
        let Some(map) = self.config.cached_map else { return Ok(()) };
        let page = lpn.0 / map.entries_per_page;
        self.read_translation_page(page, plan);
        if let Some(translation) = &mut self.translation {
            translation.cache.load(lpn);
        }
        Ok(())
    }

    /// Evicts entries until `more` entries fit into the budget.
    fn make_map_room(&mut self, more: usize, plan: &mut Plan) -> Result<(), FtlError> {
        while let Some(translation) = &mut self.translation {
            if translation.cache.excess(more) == 0 {
                break;
            }
            if let Eviction::WriteBack(page) = translation.cache.evict() {
                self.write_back(page, plan)?;
            }
        }
        Ok(())
    }

    /// Which translation page a logical page is.
    fn page_of_map(&self, lpn: Lpn) -> u32 {
        lpn.0 - self.config.user_pages
    }

    fn translation_lpn(&self, page: u32) -> Lpn {
        Lpn(self.config.user_pages + page)
    }

    fn read_translation_page(&self, page: u32, plan: &mut Plan) {
        let lpn = self.translation_lpn(page);
        if let (Some(from), Some(translation)) = (self.find(lpn), &self.translation) {
            plan.push(FlashCommand::read(Cause::Map, from, lpn, translation.versions[page as usize]));
        }
    }

    /// Writes translation page `page` anew, in its plane, with all its changed entries.
    fn write_back(&mut self, page: u32, plan: &mut Plan) -> Result<(), FtlError> {
        let plane = self.plane_of_translation_page(page);
        self.make_translation_room(plane, plan)?;
        self.read_translation_page(page, plan);
        let lpn = self.translation_lpn(page);
        let (target, sequence) = self.next_page_of_map(plane, plan)?;
        if let Some(old) = self.find(lpn) {
            self.invalidate_translation(plane, old);
        }
        self.maps.place(lpn, target);
        if let Some(translation) = &mut self.translation {
            let version = translation.tags.next(translation.versions[page as usize]);
            translation.versions[page as usize] = version;
            translation.cache.written_back(page);
            let program = FlashCommand::program(Cause::Map, target, lpn, version, sequence);
            plan.push_whole_page(program, self.config.geometry.units_per_page);
        }
        self.counters.map_write_backs += 1;
        self.end_page_of_map(plane, target, plan);
        Ok(())
    }

    /// The next page of flash for translation pages, in a block that is erased, and its sequence number.
    fn next_page_of_map(&mut self, plane: PlaneId, plan: &mut Plan) -> Result<(PageAddress, u32), FtlError> {
        let (target, sequence) = self.next_page(plane, WriteStream::MAP, plan)?;
        if let Some(open) = &mut self.planes[plane.index()].open[WriteStream::MAP.index()] {
            open.next = u32::from(target.page + self.config.geometry.units_per_page);
        }
        self.proofs.prove(target.block, plan);
        Ok((target, sequence))
    }

    fn end_page_of_map(&mut self, plane: PlaneId, page: PageAddress, plan: &mut Plan) {
        let last = page.page + self.config.geometry.units_per_page - 1;
        self.end_page(plane, WriteStream::MAP, last, plan);
    }

    /// Writes all translation pages: the whole map of a device that recovers, which has found it without them.
    pub(in crate::layers::page) fn write_map_anew(&mut self, plan: &mut Plan) -> Result<(), FtlError> {
        (0..self.config.translation_pages()).try_for_each(|page| self.write_back(page, plan))
    }

    /// Translation pages are spread over the planes in the order of the writes.
    fn plane_of_translation_page(&self, page: u32) -> PlaneId {
        let order = &self.config.order;
        order[page as usize % order.len()]
    }

    fn invalidate_translation(&mut self, plane: PlaneId, page: PageAddress) {
        self.maps.invalidate(page);
        let index = self.config.geometry.index_in_plane(page.block);
        let now = self.planes[plane.index()].now;
        if let Some(translation) = &mut self.translation {
            translation.planes[plane.index()].victims.invalidate(index, now);
        }
    }

    /// Reclaims a block of translation pages if the next one would take the plane's last free one.
    fn make_translation_room(&mut self, plane: PlaneId, plan: &mut Plan) -> Result<(), FtlError> {
        let now = self.planes[plane.index()].now;
        let Some(translation) = &mut self.translation else { return Ok(()) };
        let share = &mut translation.planes[plane.index()];
        if self.planes[plane.index()].open[WriteStream::MAP.index()].is_some() || share.free > 1 {
            return Ok(());
        }
        let Some(victim) = share.victims.choose(now) else { return Ok(()) };
        share.victims.remove(victim);
        let victim = self.config.geometry.block(plane, victim);
        self.empty_translation_block(plane, victim, plan)?;
        self.erase(victim, UnitSet::first(self.config.units.pages.units()), plan);
        self.counters.map_erases += 1;
        if let Some(translation) = &mut self.translation {
            if self.config.erases_parts() {
                self.free.withdraw(victim, &mut self.pool);
                translation.set_aside(plane, vec![victim]);
            } else {
                translation.planes[plane.index()].free += 1;
            }
        }
        Ok(())
    }

    fn empty_translation_block(&mut self, plane: PlaneId, victim: BlockId, plan: &mut Plan) -> Result<(), FtlError> {
        while let Some(page) = self.maps.next_valid(victim, 0) {
            let source = PageAddress::new(victim, page);
            let lpn = self.maps.owner(source, &self.pool);
            let (target, sequence) = self.next_page_of_map(plane, plan)?;
            self.maps.invalidate(source);
            self.maps.place(lpn, target);
            self.copy_of_map([source, target], lpn, sequence, plan);
            self.end_page_of_map(plane, target, plan);
        }
        Ok(())
    }

    /// Copies a translation page: where a page has several mapping units, by a read and a program.
    fn copy_of_map(&self, [source, target]: [PageAddress; 2], lpn: Lpn, sequence: u32, plan: &mut Plan) {
        let units = self.config.geometry.units_per_page;
        if units == 1 {
            let mut copy = FlashCommand::copy(source, target, lpn, sequence);
            copy.cause = Cause::Map;
            return plan.push(copy);
        }
        let version = self.translation.as_ref().map_or(0, |translation| translation.version_of(self.page_of_map(lpn)));
        plan.push(FlashCommand::read(Cause::Map, source, lpn, version));
        plan.push_whole_page(FlashCommand::program(Cause::Map, target, lpn, version, sequence), units);
    }

    /// Writes all translation pages of an empty map, page by page over the planes. Part of the
    /// initial fill; costs as much as there are translation pages. `programmed` hears of each block, where pages have several
    /// mapping units of each page.
    pub(in crate::layers::page) fn fill_map(
        &mut self,
        mut programmed: impl FnMut(InitialBlock),
    ) -> Result<(), FtlError> {
        let (planes, units) = (self.config.order.len() as u32, self.config.geometry.units_per_page);
        let pages = u32::from(self.config.data_pages() / units);
        let total = self.config.translation_pages();
        for turn in 0..planes {
            let plane = self.config.order[turn as usize];
            let count = (total + planes - 1 - turn) / planes;
            for start in (0..count).step_by(pages as usize) {
                let filled = pages.min(count - start) as u16;
                let open = self.open_block(plane, WriteStream::MAP)?;
                let (block, sequence) = (open.block, open.sequence);
                let first = self.translation_lpn(turn + start * planes);
                for page in 0..filled {
                    self.maps.place(Lpn(first.0 + u32::from(page) * planes), PageAddress::new(block, page * units));
                }
                let open = Open { next: u32::from(filled * units), ..open };
                self.planes[plane.index()].open[WriteStream::MAP.index()] = Some(open);
                self.close_if_full(plane, WriteStream::MAP, filled * units - 1);
                programmed(InitialBlock { block, first, stride: planes, pages: filled, sequence });
            }
        }
        Ok(())
    }
}
