//! FAST, fully associative sector translation (Lee, Park, Chung, Lee, Park and Song, *A Log Buffer-Based
//! Flash Translation Layer Using Fully-Associative Sector Translation*, ACM TECS 6(3), 2007; as section
//! 2.4 of EMSOFT'06 describes it).
//!
//! Built: D-blocks programmed in place; one sequential log block, and random log blocks that all logical
//! blocks share, filled one after the other and reclaimed in the order in which they were filled. The
//! page map of log blocks is in RAM. Reclaiming a random log block merges, in full, every logical block
//! that has a current page in it.
//!
//! An update of page 0 of a logical block starts a new sequence; updates that continue it go to the
//! sequential log block; an update of that logical block that does not continue it ends the sequence. A
//! sequence that ends is merged: switch if it is all there is, else partial.
//!
//! Chosen: the update that breaks a sequence goes to the random log blocks (the paper's listing leaves it
//! open). A merge takes every current page of the logical block, wherever it is, so no page of it stays
//! in a log. A page of D that is still erased, and that the program order allows, is programmed in D.
//!
//! After a power cut every logical block with a current page in a log block is merged before the host is served
//! ([`crate::recovery`]); no log block is left. The paper says nothing of power cuts. Added to the spare area of a page,
//! beside its logical page: the numbers of its write and of its program. Which log block was the sequential one is
//! lost, and not needed.

use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

use pumice_types::{BlockId, PageAddress, ProgramOrder};

use super::in_place;
use super::in_place::InPlaceMerge;
use super::log_block::fits_in_place;
use super::m_merge::{MMerger, Weighed, m_merges};
use super::plane_book::{NO_BLOCK, PlaneBook, Shared, Step};
use super::striped::PlaneFtl;
use super::striped_room::{PlaneLayer, Room};
use crate::merge::plan::{InPlaceState, in_place_merge};
use crate::plan::{FtlError, InitialBlock, MergeKind};
use crate::recovery::KeptUnit;
use crate::seam::{LayerParts, LayerSpec};

/// Log blocks that FAST needs: the sequential one and a random one.
const FAST_LOG_BLOCKS_MIN: u32 = 2;

/// The sequential log block.
#[derive(Clone, Copy, Serialize, Deserialize)]
struct Sequential {
    block: BlockId,
    logical: u32,
}

/// One plane of FAST.
#[derive(Clone, Serialize, Deserialize)]
pub struct Fast {
    book: PlaneBook,
    order: ProgramOrder,
    d: Vec<BlockId>,
    sequential: Option<Sequential>,
    /// Random log blocks, the one being filled last.
    random: VecDeque<BlockId>,
    log_blocks_max: u32,
    m_merger: Option<Box<MMerger>>,
}

impl Fast {
    /// Restores the D-block of a logical block, if M-Merge is the cheaper merge. Returns whether it did.
    fn m_merges(&mut self, logical: u32, room: Option<BlockId>, other: (u32, u32), step: &mut Step) -> bool {
        let weighed = Weighed { logical, d: self.d[logical as usize], room, other };
        m_merges(&mut self.m_merger, &weighed, &mut self.book, step)
    }

    /// Where the next update of a logical block's page goes, after the merges that this takes.
    fn target(&mut self, logical: u32, offset: u16, step: &mut Step) -> Result<PageAddress, FtlError> {
        if offset == 0 {
            self.end_sequence(step)?;
            let block = self.take_log_block(step)?;
            self.sequential = Some(Sequential { block, logical });
            return Ok(PageAddress::new(block, 0));
        }
        if let Some(Sequential { block, .. }) = self.sequential.filter(|log| log.logical == logical) {
            if self.book.next(block) == offset {
                return Ok(PageAddress::new(block, offset));
            }
            self.end_sequence(step)?;
        }
        let block = self.random_log_block(step)?;
        Ok(PageAddress::new(block, self.book.next(block)))
    }

    fn take_log_block(&mut self, step: &mut Step) -> Result<BlockId, FtlError> {
        let block = self.book.take(step)?;
        step.shared.note_u_taken();
        Ok(block)
    }

    /// The random log block with room, after reclaiming the oldest if there is none and no other left.
    fn random_log_block(&mut self, step: &mut Step) -> Result<BlockId, FtlError> {
        if let Some(&block) = self.random.back()
            && self.book.free_pages(block) > 0
        {
            return Ok(block);
        }
        if self.random.len() as u32 == self.log_blocks_max - 1 {
            step.shared.counters.trigger_unpaired += 1;
            self.reclaim_oldest(step)?;
        }
        let block = self.take_log_block(step)?;
        self.random.push_back(block);
        Ok(block)
    }

    /// Makes the sequential log block a D-block.
    fn end_sequence(&mut self, step: &mut Step) -> Result<(), FtlError> {
        let Some(Sequential { block, logical }) = self.sequential.take() else { return Ok(()) };
        let counters = &mut step.shared.counters;
        counters.trigger_unpaired += 1;
        counters.note_victim(usize::from(self.book.next(block)), usize::from(self.book.pages()));
        let elsewhere = self.current_pages(logical) - u32::from(self.book.valid_pages(block));
        let kind = in_place_merge(InPlaceState { u_in_place: true, elsewhere });
        if self.m_merges(logical, Some(block), (elsewhere, 1), step) {
            self.book.erase(block, step);
            step.shared.counters.m_merge.block_erases += 1;
            step.shared.note_u_gone();
            return Ok(());
        }
        let old = [self.d[logical as usize]];
        let d = in_place::run(&mut self.book, &InPlaceMerge { kind, logical, into: block, old: &old }, step)?;
        self.d[logical as usize] = d;
        step.shared.note_u_gone();
        Ok(())
    }

