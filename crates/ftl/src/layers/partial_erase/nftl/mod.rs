//! NFTL, the block-level translation layer with one log block a data block (Ban, US 5,404,485; as
//! PEN, FAST'18 §2.2 and §6.1, uses it).
//!
//! Built: D-blocks programmed in place, at most one U-block a D-block filled in order, merges when
//! the pair's U-block is full or when an unpaired D-block needs one and the plane runs low, victim
//! = most invalid pages, ties to the oldest U-block. The controller keeps block pointers, a bitmap
//! of written offsets and U's write pointer, but not what U holds: that is found in U's spare areas
//! and paid for ([`UIndex::Spare`]), or kept in RAM ([`UIndex::Ram`]). The write pointer may have to be searched too
//! ([`UPointer::Search`]). The simulator keeps a shadow of U's contents either way, so that it knows what a search would
//! find; the array confirms it.
//!
//! Invariant: every plane keeps a free block for a merge. A spec must leave two blocks a plane
//! beyond the logical ones; where a write to a logical block without a D-block would take the last
//! free block, the best pair is merged first (a case that the paper's device never meets).

mod found_blocks;
mod merge;
mod nftl_spec;
mod pair_recovery;
mod u_blocks;

use pumice_types::{
    BlockId, Cause, FlashCommand, Geometry, Lpn, PageAddress, PbTree, PlaneId, ProgramOrder, SearchExpectation, bits,
    prefetch,
};
use serde::{Deserialize, Serialize};

use crate::blocks::block_pool::BlockPool;
use crate::blocks::victim_tree::VictimTree;
use crate::merge::run::NOT_IN_U;
use crate::plan::{FtlError, GcCounters, InitialBlock, InitialFill, Plan};
use crate::seam::{
    Conduct, Figures, Homes, LookAhead, MemoryUse, MergePolicy, Proofs, TranslationLayer, UIndex, UPointer,
};
use merge::MMergeScratch;
pub(in crate::layers) use nftl_spec::{check_room, config_keeping};

/// Settings of the NFTL.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct NftlConfig {
    /// Shape of the device.
    pub geometry: Geometry,
    /// Partial blocks of a block; L = 0 if there are none.
    pub tree: PbTree,
    /// Programming order of D-blocks.
    pub program_order: ProgramOrder,
    /// Logical blocks a plane; at least two fewer than its good blocks.
    pub logical_blocks_per_plane: u32,
    /// Free blocks a plane at or under which an unpaired write merges a victim; at least 1, so that a
    /// block is left to merge into.
    pub gc_free_blocks: u32,
    /// Free blocks of a plane that only merges take: 1, and one more to recover with after a power cut.
    pub kept_blocks: u32,
    /// Where U's index is.
    pub u_index: UIndex,
    /// Where U's write pointer is.
    pub u_pointer: UPointer,
    /// How to merge.
    pub merge: MergePolicy,
}

/// Why a pair is merged.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(in crate::layers) enum Trigger {
    Full,
    Unpaired,
}

/// "None" in the block and slot columns.
pub(in crate::layers) const NONE: u32 = u32::MAX;

/// Pointers of one logical block.
#[derive(Clone, Copy, Serialize, Deserialize)]
pub(in crate::layers) struct LogicalBlock {
    pub(in crate::layers) d: u32,
    pub(in crate::layers) d_sequence: u32,
    pub(in crate::layers) u_slot: u32,
    pub(in crate::layers) m_merges: u32,
}

/// One U-block in use.
#[derive(Clone, Copy, Default, Serialize, Deserialize)]
pub(in crate::layers) struct UBlock {
    pub(in crate::layers) block: BlockId,
    pub(in crate::layers) sequence: u32,
    pub(in crate::layers) logical: u32,
    pub(in crate::layers) written: u16,
    /// One past the last page that may be programmed.
    pub(in crate::layers) end: u16,
    pub(in crate::layers) invalid: u16,
    /// Counter that its leaves are taken to have.
    pub(in crate::layers) disturb: u8,
}

