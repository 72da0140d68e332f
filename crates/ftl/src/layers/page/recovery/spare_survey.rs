//! What the spare areas of a device say when the page-level FTL recovers: pages, blocks, summaries, and which pages
//! count.

use pumice_types::{BlockId, Geometry, Lpn, PageAddress, PlaneId, SpareArea, SpareEntry};

use crate::layers::page::PageConfig;
use crate::layers::page::collect::units::FreeUnits;
use crate::layers::page::map::page_maps::PageMaps;
use crate::seam::ChipPort;

/// A page that was found written.
#[derive(Clone, Copy)]
pub(in crate::layers::page) struct ReadPage {
    pub(in crate::layers::page) page: PageAddress,
    pub(in crate::layers::page) entry: SpareEntry,
}

/// The pages that count: one for each logical page that is stored. They are kept as numbers, because there are nearly as
/// many as pages were found.
pub(in crate::layers::page) struct CurrentPages<'a> {
    found: &'a [ReadPage],
    /// Numbers of pages in `found`.
    numbers: Vec<u32>,
}

impl CurrentPages<'_> {
    /// The pages, by logical page.
    pub(in crate::layers::page) fn iter(&self) -> impl Iterator<Item = &ReadPage> {
        self.numbers.iter().map(|&nth| &self.found[nth as usize])
    }

    /// Keeps those that `counts` is true for.
    pub(in crate::layers::page) fn retain(&mut self, mut counts: impl FnMut(&ReadPage) -> bool) {
        let found = self.found;
        self.numbers.retain(|&nth| counts(&found[nth as usize]));
    }
}

/// Everything that the spare areas say.
pub(in crate::layers::page) struct SpareSurvey {
    /// Pages that can be read, by block and page.
    pub(in crate::layers::page) found: Vec<ReadPage>,
    /// Blocks that hold something, in the same order, each with where its pages end in `found`, and how many of its
    /// pages lie before the blank ones at its end.
    pub(in crate::layers::page) blocks: Vec<(BlockId, usize, u16)>,
    pub(super) unreadable: u64,
    /// Summaries, with the numbers of their programs.
    summaries: Vec<(BlockId, u64)>,
}

impl SpareSurvey {
    /// Reads the summary of every good block, if blocks have one. Where there is none, reads the first page, or that of
    /// every part that is erased apart, and the whole block if one of them is not blank.
    pub(in crate::layers::page) fn read(config: &PageConfig, bad: &[BlockId], chips: &mut dyn ChipPort) -> SpareSurvey {
        let (geometry, data_pages) = (&config.geometry, config.data_pages());
        let mut survey = SpareSurvey { found: Vec::new(), blocks: Vec::new(), unreadable: 0, summaries: Vec::new() };
        let mut spares = Vec::new();
        // A part is written from its first page on, so whoever looks at those has seen whether a block holds anything.
        let first_pages: Vec<u16> = config.units.pages.first_pages().collect();
        for block in (0..geometry.blocks()).map(BlockId).filter(|block| !bad.contains(block)) {
            let mut first_pages = first_pages.iter().map(|&page| PageAddress::new(block, page));
            let summary = if data_pages < geometry.pages_per_block { chips.summary(block, &mut spares) } else { None };
            if let Some(number) = summary {
                survey.summaries.push((block, number));
            } else if first_pages.all(|page| chips.spare(page) == SpareArea::Blank) {
                continue;
            } else {
                chips.spares(block, &mut spares);
            }
            spares.truncate(usize::from(data_pages));
            for (page, spare) in spares.iter().enumerate() {
                match *spare {
                    SpareArea::Blank => {}
                    SpareArea::Unreadable => survey.unreadable += 1,
                    SpareArea::Written(entry) => {
                        survey.found.push(ReadPage { page: PageAddress::new(block, page as u16), entry });
                    }
                }
            }
            let end = spares.iter().rposition(|&spare| spare != SpareArea::Blank).map_or(0, |last| last + 1);
            let end = end.next_multiple_of(usize::from(geometry.units_per_page));
            survey.blocks.push((block, survey.found.len(), end as u16));
        }
        survey
    }

    /// Blocks of which a spare area can be read.
    pub(in crate::layers::page) fn readable_blocks(&self) -> impl Iterator<Item = BlockId> {
        let mut first = 0;
        self.blocks
            .iter()
            .filter(move |&&(_, end, _)| std::mem::replace(&mut first, end) < end)
            .map(|&(block, ..)| block)
    }

    /// How many pages of a block lie before the blank ones at its end.
    pub(in crate::layers::page) fn end_of(&self, block: BlockId) -> u16 {
        self.blocks.binary_search_by_key(&block, |&(block, ..)| block).map_or(0, |at| self.blocks[at].2)
    }

