//! The superblock FTL of 2006 (Kang, Jo, Kim and Lee, *A Superblock-based Flash Translation Layer for NAND
//! Flash Memory*, EMSOFT'06).
//!
//! Built: superblocks of N adjacent logical blocks, page-mapped inside N D-blocks and some U-blocks
//! (section 4.1); the map in three levels, in RAM or in spare areas with an LRU cache (section 4.2, [`map`]
//! and [`spare`]); garbage collection in two steps, its special case, and the ninth block (section 4.3,
//! planned by [`crate::merge::plan::superblock_merge`]); the map rebuilt from spare areas ([`rebuild`]).
//!
//! Chosen, where the paper is silent: a superblock that owns fewer than N blocks (a device that was never
//! full) takes a new one as D-block; only U-blocks and such D-blocks take host writes; of the blocks
//! without valid pages the one that became so first is erased; of the U-blocks of a superblock that
//! hold valid pages the one allocated first is promoted; pages are copied source by source, in page order.
//!
//! Deviation: while a full merge runs, its superblock owns one block more than the limit.
//!
//! After a power cut every superblock that is found with more than N blocks is brought down to N before the host is
//! served ([`crate::recovery`]). The paper leaves recovery to future work. With the map in spare areas, a scan gives the
//! page global directory, and the tables of the page written last give the rest ([`rebuild`]). A scan reads every spare
//! area, so the logical pages and numbers in them say the same without the tables. The image has a number of the
//! program; what it lacks is that of the write, without which nobody can tell that two copies hold the same, and so
//! which of them may be erased when cuts have used up the free blocks. These six bytes are the addition: 69 in all,
//! more than the 64 of the paper's chips. M-Merge adds a role of one byte: leaves of a block that it restored, or that was
//! in a superblock of more than N blocks, count as disturbed as often as they bear. Lost, and not needed: which blocks
//! were U-blocks, and the cache.

mod collection;
mod m_merge;
pub mod map;
pub mod rebuild;
pub mod spare;
mod superblock_2006_spec;

use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

use pumice_types::{BlockId, PageAddress, SpareRole};

use super::plane_book::{NO_BLOCK, PlaneBook, Shared, Step};
use super::striped::PlaneFtl;
use crate::blocks::recency::Recency;
use crate::merge::plan::{BlockFill, SuperblockMerge, ValidBlocks};
use crate::plan::{FtlError, InitialBlock};
use crate::recovery::KeptUnit;
use collection::Scope;
use m_merge::RestoredBlocks;
use map::SpareMap;
use spare::SpareImage;

/// A page map in spare areas, with a cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SpareTables {
    /// Logical blocks whose tables are cached.
    pub cache_entries: u32,
    /// Whether to keep what is programmed into spare areas, for [`Superblock2006::take_images`].
    pub keep_images: bool,
}

/// Settings of a plane.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct SuperblockConfig {
    /// N: logical blocks, and D-blocks, of a superblock.
    pub logical: u32,
    /// Blocks that a superblock may own.
    pub physical: u32,
    /// U-blocks of the plane.
    pub u_blocks: u32,
    /// The page map in spare areas; `None` if all of it is in RAM.
    pub tables: Option<SpareTables>,
    /// What full merges do with D-blocks that are wholly valid.
    pub valid_blocks: ValidBlocks,
}

/// One superblock: its blocks are a list through [`Owned::next`].
#[derive(Clone, Copy, Serialize, Deserialize)]
struct Superblock {
    first: BlockId,
    /// Block that takes host writes, until it is full.
    open: BlockId,
    d_blocks: u32,
    u_blocks: u32,
}

/// One physical block.
#[derive(Clone, Copy, Serialize, Deserialize)]
struct Owned {
    superblock: u32,
    next: BlockId,
    is_u: bool,
    /// In the queue of blocks without valid pages.
    is_queued: bool,
}

