//! Merging a superblock: its state for the planner, and the commands of the choice.

use pumice_types::{BlockId, FlashCommand, Lpn, PageAddress, Pb};

use super::{FtlError, NONE, SuperblockPen};
use crate::merge::superblock::{MemberState, SuperblockPlan};
use crate::merge::superblock_run::{SuperblockBounds, SuperblockMerger, SuperblockPages};
use crate::plan::Plan;

impl SuperblockPen {
    /// Merges a superblock until it owns at most `goal` blocks, by the cheaper merge that is allowed.
    pub(super) fn merge(&mut self, superblock: usize, goal: u32, plan: &mut Plan) -> Result<(), FtlError> {
        let Some(mut merger) = self.merger.take() else { return Ok(()) };
        merger.begin();
        for &block in self.members_of(superblock) {
            let (valid, blank) = (self.blocks.valid_count(block), self.blocks.blank_count(block));
            let state = MemberState { valid, blank, age: self.blocks.sequence(block) };
            merger.add(block, state, |leaves| self.blocks.describe(block, leaves));
        }
        let free_blocks = self.pool.free_blocks(self.plane_of(superblock)) as u32;
        let chosen = merger.plan(&SuperblockBounds {
            logical: self.config.logical,
            goal,
            m_merges: self.superblocks[superblock].m_merges,
            free_blocks: free_blocks.saturating_sub(self.config.reserve),
            other: None,
        });
        if let Some(&least) = chosen.order.first() {
            self.counters.note_victim(merger.state(least).valid as usize, self.pages as usize);
        }
        let result = match merger.is_m_merge() {
            false => self.full_merge(superblock, merger.members(), merger.last(), plan),
            true => self.m_merge(superblock, &mut merger, plan),
        };
        self.merger = Some(merger);
        let invalid = self.members_of(superblock).iter().map(|&block| self.blocks.invalid_count(block)).sum();
        self.superblocks[superblock].invalid = invalid;
        self.note_victim(superblock);
        result
    }

    /// Takes blocks out of a superblock's list, by their place in `members`.
    fn disown(&mut self, superblock: usize, members: &[BlockId], leaving: &[usize]) {
        let first = superblock * self.config.physical as usize;
        let mut owned = 0;
        for (member, &block) in members.iter().enumerate() {
            if !leaving.contains(&member) {
                self.members[first + owned] = block;
                owned += 1;
            }
        }
        self.superblocks[superblock].owned = owned as u32;
        self.superblocks[superblock].open = NONE;
    }

    /// Full merge: the victims' valid pages into blank pages of the others, then into new blocks; each
    /// victim is erased as soon as it is empty, so that one free block is enough.
    fn full_merge(
        &mut self,
        superblock: usize,
        members: &[BlockId],
        chosen: &SuperblockPlan,
        plan: &mut Plan,
    ) -> Result<(), FtlError> {
        let victims = &chosen.order[..chosen.victims];
        self.disown(superblock, members, victims);
        for &victim in victims {
            let mut from = 0;
            while let Some(source) = self.blocks.next_valid(members[victim], from) {
                from = usize::from(source.page) + 1;
                let target = self.page_to_write(superblock, plan)?;
                self.copy(source, target, plan);
            }
            self.erase(members[victim], plan);
        }
        self.superblocks[superblock].m_merges = 0;
        self.counters.full.merges += 1;
        self.counters.full.block_erases += victims.len() as u64;
        Ok(())
    }

    /// M-Merge, and the erase of the blocks that hold nothing behind it.
    fn m_merge(&mut self, superblock: usize, merger: &mut SuperblockMerger, plan: &mut Plan) -> Result<(), FtlError> {
        let chosen = merger.last();
        self.disown(superblock, merger.members(), &chosen.order[..chosen.u_set]);
        let emptied = merger.run(&mut PenSuperblockInMerge { ftl: self, superblock, plan })?;
        for &block in emptied {
            if self.blocks.valid_count(block) > 0 {
                return Err(FtlError::NoFreeBlock { plane: self.plane_of(superblock).0 });
            }
            self.erase(block, plan);
        }
        self.superblocks[superblock].m_merges += 1;
        self.counters.m_merge.merges += 1;
        self.counters.m_merge.block_erases += emptied.len() as u64;
        Ok(())
    }

    /// Moves a valid page to a blank one.
    fn copy(&mut self, source: PageAddress, target: PageAddress, plan: &mut Plan) {
        let superblock = self.blocks.superblock(source.block) as u32;
        let lpn = Lpn(superblock * self.span + u32::from(self.blocks.owner(source)));
        self.blocks.invalidate(source);
        self.place(lpn, target);
        self.counters.copied_pages += 1;
        let copy = FlashCommand::copy(source, target, lpn, self.blocks.sequence(target.block));
        plan.push(copy.with_mark(self.blocks.role(target.block)));
    }

    /// Erases a block without valid pages and frees it.
    fn erase(&mut self, block: BlockId, plan: &mut Plan) {
        self.blocks.erase(block);
        plan.push(FlashCommand::erase(block));
        self.pool.give_back(self.config.geometry.plane_of(block), block);
    }
}

/// A superblock under M-Merge.
struct PenSuperblockInMerge<'a> {
    ftl: &'a mut SuperblockPen,
    superblock: usize,
    plan: &'a mut Plan,
}

impl SuperblockPages for PenSuperblockInMerge<'_> {
    fn next_valid(&self, block: BlockId, from: usize) -> Option<PageAddress> {
        self.ftl.blocks.next_valid(block, from)
    }

    fn next_blank(&mut self, block: BlockId) -> Option<PageAddress> {
        self.ftl.blocks.next_blank(block)
    }

    fn copy(&mut self, from: PageAddress, to: PageAddress) {
        self.ftl.copy(from, to, self.plan);
    }

    fn partial_erase(&mut self, block: BlockId, pb: Pb) {
        self.ftl.blocks.partial_erase(block, pb);
        self.plan.push(FlashCommand::partial_erase(block, pb));
        self.ftl.counters.m_merge.partial_erases += 1;
    }

    fn borrow(&mut self) -> Result<BlockId, FtlError> {
        let plane = self.ftl.plane_of(self.superblock);
        let (block, sequence) = self.ftl.pool.take(plane).ok_or(FtlError::NoFreeBlock { plane: plane.0 })?;
        self.ftl.proofs.prove(block, self.plan);
        self.ftl.blocks.open(block, self.superblock as u32, sequence);
        Ok(block)
    }
}
