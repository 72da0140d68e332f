//! The replacement block scheme (Ban, US 5,404,485, as section 2.4 of EMSOFT'06 describes it).
//!
//! Built: every block is programmed in place; a logical block has a D-block and a chain of U-blocks
//! (replacement blocks); a write goes to the first block of the chain whose page is erased. Without such
//! a block a U-block is added; if none is left, the logical block with the longest chain is merged: its
//! current pages are copied into its last U-block, which becomes the D-block. So there are partial and
//! switch merges only, and no block need be kept free. Needs program order `any`.
//!
//! Chosen: among chains of equal length the one extended first is the victim. The controller knows which
//! offsets of each block are programmed, so the current copy of a page, the last of its chain, is found
//! without reading.
//!
//! After a power cut every chain that is found is merged before the host is served ([`crate::recovery`]). The description
//! says nothing of power cuts. Added to the spare area of a page, beside its logical page: the numbers of its write and
//! of its program.

use pumice_types::{BlockId, PageAddress, ProgramOrder, SpecError, refuse};
use serde::{Deserialize, Serialize};

use super::in_place;
use super::in_place::InPlaceMerge;
use super::m_merge::{MMerger, Weighed, m_merges};
use super::plane_book::{NO_BLOCK, PlaneBook, Shared, Step};
use super::striped::PlaneFtl;
use super::striped_room::{PlaneLayer, Room};
use crate::blocks::victim_tree::VictimTree;
use crate::merge::plan::{InPlaceState, in_place_merge};
use crate::plan::{FtlError, InitialBlock};
use crate::recovery;
use crate::recovery::KeptUnit;
use crate::seam::{LayerParts, LayerSpec};

/// Blocks of one logical block.
#[derive(Clone, Copy, Serialize, Deserialize)]
struct Chain {
    d: BlockId,
    last: BlockId,
    u_blocks: u32,
}

/// One plane of the replacement block scheme.
#[derive(Clone, Serialize, Deserialize)]
pub struct ReplacementBlock {
    book: PlaneBook,
    chains: Vec<Chain>,
    /// The block after each block of a chain.
    next: Vec<BlockId>,
    victims: VictimTree,
    u_blocks: u32,
    u_blocks_max: u32,
    /// Blocks of the chain that is merged.
    old: Vec<BlockId>,
    m_merger: Option<Box<MMerger>>,
}

impl ReplacementBlock {
    /// The first block of a chain in which an offset can be programmed.
    fn with_room(&self, logical: u32, offset: u16) -> Option<BlockId> {
        let mut block = self.chains[logical as usize].d;
        while block != NO_BLOCK {
            if !self.book.is_programmed(PageAddress::new(block, offset)) {
                return Some(block);
            }
            block = self.next[self.book.index(block)];
        }
        None
    }

    /// Adds a U-block to a chain, merging the longest chain first if none is left.
    fn extend(&mut self, logical: u32, offset: u16, step: &mut Step) -> Result<BlockId, FtlError> {
        if self.u_blocks == self.u_blocks_max {
            step.shared.counters.trigger_unpaired += 1;
            self.merge_longest(step)?;
            // It may have been this chain, and its new D-block may have room.
            if let Some(block) = self.with_room(logical, offset) {
                return Ok(block);
            }
        }
        let block = self.book.take(step)?;
        let chain = &mut self.chains[logical as usize];
        let last = self.book.index(chain.last);
        self.next[last] = block;
        chain.last = block;
        chain.u_blocks += 1;
        self.victims.set(logical as usize, chain.u_blocks, u64::from(self.book.sequence(block)));
        self.u_blocks += 1;
        step.shared.note_u_taken();
        Ok(block)
    }

    fn merge_longest(&mut self, step: &mut Step) -> Result<(), FtlError> {
        let Some(logical) = self.victims.best() else { return Ok(()) };
        let Chain { d, last, .. } = self.chains[logical];
        self.old.clear();
        let mut block = d;
        while block != last {
            self.old.push(block);
            block = std::mem::replace(&mut self.next[self.book.index(block)], NO_BLOCK);
        }
        let (pages, mut elsewhere) = (usize::from(self.book.pages()), 0);
        for &block in &self.old {
            elsewhere += u32::from(self.book.valid_pages(block));
        }
        for &block in self.old[1..].iter().chain([&last]) {
            step.shared.counters.note_victim(usize::from(self.book.programmed_pages(block)), pages);
            step.shared.note_u_gone();
        }
        self.u_blocks -= self.old.len() as u32;
        let kind = in_place_merge(InPlaceState { u_in_place: true, elsewhere });
        // Either merge erases as many blocks: all but the one that stays D.
        let weighed = Weighed { logical: logical as u32, d, room: Some(last), other: (elsewhere, 1) };
        let d = if m_merges(&mut self.m_merger, &weighed, &mut self.book, step) {
            self.old[1..].iter().chain([&last]).for_each(|&block| self.book.erase(block, step));
            step.shared.counters.m_merge.block_erases += self.old.len() as u64;
            d
        } else {
            let merge = InPlaceMerge { kind, logical: logical as u32, into: last, old: &self.old };
            in_place::run(&mut self.book, &merge, step)?
        };
        self.chains[logical] = Chain { d, last: d, u_blocks: 0 };
        self.victims.remove(logical);
        Ok(())
    }
}