/// One plane of the superblock FTL.
#[derive(Clone, Serialize, Deserialize)]
pub struct Superblock2006 {
    book: PlaneBook,
    config: SuperblockConfig,
    superblocks: Vec<Superblock>,
    owned: Vec<Owned>,
    /// U-blocks by their last host write.
    recency: Recency,
    /// Blocks without valid pages, of superblocks that had a U-block when they were queued.
    dead: VecDeque<BlockId>,
    u_blocks: u32,
    map: Option<SpareMap>,
    /// D-blocks of the superblock that is merged.
    sources: Vec<BlockId>,
    fills: Vec<BlockFill>,
    /// What M-Merge knows; `None` if no superblock is merged so.
    restored: Option<Box<RestoredBlocks>>,
}

const NOBODYS: Owned = Owned { superblock: u32::MAX, next: NO_BLOCK, is_u: false, is_queued: false };

impl Superblock2006 {
    /// An empty plane.
    pub fn new(book: PlaneBook, config: SuperblockConfig) -> Superblock2006 {
        let (blocks, logical) = (book.blocks() as usize, book.logical_blocks());
        let empty = Superblock { first: NO_BLOCK, open: NO_BLOCK, d_blocks: 0, u_blocks: 0 };
        let map = config.tables.map(|tables| SpareMap::new(logical, tables.cache_entries, tables.keep_images));
        Superblock2006 {
            superblocks: vec![empty; (logical / config.logical) as usize],
            owned: vec![NOBODYS; blocks],
            recency: Recency::new(blocks),
            dead: VecDeque::with_capacity(blocks),
            u_blocks: 0,
            map,
            sources: Vec::with_capacity(config.logical as usize),
            fills: Vec::with_capacity(config.logical as usize),
            restored: None,
            book,
            config,
        }
    }

    /// Takes the spare areas of the pages programmed since this was last asked, in their order; none unless
    /// [`SpareTables::keep_images`] asks for them.
    pub fn take_images(&mut self) -> Vec<SpareImage> {
        self.map.as_mut().map(SpareMap::take_images).unwrap_or_default()
    }

    fn owned(&self, block: BlockId) -> &Owned {
        &self.owned[self.book.index(block)]
    }

    fn owned_mut(&mut self, block: BlockId) -> &mut Owned {
        let index = self.book.index(block);
        &mut self.owned[index]
    }

    /// The block after `block` in its superblock's list, or its first block.
    fn following(&self, superblock: u32, block: Option<BlockId>) -> Option<BlockId> {
        let next = match block {
            Some(block) => self.owned(block).next,
            None => self.superblocks[superblock as usize].first,
        };
        (next != NO_BLOCK).then_some(next)
    }

