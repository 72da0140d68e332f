//! M-Merge in place of the merges of step 2 (PEN, FAST'18, section 5.3, Algorithm 3, which is written for a superblock FTL
//! like this one): of the blocks that a superblock owns beyond N, those with the fewest valid pages are erased, and their
//! pages go to parts of the others that are erased for them. Planner and executor are those of PEN's superblock FTL
//! ([`crate::merge::superblock_run`]).
//!
//! Chosen: step 2 wins one block and an M-Merge all beyond N, so the price of the merge of step 2 counts once for each
//! block that the M-Merge wins. A D-block that was restored takes no further page before it is erased or restored again.
//! With the map in spare areas a superblock has at most eight blocks, borrowed ones included: a table can name no more.

use pumice_types::{BlockId, FlashCommand, PageAddress, Pb, PbTree, Time};
use serde::{Deserialize, Serialize};

use super::spare::BLOCKS_MAX;
use super::{Superblock2006, SuperblockMerge};
use crate::layers::block_mapped::plane_book::Step;
use crate::merge::leaves::BlockLeaves;
use crate::merge::plan::BlockFill;
use crate::merge::superblock::{MemberState, SuperblockPlanner};
use crate::merge::superblock_run::{SuperblockBounds, SuperblockMerger, SuperblockPages};
use crate::plan::FtlError;
use crate::seam::MergePolicy;

/// What M-Merge knows of the blocks and superblocks of a plane.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct RestoredBlocks {
    pub(super) leaves: BlockLeaves,
    /// M-Merges of each superblock since its last full merge.
    m_merges: Vec<u32>,
    copy: Time,
    block_erase: Time,
    /// Free blocks that only recovery takes.
    reserve: u32,
    /// Planner and scratch memory; absent while it works.
    merger: Option<Box<SuperblockMerger>>,
}

impl RestoredBlocks {
    /// Bytes of RAM that a controller needs for it: a disturb counter of each leaf, and the count of M-Merges.
    pub(super) fn ram_bytes(&self, blocks: u32) -> u64 {
        u64::from(blocks) * self.leaves.tree().leaves() as u64 + self.m_merges.len() as u64 * 2
    }
}

impl Superblock2006 {
    /// Merges by M-Merge where it is cheaper, if the spec says so; `reserve` are free blocks that only recovery takes.
    pub fn merging_as(mut self, tree: PbTree, policy: &MergePolicy, reserve: u32) -> Superblock2006 {
        if let MergePolicy::MMerge { costs, settings, scope } = policy {
            let planner = SuperblockPlanner::new(tree, costs.clone(), Some((*settings, *scope)));
            self.restored = Some(Box::new(RestoredBlocks {
                leaves: BlockLeaves::new(tree, self.book.blocks() as usize, Some(*settings)),
                m_merges: vec![0; self.superblocks.len()],
                copy: costs.copy,
                block_erase: costs.block_erase,
                reserve,
                merger: Some(Box::new(SuperblockMerger::new(tree, planner))),
            }));
        }
        self
    }

    /// Brings a superblock down to N blocks by M-Merge, if the spec wants that and it is cheaper than the merge of step 2,
    /// whose blocks are in `sources`. Returns whether it did.
    pub(super) fn m_merges(
        &mut self,
        superblock: u32,
        (choice, u): (SuperblockMerge, BlockId),
        step: &mut Step,
    ) -> Result<bool, FtlError> {
        let Some(restored) = &mut self.restored else { return Ok(false) };
        let Some(mut merger) = restored.merger.take() else { return Ok(false) };
        let price = self.price(choice, u);
        self.describe(superblock, &mut merger);
        merger.plan(&self.bounds(superblock, price, step));
        let is_m_merge = merger.is_m_merge();
        let result = if is_m_merge { self.m_merge(superblock, &mut merger, step) } else { Ok(()) };
        if let Some(restored) = &mut self.restored {
            restored.merger = Some(merger);
            let count = &mut restored.m_merges[superblock as usize];
            match choice {
                _ if is_m_merge => *count += 1,
                SuperblockMerge::Full { .. } => *count = 0,
                SuperblockMerge::UIntoD(_) | SuperblockMerge::DIntoU(_) => {}
            }
        }
        result.map(|()| is_m_merge)
    }

