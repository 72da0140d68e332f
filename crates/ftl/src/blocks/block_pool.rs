//! Free blocks of each plane, taken first-in first-out or by their wear, and the sequence number that
//! the spare areas of an allocated block carry.

use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

use pumice_types::{BlockId, Geometry, PlaneId};

use super::wear::EraseLists;

/// Free blocks of one plane.
#[derive(Clone, Serialize, Deserialize)]
enum FreeBlocks {
    /// In the order in which they were given back.
    InOrder(VecDeque<BlockId>),
    /// By erases.
    ByWear(EraseLists),
}

/// Which free block is wanted where they are kept by wear.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// The one with the fewest erases.
    LeastWorn,
    /// The one with the most.
    MostWorn,
}

/// Free blocks by plane.
#[derive(Clone, Serialize, Deserialize)]
pub struct BlockPool {
    free: Vec<FreeBlocks>,
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
        let free = free.into_iter().map(FreeBlocks::InOrder).collect();
        BlockPool { free, bad: bad_of, geometry: *geometry, next_sequence: 0 }
    }

    /// A pool of these blocks, taken by wear from now on. None of them was erased yet.
    pub fn by_wear(mut self) -> BlockPool {
        for free in &mut self.free {
            let mut lists = EraseLists::new(self.geometry.blocks_per_plane);
            if let FreeBlocks::InOrder(blocks) = free {
                blocks.iter().for_each(|&block| lists.insert(self.geometry.index_in_plane(block), 0));
            }
            *free = FreeBlocks::ByWear(lists);
        }
        self
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

    /// The good blocks of a plane, by address.
    pub fn good_blocks(&self, plane: PlaneId) -> impl DoubleEndedIterator<Item = BlockId> {
        let bad = &self.bad[plane.index()];
        let good = (0..self.geometry.blocks_per_plane).filter(|index| bad.binary_search(index).is_err());
        good.map(move |index| self.geometry.block(plane, index))
    }

    /// Free blocks of a plane.
    #[inline]
    pub fn free_blocks(&self, plane: PlaneId) -> usize {
        match &self.free[plane.index()] {
            FreeBlocks::InOrder(blocks) => blocks.len(),
            FreeBlocks::ByWear(lists) => lists.len(),
        }
    }

    /// Takes the block that has been free longest, or the least worn one, with a new sequence number.
    pub fn take(&mut self, plane: PlaneId) -> Option<(BlockId, u32)> {
        self.take_wanted(plane, Wanted::LeastWorn)
    }

    /// Takes a block by its wear; the one that has been free longest if wear is not regarded.
    pub fn take_wanted(&mut self, plane: PlaneId, wanted: Wanted) -> Option<(BlockId, u32)> {
        let block = match &mut self.free[plane.index()] {
            FreeBlocks::InOrder(blocks) => blocks.pop_front()?,
            FreeBlocks::ByWear(lists) => {
                let (index, _) = if wanted == Wanted::MostWorn { lists.most()? } else { lists.least()? };
                lists.remove(index);
                self.geometry.block(plane, index)
            }
        };
        self.next_sequence += 1;
        Some((block, self.next_sequence))
    }

    /// As [`BlockPool::take`], but passes over `kept`.
    pub fn take_other(&mut self, plane: PlaneId, kept: BlockId) -> Option<(BlockId, u32)> {
        let block = match &mut self.free[plane.index()] {
            FreeBlocks::InOrder(blocks) => blocks.remove(usize::from(blocks.front() == Some(&kept)))?,
            FreeBlocks::ByWear(lists) => {
                let kept = (self.geometry.plane_of(kept) == plane).then(|| self.geometry.index_in_plane(kept));
                let (first, erases) = lists.least()?;
                lists.remove(first);
                let other = if Some(first) == kept { lists.least().map(|(second, _)| second) } else { Some(first) };
                if Some(first) == kept {
                    other.iter().for_each(|&second| lists.remove(second));
                    lists.insert(first, erases);
                }
                self.geometry.block(plane, other?)
            }
        };
        self.next_sequence += 1;
        Some((block, self.next_sequence))
    }

    /// A sequence number for a block that was withdrawn.
    pub fn next_sequence(&mut self) -> u32 {
        self.next_sequence += 1;
        self.next_sequence
    }

    /// Takes this free block out.
    pub fn withdraw(&mut self, plane: PlaneId, block: BlockId) {
        match &mut self.free[plane.index()] {
            FreeBlocks::InOrder(blocks) => {
                // Blocks are asked for in the order in which they are free, so the first is mostly the one.
                if let Some(at) = blocks.iter().position(|&free| free == block) {
                    blocks.remove(at);
                }
            }
            FreeBlocks::ByWear(lists) => lists.remove(self.geometry.index_in_plane(block)),
        }
    }

    /// Gives an erased block back.
    pub fn give_back(&mut self, plane: PlaneId, block: BlockId) {
        self.give_back_worn(plane, block, 0);
    }

    /// Gives a block back that was erased so often.
    pub fn give_back_worn(&mut self, plane: PlaneId, block: BlockId, erases: u32) {
        match &mut self.free[plane.index()] {
            FreeBlocks::InOrder(blocks) => {
                debug_assert!(!blocks.contains(&block), "a block is freed once");
                blocks.push_back(block);
            }
            FreeBlocks::ByWear(lists) => lists.insert(self.geometry.index_in_plane(block), erases),
        }
    }
}