    /// Blocks of a superblock, the one added last first.
    fn blocks_of(&self, superblock: u32) -> impl Iterator<Item = BlockId> + '_ {
        std::iter::successors(self.following(superblock, None), move |&block| self.following(superblock, Some(block)))
    }

    /// Adds a block to a superblock.
    fn adopt(&mut self, superblock: u32, block: BlockId, is_u: bool) {
        let group = &mut self.superblocks[superblock as usize];
        let next = std::mem::replace(&mut group.first, block);
        *(if is_u { &mut group.u_blocks } else { &mut group.d_blocks }) += 1;
        *self.owned_mut(block) = Owned { superblock, next, is_u, is_queued: false };
    }

    /// Adds a U-block, and looks for blocks that garbage collection may now consider.
    fn adopt_u(&mut self, superblock: u32, block: BlockId, step: &mut Step) {
        self.adopt(superblock, block, true);
        self.u_blocks += 1;
        step.shared.note_u_taken();
        let mut other = self.owned(block).next;
        while other != NO_BLOCK {
            self.queue_if_dead(other);
            other = self.owned(other).next;
        }
    }

    /// A U-block of a superblock is one no more: it was promoted, or is about to be erased.
    fn retire_u(&mut self, block: BlockId, step: &mut Step) {
        let superblock = self.owned(block).superblock;
        self.owned_mut(block).is_u = false;
        let index = self.book.index(block) as u32;
        self.recency.remove(index);
        let group = &mut self.superblocks[superblock as usize];
        group.u_blocks -= 1;
        group.d_blocks += 1;
        if group.open == block {
            group.open = NO_BLOCK;
        }
        self.u_blocks -= 1;
        step.shared.note_u_gone();
    }

    /// Erases a D-block that holds nothing current and takes it off its superblock.
    fn erase(&mut self, block: BlockId, step: &mut Step) {
        let Owned { superblock, next, .. } = *self.owned(block);
        let group = &mut self.superblocks[superblock as usize];
        group.d_blocks -= 1;
        if group.open == block {
            group.open = NO_BLOCK;
        }
        if group.first == block {
            group.first = next;
        }
        let before = self.blocks_of(superblock).find(|&other| self.owned(other).next == block);
        if let Some(before) = before {
            self.owned_mut(before).next = next;
        }
        if self.owned(block).is_queued {
            self.dead.retain(|&queued| queued != block);
        }
        *self.owned_mut(block) = NOBODYS;
        let index = self.book.index(block);
        self.restored.iter_mut().for_each(|restored| restored.leaves.erase(index));
        self.book.erase(block, step);
    }

    /// Queues a block without valid pages, if its superblock has a U-block.
    fn queue_if_dead(&mut self, block: BlockId) {
        let is_dead = self.book.valid_pages(block) == 0 && self.book.next(block) > 0;
        let Owned { superblock, is_queued, .. } = *self.owned(block);
        if is_dead && !is_queued && self.superblocks[superblock as usize].u_blocks > 0 {
            self.dead.push_back(block);
            self.owned_mut(block).is_queued = true;
        }
    }

    /// The block that takes the next host write of a superblock, after the garbage collection that this
    /// takes.
    fn open_block(&mut self, superblock: u32, step: &mut Step) -> Result<BlockId, FtlError> {
        let open = self.superblocks[superblock as usize].open;
        if open != NO_BLOCK && self.book.free_pages(open) > 0 {
            return Ok(open);
        }
        self.superblocks[superblock as usize].open = NO_BLOCK;
        let Superblock { d_blocks, u_blocks, .. } = self.superblocks[superblock as usize];
        if d_blocks + u_blocks == self.config.physical {
            step.shared.counters.trigger_intra += 1;
            self.reclaim(Scope::Superblock(superblock), step)?;
        }
        let is_u = self.superblocks[superblock as usize].d_blocks == self.config.logical;
        if is_u && self.u_blocks == self.config.u_blocks {
            step.shared.counters.trigger_inter += 1;
            self.reclaim(Scope::Plane, step)?;
        }
        let block = self.book.take(step)?;
        match is_u {
            true => self.adopt_u(superblock, block, step),
            false => self.adopt(superblock, block, false),
        }
        self.superblocks[superblock as usize].open = block;
        Ok(block)
    }

    /// Brings the tables of a page's logical block into the cache.
    fn load(&mut self, local: u32, step: &mut Step) {
        if let Some(map) = &mut self.map {
            map.load(self.book.split(local).0, &self.book, step);
        }
    }

    /// Brings the tables of all logical blocks of a superblock into the cache: which pages of its blocks
    /// are valid is found there.
    fn load_tables(&mut self, superblock: u32, step: &mut Step) {
        if let Some(map) = &mut self.map {
            let first = superblock * self.config.logical;
            (first..first + self.config.logical).for_each(|logical| map.load(logical, &self.book, step));
        }
    }

    /// Copies the current copy of a stored page within its superblock.
    fn copy(&mut self, local: u32, to: PageAddress, step: &mut Step) {
        self.load(local, step);
        let index = self.book.index(to.block);
        let role = self.restored.as_ref().map_or(SpareRole::Home, |restored| restored.leaves.role(index));
        self.book.copy_as(role, local, to, step);
        self.note_program(local, to);
    }

    fn note_program(&mut self, local: u32, at: PageAddress) {
        if let Some(map) = &mut self.map {
            map.note_program(local, at, &self.book);
        }
    }
}

impl PlaneFtl for Superblock2006 {
    const IN_PLACE: bool = false;

    fn book(&self) -> &PlaneBook {
        &self.book
    }

