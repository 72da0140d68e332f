//! The NFTL recovers after a power cut: it reads the spare area of every page.
//!
//! A spare area holds the role of the page, its logical page, the number of the write that brought the data and that
//! of the program. What becomes of the blocks that were found is decided in [`super::found_blocks`]. Beyond that:
//!
//! - Blank pages may hide a program that was cut. So U-blocks are not written further, and what D-blocks have blank is
//!   not programmed before it is erased.
//! - Nothing proves that a blank block is erased. It is erased again before it is written.
//!
//! Only RAM knew, and is lost: disturb counters and the count W of M-Merges. A D-block without U, none of whose pages was
//! copied back by an M-Merge, has had no partial erase, so its counters are 0. Every other leaf is taken to be at its
//! tolerance. W, on which no data hangs, begins at 0.

use pumice_types::{BlockId, DieId, FlashCommand, Lpn, PageAddress, bits};

use super::found_blocks::{BlockFinds, Fate, Newest};
use super::{LogicalBlock, NONE, Nftl, NftlConfig, UBlock};
use crate::merge::run::NOT_IN_U;
use crate::plan::{FtlError, Plan};
use crate::recovery::KeptBlock;
use crate::recovery::survey::{AreaSurvey, CutArea};
use crate::seam::{ChipPort, Proofs, RecoveryCounts, Restart};

/// A logical block that was found.
struct FoundLogical<'a> {
    logical: usize,
    blocks: Vec<BlockFinds<'a>>,
}

/// The recovery of one die, or plane.
struct AreaRecovery<'a> {
    newest: Newest,
    unproven: Option<PageAddress>,
    /// Blocks that hold nothing that counts, and are not blank.
    erased: Vec<BlockId>,
    counts: RecoveryCounts,
    plan: &'a mut Plan,
}

impl Nftl {
    /// A layer that knows what the chips hold. The plan takes what must be done before the host is served.
    ///
    /// # Errors
    /// No room to copy a logical block.
    pub(in crate::layers) fn scan(
        config: NftlConfig,
        bad: &[BlockId],
        restart: &mut Restart,
    ) -> Result<(Nftl, RecoveryCounts), FtlError> {
        let geometry = config.geometry;
        let mut is_bad = vec![0; bits::words_for(geometry.blocks() as usize)];
        bad.iter().for_each(|block| bits::set(&mut is_bad, block.index()));
        let mut ftl = Nftl::new(config, bad);
        (ftl.counters, ftl.proofs) = (restart.counters, Proofs::lost(geometry.blocks()));
        let mut counts = RecoveryCounts::default();
        let areas = (0..geometry.dies()).map(|die| CutArea::all_of(&geometry, DieId(die), restart.planes_apart));
        for area in areas.flatten() {
            counts.add(&ftl.scan_area(&area, &is_bad, restart.chips, restart.plan)?);
        }
        ftl.counters.u_blocks_max = ftl.counters.u_blocks_max.max(ftl.u_blocks_used);
        Ok((ftl, counts))
    }

    fn scan_area(
        &mut self,
        area: &CutArea,
        is_bad: &[u64],
        chips: &mut dyn ChipPort,
        plan: &mut Plan,
    ) -> Result<RecoveryCounts, FtlError> {
        let survey = AreaSurvey::read(&self.config.geometry, area, is_bad, chips);
        let counts = RecoveryCounts { unreadable_pages: survey.unreadable, ..RecoveryCounts::default() };
        let (newest, unproven) = (Newest::new(self.pages), survey.last.map(|last| last.page));
        let mut recovery = AreaRecovery { newest, unproven, erased: Vec::new(), counts, plan };
        let found = self.group(&survey, &mut recovery.erased);
        let copied = self.keep(found, &mut recovery);
        for block in std::mem::take(&mut recovery.erased) {
            self.erase_found(block, recovery.plan);
        }
        for found in copied {
            self.copy_found(&found, &mut recovery)?;
        }
        Ok(recovery.counts)
    }

