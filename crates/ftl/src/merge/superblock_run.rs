//! Carries an M-Merge of a superblock out (PEN, §5.3, Algorithm 3), for every layer whose superblocks are logs: each
//! block of the D-set is restored in turn and takes pages of the U-set into what is left blank; then the U-set holds
//! nothing.

use pumice_types::{BlockId, PageAddress, Pb, PbTree, Time};
use serde::{Deserialize, Serialize};

use super::restore::{LeafState, MergeChoice};
use super::superblock::{MemberState, PenSuperblockState, SuperblockPlan, SuperblockPlanner};
use crate::plan::FtlError;

/// The blocks of a superblock as its layer knows them. Each change of belief comes with the command that makes it true.
pub trait SuperblockPages {
    /// The first valid page of a block from `from` on.
    fn next_valid(&self, block: BlockId, from: usize) -> Option<PageAddress>;

    /// The first blank page of a block that may be programmed.
    fn next_blank(&mut self, block: BlockId) -> Option<PageAddress>;

    /// Moves a valid page to a blank one.
    fn copy(&mut self, from: PageAddress, to: PageAddress);

    /// Erases a partial block without valid pages.
    fn partial_erase(&mut self, block: BlockId, pb: Pb);

    /// Takes a free block until the end of the merge.
    ///
    /// # Errors
    /// There is none, which the plan rules out.
    fn borrow(&mut self) -> Result<BlockId, FtlError>;
}

/// What bounds the merge of a superblock, beside its blocks.
#[derive(Clone, Copy, Debug)]
pub struct SuperblockBounds {
    /// M: blocks that its logical pages fill.
    pub logical: u32,
    /// Blocks that it may own after a full merge, at least M.
    pub goal: u32,
    /// M-Merges since its last full merge.
    pub m_merges: u32,
    /// Free blocks of its plane that an M-Merge may borrow.
    pub free_blocks: u32,
    /// Price of the layer's own merge, if that is not the full merge of Algorithm 3.
    pub other: Option<Time>,
}

/// The planner, what it is told, and scratch memory.
#[derive(Clone, Serialize, Deserialize)]
pub struct SuperblockMerger {
    tree: PbTree,
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

impl SuperblockMerger {
    /// Merges of blocks of this tree, as the planner chooses.
    pub fn new(tree: PbTree, planner: SuperblockPlanner) -> SuperblockMerger {
        let (states, leaves) = (Vec::new(), Vec::new());
        let (members, buffers, copied_out) = (Vec::new(), Vec::new(), Vec::new());
        SuperblockMerger { tree, planner, states, leaves, members, buffers, copied_out }
    }

    /// Begins a merge: forgets the blocks of the one before.
    pub fn begin(&mut self) {
        self.members.clear();
        self.states.clear();
        self.leaves.clear();
    }

    /// Adds a block of the superblock; `describe` appends its leaves.
    pub fn add(&mut self, block: BlockId, state: MemberState, describe: impl FnOnce(&mut Vec<LeafState>)) {
        self.members.push(block);
        self.states.push(state);
        describe(&mut self.leaves);
    }

    /// Plans the merge of the blocks that were added.
    pub fn plan(&mut self, bounds: &SuperblockBounds) -> &SuperblockPlan {
        self.planner.plan(&PenSuperblockState {
            members: &self.states,
            leaves: &self.leaves,
            logical: bounds.logical as usize,
            goal: bounds.goal as usize,
            m_merges: bounds.m_merges,
            free_blocks: bounds.free_blocks,
            other: bounds.other,
        })
    }

    /// The blocks that were added.
    pub fn members(&self) -> &[BlockId] {
        &self.members
    }

    /// What was added of a block.
    pub fn state(&self, member: usize) -> &MemberState {
        &self.states[member]
    }

    /// The last plan.
    pub fn last(&self) -> &SuperblockPlan {
        self.planner.last()
    }

    /// Whether the last plan is an M-Merge.
    pub fn is_m_merge(&self) -> bool {
        self.last().choice == MergeChoice::MMerge
    }

    /// Carries the planned M-Merge out. Returns the blocks to erase behind it, the U-set and those borrowed.
    ///
    /// # Errors
    /// No free block, which the plan rules out.
    pub fn run(&mut self, pages: &mut impl SuperblockPages) -> Result<&[BlockId], FtlError> {
        let SuperblockMerger { tree, planner, members, buffers, copied_out, .. } = self;
        let chosen = planner.last();
        let u_set = &chosen.order[..chosen.u_set];
        buffers.clear();
        buffers.extend(u_set.iter().map(|&member| members[member]));
        let mut next = (0, 0);
        for (member, &block) in members.iter().enumerate().filter(|(member, _)| !u_set.contains(member)) {
            let restores = || chosen.restores.iter().filter(|(of, _)| *of == member).map(|(_, pb)| *pb);
            copied_out.clear();
            for pb in restores() {
                copy_out((block, tree.page_range(pb)), buffers, copied_out, pages)?;
            }
            restores().for_each(|pb| pages.partial_erase(block, pb));
            for &source in &*copied_out {
                if let Some(target) = pages.next_blank(block) {
                    pages.copy(source, target);
                }
            }
            take_from(&buffers[..u_set.len()], block, &mut next, pages);
        }
        Ok(buffers)
    }
}

/// Copies the valid pages of a part of a block out, borrowing a free block when there is no room.
fn copy_out(
    (block, part): (BlockId, std::ops::Range<usize>),
    buffers: &mut Vec<BlockId>,
    copied_out: &mut Vec<PageAddress>,
    pages: &mut impl SuperblockPages,
) -> Result<(), FtlError> {
    let mut from = part.start;
    while let Some(source) = pages.next_valid(block, from).filter(|page| part.contains(&page.page.into())) {
        from = usize::from(source.page) + 1;
        let target = match buffers.iter().find_map(|&buffer| pages.next_blank(buffer)) {
            Some(target) => target,
            None => {
                buffers.push(pages.borrow()?);
                PageAddress::new(buffers[buffers.len() - 1], 0)
            }
        };
        pages.copy(source, target);
        copied_out.push(target);
    }
    Ok(())
}

/// Fills the blank pages of a block from the valid pages of the U-set; `next` is the next of them, as a place in the
/// U-set and a page.
fn take_from(u_set: &[BlockId], block: BlockId, next: &mut (usize, usize), pages: &mut impl SuperblockPages) {
    while next.0 < u_set.len() {
        let Some(source) = pages.next_valid(u_set[next.0], next.1) else {
            *next = (next.0 + 1, 0);
            continue;
        };
        let Some(target) = pages.next_blank(block) else { return };
        pages.copy(source, target);
        next.1 = usize::from(source.page) + 1;
    }
}
