//! Working off the queue: a merge in small steps, slot by slot.

use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

use pumice_types::{BlockId, Cause, FlashCommand, Lpn, PageAddress, Pb, PlaneId, SearchExpectation, Time, bits};

use super::{FtlError, Gftl};
use crate::layers::partial_erase::nftl::{NONE, Trigger};
use crate::merge::restore::MergeChoice;
use crate::merge::run::RestoreStep;
use crate::plan::Plan;
use crate::seam::{MergePolicy, TranslationLayer, UIndex};

/// What one plane has to clean.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct Cleaning {
    /// Logical blocks to merge, first come first served.
    pub queue: VecDeque<u32>,
    /// Blocks without current pages, to be erased before anything else, and the merges that they come from.
    pub dead: VecDeque<(BlockId, MergeChoice)>,
    /// The merge that has been begun.
    merge: Option<SlicedMerge>,
    /// What an M-Merge that has been begun has still to do.
    steps: VecDeque<RestoreStep>,
    /// Physical page + 1 from which each offset was copied, 0 if it was not.
    copied: Vec<u32>,
}

/// A merge half done.
#[derive(Clone, Copy, Serialize, Deserialize)]
struct SlicedMerge {
    logical: usize,
    /// Pages of U whose spare areas are still to be read.
    to_search: u16,
    way: Way,
}

/// How a merge is done.
#[derive(Clone, Copy, Serialize, Deserialize)]
enum Way {
    /// What U holds is not known yet, and so neither which merge is cheaper.
    Undecided,
    /// All current pages go into a free block.
    Full(FullMerge),
    /// Parts of D are restored.
    MMerge,
}

/// A full merge half done.
#[derive(Clone, Copy, Serialize, Deserialize)]
struct FullMerge {
    target: BlockId,
    sequence: u32,
    /// First offset not looked at.
    next: usize,
}

impl Cleaning {
    /// Nothing to do, in a plane of so many blocks of so many pages.
    pub(super) fn new(blocks: usize, pages: usize) -> Cleaning {
        let (queue, dead) = (VecDeque::with_capacity(blocks), VecDeque::with_capacity(blocks));
        Cleaning { queue, dead, merge: None, steps: VecDeque::new(), copied: vec![0; pages] }
    }

    /// Blocks that the plane will have won when all is done: each merge wins one, as does each erase.
    pub(super) fn waiting(&self) -> usize {
        // A full merge that has begun holds its target already, and will give two blocks back.
        let begun = match self.merge.map(|merge| merge.way) {
            None => 0,
            Some(Way::Undecided | Way::MMerge) => 1,
            Some(Way::Full(_)) => 2,
        };
        self.queue.len() + self.dead.len() + begun
    }

    /// Whether a merge that has begun holds the block that it copies into.
    fn holds_target(&self) -> bool {
        self.merge.is_some_and(|merge| matches!(merge.way, Way::Full(_)))
    }
}

impl Gftl {
    /// One slot: as much work as fits, and a pause for the rest.
    pub(super) fn slot(&mut self, plane: usize, plan: &mut Plan) -> Result<(), FtlError> {
        let mut left = self.config.slot;
        while let Some(took) = self.clean_step(plane, Some(left), plan)? {
            left = left - took;
        }
        while left > Time::ZERO {
            let block = self.nftl.config.geometry.block(PlaneId(plane as u32), 0);
            let pause = FlashCommand::pause(block, left);
            left = left - pause.duration();
            plan.push(pause);
        }
        Ok(())
    }

    /// Free blocks that neither the host nor the buffer takes.
    fn kept(&self, plane: usize) -> usize {
        self.config.reserve + usize::from(!self.planes[plane].holds_target())
    }

    /// Ends with a block to take and one to merge into, working beyond the slot if it must.
    pub(super) fn win_block(&mut self, plane: usize, plan: &mut Plan) -> Result<(), FtlError> {
        loop {
            if self.available(plane) > self.kept(plane) {
                return Ok(());
            }
            if self.clean_step(plane, None, plan)?.is_none() && !self.enqueue_victim(plane) {
                return Ok(());
            }
        }
    }

