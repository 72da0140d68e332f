//! How often blocks were erased, where power may be cut and wear is levelled: the spare areas of a block carry that number
//! in place of the order in which the block was opened, which a page-level FTL does not need.
//!
//! After a recovery it is known of each block of which a page can be read. Of all others, which look blank or fail their
//! code, it is assumed to be the mean of those of the plane that are known. Without such numbers all blocks begin anew at 0.
//!
//! A block that is erased again before it is written ([`Proofs`](crate::seam::Proofs)) is worn by that too: the erase
//! counts when the block is taken, and free blocks are ordered by the wear that they will have then.

use pumice_types::{BlockId, PlaneId};

use super::plane::Open;
use crate::layers::page::PageFtl;
use crate::layers::page::recovery::spare_survey::SpareSurvey;
use crate::seam::ChipPort;

impl PageFtl {
    /// What the spare areas of a block say of its wear; `None` if they do not.
    pub(in crate::layers::page) fn wear_in_spare(&self, block: BlockId) -> Option<u32> {
        let wear = self.wear.as_ref().filter(|_| self.config.wear_leveling.in_spare)?;
        Some(wear.erases(block))
    }

    /// A block that is about to be written: it may be erased again before, and its pages carry its wear.
    pub(in crate::layers::page) fn begin_block(&mut self, open: Open) -> Open {
        self.note_again(open.block);
        let geometry = &self.config.geometry;
        let state = &mut self.planes[geometry.plane_of(open.block).index()];
        state.victims.blocks().note_opened(geometry.index_in_plane(open.block), state.now);
        self.with_wear(open)
    }

    /// An open block whose pages carry its wear.
    pub(in crate::layers::page) fn with_wear(&self, open: Open) -> Open {
        Open { sequence: self.wear_in_spare(open.block).unwrap_or(open.sequence), ..open }
    }

    /// Counts the erase of a block that is erased again, if it is.
    pub(in crate::layers::page) fn note_again(&mut self, block: BlockId) {
        if let Some(wear) = self.wear.as_mut().filter(|_| self.proofs.is_lost(block)) {
            let erases = wear.note_erase(block);
            self.show_wear(block, erases);
        }
    }

    /// The wear that a free block has when its first page is programmed.
    pub(in crate::layers::page) fn wear_when_written(&self, block: BlockId) -> u32 {
        let known = self.wear.as_ref().map_or(0, |wear| wear.erases(block));
        known + u32::from(self.proofs.is_lost(block))
    }

    /// Lets a user's own policy see the wear of a block.
    fn show_wear(&mut self, block: BlockId, erases: u32) {
        let geometry = &self.config.geometry;
        let (plane, index) = (geometry.plane_of(block), geometry.index_in_plane(block));
        self.planes[plane.index()].victims.blocks().note_erases(index, erases);
    }

    /// Goes on from the wear that the spare areas tell of.
    pub(in crate::layers::page) fn learn_wear(&mut self, survey: &SpareSurvey, chips: &mut dyn ChipPort) {
        if !self.config.wear_leveling.in_spare {
            return;
        }
        let geometry = self.config.geometry;
        let mut known = vec![None; geometry.blocks() as usize];
        survey.readable_blocks().for_each(|block| known[block.index()] = Some(chips.block_number(block)));
        for plane in (0..geometry.planes()).map(PlaneId) {
            let blocks: Vec<BlockId> = self.pool.good_blocks(plane).collect();
            let told: Vec<u64> = blocks.iter().filter_map(|block| known[block.index()]).map(u64::from).collect();
            let mean = told.iter().sum::<u64>().checked_div(told.len() as u64).unwrap_or_default() as u32;
            for block in blocks {
                let erases = known[block.index()].unwrap_or(mean);
                if let Some(wear) = &mut self.wear {
                    wear.set_erases(block, erases);
                }
                self.show_wear(block, erases);
            }
        }
    }

    /// Puts the blocks that look blank among the free ones by their wear, where these are ordered by it.
    pub(in crate::layers::page) fn sort_blank_by_wear(&mut self, survey: &SpareSurvey) {
        if !self.config.wear_leveling.dynamic {
            return;
        }
        for plane in (0..self.config.geometry.planes()).map(PlaneId) {
            for block in self.blank_blocks(plane, survey) {
                let units = self.free.of(block);
                self.free.withdraw(block, &mut self.pool);
                let wear = self.wear_when_written(block);
                self.free.give_back(block, units, wear, &mut self.pool);
            }
        }
    }

    /// The least worn free block that looks blank, where free blocks are ordered by their wear: the least worn
    /// of all may hold what an unproven page was copied from. In any other order the blank ones come first anyway.
    pub(in crate::layers::page) fn least_worn_blank(&self, plane: PlaneId, survey: &SpareSurvey) -> Option<BlockId> {
        if !self.config.wear_leveling.dynamic || self.free_units(plane) == 0 {
            return None;
        }
        self.blank_blocks(plane, survey).into_iter().min_by_key(|&block| (self.wear_when_written(block), block))
    }

    /// Free blocks of a plane that look blank.
    fn blank_blocks(&self, plane: PlaneId, survey: &SpareSurvey) -> Vec<BlockId> {
        let is_blank = |block: &BlockId| !self.free.of(*block).is_empty() && survey.end_of(*block) == 0;
        self.pool.good_blocks(plane).filter(is_blank).collect()
    }
}
