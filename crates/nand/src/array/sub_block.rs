//! Erase of physical sub-blocks (GLSVLSI'24, sections 2.2 and 4).
//!
//! The select gates of each sub-block are controlled on their own, so the erase voltage reaches the
//! channels of the chosen sub-blocks only; all word lines stay grounded. Any set of sub-blocks of a
//! block is erased in one operation, and the others are isolated from it: unlike a partial erase along
//! the layers it disturbs nobody. What disturbs the others is that the erased pages are programmed again
//! (`word_lines`). A sub-block is a leaf of wear: its erases are counted apart.

use pumice_types::{BlockId, UnitSet};

use super::NandArray;
use crate::rules::Rule;

impl NandArray {
    /// Whether the chip can erase these sub-blocks.
    pub(super) fn check_sub_blocks(&self, erased: UnitSet) -> Result<(), Rule> {
        let known = self.sub_blocks.as_ref().is_some_and(|units| is_legal(erased, units.units()));
        if known { Ok(()) } else { Err(Rule::SubBlockSet) }
    }

    pub(super) fn sub_block_erase(&mut self, block: BlockId, erased: UnitSet) {
        if self.blocks[block.index()].fill_pages > 0 {
            self.write_out_fill(block);
        }
        let (words, leaves) = (self.words(block), self.leaves(block));
        if let Some(units) = &self.sub_blocks {
            units.clear(&mut self.programmed[words], erased);
        }
        self.blocks[block.index()].partially_erased = true;
        erased.iter().for_each(|sub_block| self.leaf_erases[leaves.start + sub_block] += 1);
        if self.power.is_some() {
            let pages = self.pages_of_sub_blocks(erased);
            self.forget_cuts_in(block, |page| pages.contains(&page));
        }
    }

    /// The pages that an erase of sub-blocks erases, ascending; none on chips that cannot.
    pub(crate) fn pages_of_sub_blocks(&self, erased: UnitSet) -> Vec<u16> {
        let is_erased = |page: &u16| self.sub_blocks.as_ref().is_some_and(|u| erased.contains(u.unit_of(*page)));
        (0..self.config.geometry.pages_per_block).filter(is_erased).collect()
    }
}

/// A set of sub-blocks that exist, at least one.
fn is_legal(erased: UnitSet, sub_blocks: usize) -> bool {
    !erased.is_empty() && erased.without(UnitSet::first(sub_blocks)).is_empty()
}