    /// Ends with a block that the buffer may take, working beyond the slot if it must. A buffer full of
    /// pages of logical blocks that no longer wait has them merged once more.
    pub(super) fn win_buffer_block(&mut self, plane: usize, plan: &mut Plan) -> Result<(), FtlError> {
        // A step erases what is to be erased before it begins a merge, so blocks that the buffer gave
        // up are free again before a target is wanted.
        let is_low = |gftl: &Gftl| gftl.nftl.pool.free_blocks(PlaneId(plane as u32)) <= gftl.config.reserve;
        while self.buffer.blocks_left(plane) == 0 || is_low(self) {
            if self.clean_step(plane, None, plan)?.is_none() {
                let Some(lpn) = self.buffer.oldest(plane) else { return Ok(()) };
                self.enqueue(self.nftl.split(lpn).0, Trigger::Full);
            }
        }
        Ok(())
    }

    /// The next step of the plane's work, if there is any and it takes no longer than `budget`. Returns
    /// the time it takes.
    fn clean_step(&mut self, plane: usize, budget: Option<Time>, plan: &mut Plan) -> Result<Option<Time>, FtlError> {
        let fits = |time: Time| budget.is_none_or(|budget| time <= budget);
        if let Some(&(block, merge)) = self.planes[plane].dead.front() {
            if !fits(self.config.slot) {
                return Ok(None);
            }
            self.planes[plane].dead.pop_front();
            plan.push(FlashCommand::erase(block));
            let counters = &mut self.nftl.counters;
            match merge {
                MergeChoice::Merge => counters.full.block_erases += 1,
                MergeChoice::MMerge => counters.m_merge.block_erases += 1,
            }
            self.nftl.pool.give_back(PlaneId(plane as u32), block);
            return Ok(Some(self.config.slot));
        }
        let Some(mut merge) = self.current(plane, plan)? else { return Ok(None) };
        let took = match merge.way {
            _ if merge.to_search > 0 => self.search(&mut merge, budget, plan),
            Way::Undecided => None,
            Way::Full(ref mut full) => self.copy(merge.logical, full, plan, fits),
            Way::MMerge => self.restore(plane, merge.logical, plan, fits),
        };
        self.planes[plane].merge = Some(merge);
        self.conclude_if_done(plane, merge);
        Ok(took)
    }

    /// Ends a merge that has nothing more to do.
    fn conclude_if_done(&mut self, plane: usize, merge: SlicedMerge) {
        match merge.way {
            _ if merge.to_search > 0 => {}
            Way::Undecided => {}
            Way::Full(full) if self.source(merge.logical, full.next).is_none() => {
                self.conclude(plane, merge.logical, full);
            }
            Way::MMerge if self.planes[plane].steps.is_empty() => self.conclude_m_merge(plane, merge.logical),
            Way::Full(_) | Way::MMerge => {}
        }
    }

    /// The merge that has been begun, or the next of the queue. Which merge it is to be is settled as soon as U is known.
    fn current(&mut self, plane: usize, plan: &mut Plan) -> Result<Option<SlicedMerge>, FtlError> {
        let begun = match self.planes[plane].merge {
            Some(merge) => Some(merge),
            None => self.planes[plane].queue.pop_front().map(|logical| self.begin(logical as usize)),
        };
        let Some(mut merge) = begun else { return Ok(None) };
        let waits = merge.to_search > 0 && matches!(self.nftl.config.merge, MergePolicy::MMerge { .. });
        if matches!(merge.way, Way::Undecided) && !waits {
            merge.way = self.decide(plane, merge.logical, plan)?;
        }
        Ok(Some(merge))
    }

    fn begin(&self, logical: usize) -> SlicedMerge {
        let slot = self.nftl.logical[logical].u_slot;
        let searched = slot != NONE && self.nftl.config.u_index == UIndex::Spare;
        let to_search = if searched { self.nftl.u_blocks[slot as usize].written } else { 0 };
        SlicedMerge { logical, to_search, way: Way::Undecided }
    }

