//! Free blocks of each plane, taken first-in first-out, and the sequence number that the spare
//! areas of an allocated block carry.

use std::collections::VecDeque;

use pumice_types::{BlockId, Geometry, PlaneId};

/// Free blocks by plane.
pub struct BlockPool {
    free: Vec<VecDeque<BlockId>>,
    next_sequence: u32,
}

impl BlockPool {
    /// All blocks of the device but the bad ones, in address order.
    pub fn new(geometry: &Geometry, bad: &[BlockId]) -> BlockPool {
        let mut free: Vec<VecDeque<BlockId>> = (0..geometry.planes())
            .map(|plane| (0..geometry.blocks_per_plane).map(|i| geometry.block(PlaneId(plane), i)).collect())
            .collect();
        for block in bad {
            free[geometry.plane_of(*block).index()].retain(|b| b != block);
        }
        BlockPool { free, next_sequence: 0 }
    }

    /// Free blocks of a plane.
    #[inline]
    pub fn free_blocks(&self, plane: PlaneId) -> usize {
        self.free[plane.index()].len()
    }

    /// Takes the block that has been free longest, with a new sequence number.
    pub fn take(&mut self, plane: PlaneId) -> Option<(BlockId, u32)> {
        let block = self.free[plane.index()].pop_front()?;
        self.next_sequence += 1;
        Some((block, self.next_sequence))
    }

    /// Gives an erased block back.
    pub fn give_back(&mut self, plane: PlaneId, block: BlockId) {
        debug_assert!(!self.free[plane.index()].contains(&block), "a block is freed once");
        self.free[plane.index()].push_back(block);
    }
}
