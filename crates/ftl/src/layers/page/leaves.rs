//! What the page-level FTL knows of leaves, where it erases partial blocks: their disturb counters, and
//! which of them belong to a block that is being written.

use std::ops::Range;

use pumice_types::{BlockId, PlaneId, UnitSet};

use super::PageFtl;
use super::plane::Open;
use crate::block_pool::Wanted;
use crate::reclaim_leaves::{choose_leaves, erase_all};
use crate::reclaim_units::{UnitChoice, UnitId};

impl PageFtl {
    /// Takes a free block that nothing is reclaimed of now. Its written leaves cannot be reclaimed until
    /// it is full.
    pub(super) fn open_apart(&mut self, plane: PlaneId) -> Option<Open> {
        let open = match self.planes[plane.index()].job {
            Some(job) => self.free.take_other(plane, job.victim, &mut self.pool)?,
            None => self.free.take(plane, Wanted::LeastWorn, &mut self.pool)?,
        };
        let written = UnitSet::first(self.config.units.pages.units()).without(open.units);
        let block = self.config.geometry.index_in_plane(open.block);
        self.planes[plane.index()].victims.remove(block, written);
        Some(open)
    }

    /// Takes the next victim out of the lists, with the leaves that go with it.
    pub(super) fn take_leaves(&mut self, plane: PlaneId) -> Option<(u32, UnitChoice)> {
        let PageFtl { config, planes, disturbs, .. } = self;
        let rule = config.units.leaves.as_ref()?;
        let units = config.units.pages.units();
        let state = &mut planes[plane.index()];
        state.victims.take_by(state.now, |UnitId { block, .. }, valid| {
            let first = config.geometry.block(plane, block).index() * units;
            choose_leaves(valid, &disturbs[first..first + units], rule)
        })
    }

    /// Notes what an erase does to the disturb counters of its block; nothing without leaves.
    pub(super) fn note_disturb(&mut self, block: BlockId, erased: UnitSet, blank: UnitSet) {
        let leaves = self.leaves_of(block);
        if let Some(rule) = &self.config.units.leaves {
            erase_all(erased, blank, rule.tree, &mut self.disturbs[leaves]);
        }
    }

    /// Disturbs of a block's leaves as the FTL counts them; none where it does not erase partial blocks.
    pub fn disturbs(&self, block: BlockId) -> &[u8] {
        if self.disturbs.is_empty() { &[] } else { &self.disturbs[self.leaves_of(block)] }
    }

    fn leaves_of(&self, block: BlockId) -> Range<usize> {
        let units = self.config.units.pages.units();
        block.index() * units..(block.index() + 1) * units
    }
}
