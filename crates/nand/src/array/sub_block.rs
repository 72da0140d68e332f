//! Erase of physical sub-blocks (GLSVLSI'24, sections 2.2 and 4).
//!
//! The select gates of each sub-block are controlled on their own, so the erase voltage reaches the
//! channels of the chosen sub-blocks only; all word lines stay grounded. Any set of sub-blocks of a
//! block is erased in one operation, and the others are isolated from it: unlike a partial erase along
//! the layers it disturbs nobody. What disturbs the others is that the erased pages are programmed again
//! (`word_lines`). A sub-block is a leaf of wear: its erases are counted apart.

use pumice_types::{BlockId, PageAddress, UnitSet};

use super::NandArray;
use crate::rules::Rule;

impl NandArray {
    pub(super) fn sub_block_erase(&mut self, block: BlockId, erased: UnitSet) -> Result<(), Rule> {
        self.check_address(PageAddress::new(block, 0))?;
        if self.sub_blocks.as_ref().is_none_or(|units| !is_legal(erased, units.units())) {
            return Err(Rule::SubBlockSet);
        }
        if self.blocks[block.index()].fill_pages > 0 {
            self.write_out_fill(block);
        }
        let (words, leaves) = (self.words(block), self.leaves(block));
        if let Some(units) = &self.sub_blocks {
            units.clear(&mut self.programmed[words], erased);
        }
        self.blocks[block.index()].partially_erased = true;
        erased.iter().for_each(|sub_block| self.leaf_erases[leaves.start + sub_block] += 1);
        Ok(())
    }
}

/// A set of sub-blocks that exist, at least one.
fn is_legal(erased: UnitSet, sub_blocks: usize) -> bool {
    !erased.is_empty() && erased.without(UnitSet::first(sub_blocks)).is_empty()
}
