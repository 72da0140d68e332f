//! Erases of the units under zones: whole blocks, sets of sub-blocks, or leaves of partial blocks.
//!
//! Leaves disturb each other. A leaf that holds data of another zone and would be disturbed beyond tolerance is moved to
//! a spare unit of its plane before, by copies inside the plane, and is erased too; it is then a spare unit. The zone
//! notices nothing. Each plane keeps one block of spare units: at most all other leaves of one block are in danger at
//! once, and they are spare again when that block's erases are decided.
//!
//! Chips accept programs of a block's units in any order only once a part of the block was erased. So a block of which
//! zones have parts is erased before it is written for the first time: by the command for parts, but all of it, which
//! disturbs nobody.

use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

use pumice_types::{BlockId, FlashCommand, PageAddress, UnitSet, bits};

use super::ZonedDevice;
use crate::blocks::reclaim_leaves::{LeafRule, beyond_tolerance, erase_all};
use crate::layers::zns::layout::EraseUnitId;
use crate::layers::zns::maps::{ZoneMaps, ZonePage};
use crate::layers::zns::state::ZoneState;
use crate::plan::{GcCounters, Plan};

/// What is erased apart, and by which command.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum UnitKind {
    /// Blocks.
    Blocks,
    /// Physical sub-blocks.
    SubBlocks,
    /// Leaves of partial blocks.
    Leaves(LeafRule),
}

/// What the device needs of others while it erases: whose pages it moves, where it counts, and the commands.
pub(in crate::layers::zns) struct Work<'a> {
    pub(in crate::layers::zns) maps: &'a ZoneMaps,
    pub(in crate::layers::zns) gc: &'a mut GcCounters,
    pub(in crate::layers::zns) plan: &'a mut Plan,
}

/// Units of blocks that zones share: which are blank, disturbed or spare. Empty where zones consist of whole blocks.
#[derive(Clone, Default, Serialize, Deserialize)]
pub(in crate::layers::zns) struct SharedBlocks {
    /// A bit a block: it was never erased nor written.
    fresh: Vec<u64>,
    /// Disturbs of every unit.
    disturbs: Vec<u8>,
    /// The place of every unit among those of all zones, plus 1; 0 if no zone has it.
    places: Vec<u32>,
    /// Erased units of each plane that no zone has.
    spares: Vec<VecDeque<EraseUnitId>>,
}

impl SharedBlocks {
    /// Bytes of the columns.
    pub(in crate::layers::zns) fn state_bytes(&self) -> u64 {
        (size_of_val(&self.fresh[..]) + self.disturbs.len() + size_of_val(&self.places[..])) as u64
    }
}

impl ZonedDevice {
    /// Notes which blocks zones share, and the spare ones, one of each plane; all of them blank.
    pub(in crate::layers::zns) fn share_blocks(&mut self, spare_blocks: &[BlockId]) {
        let (geometry, units) = (self.layout.config.geometry, self.layout.config.units.units());
        if matches!(self.rules.units, UnitKind::Blocks) {
            return;
        }
        let all = geometry.blocks() as usize * units;
        let mut fresh = vec![0; bits::words_for(geometry.blocks() as usize)];
        bits::set_range(&mut fresh, 0, geometry.blocks() as usize);
        self.shared = SharedBlocks {
            fresh,
            disturbs: vec![0; all],
            places: vec![0; all],
            spares: vec![VecDeque::new(); geometry.planes() as usize],
        };
        for place in 0..self.layout.zones() * self.layout.units_per_zone() {
            let unit = self.layout.unit_at(place);
            let number = self.number(unit);
            self.shared.places[number] = place + 1;
        }
        for &block in spare_blocks {
            let spares = (0..units).map(|unit| EraseUnitId { block, unit: unit as u8 });
            self.shared.spares[geometry.plane_of(block).index()].extend(spares);
        }
    }

    /// Notes that a block was written before the first command.
    pub(in crate::layers::zns) fn note_block_filled(&mut self, block: BlockId) {
        if !self.shared.fresh.is_empty() {
            bits::clear(&mut self.shared.fresh, block.index());
        }
    }

    /// Erases the units of a zone that wait for it, those of a block together.
    pub(in crate::layers::zns) fn erase_zone(&mut self, zone: u32, work: &mut Work) {
        let (width, depth) = (self.layout.config.width, self.layout.config.depth);
        for turn in 0..width {
            let (mut block, mut set) = (BlockId(0), UnitSet::EMPTY);
            for place in (0..depth).map(|nth| nth * width + turn) {
                let unit = self.layout.units_of(zone)[place as usize];
                self.freshen(unit.block, work);
                if !self.take_to_erase(unit) {
                    continue;
                }
                if unit.block != block {
                    self.erase_units(block, set, work);
                    (block, set) = (unit.block, UnitSet::EMPTY);
                }
                set = set.with(UnitSet::one(usize::from(unit.unit)));
            }
            self.erase_units(block, set, work);
        }
    }

    /// Erases a block of which zones have parts, before it is written for the first time.
    fn freshen(&mut self, block: BlockId, work: &mut Work) {
        if self.shared.fresh.is_empty() || !bits::get(&self.shared.fresh, block.index()) {
            return;
        }
        bits::clear(&mut self.shared.fresh, block.index());
        let all = UnitSet::first(self.layout.config.units.units());
        self.push_erases(block, all, work);
    }

