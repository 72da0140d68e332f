//! The shape of the device, and the only place where addresses are converted into each other.

use crate::key::{Field, Value, ValueKind};
use crate::{BlockId, ChannelId, DieId, PageAddress, PlaneId, SpecError, choice};
use serde::{Deserialize, Serialize};

/// The largest number that divides both.
pub fn greatest_common_divisor(a: u32, b: u32) -> u32 {
    if b == 0 { a } else { greatest_common_divisor(b, a % b) }
}

choice! {
    /// In which order the pages of an erase unit may be programmed.
    pub enum ProgramOrder {
        /// Strictly ascending inside the erase unit; gaps are allowed.
        InOrder = "in-order",
        /// Any erased page: for FTLs that place pages by offset (a declared deviation from 3D NAND).
        Any = "any",
    }
}

/// A level of the device over which pages can be spread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Level {
    /// C.
    Channel,
    /// W, for way.
    Chip,
    /// D.
    Die,
    /// P.
    Plane,
}

/// Order in which channels (C), chips (W), dies (D) and planes (P) are counted up, the first fastest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlaneOrder([Level; 4]);

impl PlaneOrder {
    /// Every order, as specs spell it.
    #[rustfmt::skip]
    pub const NAMES: &'static [&'static str] = &[
        "CWDP", "CWPD", "CDWP", "CDPW", "CPWD", "CPDW", "WCDP", "WCPD", "WDCP", "WDPC", "WPCD", "WPDC", "DCWP", "DCPW",
        "DWCP", "DWPC", "DPCW", "DPWC", "PCWD", "PCDW", "PWCD", "PWDC", "PDCW", "PDWC",
    ];

    /// Channel first, then chip, die and plane: neighbours in this order share as little as possible.
    pub const CWDP: PlaneOrder = PlaneOrder([Level::Channel, Level::Chip, Level::Die, Level::Plane]);

    /// The order of a name; `None` if it is none of [`PlaneOrder::NAMES`].
    pub fn from_name(name: &str) -> Option<PlaneOrder> {
        let mut levels = [Level::Plane; 4];
        if !PlaneOrder::NAMES.contains(&name) {
            return None;
        }
        for (level, letter) in levels.iter_mut().zip(name.chars()) {
            *level = match letter {
                'C' => Level::Channel,
                'W' => Level::Chip,
                'D' => Level::Die,
                _ => Level::Plane,
            };
        }
        Some(PlaneOrder(levels))
    }

    /// The order's name.
    pub fn name(self) -> String {
        let letter = |level: &Level| match level {
            Level::Channel => 'C',
            Level::Chip => 'W',
            Level::Die => 'D',
            Level::Plane => 'P',
        };
        self.0.iter().map(letter).collect()
    }
}

impl Field for PlaneOrder {
    const SHAPE: ValueKind = ValueKind::Choice(PlaneOrder::NAMES);

    fn read(value: Option<&Value>) -> Result<Self, SpecError> {
        value.and_then(Value::as_text).and_then(PlaneOrder::from_name).ok_or_else(|| "is not allowed".into())
    }

    fn write(&self) -> Option<Value> {
        Some(Value::Text(self.name()))
    }
}

/// Channels × chips × dies × planes × blocks × pages, with page and spare sizes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Geometry {
    /// Channels of the device.
    pub channels: u32,
    /// Chips on one channel.
    pub chips_per_channel: u32,
    /// Dies of one chip.
    pub dies_per_chip: u32,
    /// Planes of one die.
    pub planes_per_die: u32,
    /// Blocks of one plane.
    pub blocks_per_plane: u32,
    /// Pages of one block; where a layer maps units smaller than a page, the units of one block.
    pub pages_per_block: u16,
    /// User bytes of one page, or unit.
    pub page_bytes: u32,
    /// Spare bytes of one page, or unit.
    pub spare_bytes: u32,
    /// Mapping units of a page, which one command programs: 1 where a page is mapped as a whole. Else everything that is
    /// said of pages is said of units, and a page is named by its first unit.
    pub units_per_page: u16,
}

impl Geometry {
    /// Dies of the device.
    pub fn dies(&self) -> u32 {
        self.channels * self.chips_per_channel * self.dies_per_chip
    }

    /// Planes of the device.
    pub fn planes(&self) -> u32 {
        self.dies() * self.planes_per_die
    }

    /// Blocks of the device.
    pub fn blocks(&self) -> u32 {
        self.planes() * self.blocks_per_plane
    }

    /// Pages of the device.
    pub fn pages(&self) -> u64 {
        u64::from(self.blocks()) * u64::from(self.pages_per_block)
    }

