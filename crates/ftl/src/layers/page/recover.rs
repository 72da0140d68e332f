//! The page-level FTL starts anew after a power cut: it reads the spare area of every page that is written.
//!
//! A spare area holds the logical page, the number of the write that brought the data (a copy takes it along), and
//! the number of the program that put it here. The newest data of a logical page is that with the largest write
//! number. Where it lies more than once, these facts decide:
//!
//! - A program that was cut may read well now and fail later. A plane does one thing at a time, so this can only be
//!   the page of the plane with the largest program number.
//! - An erase that was cut may leave a block that reads well now and fails later. A victim is erased only after the
//!   copies of all its valid pages, which have larger program numbers. A block that holds the last copy of anything
//!   was therefore not being erased.
//!
//! So the earliest copy counts that lies in a block which was not being erased: an interrupted collection is undone,
//! and takes no room. A page that may be the unfinished one is copied into a blank block before the host is served.
//! Blocks that hold nothing current are free, but nothing proves that they are erased: each is erased again before
//! its first page is programmed. Blocks that were being written are closed as they are.
//!
//! What only RAM knew and is not found again: wear counts and which pages are hot. Both begin anew.

use pumice_types::{
    BlockId, FlashCommand, Geometry, PageAddress, PlaneId, RecoveryFault, SpareArea, SpareEntry, UnitSet, bits,
};

use super::maps::PageMaps;
use super::plane::{Open, WriteStream};
use super::{HotCold, PageConfig, PageFtl};
use crate::error::FtlError;
use crate::layer::TranslationLayer;
use crate::plan::Plan;
use crate::recovery::{ChipPort, RecoveryCounts, Restart};

/// A page that was found written.
#[derive(Clone, Copy)]
struct ReadPage {
    page: PageAddress,
    entry: SpareEntry,
}

/// Everything that the spare areas say.
struct SpareSurvey {
    /// Pages that can be read, by block and page.
    found: Vec<ReadPage>,
    /// Blocks that hold something, in the same order, each with where its pages end in `found`, and how many of its
    /// pages lie before the blank ones at its end.
    blocks: Vec<(BlockId, usize, u16)>,
    unreadable: u64,
}

impl SpareSurvey {
    /// Reads the first page of every good block, and the whole of those that are not blank.
    fn read(geometry: &Geometry, bad: &[BlockId], chips: &mut dyn ChipPort) -> SpareSurvey {
        let mut survey = SpareSurvey { found: Vec::new(), blocks: Vec::new(), unreadable: 0 };
        let mut spares = Vec::new();
        let blocks = geometry.blocks() - u32::from(RecoveryFault::LastBlockForgotten.is_on());
        for block in (0..blocks).map(BlockId).filter(|block| !bad.contains(block)) {
            if chips.spare(PageAddress::new(block, 0)) == SpareArea::Blank {
                continue;
            }
            chips.spares(block, &mut spares);
            spoil(&mut spares);
            for (page, spare) in spares.iter().enumerate() {
                match *spare {
                    SpareArea::Blank => {}
                    SpareArea::Unreadable => survey.unreadable += 1,
                    SpareArea::Written(entry) => {
                        survey.found.push(ReadPage { page: PageAddress::new(block, page as u16), entry });
                    }
                }
            }
            let end = spares.iter().rposition(|&spare| spare != SpareArea::Blank).map_or(0, |last| last + 1);
            survey.blocks.push((block, survey.found.len(), end as u16));
        }
        survey
    }

    /// The pages of each block.
    fn by_block(&self) -> impl Iterator<Item = &[ReadPage]> {
        let mut start = 0;
        self.blocks.iter().map(move |&(_, end, _)| &self.found[std::mem::replace(&mut start, end)..end])
    }

    /// How many pages of a block lie before the blank ones at its end.
    fn end_of(&self, block: BlockId) -> u16 {
        self.blocks.binary_search_by_key(&block, |&(block, ..)| block).map_or(0, |at| self.blocks[at].2)
    }

    /// Blocks of a plane that hold something, but nothing current.
    fn superseded(&self, plane: PlaneId, geometry: &Geometry, maps: &PageMaps) -> usize {
        let of_plane = self.blocks.iter().filter(|&&(block, ..)| geometry.plane_of(block) == plane);
        of_plane.filter(|&&(block, ..)| maps.valid_pages(block) == 0).count()
    }

