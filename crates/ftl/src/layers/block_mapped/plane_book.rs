//! What the FTLs of this folder that work plane by plane believe about the pages of one plane: where each
//! logical page is, which physical pages are programmed and valid. Every change of belief goes through
//! here, together with the flash command that makes it true.
//!
//! Logical pages are counted inside the plane (*local*). The maps hold differences from the initial fill
//! (entry 0 means "as filled"), so that a device starts at the cost of its blocks.

use std::ops::Range;

use pumice_types::{BlockId, Cause, FlashCommand, Geometry, Lpn, PageAddress, PlaneId, SpareRole, bits};
use serde::{Deserialize, Serialize};

use crate::blocks::block_pool::BlockPool;
use crate::plan::{FtlError, GcCounters, InitialBlock, Plan};
use crate::recovery::KeptBlock;
use crate::seam::Proofs;

/// What all planes share.
#[derive(Clone, Serialize, Deserialize)]
pub struct Shared {
    /// Free blocks.
    pub pool: BlockPool,
    /// What garbage collection did so far.
    pub counters: GcCounters,
    /// Blocks that nothing proves to be erased, after a power cut.
    pub proofs: Proofs,
    u_blocks_used: u64,
}

impl Shared {
    /// After a power cut: no U-block is in use.
    pub fn found(pool: BlockPool, proofs: Proofs, counters: GcCounters) -> Shared {
        Shared { pool, counters, proofs, u_blocks_used: 0 }
    }

    /// Everything free.
    pub fn new(geometry: &Geometry, bad_blocks: &[BlockId]) -> Shared {
        let pool = BlockPool::new(geometry, bad_blocks);
        Shared { pool, counters: GcCounters::default(), proofs: Proofs::default(), u_blocks_used: 0 }
    }

    /// U-blocks in use.
    pub fn u_blocks_used(&self) -> u64 {
        self.u_blocks_used
    }

    /// One more U-block is in use.
    pub fn note_u_taken(&mut self) {
        self.u_blocks_used += 1;
        self.counters.u_blocks_max = self.counters.u_blocks_max.max(self.u_blocks_used);
    }

    /// One U-block less is in use.
    pub fn note_u_gone(&mut self) {
        self.u_blocks_used -= 1;
    }
}

/// One page access in the making.
pub struct Step<'a> {
    /// What all planes share.
    pub shared: &'a mut Shared,
    /// The commands so far.
    pub plan: &'a mut Plan,
}

/// Where a plane's logical pages stand among those of the device: units of `unit_pages` are dealt out to
/// the planes in turn.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct PlanePlace {
    /// The plane.
    pub plane: PlaneId,
    /// Place of the plane in the order in which units are dealt out.
    pub turn: u32,
    /// Planes of the device.
    pub planes: u32,
    /// Logical pages of a unit.
    pub unit_pages: u32,
}

/// "None" for blocks.
pub const NO_BLOCK: BlockId = BlockId(u32::MAX);

/// One block.
#[derive(Clone, Copy, Default, Serialize, Deserialize)]
struct BlockBelief {
    sequence: u32,
    /// Logical block that the initial fill put here.
    filled_with: u32,
    /// One past the highest programmed page.
    next: u16,
    valid: u16,
}

/// The initial fill of a logical block.
#[derive(Clone, Copy, Serialize, Deserialize)]
struct Filled {
    block: BlockId,
    pages: u16,
}

/// The belief about one plane.
#[derive(Clone, Serialize, Deserialize)]
pub struct PlaneBook {
    place: PlanePlace,
    first_block: u32,
    pages: u16,
    words: usize,
    /// Local page to physical page of the plane: 0 as filled, else that page + 1.
    to_physical: Vec<u32>,
    /// Physical page of the plane to local page, in the same coding as `to_physical`.
    to_local: Vec<u32>,
    valid: Vec<u64>,
    programmed: Vec<u64>,
    blocks: Vec<BlockBelief>,
    filled: Vec<Filled>,
}

