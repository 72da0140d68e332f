//! Page-level translation layer with greedy and other garbage collection.
//!
//! Built: one map entry a logical page, in RAM; writes go to the planes in turn, in a static order;
//! each plane has an open block for the host and one for garbage collection, and reclaims for itself
//! when its free blocks are at or under the start threshold, victim by victim until they are above
//! the stop threshold. Reclaiming stays inside the plane, so it can use copyback, and all commands
//! of one write are on one die.
//!
//! A plane that holds nearly as much valid data as it can while keeping its free blocks is passed
//! over by the writes, so that a victim with an invalid page always exists.
//!
//! Both maps hold differences from the initial fill (entry 0 means "as filled"), so that a device
//! of terabytes starts at the cost of its blocks, not of its pages.

use pumice_types::{BlockId, Cause, FlashCommand, Geometry, Lpn, PageAddress, PlaneId, bits};

use super::{FtlError, InitialBlock};
use crate::block_pool::BlockPool;
use crate::counters::GcCounters;
use crate::plan::Plan;
use crate::reclaim::{VictimLists, VictimPolicy};

/// Blocks of a plane that are never free for data: the open ones, and one to copy into.
pub const OPEN_BLOCKS: u32 = 3;

/// Settings of the page-level FTL.
#[derive(Clone, Debug)]
pub struct PageConfig {
    /// Shape of the device.
    pub geometry: Geometry,
    /// Logical pages; see [`PageConfig::user_pages_max`].
    pub user_pages: u32,
    /// Planes in the order in which writes visit them.
    pub order: Vec<PlaneId>,
    /// How victims are chosen.
    pub policy: VictimPolicy,
    /// Free blocks of a plane at or under which it starts to reclaim, at least 1.
    pub gc_start_blocks: u32,
    /// Free blocks of a plane up to which it reclaims, at least the start.
    pub gc_stop_blocks: u32,
    /// Seed of the random victim policies.
    pub seed: u64,
}

impl PageConfig {
    /// Pages of valid data that a plane of `good_blocks` can hold while it keeps `free_blocks` free.
    pub fn plane_pages_max(geometry: &Geometry, good_blocks: u32, free_blocks: u32) -> u64 {
        let blocks = good_blocks.saturating_sub(free_blocks + OPEN_BLOCKS);
        u64::from(blocks) * u64::from(geometry.pages_per_block)
    }
}

/// The inverse of an order of planes.
fn turns(order: &[PlaneId]) -> Vec<u32> {
    let mut turns = vec![0; order.len()];
    order.iter().enumerate().for_each(|(turn, plane)| turns[plane.index()] = turn as u32);
    turns
}

/// A block being filled.
#[derive(Clone, Copy)]
struct Open {
    block: BlockId,
    sequence: u32,
    written: u16,
}

/// One plane's blocks.
struct Plane {
    host: Option<Open>,
    gc: Option<Open>,
    victims: VictimLists,
    valid_pages: u64,
    /// Pages written to this plane: its clock.
    now: u64,
}

/// The translation layer's state.
pub struct PageFtl {
    config: PageConfig,
    pages: u32,
    words: usize,
    /// Logical to physical page: 0 as filled, else physical page + 1.
    l2p: Vec<u32>,
    /// Physical to logical page: 0 as filled, else logical page + 1.
    p2l: Vec<u32>,
    valid: Vec<u64>,
    filled_pages: u32,
    pool: BlockPool,
    planes: Vec<Plane>,
    plane_pages_max: u64,
    next_plane: usize,
    /// Place of each plane in the order.
    turn_of_plane: Vec<u32>,
    counters: GcCounters,
}

impl PageFtl {
    /// An empty device. `config.user_pages` must fit its planes; the spec's validation sees to it.
    pub fn new(config: PageConfig, bad_blocks: &[BlockId]) -> PageFtl {
        let geometry = config.geometry;
        let words = bits::words_for(usize::from(geometry.pages_per_block));
        let plane = |plane: u32| Plane {
            host: None,
            gc: None,
            victims: VictimLists::new(
                config.policy,
                geometry.blocks_per_plane,
                geometry.pages_per_block,
                config.seed ^ u64::from(plane),
            ),
            valid_pages: 0,
            now: 0,
        };
        let pool = BlockPool::new(&geometry, bad_blocks);
        let good = (0..geometry.planes()).map(|p| pool.free_blocks(PlaneId(p)) as u32).min().unwrap_or(0);
        PageFtl {
            pages: u32::from(geometry.pages_per_block),
            words,
            l2p: vec![0; config.user_pages as usize],
            p2l: vec![0; geometry.pages() as usize],
            valid: vec![0; geometry.blocks() as usize * words],
            filled_pages: 0,
            pool,
            planes: (0..geometry.planes()).map(plane).collect(),
            plane_pages_max: PageConfig::plane_pages_max(&geometry, good, config.gc_start_blocks),
            next_plane: 0,
            turn_of_plane: turns(&config.order),
            counters: GcCounters::default(),
            config,
        }
    }

    /// Logical pages that the host may address.
    pub fn user_pages(&self) -> u32 {
        self.config.user_pages
    }

