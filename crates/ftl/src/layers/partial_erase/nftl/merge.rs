//! Merges of a D-block with its U-block: a full merge into a free block, or M-Merge.

use pumice_types::{BlockId, Cause, FlashCommand, PageAddress, Pb, PbTree, SearchExpectation, bits};
use serde::{Deserialize, Serialize};

use super::{LogicalBlock, NONE, Nftl, Trigger};
use crate::merge::m_merge::{LeafState, MMergePlan, MMergePlanner, MergeChoice, PairState, ULeafState};
use crate::merge::run;
use crate::merge::run::{NOT_IN_U, Pair, RestoreStep};
use crate::plan::{FtlError, Plan};
use crate::seam::{MergePolicy, UIndex};

/// M-Merge's planner with its inputs' scratch memory.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct MMergeScratch {
    planner: MMergePlanner,
    d_leaves: Vec<LeafState>,
    u_leaves: Vec<ULeafState>,
    slots: Vec<u16>,
}

impl MMergeScratch {
    /// Memory for pairs of blocks with so many pages; `None` if no pair is merged by M-Merge.
    pub fn of(merge: &MergePolicy, tree: PbTree, pages: usize) -> Option<Box<MMergeScratch>> {
        match merge {
            MergePolicy::BlockErase => None,
            MergePolicy::MMerge { costs, settings, .. } => Some(Box::new(MMergeScratch {
                planner: MMergePlanner::new(tree, costs.clone(), *settings),
                d_leaves: vec![LeafState::default(); tree.leaves()],
                u_leaves: vec![ULeafState::default(); tree.leaves()],
                slots: vec![NOT_IN_U; pages],
            })),
        }
    }
}

impl Nftl {
    /// Merges one pair. Which pair and when never depends on the kind of merge.
    pub(super) fn merge(&mut self, logical: usize, trigger: Trigger, plan: &mut Plan) -> Result<(), FtlError> {
        let slot = self.logical[logical].u_slot;
        let u = self.u_blocks[slot as usize];
        self.note_trigger(logical, trigger);
        if self.config.u_index == UIndex::Spare {
            let newest = PageAddress::new(u.block, u.written - 1);
            let (first, scan) = (self.first_lpn(logical), SearchExpectation::Scan);
            plan.push(FlashCommand::spare_search(Cause::Gc, newest, u.written, first, scan));
        }
        let mut scratch = self.scratch.take();
        let m_merge = scratch.as_mut().is_some_and(|scratch| self.try_m_merge(logical, scratch, plan));
        self.scratch = scratch;
        if !m_merge {
            self.full_merge(logical, plan)?;
        }
        self.pool.give_back(self.plane_of(logical), u.block);
        self.drop_u_block(logical);
        Ok(())
    }

    /// Counts why a pair is merged, and how full its U-block is.
    pub(in crate::layers) fn note_trigger(&mut self, logical: usize, trigger: Trigger) {
        match trigger {
            Trigger::Full => self.counters.trigger_full += 1,
            Trigger::Unpaired => self.counters.trigger_unpaired += 1,
        }
        let slot = self.logical[logical].u_slot;
        let written = if slot == NONE { 0 } else { self.u_blocks[slot as usize].written };
        self.counters.note_victim(usize::from(written), self.pages);
    }

