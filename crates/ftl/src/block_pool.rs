//! Free blocks of each plane, taken first-in first-out, and the sequence number that the spare
//! areas of an allocated block carry.

use std::collections::VecDeque;

use pumice_types::{BlockId, Geometry, PlaneId};

/// Free blocks by plane.
pub struct BlockPool {
    free: Vec<VecDeque<BlockId>>,
    /// Indices of each plane's bad blocks, ascending.
    bad: Vec<Vec<u32>>,
    geometry: Geometry,
    next_sequence: u32,
}

impl BlockPool {
    /// All blocks of the device but the bad ones, in address order.
    pub fn new(geometry: &Geometry, bad: &[BlockId]) -> BlockPool {
        let mut free: Vec<VecDeque<BlockId>> = (0..geometry.planes())
            .map(|plane| (0..geometry.blocks_per_plane).map(|i| geometry.block(PlaneId(plane), i)).collect())
            .collect();
        let mut bad_of: Vec<Vec<u32>> = vec![Vec::new(); geometry.planes() as usize];
        for block in bad {
            let plane = geometry.plane_of(*block).index();
            free[plane].retain(|b| b != block);
            bad_of[plane].push(geometry.index_in_plane(*block));
        }
        bad_of.iter_mut().for_each(|indices| indices.sort_unstable());
        BlockPool { free, bad: bad_of, geometry: *geometry, next_sequence: 0 }
    }

    /// The `nth` good block of a plane, by address.
    pub fn good_block(&self, plane: PlaneId, nth: u32) -> BlockId {
        let bad = &self.bad[plane.index()];
        let index = bad.iter().fold(nth, |index, &bad| if bad <= index { index + 1 } else { index });
        self.geometry.block(plane, index)
    }

    /// How many good blocks of its plane stand before this one.
    pub fn good_index(&self, block: BlockId) -> u32 {
        let index = self.geometry.index_in_plane(block);
        let bad = &self.bad[self.geometry.plane_of(block).index()];
        index - bad.iter().filter(|&&bad| bad < index).count() as u32
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
