//! Both directions of the page map and the valid bits, as differences from the initial fill.

use serde::{Deserialize, Serialize};
use std::ops::Range;

use pumice_types::bits::SetBits;
use pumice_types::{BlockId, Geometry, Lpn, PageAddress, PageColumn, PlaneId, bits, prefetch};

use crate::blocks::block_pool::BlockPool;
use crate::plan::Payload;

/// Entry of a logical page that is where the initial fill put it: that of new columns.
const AS_FILLED: u32 = 0;

/// Entry of a filled page that the host gave up: no physical page has this number.
const TRIMMED: u32 = u32::MAX;

/// Bytes that memory is fetched by.
const CACHE_LINE: usize = 64;

/// Pages that move from one block to successive pages of another.
#[derive(Clone, Copy)]
pub(in crate::layers::page) struct PageRun {
    /// The block that they leave.
    pub(in crate::layers::page) victim: BlockId,
    /// First page of the run that may move.
    pub(in crate::layers::page) from: u32,
    /// Where the first of them goes.
    pub(in crate::layers::page) target: PageAddress,
    /// How many move at most.
    pub(in crate::layers::page) most: u32,
    /// How many pages, valid or not, lie between the first and the one from which map entries are prefetched.
    pub(in crate::layers::page) ahead: u32,
}

/// Where logical pages lie, and what physical pages hold.
#[derive(Clone, Serialize, Deserialize)]
pub(in crate::layers::page) struct PageMaps {
    pub(in crate::layers::page) pages: u32,
    words: usize,
    /// Logical to physical page: [`AS_FILLED`], [`TRIMMED`], else physical page + 1.
    l2p: PageColumn<u32>,
    /// Physical to logical page: [`AS_FILLED`], else logical page + 1.
    p2l: PageColumn<u32>,
    valid: PageColumn<u64>,
    fill: FilledPlaces,
}

/// Where the initial fill puts logical pages.
#[derive(Clone, Serialize, Deserialize)]
struct FilledPlaces {
    geometry: Geometry,
    /// Logical pages that it stores, from the first one on.
    pages: u32,
    /// Pages of a block that take data.
    data_pages: u32,
    /// Mapping units of a page of flash: so many follow each other before the next plane.
    units: u32,
    /// Good blocks of each plane before the first that takes data.
    first_block: u32,
    /// Planes in its order, and the place of each plane in it.
    order: Vec<PlaneId>,
    turn_of_plane: Vec<u32>,
}

impl FilledPlaces {
    fn place(&self, lpn: Lpn, pool: &BlockPool) -> PageAddress {
        if self.units > 1 {
            return self.place_of_unit(lpn, pool);
        }
        let planes = self.order.len() as u32;
        let plane = self.order[(lpn.0 % planes) as usize];
        let nth = lpn.0 / planes;
        // Bad blocks shift the fill, so the nth good block is looked up; without them it is the nth.
        let block = pool.good_block(plane, self.first_block + nth / self.data_pages);
        PageAddress::new(block, (nth % self.data_pages) as u16)
    }

    /// As `place`, of a unit: its page is the one that goes round the planes.
    #[inline(never)]
    fn place_of_unit(&self, lpn: Lpn, pool: &BlockPool) -> PageAddress {
        let planes = self.order.len() as u32;
        let (page, unit) = (lpn.0 / self.units, lpn.0 % self.units);
        let plane = self.order[(page % planes) as usize];
        let nth = page / planes * self.units + unit;
        let block = pool.good_block(plane, self.first_block + nth / self.data_pages);
        PageAddress::new(block, (nth % self.data_pages) as u16)
    }

    /// Logical page that a physical page with this entry was programmed with.
    #[inline]
    fn owner_by(&self, entry: u32, page: PageAddress, pool: &BlockPool) -> Lpn {
        match entry {
            AS_FILLED => self.owner(page, pool),
            entry => Lpn(entry - 1),
        }
    }