    /// User bytes of the raw device (spare areas excluded).
    pub fn raw_bytes(&self) -> u64 {
        self.pages() * u64::from(self.page_bytes)
    }

    /// Block `index` of `plane`.
    #[inline]
    pub fn block(&self, plane: PlaneId, index: u32) -> BlockId {
        BlockId(plane.0 * self.blocks_per_plane + index)
    }

    /// Index of a block inside its plane.
    #[inline]
    pub fn index_in_plane(&self, block: BlockId) -> u32 {
        block.0 % self.blocks_per_plane
    }

    /// Plane of a block.
    #[inline]
    pub fn plane_of(&self, block: BlockId) -> PlaneId {
        PlaneId(block.0 / self.blocks_per_plane)
    }

    /// Die of a plane.
    #[inline]
    pub fn die_of(&self, plane: PlaneId) -> DieId {
        DieId(plane.0 / self.planes_per_die)
    }

    /// The first unit of the page that holds a unit; where a page is mapped as a whole, that page.
    #[inline]
    pub fn page_of_unit(&self, unit: PageAddress) -> PageAddress {
        match self.units_per_page {
            1 => unit,
            units => PageAddress::new(unit.block, unit.page - unit.page % units),
        }
    }

    /// The place in its block of the page that holds a unit.
    #[inline]
    pub fn page_number(&self, unit: u16) -> u16 {
        match self.units_per_page {
            1 => unit,
            units => unit / units,
        }
    }

    /// Planes of a die.
    pub fn planes_of(&self, DieId(die): DieId) -> impl Iterator<Item = PlaneId> + use<> {
        (die * self.planes_per_die..(die + 1) * self.planes_per_die).map(PlaneId)
    }

    /// Channel of a die.
    #[inline]
    pub fn channel_of(&self, die: DieId) -> ChannelId {
        ChannelId(die.0 / (self.chips_per_channel * self.dies_per_chip))
    }

    /// The plane that comes `nth` in the order [`PlaneOrder::CWDP`]. A bijection of `0..planes()`.
    pub fn striped_plane(&self, nth: u32) -> PlaneId {
        self.plane_in_order(PlaneOrder::CWDP, nth)
    }

    /// The plane that comes `nth` in an order. A bijection of `0..planes()`.
    pub fn plane_in_order(&self, order: PlaneOrder, nth: u32) -> PlaneId {
        let (mut rest, mut channel, mut chip, mut die, mut plane) = (nth, 0, 0, 0, 0);
        for level in order.0 {
            let (index, count) = match level {
                Level::Channel => (&mut channel, self.channels),
                Level::Chip => (&mut chip, self.chips_per_channel),
                Level::Die => (&mut die, self.dies_per_chip),
                Level::Plane => (&mut plane, self.planes_per_die),
            };
            (*index, rest) = (rest % count, rest / count);
        }
        let die = (channel * self.chips_per_channel + chip) * self.dies_per_chip + die;
        PlaneId(die * self.planes_per_die + plane)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order(name: &str) -> PlaneOrder {
        PlaneOrder::from_name(name).expect("a name")
    }

    fn geometry() -> Geometry {
        Geometry {
            channels: 3,
            chips_per_channel: 2,
            dies_per_chip: 2,
            planes_per_die: 4,
            blocks_per_plane: 7,
            pages_per_block: 12,
            page_bytes: 4096,
            spare_bytes: 128,
            units_per_page: 1,
        }
    }

    #[test]
    fn t002_block_addresses_are_bijective() {
        let g = geometry();
        let mut seen = vec![false; g.blocks() as usize];
        for plane in 0..g.planes() {
            for index in 0..g.blocks_per_plane {
                let block = g.block(PlaneId(plane), index);
                assert_eq!((g.plane_of(block), g.index_in_plane(block)), (PlaneId(plane), index));
                assert!(!std::mem::replace(&mut seen[block.index()], true));
            }
        }
        assert!(seen.into_iter().all(|s| s));
    }

    #[test]
    fn t003_striping_visits_every_plane_once_and_every_channel_first() {
        let g = geometry();
        let first: Vec<_> = (0..3).map(|n| g.channel_of(g.die_of(g.striped_plane(n))).0).collect();
        assert_eq!(first, [0, 1, 2]);
        for &name in PlaneOrder::NAMES {
            let order = order(name);
            assert_eq!(order.name(), name);
            let mut planes: Vec<_> = (0..g.planes()).map(|n| g.plane_in_order(order, n)).collect();
            planes.sort();
            planes.dedup();
            assert_eq!(planes.len(), g.planes() as usize, "{name}");
        }
        assert_eq!(g.plane_in_order(order("PDWC"), 1), PlaneId(1), "planes of one die first");
    }
}