    /// Blocks of a plane that hold something, but nothing current.
    pub(super) fn superseded(&self, plane: PlaneId, geometry: &Geometry, maps: &PageMaps) -> usize {
        let of_plane = self.blocks.iter().filter(|&&(block, ..)| geometry.plane_of(block) == plane);
        of_plane.filter(|&&(block, ..)| maps.valid_pages(block) == 0).count()
    }

    /// A free block of a plane that can be erased before anything is copied: one that holds no copy of a page in `kept`,
    /// which are those that nothing proves and what depends on them, in order. One of `lasts` itself, what the plane has
    /// programmed last, may go if there is another: either that program was cut, and then no erase of its plane, or it is
    /// sound.
    pub(super) fn dispensable(
        &self,
        lasts: &[ReadPage],
        kept: &[Lpn],
        (plane, geometry): (PlaneId, &Geometry),
        free: &FreeUnits,
    ) -> Option<BlockId> {
        let is_copy = |found: &&ReadPage| {
            let of = |last: &ReadPage| {
                let same_data = (found.entry.lpn, found.entry.written) == (last.entry.lpn, last.entry.written);
                same_data && found.page != last.page
            };
            lasts.iter().any(of)
        };
        let copies: Vec<&ReadPage> = self.found.iter().filter(is_copy).collect();
        let has_other = |lpn: Lpn, block| {
            let is_other = |copy: BlockId| copy != block && geometry.plane_of(copy) == plane;
            copies.iter().any(|copy| copy.entry.lpn == lpn && is_other(copy.page.block))
        };
        let mut first = 0;
        self.blocks.iter().find_map(|&(block, end, _)| {
            let pages = &self.found[std::mem::replace(&mut first, end)..end];
            let may_go = |lpn: Lpn| kept.binary_search(&lpn).is_err() || has_other(lpn, block);
            let is_free = geometry.plane_of(block) == plane && !free.of(block).is_empty();
            (is_free && pages.iter().all(|found| may_go(found.entry.lpn))).then_some(block)
        })
    }

    /// The pages that count, one for each logical page that is stored: that with the newest data, and of its copies
    /// the last one.
    pub(in crate::layers::page) fn current(&self, config: &PageConfig) -> CurrentPages<'_> {
        const NONE: u32 = u32::MAX;
        let mut numbers = vec![NONE; config.logical_pages() as usize];
        let counted = self.found.iter().enumerate();
        for (nth, found) in counted.filter(|(_, found)| !config.is_translation_page(found.entry.lpn)) {
            let known = &mut numbers[found.entry.lpn.index()];
            if *known == NONE || counts_before(&found.entry, &self.found[*known as usize].entry) {
                *known = nth as u32;
            }
        }
        numbers.retain(|&nth| nth != NONE);
        CurrentPages { found: &self.found, numbers }
    }

    /// What the program of each plane has stored that was the last, as far as it can be read; not the initial fill: a page,
    /// or the mapping units of one. Nothing where that is the summary of a block, or a page of the map: whatever becomes of
    /// it, no data depends on it.
    pub(super) fn last_of_planes(&self, config: &PageConfig) -> Vec<Vec<ReadPage>> {
        let geometry = &config.geometry;
        let mut last: Vec<Option<ReadPage>> = vec![None; geometry.planes() as usize];
        for found in self.found.iter().filter(|found| found.entry.programmed > 0) {
            let last = &mut last[geometry.plane_of(found.page.block).index()];
            if last.is_none_or(|last| last.entry.programmed < found.entry.programmed) {
                *last = Some(*found);
            }
        }
        for &(block, number) in &self.summaries {
            let last = &mut last[geometry.plane_of(block).index()];
            if last.is_some_and(|last| last.entry.programmed < number) {
                *last = None;
            }
        }
        let is_data = |last: &ReadPage| !config.is_translation_page(last.entry.lpn);
        last.into_iter().map(|last| last.filter(is_data).map_or(Vec::new(), |last| self.stored_with(last))).collect()
    }
}

impl SpareSurvey {
    /// What one program has stored with a page: the page itself, or all mapping units of its page.
    fn stored_with(&self, last: ReadPage) -> Vec<ReadPage> {
        let place = |found: &ReadPage| (found.page.block, found.page.page);
        let at = self.found.partition_point(|found| place(found) < place(&last));
        let is_with =
            |found: &&ReadPage| (found.page.block, found.entry.programmed) == (last.page.block, last.entry.programmed);
        self.found[at..].iter().take_while(is_with).copied().collect()
    }
}

/// Whether a page counts rather than another one with the same logical page.
fn counts_before(page: &SpareEntry, other: &SpareEntry) -> bool {
    (page.written, page.programmed) > (other.written, other.programmed)
}
