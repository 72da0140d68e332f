//! The leaves of blocks that are written as logs: how often each was disturbed, and which of their blank pages may be
//! programmed. Superblocks, whose pages have no place of their own.

use serde::{Deserialize, Serialize};
use std::ops::Range;

use pumice_types::{Pb, PbTree, SpareRole, bits, disturb};

use super::restore::{LeafState, MMergeSettings};
use crate::recovery::KeptBlock;

/// Leaves of all blocks, in columns. Blocks are named by their place in them.
#[derive(Clone, Serialize, Deserialize)]
pub struct BlockLeaves {
    tree: PbTree,
    /// Limits of M-Merge; none if no block is restored in parts.
    settings: Option<MMergeSettings>,
    disturb: Vec<u8>,
    /// Blocks of which a part was erased since they were erased whole, one bit each.
    restored: Vec<u64>,
}

impl BlockLeaves {
    /// Leaves of so many erased blocks.
    pub fn new(tree: PbTree, blocks: usize, settings: Option<MMergeSettings>) -> BlockLeaves {
        let (disturb, restored) = (vec![0; blocks * tree.leaves()], vec![0; bits::words_for(blocks)]);
        BlockLeaves { tree, settings, disturb, restored }
    }

    /// Partial blocks of a block.
    pub fn tree(&self) -> PbTree {
        self.tree
    }

    /// Bytes of the columns.
    pub fn state_bytes(&self) -> u64 {
        (self.disturb.len() + size_of_val(&self.restored[..])) as u64
    }

    /// The first blank page of a block from `from` on that may be programmed. A leaf that was disturbed beyond tolerance
    /// takes no program until it is erased, if leaves are protected.
    #[inline]
    pub fn next_blank(&self, block: usize, programmed: &[u64], mut from: usize) -> Option<usize> {
        loop {
            let page = bits::next_clear(programmed, from, self.tree.pages_per_block())?;
            let leaf = self.tree.leaf_of_page(page);
            if self.is_programmable(block, leaf) {
                return Some(page);
            }
            from = (leaf + 1) * self.tree.pages_per_leaf();
        }
    }

    /// Blank pages of a block that may be programmed.
    pub fn blank_count(&self, block: usize, programmed: &[u64]) -> u32 {
        let width = self.tree.pages_per_leaf();
        let leaves = (0..self.tree.leaves()).filter(|&leaf| self.is_programmable(block, leaf));
        leaves.map(|leaf| width as u32 - bits::count_range(programmed, leaf * width, (leaf + 1) * width)).sum()
    }

    /// Sums up a block leaf by leaf for the planner.
    pub fn describe(&self, block: usize, programmed: &[u64], valid: &[u64], leaves: &mut Vec<LeafState>) {
        let width = self.tree.pages_per_leaf();
        leaves.extend(self.disturb[self.range(block)].iter().enumerate().map(|(leaf, &disturb)| {
            let (start, end) = (leaf * width, (leaf + 1) * width);
            let valid = bits::count_range(valid, start, end) as u16;
            let invalid = bits::count_range(programmed, start, end) as u16 - valid;
            LeafState { valid, invalid, in_u: 0, disturb }
        }));
    }

    /// Notes the erase of a whole block.
    pub fn erase(&mut self, block: usize) {
        let leaves = self.range(block);
        self.disturb[leaves].fill(0);
        bits::clear(&mut self.restored, block);
    }

    /// Notes the erase of a partial block, whose pages are blank in `programmed`, and what it does to its neighbours.
    pub fn partial_erase(&mut self, block: usize, pb: Pb, programmed: &[u64]) {
        let (leaves, width) = (self.range(block), self.tree.pages_per_leaf());
        disturb::partial_erase(&mut self.disturb[leaves], &self.tree.leaf_range(pb), |leaf| {
            bits::count_range(programmed, leaf * width, (leaf + 1) * width) > 0
        });
        bits::set(&mut self.restored, block);
    }

    /// What a page that is programmed in a block now is for: after a power cut it tells that leaves may be disturbed.
    pub fn role(&self, block: usize) -> SpareRole {
        if bits::get(&self.restored, block) { SpareRole::Restored } else { SpareRole::Home }
    }

    /// Takes over a block that was kept after a power cut, which took the counters: a block that may be restored, or
    /// whose superblock was larger than its logical blocks, counts as disturbed as often as it bears. A block that was
    /// erased since is not.
    pub fn adopt(&mut self, block: usize, kept: &KeptBlock, was_larger: bool) {
        if kept.is_fresh {
            return;
        }
        let (leaves, tolerance) = (self.range(block), self.settings.map_or(0, |settings| settings.disturb_tolerance));
        self.disturb[leaves].fill(if kept.may_be_restored || was_larger { tolerance } else { 0 });
        if kept.may_be_restored {
            bits::set(&mut self.restored, block);
        }
    }

    #[inline]
    fn is_programmable(&self, block: usize, leaf: usize) -> bool {
        let over = |settings: MMergeSettings| {
            settings.disturb_aware && self.disturb[self.range(block).start + leaf] > settings.disturb_tolerance
        };
        !self.settings.is_some_and(over)
    }

    #[inline]
    fn range(&self, block: usize) -> Range<usize> {
        block * self.tree.leaves()..(block + 1) * self.tree.leaves()
    }
}