    /// Erases some units of a block.
    pub(in crate::layers::zns) fn erase_units(&mut self, block: BlockId, erased: UnitSet, work: &mut Work) {
        if erased.is_empty() {
            return;
        }
        let tree = match &self.rules.units {
            UnitKind::Blocks | UnitKind::SubBlocks => return self.push_erases(block, erased, work),
            UnitKind::Leaves(rule) => rule.tree,
        };
        let all = self.with_endangered(block, erased);
        all.without(erased).iter().for_each(|leaf| self.relocate(block, leaf, work));
        let blank = self.blank(block).without(all);
        let leaves = self.leaves(block);
        erase_all(all, blank, tree, &mut self.shared.disturbs[leaves]);
        self.push_erases(block, all, work);
    }

    /// Appends the commands that erase units of a block.
    fn push_erases(&self, block: BlockId, erased: UnitSet, work: &mut Work) {
        match &self.rules.units {
            UnitKind::Blocks => {
                work.gc.reclaimed.block_erases += 1;
                work.plan.push(FlashCommand::erase(block));
            }
            UnitKind::SubBlocks => {
                work.gc.reclaimed_sub_blocks += u64::from(erased.len());
                work.plan.push(FlashCommand::sub_block_erase(block, erased));
            }
            UnitKind::Leaves(rule) => {
                for pb in erased.partial_blocks(rule.tree) {
                    work.gc.reclaimed.partial_erases += 1;
                    work.plan.push(FlashCommand::partial_erase(block, pb));
                }
            }
        }
    }

    /// Returns leaves of a block with those that hold data and would be disturbed beyond tolerance by their erase.
    fn with_endangered(&self, block: BlockId, erased: UnitSet) -> UnitSet {
        let rule = match &self.rules.units {
            UnitKind::Leaves(rule) if rule.protects => rule,
            UnitKind::Leaves(_) | UnitKind::SubBlocks | UnitKind::Blocks => return erased,
        };
        let disturbs = &self.shared.disturbs[self.leaves(block)];
        let has_data = |&leaf: &usize| self.data_pages(block, leaf) > 0;
        let data: UnitSet = (0..disturbs.len()).filter(has_data).collect();
        let (mut all, blank) = (erased, self.blank(block));
        loop {
            // What is about to be erased looks blank already.
            match beyond_tolerance(all, [blank.without(all), data], disturbs, rule) {
                UnitSet::EMPTY => return all,
                more => all = all.with(more),
            }
        }
    }

    /// Moves what a leaf holds to a spare unit of its plane, which takes its place in its zone.
    fn relocate(&mut self, block: BlockId, leaf: usize, work: &mut Work) {
        let old = EraseUnitId { block, unit: leaf as u8 };
        let (number, plane) = (self.number(old), self.layout.config.geometry.plane_of(block));
        let place = self.shared.places[number] - 1;
        let spares = &mut self.shared.spares[plane.index()];
        let other = spares.iter().position(|spare| spare.block != block);
        let Some(new) = other.and_then(|at| spares.remove(at)) else {
            unreachable!("as many spare units as a block has, and fewer in danger");
        };
        self.freshen(new.block, work);
        let zone = place / self.layout.units_per_zone();
        let pages = self.data_pages(block, leaf);
        for rank in 0..pages {
            let offset = self.layout.offset_in(place % self.layout.units_per_zone(), rank);
            let is_data = offset < self.table.written(zone);
            let page = ZonePage { zone, offset };
            let lpn = if is_data { work.maps.owner(page, &self.layout) } else { self.rules.padding };
            let at = |unit: EraseUnitId| PageAddress::new(unit.block, self.layout.page_of_unit(unit.unit, rank));
            work.plan.push(FlashCommand::copy(at(old), at(new), lpn, self.sequences[zone as usize]));
        }
        self.counters.relocated_pages += u64::from(pages);
        work.gc.copied_pages += u64::from(pages);
        self.take_away(old);
        self.put(new, place);
        self.shared.spares[plane.index()].push_back(old);
    }

    /// No zone has this unit any more.
    pub(in crate::layers::zns) fn take_away(&mut self, unit: EraseUnitId) {
        let number = self.number(unit);
        if let Some(of_unit) = self.shared.places.get_mut(number) {
            *of_unit = 0;
        }
    }

    /// Puts a unit at a place among those of all zones.
    pub(in crate::layers::zns) fn put(&mut self, unit: EraseUnitId, place: u32) {
        self.layout.replace(place, unit);
        let number = self.number(unit);
        if let Some(of_unit) = self.shared.places.get_mut(number) {
            *of_unit = place + 1;
        }
    }

    /// Pages of a leaf that a zone has programmed and not given up.
    fn data_pages(&self, block: BlockId, leaf: usize) -> u32 {
        let unit = EraseUnitId { block, unit: leaf as u8 };
        match self.shared.places[self.number(unit)] {
            0 => 0,
            place => {
                let units = self.layout.units_per_zone();
                self.programmed((place - 1) / units, (place - 1) % units)
            }
        }
    }

    /// Leaves of a block that hold no programmed page.
    fn blank(&self, block: BlockId) -> UnitSet {
        let is_blank = |&leaf: &usize| {
            let number = self.number(EraseUnitId { block, unit: leaf as u8 });
            !bits::get(&self.to_erase, number) && self.data_pages(block, leaf) == 0
        };
        (0..self.layout.config.units.units()).filter(is_blank).collect()
    }

    /// Pages of a zone's unit that are programmed.
    pub(in crate::layers::zns) fn programmed(&self, zone: u32, place: u32) -> u32 {
        if self.table.state(zone) == ZoneState::Empty {
            return 0;
        }
        self.layout.pages_before(place, self.programmed_until(zone, place))
    }

    fn leaves(&self, block: BlockId) -> std::ops::Range<usize> {
        let units = self.layout.config.units.units();
        block.index() * units..(block.index() + 1) * units
    }
}