    fn owner(&self, page: PageAddress, pool: &BlockPool) -> Lpn {
        let planes = self.order.len() as u32;
        let nth = self.turn_of_plane[self.geometry.plane_of(page.block).index()];
        let stripe = pool.good_index(page.block) - self.first_block;
        if self.units > 1 {
            let in_plane = stripe * self.data_pages + u32::from(page.page);
            let (page, unit) = (in_plane / self.units, in_plane % self.units);
            return Lpn((page * planes + nth) * self.units + unit);
        }
        Lpn((stripe * self.data_pages + u32::from(page.page)) * planes + nth)
    }
}

/// Prefetches the map entry of the logical page that an entry of the other direction names; none if that is
/// [`AS_FILLED`].
#[inline]
fn expect_owner(l2p: &[u32], entry: u32) {
    if let entry @ 1.. = entry {
        prefetch(l2p.get(entry as usize - 1));
    }
}

/// The inverse of an order of planes.
fn turns(order: &[PlaneId]) -> Vec<u32> {
    let mut turns = vec![0; order.len()];
    order.iter().enumerate().for_each(|(turn, plane)| turns[plane.index()] = turn as u32);
    turns
}

impl PageMaps {
    /// Maps of an empty device with `logical_pages` entries; `order` is that of the fill. It begins at the good block
    /// `first_block` of each plane, and a block takes `data_pages`.
    pub(in crate::layers::page) fn new(
        geometry: Geometry,
        [data_pages, first_block]: [u32; 2],
        logical_pages: u32,
        order: &[PlaneId],
    ) -> PageMaps {
        let words = bits::words_for(usize::from(geometry.pages_per_block));
        PageMaps {
            pages: u32::from(geometry.pages_per_block),
            words,
            l2p: PageColumn::new_in_large_pages(logical_pages as usize),
            p2l: PageColumn::new_in_large_pages(geometry.pages() as usize),
            valid: PageColumn::new_in_large_pages(geometry.blocks() as usize * words),
            fill: FilledPlaces {
                geometry,
                pages: 0,
                data_pages,
                units: geometry.units_per_page.into(),
                first_block,
                order: order.to_vec(),
                turn_of_plane: turns(order),
            },
        }
    }

    /// Entries of the map.
    pub(in crate::layers::page) fn logical_pages(&self) -> u32 {
        self.l2p.len() as u32
    }

    /// Bytes of the columns.
    pub(in crate::layers::page) fn state_bytes(&self) -> u64 {
        (size_of_val(&self.l2p[..]) + size_of_val(&self.p2l[..]) + size_of_val(&self.valid[..])) as u64
    }

    /// Notes that the first `pages` logical pages lie as filled, in the first good blocks of each plane.
    pub(in crate::layers::page) fn note_fill(&mut self, pages: u32) {
        self.fill.pages = pages;
    }

    /// Notes that all pages of `block` that take data are valid.
    pub(in crate::layers::page) fn set_all_valid(&mut self, block: BlockId) {
        let words = self.words_of(block);
        bits::set_range(&mut self.valid[words], 0, self.fill.data_pages as usize);
    }

    /// Where the current page of `lpn` is.
    #[inline]
    pub(in crate::layers::page) fn locate(&self, lpn: Lpn, pool: &BlockPool) -> Option<PageAddress> {
        match self.l2p[lpn.index()] {
            AS_FILLED if lpn.0 < self.fill.pages => Some(self.fill.place(lpn, pool)),
            AS_FILLED | TRIMMED => None,
            entry => Some(self.address(entry - 1)),
        }
    }

    /// Prefetches the map entry of `lpn`; no effect on results.
    #[inline]
    pub(in crate::layers::page) fn expect(&self, lpn: Lpn) {
        prefetch(self.l2p.get(lpn.index()));
    }

    /// Prefetches the valid bits of the page of `lpn`, whose map entry is in the cache; no effect on results.
    #[inline]
    pub(in crate::layers::page) fn expect_overwrite(&self, lpn: Lpn, pool: &BlockPool) -> Option<BlockId> {
        let is_mapped = lpn.index() < self.l2p.len();
        let page = if is_mapped { self.locate(lpn, pool)? } else { return None };
        prefetch(self.valid.get(page.block.index() * self.words + usize::from(page.page >> 6)));
        Some(page.block)
    }

    /// Prefetches the map entry of the logical page in `page` of `block`, if there is such a page; no effect on
    /// results.
    #[inline]
    pub(in crate::layers::page) fn expect_move(&self, block: BlockId, page: u32) {
        if page < self.pages {
            expect_owner(&self.l2p, self.p2l[(block.0 * self.pages + page) as usize]);
        }
    }