    /// What garbage collection did so far.
    pub fn counters(&self) -> &GcCounters {
        &self.counters
    }

    /// Starts counting anew.
    pub fn reset_counters(&mut self) {
        self.counters = GcCounters::default();
    }

    /// RAM of the map: four bytes a logical page.
    pub fn map_ram_bytes(&self) -> u64 {
        u64::from(self.config.user_pages) * 4
    }

    /// Bytes of this struct's columns.
    pub fn state_bytes(&self) -> u64 {
        (size_of_val(&self.l2p[..]) + size_of_val(&self.p2l[..]) + size_of_val(&self.valid[..])) as u64
    }

    /// Stores a share of the logical pages before the first request, from the first one on, as if
    /// they had been written in order: page by page over the planes, in whole stripes of one block a
    /// plane. Returns how many pages that are. Costs nothing per page.
    ///
    /// # Errors
    /// [`FtlError`] if a plane has fewer blocks than the share needs.
    pub fn fill(&mut self, share: f64, mut programmed: impl FnMut(InitialBlock)) -> Result<u32, FtlError> {
        let planes = self.config.order.len() as u32;
        let wanted = (f64::from(self.config.user_pages) * share) as u32;
        // The fill is laid in stripes of one block a plane; a part of a stripe is left empty.
        let stripes = wanted / (planes * self.pages);
        self.filled_pages = stripes * planes * self.pages;
        for stripe in 0..stripes {
            for nth in 0..planes {
                let plane = self.config.order[nth as usize];
                let (block, sequence) = self.pool.take(plane).ok_or(FtlError::NoFreeBlock { plane: plane.0 })?;
                let words = self.words_of(block);
                bits::set_range(&mut self.valid[words], 0, self.pages as usize);
                let index = self.config.geometry.index_in_plane(block);
                let state = &mut self.planes[plane.index()];
                state.victims.close(index, self.pages as u16, 0);
                state.valid_pages += u64::from(self.pages);
                let first = Lpn(stripe * planes * self.pages + nth);
                programmed(InitialBlock { block, first, stride: planes, pages: self.pages as u16, sequence });
            }
        }
        Ok(self.filled_pages)
    }

    /// Appends the commands that store version `version` of `lpn`.
    ///
    /// # Errors
    /// [`FtlError`] if no plane has room, which the spec's validation rules out.
    pub fn write(&mut self, lpn: Lpn, version: u8, plan: &mut Plan) -> Result<(), FtlError> {
        let plane = self.choose_plane()?;
        let open = match self.planes[plane.index()].host {
            Some(open) => open,
            None => {
                self.reclaim(plane, plan)?;
                self.open_block(plane)?
            }
        };
        let target = PageAddress::new(open.block, open.written);
        // Reclaiming may have moved the old copy, so it is looked up only now.
        if let Some(old) = self.locate(lpn) {
            self.invalidate(old);
        }
        self.place(lpn, target, plane);
        plan.push(FlashCommand::program(Cause::Host, target, lpn, version, open.sequence));
        let open = Open { written: open.written + 1, ..open };
        self.planes[plane.index()].host = self.keep_open(plane, open);
        Ok(())
    }

    /// Appends the read of `lpn`; `false` if it was never written.
    pub fn read(&mut self, lpn: Lpn, version: u8, plan: &mut Plan) -> bool {
        let Some(page) = self.locate(lpn) else { return false };
        plan.push(FlashCommand::read(Cause::Host, page, lpn, version));
        true
    }

    /// Where the current page of `lpn` is.
    #[inline]
    pub fn locate(&self, lpn: Lpn) -> Option<PageAddress> {
        match self.l2p[lpn.index()] {
            0 if lpn.0 < self.filled_pages => Some(self.filled_at(lpn)),
            0 => None,
            entry => Some(self.address(entry - 1)),
        }
    }

    fn filled_at(&self, lpn: Lpn) -> PageAddress {
        let planes = self.config.order.len() as u32;
        let plane = self.config.order[(lpn.0 % planes) as usize];
        let nth = lpn.0 / planes;
        // Bad blocks shift the fill, so the nth good block is looked up; without them it is the nth.
        let block = self.pool.good_block(plane, nth / self.pages);
        PageAddress::new(block, (nth % self.pages) as u16)
    }

    #[inline]
    fn address(&self, physical: u32) -> PageAddress {
        PageAddress::new(BlockId(physical / self.pages), (physical % self.pages) as u16)
    }

    #[inline]
    fn physical(&self, page: PageAddress) -> u32 {
        page.block.0 * self.pages + u32::from(page.page)
    }

    fn words_of(&self, block: BlockId) -> std::ops::Range<usize> {
        block.index() * self.words..(block.index() + 1) * self.words
    }

    /// Logical page that the physical page was programmed with.
    fn owner(&self, page: PageAddress) -> Lpn {
        match self.p2l[self.physical(page) as usize] {
            0 => self.filled_owner(page),
            entry => Lpn(entry - 1),
        }
    }