    fn current_pages(&self, logical: u32) -> u32 {
        let pages = u32::from(self.book.pages());
        (logical * pages..(logical + 1) * pages).filter(|&local| self.book.locate(local).is_some()).count() as u32
    }

    /// Frees the random log block filled first.
    fn reclaim_oldest(&mut self, step: &mut Step) -> Result<(), FtlError> {
        let Some(victim) = self.random.pop_front() else { return Ok(()) };
        let written = usize::from(self.book.next(victim));
        step.shared.counters.note_victim(written, usize::from(self.book.pages()));
        let mut sharing = 0;
        while let Some(page) = self.book.next_valid(victim, 0) {
            let (logical, _) = self.book.split(self.book.owner(page));
            self.full_merge(logical, step)?;
            sharing += 1;
        }
        self.book.erase(victim, step);
        step.shared.note_u_gone();
        let counters = &mut step.shared.counters;
        (counters.shared_victims, counters.sharing_blocks) =
            (counters.shared_victims + 1, counters.sharing_blocks + sharing);
        let count = if sharing > 0 { &mut counters.full } else { &mut counters.dead };
        count.block_erases += 1;
        Ok(())
    }

    /// Copies all current pages of a logical block into a free block. Its sequential log block, if it has
    /// one, is used up with it.
    fn full_merge(&mut self, logical: u32, step: &mut Step) -> Result<(), FtlError> {
        let d = self.d[logical as usize];
        let sequence = self.sequential.take_if(|log| log.logical == logical);
        // The price of the victim's erase, which comes in any case, is in both sides. A sequence in the making is used up
        // by the full merge alone.
        let other = if sequence.is_none() { (self.current_pages(logical), 2) } else { (0, 0) };
        if self.m_merges(logical, None, other, step) {
            return Ok(());
        }
        let both = [d, sequence.map_or(NO_BLOCK, |log| log.block)];
        let old = if sequence.is_some() { &both[..] } else { &both[..1] };
        let merge = InPlaceMerge { kind: MergeKind::Full, logical, into: NO_BLOCK, old };
        self.d[logical as usize] = in_place::run(&mut self.book, &merge, step)?;
        if sequence.is_some() {
            step.shared.note_u_gone();
        }
        Ok(())
    }
}

impl PlaneFtl for Fast {
    fn book(&self) -> &PlaneBook {
        &self.book
    }

    fn book_mut(&mut self) -> &mut PlaneBook {
        &mut self.book
    }

    fn adopt_kept(&mut self, logical: u32, found: &KeptUnit) {
        for kept in &found.blocks {
            self.d[logical as usize] = kept.block;
            self.m_merger.iter_mut().for_each(|merger| merger.note_kept(logical, kept));
        }
    }

    fn fill(&mut self, logical: u32, pages: u16, shared: &mut Shared) -> Result<InitialBlock, FtlError> {
        let filled = self.book.fill(logical, pages, &mut shared.pool)?;
        self.d[logical as usize] = filled.block;
        Ok(filled)
    }

    fn write(&mut self, local: u32, version: u8, step: &mut Step) -> Result<(), FtlError> {
        let (logical, offset) = self.book.split(local);
        if self.d[logical as usize] == NO_BLOCK {
            self.d[logical as usize] = self.book.take(step)?;
        }
        let d = self.d[logical as usize];
        let target = match fits_in_place(&self.book, d, offset, self.order) {
            true => PageAddress::new(d, offset),
            false => self.target(logical, offset, step)?,
        };
        self.book.program(local, version, target, step);
        Ok(())
    }

    fn merge_all(&mut self, step: &mut Step) -> Result<(), FtlError> {
        self.end_sequence(step)?;
        while !self.random.is_empty() {
            self.reclaim_oldest(step)?;
        }
        Ok(())
    }

    /// Four bytes a logical block for D; for each log block its number, and four bytes a page for what it
    /// holds.
    fn map_ram_bytes(&self) -> u64 {
        let log_block = 4 + 4 * u64::from(self.book.pages());
        let m_merge = self.m_merger.as_ref().map_or(0, |merger| merger.ram_bytes());
        u64::from(self.book.logical_blocks()) * 4 + u64::from(self.log_blocks_max) * log_block + m_merge
    }

    fn state_bytes(&self) -> u64 {
        self.book.state_bytes() + size_of_val(&self.d[..]) as u64
    }
}

impl PlaneLayer for Fast {
    type OwnKeys = ();

    fn room<'a>(spec: &'a LayerSpec<'a>) -> Room<'a> {
        Room { u_blocks_min: FAST_LOG_BLOCKS_MIN, ..Room::of_blocks(spec) }
    }

    fn empty(book: PlaneBook, u_blocks: u32, parts: &LayerParts, _: &()) -> Fast {
        Fast {
            order: parts.spec.chip.geometry.program_order,
            d: vec![NO_BLOCK; book.logical_blocks() as usize],
            sequential: None,
            random: VecDeque::with_capacity(u_blocks as usize),
            log_blocks_max: u_blocks,
            m_merger: MMerger::of(parts, &book),
            book,
        }
    }
}
