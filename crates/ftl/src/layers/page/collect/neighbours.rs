//! Erase units that disturb each other: leaves when they are erased, sub-blocks on shared word lines when they are
//! written. What the page-level FTL counts of that, how it chooses what to reclaim, and which blocks it hands out.

use serde::{Deserialize, Serialize};
use std::ops::Range;

use pumice_types::{BlockId, Geometry, PlaneId, UnitSet};

use super::plane::Open;
use crate::blocks::block_pool::Wanted;
use crate::blocks::reclaim_leaves::{LeafRule, choose_leaves, erase_all};
use crate::blocks::reclaim_lines::{LineRule, choose_on_shared_lines, note_fill};
use crate::blocks::reclaim_units::{JoinRule, UnitChoice, UnitId};
use crate::layers::page::{EraseUnits, PageFtl};

/// What happens to a unit when others of its block are erased or written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Neighbours {
    /// Nothing.
    Isolated,
    /// The units are leaves of partial blocks: erasing one disturbs those beside it.
    Leaves(LeafRule),
    /// The units are sub-blocks on shared word lines: writing one disturbs all others.
    SharedLines(LineRule),
}

impl Neighbours {
    /// Whether units disturb each other, so that a block is either written or reclaimed.
    #[inline]
    pub(super) fn are_disturbed(&self) -> bool {
        match self {
            Neighbours::Isolated => false,
            Neighbours::Leaves(_) | Neighbours::SharedLines(_) => true,
        }
    }
}

/// Disturb counters of every unit; empty where there are none of the kind.
#[derive(Clone, Serialize, Deserialize)]
pub(in crate::layers::page) struct Disturbs {
    units: usize,
    /// Disturbs of leaves.
    leaves: Vec<u8>,
    /// Fills of other sub-blocks since each was written.
    fills: Vec<u16>,
}

impl Disturbs {
    /// Nothing disturbed yet.
    pub(in crate::layers::page) fn new(geometry: &Geometry, units: &EraseUnits) -> Disturbs {
        let all = geometry.blocks() as usize * units.pages.units();
        let (leaves, fills) = match units.neighbours {
            Neighbours::Isolated => (0, 0),
            Neighbours::Leaves(_) => (all, 0),
            Neighbours::SharedLines(_) => (0, all),
        };
        Disturbs { units: units.pages.units(), leaves: vec![0; leaves], fills: vec![0; fills] }
    }

    /// Bytes of the columns.
    pub(in crate::layers::page) fn state_bytes(&self) -> u64 {
        (size_of_val(&self.leaves[..]) + size_of_val(&self.fills[..])) as u64
    }

    /// The units of a block in a column.
    fn of(&self, block: BlockId) -> Range<usize> {
        block.index() * self.units..(block.index() + 1) * self.units
    }
}

impl PageFtl {
    /// Takes a free block that nothing is reclaimed of now. What of it is written cannot be reclaimed until it is
    /// full.
    pub(super) fn open_apart(&mut self, plane: PlaneId) -> Option<Open> {
        let open = match self.planes[plane.index()].job {
            Some(job) => self.free.take_other(plane, job.victim, &mut self.pool)?,
            None => self.free.take(plane, Wanted::LeastWorn, &mut self.pool)?,
        };
        let written = UnitSet::first(self.config.units.pages.units()).without(open.units);
        let block = self.config.geometry.index_in_plane(open.block);
        self.planes[plane.index()].victims.remove(block, written);
        self.note_fill(&open);
        Some(open)
    }

    /// Opens a block that was set aside, all of which is free.
    pub(super) fn open_set_aside(&mut self, block: BlockId) -> Open {
        let units = UnitSet::first(self.config.units.pages.units());
        let open = Open { block, sequence: self.pool.next_sequence(), units, next: 0 };
        self.note_fill(&open);
        open
    }

    /// Notes what writing a block does to its sub-blocks.
    fn note_fill(&mut self, open: &Open) {
        if let Neighbours::SharedLines(_) = self.config.units.neighbours {
            let units = self.disturbs.of(open.block);
            note_fill(&mut self.disturbs.fills[units], open.units);
        }
    }

    /// Chooses what is reclaimed next and takes it out of the lists, with the units that must go with it.
    pub(super) fn take_victim(&mut self, plane: PlaneId) -> Option<(u32, UnitChoice)> {
        let free = self.free_units(plane);
        let PageFtl { config, planes, disturbs, .. } = self;
        let EraseUnits { pages, copy, erase, neighbours } = &config.units;
        let pages_per_unit = pages.pages_per_unit() as u16;
        let room = (free * pages.pages_per_unit()) as u32;
        let join = JoinRule { pages_per_unit, copy: *copy, erase: *erase, room };
        let state = &mut planes[plane.index()];
        let units = |block: u32| disturbs.of(config.geometry.block(plane, block));
        match neighbours {
            Neighbours::Isolated => state.victims.take(state.now, &join),
            Neighbours::Leaves(rule) => state.victims.take_by(state.now, |UnitId { block, .. }, valid| {
                choose_leaves(valid, &disturbs.leaves[units(block)], rule)
            }),
            Neighbours::SharedLines(rule) => state.victims.take_by(state.now, |UnitId { block, unit }, valid| {
                choose_on_shared_lines(unit, valid, &disturbs.fills[units(block)], &join, rule)
            }),
        }
    }

    /// Notes what an erase does to the disturb counters of its block's leaves.
    pub(in crate::layers::page) fn note_disturb(&mut self, block: BlockId, erased: UnitSet, blank: UnitSet) {
        let leaves = self.disturbs.of(block);
        if let Neighbours::Leaves(rule) = &self.config.units.neighbours {
            erase_all(erased, blank, rule.tree, &mut self.disturbs.leaves[leaves]);
        }
    }

    /// After a power cut, counts the units of a block as disturbed as often as they bear.
    pub(in crate::layers::page) fn assume_disturbed(&mut self, block: BlockId) {
        let units = self.disturbs.of(block);
        match &self.config.units.neighbours {
            Neighbours::Isolated => {}
            Neighbours::Leaves(rule) => self.disturbs.leaves[units].fill(rule.tolerance),
            Neighbours::SharedLines(rule) => self.disturbs.fills[units].fill(rule.fills_max),
        }
    }

    /// Disturbs of a block's leaves as the FTL counts them; none where it does not erase partial blocks.
    pub fn disturbs(&self, block: BlockId) -> &[u8] {
        if self.disturbs.leaves.is_empty() { &[] } else { &self.disturbs.leaves[self.disturbs.of(block)] }
    }

    /// Fills of other sub-blocks since each sub-block of a block was written, as the FTL counts them; none where
    /// they do not disturb each other.
    pub fn fills(&self, block: BlockId) -> &[u16] {
        if self.disturbs.fills.is_empty() { &[] } else { &self.disturbs.fills[self.disturbs.of(block)] }
    }

    /// Whether `block` is being written.
    pub fn is_open(&self, block: BlockId) -> bool {
        let plane = self.config.geometry.plane_of(block);
        self.planes[plane.index()].open.iter().flatten().any(|open| open.block == block)
    }
}
