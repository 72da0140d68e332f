//! The page-level FTL recovers after a power cut: it reads the spare area of every page that is written; or, with
//! summaries, the last pages of every block, which list the spare areas of the others, and only blocks without a
//! readable summary page by page.
//!
//! A spare area holds the logical page, the number of the write that brought the data (a copy takes it along), and
//! the number of the program that put it here. The newest data of a logical page is that with the largest write
//! number. Where it lies more than once, these facts decide:
//!
//! - A program that was cut may read well now and fail later. A plane does one thing at a time, so this can only be
//!   the page of the plane with the largest program number.
//! - An erase that was cut may leave a block that reads well now and fails later. A block is erased only after the
//!   programs of everything that replaces its pages, and these have larger numbers. So the last copy of anything, by
//!   program number, is never in a block that was being erased.
//!
//! So the last copy counts. A page that may be the unfinished one is copied into a blank block before the host is
//! served. Blocks that hold nothing current are free, but nothing proves that they are erased: those that hold
//! something are erased at once, the others before their first page is programmed. Blocks that were being written are
//! closed as they are, and blocks are reclaimed until each plane has as many free ones as it always has.
//!
//! Where parts of blocks are erased apart, all this holds for parts. Of a block that keeps a page that counts, every
//! other part is erased before it is written, whatever it holds: it is closed, and reclaimed like any other.
//!
//! Pages of a map that is cached say nothing that the spare areas do not say. Their blocks are free like others that hold
//! nothing that counts, and the whole map is written anew.
//!
//! With handles, spare areas also say which open block took the page. So it is known again whose pages a block holds, and
//! an open block that is written further goes on taking pages of its own handle.
//!
//! Where wear is levelled, spare areas may also say how often the block was erased (`wear_counts`).
//!
//! What only RAM knew and is not found again: which pages are hot, which begins anew. Disturb counters of
//! parts beside each other are assumed to be at their limit.

use pumice_types::{BlockId, FlashCommand, Lpn, PageAddress, PlaneId, UnitSet};

use super::spare_survey::{CurrentPages, ReadPage, SpareSurvey};
use crate::layers::page::collect::plane::{Open, WriteStream};
use crate::layers::page::{HotCold, PageConfig, PageFtl};
use crate::plan::{FtlError, Plan};
use crate::seam::{Proofs, RecoveryCounts, Restart};

impl PageFtl {
    /// A layer that knows what the chips hold. The plan takes the copies that it needs before it serves the host.
    ///
    /// # Errors
    /// No room for these copies.
    pub(in crate::layers::page) fn scan(
        config: PageConfig,
        bad: &[BlockId],
        restart: &mut Restart,
    ) -> Result<(PageFtl, RecoveryCounts), FtlError> {
        let survey = SpareSurvey::read(&config, bad, restart.chips);
        let mut ftl = PageFtl::new(config, bad);
        ftl.counters = restart.counters;
        let mut current = survey.current(&ftl.config);
        let void = ftl.read_trims(&mut current, restart.chips);
        let trusted = restart.protection.ends_operations();
        let proofs = if trusted { Proofs::held } else { Proofs::lost };
        ftl.proofs = proofs(ftl.config.geometry.blocks());
        ftl.learn_wear(&survey, restart.chips);
        ftl.adopt(&survey, &current);
        ftl.sort_blank_by_wear(&survey);
        let partly_written = survey.blocks.iter().filter(|(_, _, end)| *end < ftl.config.data_pages()).count();
        let reused: usize = ftl.planes.iter().map(|plane| plane.open.iter().flatten().count()).sum();
        let mut counts = RecoveryCounts {
            unreadable_pages: survey.unreadable,
            abandoned_blocks: (partly_written - reused) as u64,
            moved_pages: 0,
        };
        let unproven = if trusted { Vec::new() } else { survey.last_of_planes(&ftl.config) };
        let mut kept: Vec<Lpn> = unproven.iter().flatten().flat_map(|last| void.with(last.entry.lpn)).collect();
        kept.sort_unstable();
        for mut lasts in unproven {
            lasts.retain(|last| ftl.find(last.entry.lpn) == Some(last.page));
            ftl.move_unproven(&lasts, &kept, &survey, restart.plan)?;
            counts.moved_pages += lasts.len() as u64;
        }
        ftl.blank_superseded(&survey, restart.plan);
        for plane in (0..ftl.config.geometry.planes()).map(PlaneId) {
            ftl.restore_room(plane, restart.plan)?;
        }
        ftl.close_pages(restart.plan);
        ftl.set_blank_aside();
        ftl.write_map_anew(restart.plan)?;
        Ok((ftl, counts))
    }

