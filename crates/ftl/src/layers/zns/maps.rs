//! What the host knows of its pages: in which zone each lies, and what each zone holds. Both maps hold differences from
//! the initial fill, so that a device of terabytes starts at the cost of its blocks, not of its pages.

use pumice_types::{Lpn, bits, prefetch};
use serde::{Deserialize, Serialize};

use super::layout::ZoneLayout;

/// Entry of a logical page, or of a page of a zone, that is as the initial fill left it.
const AS_FILLED: u32 = 0;

/// Entry of a filled page that the host gave up.
const TRIMMED: u32 = u32::MAX;

/// A page of a zone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct ZonePage {
    pub(super) zone: u32,
    /// From the start of the zone.
    pub(super) offset: u32,
}

/// The host's maps.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct ZoneMaps {
    capacity: u32,
    /// Logical page to page of a zone: [`AS_FILLED`], [`TRIMMED`], else number of the page + 1.
    places: Vec<u32>,
    /// Page of a zone to logical page: [`AS_FILLED`], else logical page + 1.
    owners: Vec<u32>,
    /// Version of each logical page: what a page that is moved holds.
    versions: Vec<u8>,
    /// A bit a page of a zone: it holds the newest data of its logical page.
    valid: Vec<u64>,
    /// Valid pages of each zone.
    counts: Vec<u32>,
    /// Logical pages that the initial fill stored, and those of each row of zones.
    filled: u32,
    row_pages: u32,
    row_zones: u32,
}

impl ZoneMaps {
    /// Maps of `user_pages` logical pages in empty zones.
    pub(super) fn new(layout: &ZoneLayout, user_pages: u32) -> ZoneMaps {
        let (zones, capacity) = (layout.zones() as usize, layout.capacity());
        let pages = zones * capacity as usize;
        ZoneMaps {
            capacity,
            places: vec![AS_FILLED; user_pages as usize],
            owners: vec![AS_FILLED; pages],
            versions: vec![0; user_pages as usize],
            valid: vec![0; bits::words_for(pages)],
            counts: vec![0; zones],
            filled: 0,
            row_pages: layout.row_pages(),
            row_zones: layout.row_zones(),
        }
    }

    /// Notes that the first `rows` rows of zones hold the first logical pages.
    pub(super) fn note_fill(&mut self, rows: u32) {
        self.filled = rows * self.row_pages;
        bits::set_range(&mut self.valid, 0, self.filled as usize);
        self.counts[..(rows * self.row_zones) as usize].fill(self.capacity);
    }

    /// Logical pages.
    pub(super) fn user_pages(&self) -> u32 {
        self.places.len() as u32
    }

    /// Bytes of the columns.
    pub(super) fn state_bytes(&self) -> u64 {
        let words = size_of_val(&self.places[..]) + size_of_val(&self.owners[..]) + size_of_val(&self.counts[..]);
        (words + size_of_val(&self.valid[..]) + self.versions.len()) as u64
    }

    /// Where the newest data of `lpn` is; `None` if nothing is stored.
    #[inline]
    pub(super) fn locate(&self, lpn: Lpn, layout: &ZoneLayout) -> Option<ZonePage> {
        match self.places[lpn.index()] {
            AS_FILLED if lpn.0 < self.filled => {
                let (row, nth) = (lpn.0 / self.row_pages, lpn.0 % self.row_pages);
                let (zone, offset) = layout.filled_at(nth);
                Some(ZonePage { zone: row * self.row_zones + zone, offset })
            }
            AS_FILLED | TRIMMED => None,
            entry => Some(ZonePage { zone: (entry - 1) / self.capacity, offset: (entry - 1) % self.capacity }),
        }
    }

    /// Prefetches the entry of `lpn`; no effect on results.
    #[inline]
    pub(super) fn expect(&self, lpn: Lpn) {
        prefetch(self.places.get(lpn.index()));
    }

    /// The logical page that was written to a page of a zone.
    #[inline]
    pub(super) fn owner(&self, page: ZonePage, layout: &ZoneLayout) -> Lpn {
        match self.owners[self.number(page) as usize] {
            AS_FILLED => {
                let (row, zone) = (page.zone / self.row_zones, page.zone % self.row_zones);
                Lpn(row * self.row_pages + layout.filled_with(zone, page.offset))
            }
            entry => Lpn(entry - 1),
        }
    }

    /// The version of the newest data of `lpn`.
    #[inline]
    pub(super) fn version(&self, lpn: Lpn) -> u8 {
        self.versions[lpn.index()]
    }

    /// Pages of a zone that hold newest data.
    #[inline]
    pub(super) fn valid_pages(&self, zone: u32) -> u32 {
        self.counts[zone as usize]
    }

    /// The first page of a zone from `offset` on that holds newest data.
    #[inline]
    pub(super) fn next_valid(&self, ZonePage { zone, offset }: ZonePage) -> Option<ZonePage> {
        let first = zone as usize * self.capacity as usize;
        let found = bits::next_set(&self.valid, first + offset as usize, first + self.capacity as usize)?;
        Some(ZonePage { zone, offset: (found - first) as u32 })
    }

    /// The data of `lpn` in `version` is about to be written to `page`; what it replaces is no longer the newest.
    #[inline]
    pub(super) fn place(&mut self, lpn: Lpn, version: u8, page: ZonePage, layout: &ZoneLayout) {
        self.invalidate(lpn, layout);
        let number = self.number(page);
        self.places[lpn.index()] = number + 1;
        self.owners[number as usize] = lpn.0 + 1;
        self.versions[lpn.index()] = version;
        debug_assert!(!bits::get(&self.valid, number as usize), "a page of a zone is written once");
        bits::set(&mut self.valid, number as usize);
        self.counts[page.zone as usize] += 1;
    }

    /// The host gives `lpn` up.
    pub(super) fn trim(&mut self, lpn: Lpn, layout: &ZoneLayout) {
        self.invalidate(lpn, layout);
        self.places[lpn.index()] = TRIMMED;
    }

    #[inline]
    fn invalidate(&mut self, lpn: Lpn, layout: &ZoneLayout) {
        if let Some(page) = self.locate(lpn, layout) {
            let number = self.number(page) as usize;
            debug_assert!(bits::get(&self.valid, number), "the newest data of a page is valid");
            bits::clear(&mut self.valid, number);
            self.counts[page.zone as usize] -= 1;
        }
    }

    #[inline]
    fn number(&self, page: ZonePage) -> u32 {
        page.zone * self.capacity + page.offset
    }
}
