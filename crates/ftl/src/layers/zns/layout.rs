//! Where zones lie: which erase units a zone consists of, and in which order its pages lie on them.
//!
//! A zone is striped: its pages go to its planes in turn, a run of so many each (one by default), and in a plane they
//! fill one erase unit after the other. Planes are taken in the order channel, chip, die, plane, so that neighbours share as little as possible.
//!
//! The zones of a *row* share their blocks: the same block, or the same few blocks, of each of their planes. A row is
//! one zone where zones consist of whole blocks, and several where a block has more units than a zone takes.

use pumice_types::{BlockId, Draw, Geometry, PageAddress, PlaneId, UnitPages, choice};
use serde::{Deserialize, Serialize};

choice! {
    /// The plane that a zone's first pages go to.
    pub enum FirstPlane {
        /// For every zone the same of its planes.
        Same = "same",
        /// Drawn by the seed, alike for zones that share blocks.
        Drawn = "drawn",
    }
}

/// Settings of a layout.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct LayoutConfig {
    /// Shape of the device.
    pub geometry: Geometry,
    /// What is erased apart.
    pub units: UnitPages,
    /// Planes of a zone: a divisor of all planes.
    pub width: u32,
    /// Erase units of each of its planes: a divisor or a multiple of the units of a block.
    pub depth: u32,
    /// Pages that one of its planes takes before the next does: a divisor of the pages of an erase unit.
    pub run: u32,
    /// Where the stripes of each row of zones begin, if that is drawn.
    pub first: Option<Draw>,
}

/// One erase unit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct EraseUnitId {
    /// Block of the erase unit.
    pub block: BlockId,
    /// Which of the block's units.
    pub unit: u8,
}

/// The zones of a device and the pages in them.
#[derive(Clone, Serialize, Deserialize)]
pub struct ZoneLayout {
    /// What it was made from.
    pub config: LayoutConfig,
    /// Pages of each unit in the order in which they are programmed, unit by unit.
    pages: Vec<u16>,
    /// The place of each page of a block in its unit.
    rank: Vec<u16>,
    /// Units of every zone: those of a stripe side by side, stripe after stripe.
    units: Vec<EraseUnitId>,
    zones: u32,
    capacity: u32,
}

impl LayoutConfig {
    /// Blocks of each plane that a row of zones takes.
    fn row_blocks(&self) -> u32 {
        (self.depth / self.units.units() as u32).max(1)
    }

    /// Zones of a row.
    fn row_zones(&self) -> u32 {
        (self.units.units() as u32 / self.depth).max(1)
    }

    /// Zones of a device with so many good blocks in each plane.
    pub fn zones(&self, good_blocks: u32) -> u32 {
        self.groups() * (good_blocks / self.row_blocks()) * self.row_zones()
    }

    /// Pages of a zone.
    pub fn capacity(&self) -> u32 {
        self.width * self.depth * self.units.pages_per_unit() as u32
    }

    /// Sets of planes that share no zone.
    fn groups(&self) -> u32 {
        self.geometry.planes() / self.width
    }

    /// The plane at `turn` in the stripes of the zones of a row of group `group`. Neighbouring turns are planes that share
    /// little.
    fn plane(&self, group: u32, row: u32, turn: u32) -> PlaneId {
        let drawn = |draw: Draw| (draw.bits(u64::from(row)) % u64::from(self.width)) as u32;
        let first = self.first.map_or(0, drawn);
        self.geometry.striped_plane(group * self.width + (first + turn) % self.width)
    }
}

impl ZoneLayout {
    /// The layout over the good blocks of each plane, which come in ascending order and are as many in every plane.
    pub fn new(config: LayoutConfig, good_blocks: &[Vec<BlockId>]) -> ZoneLayout {
        let rows = good_blocks.first().map_or(0, |blocks| blocks.len() as u32 / config.row_blocks());
        let mut pages: Vec<u16> = (0..config.units.pages_per_block()).collect();
        pages.sort_by_key(|&page| config.units.unit_of(page)); // stable: ascending in each unit
        let mut rank = vec![0; pages.len()];
        let per_unit = config.units.pages_per_unit();
        pages.iter().enumerate().for_each(|(at, &page)| rank[usize::from(page)] = (at % per_unit) as u16);
        let zones = rows * config.groups() * config.row_zones();
        let mut layout = ZoneLayout { pages, rank, units: Vec::new(), zones, capacity: config.capacity(), config };
        layout.units = (0..zones).flat_map(|zone| layout.first_units(zone, good_blocks)).collect();
        layout
    }