    /// The cheaper merge that is allowed. A logical block without a U-block has no room for an M-Merge.
    fn decide(&mut self, plane: usize, logical: usize, plan: &mut Plan) -> Result<Way, FtlError> {
        let (first, pages) = (self.nftl.first_lpn(logical).0, self.nftl.pages);
        let (buffer, steps) = (&self.buffer, &mut self.planes[plane].steps);
        let buffered = (0..pages).filter(|&offset| buffer.locate(Lpn(first + offset as u32)).is_some());
        if self.nftl.logical[logical].u_slot != NONE
            && self.nftl.plan_sliced(logical, buffered, |step| steps.push_back(step))
        {
            return Ok(Way::MMerge);
        }
        let (target, sequence) = self.nftl.take_block(PlaneId(plane as u32))?;
        self.nftl.proofs.prove(target, plan);
        self.planes[plane].copied.fill(0);
        Ok(Way::Full(FullMerge { target, sequence, next: 0 }))
    }

    /// Reads as many spare areas of U as fit, newest first.
    fn search(&self, merge: &mut SlicedMerge, budget: Option<Time>, plan: &mut Plan) -> Option<Time> {
        let slot = self.nftl.logical[merge.logical].u_slot as usize;
        let page_time = self.config.search_page.0.max(1);
        let fit = budget.map_or(u64::MAX, |budget| budget.saturating_sub(self.config.search).0 / page_time);
        let pages = fit.min(u64::from(merge.to_search)) as u16;
        if pages == 0 {
            return None;
        }
        let newest = PageAddress::new(self.nftl.u_blocks[slot].block, merge.to_search - 1);
        let first = self.nftl.first_lpn(merge.logical);
        plan.push(FlashCommand::spare_search(Cause::Gc, newest, pages, first, SearchExpectation::Scan));
        merge.to_search -= pages;
        Some(self.config.search + self.config.search_page * u64::from(pages))
    }

    /// The next offset that has a page to copy, from `next` on, and where that is.
    fn source(&self, logical: usize, next: usize) -> Option<(usize, PageAddress)> {
        let first = self.nftl.first_lpn(logical).0;
        (next..self.nftl.pages).find_map(|offset| Some((offset, self.locate(Lpn(first + offset as u32))?)))
    }

    /// Copies one page into the target of a full merge.
    fn copy(
        &mut self,
        logical: usize,
        full: &mut FullMerge,
        plan: &mut Plan,
        fits: impl Fn(Time) -> bool,
    ) -> Option<Time> {
        let (offset, source) = self.source(logical, full.next)?;
        if !fits(self.config.copy) {
            return None;
        }
        let lpn = Lpn(self.nftl.first_lpn(logical).0 + offset as u32);
        let target = PageAddress::new(full.target, offset as u16);
        plan.push(FlashCommand::copy(source, target, lpn, full.sequence));
        let plane = self.nftl.plane_of(logical).index();
        self.planes[plane].copied[offset] = self.physical(source) + 1;
        self.nftl.counters.copied_pages += 1;
        full.next = offset + 1;
        Some(self.config.copy)
    }

    /// Does the next step of an M-Merge; one whose page the host has written again meanwhile, or that has no page, takes
    /// no time.
    fn restore(&mut self, plane: usize, logical: usize, plan: &mut Plan, fits: impl Fn(Time) -> bool) -> Option<Time> {
        let Some(&step) = self.planes[plane].steps.front() else { return Some(Time::ZERO) };
        let pair = self.nftl.pair_of(logical);
        let pair = pair.restored(self.nftl.config.tree);
        let lpn = |offset: u16| Lpn(pair.first_lpn.0 + u32::from(offset));
        let (command, took) = match step {
            RestoreStep::EraseInRoom(pb) => (Some(FlashCommand::partial_erase(pair.room, pb)), self.time_of(pb)),
            RestoreStep::Erase(pb) => (Some(FlashCommand::partial_erase(pair.d, pb)), self.time_of(pb)),
            RestoreStep::CopyOut { offset, slot } => {
                let is_current = bits::get(pair.d_valid, usize::from(offset));
                (is_current.then(|| pair.copy_out(offset, slot)), self.config.copy)
            }
            RestoreStep::CopyBack(offset) => {
                (self.locate(lpn(offset)).map(|from| pair.copy_back(from, offset)), self.config.copy)
            }
        };
        let lpn_back = if let RestoreStep::CopyBack(offset) = step { Some(lpn(offset)) } else { None };
        let took = if command.is_some() { took } else { Time::ZERO };
        if !fits(took) {
            return None;
        }
        self.planes[plane].steps.pop_front();
        if let Some(command) = command {
            plan.push(command);
            self.note_restored(logical, step);
            lpn_back.into_iter().for_each(|lpn| self.forget_buffered(plane, lpn));
        }
        Some(took)
    }

