//! Mapping units that share a page: what one program puts into each of them.

use crate::{Lpn, PageAddress};
use serde::{Deserialize, Serialize};

/// Where the data of a unit comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum UnitSource {
    /// The controller's RAM: the host wrote it, or the layer writes it for itself.
    Host,
    /// Collection moves it from this unit, whose block is not erased before the program has ended.
    Copied(PageAddress),
    /// Nothing: the page was programmed before it was full.
    Padding,
}

/// What a program puts into one unit of its page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PageUnit {
    /// Logical unit.
    pub lpn: Lpn,
    /// Version of what the host wrote; a unit that is moved keeps its own.
    pub version: u8,
    /// Where the data comes from.
    pub source: UnitSource,
    /// Number of the write that brought it, if the device may lose power; a unit that is moved keeps its own.
    pub written: u64,
}

impl PageUnit {
    /// A unit without data.
    pub const PADDING: PageUnit = PageUnit { lpn: Lpn(0), version: 0, source: UnitSource::Padding, written: 0 };
}

/// What programs under way put into the units of their pages: lists of equal length, each with a number that its
/// program carries.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct StagedUnits {
    units: Vec<PageUnit>,
    /// The sequence number of each list's block.
    sequences: Vec<u32>,
    free: Vec<u32>,
    per_page: usize,
}

impl StagedUnits {
    /// No list; each will have so many units.
    pub fn new(units_per_page: u16) -> StagedUnits {
        StagedUnits {
            units: Vec::new(),
            sequences: Vec::new(),
            free: Vec::new(),
            per_page: usize::from(units_per_page),
        }
    }

    /// Keeps the list of a page until its program has ended, and returns its number. The page lies in a block with this
    /// sequence number, which a moved page's command has no room for.
    pub fn keep(&mut self, units: &[PageUnit], sequence: u32) -> u32 {
        debug_assert_eq!(units.len(), self.per_page, "a list has every unit of its page");
        if let Some(list) = self.free.pop() {
            self.units[list as usize * self.per_page..][..self.per_page].copy_from_slice(units);
            self.sequences[list as usize] = sequence;
            return list;
        }
        self.units.extend_from_slice(units);
        self.sequences.push(sequence);
        (self.units.len() / self.per_page - 1) as u32
    }

    /// The list with this number; empty if there is none.
    #[inline]
    pub fn list(&self, list: u32) -> &[PageUnit] {
        let from = list as usize * self.per_page;
        self.units.get(from..from + self.per_page).unwrap_or_default()
    }

    /// The sequence number of the block of a list's page.
    #[inline]
    pub fn sequence(&self, list: u32) -> u32 {
        self.sequences.get(list as usize).copied().unwrap_or_default()
    }

    /// One unit of a list.
    #[inline]
    pub fn unit(&self, list: u32, nth: usize) -> Option<PageUnit> {
        self.list(list).get(nth).copied()
    }

    /// Forgets a list.
    pub fn release(&mut self, list: u32) {
        debug_assert!(!self.free.contains(&list), "a list is released once");
        self.free.push(list);
    }

    /// Forgets all lists: the controller lost its power.
    pub fn clear(&mut self) {
        self.units.clear();
        self.sequences.clear();
        self.free.clear();
    }
}