    /// The units that a zone has at the start.
    fn first_units(&self, zone: u32, good_blocks: &[Vec<BlockId>]) -> Vec<EraseUnitId> {
        let config = &self.config;
        let (row, nth) = (zone / config.row_zones(), zone % config.row_zones());
        let (row, group) = (row / config.groups(), row % config.groups());
        let per_block = config.units.units() as u32;
        let unit = |at: u32| {
            let (unit, turn) = (nth * config.depth + at / config.width, at % config.width);
            let block = row * config.row_blocks() + unit / per_block;
            let plane = config.plane(group, zone / config.row_zones(), turn);
            EraseUnitId { block: good_blocks[plane.index()][block as usize], unit: (unit % per_block) as u8 }
        };
        (0..config.depth * config.width).map(unit).collect()
    }

    /// Number of zones.
    pub fn zones(&self) -> u32 {
        self.zones
    }

    /// Pages of a zone.
    #[inline]
    pub fn capacity(&self) -> u32 {
        self.capacity
    }

    /// Bytes of the columns.
    pub fn state_bytes(&self) -> u64 {
        (size_of_val(&self.units[..]) + size_of_val(&self.pages[..]) + size_of_val(&self.rank[..])) as u64
    }

    /// Places of units in a zone.
    pub fn units_per_zone(&self) -> u32 {
        self.config.depth * self.config.width
    }

    /// The units of a zone.
    pub fn units_of(&self, zone: u32) -> &[EraseUnitId] {
        let units = self.units_per_zone() as usize;
        &self.units[zone as usize * units..(zone as usize + 1) * units]
    }

    /// The unit at a place among those of all zones.
    pub fn unit_at(&self, place: u32) -> EraseUnitId {
        self.units[place as usize]
    }

    /// Puts another unit at a place among those of all zones.
    pub fn replace(&mut self, place: u32, unit: EraseUnitId) {
        self.units[place as usize] = unit;
    }

    /// The page of a block that is programmed as the `rank`-th of its unit.
    pub fn page_of_unit(&self, unit: u8, rank: u32) -> u16 {
        self.pages[usize::from(unit) * self.config.units.pages_per_unit() + rank as usize]
    }

    /// Where in a zone the `rank`-th page of its unit at `place` lies.
    pub fn offset_in(&self, place: u32, rank: u32) -> u32 {
        let LayoutConfig { width, run, .. } = self.config;
        let in_plane = place / width * self.config.units.pages_per_unit() as u32 + rank;
        in_plane / run * width * run + place % width * run + in_plane % run
    }

    /// A page of a zone: its unit among those of its plane, its place in that unit, and the turn of its plane.
    #[inline]
    fn split(&self, offset: u32) -> [u32; 3] {
        let LayoutConfig { width, run, .. } = self.config;
        let (row, in_row) = (offset / (width * run), offset % (width * run));
        let (nth, turn) = (row * run + in_row % run, in_row / run);
        let per_unit = self.config.units.pages_per_unit() as u32;
        [nth / per_unit, nth % per_unit, turn]
    }

    /// The page at `offset` of a zone.
    #[inline]
    pub fn page(&self, zone: u32, offset: u32) -> PageAddress {
        let [depth, rank, turn] = self.split(offset);
        let per_unit = self.config.units.pages_per_unit() as u32;
        let unit = self.units[(zone * self.units_per_zone() + depth * self.config.width + turn) as usize];
        PageAddress::new(unit.block, self.pages[(u32::from(unit.unit) * per_unit + rank) as usize])
    }

    /// Which of a zone's units the page at `offset` lies in.
    pub fn place_of(&self, offset: u32) -> u32 {
        let [depth, _, turn] = self.split(offset);
        depth * self.config.width + turn
    }

    /// The first page of a zone that lies in its unit at `place`.
    pub fn first_page(&self, place: u32) -> u32 {
        self.offset_in(place, 0)
    }