    fn filled_owner(&self, page: PageAddress) -> Lpn {
        let planes = self.config.order.len() as u32;
        let nth = self.turn_of_plane[self.config.geometry.plane_of(page.block).index()];
        let stripe = self.pool.good_index(page.block);
        Lpn((stripe * self.pages + u32::from(page.page)) * planes + nth)
    }

    #[inline]
    fn invalidate(&mut self, page: PageAddress) {
        let words = self.words_of(page.block);
        debug_assert!(bits::get(&self.valid[words.clone()], usize::from(page.page)));
        bits::clear(&mut self.valid[words], usize::from(page.page));
        let geometry = &self.config.geometry;
        let plane = &mut self.planes[geometry.plane_of(page.block).index()];
        plane.victims.invalidate(geometry.index_in_plane(page.block), plane.now);
        plane.valid_pages -= 1;
    }

    /// Maps `lpn` to a page that is about to be programmed.
    #[inline]
    fn place(&mut self, lpn: Lpn, page: PageAddress, plane: PlaneId) {
        let physical = self.physical(page);
        self.l2p[lpn.index()] = physical + 1;
        self.p2l[physical as usize] = lpn.0 + 1;
        let words = self.words_of(page.block);
        bits::set(&mut self.valid[words], usize::from(page.page));
        self.planes[plane.index()].valid_pages += 1;
        self.planes[plane.index()].now += 1;
    }

    /// The next plane in turn that can take another valid page.
    #[inline]
    fn choose_plane(&mut self) -> Result<PlaneId, FtlError> {
        for _ in 0..self.config.order.len() {
            let plane = self.config.order[self.next_plane];
            self.next_plane += 1;
            if self.next_plane == self.config.order.len() {
                self.next_plane = 0;
            }
            if self.planes[plane.index()].valid_pages < self.plane_pages_max {
                return Ok(plane);
            }
        }
        Err(FtlError::NoFreeBlock { plane: self.config.order[self.next_plane].0 })
    }

    fn open_block(&mut self, plane: PlaneId) -> Result<Open, FtlError> {
        let (block, sequence) = self.pool.take(plane).ok_or(FtlError::NoFreeBlock { plane: plane.0 })?;
        Ok(Open { block, sequence, written: 0 })
    }

    /// The open block after a program: closed, and a candidate for reclaiming, once it is full.
    #[inline]
    fn keep_open(&mut self, plane: PlaneId, open: Open) -> Option<Open> {
        if u32::from(open.written) < self.pages {
            return Some(open);
        }
        let valid = bits::count_range(&self.valid[self.words_of(open.block)], 0, self.pages as usize);
        let state = &mut self.planes[plane.index()];
        state.victims.close(self.config.geometry.index_in_plane(open.block), valid as u16, state.now);
        None
    }

    /// Reclaims blocks of a plane that runs low until it has enough.
    fn reclaim(&mut self, plane: PlaneId, plan: &mut Plan) -> Result<(), FtlError> {
        if self.pool.free_blocks(plane) > self.config.gc_start_blocks as usize {
            return Ok(());
        }
        self.counters.trigger_free_blocks += 1;
        while self.pool.free_blocks(plane) <= self.config.gc_stop_blocks as usize {
            let state = &mut self.planes[plane.index()];
            let Some(victim) = state.victims.choose(state.now) else { break };
            state.victims.remove(victim);
            self.reclaim_block(plane, self.config.geometry.block(plane, victim), plan)?;
        }
        Ok(())
    }

    /// Copies the valid pages of a block to the plane's garbage-collection block and erases it.
    fn reclaim_block(&mut self, plane: PlaneId, victim: BlockId, plan: &mut Plan) -> Result<(), FtlError> {
        let mut copied = 0u32;
        for word in 0..self.words {
            let mut left = self.valid[victim.index() * self.words + word];
            self.valid[victim.index() * self.words + word] = 0;
            while left != 0 {
                let page = (word * 64) as u16 + left.trailing_zeros() as u16;
                left &= left - 1;
                self.copy_page(plane, PageAddress::new(victim, page), plan)?;
                copied += 1;
            }
        }
        self.planes[plane.index()].valid_pages -= u64::from(copied);
        self.counters.copied_pages += u64::from(copied);
        self.counters.reclaimed.merges += 1;
        self.counters.reclaimed.block_erases += 1;
        self.counters.note_victim(copied as usize, self.pages as usize);
        plan.push(FlashCommand::erase(victim));
        self.pool.give_back(plane, victim);
        Ok(())
    }

    fn copy_page(&mut self, plane: PlaneId, source: PageAddress, plan: &mut Plan) -> Result<(), FtlError> {
        let open = match self.planes[plane.index()].gc {
            Some(open) => open,
            None => self.open_block(plane)?,
        };
        let lpn = self.owner(source);
        let target = PageAddress::new(open.block, open.written);
        self.place(lpn, target, plane);
        plan.push(FlashCommand::copy(source, target, lpn, open.sequence));
        let open = Open { written: open.written + 1, ..open };
        self.planes[plane.index()].gc = self.keep_open(plane, open);
        Ok(())
    }
}