/// The translation layer's state.
#[derive(Clone, Serialize, Deserialize)]
pub struct Nftl {
    pub(in crate::layers) config: NftlConfig,
    pub(in crate::layers) pages: usize,
    words: usize,
    /// Plane of the nth logical block in stripe order.
    stripe: Vec<PlaneId>,
    pub(in crate::layers) logical: Vec<LogicalBlock>,
    pub(in crate::layers) d_programmed: Vec<u64>,
    pub(in crate::layers) d_valid: Vec<u64>,
    d_disturb: Vec<u8>,
    pub(in crate::layers) pool: BlockPool,
    pub(in crate::layers) slots_per_plane: usize,
    pub(in crate::layers) u_blocks: Vec<UBlock>,
    /// Offset that each written page of a U-block holds.
    u_offset: Vec<u16>,
    /// Page of the U-block that holds each offset.
    pub(in crate::layers) in_u: Vec<u16>,
    free_slots: Vec<Vec<u32>>,
    pub(in crate::layers) victims: Vec<VictimTree>,
    scratch: Option<Box<MMergeScratch>>,
    pub(in crate::layers) counters: GcCounters,
    u_blocks_used: u64,
    pub(in crate::layers) proofs: Proofs,
}

impl Nftl {
    /// An empty NFTL over the good blocks of the device.
    pub fn new(config: NftlConfig, bad_blocks: &[BlockId]) -> Nftl {
        let geometry = config.geometry;
        let pages = geometry.pages_per_block as usize;
        let words = bits::words_for(pages);
        let planes = geometry.planes() as usize;
        let logical_blocks = planes * config.logical_blocks_per_plane as usize;
        // A U-block needs a D-block, so at most half of a plane's blocks are U-blocks.
        let slots_per_plane = (geometry.blocks_per_plane as usize / 2).max(1);
        let slots = slots_per_plane * planes;
        let scratch = MMergeScratch::of(&config.merge, config.tree, pages);
        let free_slots = (0..planes).map(|plane| {
            let first = (plane * slots_per_plane) as u32;
            (first..first + slots_per_plane as u32).rev().collect()
        });
        Nftl {
            pages,
            words,
            stripe: (0..geometry.planes()).map(|n| geometry.striped_plane(n)).collect(),
            logical: vec![LogicalBlock { d: NONE, d_sequence: 0, u_slot: NONE, m_merges: 0 }; logical_blocks],
            d_programmed: vec![0; logical_blocks * words],
            d_valid: vec![0; logical_blocks * words],
            d_disturb: vec![0; logical_blocks * config.tree.leaves()],
            pool: BlockPool::new(&geometry, bad_blocks),
            slots_per_plane,
            u_blocks: vec![UBlock::default(); slots],
            u_offset: vec![0; slots * pages],
            in_u: vec![0; slots * pages],
            free_slots: free_slots.collect(),
            victims: (0..planes).map(|_| VictimTree::new(slots_per_plane)).collect(),
            scratch,
            counters: GcCounters::default(),
            u_blocks_used: 0,
            proofs: Proofs::default(),
            config,
        }
    }

    /// Fills the device before the first request and reports each block programmed, so that the
    /// array can be brought to the same state. Costs nothing per page.
    pub fn fill(&mut self, fill: InitialFill, mut programmed: impl FnMut(InitialBlock)) -> Result<(), FtlError> {
        for logical in 0..self.logical.len() {
            let index = (logical / self.stripe.len()) as u64;
            let pages = fill.pages_of(index, self.pages as u16);
            if pages > 0 {
                let (block, sequence) = self.take_block(self.plane_of(logical))?;
                self.logical[logical].d = block.0;
                self.logical[logical].d_sequence = sequence;
                let words = self.words_of(logical);
                bits::set_range(&mut self.d_programmed[words.clone()], 0, pages as usize);
                bits::set_range(&mut self.d_valid[words], 0, pages as usize);
                programmed(InitialBlock { block, first: self.first_lpn(logical), stride: 1, pages, sequence });
            }
        }
        Ok(())
    }

    #[inline]
    pub(in crate::layers) fn split(&self, lpn: Lpn) -> (usize, usize) {
        (lpn.index() / self.pages, lpn.index() % self.pages)
    }

    pub(in crate::layers) fn first_lpn(&self, logical: usize) -> Lpn {
        Lpn((logical * self.pages) as u32)
    }

    #[inline]
    pub(in crate::layers) fn plane_of(&self, logical: usize) -> PlaneId {
        self.stripe[logical % self.stripe.len()]
    }

    #[inline]
    pub(in crate::layers) fn words_of(&self, logical: usize) -> std::ops::Range<usize> {
        logical * self.words..(logical + 1) * self.words
    }

    #[inline]
    fn leaves_of(&self, logical: usize) -> std::ops::Range<usize> {
        let leaves = self.config.tree.leaves();
        logical * leaves..(logical + 1) * leaves
    }

    pub(in crate::layers) fn take_block(&mut self, plane: PlaneId) -> Result<(BlockId, u32), FtlError> {
        self.pool.take(plane).ok_or(FtlError::NoFreeBlock { plane: plane.0 })
    }