    /// How many of the first `written` pages of a zone lie in its unit at `place`.
    pub fn pages_before(&self, place: u32, written: u32) -> u32 {
        let LayoutConfig { width, run, .. } = self.config;
        let (row, in_row) = (written / (width * run), written % (width * run));
        let in_plane = row * run + in_row.saturating_sub(place % width * run).min(run);
        let per_unit = self.config.units.pages_per_unit() as u32;
        in_plane.saturating_sub(place / width * per_unit).min(per_unit)
    }

    /// Pages that the initial fill stores in a row of zones.
    pub fn row_pages(&self) -> u32 {
        self.config.row_zones() * self.capacity
    }

    /// Zones of a row.
    pub fn row_zones(&self) -> u32 {
        self.config.row_zones()
    }

    /// The blocks of a row of zones and which page of the row's fill their first page holds; from one page of a block
    /// to the next it goes on by the width of a zone.
    pub fn row_fill(&self, row: u32) -> impl Iterator<Item = (BlockId, u32)> {
        let (width, pages) = (self.config.width, u32::from(self.config.units.pages_per_block()));
        let first_zone = row * self.config.row_zones();
        let places = (0..self.config.row_blocks()).flat_map(move |block| (0..width).map(move |turn| (block, turn)));
        places.map(move |(block, turn)| {
            let place = block * self.config.units.units() as u32 * width + turn;
            let unit = self.units[(first_zone * self.units_per_zone() + place) as usize];
            (unit.block, block * pages * width + turn)
        })
    }

    /// Where page `nth` of a row's fill lies: a zone, counted in the row, and the offset in it.
    pub fn filled_at(&self, nth: u32) -> (u32, u32) {
        let (width, pages) = (self.config.width, u32::from(self.config.units.pages_per_block()));
        let (nth_block, page, turn) = (nth / width / pages, nth / width % pages, nth % width);
        let unit = nth_block * self.config.units.units() as u32 + self.config.units.unit_of(page as u16) as u32;
        let (zone, depth) = (unit / self.config.depth, unit % self.config.depth);
        let rank = u32::from(self.rank[page as usize]);
        (zone, self.offset_in(depth * width + turn, rank))
    }