    /// The pages that count, one for each logical page that is stored.
    fn current(&self, logical_pages: u32) -> Vec<ReadPage> {
        // Number of the newest write of each logical page and of its last program, both plus one.
        let mut newest = vec![(0, 0); logical_pages as usize];
        for ReadPage { entry, .. } in &self.found {
            let known = &mut newest[entry.lpn.index()];
            let last = (entry.written + 1, entry.programmed + 1);
            let is_later =
                if RecoveryFault::OldCopyWins.is_on() && *known > (0, 0) { last < *known } else { last > *known };
            if is_later {
                *known = last;
            }
        }
        let is_newest = |found: &ReadPage| newest[found.entry.lpn.index()].0 == found.entry.written + 1;
        let is_last = |found: &ReadPage| newest[found.entry.lpn.index()].1 == found.entry.programmed + 1;
        let mut chosen: Vec<Option<ReadPage>> = vec![None; logical_pages as usize];
        for pages in self.by_block() {
            // Nothing is the last copy: the block may have been under erase.
            let holds_last = pages.iter().any(|found| is_newest(found) && is_last(found));
            if !holds_last && !RecoveryFault::BlockUnderEraseTrusted.is_on() {
                continue;
            }
            for found in pages.iter().filter(|found| is_newest(found)) {
                let best = &mut chosen[found.entry.lpn.index()];
                if best.is_none_or(|best| found.entry.programmed < best.entry.programmed) {
                    *best = Some(*found);
                }
            }
        }
        chosen.into_iter().flatten().collect()
    }

    /// The page of each plane that was programmed last, as far as it can be read; not those of the initial fill.
    fn last_of_planes(&self, geometry: &Geometry) -> Vec<Option<ReadPage>> {
        let mut last: Vec<Option<ReadPage>> = vec![None; geometry.planes() as usize];
        for found in self.found.iter().filter(|found| found.entry.programmed > 0) {
            let last = &mut last[geometry.plane_of(found.page.block).index()];
            if last.is_none_or(|last| last.entry.programmed < found.entry.programmed) {
                *last = Some(*found);
            }
        }
        last
    }
}

/// What faulty readers make of a block's spare areas.
fn spoil(spares: &mut [SpareArea]) {
    if RecoveryFault::UnreadableSpoilsBlock.is_on() && spares.contains(&SpareArea::Unreadable) {
        spares.fill(SpareArea::Blank);
    }
    let is_filled = |spare: &SpareArea| matches!(spare, SpareArea::Written(entry) if entry.programmed == 0);
    if RecoveryFault::FillForgotten.is_on() {
        spares.iter_mut().filter(|spare| is_filled(spare)).for_each(|spare| *spare = SpareArea::Unreadable);
    }
}

impl PageFtl {
    /// A layer that knows what the chips hold. The plan takes the copies that it needs before it serves the host.
    ///
    /// # Errors
    /// No room for these copies.
    pub(super) fn scan(
        config: PageConfig,
        bad: &[BlockId],
        restart: &mut Restart,
    ) -> Result<(PageFtl, RecoveryCounts), FtlError> {
        let survey = SpareSurvey::read(&config.geometry, bad, restart.chips);
        let mut ftl = PageFtl::new(config, bad);
        (ftl.counters, ftl.erased_again) = (restart.counters, restart.erased_again);
        let current = survey.current(ftl.config.user_pages);
        ftl.adopt(&survey, &current);
        let mut counts = RecoveryCounts {
            unreadable_pages: survey.unreadable,
            abandoned_blocks: survey
                .blocks
                .iter()
                .filter(|(_, _, end)| *end < ftl.config.geometry.pages_per_block)
                .count() as u64,
            moved_pages: 0,
        };
        for last in survey.last_of_planes(&ftl.config.geometry).into_iter().flatten() {
            let is_left = RecoveryFault::UnprovenPageKept.is_on()
                || RecoveryFault::OneMoveForAll.is_on() && counts.moved_pages > 0;
            if ftl.locate(last.entry.lpn) == Some(last.page) && !is_left {
                ftl.move_unproven(last, &survey, restart.plan)?;
                counts.moved_pages += 1;
            }
        }
        if RecoveryFault::MovesNotDone.is_on() {
            restart.plan.clear();
        }
        Ok((ftl, counts))
    }

