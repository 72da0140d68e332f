//! Working off the queue: a merge in small steps, slot by slot.

use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

use pumice_types::{BlockId, Cause, FlashCommand, Lpn, PageAddress, PlaneId, SearchExpectation, Time, bits};

use super::{FtlError, Gftl};
use crate::layers::partial_erase::nftl::{NONE, Trigger};
use crate::plan::Plan;
use crate::seam::{TranslationLayer, UIndex};

/// What one plane has to clean.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct Cleaning {
    /// Logical blocks to merge, first come first served.
    pub queue: VecDeque<u32>,
    /// Blocks without current pages, to be erased before anything else.
    pub dead: VecDeque<BlockId>,
    /// The merge that has been begun.
    merge: Option<SlicedMerge>,
    /// Physical page + 1 from which each offset was copied, 0 if it was not.
    copied: Vec<u32>,
}

/// A merge half done.
#[derive(Clone, Copy, Serialize, Deserialize)]
struct SlicedMerge {
    logical: usize,
    target: BlockId,
    sequence: u32,
    /// Pages of U whose spare areas are still to be read.
    to_search: u16,
    /// First offset not looked at.
    next: usize,
}

impl Cleaning {
    /// Nothing to do, in a plane of so many blocks of so many pages.
    pub(super) fn new(blocks: usize, pages: usize) -> Cleaning {
        let (queue, dead) = (VecDeque::with_capacity(blocks), VecDeque::with_capacity(blocks));
        Cleaning { queue, dead, merge: None, copied: vec![0; pages] }
    }

    /// Blocks that the plane will have won when all is done: each merge wins one, as does each erase.
    pub(super) fn waiting(&self) -> usize {
        // A merge that has begun holds its target already, and will give two blocks back.
        self.queue.len() + self.dead.len() + if self.merge.is_some() { 2 } else { 0 }
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
        // A merge that has begun holds its target already.
        let target = usize::from(self.planes[plane].merge.is_none());
        self.config.reserve + target
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
        if let Some(&block) = self.planes[plane].dead.front() {
            if !fits(self.config.slot) {
                return Ok(None);
            }
            self.planes[plane].dead.pop_front();
            plan.push(FlashCommand::erase(block));
            self.nftl.counters.full.block_erases += 1;
            self.nftl.pool.give_back(PlaneId(plane as u32), block);
            return Ok(Some(self.config.slot));
        }
        let Some(mut merge) = self.current(plane, plan)? else { return Ok(None) };
        let took =
            if merge.to_search > 0 { self.search(&mut merge, budget, plan) } else { self.copy(&mut merge, plan, fits) };
        self.planes[plane].merge = Some(merge);
        if merge.to_search == 0 && self.source(&merge).is_none() {
            self.conclude(plane, merge);
        }
        Ok(took)
    }

    /// The merge that has been begun, or the next of the queue.
    fn current(&mut self, plane: usize, plan: &mut Plan) -> Result<Option<SlicedMerge>, FtlError> {
        if self.planes[plane].merge.is_some() {
            return Ok(self.planes[plane].merge);
        }
        let Some(logical) = self.planes[plane].queue.pop_front() else { return Ok(None) };
        let (target, sequence) = self.nftl.take_block(PlaneId(plane as u32))?;
        self.nftl.proofs.prove(target, plan);
        let slot = self.nftl.logical[logical as usize].u_slot;
        let searched = slot != NONE && self.nftl.config.u_index == UIndex::Spare;
        let to_search = if searched { self.nftl.u_blocks[slot as usize].written } else { 0 };
        self.planes[plane].copied.fill(0);
        Ok(Some(SlicedMerge { logical: logical as usize, target, sequence, to_search, next: 0 }))
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

    /// The next offset that has a page to copy, from `merge.next` on, and where that is.
    fn source(&self, merge: &SlicedMerge) -> Option<(usize, PageAddress)> {
        let first = self.nftl.first_lpn(merge.logical).0;
        (merge.next..self.nftl.pages).find_map(|offset| Some((offset, self.locate(Lpn(first + offset as u32))?)))
    }

    /// Copies one page into the merge's target.
    fn copy(&mut self, merge: &mut SlicedMerge, plan: &mut Plan, fits: impl Fn(Time) -> bool) -> Option<Time> {
        let (offset, source) = self.source(merge)?;
        if !fits(self.config.copy) {
            return None;
        }
        let lpn = Lpn(self.nftl.first_lpn(merge.logical).0 + offset as u32);
        let target = PageAddress::new(merge.target, offset as u16);
        plan.push(FlashCommand::copy(source, target, lpn, merge.sequence));
        let plane = self.nftl.plane_of(merge.logical).index();
        self.planes[plane].copied[offset] = self.physical(source) + 1;
        self.nftl.counters.copied_pages += 1;
        merge.next = offset + 1;
        Some(self.config.copy)
    }

    fn physical(&self, page: PageAddress) -> u32 {
        page.block.0 * self.nftl.pages as u32 + u32::from(page.page)
    }

    /// Belief after the last copy: the target becomes D, except for pages written since they were
    /// copied, whose newest copy stays in the buffer; the old D and U wait to be erased.
    fn conclude(&mut self, plane: usize, merge: SlicedMerge) {
        let logical = merge.logical;
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
        (block.d, block.d_sequence) = (merge.target.0, merge.sequence);
        self.planes[plane].dead.push_back(BlockId(d));
        if u_slot != NONE {
            let u = self.nftl.u_blocks[u_slot as usize].block;
            self.planes[plane].dead.push_back(u);
            self.nftl.drop_u_block(logical);
        }
        self.nftl.counters.full.merges += 1;
        self.queued[logical] = false;
        self.planes[plane].merge = None;
    }
}
