//! What the controller believes of each physical block: which pages are programmed and valid, whose
//! they are, and how often their leaves were disturbed.

use serde::{Deserialize, Serialize};
use std::ops::Range;

use pumice_types::{BlockId, Geometry, PageAddress, Pb, PbTree, SpareRole, bits};

use crate::merge::leaves::BlockLeaves;
use crate::merge::restore::{LeafState, MMergeSettings};
use crate::recovery::{KeptBlock, KeptUnit};

/// One block's sums.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct BlockSums {
    superblock: u32,
    sequence: u32,
    valid: u16,
    programmed: u16,
    /// Blank pages that may be programmed.
    blank: u16,
    /// No blank page that may be programmed lies before this one.
    cursor: u16,
}

/// Pages and leaves of all blocks, in columns.
#[derive(Clone, Serialize, Deserialize)]
pub struct Blocks {
    words: usize,
    leaves: BlockLeaves,
    programmed: Vec<u64>,
    valid: Vec<u64>,
    /// Offset inside its superblock of the logical page that each page holds.
    owner: Vec<u16>,
    sums: Vec<BlockSums>,
}

impl Blocks {
    /// Blank blocks, with M-Merge's limits if it runs.
    pub fn new(geometry: &Geometry, tree: PbTree, m_merge: Option<MMergeSettings>) -> Blocks {
        let (blocks, pages) = (geometry.blocks() as usize, tree.pages_per_block());
        let words = bits::words_for(pages);
        Blocks {
            words,
            leaves: BlockLeaves::new(tree, blocks, m_merge),
            programmed: vec![0; blocks * words],
            valid: vec![0; blocks * words],
            owner: vec![0; blocks * pages],
            sums: vec![BlockSums::default(); blocks],
        }
    }

    /// Bytes of the columns.
    pub fn state_bytes(&self) -> u64 {
        let bitmaps = size_of_val(&self.programmed[..]) + size_of_val(&self.valid[..]);
        (bitmaps + size_of_val(&self.owner[..]) + size_of_val(&self.sums[..])) as u64 + self.leaves.state_bytes()
    }

    /// Gives a blank block to a superblock.
    pub fn open(&mut self, block: BlockId, superblock: u32, sequence: u32) {
        let blank = self.pages() as u16;
        self.sums[block.index()] = BlockSums { superblock, sequence, blank, ..BlockSums::default() };
    }

    /// Programs the first pages of a blank block with the logical pages from `first` on.
    pub fn fill(&mut self, block: BlockId, first: u16, pages: u16) {
        let words = self.words_of(block);
        bits::set_range(&mut self.programmed[words.clone()], 0, usize::from(pages));
        bits::set_range(&mut self.valid[words], 0, usize::from(pages));
        let start = self.column(PageAddress::new(block, 0));
        for page in 0..pages {
            self.owner[start + usize::from(page)] = first + page;
        }
        let sums = &mut self.sums[block.index()];
        (sums.programmed, sums.valid, sums.cursor) = (pages, pages, pages);
        sums.blank -= pages;
    }

    /// PenSuperblock that owns a block in use.
    pub fn superblock(&self, block: BlockId) -> usize {
        self.sums[block.index()].superblock as usize
    }

    /// Sequence number of a block in use.
    pub fn sequence(&self, block: BlockId) -> u32 {
        self.sums[block.index()].sequence
    }

    /// Valid pages of a block.
    pub fn valid_count(&self, block: BlockId) -> u32 {
        u32::from(self.sums[block.index()].valid)
    }

    /// Blank pages of a block that may be programmed.
    pub fn blank_count(&self, block: BlockId) -> u32 {
        u32::from(self.sums[block.index()].blank)
    }

    /// Superseded pages of a block.
    pub fn invalid_count(&self, block: BlockId) -> u32 {
        let sums = &self.sums[block.index()];
        u32::from(sums.programmed - sums.valid)
    }

    /// The next page of a block to program: leaf by leaf upwards, which chips that program in order
    /// ask for.
    #[inline]
    pub fn next_blank(&mut self, block: BlockId) -> Option<PageAddress> {
        if self.sums[block.index()].blank == 0 {
            return None;
        }
        let from = usize::from(self.sums[block.index()].cursor);
        let page = self.leaves.next_blank(block.index(), &self.programmed[self.words_of(block)], from)?;
        self.sums[block.index()].cursor = page as u16;
        Some(PageAddress::new(block, page as u16))
    }