    /// Gives a D-block to a logical block that has none. Triggers nothing, unless it would take the
    /// plane's last free block.
    fn give_d_block(&mut self, logical: usize, plan: &mut Plan) -> Result<(), FtlError> {
        let plane = self.plane_of(logical);
        if self.pool.free_blocks(plane) <= self.config.kept_blocks as usize {
            self.merge_victim(plane, plan)?;
        }
        self.take_d_block(logical, plan)
    }

    /// Takes a free block as D.
    pub(in crate::layers) fn take_d_block(&mut self, logical: usize, plan: &mut Plan) -> Result<(), FtlError> {
        let (block, sequence) = self.take_block(self.plane_of(logical))?;
        self.proofs.prove(block, plan);
        self.logical[logical] = LogicalBlock { d: block.0, d_sequence: sequence, u_slot: NONE, m_merges: 0 };
        Ok(())
    }

    /// Whether an offset can be programmed in D: its page is blank and the order allows it.
    #[inline]
    pub(in crate::layers) fn fits_d(&self, logical: usize, offset: usize) -> bool {
        let programmed = &self.d_programmed[self.words_of(logical)];
        if bits::get(programmed, offset) {
            return false;
        }
        // Under program order the whole block is held in order, also after an M-Merge, when the chip
        // would only ask for it inside each leaf: where a write goes must not depend on the merge.
        self.config.program_order == ProgramOrder::Any || bits::count_range(programmed, offset, self.pages) == 0
    }

    pub(in crate::layers) fn program_d(&mut self, logical: usize, offset: usize, version: u8, plan: &mut Plan) {
        let leaf = self.leaves_of(logical).start + self.config.tree.leaf_of_page(offset);
        // In an NFTL every superseded page lies in a restored leaf, so M-Merge leaves no leaf
        // above tolerance that could be programmed; see the planner's `protect_more`.
        debug_assert!(!self.is_aware() || self.d_disturb[leaf] <= self.tolerance());
        let words = self.words_of(logical);
        bits::set(&mut self.d_programmed[words.clone()], offset);
        bits::set(&mut self.d_valid[words], offset);
        let LogicalBlock { d, d_sequence, .. } = self.logical[logical];
        let lpn = Lpn(self.first_lpn(logical).0 + offset as u32);
        let target = PageAddress::new(BlockId(d), offset as u16);
        plan.push(FlashCommand::program(Cause::Host, target, lpn, version, d_sequence));
    }

    fn is_aware(&self) -> bool {
        matches!(&self.config.merge, MergePolicy::MMerge { settings, .. } if settings.disturb_aware)
    }

    fn tolerance(&self) -> u8 {
        match &self.config.merge {
            MergePolicy::MMerge { settings, .. } => settings.disturb_tolerance,
            MergePolicy::BlockErase => u8::MAX,
        }
    }

    /// Where the current page of an offset is; `None` if it was never written.
    #[inline]
    fn place_of(&self, logical: usize, offset: usize) -> Option<PageAddress> {
        let LogicalBlock { d, u_slot, .. } = self.logical[logical];
        if u_slot != NONE {
            let page = self.in_u[u_slot as usize * self.pages + offset];
            if page != NOT_IN_U {
                return Some(PageAddress::new(self.u_blocks[u_slot as usize].block, page));
            }
        }
        let in_d = d != NONE && bits::get(&self.d_valid[self.words_of(logical)], offset);
        in_d.then(|| PageAddress::new(BlockId(d), offset as u16))
    }

    /// Prefetches what the U-block of a logical block says of an offset, if there is one; no effect on results. Returns
    /// whether there is.
    #[inline]
    fn expect_in_u(&self, logical: usize, offset: usize) -> bool {
        let slot = self.logical.get(logical).map_or(NONE, |block| block.u_slot);
        if slot != NONE {
            prefetch(self.u_blocks.get(slot as usize));
            prefetch(self.in_u.get(slot as usize * self.pages + offset));
        }
        slot != NONE
    }

    /// Logical pages that the host may address.
    pub fn user_pages(&self) -> u32 {
        (self.logical.len() * self.pages) as u32
    }
}

