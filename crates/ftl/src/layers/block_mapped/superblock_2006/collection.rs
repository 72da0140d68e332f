//! Garbage collection in two steps (section 4.3): a block without valid pages is erased, or a U-block is merged with
//! D-blocks of its superblock.

use pumice_types::{BlockId, PageAddress};

use super::{Owned, Superblock2006};
use crate::layers::block_mapped::plane_book::Step;
use crate::merge::plan::{BlockFill, SuperblockMerge, SuperblockState, superblock_merge};
use crate::plan::FtlError;

/// The blocks that garbage collection may look at.
#[derive(Clone, Copy)]
pub(super) enum Scope {
    /// Every superblock with a U-block.
    Plane,
    /// One superblock.
    Superblock(u32),
}

impl Superblock2006 {
    /// Wins a free block: step 1, a block without valid pages; step 2, a merge.
    pub(super) fn reclaim(&mut self, scope: Scope, step: &mut Step) -> Result<(), FtlError> {
        if let Some(block) = self.dead_block(scope) {
            self.reclaim_dead(block, step);
            return Ok(());
        }
        match self.victim(scope) {
            Some(victim) => self.merge(victim, step),
            None => Ok(()),
        }
    }

    /// The block of the scope that lost its last valid page first.
    fn dead_block(&mut self, scope: Scope) -> Option<BlockId> {
        if let Scope::Superblock(superblock) = scope {
            return self.dead.iter().copied().find(|&block| self.owned(block).superblock == superblock);
        }
        while let Some(&block) = self.dead.front() {
            if self.superblocks[self.owned(block).superblock as usize].u_blocks > 0 {
                return Some(block);
            }
            // Its superblock has lost its U-blocks meanwhile; it is queued again when it has one.
            self.dead.pop_front();
            self.owned_mut(block).is_queued = false;
        }
        None
    }

    /// The U-block of the scope whose last host write is oldest. A superblock writes its U-blocks one after
    /// the other, so there it is the one allocated first.
    fn victim(&self, scope: Scope) -> Option<BlockId> {
        match scope {
            Scope::Plane => self.recency.oldest().map(|index| self.book.block(index)),
            Scope::Superblock(superblock) => self.oldest_u(superblock),
        }
    }

    fn oldest_u(&self, superblock: u32) -> Option<BlockId> {
        self.u_blocks_of(superblock).min_by_key(|&block| self.book.sequence(block))
    }

    /// The U-block to promote: the one allocated first of those with valid pages.
    fn to_promote(&self, superblock: u32) -> Option<BlockId> {
        let is_dead = |block| self.book.valid_pages(block) == 0;
        self.u_blocks_of(superblock).min_by_key(|&block| (is_dead(block), self.book.sequence(block)))
    }

    fn u_blocks_of(&self, superblock: u32) -> impl Iterator<Item = BlockId> + '_ {
        self.blocks_of(superblock).filter(|&block| self.owned(block).is_u)
    }

    fn note_victim(&self, u: BlockId, step: &mut Step) {
        let (written, pages) = (self.book.next(u), self.book.pages());
        step.shared.counters.note_victim(usize::from(written), usize::from(pages));
    }

    /// Step 1: erases a block without valid pages; in place of a D-block a U-block is promoted.
    fn reclaim_dead(&mut self, block: BlockId, step: &mut Step) {
        let Owned { superblock, is_u, .. } = *self.owned(block);
        let promoted = if is_u { Some(block) } else { self.to_promote(superblock) };
        if let Some(u) = promoted {
            self.note_victim(u, step);
            self.retire_u(u, step);
        }
        self.erase(block, step);
        let counters = &mut step.shared.counters;
        if is_u {
            counters.dead.block_erases += 1;
        } else {
            counters.switch.merges += 1;
            counters.switch.block_erases += 1;
        }
    }

    /// Step 2: merges a U-block with D-blocks of its superblock.
    fn merge(&mut self, u: BlockId, step: &mut Step) -> Result<(), FtlError> {
        let superblock = self.owned(u).superblock;
        self.note_victim(u, step);
        self.load_tables(superblock, step);
        let choice = self.choose(superblock, u);
        if self.m_merges(superblock, (choice, u), step)? {
            return Ok(());
        }
        let mut erases = 1;
        match choice {
            SuperblockMerge::UIntoD(index) => {
                let mut target = Some(self.sources[index]);
                self.retire_u(u, step);
                self.drain(u, &mut target, step)?;
            }
            SuperblockMerge::DIntoU(index) => {
                let d = self.sources[index];
                let mut target = Some(u);
                self.retire_u(u, step);
                self.drain(d, &mut target, step)?;
            }
            SuperblockMerge::Full { d_blocks, with_u } => {
                let mut target = None;
                self.retire_u(u, step);
                for index in 0..d_blocks {
                    self.drain(self.sources[index], &mut target, step)?;
                }
                if with_u {
                    self.drain(u, &mut target, step)?;
                }
                erases = d_blocks as u64 + u64::from(with_u);
            }
        }
        let count = step.shared.counters.merges_of(choice.kind());
        count.merges += 1;
        count.block_erases += erases;
        Ok(())
    }

    /// Plans step 2; leaves the superblock's D-blocks in `sources`, those with the fewest valid pages
    /// first, among equals the one allocated first.
    fn choose(&mut self, superblock: u32, u: BlockId) -> SuperblockMerge {
        let mut sources = std::mem::take(&mut self.sources);
        sources.clear();
        sources.extend(self.blocks_of(superblock).filter(|&block| !self.owned(block).is_u));
        sources.sort_unstable_by_key(|&block| (self.book.valid_pages(block), self.book.sequence(block)));
        let fill = |block| BlockFill { valid: self.book.valid_pages(block), free: self.book.free_pages(block) };
        let mut fills = std::mem::take(&mut self.fills);
        fills.clear();
        fills.extend(sources.iter().map(|&block| fill(block)));
        let choice = superblock_merge(&SuperblockState {
            d: &fills,
            u: fill(u),
            pages: self.book.pages(),
            valid_blocks: self.config.valid_blocks,
        });
        (self.sources, self.fills) = (sources, fills);
        choice
    }

    /// Copies the valid pages of a block into `target`, and into new D-blocks where that is full, and
    /// erases it.
    fn drain(&mut self, source: BlockId, target: &mut Option<BlockId>, step: &mut Step) -> Result<(), FtlError> {
        let superblock = self.owned(source).superblock;
        while let Some(page) = self.book.next_valid(source, 0) {
            let block = match target.filter(|&block| self.book.free_pages(block) > 0) {
                Some(block) => block,
                None => {
                    let block = self.book.take(step)?;
                    self.adopt(superblock, block, false);
                    *target = Some(block);
                    block
                }
            };
            let local = self.book.owner(page);
            let to = PageAddress::new(block, self.book.next(block));
            self.copy(local, to, step);
        }
        self.erase(source, step);
        Ok(())
    }
}
