//! Merging a superblock: its state for the planner, and the commands of the choice.

use pumice_types::{BlockId, FlashCommand, Lpn, PageAddress, Pb};
use serde::{Deserialize, Serialize};

use super::{FtlError, NONE, SuperblockPen};
use crate::merge::restore::{LeafState, MergeChoice};
use crate::merge::superblock::{MemberState, PenSuperblockState, SuperblockPlan, SuperblockPlanner};
use crate::plan::Plan;

/// The planner with its inputs' scratch memory.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct SuperblockScratch {
    planner: SuperblockPlanner,
    states: Vec<MemberState>,
    leaves: Vec<LeafState>,
    /// Blocks of the superblock as the planner numbers them.
    members: Vec<BlockId>,
    /// Blocks that receive copy-outs: the U-set, then what is borrowed.
    buffers: Vec<BlockId>,
    /// Where the pages copied out of one block are.
    copied_out: Vec<PageAddress>,
}

impl SuperblockScratch {
    pub(super) fn new(planner: SuperblockPlanner) -> SuperblockScratch {
        SuperblockScratch {
            planner,
            states: Vec::new(),
            leaves: Vec::new(),
            members: Vec::new(),
            buffers: Vec::new(),
            copied_out: Vec::new(),
        }
    }
}

impl SuperblockPen {
    /// Merges a superblock until it owns at most `goal` blocks, by the cheaper merge that is allowed.
    pub(super) fn merge(&mut self, superblock: usize, goal: u32, plan: &mut Plan) -> Result<(), FtlError> {
        let Some(mut scratch) = self.scratch.take() else { return Ok(()) };
        self.describe(superblock, &mut scratch);
        let state = PenSuperblockState {
            members: &scratch.states,
            leaves: &scratch.leaves,
            logical: self.config.logical as usize,
            goal: goal as usize,
            m_merges: self.superblocks[superblock].m_merges,
            free_blocks: (self.pool.free_blocks(self.plane_of(superblock)) as u32).saturating_sub(self.config.reserve),
        };
        let chosen = scratch.planner.plan(&state);
        if let Some(&least) = chosen.order.first() {
            self.counters.note_victim(scratch.states[least].valid as usize, self.pages as usize);
        }
        let result = match chosen.choice {
            MergeChoice::Merge => self.full_merge(superblock, &scratch.members, chosen, plan),
            MergeChoice::MMerge => {
                let SuperblockScratch { planner, members, buffers, copied_out, .. } = &mut *scratch;
                self.m_merge(superblock, planner.last(), Scratch { members, buffers, copied_out }, plan)
            }
        };
        self.scratch = Some(scratch);
        let invalid = self.members_of(superblock).iter().map(|&block| self.blocks.invalid_count(block)).sum();
        self.superblocks[superblock].invalid = invalid;
        self.note_victim(superblock);
        result
    }