    pub(in crate::layers) fn pair_of(&self, logical: usize) -> Pair<'_> {
        let LogicalBlock { d, d_sequence, u_slot, .. } = self.logical[logical];
        let u = &self.u_blocks[u_slot as usize];
        let column = u_slot as usize * self.pages;
        Pair {
            d: BlockId(d),
            d_sequence,
            u: u.block,
            u_sequence: u.sequence,
            first_lpn: self.first_lpn(logical),
            d_valid: &self.d_valid[self.words_of(logical)],
            in_u: &self.in_u[column..column + self.pages],
            u_room: u.written..u.end,
        }
    }

    fn full_merge(&mut self, logical: usize, plan: &mut Plan) -> Result<(), FtlError> {
        let plane = self.plane_of(logical);
        let (free, sequence) = self.take_block(plane)?;
        self.proofs.prove(free, plan);
        let copies = run::full_merge(&self.pair_of(logical), free, sequence, plan);
        self.counters.copied_pages += u64::from(copies);
        self.counters.full.merges += 1;
        self.counters.full.block_erases += 2;

        self.pool.give_back(plane, BlockId(self.logical[logical].d));
        self.logical[logical].d = free.0;
        self.logical[logical].d_sequence = sequence;
        self.take_pages_into_d(logical, 0..self.pages);
        let words = self.words_of(logical);
        self.d_programmed[words.clone()].copy_from_slice(&self.d_valid[words]);
        self.note_other_d(logical);
        Ok(())
    }

    /// A logical block has another D-block, erased as a whole before.
    pub(in crate::layers) fn note_other_d(&mut self, logical: usize) {
        self.logical[logical].m_merges = 0;
        let leaves = self.leaves_of(logical);
        self.d_disturb[leaves].fill(0);
    }

    /// Plans an M-Merge of a pair that is carried out step by step; `elsewhere` are offsets whose current pages are
    /// neither in D nor in U. Gives `act` the steps, and returns true, if M-Merge is the cheaper merge and allowed.
    pub(in crate::layers) fn plan_sliced(
        &mut self,
        logical: usize,
        elsewhere: impl Iterator<Item = usize>,
        act: impl FnMut(RestoreStep),
    ) -> bool {
        let Some(mut scratch) = self.scratch.take() else { return false };
        self.describe_pair(logical, &mut scratch);
        elsewhere.for_each(|offset| scratch.d_leaves[self.config.tree.leaf_of_page(offset)].in_u += 1);
        let MMergeScratch { planner, d_leaves, u_leaves, .. } = &mut *scratch;
        let m_merges = self.logical[logical].m_merges;
        let chosen = planner.plan(&PairState { d_leaves, u_leaves, m_merges });
        let is_m_merge = chosen.choice == MergeChoice::MMerge;
        if is_m_merge {
            run::each_step(&self.pair_of(logical).restored(self.config.tree), chosen, act);
            let leaves = self.leaves_of(logical);
            self.d_disturb[leaves].copy_from_slice(&chosen.disturb_after);
            self.logical[logical].m_merges += 1;
        }
        self.scratch = Some(scratch);
        is_m_merge
    }

    /// The current page of an offset was copied from D to a page of U.
    pub(in crate::layers) fn note_copied_out(&mut self, logical: usize, offset: usize, slot: u16) {
        let words = self.words_of(logical);
        bits::clear(&mut self.d_valid[words], offset);
        self.in_u[self.logical[logical].u_slot as usize * self.pages + offset] = slot;
    }

    /// A part of D without current pages was erased.
    pub(in crate::layers) fn note_part_erased(&mut self, logical: usize, pb: Pb) {
        let (words, pages) = (self.words_of(logical), self.config.tree.page_range(pb));
        bits::clear_range(&mut self.d_programmed[words], pages.start, pages.end);
    }

    /// The current page of an offset was copied into D.
    pub(in crate::layers) fn note_copied_back(&mut self, logical: usize, offset: usize) {
        let words = self.words_of(logical);
        bits::set(&mut self.d_valid[words.clone()], offset);
        bits::set(&mut self.d_programmed[words], offset);
        self.in_u[self.logical[logical].u_slot as usize * self.pages + offset] = NOT_IN_U;
    }

    /// Marks current pages of U in `offsets` as current in D.
    fn take_pages_into_d(&mut self, logical: usize, offsets: std::ops::Range<usize>) {
        let column = self.logical[logical].u_slot as usize * self.pages;
        let valid = &mut self.d_valid[logical * self.words..(logical + 1) * self.words];
        for offset in offsets {
            if self.in_u[column + offset] != NOT_IN_U {
                bits::set(valid, offset);
            }
        }
    }

    /// Plans the merge and runs it as M-Merge if that is the choice.
    fn try_m_merge(&mut self, logical: usize, scratch: &mut MMergeScratch, plan: &mut Plan) -> bool {
        self.describe_pair(logical, scratch);
        let m_merges = self.logical[logical].m_merges;
        let MMergeScratch { planner, d_leaves, u_leaves, slots } = scratch;
        let chosen = planner.plan(&PairState { d_leaves, u_leaves, m_merges });
        if chosen.choice != MergeChoice::MMerge {
            return false;
        }
        run::m_merge(&self.pair_of(logical), self.config.tree, chosen, slots, plan);
        self.adopt_m_merge(logical, chosen);
        true
    }

    /// Belief after an M-Merge.
    fn adopt_m_merge(&mut self, logical: usize, chosen: &MMergePlan) {
        let words = self.words_of(logical);
        for &pb in &chosen.restores {
            let pages = self.config.tree.page_range(pb);
            self.take_pages_into_d(logical, pages.clone());
            bits::clear_range(&mut self.d_programmed[words.clone()], pages.start, pages.end);
            let valid = &self.d_valid[words.clone()];
            let programmed = &mut self.d_programmed[words.clone()];
            pages.filter(|&offset| bits::get(valid, offset)).for_each(|offset| bits::set(programmed, offset));
        }
        let leaves = self.leaves_of(logical);
        self.d_disturb[leaves].copy_from_slice(&chosen.disturb_after);
        self.logical[logical].m_merges += 1;
        self.counters.copied_pages += u64::from(chosen.copy_out + chosen.copy_back);
        self.counters.m_merge.merges += 1;
        self.counters.m_merge.block_erases += 1;
        let pre_erase = u64::from(chosen.u_pre_erase.is_some());
        self.counters.m_merge.partial_erases += chosen.restores.len() as u64 + pre_erase;
    }

    /// Sums up a pair leaf by leaf for the planner.
    fn describe_pair(&self, logical: usize, scratch: &mut MMergeScratch) {
        let (tree, words) = (self.config.tree, self.words_of(logical));
        let (programmed, valid) = (&self.d_programmed[words.clone()], &self.d_valid[words]);
        let width = tree.pages_per_leaf();
        let disturb = &self.d_disturb[self.leaves_of(logical)];
        let slot = self.logical[logical].u_slot as usize;
        let u = &self.u_blocks[slot];
        let (written, end) = (usize::from(u.written), usize::from(u.end));
        for (leaf, state) in scratch.d_leaves.iter_mut().enumerate() {
            let (start, end) = (leaf * width, (leaf + 1) * width);
            let valid = bits::count_range(valid, start, end) as u16;
            let invalid = bits::count_range(programmed, start, end) as u16 - valid;
            *state = LeafState { valid, invalid, in_u: 0, disturb: disturb[leaf] };
        }
        for (leaf, state) in scratch.u_leaves.iter_mut().enumerate() {
            let free = end.min((leaf + 1) * width).saturating_sub(written.max(leaf * width)) as u16;
            *state = ULeafState { free, valid: 0, disturb: u.disturb };
        }
        let in_u = &self.in_u[slot * self.pages..(slot + 1) * self.pages];
        let offsets = &self.u_offset[slot * self.pages..slot * self.pages + written];
        for ((leaf, offsets), state) in offsets.chunks(width).enumerate().zip(&mut scratch.u_leaves) {
            for (page, &offset) in offsets.iter().enumerate() {
                if usize::from(in_u[usize::from(offset)]) == leaf * width + page {
                    scratch.d_leaves[usize::from(offset) / width].in_u += 1;
                    state.valid += 1;
                }
            }
        }
    }
}