    /// Prefetches the owners of all pages of a block that is to be emptied, and the map entries of its first `ahead`
    /// pages; no effect on results.
    pub(in crate::layers::page) fn expect_moves(&self, block: BlockId, ahead: u32) {
        let owners = &self.p2l[(block.0 * self.pages) as usize..][..self.pages as usize];
        owners.chunks(CACHE_LINE / size_of::<u32>()).for_each(|line| prefetch(line.first()));
        (0..ahead).for_each(|page| self.expect_move(block, page));
    }

    /// Logical page that the physical page was programmed with.
    #[inline]
    pub(in crate::layers::page) fn owner(&self, page: PageAddress, pool: &BlockPool) -> Lpn {
        self.fill.owner_by(self.p2l[self.physical(page) as usize], page, pool)
    }

    /// Maps `lpn` to a page that is about to be programmed.
    #[inline]
    pub(in crate::layers::page) fn place(&mut self, lpn: Lpn, page: PageAddress) {
        let physical = self.physical(page);
        self.l2p[lpn.index()] = physical + 1;
        self.p2l[physical as usize] = lpn.0 + 1;
        let bit = self.bit(page);
        bits::set(&mut self.valid, bit);
    }

    /// Notes that `page` no longer holds a current page.
    #[inline]
    pub(in crate::layers::page) fn invalidate(&mut self, page: PageAddress) {
        let bit = self.bit(page);
        debug_assert!(bits::get(&self.valid, bit));
        bits::clear(&mut self.valid, bit);
    }

    /// Moves the valid pages of a run, in their order, up to the first that does not go along with the first, and tells
    /// `moved` of each: the page it leaves, where it goes, and what it holds. Returns how many they are, and the page
    /// behind the last. The same as to invalidate and place them one by one, but valid bits are taken by the word.
    #[inline(always)]
    pub(in crate::layers::page) fn move_run(
        &mut self,
        run: &PageRun,
        pool: &BlockPool,
        mut goes_along: impl FnMut(Lpn) -> bool,
        mut moved: impl FnMut(PageAddress, PageAddress, Lpn),
    ) -> (u32, u32) {
        let PageRun { victim, from, target, mut most, ahead } = *run;
        let place = self.physical(target);
        let (of_victim, of_target) = (self.words_of(victim), self.words_of(target.block));
        let PageMaps { pages, l2p, p2l, valid, fill, .. } = self;
        // Looked up once, and not for every page.
        let (l2p, p2l, pages) = (&mut l2p[..], &mut p2l[..], *pages);
        let first = (victim.0 * pages) as usize;
        let words = &mut valid[of_victim];
        let mut coming = SetBits::from(words, (from + ahead) as usize);
        let (mut count, mut next) = (0, from);
        for word in from as usize >> 6..words.len() {
            let kept = if word == from as usize >> 6 { (1 << (from & 63)) - 1 } else { 0 };
            let (mut left, held) = (words[word] & !kept, words[word] & kept);
            while left != 0 && count < most {
                let page = (word * 64) as u32 + left.trailing_zeros();
                left &= left - 1;
                if let Some(page) = coming.next(words) {
                    expect_owner(l2p, p2l[first + page]);
                }
                let source = PageAddress::new(victim, page as u16);
                let lpn = fill.owner_by(p2l[first + page as usize], source, pool);
                if count > 0 && !goes_along(lpn) {
                    (most, left) = (count, left | 1 << (page & 63));
                    break;
                }
                l2p[lpn.index()] = place + count + 1;
                p2l[(place + count) as usize] = lpn.0 + 1;
                moved(source, PageAddress::new(target.block, target.page + count as u16), lpn);
                (count, next) = (count + 1, page + 1);
            }
            words[word] = held | left;
            if count == most {
                break;
            }
        }
        let at = usize::from(target.page);
        bits::set_range(&mut valid[of_target], at, at + count as usize);
        (count, next)
    }