    /// Erases the free blocks that hold something. The next start takes a blank block for what it moves, and cuts
    /// that follow each other closely would use up the blank ones while these are left.
    fn blank_superseded(&mut self, survey: &SpareSurvey, plan: &mut Plan) {
        for &(block, ..) in &survey.blocks {
            if !self.free.of(block).is_empty() {
                self.note_again(block);
                self.proofs.prove(block, plan);
            }
        }
    }

    /// Takes over the pages that count. Blocks without any are free, to be erased before they are written; blank
    /// ones first, because the others may hold what an unproven page was copied from.
    fn adopt(&mut self, survey: &SpareSurvey, current: &CurrentPages) {
        for found in current.iter() {
            self.maps.place(found.entry.lpn, found.page);
            self.planes[self.config.geometry.plane_of(found.page.block).index()].valid_pages += 1;
        }
        let mut first = 0;
        for &(block, end, _) in &survey.blocks {
            let pages = &survey.found[std::mem::replace(&mut first, end)..end];
            self.free.withdraw(block, &mut self.pool);
            if self.maps.valid_pages(block) > 0 {
                self.proofs.note_in_use(block);
                let stream = self.stream_found(pages);
                if self.continues(block, stream, survey) {
                    continue;
                }
                self.assume_disturbed(block);
                // Parts without a page that counts are closed too: nothing proves that they are erased.
                (0..self.config.units.pages.units()).for_each(|unit| self.close(stream, block, unit));
            } else {
                self.proofs.note_superseded(block);
                let units = UnitSet::first(self.config.units.pages.units());
                let wear = self.wear_when_written(block);
                self.free.give_back(block, units, wear, &mut self.pool);
            }
        }
    }

    /// The stream that has written a block, as far as these pages of it say: with handles they do, and all pages of a
    /// block were written by one.
    fn stream_found(&self, pages: &[ReadPage]) -> WriteStream {
        match (self.handles(), pages.first()) {
            (Some(_), Some(found)) => WriteStream::marked(found.entry.mark),
            (Some(_), _) => WriteStream::unplaced(self.config.hot_cold),
            (None, _) => WriteStream::HOST,
        }
    }

    /// Writes a block further that was being written, if that is wanted and a stream has none yet. `found`: the stream
    /// that its pages name.
    fn continues(&mut self, block: BlockId, found: WriteStream, survey: &SpareSurvey) -> bool {
        let next = survey.end_of(block);
        if !self.config.reuses_open_blocks || next >= self.config.data_pages() {
            return false;
        }
        // Without handles no spare area says which stream wrote the block.
        let plane = self.config.geometry.plane_of(block);
        let open = &self.planes[plane.index()].open;
        let (own, placed): (&[WriteStream], u8) = match self.config.hot_cold {
            HotCold::Mixed => (&[WriteStream::HOST], 0),
            HotCold::Copies | HotCold::Recency { .. } => (&[WriteStream::HOST, WriteStream::COPIES], 0),
            HotCold::Placed { streams } => (&[], streams),
            HotCold::Handles(_) => (&[found], 0),
        };
        let mut streams = own.iter().copied().chain((0..placed).map(WriteStream::placed));
        let free = streams.find(|stream| open[stream.index()].is_none());
        if let Some(stream) = free {
            let (next, sequence) = (u32::from(next), self.pool.next_sequence());
            let found = Open { block, sequence, units: UnitSet::first(1), next };
            self.planes[plane.index()].open[stream.index()] = Some(self.with_wear(found));
        }
        free.is_some()
    }

