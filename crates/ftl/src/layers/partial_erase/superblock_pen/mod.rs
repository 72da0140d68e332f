//! The superblock FTL as PEN (FAST'18) §5.3 and §6 uses it: hybrid mapping after Jung et al. (ACM
//! TECS 2010), with the map in RAM.
//!
//! Built: M adjacent logical blocks form a superblock, page-mapped inside up to N blocks of one
//! plane; *intra* garbage collection when a superblock has no room and owns N blocks, *inter* when
//! another block is wanted and the plane runs low; full merge, M-Merge (Algorithm 3) and the
//! budgeted planner. The choice is made in [`crate::merge::superblock`], the commands in `run`.
//! Deviations: the goal of an intra merge is one block less, that of an inter merge M blocks; after
//! an intra merge the threshold is not looked at again, as after a full pair in the NFTL; the map,
//! its inverse and the validity of pages are in RAM, so nothing is ever searched in spare areas.
//!
//! Invariant: every plane keeps a free block to merge into. A spec must leave two blocks a plane
//! beyond the logical ones.

mod blocks;
mod run;
mod superblock_pen_spec;
mod superblock_recovery;

use pumice_types::{BlockId, Cause, FlashCommand, Geometry, Lpn, PageAddress, PbTree, PlaneId};
use serde::{Deserialize, Serialize};

use crate::blocks::block_pool::BlockPool;
use crate::blocks::victim_tree::VictimTree;
use crate::merge::restore::MergeCosts;
use crate::merge::superblock::SuperblockPlanner;
use crate::merge::superblock_run::SuperblockMerger;
use crate::plan::{FtlError, GcCounters, InitialBlock, InitialFill, Plan};
use crate::seam::{Figures, Homes, MemoryUse, MergePolicy, Proofs, TranslationLayer};
use blocks::Blocks;

/// Settings of the superblock FTL.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SuperblockPenConfig {
    /// Shape of the device.
    pub geometry: Geometry,
    /// Partial blocks of a block; L = 0 if there are none.
    pub tree: PbTree,
    /// M: logical blocks of a superblock. M blocks have at most 2^16 pages.
    pub logical: u32,
    /// N: blocks that a superblock may own, more than M.
    pub physical: u32,
    /// Superblocks a plane; their logical blocks are at least two fewer than its good blocks.
    pub superblocks_per_plane: u32,
    /// Free blocks a plane at or under which wanting a block merges a superblock; at least 1.
    pub gc_free_blocks: u32,
    /// Free blocks a plane that M-Merge does not borrow: none, or those to recover with after a power cut.
    pub reserve: u32,
    /// How to merge.
    pub merge: MergePolicy,
    /// Durations to weigh.
    pub costs: MergeCosts,
}

/// "None" among blocks.
const NONE: u32 = u32::MAX;

/// One superblock.
#[derive(Clone, Copy, Serialize, Deserialize)]
struct PenSuperblock {
    /// Block that is written to, or [`NONE`].
    open: u32,
    /// Blocks owned.
    owned: u32,
    m_merges: u32,
    invalid: u32,
    /// Sequence number of the block with which it came to own more than M.
    grown: u32,
}

/// The translation layer's state.
#[derive(Clone, Serialize, Deserialize)]
pub struct SuperblockPen {
    config: SuperblockPenConfig,
    pages: u32,
    /// Logical pages of a superblock.
    span: u32,
    /// Plane of the nth superblock in stripe order.
    stripe: Vec<PlaneId>,
    superblocks: Vec<PenSuperblock>,
    /// Blocks of each superblock, oldest first, N entries each.
    members: Vec<BlockId>,
    /// Logical to physical page: 0 never written, else physical page + 1.
    map: Vec<u32>,
    blocks: Blocks,
    pool: BlockPool,
    victims: Vec<VictimTree>,
    merger: Option<Box<SuperblockMerger>>,
    counters: GcCounters,
    /// Blocks that nothing proves to be erased, after a power cut.
    proofs: Proofs,
}