impl PlaneBook {
    /// An empty plane with this many logical blocks.
    pub fn new(geometry: &Geometry, place: PlanePlace, logical_blocks: u32) -> PlaneBook {
        let pages = geometry.pages_per_block;
        let words = bits::words_for(usize::from(pages));
        let blocks = geometry.blocks_per_plane as usize;
        PlaneBook {
            place,
            first_block: geometry.block(place.plane, 0).0,
            pages,
            words,
            to_physical: vec![0; logical_blocks as usize * usize::from(pages)],
            to_local: vec![0; blocks * usize::from(pages)],
            valid: vec![0; blocks * words],
            programmed: vec![0; blocks * words],
            blocks: vec![BlockBelief::default(); blocks],
            filled: vec![Filled { block: NO_BLOCK, pages: 0 }; logical_blocks as usize],
        }
    }

    /// The plane.
    pub fn plane(&self) -> PlaneId {
        self.place.plane
    }

    /// Bytes of the columns.
    pub fn state_bytes(&self) -> u64 {
        let columns = size_of_val(&self.to_physical[..])
            + size_of_val(&self.to_local[..])
            + size_of_val(&self.valid[..]) * 2
            + size_of_val(&self.blocks[..])
            + size_of_val(&self.filled[..]);
        columns as u64
    }

    /// Pages of a block.
    #[inline]
    pub fn pages(&self) -> u16 {
        self.pages
    }

    /// Logical blocks of the plane.
    pub fn logical_blocks(&self) -> u32 {
        self.filled.len() as u32
    }

    /// Blocks of the plane.
    pub fn blocks(&self) -> u32 {
        self.blocks.len() as u32
    }

    /// Index of a block inside the plane.
    #[inline]
    pub fn index(&self, block: BlockId) -> usize {
        (block.0 - self.first_block) as usize
    }

    /// The block with an index inside the plane.
    #[inline]
    pub fn block(&self, index: u32) -> BlockId {
        BlockId(self.first_block + index)
    }

    /// Logical block and page offset of a local page.
    #[inline]
    pub fn split(&self, local: u32) -> (u32, u16) {
        (local / u32::from(self.pages), (local % u32::from(self.pages)) as u16)
    }

    /// The local page's number on the whole device.
    #[inline]
    pub fn lpn(&self, local: u32) -> Lpn {
        let PlanePlace { turn, planes, unit_pages, .. } = self.place;
        Lpn((local / unit_pages * planes + turn) * unit_pages + local % unit_pages)
    }

    /// The number inside the plane of a logical page of it.
    pub fn local(&self, lpn: Lpn) -> u32 {
        let PlanePlace { planes, unit_pages, .. } = self.place;
        lpn.0 / unit_pages / planes * unit_pages + lpn.0 % unit_pages
    }

    /// Takes a block over that was kept after a power cut. What is blank in it counts as programmed, unless it was
    /// erased since.
    pub fn adopt(&mut self, kept: &KeptBlock) {
        let (index, words) = (self.index(kept.block), self.words_of(kept.block));
        for found in &kept.pages {
            let physical = self.physical(PageAddress::new(kept.block, found.page));
            let local = self.local(found.lpn);
            self.to_physical[local as usize] = physical + 1;
            self.to_local[physical as usize] = local + 1;
            bits::set(&mut self.valid[words.clone()], usize::from(found.page));
            bits::set(&mut self.programmed[words.clone()], usize::from(found.page));
        }
        let mut next = kept.pages.iter().map(|found| found.page + 1).max().unwrap_or(0);
        if !kept.is_fresh {
            bits::set_range(&mut self.programmed[words], 0, usize::from(self.pages));
            next = self.pages;
        }
        let valid = kept.pages.len() as u16;
        self.blocks[index] = BlockBelief { sequence: kept.sequence, next, valid, ..BlockBelief::default() };
    }

    /// One past the highest programmed page of a block.
    #[inline]
    pub fn next(&self, block: BlockId) -> u16 {
        self.blocks[self.index(block)].next
    }

    /// Pages above the highest programmed one.
    #[inline]
    pub fn free_pages(&self, block: BlockId) -> u16 {
        self.pages - self.next(block)
    }

    /// Current pages of a block.
    #[inline]
    pub fn valid_pages(&self, block: BlockId) -> u16 {
        self.blocks[self.index(block)].valid
    }