    /// Which page of a row's fill lies at `offset` of the row's zone `zone`: the inverse of [`ZoneLayout::filled_at`].
    pub fn filled_with(&self, zone: u32, offset: u32) -> u32 {
        let (width, pages) = (self.config.width, u32::from(self.config.units.pages_per_block()));
        let [depth, rank, turn] = self.split(offset);
        let per_unit = self.config.units.pages_per_unit() as u32;
        let unit = zone * self.config.depth + depth;
        let per_block = self.config.units.units() as u32;
        let (nth_block, unit) = (unit / per_block, unit % per_block);
        let page = u32::from(self.pages[(unit * per_unit + rank) as usize]);
        (nth_block * pages + page) * width + turn
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pumice_types::{BlockShape, PbTree, WriteSequence};

    fn layout(units: UnitPages, width: u32, depth: u32, run: u32) -> ZoneLayout {
        // Zones whose pages come in runs begin anywhere.
        let first = (run > 1).then(|| Draw::new(1, "first-plane"));
        let geometry = Geometry {
            channels: 2,
            chips_per_channel: 1,
            dies_per_chip: 1,
            planes_per_die: 2,
            blocks_per_plane: 6,
            pages_per_block: units.pages_per_block(),
            page_bytes: 4096,
            spare_bytes: 64,
            units_per_page: 1,
        };
        // The first block of every plane is bad.
        let good = (0..4).map(|plane| (1..6).map(|block| geometry.block(PlaneId(plane), block)).collect());
        ZoneLayout::new(LayoutConfig { geometry, units, width, depth, run, first }, &good.collect::<Vec<_>>())
    }

    fn units() -> Vec<UnitPages> {
        let shape = |sequence| BlockShape::new(3, 4, 2, sequence).expect("legal");
        vec![
            UnitPages::whole_block(24),
            UnitPages::sub_blocks(shape(WriteSequence::Lfws)),
            UnitPages::sub_blocks(shape(WriteSequence::Sfws)),
            UnitPages::leaves(PbTree::new(24, 2).expect("legal")).expect("4 leaves"),
        ]
    }

    fn layouts() -> impl Iterator<Item = ZoneLayout> {
        let shapes = units().into_iter().flat_map(|units| [1, 2, 4].map(|width| (units.clone(), width)));
        shapes.flat_map(|(units, width)| {
            let per_block = units.units() as u32;
            let legal = |depth: &u32| {
                *depth < 5 * per_block && (depth.is_multiple_of(per_block) || per_block.is_multiple_of(*depth))
            };
            let depths = [1, 2, 4, 8].into_iter().filter(legal);
            depths.flat_map(|depth| [1, 3].map(|run| layout(units.clone(), width, depth, run))).collect::<Vec<_>>()
        })
    }

    #[test]
    fn t560_no_page_is_in_two_zones_and_a_unit_is_written_in_ascending_order() {
        for layout in layouts() {
            let mut seen = std::collections::BTreeSet::new();
            let zones = layout.zones();
            assert_eq!(zones, layout.config.zones(5));
            for zone in 0..zones {
                let mut last = std::collections::BTreeMap::new();
                for offset in 0..layout.capacity() {
                    let page = layout.page(zone, offset);
                    assert!(seen.insert((page.block.0, page.page)), "{page:?} twice");
                    let unit = (page.block.0, layout.config.units.unit_of(page.page));
                    assert!(last.insert(unit, page.page).is_none_or(|before| before < page.page));
                }
                assert_eq!(last.len(), layout.units_of(zone).len());
            }
            let rows = 5 / layout.config.row_blocks();
            assert_eq!(
                seen.len() as u32,
                4 * rows * layout.config.row_blocks() * 24,
                "every good block of a whole row"
            );
        }
    }

    #[test]
    fn t561_the_pages_of_a_zone_go_to_its_planes_in_turn() {
        for layout in layouts() {
            let (geometry, width, run) = (layout.config.geometry, layout.config.width, layout.config.run);
            let plane = |offset| geometry.plane_of(layout.page(0, offset).block);
            let planes: std::collections::BTreeSet<_> = (0..width).map(|turn| plane(turn * run)).collect();
            assert_eq!(planes.len() as u32, width);
            let row = width * run;
            (row..layout.capacity()).for_each(|offset| assert_eq!(plane(offset), plane(offset - row)));
            (0..layout.capacity()).for_each(|offset| assert_eq!(plane(offset), plane(offset / run * run)));
            let first = |row: u32| geometry.plane_of(layout.page(row * layout.row_zones(), 0).block);
            let groups = layout.config.groups() as usize;
            let rows = layout.zones() / layout.row_zones();
            let firsts: std::collections::BTreeSet<_> = (0..rows).map(first).collect();
            match layout.config.first {
                None => assert_eq!(firsts.len(), groups, "all zones of a group begin alike"),
                Some(_) => assert!(width == 1 || rows < 5 || firsts.len() > groups, "{firsts:?}"),
            }
        }
    }

    #[test]
    fn t569_the_pages_of_a_unit_before_a_write_pointer_are_those_whose_offsets_are_smaller() {
        for layout in layouts() {
            for written in 0..=layout.capacity() {
                for place in 0..layout.units_per_zone() {
                    let counted = (0..written).filter(|&offset| layout.place_of(offset) == place).count();
                    assert_eq!(layout.pages_before(place, written), counted as u32);
                }
            }
        }
    }

    #[test]
    fn t562_the_fill_of_a_row_is_found_again_page_by_page() {
        for layout in layouts() {
            let rows = layout.zones() / layout.row_zones();
            let (width, pages) = (layout.config.width, layout.config.units.pages_per_block());
            for row in 0..rows {
                let mut filled = std::collections::BTreeMap::new();
                for (block, first) in layout.row_fill(row) {
                    filled.extend((0..pages).map(|page| ((block.0, page), first + u32::from(page) * width)));
                }
                assert_eq!(filled.len() as u32, layout.row_pages());
                for nth in 0..layout.row_pages() {
                    let (zone, offset) = layout.filled_at(nth);
                    let page = layout.page(row * layout.row_zones() + zone, offset);
                    assert_eq!(filled.get(&(page.block.0, page.page)), Some(&nth));
                    assert_eq!(layout.filled_with(zone, offset), nth);
                }
            }
        }
    }
}
