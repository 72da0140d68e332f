//! Room for the case of a power cut: blank blocks of every plane that nobody writes before, and how a recovery wins them
//! back.
//!
//! Where blocks are erased whole, the blank blocks are those that collection keeps free: it keeps so many more
//! ([`PageFtl::floor`]). Where parts are erased apart, free parts lie in blocks with data, and a recovery cannot write
//! them: nothing proves that they are erased. So there the blank blocks are set aside, with the free ones of translation
//! pages.

use pumice_types::{PlaneId, UnitSet};

use crate::blocks::reclaim_units::{UnitChoice, UnitId};
use crate::layers::page::PageFtl;
use crate::plan::{FtlError, Plan};

impl PageFtl {
    /// Blank blocks of a plane that are kept among its free ones.
    #[inline]
    pub(super) fn blank_in_pool(&self) -> usize {
        if self.config.erases_parts() { 0 } else { self.config.blank_blocks as usize }
    }

    /// Sets the blank blocks and those of translation pages aside, where that is how they are kept.
    pub(in crate::layers::page) fn set_blank_aside(&mut self) {
        if !self.config.erases_parts() {
            return;
        }
        for plane in (0..self.config.geometry.planes()).map(PlaneId) {
            self.free.set_aside(plane, self.config.blank_blocks, &mut self.pool);
            if let (Some(translation), Some(map)) = (&mut self.translation, self.config.cached_map) {
                translation.set_aside(plane, self.free.set_aside(plane, map.blocks_per_plane, &mut self.pool));
            }
        }
    }

    /// Reclaims blocks of a plane until so many are free as always are when the host is served. A cut abandons the
    /// open blocks and takes a blank one, so cuts that follow each other closely would use the blank ones up. The
    /// victims are those with the fewest valid pages: there may be no room for one that another policy would name.
    pub(in crate::layers::page) fn restore_room(&mut self, plane: PlaneId, plan: &mut Plan) -> Result<(), FtlError> {
        while !self.has_room(plane) && self.begin_cheapest(plane) {
            self.finish_job(plane, plan)?;
        }
        Ok(())
    }

    /// Whether a plane has the room that it has when the host is served.
    fn has_room(&self, plane: PlaneId) -> bool {
        if !self.config.erases_parts() {
            return self.free_units(plane) >= self.floor();
        }
        let of_map = self.config.cached_map.map_or(0, |map| map.blocks_per_plane);
        let aside = (self.config.blank_blocks + of_map) as usize;
        let left = self.free_units(plane).checked_sub(aside * self.config.units.pages.units());
        self.free.whole_blocks(plane, &self.pool) >= aside && left.is_some_and(|left| left >= self.floor())
    }

    /// Takes the block with the fewest valid pages out of the lists, whatever the policy says; `false` if nothing can
    /// be reclaimed. Only of a device that recovers: no closed block has a free part.
    fn begin_cheapest(&mut self, plane: PlaneId) -> bool {
        let units = UnitSet::first(self.config.units.pages.units());
        let cheapest =
            if self.config.erases_parts() { self.cheapest_in_parts(plane) } else { self.cheapest_whole(plane) };
        let Some(index) = cheapest else { return false };
        self.planes[plane.index()].victims.remove(index, units);
        let victim = self.config.geometry.block(plane, index);
        let copies = self.maps.valid_pages(victim);
        self.begin(victim, UnitChoice { units, copies }, false);
        true
    }

    fn cheapest_whole(&mut self, plane: PlaneId) -> Option<u32> {
        self.planes[plane.index()].victims.blocks().cheapest()
    }

    /// The cheapest victim among blocks that are closed in parts.
    fn cheapest_in_parts(&self, plane: PlaneId) -> Option<u32> {
        let (geometry, victims) = (&self.config.geometry, &self.planes[plane.index()].victims);
        // Units of a block that is being written are closed one by one.
        let is_closed = |&index: &u32| {
            let unit = UnitId { block: index, unit: 0 };
            victims.valid(unit).is_some() && !self.is_open(geometry.block(plane, index))
        };
        let valid = |index: u32| self.maps.valid_pages(geometry.block(plane, index));
        let has_invalid = |&index: &u32| valid(index) < u32::from(self.config.data_pages());
        let closed = (0..geometry.blocks_per_plane).filter(is_closed).filter(has_invalid);
        closed.min_by_key(|&index| valid(index))
    }
}