    /// The first valid page of a block from `from` on.
    #[inline]
    pub fn next_valid(&self, block: BlockId, from: usize) -> Option<PageAddress> {
        let page = bits::next_set(&self.valid[self.words_of(block)], from, self.pages())?;
        Some(PageAddress::new(block, page as u16))
    }

    /// Offset inside its superblock of the logical page that a page holds.
    #[inline]
    pub fn owner(&self, page: PageAddress) -> u16 {
        self.owner[self.column(page)]
    }

    /// Notes that a blank page is programmed with a logical page, which is valid there.
    #[inline]
    pub fn program(&mut self, page: PageAddress, owner: u16) {
        let (words, column) = (self.words_of(page.block), self.column(page));
        let index = usize::from(page.page);
        debug_assert!(!bits::get(&self.programmed[words.clone()], index));
        bits::set(&mut self.programmed[words.clone()], index);
        bits::set(&mut self.valid[words], index);
        self.owner[column] = owner;
        let sums = &mut self.sums[page.block.index()];
        sums.programmed += 1;
        sums.valid += 1;
        sums.blank -= 1;
    }

    /// Notes that a page is superseded.
    #[inline]
    pub fn invalidate(&mut self, page: PageAddress) {
        let words = self.words_of(page.block);
        debug_assert!(bits::get(&self.valid[words.clone()], usize::from(page.page)));
        bits::clear(&mut self.valid[words], usize::from(page.page));
        self.sums[page.block.index()].valid -= 1;
    }

    /// Notes the erase of a block without valid pages.
    pub fn erase(&mut self, block: BlockId) {
        debug_assert_eq!(self.valid_count(block), 0);
        let words = self.words_of(block);
        self.programmed[words].fill(0);
        self.leaves.erase(block.index());
        self.sums[block.index()] = BlockSums::default();
    }

    /// Notes the erase of a partial block without valid pages, and what it does to its neighbours.
    pub fn partial_erase(&mut self, block: BlockId, pb: Pb) {
        let (words, pages) = (self.words_of(block), self.leaves.tree().page_range(pb));
        let programmed = &mut self.programmed[words];
        bits::clear_range(programmed, pages.start, pages.end);
        self.leaves.partial_erase(block.index(), pb, programmed);
        self.recount(block);
    }

    /// What a page that is programmed in a block now is for: after a power cut it tells that leaves may be disturbed.
    pub fn role(&self, block: BlockId) -> SpareRole {
        self.leaves.role(block.index())
    }

    /// Takes a block over that was kept after a power cut. What is blank in it counts as programmed, unless it was
    /// erased since.
    pub fn adopt(&mut self, kept: &KeptBlock, found: &KeptUnit, span: u32) {
        let superblock = found.unit;
        self.open(kept.block, superblock, kept.sequence);
        for found in &kept.pages {
            self.program(PageAddress::new(kept.block, found.page), (found.lpn.0 % span) as u16);
        }
        self.leaves.adopt(kept.block.index(), kept, found.was_larger);
        if !kept.is_fresh {
            let (words, pages) = (self.words_of(kept.block), self.pages());
            bits::set_range(&mut self.programmed[words], 0, pages);
            let sums = &mut self.sums[kept.block.index()];
            (sums.programmed, sums.blank, sums.cursor) = (pages as u16, 0, pages as u16);
        }
    }

    /// Sums up a block leaf by leaf for the planner.
    pub fn describe(&self, block: BlockId, leaves: &mut Vec<LeafState>) {
        let words = self.words_of(block);
        self.leaves.describe(block.index(), &self.programmed[words.clone()], &self.valid[words], leaves);
    }

    /// Counts a block's pages after its leaves changed.
    fn recount(&mut self, block: BlockId) {
        let programmed = &self.programmed[self.words_of(block)];
        let blank = self.leaves.blank_count(block.index(), programmed) as u16;
        let total = bits::count_range(programmed, 0, self.pages()) as u16;
        let sums = &mut self.sums[block.index()];
        (sums.programmed, sums.blank, sums.cursor) = (total, blank, 0);
    }

    #[inline]
    fn pages(&self) -> usize {
        self.leaves.tree().pages_per_block()
    }

    #[inline]
    fn words_of(&self, block: BlockId) -> Range<usize> {
        block.index() * self.words..(block.index() + 1) * self.words
    }

    #[inline]
    fn column(&self, page: PageAddress) -> usize {
        page.block.index() * self.pages() + usize::from(page.page)
    }
}
