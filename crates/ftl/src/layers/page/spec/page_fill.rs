//! The initial fill, at the cost of blocks, not of pages.

use pumice_types::{Lpn, PageAddress};

use crate::layers::page::PageFtl;
use crate::layers::page::collect::plane::{Open, WriteStream};
use crate::plan::{FillTarget, FtlError, InitialBlock, Payload};
use crate::seam::whole_share;

impl PageFtl {
    /// Stores the map of a device of mapping units, if it lies in flash: pages of the layer's own, of which only the first
    /// unit is known.
    ///
    /// # Errors
    /// As [`PageFtl::fill`].
    pub(super) fn fill_map_of_units(&mut self, target: &mut dyn FillTarget) -> Result<(), FtlError> {
        let units = self.config.geometry.units_per_page;
        self.fill_map(|InitialBlock { block, first, stride, pages, .. }| {
            for page in 0..pages {
                let lpn = Lpn(first.0 + u32::from(page) * stride);
                target.program_own(PageAddress::new(block, page * units), lpn, Payload::default());
            }
        })
    }

    /// Stores a share of the logical pages before the first request, from the first one on, as if
    /// they had been written in order: page by page over the planes, in whole stripes of one block a
    /// plane; a part of a stripe is left empty. Returns how many pages that are.
    ///
    /// # Errors
    /// [`FtlError`] if a plane has fewer blocks than the share needs.
    pub fn fill(&mut self, share: f64, mut programmed: impl FnMut(InitialBlock)) -> Result<u32, FtlError> {
        let (planes, pages) = (self.config.order.len() as u32, u32::from(self.config.data_pages()));
        let stripes = whole_share(u64::from(self.config.user_pages), share) / (planes * pages);
        let units = u32::from(self.config.geometry.units_per_page);
        let stream = WriteStream::unplaced(self.config.hot_cold);
        for stripe in 0..stripes {
            for nth in 0..planes {
                let plane = self.config.order[nth as usize];
                let Open { block, sequence, .. } = self.open_block(plane, stream)?;
                self.maps.set_all_valid(block);
                (0..self.config.units.pages.units()).for_each(|unit| self.close(stream, block, unit));
                self.planes[plane.index()].valid_pages += u64::from(pages);
                let first = Lpn(stripe * planes * pages + nth * units);
                let filled = InitialBlock { block, first, stride: planes * units, pages: pages as u16, sequence };
                match &self.config.stripes {
                    Some(stripes) => stripes.filled(&filled).for_each(&mut programmed),
                    None => programmed(filled),
                }
            }
        }
        let filled = stripes * planes * pages;
        self.maps.note_fill(filled);
        if self.config.geometry.units_per_page == 1 {
            self.fill_map(programmed)?;
        }
        Ok(filled)
    }
}