    /// Forgets where `lpn` is; it is nowhere from now on.
    pub(in crate::layers::page) fn forget(&mut self, lpn: Lpn) {
        self.l2p[lpn.index()] = if lpn.0 < self.fill.pages { TRIMMED } else { AS_FILLED };
    }

    /// The first valid page of `block` at or behind `from`.
    #[inline]
    pub(in crate::layers::page) fn next_valid(&self, block: BlockId, from: u16) -> Option<u16> {
        let words = self.valid_bits(block);
        SetBits::from(words, usize::from(from)).next(words).map(|page| page as u16)
    }

    /// Valid pages of `block`, counted.
    pub(in crate::layers::page) fn valid_pages(&self, block: BlockId) -> u32 {
        bits::count_range(self.valid_bits(block), 0, self.pages as usize)
    }

    /// Valid pages of `block`, one bit each.
    #[inline]
    pub(in crate::layers::page) fn valid_bits(&self, block: BlockId) -> &[u64] {
        &self.valid[self.words_of(block)]
    }

    /// The entry of a logical page, as it is written into flash.
    pub(in crate::layers::page) fn entry(&self, lpn: Lpn) -> u32 {
        self.l2p[lpn.index()]
    }

    /// Sets the entry of a logical page to what was read from flash. [`PageMaps::count_anew`] must follow.
    pub(in crate::layers::page) fn set_entry(&mut self, lpn: Lpn, entry: u32) {
        self.l2p[lpn.index()] = entry;
    }

    /// A page of the map, of so many entries, as it is written into flash: what the initial fill has stored, and the
    /// entries, if there is any other than that fill's.
    pub(super) fn page_of_map(&self, page: u32, entries: u32) -> Payload {
        let places = &self.l2p[self.entries_of(page, entries)];
        let is_as_filled = places.iter().all(|&entry| entry == AS_FILLED);
        std::iter::once(self.fill.pages).chain(places.iter().copied().filter(|_| !is_as_filled)).collect()
    }

    /// Sets a page of the map to what was read from flash. [`PageMaps::count_anew`] must follow.
    pub(in crate::layers::page) fn set_page_of_map(&mut self, page: u32, entries: u32, content: &[u32]) {
        let range = self.entries_of(page, entries);
        if let Some((&filled, places)) = content.split_first() {
            self.fill.pages = filled;
            self.l2p[range].iter_mut().zip(places).for_each(|(entry, &place)| *entry = place);
        }
    }

    fn entries_of(&self, page: u32, entries: u32) -> Range<usize> {
        let first = page as usize * entries as usize;
        first..(first + entries as usize).min(self.l2p.len())
    }

    /// Derives from the entries which pages are valid, and what they hold.
    pub(in crate::layers::page) fn count_anew(&mut self, pool: &BlockPool) {
        for lpn in (0..self.logical_pages()).map(Lpn) {
            let Some(page) = self.locate(lpn, pool) else { continue };
            if self.l2p[lpn.index()] == AS_FILLED {
                let words = self.words_of(page.block);
                bits::set(&mut self.valid[words], usize::from(page.page));
            } else {
                self.place(lpn, page);
            }
        }
    }

    /// Moves a logical page to another place, which holds it already.
    pub(in crate::layers::page) fn replace(&mut self, lpn: Lpn, page: PageAddress, pool: &BlockPool) {
        if let Some(old) = self.locate(lpn, pool) {
            self.invalidate(old);
        }
        self.place(lpn, page);
    }

    /// The page with a physical number.
    pub(in crate::layers::page) fn address_of(&self, physical: u32) -> PageAddress {
        self.address(physical)
    }

    #[inline]
    fn address(&self, physical: u32) -> PageAddress {
        PageAddress::new(BlockId(physical / self.pages), (physical % self.pages) as u16)
    }

    /// The physical number of a page.
    #[inline]
    pub(in crate::layers::page) fn physical(&self, page: PageAddress) -> u32 {
        page.block.0 * self.pages + u32::from(page.page)
    }

    /// The place of a page in the column of valid bits.
    #[inline]
    fn bit(&self, page: PageAddress) -> usize {
        page.block.index() * self.words * 64 + usize::from(page.page)
    }

    #[inline]
    fn words_of(&self, block: BlockId) -> Range<usize> {
        block.index() * self.words..(block.index() + 1) * self.words
    }
}
