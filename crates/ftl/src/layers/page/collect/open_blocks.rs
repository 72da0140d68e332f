//! Blocks that are being written: opened, written page by page, and closed.

use pumice_types::{BlockId, Cause, FlashCommand, PageAddress, PlaneId};

use super::plane::{Open, WriteStream};
use super::units::valid_in;
use crate::blocks::block_pool::Wanted;
use crate::blocks::reclaim_units::UnitId;
use crate::layers::page::map::cached_map::BlockSource;
use crate::layers::page::{HotCold, PageFtl};
use crate::plan::{FtlError, Plan};

impl PageFtl {
    /// The next page of a stream's open block and the block's sequence number; a block is opened if
    /// none is. The page counts as written.
    #[inline]
    pub(in crate::layers::page) fn next_page(
        &mut self,
        plane: PlaneId,
        stream: WriteStream,
        plan: &mut Plan,
    ) -> Result<(PageAddress, u32), FtlError> {
        if self.planes[plane.index()].open[stream.index()].is_none() {
            let opened = self.open_block(plane, stream)?;
            self.release_erase(opened.block, plan);
            self.planes[plane.index()].open[stream.index()] = Some(opened);
        }
        // Field by field: a copy of all of them would have to wait for the last `next`.
        if let Some(open) = &mut self.planes[plane.index()].open[stream.index()]
            && let Some(page) = open.page(&self.config.units.pages)
        {
            open.next = u32::from(page.page) + 1;
            return Ok((page, open.sequence));
        }
        Err(self.no_free_block(plane))
    }

    /// Takes a free block for a stream, with all of its free units.
    pub(in crate::layers::page) fn open_block(
        &mut self,
        plane: PlaneId,
        stream: WriteStream,
    ) -> Result<Open, FtlError> {
        let none = self.no_free_block(plane);
        let found = match &mut self.translation {
            Some(translation) if stream == WriteStream::MAP => translation.open(plane),
            _ => (self.free_units(plane) > 0).then_some(BlockSource::Pool),
        };
        match found {
            None => return Err(none),
            Some(BlockSource::SetAside(block)) => return Ok(self.open_set_aside(block)),
            Some(BlockSource::Pool) => {}
        }
        // Data that stays lies well on a block that is worn.
        let wanted = if stream == WriteStream::MOVED { Wanted::MostWorn } else { Wanted::LeastWorn };
        if self.config.units.neighbours.are_disturbed() {
            return self.open_apart(plane).ok_or(none);
        }
        if let Some(log) = &mut self.log {
            log.note_open(plane, stream);
        }
        let taken = self.free.take(plane, wanted, &mut self.pool).ok_or(none)?;
        Ok(self.begin_block(taken))
    }

    /// After `page` of a stream's open block was written: closes what is full, and lists what a full block holds in its
    /// last pages, if the device recovers from such lists.
    #[inline]
    pub(in crate::layers::page) fn end_page(
        &mut self,
        plane: PlaneId,
        stream: WriteStream,
        page: u16,
        plan: &mut Plan,
    ) {
        let (data_pages, pages) = (self.config.data_pages(), self.config.geometry.pages_per_block);
        let lists = data_pages < pages && page + 1 == data_pages;
        let full = if lists { self.planes[plane.index()].open[stream.index()] } else { None };
        self.close_if_full(plane, stream, page);
        if let Some(Open { block, sequence, .. }) = full {
            let lpn = self.config.summary_page();
            let mark = self.config.hot_cold.mark(stream);
            let list = |page| FlashCommand::program(Cause::Map, PageAddress::new(block, page), lpn, 0, sequence);
            let units = self.config.geometry.units_per_page;
            for page in (data_pages..pages).step_by(units.into()) {
                plan.push_whole_page(list(page).with_mark(mark), units);
            }
        }
        self.write_down_if_full(plan);
    }

    /// Makes the unit of `page`, the last one that a stream has written, a candidate for reclaiming if that page is the
    /// unit's last, and closes the open block once it has no more.
    #[inline]
    pub(in crate::layers::page) fn close_if_full(&mut self, plane: PlaneId, stream: WriteStream, page: u16) {
        let units = &self.config.units.pages;
        if units.last_page(units.unit_of(page)) == page {
            self.close_unit(plane, stream);
        }
    }

    /// Closes a unit whose last page was written.
    #[cold]
    fn close_unit(&mut self, plane: PlaneId, stream: WriteStream) {
        let units = &self.config.units.pages;
        let Some(open) = self.planes[plane.index()].open[stream.index()] else { return };
        let unit = units.unit_of(open.next as u16 - 1);
        let is_full = open.page(units).is_none();
        if is_full {
            self.planes[plane.index()].open[stream.index()] = None;
            if let Some(log) = &mut self.log {
                log.note_open(plane, stream);
            }
        }
        match self.config.units.neighbours.are_disturbed() {
            _ if stream == WriteStream::MAP => {
                if is_full {
                    self.close_block_of_map(plane, open.block);
                }
            }
            true if is_full => {
                (0..self.config.units.pages.units()).for_each(|unit| self.close(stream, open.block, unit));
            }
            true => {}
            false => self.close(stream, open.block, unit),
        }
    }

    /// Makes a full block of translation pages a candidate for reclaiming.
    fn close_block_of_map(&mut self, plane: PlaneId, block: BlockId) {
        let (valid, now) = (self.maps.valid_pages(block) as u16, self.planes[plane.index()].now);
        if let Some(translation) = &mut self.translation {
            translation.close(plane, self.config.geometry.index_in_plane(block), valid, now);
        }
    }

    /// Makes a full unit a candidate for reclaiming.
    pub(in crate::layers::page) fn close(&mut self, stream: WriteStream, block: BlockId, unit: usize) {
        let plane = self.config.geometry.plane_of(block);
        let state = &mut self.planes[plane.index()];
        let valid = valid_in(self.maps.valid_bits(block), &self.config.units.pages, unit);
        let index = self.config.geometry.index_in_plane(block);
        let number = if let HotCold::Handles(_) = self.config.hot_cold { stream.group() } else { stream.number() };
        state.victims.close(UnitId { block: index, unit }, valid, state.now);
        state.victims.note_stream(UnitId { block: index, unit }, number);
        if let Some(wear) = &mut self.wear {
            wear.close(block);
        }
    }
}