    /// Price of a merge of step 2.
    fn price(&self, choice: SuperblockMerge, u: BlockId) -> Time {
        let valid = |fills: &[BlockFill]| fills.iter().map(|fill| u64::from(fill.valid)).sum::<u64>();
        let of_u = u64::from(self.book.valid_pages(u));
        let (copies, erases) = match choice {
            SuperblockMerge::UIntoD(_) => (of_u, 1),
            SuperblockMerge::DIntoU(index) => (u64::from(self.fills[index].valid), 1),
            SuperblockMerge::Full { d_blocks, with_u } => {
                let with_u = u64::from(with_u);
                (valid(&self.fills[..d_blocks]) + with_u * of_u, d_blocks as u64 + with_u)
            }
        };
        let Some(restored) = &self.restored else { return Time::ZERO };
        restored.copy * copies + restored.block_erase * erases
    }

    fn bounds(&self, superblock: u32, price: Time, step: &Step) -> SuperblockBounds {
        let owned = self.blocks_of(superblock).count() as u32;
        let (m_merges, reserve) = match &self.restored {
            Some(restored) => (restored.m_merges[superblock as usize], restored.reserve),
            None => (0, 0),
        };
        let free = (step.shared.pool.free_blocks(self.book.plane()) as u32).saturating_sub(reserve);
        let nameable = if self.map.is_some() { BLOCKS_MAX.saturating_sub(owned) } else { u32::MAX };
        SuperblockBounds {
            logical: self.config.logical,
            goal: self.config.logical,
            m_merges,
            free_blocks: free.min(nameable),
            other: Some(price * u64::from(owned - self.config.logical)),
        }
    }

    /// Tells the planner of a superblock's blocks.
    fn describe(&self, superblock: u32, merger: &mut SuperblockMerger) {
        merger.begin();
        let Some(restored) = &self.restored else { return };
        for block in self.blocks_of(superblock) {
            let (index, programmed) = (self.book.index(block), self.book.programmed_bits(block));
            let state = MemberState {
                valid: u32::from(self.book.valid_pages(block)),
                blank: restored.leaves.blank_count(index, programmed),
                age: self.book.sequence(block),
            };
            let valid = self.book.valid_bits(block);
            merger.add(block, state, |leaves| restored.leaves.describe(index, programmed, valid, leaves));
        }
    }

    /// The M-Merge that was planned. Every block that stays is a D-block behind it.
    fn m_merge(&mut self, superblock: u32, merger: &mut SuperblockMerger, step: &mut Step) -> Result<(), FtlError> {
        for &block in merger.members() {
            if self.owned(block).is_u {
                self.retire_u(block, step);
            }
        }
        let emptied = merger.run(&mut SuperblockInMerge { ftl: self, step })?;
        for &block in emptied {
            if self.book.valid_pages(block) > 0 {
                return Err(FtlError::NoFreeBlock { plane: self.book.plane().0 });
            }
            match self.owned(block).superblock == superblock {
                true => self.erase(block, step),
                false => self.book.erase(block, step),
            }
        }
        step.shared.counters.m_merge.merges += 1;
        step.shared.counters.m_merge.block_erases += emptied.len() as u64;
        Ok(())
    }
}

/// A superblock under M-Merge.
struct SuperblockInMerge<'a, 'b> {
    ftl: &'a mut Superblock2006,
    step: &'a mut Step<'b>,
}

impl SuperblockPages for SuperblockInMerge<'_, '_> {
    fn next_valid(&self, block: BlockId, from: usize) -> Option<PageAddress> {
        self.ftl.book.next_valid(block, from)
    }

    fn next_blank(&mut self, block: BlockId) -> Option<PageAddress> {
        let book = &self.ftl.book;
        let leaves = &self.ftl.restored.as_ref()?.leaves;
        let page = leaves.next_blank(book.index(block), book.programmed_bits(block), 0)?;
        Some(PageAddress::new(block, page as u16))
    }

    fn copy(&mut self, from: PageAddress, to: PageAddress) {
        self.ftl.copy(self.ftl.book.owner(from), to, self.step);
    }

    fn partial_erase(&mut self, block: BlockId, pb: Pb) {
        let Some(restored) = &mut self.ftl.restored else { return };
        let book = &mut self.ftl.book;
        book.note_part_erased(block, restored.leaves.tree().page_range(pb));
        restored.leaves.partial_erase(book.index(block), pb, book.programmed_bits(block));
        self.step.plan.push(FlashCommand::partial_erase(block, pb));
        self.step.shared.counters.m_merge.partial_erases += 1;
    }

    fn borrow(&mut self) -> Result<BlockId, FtlError> {
        self.ftl.book.take(self.step)
    }
}
