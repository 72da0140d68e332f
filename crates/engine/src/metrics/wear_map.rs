//! Erases of every leaf of every block.

use pumice_nand::NandArray;
use pumice_types::{BlockId, Geometry};

/// Erase counts since measuring began.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WearMap {
    /// Blocks of the device, in the order of their numbers.
    pub blocks: u32,
    /// Leaves of a block, or its sub-blocks; 1 if the chip erases whole blocks only.
    pub leaves: u32,
    /// Counts, the leaves of one block next to each other. Beyond 2^32 - 1 they stay at that.
    pub erases: Vec<u32>,
}

impl WearMap {
    /// The wear of an array.
    pub fn of(array: &NandArray, geometry: &Geometry) -> WearMap {
        let leaves = array.leaves_per_block();
        let blocks = (0..geometry.blocks()).map(BlockId);
        let leaf = |block, leaf| u32::try_from(array.leaf_erases(block, leaf)).unwrap_or(u32::MAX);
        let erases = blocks.flat_map(|block| (0..leaves).map(move |nth| leaf(block, nth))).collect();
        WearMap { blocks: geometry.blocks(), leaves: leaves as u32, erases }
    }
}