    /// Takes over the pages that count. Blocks without any are free, to be erased before they are written; blank
    /// ones first, because the others may hold what an unproven page was copied from.
    fn adopt(&mut self, survey: &SpareSurvey, current: &[ReadPage]) {
        for found in current {
            self.maps.place(found.entry.lpn, found.page);
            let counted = u64::from(!RecoveryFault::ValidNotCounted.is_on());
            self.planes[self.config.geometry.plane_of(found.page.block).index()].valid_pages += counted;
        }
        let unproven = if RecoveryFault::BlankBlocksTrusted.is_on() { 0 } else { u64::MAX };
        self.unproven = vec![unproven; bits::words_for(self.config.geometry.blocks() as usize)];
        for &(block, ..) in &survey.blocks {
            self.free.withdraw(block, &mut self.pool);
            if self.maps.valid_pages(block) > 0 {
                bits::clear(&mut self.unproven, block.index());
                if RecoveryFault::BlocksNotClosed.is_on() || self.continues(block, survey) {
                    continue;
                }
                (0..self.config.units.pages.units()).for_each(|unit| self.close(WriteStream::Host, block, unit));
            } else {
                if RecoveryFault::OldBlocksTrusted.is_on() {
                    bits::clear(&mut self.unproven, block.index());
                }
                let units = UnitSet::first(self.config.units.pages.units());
                self.free.give_back(block, units, 0, &mut self.pool);
            }
        }
    }

    /// Writes a block further that was being written, which is a fault.
    fn continues(&mut self, block: BlockId, survey: &SpareSurvey) -> bool {
        let next = survey.end_of(block);
        if !RecoveryFault::OpenBlocksContinued.is_on() || next >= self.config.geometry.pages_per_block {
            return false;
        }
        let open = &mut self.planes[self.config.geometry.plane_of(block).index()].open;
        let free = [WriteStream::Host, WriteStream::Copies].into_iter().find(|&stream| open[stream as usize].is_none());
        if let Some(stream) = free {
            let next = u32::from(next);
            open[stream as usize] = Some(Open { block, sequence: 0, units: UnitSet::first(1), next });
        }
        free.is_some()
    }

    /// Copies a page whose program may not have ended into a blank block, which is erased first. If the plane has none
    /// left, because the power was cut again and again, behind everything in its own block; the first blank page
    /// there may have been cut without a trace.
    fn move_unproven(&mut self, last: ReadPage, survey: &SpareSurvey, plan: &mut Plan) -> Result<(), FtlError> {
        let ReadPage { page: source, entry } = last;
        let plane = self.config.geometry.plane_of(source.block);
        let behind = PageAddress::new(source.block, survey.end_of(source.block) + 1);
        let has_blank = self.free_units(plane) > survey.superseded(plane, &self.config.geometry, &self.maps);
        let stays = !has_blank && behind.page < self.config.geometry.pages_per_block;
        let next = PageAddress::new(source.block, behind.page - 1);
        let stream = self.stream_of_moves();
        let (target, sequence) = match stays {
            _ if RecoveryFault::MovedToNextPage.is_on() && behind.page < self.config.geometry.pages_per_block => {
                (next, 0)
            }
            true => (behind, 0),
            false => self.next_page(plane, stream)?,
        };
        if !RecoveryFault::MovesTrustBlank.is_on() {
            self.prove(target.block, plan);
        }
        self.invalidate(source);
        self.place(entry.lpn, target, plane);
        self.planes[plane.index()].valid_pages += 1;
        plan.push(FlashCommand::copy(source, target, entry.lpn, sequence));
        if target.block == source.block {
            self.count_anew(source.block);
        } else {
            self.close_if_full(plane, stream);
        }
        Ok(())
    }

    /// The stream whose block takes pages that are moved.
    fn stream_of_moves(&self) -> WriteStream {
        match self.config.hot_cold {
            HotCold::Mixed => WriteStream::Host,
            // No policy of a user's is asked while a device starts anew.
            HotCold::Copies | HotCold::Recency { .. } | HotCold::Placed { .. } => WriteStream::Copies,
        }
    }

    /// Puts a closed block back among the victims after a page was added to it.
    fn count_anew(&mut self, block: BlockId) {
        let geometry = &self.config.geometry;
        let (plane, index) = (geometry.plane_of(block), geometry.index_in_plane(block));
        let units = UnitSet::first(self.config.units.pages.units());
        self.planes[plane.index()].victims.remove(index, units);
        (0..self.config.units.pages.units()).for_each(|unit| self.close(WriteStream::Host, block, unit));
    }

    /// Appends the erase of a block that was free when the power came back, before its first page is programmed.
    #[inline]
    pub(super) fn prove(&mut self, block: BlockId, plan: &mut Plan) {
        if !self.unproven.is_empty() && bits::get(&self.unproven, block.index()) {
            bits::clear(&mut self.unproven, block.index());
            self.erased_again += 1;
            plan.push(FlashCommand::erase(block));
        }
    }
}