    /// Copies a page whose program may not have ended, or its units that count, into a blank block, which is erased
    /// first. If the plane has none left, because the power was cut again and again, the page goes into a block that no
    /// next start needs. If there is none of those either, it goes behind everything in its own block; the first blank
    /// page there may have been cut without a trace.
    fn move_unproven(
        &mut self,
        lasts: &[ReadPage],
        kept: &[Lpn],
        survey: &SpareSurvey,
        plan: &mut Plan,
    ) -> Result<(), FtlError> {
        let Some(&ReadPage { page: source, .. }) = lasts.first() else { return Ok(()) };
        let geometry = self.config.geometry;
        let plane = geometry.plane_of(source.block);
        let stream = self.stream_of_move(source);
        let behind =
            PageAddress::new(source.block, survey.end_of(source.block).saturating_add(geometry.units_per_page));
        let units = self.config.units.pages.units();
        let has_blank = self.free.in_plane(plane) > survey.superseded(plane, &geometry, &self.maps) * units;
        let other = match has_blank {
            true => self.least_worn_blank(plane, survey),
            false => survey.dispensable(lasts, kept, (plane, &geometry), &self.free),
        };
        if let Some(block) = other {
            let taken = self.free.take_this(block, &mut self.pool);
            self.planes[plane.index()].open[stream.index()] = Some(self.begin_block(taken));
        }
        let has_room = behind.page < self.config.data_pages();
        let stays = !has_blank && other.is_none() && has_room && units == 1;
        let own = stays.then_some(behind);
        for (nth, last) in lasts.iter().enumerate() {
            let own = own.map(|first| PageAddress::new(first.block, first.page + nth as u16));
            self.move_one(last, own, (plane, stream), plan)?;
        }
        self.close_pages(plan);
        if own.is_some() {
            self.count_anew(source.block);
        }
        Ok(())
    }

    /// Copies a page to a place in its own block, or else to the next one of a stream.
    fn move_one(
        &mut self,
        last: &ReadPage,
        own: Option<PageAddress>,
        (plane, stream): (PlaneId, WriteStream),
        plan: &mut Plan,
    ) -> Result<(), FtlError> {
        let ReadPage { page: source, entry } = *last;
        let (target, sequence) = match own {
            Some(place) => (place, self.wear_in_spare(source.block).unwrap_or_default()),
            None => self.next_page(plane, stream, plan)?,
        };
        self.proofs.prove(target.block, plan);
        self.invalidate(source);
        self.place(entry.lpn, target, plane);
        self.planes[plane.index()].valid_pages += 1;
        let mark = if own.is_some() { entry.mark } else { self.config.hot_cold.mark(stream) };
        let first = plan.commands.len();
        plan.push(FlashCommand::copy(source, target, entry.lpn, sequence).with_mark(mark));
        self.gather(plane, first, plan);
        if own.is_none() {
            self.end_page(plane, stream, target.page, plan);
        }
        Ok(())
    }

    /// The stream whose block takes a page that is moved before the host is served.
    pub(super) fn stream_of_move(&self, source: PageAddress) -> WriteStream {
        match self.config.hot_cold {
            HotCold::Mixed => WriteStream::HOST,
            HotCold::Copies | HotCold::Recency { .. } => WriteStream::COPIES,
            // No spare area says which stream the page had.
            HotCold::Placed { .. } => WriteStream::placed(0),
            HotCold::Handles(handles) => {
                handles.stream_of_copy(self.group_of(source, self.config.geometry.plane_of(source.block)))
            }
        }
    }

    /// Puts a closed block back among the victims after a page was added to it.
    fn count_anew(&mut self, block: BlockId) {
        let geometry = &self.config.geometry;
        let (plane, index) = (geometry.plane_of(block), geometry.index_in_plane(block));
        let units = UnitSet::first(self.config.units.pages.units());
        let stream = match self.handles() {
            Some(_) => WriteStream::of_group(self.group_of(PageAddress::new(block, 0), plane)),
            None => WriteStream::HOST,
        };
        self.planes[plane.index()].victims.remove(index, units);
        if let Some(wear) = &mut self.wear {
            wear.open(block);
        }
        (0..self.config.units.pages.units()).for_each(|unit| self.close(stream, block, unit));
    }
}