    fn describe(&self, superblock: usize, scratch: &mut SuperblockScratch) {
        scratch.members.clear();
        scratch.members.extend_from_slice(self.members_of(superblock));
        scratch.states.clear();
        scratch.leaves.clear();
        for &block in &scratch.members {
            let (valid, blank) = (self.blocks.valid_count(block), self.blocks.blank_count(block));
            scratch.states.push(MemberState { valid, blank, age: self.blocks.sequence(block) });
            self.blocks.describe(block, &mut scratch.leaves);
        }
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

    /// M-Merge: each block of the D-set is restored in turn and takes pages of the U-set into what is
    /// left blank; then the U-set is erased.
    fn m_merge(
        &mut self,
        superblock: usize,
        chosen: &SuperblockPlan,
        scratch: Scratch,
        plan: &mut Plan,
    ) -> Result<(), FtlError> {
        let Scratch { members, buffers, copied_out } = scratch;
        let u_set = &chosen.order[..chosen.u_set];
        self.disown(superblock, members, u_set);
        buffers.clear();
        buffers.extend(u_set.iter().map(|&member| members[member]));
        let mut pool = (0, 0);
        for (member, &block) in members.iter().enumerate().filter(|(member, _)| !u_set.contains(member)) {
            let restores = || chosen.restores.iter().filter(|(of, _)| *of == member).map(|(_, pb)| *pb);
            copied_out.clear();
            for pb in restores() {
                self.copy_out(superblock, (block, pb), Buffers { buffers, copied_out }, plan)?;
            }
            for pb in restores() {
                self.blocks.partial_erase(block, pb);
                plan.push(FlashCommand::partial_erase(block, pb));
                self.counters.m_merge.partial_erases += 1;
            }
            self.copy_back(block, copied_out, plan);
            self.take_from_pool(block, &buffers[..u_set.len()], &mut pool, plan);
        }
        for &block in &*buffers {
            if self.blocks.valid_count(block) > 0 {
                return Err(FtlError::NoFreeBlock { plane: self.plane_of(superblock).0 });
            }
            self.erase(block, plan);
        }
        self.superblocks[superblock].m_merges += 1;
        self.counters.m_merge.merges += 1;
        self.counters.m_merge.block_erases += buffers.len() as u64;
        Ok(())
    }

    /// Copies the valid pages of a partial block out, borrowing a free block when there is no room.
    fn copy_out(
        &mut self,
        superblock: usize,
        (block, pb): (BlockId, Pb),
        into: Buffers,
        plan: &mut Plan,
    ) -> Result<(), FtlError> {
        let pages = self.config.tree.page_range(pb);
        let mut from = pages.start;
        while let Some(source) = self.blocks.next_valid(block, from).filter(|page| pages.contains(&page.page.into())) {
            from = usize::from(source.page) + 1;
            let room = into.buffers.iter().find_map(|&buffer| self.blocks.next_blank(buffer));
            let target = match room {
                Some(target) => target,
                None => self.borrow_block(superblock, into.buffers, plan)?,
            };
            self.copy(source, target, plan);
            into.copied_out.push(target);
        }
        Ok(())
    }

    /// Takes a free block until the end of the merge; returns its first page.
    fn borrow_block(
        &mut self,
        superblock: usize,
        buffers: &mut Vec<BlockId>,
        plan: &mut Plan,
    ) -> Result<PageAddress, FtlError> {
        let plane = self.plane_of(superblock);
        let (block, sequence) = self.pool.take(plane).ok_or(FtlError::NoFreeBlock { plane: plane.0 })?;
        self.proofs.prove(block, plan);
        self.blocks.open(block, superblock as u32, sequence);
        buffers.push(block);
        Ok(PageAddress::new(block, 0))
    }

    fn copy_back(&mut self, block: BlockId, copied_out: &[PageAddress], plan: &mut Plan) {
        for &source in copied_out {
            if let Some(target) = self.blocks.next_blank(block) {
                self.copy(source, target, plan);
            }
        }
    }

    /// Fills the blank pages of a block from the valid pages of the U-set; `pool` is the next of them,
    /// as a place in the U-set and a page.
    fn take_from_pool(&mut self, block: BlockId, u_set: &[BlockId], pool: &mut (usize, usize), plan: &mut Plan) {
        while pool.0 < u_set.len() {
            let Some(source) = self.blocks.next_valid(u_set[pool.0], pool.1) else {
                *pool = (pool.0 + 1, 0);
                continue;
            };
            let Some(target) = self.blocks.next_blank(block) else { return };
            self.copy(source, target, plan);
            pool.1 = usize::from(source.page) + 1;
        }
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

/// Scratch memory of one M-Merge.
struct Scratch<'a> {
    members: &'a [BlockId],
    buffers: &'a mut Vec<BlockId>,
    copied_out: &'a mut Vec<PageAddress>,
}

/// Where copy-outs go, and where they went.
struct Buffers<'a> {
    buffers: &'a mut Vec<BlockId>,
    copied_out: &'a mut Vec<PageAddress>,
}
