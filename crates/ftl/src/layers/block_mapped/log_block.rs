//! The log block scheme, also called BAST (Kim, Kim, Noh, Min and Cho, *A Space-Efficient Flash Translation
//! Layer for CompactFlash Systems*, IEEE Trans. Consumer Electronics, 2002; as section 2.4 of EMSOFT'06
//! describes it).
//!
//! Built: D-blocks programmed in place; a limited number of U-blocks, at most one for each D-block, each
//! a log; switch, partial and full merges. The U-blocks' page map is in RAM. A pair is merged when its
//! U-block is full, or when no U-block is left and another D-block needs one.
//!
//! Chosen: the victim is the U-block written least recently; a page of D that is still erased, and that
//! the program order allows, is programmed in D.
//!
//! After a power cut every pair that is found is merged before the host is served ([`crate::recovery`]). The paper says
//! nothing of power cuts. Added to the spare area of a page, beside its logical page: the numbers of its write and of
//! its program. Lost, and not needed: which U-block was written least recently.

use pumice_types::{BlockId, PageAddress, ProgramOrder};
use serde::{Deserialize, Serialize};

use super::in_place;
use super::in_place::InPlaceMerge;
use super::m_merge::{MMerger, Weighed, m_merges};
use super::plane_book::{NO_BLOCK, PlaneBook, Shared, Step};
use super::striped::PlaneFtl;
use super::striped_room::PlaneLayer;
use crate::blocks::recency::Recency;
use crate::merge::plan::{InPlaceState, in_place_merge};
use crate::plan::{FtlError, InitialBlock, MergeKind};
use crate::recovery::KeptUnit;
use crate::seam::LayerParts;

/// Whether a page of a D-block can be programmed at its own offset.
pub(in crate::layers) fn fits_in_place(book: &PlaneBook, d: BlockId, offset: u16, order: ProgramOrder) -> bool {
    match order {
        ProgramOrder::Any => !book.is_programmed(PageAddress::new(d, offset)),
        ProgramOrder::InOrder => offset >= book.next(d),
    }
}

/// Blocks of one logical block.
#[derive(Clone, Copy, Serialize, Deserialize)]
struct LogPair {
    d: BlockId,
    u: BlockId,
    /// Every page of U is at its own offset.
    u_in_place: bool,
}

/// One plane of the log block scheme.
#[derive(Clone, Serialize, Deserialize)]
pub struct LogBlock {
    book: PlaneBook,
    order: ProgramOrder,
    pairs: Vec<LogPair>,
    /// Logical blocks with a U-block, by its last write.
    recency: Recency,
    u_blocks: u32,
    u_blocks_max: u32,
    m_merger: Option<Box<MMerger>>,
}

impl LogBlock {
    /// Ends with room in the U-block of a logical block.
    fn make_room(&mut self, logical: u32, step: &mut Step) -> Result<(), FtlError> {
        let u = self.pairs[logical as usize].u;
        if u != NO_BLOCK {
            if self.book.free_pages(u) > 0 {
                return Ok(());
            }
            step.shared.counters.trigger_full += 1;
            self.merge(logical, step)?;
        } else if self.u_blocks == self.u_blocks_max {
            step.shared.counters.trigger_unpaired += 1;
            self.merge_victim(step)?;
        }
        let pair = &mut self.pairs[logical as usize];
        pair.u = self.book.take(step)?;
        pair.u_in_place = true;
        self.u_blocks += 1;
        step.shared.note_u_taken();
        Ok(())
    }

    fn merge_victim(&mut self, step: &mut Step) -> Result<(), FtlError> {
        match self.recency.oldest() {
            Some(logical) => self.merge(logical, step),
            None => Ok(()),
        }
    }