    /// Sorts the blocks of an area by logical block, the oldest U-blocks first. None of them is free.
    fn group<'a>(&mut self, survey: &'a AreaSurvey, erased: &mut Vec<BlockId>) -> Vec<FoundLogical<'a>> {
        let mut blocks: Vec<(usize, BlockFinds)> = Vec::with_capacity(survey.blocks.len());
        for found in &survey.blocks {
            self.pool.withdraw(self.config.geometry.plane_of(found.block), found.block);
            match BlockFinds::of(survey, found) {
                Some(found) => blocks.push((self.split(found.pages[0].entry.lpn).0, found)),
                None => erased.push(found.block),
            }
        }
        blocks.sort_by_key(|&(logical, _)| logical);
        let of_logical = |blocks: &[(usize, BlockFinds<'a>)]| FoundLogical {
            logical: blocks[0].0,
            blocks: blocks.iter().map(|&(_, found)| found).collect(),
        };
        let mut found: Vec<FoundLogical> = blocks.chunk_by(|a, b| a.0 == b.0).map(of_logical).collect();
        let age = |found: &FoundLogical| found.blocks.iter().find(|block| block.is_u()).map_or(0, BlockFinds::age);
        found.sort_by_cached_key(age);
        found
    }

    /// Adopts what stays as it is. Returns what is to be copied, those first that have blocks to spare.
    fn keep<'a>(&mut self, found: Vec<FoundLogical<'a>>, recovery: &mut AreaRecovery) -> Vec<FoundLogical<'a>> {
        let mut copied = Vec::new();
        for mut found in found {
            recovery.newest.find(self.first_lpn(found.logical).0, &found.blocks);
            match recovery.newest.decide(&mut found.blocks, recovery.unproven, &mut recovery.erased) {
                Fate::Kept { d, u } => {
                    let is_open = |block: &BlockFinds| usize::from(block.end) < self.pages;
                    let open = u.map_or(d, |u| u);
                    recovery.counts.abandoned_blocks += u64::from(is_open(&found.blocks[open]));
                    self.adopt_d(found.logical, &found.blocks[d], u.is_some(), &recovery.newest);
                    if let Some(u) = u {
                        self.adopt_u(found.logical, &found.blocks[u], &recovery.newest);
                    }
                }
                Fate::Copied => copied.push(found),
            }
        }
        copied.sort_by_key(|found| std::cmp::Reverse(found.blocks.len()));
        copied
    }

    fn adopt_d(&mut self, logical: usize, d: &BlockFinds, has_u: bool, newest: &Newest) {
        let (words, leaves) = (self.words_of(logical), self.leaves_of(logical));
        for found in d.pages.iter().filter(|found| newest.is_newest(found)) {
            bits::set(&mut self.d_valid[words.clone()], newest.offset(found));
        }
        bits::set_range(&mut self.d_programmed[words], 0, self.pages);
        let may_be_disturbed = has_u || d.is_restored();
        let counter = if may_be_disturbed { self.tolerance() } else { 0 };
        self.d_disturb[leaves].fill(counter);
        let d_sequence = self.pool.next_sequence();
        self.logical[logical] = LogicalBlock { d: d.block.0, d_sequence, u_slot: NONE, m_merges: 0 };
    }

    /// Takes over a block that was kept after a power cut, whose pages are at their own offsets, as the D-block of a
    /// logical block. What is blank in it counts as programmed, unless it was erased since.
    pub(in crate::layers) fn adopt_kept(&mut self, logical: usize, kept: &KeptBlock) {
        let words = self.words_of(logical);
        for found in &kept.pages {
            bits::set(&mut self.d_valid[words.clone()], usize::from(found.page));
            bits::set(&mut self.d_programmed[words.clone()], usize::from(found.page));
        }
        if !kept.is_fresh {
            bits::set_range(&mut self.d_programmed[words], 0, self.pages);
        }
        if !kept.is_fresh && self.is_aware() {
            // The cut took the counters: it counts as disturbed as often as it bears.
            let (leaves, tolerance) = (self.leaves_of(logical), self.tolerance());
            self.d_disturb[leaves].fill(tolerance);
        }
        self.logical[logical] = LogicalBlock { d: kept.block.0, d_sequence: kept.sequence, u_slot: NONE, m_merges: 0 };
    }

    fn adopt_u(&mut self, logical: usize, u: &BlockFinds, newest: &Newest) {
        let (plane, words) = (self.plane_of(logical), self.words_of(logical));
        let Some(slot) = self.free_slots[plane.index()].pop() else { return };
        let (index, column) = (slot as usize, slot as usize * self.pages);
        self.in_u[column..column + self.pages].fill(NOT_IN_U);
        for found in u.pages {
            let (page, offset) = (found.page.page, newest.offset(found));
            self.u_offset[column + usize::from(page)] = offset as u16;
            if newest.is_newest(found) {
                self.in_u[column + offset] = page;
                bits::clear(&mut self.d_valid[words.clone()], offset);
            }
        }
        let current = self.in_u[column..column + self.pages].iter().filter(|&&page| page != NOT_IN_U).count();
        let disturb = self.tolerance();
        let (block, sequence, logical_block) = (u.block, self.pool.next_sequence(), logical as u32);
        let (end, invalid) = (u.end, u.end - current as u16 + self.superseded_in_d(logical, slot));
        self.u_blocks[index] = UBlock { block, sequence, logical: logical_block, written: end, end, invalid, disturb };
        self.logical[logical].u_slot = slot;
        self.note_invalid(slot);
        self.u_blocks_used += 1;
    }

    /// Pages of D that newer ones in U replace, as far as that can still be seen.
    fn superseded_in_d(&self, logical: usize, slot: u32) -> u16 {
        let valid = &self.d_valid[self.words_of(logical)];
        let column = slot as usize * self.pages;
        (0..self.pages).filter(|&offset| self.in_u[column + offset] != NOT_IN_U && !bits::get(valid, offset)).count()
            as u16
    }

    /// Erases a block that holds nothing that counts, and frees it.
    fn erase_found(&mut self, block: BlockId, plan: &mut Plan) {
        self.proofs.erase(block, plan);
        self.pool.give_back(self.config.geometry.plane_of(block), block);
    }

    /// Copies a logical block into a block erased for it, and erases its old blocks.
    fn copy_found(&mut self, found: &FoundLogical, recovery: &mut AreaRecovery) -> Result<(), FtlError> {
        let logical = found.logical;
        let mut blocks = found.blocks.clone();
        recovery.newest.find(self.first_lpn(logical).0, &blocks);
        let plane = self.plane_of(logical);
        if self.pool.free_blocks(plane) == 0 {
            let spare = recovery.newest.spare_block(&blocks, recovery.unproven);
            let spare = spare.ok_or(FtlError::NoFreeBlock { plane: plane.0 })?;
            self.erase_found(blocks.swap_remove(spare).block, recovery.plan);
            recovery.newest.find(self.first_lpn(logical).0, &blocks);
        }
        let (target, sequence) = self.take_block(plane)?;
        self.proofs.prove(target, recovery.plan);
        let words = self.words_of(logical);
        for (offset, source) in recovery.newest.stored() {
            let (lpn, to) = (Lpn(self.first_lpn(logical).0 + offset as u32), PageAddress::new(target, offset as u16));
            recovery.plan.push(FlashCommand::copy(source, to, lpn, sequence));
            recovery.counts.moved_pages += 1;
            bits::set(&mut self.d_programmed[words.clone()], offset);
            bits::set(&mut self.d_valid[words.clone()], offset);
        }
        self.logical[logical] = LogicalBlock { d: target.0, d_sequence: sequence, u_slot: NONE, m_merges: 0 };
        blocks.iter().for_each(|found| self.erase_found(found.block, recovery.plan));
        Ok(())
    }
}