impl PlaneFtl for ReplacementBlock {
    fn book(&self) -> &PlaneBook {
        &self.book
    }

    fn book_mut(&mut self) -> &mut PlaneBook {
        &mut self.book
    }

    fn adopt_kept(&mut self, logical: u32, found: &KeptUnit) {
        for kept in &found.blocks {
            self.chains[logical as usize] = Chain { d: kept.block, last: kept.block, u_blocks: 0 };
            self.m_merger.iter_mut().for_each(|merger| merger.note_kept(logical, kept));
        }
    }

    fn fill(&mut self, logical: u32, pages: u16, shared: &mut Shared) -> Result<InitialBlock, FtlError> {
        let filled = self.book.fill(logical, pages, &mut shared.pool)?;
        self.chains[logical as usize] = Chain { d: filled.block, last: filled.block, u_blocks: 0 };
        Ok(filled)
    }

    fn write(&mut self, local: u32, version: u8, step: &mut Step) -> Result<(), FtlError> {
        let (logical, offset) = self.book.split(local);
        if self.chains[logical as usize].d == NO_BLOCK {
            let d = self.book.take(step)?;
            self.chains[logical as usize] = Chain { d, last: d, u_blocks: 0 };
        }
        let block = match self.with_room(logical, offset) {
            Some(block) => block,
            None => self.extend(logical, offset, step)?,
        };
        self.book.program(local, version, PageAddress::new(block, offset), step);
        Ok(())
    }

    fn merge_all(&mut self, step: &mut Step) -> Result<(), FtlError> {
        while self.u_blocks > 0 {
            self.merge_longest(step)?;
        }
        Ok(())
    }

    /// Four bytes a logical block for D; four for each U-block and its link; a bit for each page of both.
    fn map_ram_bytes(&self) -> u64 {
        let (logical, u) = (u64::from(self.book.logical_blocks()), u64::from(self.u_blocks_max));
        let m_merge = self.m_merger.as_ref().map_or(0, |merger| merger.ram_bytes());
        logical * 4 + u * 8 + (logical + u) * u64::from(self.book.pages()).div_ceil(8) + m_merge
    }

    fn state_bytes(&self) -> u64 {
        let columns = size_of_val(&self.chains[..]) + size_of_val(&self.next[..]);
        self.book.state_bytes() + columns as u64 + self.victims.state_bytes()
    }
}

impl PlaneLayer for ReplacementBlock {
    type OwnKeys = ();

    /// Nothing is merged into a further block: replacement blocks are programmed in place.
    fn room<'a>(spec: &'a LayerSpec<'a>) -> Room<'a> {
        Room { merge_blocks: recovery::reserve(spec), ..Room::of_blocks(spec) }
    }

    fn check_shape(spec: &LayerSpec) -> Result<(), SpecError> {
        match spec.chip.geometry.program_order {
            ProgramOrder::Any => Ok(()),
            order @ ProgramOrder::InOrder => Err(refuse!(
                "ftl.kind = \"replacement-block\" programs pages at their offsets and needs geometry.program_order = \"any\", \
                 found \"{order}\""
            )),
        }
    }

    fn empty(book: PlaneBook, u_blocks: u32, parts: &LayerParts, _: &()) -> ReplacementBlock {
        let logical_blocks = book.logical_blocks() as usize;
        ReplacementBlock {
            chains: vec![Chain { d: NO_BLOCK, last: NO_BLOCK, u_blocks: 0 }; logical_blocks],
            next: vec![NO_BLOCK; book.blocks() as usize],
            victims: VictimTree::new(logical_blocks),
            u_blocks: 0,
            u_blocks_max: u_blocks,
            old: Vec::with_capacity(64),
            m_merger: MMerger::of(parts, &book),
            book,
        }
    }
}
