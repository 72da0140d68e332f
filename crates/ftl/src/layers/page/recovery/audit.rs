//! A recount of everything that is kept incrementally.

use pumice_types::{BlockId, Lpn, PageAddress, PlaneId};

use crate::blocks::reclaim_units::UnitId;
use crate::layers::page::PageFtl;
use crate::layers::page::collect::units::valid_in;
use crate::plan::FtlError::{self, Recount};

impl PageFtl {
    /// Recounts valid pages and follows every map entry in both directions. Costs time in proportion
    /// to the device; for tests.
    ///
    /// # Errors
    /// What differs, in words.
    pub fn audit(&self) -> Result<(), FtlError> {
        let mut mapped = 0u64;
        for lpn in (0..self.maps.logical_pages()).map(Lpn) {
            let Some(page) = self.find(lpn) else { continue };
            mapped += 1;
            if self.maps.next_valid(page.block, page.page) != Some(page.page) {
                return Err(Recount(format!("logical page {} lies on an invalid page", lpn.0)));
            }
            if self.maps.owner(page, &self.pool) != lpn {
                return Err(Recount(format!("the page of logical page {} belongs to another", lpn.0)));
            }
        }
        let planes = self.config.geometry.planes();
        let counted = (0..planes).map(|plane| self.audit_plane(PlaneId(plane))).sum::<Result<u64, FtlError>>()?;
        if counted == mapped {
            Ok(())
        } else {
            Err(Recount(format!("{counted} valid pages, {mapped} mapped logical pages")))
        }
    }

    /// Counts a plane's valid pages and compares them with what is kept.
    fn audit_plane(&self, plane: PlaneId) -> Result<u64, FtlError> {
        let (geometry, state) = (&self.config.geometry, &self.planes[plane.index()]);
        let mut host_pages = 0;
        let mut all_pages = 0;
        for index in 0..geometry.blocks_per_plane {
            let block = geometry.block(plane, index);
            all_pages += u64::from(self.maps.valid_pages(block));
            host_pages += self.host_pages_in(block);
            for unit in 0..self.config.units.pages.units() {
                let valid = valid_in(self.maps.valid_bits(block), &self.config.units.pages, unit);
                let kept = state.victims.valid(UnitId { block: index, unit });
                if let Some(kept) = kept.filter(|&kept| kept != valid) {
                    return Err(Recount(format!("block {} unit {unit}: {valid} valid pages, {kept} kept", block.0)));
                }
            }
        }
        if host_pages == state.valid_pages {
            return Ok(all_pages);
        }
        Err(Recount(format!("plane {}: {host_pages} valid pages of the host, {} kept", plane.0, state.valid_pages)))
    }

    fn host_pages_in(&self, block: BlockId) -> u64 {
        let mut found = 0;
        let mut from = 0;
        while let Some(page) = self.maps.next_valid(block, from) {
            let owner = self.maps.owner(PageAddress::new(block, page), &self.pool);
            let is_trim_page = self.config.trims.is_some_and(|trims| trims.nth(owner).is_some());
            found += u64::from(owner.0 < self.config.user_pages || is_trim_page);
            from = page + 1;
        }
        found
    }
}