    fn time_of(&self, pb: Pb) -> Time {
        self.config.partial_erase[pb.level() as usize]
    }

    /// Belief after a step of an M-Merge.
    fn note_restored(&mut self, logical: usize, step: RestoreStep) {
        let nftl = &mut self.nftl;
        match step {
            RestoreStep::EraseInRoom(_) => nftl.counters.m_merge.partial_erases += 1,
            RestoreStep::Erase(pb) => {
                nftl.note_part_erased(logical, pb);
                nftl.counters.m_merge.partial_erases += 1;
            }
            RestoreStep::CopyOut { offset, slot } => {
                nftl.note_copied_out(logical, usize::from(offset), slot);
                nftl.counters.copied_pages += 1;
            }
            RestoreStep::CopyBack(offset) => {
                nftl.note_copied_back(logical, usize::from(offset));
                nftl.counters.copied_pages += 1;
            }
        }
    }

    /// Whether a page belongs to a logical block whose M-Merge is half done.
    pub(super) fn is_restored(&self, lpn: Lpn) -> bool {
        let (logical, _) = self.nftl.split(lpn);
        let merge = self.planes[self.nftl.plane_of(logical).index()].merge;
        merge.is_some_and(|merge| merge.logical == logical && matches!(merge.way, Way::MMerge))
    }

    /// After an M-Merge nothing current is in U. Pages written since they were copied stay in the buffer.
    fn conclude_m_merge(&mut self, plane: usize, logical: usize) {
        let u = self.nftl.pair_of(logical).u;
        self.planes[plane].dead.push_back((u, MergeChoice::MMerge));
        self.nftl.drop_u_block(logical);
        self.nftl.counters.m_merge.merges += 1;
        self.queued[logical] = false;
        self.planes[plane].merge = None;
    }

    fn physical(&self, page: PageAddress) -> u32 {
        page.block.0 * self.nftl.pages as u32 + u32::from(page.page)
    }

    /// Belief after the last copy: the target becomes D, except for pages written since they were
    /// copied, whose newest copy stays in the buffer; the old D and U wait to be erased.
    fn conclude(&mut self, plane: usize, logical: usize, full: FullMerge) {
        let first = self.nftl.first_lpn(logical).0;
        let words = self.nftl.words_of(logical);
        for offset in 0..self.nftl.pages {
            let lpn = Lpn(first + offset as u32);
            let copied = self.planes[plane].copied[offset];
            let current = copied > 0 && self.locate(lpn).is_some_and(|page| self.physical(page) + 1 == copied);
            if current {
                self.forget_buffered(plane, lpn);
            }
            for (column, set) in [(&mut self.nftl.d_programmed, copied > 0), (&mut self.nftl.d_valid, current)] {
                let change = if set { bits::set } else { bits::clear };
                change(&mut column[words.clone()], offset);
            }
        }
        let block = &mut self.nftl.logical[logical];
        let (d, u_slot) = (block.d, block.u_slot);
        (block.d, block.d_sequence) = (full.target.0, full.sequence);
        self.nftl.note_other_d(logical);
        self.planes[plane].dead.push_back((BlockId(d), MergeChoice::Merge));
        if u_slot != NONE {
            let u = self.nftl.u_blocks[u_slot as usize].block;
            self.planes[plane].dead.push_back((u, MergeChoice::Merge));
            self.nftl.drop_u_block(logical);
        }
        self.nftl.counters.full.merges += 1;
        self.queued[logical] = false;
        self.planes[plane].merge = None;
    }
}