    /// Merges a pair in the cheapest way.
    fn merge(&mut self, logical: u32, step: &mut Step) -> Result<(), FtlError> {
        let LogPair { d, u, u_in_place } = self.pairs[logical as usize];
        let (pages, written) = (self.book.pages(), self.book.next(u));
        step.shared.counters.note_victim(usize::from(written), usize::from(pages));
        let elsewhere = u32::from(self.book.valid_pages(d));
        let kind = in_place_merge(InPlaceState { u_in_place, elsewhere });
        let other = match kind {
            MergeKind::Full => (elsewhere + u32::from(self.book.valid_pages(u)), 2),
            MergeKind::Partial | MergeKind::Switch => (elsewhere, 1),
        };
        let weighed = Weighed { logical, d, room: Some(u), other };
        let d = if m_merges(&mut self.m_merger, &weighed, &mut self.book, step) {
            self.book.erase(u, step);
            step.shared.counters.m_merge.block_erases += 1;
            d
        } else {
            let old = if kind == MergeKind::Full { &[d, u][..] } else { &[d][..] };
            in_place::run(&mut self.book, &InPlaceMerge { kind, logical, into: u, old }, step)?
        };
        self.pairs[logical as usize] = LogPair { d, u: NO_BLOCK, u_in_place: true };
        self.recency.remove(logical);
        self.u_blocks -= 1;
        step.shared.note_u_gone();
        Ok(())
    }
}

impl PlaneFtl for LogBlock {
    fn book(&self) -> &PlaneBook {
        &self.book
    }

    fn book_mut(&mut self) -> &mut PlaneBook {
        &mut self.book
    }

    fn adopt_kept(&mut self, logical: u32, found: &KeptUnit) {
        for kept in &found.blocks {
            self.pairs[logical as usize].d = kept.block;
            self.m_merger.iter_mut().for_each(|merger| merger.note_kept(logical, kept));
        }
    }

    fn fill(&mut self, logical: u32, pages: u16, shared: &mut Shared) -> Result<InitialBlock, FtlError> {
        let filled = self.book.fill(logical, pages, &mut shared.pool)?;
        self.pairs[logical as usize].d = filled.block;
        Ok(filled)
    }

    fn write(&mut self, local: u32, version: u8, step: &mut Step) -> Result<(), FtlError> {
        let (logical, offset) = self.book.split(local);
        if self.pairs[logical as usize].d == NO_BLOCK {
            self.pairs[logical as usize].d = self.book.take(step)?;
        }
        let d = self.pairs[logical as usize].d;
        if fits_in_place(&self.book, d, offset, self.order) {
            self.book.program(local, version, PageAddress::new(d, offset), step);
            return Ok(());
        }
        self.make_room(logical, step)?;
        let pair = &mut self.pairs[logical as usize];
        let target = PageAddress::new(pair.u, self.book.next(pair.u));
        pair.u_in_place &= target.page == offset;
        self.book.program(local, version, target, step);
        self.recency.touch(logical);
        Ok(())
    }

    fn merge_all(&mut self, step: &mut Step) -> Result<(), FtlError> {
        while self.u_blocks > 0 {
            self.merge_victim(step)?;
        }
        Ok(())
    }

    /// Four bytes a logical block for D; for each U-block its owner, its number and its write pointer, and
    /// two bytes a page for what it holds.
    fn map_ram_bytes(&self) -> u64 {
        let u_block = 4 + 4 + 2 + 2 * u64::from(self.book.pages());
        let m_merge = self.m_merger.as_ref().map_or(0, |merger| merger.ram_bytes());
        u64::from(self.book.logical_blocks()) * 4 + u64::from(self.u_blocks_max) * u_block + m_merge
    }

    fn state_bytes(&self) -> u64 {
        self.book.state_bytes() + size_of_val(&self.pairs[..]) as u64 + self.recency.state_bytes()
    }
}

impl PlaneLayer for LogBlock {
    type OwnKeys = ();

    fn empty(book: PlaneBook, u_blocks: u32, parts: &LayerParts, _: &()) -> LogBlock {
        let logical_blocks = book.logical_blocks() as usize;
        LogBlock {
            order: parts.spec.chip.geometry.program_order,
            pairs: vec![LogPair { d: NO_BLOCK, u: NO_BLOCK, u_in_place: true }; logical_blocks],
            recency: Recency::new(logical_blocks),
            u_blocks: 0,
            u_blocks_max: u_blocks,
            m_merger: MMerger::of(parts, &book),
            book,
        }
    }
}