    /// Programmed pages of a block.
    pub fn programmed_pages(&self, block: BlockId) -> u16 {
        bits::count_range(&self.programmed[self.words_of(block)], 0, usize::from(self.pages)) as u16
    }

    /// Sequence number of a block: its allocation order.
    pub fn sequence(&self, block: BlockId) -> u32 {
        self.blocks[self.index(block)].sequence
    }

    /// Whether a page is programmed.
    #[inline]
    pub fn is_programmed(&self, page: PageAddress) -> bool {
        bits::get(&self.programmed[self.words_of(page.block)], usize::from(page.page))
    }

    /// Where the current copy of a local page is.
    #[inline]
    pub fn locate(&self, local: u32) -> Option<PageAddress> {
        match self.to_physical[local as usize] {
            0 => {
                let (logical, offset) = self.split(local);
                let filled = self.filled[logical as usize];
                (offset < filled.pages).then_some(PageAddress::new(filled.block, offset))
            }
            entry => Some(self.address(entry - 1)),
        }
    }

    /// The lowest valid page of a block from `from` on.
    pub fn next_valid(&self, block: BlockId, from: usize) -> Option<PageAddress> {
        let page = bits::next_set(self.valid_bits(block), from, usize::from(self.pages))?;
        Some(PageAddress::new(block, page as u16))
    }

    /// The local page that a physical page was programmed with.
    #[inline]
    pub fn owner(&self, page: PageAddress) -> u32 {
        match self.to_local[self.physical(page) as usize] {
            0 => {
                let filled_with = self.blocks[self.index(page.block)].filled_with;
                filled_with * u32::from(self.pages) + u32::from(page.page)
            }
            entry => entry - 1,
        }
    }

    /// Takes a free block.
    ///
    /// # Errors
    /// [`FtlError`] if there is none, which validation rules out.
    pub fn take(&mut self, step: &mut Step) -> Result<BlockId, FtlError> {
        let PlaneId(plane) = self.place.plane;
        let (block, sequence) = step.shared.pool.take(PlaneId(plane)).ok_or(FtlError::NoFreeBlock { plane })?;
        let index = self.index(block);
        self.blocks[index].sequence = sequence;
        step.shared.proofs.prove(block, step.plan);
        Ok(block)
    }

    /// Takes a block and stores the first `pages` pages of a logical block in it, in place, before the
    /// first request. Costs nothing per page.
    ///
    /// # Errors
    /// As [`PlaneBook::take`].
    pub fn fill(&mut self, logical: u32, pages: u16, pool: &mut BlockPool) -> Result<InitialBlock, FtlError> {
        let PlaneId(plane) = self.place.plane;
        let (block, sequence) = pool.take(PlaneId(plane)).ok_or(FtlError::NoFreeBlock { plane })?;
        let (index, words) = (self.index(block), self.words_of(block));
        bits::set_range(&mut self.valid[words.clone()], 0, usize::from(pages));
        bits::set_range(&mut self.programmed[words], 0, usize::from(pages));
        self.blocks[index] = BlockBelief { sequence, filled_with: logical, next: pages, valid: pages };
        self.filled[logical as usize] = Filled { block, pages };
        let first = self.lpn(logical * u32::from(self.pages));
        Ok(InitialBlock { block, first, stride: 1, pages, sequence })
    }

    /// Programs a page for the host. Returns the block that held the page before.
    pub fn program(&mut self, local: u32, version: u8, target: PageAddress, step: &mut Step) -> Option<BlockId> {
        let old = self.move_to(local, target);
        let sequence = self.sequence(target.block);
        step.plan.push(FlashCommand::program(Cause::Host, target, self.lpn(local), version, sequence));
        old.map(|page| page.block)
    }

    /// Copies the current copy of a stored page.
    pub fn copy(&mut self, local: u32, target: PageAddress, step: &mut Step) {
        self.copy_as(SpareRole::Home, local, target, step);
    }

    /// Copies the current copy of a stored page, which says in its spare area what it is for.
    pub fn copy_as(&mut self, role: SpareRole, local: u32, target: PageAddress, step: &mut Step) {
        if let Some(source) = self.move_to(local, target) {
            let sequence = self.sequence(target.block);
            step.plan.push(FlashCommand::copy(source, target, self.lpn(local), sequence).with_mark(role));
            step.shared.counters.copied_pages += 1;
        }
    }

