//! Erase units of the page-level FTL: which of a block's units are free, and where an open block goes on.
//!
//! A block is handed out with all of its free units, and its pages are then written in the order of its
//! write sequence, leaving out the units that still hold data. A unit is closed, and may be reclaimed,
//! when its last page is written, even while later pages of its block are still being written. With
//! whole blocks as units all of this is the ordinary block pool.
//!
//! Units may disturb each other: leaves of partial blocks when they are erased, sub-blocks on shared word lines
//! when they are written. Nothing of a block that is being written is reclaimed then, and a block of which a
//! part is being reclaimed is not handed out: so what is planned for a block's units still holds when they are
//! erased or written, and no leaf is disturbed while it is half written.

use pumice_types::{BlockId, Geometry, PageAddress, PlaneId, Time, UnitPages, UnitSet, bits};
use serde::{Deserialize, Serialize};

use super::neighbours::Neighbours;
use super::plane::Open;
use crate::blocks::block_pool::{BlockPool, Wanted};

/// What is erased apart, and what that costs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EraseUnits {
    /// Units of a block.
    pub pages: UnitPages,
    /// One page copied.
    pub copy: Time,
    /// One erase operation.
    pub erase: Time,
    /// What happens to a unit when others of its block are erased or written.
    pub neighbours: Neighbours,
}

impl EraseUnits {
    /// Whole blocks; what they cost is never weighed.
    pub fn whole_blocks(pages_per_block: u16) -> EraseUnits {
        EraseUnits {
            pages: UnitPages::whole_block(pages_per_block),
            copy: Time::ZERO,
            erase: Time::ZERO,
            neighbours: Neighbours::Isolated,
        }
    }
}

/// Free units of each block and plane, beside the pool of blocks that have any.
#[derive(Clone, Serialize, Deserialize)]
pub(in crate::layers::page) struct FreeUnits {
    /// Free units of each block that is in the pool.
    of_block: Vec<UnitSet>,
    /// Free units of each plane.
    of_plane: Vec<usize>,
    all: UnitSet,
    geometry: Geometry,
}

impl FreeUnits {
    /// Every good block free.
    pub(in crate::layers::page) fn new(geometry: Geometry, units: usize, pool: &BlockPool) -> FreeUnits {
        let free = |plane| pool.free_blocks(PlaneId(plane)) * units;
        FreeUnits {
            of_block: vec![UnitSet::first(units); geometry.blocks() as usize],
            of_plane: (0..geometry.planes()).map(free).collect(),
            all: UnitSet::first(units),
            geometry,
        }
    }

    /// Free units of a plane.
    #[inline]
    pub(in crate::layers::page) fn in_plane(&self, plane: PlaneId) -> usize {
        self.of_plane[plane.index()]
    }

    /// Free units of a block that is not being written.
    #[inline]
    pub(in crate::layers::page) fn of(&self, block: BlockId) -> UnitSet {
        self.of_block[block.index()]
    }

    /// Takes a block from the pool, with all its free units.
    pub(in crate::layers::page) fn take(
        &mut self,
        plane: PlaneId,
        wanted: Wanted,
        pool: &mut BlockPool,
    ) -> Option<Open> {
        let taken = pool.take_wanted(plane, wanted)?;
        Some(self.open(plane, taken))
    }

    /// Takes a block from the pool, but not `kept`, with all its free units.
    pub(super) fn take_other(&mut self, plane: PlaneId, kept: BlockId, pool: &mut BlockPool) -> Option<Open> {
        let taken = pool.take_other(plane, kept)?;
        Some(self.open(plane, taken))
    }

    /// Takes this block from the pool, with all its free units.
    pub(in crate::layers::page) fn take_this(&mut self, block: BlockId, pool: &mut BlockPool) -> Open {
        let plane = self.geometry.plane_of(block);
        pool.withdraw(plane, block);
        let sequence = pool.next_sequence();
        self.open(plane, (block, sequence))
    }

    fn open(&mut self, plane: PlaneId, (block, sequence): (BlockId, u32)) -> Open {
        let units = std::mem::take(&mut self.of_block[block.index()]);
        self.of_plane[plane.index()] -= units.len() as usize;
        Open { block, sequence, units, next: 0 }
    }

    /// Gives erased units of a block back; `erases` is the block's wear, where it is regarded.
    pub(in crate::layers::page) fn give_back(
        &mut self,
        block: BlockId,
        units: UnitSet,
        erases: u32,
        pool: &mut BlockPool,
    ) {
        let plane = self.geometry.plane_of(block);
        let free = &mut self.of_block[block.index()];
        debug_assert!(units.without(*free) == units, "a unit is freed once");
        if free.is_empty() {
            pool.give_back_worn(plane, block, erases);
        }
        *free = free.with(units);
        self.of_plane[plane.index()] += units.len() as usize;
    }

    /// Blocks of a plane that are free in all their units.
    pub(in crate::layers::page) fn whole_blocks(&self, plane: PlaneId, pool: &BlockPool) -> usize {
        pool.good_blocks(plane).filter(|&block| self.is_whole(self.of(block))).count()
    }

    /// Takes so many such blocks out of the pool, as far as there are any, the last ones first.
    pub(super) fn set_aside(&mut self, plane: PlaneId, blocks: u32, pool: &mut BlockPool) -> Vec<BlockId> {
        let free = pool.good_blocks(plane).rev().filter(|&block| self.is_whole(self.of(block)));
        let aside: Vec<BlockId> = free.take(blocks as usize).collect();
        aside.iter().for_each(|&block| self.withdraw(block, pool));
        aside
    }

    /// Takes a free block out of the pool, because it turned out to hold something.
    pub(in crate::layers::page) fn withdraw(&mut self, block: BlockId, pool: &mut BlockPool) {
        let plane = self.geometry.plane_of(block);
        pool.withdraw(plane, block);
        let units = std::mem::take(&mut self.of_block[block.index()]);
        self.of_plane[plane.index()] -= units.len() as usize;
    }

    /// Whether a set holds all units of a block.
    pub(in crate::layers::page) fn is_whole(&self, units: UnitSet) -> bool {
        units == self.all
    }

    /// Bytes of the columns.
    pub(in crate::layers::page) fn state_bytes(&self) -> u64 {
        (size_of_val(&self.of_block[..]) + size_of_val(&self.of_plane[..])) as u64
    }
}

impl Open {
    /// The page to write next; `None` if the block's units are full.
    #[inline]
    pub(in crate::layers::page) fn page(&self, units: &UnitPages) -> Option<PageAddress> {
        let pages = units.pages_per_block();
        let page = (self.next as u16..pages).find(|&page| self.units.contains(units.unit_of(page)))?;
        Some(PageAddress::new(self.block, page))
    }
}

/// Valid pages of `unit` in a block's column of valid bits.
pub(in crate::layers::page) fn valid_in(words: &[u64], units: &UnitPages, unit: usize) -> u16 {
    match units.units() {
        1 => bits::count_range(words, 0, usize::from(units.pages_per_block())) as u16,
        _ => units.count(words, unit, 0) as u16,
    }
}