impl SuperblockPen {
    /// An empty device over its good blocks.
    pub fn new(config: SuperblockPenConfig, bad_blocks: &[BlockId]) -> SuperblockPen {
        let geometry = config.geometry;
        let pages = u32::from(geometry.pages_per_block);
        let superblocks = (geometry.planes() * config.superblocks_per_plane) as usize;
        let span = pages * config.logical;
        let m_merge = match &config.merge {
            MergePolicy::BlockErase => None,
            MergePolicy::MMerge { settings, scope, .. } => Some((*settings, *scope)),
        };
        let planner = SuperblockPlanner::new(config.tree, config.costs.clone(), m_merge);
        let none = PenSuperblock { open: NONE, owned: 0, m_merges: 0, invalid: 0, grown: 0 };
        SuperblockPen {
            pages,
            span,
            stripe: (0..geometry.planes()).map(|n| geometry.striped_plane(n)).collect(),
            superblocks: vec![none; superblocks],
            members: vec![BlockId(NONE); superblocks * config.physical as usize],
            map: vec![0; superblocks * span as usize],
            blocks: Blocks::new(&geometry, config.tree, m_merge.map(|(settings, _)| settings)),
            pool: BlockPool::new(&geometry, bad_blocks),
            victims: (0..geometry.planes()).map(|_| VictimTree::new(config.superblocks_per_plane as usize)).collect(),
            merger: Some(Box::new(SuperblockMerger::new(config.tree, planner))),
            counters: GcCounters::default(),
            proofs: Proofs::default(),
            config,
        }
    }

    /// Fills the device before the first request and reports each block programmed: every full logical
    /// block lies in a block of its own.
    ///
    /// # Errors
    /// [`FtlError`] if a plane has fewer blocks than the fill needs.
    pub fn fill(&mut self, fill: InitialFill, mut programmed: impl FnMut(InitialBlock)) -> Result<(), FtlError> {
        for superblock in 0..self.superblocks.len() {
            let row = superblock / self.stripe.len();
            for nth in 0..self.config.logical {
                let index = row as u64 * u64::from(self.config.logical) + u64::from(nth);
                let pages = fill.pages_of(index, self.config.geometry.pages_per_block);
                if pages > 0 {
                    let block = self.allocate(superblock, &mut Plan::default())?;
                    let first = nth * self.pages;
                    self.blocks.fill(block, first as u16, pages);
                    let lpn = superblock as u32 * self.span + first;
                    for page in 0..u32::from(pages) {
                        self.map[(lpn + page) as usize] = self.physical(PageAddress::new(block, page as u16)) + 1;
                    }
                    let sequence = self.blocks.sequence(block);
                    programmed(InitialBlock { block, first: Lpn(lpn), stride: 1, pages, sequence });
                }
            }
        }
        Ok(())
    }

    #[inline]
    fn physical(&self, page: PageAddress) -> u32 {
        page.block.0 * self.pages + u32::from(page.page)
    }

    /// Maps a logical page to a page that is about to be programmed.
    #[inline]
    fn place(&mut self, lpn: Lpn, page: PageAddress) {
        self.map[lpn.index()] = self.physical(page) + 1;
        self.blocks.program(page, (lpn.0 % self.span) as u16);
    }

    #[inline]
    fn plane_of(&self, superblock: usize) -> PlaneId {
        self.stripe[superblock % self.stripe.len()]
    }

    /// Blocks of a superblock, oldest first.
    fn members_of(&self, superblock: usize) -> &[BlockId] {
        let first = superblock * self.config.physical as usize;
        &self.members[first..first + self.superblocks[superblock].owned as usize]
    }

    /// The page that the superblock's next write goes to, if it has room.
    #[inline]
    fn next_page(&mut self, superblock: usize) -> Option<PageAddress> {
        let open = self.superblocks[superblock].open;
        if open != NONE
            && let Some(page) = self.blocks.next_blank(BlockId(open))
        {
            return Some(page);
        }
        let block = *self.members_of(superblock).iter().find(|&&block| self.blocks.blank_count(block) > 0)?;
        self.superblocks[superblock].open = block.0;
        self.blocks.next_blank(block)
    }

    /// The page that the superblock's next write goes to, in a new block if it has no room.
    fn page_to_write(&mut self, superblock: usize, plan: &mut Plan) -> Result<PageAddress, FtlError> {
        if let Some(page) = self.next_page(superblock) {
            return Ok(page);
        }
        let block = self.allocate(superblock, plan)?;
        self.superblocks[superblock].open = block.0;
        self.blocks.next_blank(block).ok_or(FtlError::NoFreeBlock { plane: self.plane_of(superblock).0 })
    }

    /// Takes a free block for a superblock that owns fewer than N.
    fn allocate(&mut self, superblock: usize, plan: &mut Plan) -> Result<BlockId, FtlError> {
        let plane = self.plane_of(superblock);
        let (block, sequence) = self.pool.take(plane).ok_or(FtlError::NoFreeBlock { plane: plane.0 })?;
        self.proofs.prove(block, plan);
        self.blocks.open(block, superblock as u32, sequence);
        self.own(superblock, block, sequence);
        Ok(block)
    }

    /// Adds a block to those of a superblock.
    fn own(&mut self, superblock: usize, block: BlockId, sequence: u32) {
        let state = &mut self.superblocks[superblock];
        self.members[superblock * self.config.physical as usize + state.owned as usize] = block;
        state.owned += 1;
        if state.owned == self.config.logical + 1 {
            state.grown = sequence;
        }
        self.note_victim(superblock);
    }