    /// Erases a block that holds nothing current and frees it.
    pub fn erase(&mut self, block: BlockId, step: &mut Step) {
        debug_assert_eq!(self.valid_pages(block), 0, "only blocks without valid pages are erased");
        let (index, words) = (self.index(block), self.words_of(block));
        self.programmed[words].fill(0);
        self.blocks[index] = BlockBelief::default();
        step.plan.push(FlashCommand::erase(block));
        step.shared.pool.give_back(self.place.plane, block);
    }

    /// Current pages of a block, one bit each.
    pub fn valid_bits(&self, block: BlockId) -> &[u64] {
        &self.valid[self.words_of(block)]
    }

    /// Programmed pages of a block, one bit each.
    pub fn programmed_bits(&self, block: BlockId) -> &[u64] {
        &self.programmed[self.words_of(block)]
    }

    /// A part of a block without valid pages is erased: the merge that does it fills the part, and until the block is
    /// erased nothing else is programmed there.
    pub fn note_part_erased(&mut self, block: BlockId, pages: Range<usize>) {
        debug_assert_eq!(
            bits::count_range(self.valid_bits(block), pages.start, pages.end),
            0,
            "no valid page is erased"
        );
        let (index, words) = (self.index(block), self.words_of(block));
        bits::clear_range(&mut self.programmed[words], pages.start, pages.end);
        self.blocks[index].next = self.pages;
    }

    /// Parts of a D-block were restored: of their offsets, every current page of the logical block is in D now, and
    /// nothing else is.
    pub fn note_restored(&mut self, logical: u32, d: BlockId, offsets: impl Iterator<Item = Range<usize>>) {
        let words = self.words_of(d);
        for range in offsets {
            bits::clear_range(&mut self.programmed[words.clone()], range.start, range.end);
            for offset in range {
                let local = logical * u32::from(self.pages) + offset as u32;
                let target = PageAddress::new(d, offset as u16);
                match self.locate(local) {
                    None => {}
                    Some(place) if place == target => bits::set(&mut self.programmed[words.clone()], offset),
                    Some(_) => drop(self.move_to(local, target)),
                }
            }
        }
        let last = self.programmed[words].iter().enumerate().rev().find(|(_, word)| **word != 0);
        let next = last.map_or(0, |(nth, word)| nth * 64 + 64 - word.leading_zeros() as usize);
        let index = self.index(d);
        self.blocks[index].next = next as u16;
    }

    /// Maps a local page to a page that is about to be programmed; returns where it was.
    fn move_to(&mut self, local: u32, target: PageAddress) -> Option<PageAddress> {
        debug_assert!(!self.is_programmed(target));
        let old = self.locate(local);
        if let Some(old) = old {
            let (index, words) = (self.index(old.block), self.words_of(old.block));
            debug_assert!(bits::get(&self.valid[words.clone()], usize::from(old.page)));
            bits::clear(&mut self.valid[words], usize::from(old.page));
            self.blocks[index].valid -= 1;
        }
        let (index, words) = (self.index(target.block), self.words_of(target.block));
        bits::set(&mut self.valid[words.clone()], usize::from(target.page));
        bits::set(&mut self.programmed[words], usize::from(target.page));
        let block = &mut self.blocks[index];
        block.valid += 1;
        block.next = block.next.max(target.page + 1);
        let physical = self.physical(target);
        self.to_physical[local as usize] = physical + 1;
        self.to_local[physical as usize] = local + 1;
        old
    }

    #[inline]
    fn words_of(&self, block: BlockId) -> std::ops::Range<usize> {
        let index = self.index(block);
        index * self.words..(index + 1) * self.words
    }

    #[inline]
    fn physical(&self, page: PageAddress) -> u32 {
        (page.block.0 - self.first_block) * u32::from(self.pages) + u32::from(page.page)
    }

    #[inline]
    fn address(&self, physical: u32) -> PageAddress {
        let pages = u32::from(self.pages);
        PageAddress::new(BlockId(self.first_block + physical / pages), (physical % pages) as u16)
    }
}