impl TranslationLayer for Nftl {
    fn write(&mut self, lpn: Lpn, version: u8, plan: &mut Plan) -> Result<(), FtlError> {
        let (logical, offset) = self.split(lpn);
        if self.logical[logical].d == NONE {
            self.give_d_block(logical, plan)?;
        }
        let mut fits_d = self.fits_d(logical, offset);
        if !fits_d && !self.has_room_in_u(logical) {
            self.make_room(logical, plan)?;
            // After a power cut a merge may have made a place in D out of one that could not be trusted.
            fits_d = self.fits_d(logical, offset);
        }
        if fits_d {
            self.program_d(logical, offset, version, plan);
            return Ok(());
        }
        if self.logical[logical].u_slot == NONE {
            self.give_u_block(logical, plan)?;
        }
        self.append_to_u(logical, offset, version, plan);
        Ok(())
    }

    fn read(&mut self, lpn: Lpn, version: u8, plan: &mut Plan) -> bool {
        let (logical, offset) = self.split(lpn);
        let Some(page) = self.place_of(logical, offset) else { return false };
        let slot = self.logical[logical].u_slot;
        if slot != NONE && self.config.u_index == UIndex::Spare {
            self.find_u_pointer(slot, plan);
            let u = &self.u_blocks[slot as usize];
            let (depth, expect) = if page.block == u.block {
                (u.written - page.page, SearchExpectation::Found)
            } else {
                (u.written, SearchExpectation::Absent)
            };
            let newest = PageAddress::new(u.block, u.written - 1);
            plan.push(FlashCommand::spare_search(Cause::Host, newest, depth, lpn, expect));
        }
        plan.push(FlashCommand::read(Cause::Host, page, lpn, version));
        true
    }

    #[inline]
    fn locate(&self, lpn: Lpn) -> Option<PageAddress> {
        let (logical, offset) = self.split(lpn);
        self.place_of(logical, offset)
    }

    fn conduct(&self) -> Conduct {
        Conduct { reads_map_in_spare: self.config.u_pointer == UPointer::Search, ..Conduct::default() }
    }

    fn homes(&self) -> Option<Homes> {
        Some(Homes { unit_pages: self.pages as u32, order: self.stripe.clone() })
    }

    crate::seam::capabilities!(figures, memory, look_ahead);
}

impl Figures for Nftl {
    /// What garbage collection did so far.
    fn counters(&self) -> &GcCounters {
        &self.counters
    }

    fn counters_mut(&mut self) -> &mut GcCounters {
        &mut self.counters
    }

    fn u_blocks_used(&self) -> u64 {
        self.u_blocks_used
    }
}

impl MemoryUse for Nftl {
    /// RAM of the map: two block pointers, U's write pointer, unless it is searched, and the bitmap of written offsets
    /// for each logical block; with M-Merge the disturb counters and the count of M-Merges; with the
    /// index in RAM two bytes a page of each U-block that was in use at once.
    fn map_ram_bytes(&self) -> u64 {
        let partial_erase = if self.scratch.is_some() { self.config.tree.leaves() + 2 } else { 0 };
        let pointer = if self.config.u_pointer == UPointer::Ram { 2 } else { 0 };
        let each = 4 + 4 + pointer + self.pages.div_ceil(8) + partial_erase;
        let index = match self.config.u_index {
            UIndex::Spare => 0,
            UIndex::Ram => self.counters.u_blocks_max * self.pages as u64 * 2,
        };
        self.logical.len() as u64 * each as u64 + index
    }

    /// Bytes of this struct's columns; U-block slots are counted as far as they were ever in use,
    /// because the rest is never touched.
    fn state_bytes(&self) -> u64 {
        let columns = size_of_val(&self.logical[..])
            + size_of_val(&self.d_programmed[..]) * 2
            + self.d_disturb.len()
            + size_of_val(&self.u_blocks[..]);
        columns as u64 + self.counters.u_blocks_max * self.pages as u64 * 4
    }
}

impl LookAhead for Nftl {
    /// Prefetches the pointers and the bits of a logical block; no effect on results.
    #[inline]
    fn expect(&self, lpn: Lpn) {
        let (logical, offset) = self.split(lpn);
        prefetch(self.logical.get(logical));
        prefetch(self.d_valid.get(logical * self.words + (offset >> 6)));
    }

    #[inline]
    fn expect_overwrite(&self, lpn: Lpn) {
        let (logical, offset) = self.split(lpn);
        prefetch(self.d_programmed.get(logical * self.words + (offset >> 6)));
        self.expect_in_u(logical, offset);
    }

    /// A page that has no U-block beside it is found in D.
    #[inline]
    fn expect_look_up(&self, lpn: Lpn) -> Option<PageAddress> {
        let (logical, offset) = self.split(lpn);
        let d = self.logical.get(logical)?.d;
        let is_in_d = !self.expect_in_u(logical, offset) && d != NONE;
        is_in_d.then(|| PageAddress::new(BlockId(d), offset as u16))
    }
}