    /// Merges what must be merged before the superblock may write again: itself if it owns N blocks,
    /// else the plane's best victim if the plane runs low.
    fn make_room(&mut self, superblock: usize, plan: &mut Plan) -> Result<(), FtlError> {
        let plane = self.plane_of(superblock);
        if self.superblocks[superblock].owned == self.config.physical {
            self.counters.trigger_intra += 1;
            let goal = self.config.physical - 1;
            return self.merge(superblock, goal, plan);
        }
        if self.pool.free_blocks(plane) <= self.config.gc_free_blocks as usize
            && let Some(slot) = self.victims[plane.index()].best()
        {
            let victim = slot * self.stripe.len() + superblock % self.stripe.len();
            self.counters.trigger_inter += 1;
            return self.merge(victim, self.config.logical, plan);
        }
        Ok(())
    }

    /// Tells the victim order how many invalid pages a superblock has. One that owns no more than M
    /// blocks has none to give.
    #[inline]
    fn note_victim(&mut self, superblock: usize) {
        let PenSuperblock { owned, invalid, grown, .. } = self.superblocks[superblock];
        let slot = superblock / self.stripe.len();
        let plane = self.plane_of(superblock);
        let victims = &mut self.victims[plane.index()];
        match owned > self.config.logical {
            true => victims.set(slot, invalid, u64::from(grown)),
            false => victims.remove(slot),
        }
    }

    /// Logical pages that the host may address.
    pub fn user_pages(&self) -> u32 {
        self.map.len() as u32
    }
}

impl TranslationLayer for SuperblockPen {
    fn write(&mut self, lpn: Lpn, version: u8, plan: &mut Plan) -> Result<(), FtlError> {
        let superblock = (lpn.0 / self.span) as usize;
        if self.next_page(superblock).is_none() {
            self.make_room(superblock, plan)?;
        }
        let target = self.page_to_write(superblock, plan)?;
        // A merge may have moved the old copy, so it is looked up only now.
        if let Some(old) = self.locate(lpn) {
            self.blocks.invalidate(old);
            self.superblocks[superblock].invalid += 1;
            self.note_victim(superblock);
        }
        self.place(lpn, target);
        let program = FlashCommand::program(Cause::Host, target, lpn, version, self.blocks.sequence(target.block));
        plan.push(program.with_mark(self.blocks.role(target.block)));
        Ok(())
    }

    fn read(&mut self, lpn: Lpn, version: u8, plan: &mut Plan) -> bool {
        let Some(page) = self.locate(lpn) else { return false };
        plan.push(FlashCommand::read(Cause::Host, page, lpn, version));
        true
    }

    #[inline]
    fn locate(&self, lpn: Lpn) -> Option<PageAddress> {
        let physical = self.map[lpn.index()].checked_sub(1)?;
        Some(PageAddress::new(BlockId(physical / self.pages), (physical % self.pages) as u16))
    }

    fn homes(&self) -> Option<Homes> {
        Some(Homes { unit_pages: self.span, order: self.stripe.clone() })
    }

    crate::seam::capabilities!(figures, memory);
}

impl Figures for SuperblockPen {
    /// What garbage collection did so far.
    fn counters(&self) -> &GcCounters {
        &self.counters
    }

    fn counters_mut(&mut self) -> &mut GcCounters {
        &mut self.counters
    }
}

impl MemoryUse for SuperblockPen {
    /// RAM of the map, in whole bits a page: for each logical page its place among N blocks (or none),
    /// for each page of N blocks its logical page and whether it is valid; N block pointers of four
    /// bytes; with M-Merge N times 2^L disturb counters and two bytes for the count of M-Merges.
    fn map_ram_bytes(&self) -> u64 {
        let (logical, physical) = (u64::from(self.span), u64::from(self.pages * self.config.physical));
        let bits = |values: u64| u64::from(64 - (values - 1).leading_zeros());
        let map = logical * bits(physical + 1) + physical * (bits(logical) + 1);
        let partial_erase = match self.config.merge {
            MergePolicy::BlockErase => 0,
            MergePolicy::MMerge { .. } => self.config.tree.leaves() as u64 * u64::from(self.config.physical) + 2,
        };
        let each = map.div_ceil(8) + u64::from(self.config.physical) * 4 + partial_erase;
        self.superblocks.len() as u64 * each
    }

    /// Bytes of this struct's columns.
    fn state_bytes(&self) -> u64 {
        let lists = size_of_val(&self.superblocks[..]) + size_of_val(&self.members[..]);
        (lists + size_of_val(&self.map[..])) as u64 + self.blocks.state_bytes()
    }
}