    fn book_mut(&mut self) -> &mut PlaneBook {
        &mut self.book
    }

    fn adopt_kept(&mut self, superblock: u32, found: &KeptUnit) {
        let blocks = &found.blocks;
        for kept in blocks {
            self.adopt(superblock, kept.block, false);
            let index = self.book.index(kept.block);
            self.restored.iter_mut().for_each(|restored| restored.leaves.adopt(index, kept, found.was_larger));
        }
        // The tables in the spare area of the page programmed last are the newest.
        let pages = blocks.iter().flat_map(|kept| kept.pages.iter().map(|found| (kept.block, *found)));
        let mut pages: Vec<_> = pages.collect();
        pages.sort_unstable_by_key(|(_, found)| found.order);
        for (block, found) in pages {
            self.note_program(self.book.local(found.lpn), PageAddress::new(block, found.page));
        }
    }

    fn fill(&mut self, logical: u32, pages: u16, shared: &mut Shared) -> Result<InitialBlock, FtlError> {
        let filled = self.book.fill(logical, pages, &mut shared.pool)?;
        self.adopt(logical / self.config.logical, filled.block, false);
        if let Some(map) = &mut self.map {
            map.note_fill(logical, self.book.index(filled.block), [pages, self.book.pages()]);
        }
        Ok(filled)
    }

    fn write(&mut self, local: u32, version: u8, step: &mut Step) -> Result<(), FtlError> {
        let superblock = self.book.split(local).0 / self.config.logical;
        let block = self.open_block(superblock, step)?;
        self.load(local, step);
        let target = PageAddress::new(block, self.book.next(block));
        let old = self.book.program(local, version, target, step);
        self.note_program(local, target);
        if self.owned(block).is_u {
            self.recency.touch(self.book.index(block) as u32);
        }
        if let Some(old) = old {
            self.queue_if_dead(old);
        }
        Ok(())
    }

    fn look_up(&mut self, local: u32, step: &mut Step) {
        self.load(local, step);
    }

    fn reads_map_in_spare(&self) -> bool {
        self.map.is_some()
    }

    fn merge_all(&mut self, step: &mut Step) -> Result<(), FtlError> {
        while self.u_blocks > 0 {
            self.reclaim(Scope::Plane, step)?;
        }
        Ok(())
    }

    /// In RAM: four bytes a page. In spare areas: four bytes of PGD a logical block and, for each cached
    /// entry, its PBMT, PMD and PTs. In both cases a byte of valid pages for each block, and for each
    /// U-block its number, its superblock and its write pointer; with M-Merge the counters of disturbs and of M-Merges.
    fn map_ram_bytes(&self) -> u64 {
        let logical_blocks = u64::from(self.book.logical_blocks());
        let tables = match self.config.tables {
            None => logical_blocks * u64::from(self.book.pages()) * 4,
            Some(SpareTables { cache_entries, .. }) => {
                logical_blocks * 4 + u64::from(cache_entries) * CACHE_ENTRY_BYTES
            }
        };
        let blocks = u64::from(self.book.blocks());
        let m_merge = self.restored.as_ref().map_or(0, |restored| restored.ram_bytes(self.book.blocks()));
        tables + blocks + u64::from(self.config.u_blocks) * (4 + 4 + 2) + m_merge
    }

    fn state_bytes(&self) -> u64 {
        let columns =
            size_of_val(&self.superblocks[..]) + size_of_val(&self.owned[..]) + self.owned.len() * size_of::<BlockId>();
        let map = self.map.as_ref().map_or(0, SpareMap::state_bytes);
        let leaves = self.restored.as_ref().map_or(0, |restored| restored.leaves.state_bytes());
        self.book.state_bytes() + columns as u64 + self.recency.state_bytes() + map + leaves
    }
}

/// A PBMT, a PMD and four PTs: 7 × 16 + 4 × 9 + 64 × 9 bits.
const CACHE_ENTRY_BYTES: u64 = (7 * 16 + 4 * 9 + 64 * 9_u64).div_ceil(8);
