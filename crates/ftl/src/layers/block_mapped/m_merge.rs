//! M-Merge for layers whose D-blocks keep every page at its own offset (log block, FAST, replacement block): parts of the
//! D-block are restored from the blocks that hold newer pages, instead of copying all current pages to another block.
//!
//! Source: PEN (FAST'18) proposes M-Merge for the NFTL, and says in a footnote that it works equally well for other
//! hybrid layers. Planner and executor are those of the NFTL ([`crate::merge`]); what differs is only which block takes
//! the copy-outs and what the other merge would cost.

use pumice_types::{BlockId, PbTree, Time, bits};
use serde::{Deserialize, Serialize};

use super::plane_book::{PlaneBook, Step};
use crate::merge::m_merge::{LeafState, MMergePlan, MMergePlanner, MergeChoice, PairState, ULeafState};
use crate::merge::run::{NOT_IN_U, RestoredBlock, restore};
use crate::recovery::KeptBlock;
use crate::seam::{LayerParts, MergePolicy};

/// A merge for which M-Merge is weighed.
#[derive(Clone, Copy, Debug)]
pub struct Weighed {
    /// Logical block, counted in its plane.
    pub logical: u32,
    /// D-block of the logical block.
    pub d: BlockId,
    /// Block that takes the copy-outs and is erased behind the merge; `None`: a free one, which is erased as well.
    pub room: Option<BlockId>,
    /// Copies and erases of the merge without partial erases, and erases of U-blocks in it beyond one.
    pub other: (u32, u32),
}

/// What M-Merge knows of the logical blocks of a plane.
#[derive(Clone, Serialize, Deserialize)]
pub struct MMerger {
    tree: PbTree,
    copy: Time,
    block_erase: Time,
    tolerance: u8,
    planner: MMergePlanner,
    /// Disturb counters of the leaves of each D-block.
    disturb: Vec<u8>,
    /// M-Merges of each logical block since its last other merge.
    m_merges: Vec<u32>,
    d_leaves: Vec<LeafState>,
    u_leaves: Vec<ULeafState>,
    slots: Vec<u16>,
}

/// Restores the D-block of a logical block, if the spec wants M-Merge and it is the cheaper one that is allowed. Returns
/// whether it did; if not, the other merge follows.
pub fn m_merges(merger: &mut Option<Box<MMerger>>, weighed: &Weighed, book: &mut PlaneBook, step: &mut Step) -> bool {
    let Some(merger) = merger else { return false };
    let merged = merger.try_merge(weighed, book, step);
    if !merged {
        merger.note_other_merge(weighed.logical);
    }
    merged
}

impl MMerger {
    /// M-Merge over a plane's logical blocks; `None` if the spec wants none.
    pub fn of(parts: &LayerParts, book: &PlaneBook) -> Option<Box<MMerger>> {
        let MergePolicy::MMerge { costs, settings, .. } = parts.merge_policy() else { return None };
        let (tree, logical_blocks) = (parts.tree, book.logical_blocks() as usize);
        Some(Box::new(MMerger {
            tree,
            copy: costs.copy,
            block_erase: costs.block_erase,
            tolerance: settings.disturb_tolerance,
            planner: MMergePlanner::new(tree, costs, settings),
            disturb: vec![0; logical_blocks * tree.leaves()],
            m_merges: vec![0; logical_blocks],
            d_leaves: vec![LeafState::default(); tree.leaves()],
            u_leaves: vec![ULeafState::default(); tree.leaves()],
            slots: vec![NOT_IN_U; usize::from(book.pages())],
        }))
    }

    /// A logical block has another D-block, erased as a whole before.
    fn note_other_merge(&mut self, logical: u32) {
        self.m_merges[logical as usize] = 0;
        let leaves = self.leaves_of(logical);
        self.disturb[leaves].fill(0);
    }

    /// A D-block was kept after a power cut, which took the counters: unless it was erased since, it counts as disturbed
    /// as often as it bears.
    pub fn note_kept(&mut self, logical: u32, kept: &KeptBlock) {
        let disturb = if kept.is_fresh { 0 } else { self.tolerance };
        let leaves = self.leaves_of(logical);
        self.disturb[leaves].fill(disturb);
    }

    /// Bytes of RAM that a controller needs for it: counters of disturbs and of M-Merges.
    pub fn ram_bytes(&self) -> u64 {
        (self.disturb.len() + self.m_merges.len() * 2) as u64
    }

    fn leaves_of(&self, logical: u32) -> std::ops::Range<usize> {
        let leaves = self.tree.leaves();
        logical as usize * leaves..(logical as usize + 1) * leaves
    }

    /// Restores the D-block of a logical block, if that is cheaper than the other merge and allowed. Then every current
    /// page of the logical block is in D. Returns whether it did.
    fn try_merge(&mut self, weighed: &Weighed, book: &mut PlaneBook, step: &mut Step) -> bool {
        let Weighed { logical, d, room, other: (copies, erases) } = *weighed;
        self.describe(weighed, book);
        let m_merges = self.m_merges[logical as usize];
        let chosen = self.planner.plan(&PairState { d_leaves: &self.d_leaves, u_leaves: &self.u_leaves, m_merges });
        let needs_block = room.is_none() && chosen.copy_out > 0;
        // The plan's price has one erase of a whole block in it: that of the room, or of the block that is given up.
        let own = chosen.m_merge + if needs_block { self.block_erase } else { Time::ZERO };
        let price = self.copy * u64::from(copies) + self.block_erase * u64::from(erases);
        if chosen.choice != MergeChoice::MMerge || own >= price {
            return false;
        }
        let chosen = chosen.clone();
        let taken = match (room, needs_block) {
            (Some(block), _) => Some(block),
            (None, true) => match book.take(step) {
                Ok(block) => Some(block),
                Err(_) => return false,
            },
            (None, false) => None,
        };
        self.run(weighed, (taken.unwrap_or(d), &chosen), book, step);
        debug_assert_eq!(self.pages_outside(weighed, book), 0, "an M-Merge brings every current page to its D-block");
        if needs_block && let Some(block) = taken {
            book.erase(block, step);
            step.shared.counters.m_merge.block_erases += 1;
        }
        true
    }

    /// Carries a plan out; `room` takes the copy-outs.
    fn run(
        &mut self,
        weighed: &Weighed,
        (room, chosen): (BlockId, &MMergePlan),
        book: &mut PlaneBook,
        step: &mut Step,
    ) {
        let Weighed { logical, d, .. } = *weighed;
        let first = logical * u32::from(book.pages());
        let block = RestoredBlock {
            d,
            d_sequence: book.sequence(d),
            first_lpn: book.lpn(first),
            d_valid: book.valid_bits(d),
            room,
            room_sequence: book.sequence(room),
            free: book.next(room)..book.pages(),
            tree: self.tree,
        };
        let outside = |offset: usize| book.locate(first + offset as u32).filter(|place| place.block != d);
        restore(&block, chosen, outside, &mut self.slots, step.plan);
        book.note_restored(logical, d, chosen.restores.iter().map(|&pb| self.tree.page_range(pb)));
        let leaves = self.leaves_of(logical);
        self.disturb[leaves].copy_from_slice(&chosen.disturb_after);
        self.m_merges[logical as usize] += 1;
        let counters = &mut step.shared.counters;
        counters.copied_pages += u64::from(chosen.copy_out + chosen.copy_back);
        counters.m_merge.merges += 1;
        counters.m_merge.partial_erases += chosen.restores.len() as u64 + u64::from(chosen.u_pre_erase.is_some());
    }

    /// Current pages of a logical block that are not in its D-block. For assertions.
    fn pages_outside(&self, weighed: &Weighed, book: &PlaneBook) -> usize {
        let first = weighed.logical * u32::from(book.pages());
        let places = (first..first + u32::from(book.pages())).filter_map(|local| book.locate(local));
        places.filter(|place| place.block != weighed.d).count()
    }

    /// Sums the blocks up leaf by leaf for the planner.
    fn describe(&mut self, weighed: &Weighed, book: &PlaneBook) {
        let Weighed { logical, d, room, .. } = *weighed;
        let width = self.tree.pages_per_leaf();
        let (programmed, valid) = (book.programmed_bits(d), book.valid_bits(d));
        let disturb = &self.disturb[self.leaves_of(logical)];
        let first = logical * u32::from(book.pages());
        for (leaf, state) in self.d_leaves.iter_mut().enumerate() {
            let (start, end) = (leaf * width, (leaf + 1) * width);
            let valid = bits::count_range(valid, start, end) as u16;
            let invalid = bits::count_range(programmed, start, end) as u16 - valid;
            let is_outside = |offset: &usize| book.locate(first + *offset as u32).is_some_and(|place| place.block != d);
            let in_u = (start..end).filter(is_outside).count() as u16;
            *state = LeafState { valid, invalid, in_u, disturb: disturb[leaf] };
        }
        let next = room.map_or(0, |room| usize::from(book.next(room)));
        for (leaf, state) in self.u_leaves.iter_mut().enumerate() {
            let (start, end) = (leaf * width, (leaf + 1) * width);
            let free = end.saturating_sub(next.max(start)) as u16;
            let valid = room.map_or(0, |room| bits::count_range(book.valid_bits(room), start, end) as u16);
            *state = ULeafState { free, valid, disturb: 0 };
        }
    }
}
