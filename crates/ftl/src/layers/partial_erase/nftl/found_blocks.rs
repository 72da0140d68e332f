//! What was found of one logical block after a power cut, and what becomes of it.
//!
//! Every merge keeps one order: data is programmed at its new place before its old place is erased. A die (or a
//! plane, where a die works on several at once) does one thing at a time, so a cut meets a merge before, in, or after its copies, and never two of them. Three facts follow:
//!
//! - Where two D-blocks are found, the later one is what the merge copied into. If it lacks anything, nothing was erased
//!   yet, and the merge is undone. If it lacks nothing, the old blocks may have been under erase: whatever they still
//!   show, they hold nothing that counts.
//! - A U-block of which D has everything is one that its merge was about to erase.
//! - The page that the die programmed last may be unfinished although it reads well. The logical block that it belongs
//!   to is copied into a block erased for it, while everything can still be read. This also finishes an M-Merge that
//!   was cut after it had begun to copy.
//!
//! An M-Merge that was cut before it copied anything leaves a pair like any other. All that it may have erased are
//! pages that newer ones in U replace.

use pumice_types::{BlockId, PageAddress, SpareRole, bits};

use crate::recovery::survey::{AreaSurvey, FoundBlock, FoundPage};

/// One block of a logical block.
#[derive(Clone, Copy)]
pub(super) struct BlockFinds<'a> {
    /// The block.
    pub block: BlockId,
    /// Pages before the blank ones at its end.
    pub end: u16,
    /// Readable pages of the block, in page order; at least one.
    pub pages: &'a [FoundPage],
}

impl<'a> BlockFinds<'a> {
    /// A block that has readable pages; the others hold nothing that counts.
    pub fn of(survey: &'a AreaSurvey, found: &FoundBlock) -> Option<BlockFinds<'a>> {
        let pages = survey.pages_of(found);
        (!pages.is_empty()).then_some(BlockFinds { block: found.block, end: found.end, pages })
    }

    /// Whether it is a U-block.
    pub fn is_u(&self) -> bool {
        self.pages[0].entry.role() == SpareRole::Update
    }

    /// Whether an M-Merge has ended in it since it was last erased whole.
    pub fn is_restored(&self) -> bool {
        self.pages.iter().any(|found| found.entry.role() == SpareRole::Restored)
    }

    /// Number of its first program that can be seen: its age.
    pub fn age(&self) -> u64 {
        self.pages.iter().map(|found| found.entry.programmed).min().unwrap_or(0)
    }

    fn last_program(&self) -> u64 {
        self.pages.iter().map(|found| found.entry.programmed).max().unwrap_or(0)
    }

    fn holds(&self, page: Option<PageAddress>) -> bool {
        page.is_some_and(|page| page.block == self.block)
    }
}

/// What becomes of a logical block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    /// The logical block keeps these blocks.
    Kept {
        /// D-block, among those that were found.
        d: usize,
        /// U-block.
        u: Option<usize>,
    },
    /// The logical block is copied into a block erased for it.
    Copied,
}

/// The newest data of each page of one logical block; reused from one to the next.
pub(super) struct Newest {
    first_lpn: u32,
    /// Number of its write plus one, 0 if nothing is stored; and a page that holds it.
    of: Vec<(u64, PageAddress)>,
}

impl Newest {
    /// Memory for logical blocks of so many pages.
    pub fn new(pages: usize) -> Newest {
        Newest { first_lpn: 0, of: vec![(0, PageAddress::default()); pages] }
    }

    /// Looks through all blocks of a logical block.
    pub fn find(&mut self, first_lpn: u32, blocks: &[BlockFinds]) {
        self.first_lpn = first_lpn;
        self.of.fill((0, PageAddress::default()));
        for found in blocks.iter().flat_map(|block| block.pages) {
            let known = &mut self.of[(found.entry.lpn.0 - first_lpn) as usize];
            let number = found.entry.written + 1;
            if number > known.0 {
                *known = (number, found.page);
            }
        }
    }

    /// Offsets that are stored, each with a page that holds its newest data.
    pub fn stored(&self) -> impl Iterator<Item = (usize, PageAddress)> {
        self.of.iter().enumerate().filter(|(_, (number, _))| *number > 0).map(|(offset, &(_, page))| (offset, page))
    }

    /// Offset of a page inside the logical block.
    pub fn offset(&self, found: &FoundPage) -> usize {
        (found.entry.lpn.0 - self.first_lpn) as usize
    }

    /// Whether a page holds the newest data of its logical page.
    pub fn is_newest(&self, found: &FoundPage) -> bool {
        self.of[self.offset(found)].0 == found.entry.written + 1
    }

    /// Offsets of which some of these pages hold the newest data, one bit each.
    fn newest_in<'a>(&self, pages: impl Iterator<Item = &'a FoundPage>) -> Vec<u64> {
        let mut offsets = vec![0; bits::words_for(self.of.len())];
        pages.filter(|found| self.is_newest(found)).for_each(|found| bits::set(&mut offsets, self.offset(found)));
        offsets
    }

    /// Whether a block has the newest data of everything.
    fn is_complete(&self, block: &BlockFinds) -> bool {
        let held = self.newest_in(block.pages.iter());
        self.stored().all(|(offset, _)| bits::get(&held, offset))
    }

    /// Whether nothing would be lost without a block: what it has of the newest data lies elsewhere too, on a page
    /// that is proven.
    fn is_spare(&self, block: &BlockFinds, blocks: &[BlockFinds], unproven: Option<PageAddress>) -> bool {
        let others = blocks.iter().filter(|other| other.block != block.block).flat_map(|other| other.pages);
        let elsewhere = self.newest_in(others.filter(|found| Some(found.page) != unproven));
        let held = self.newest_in(block.pages.iter());
        held.iter().zip(&elsewhere).all(|(held, elsewhere)| held & !elsewhere == 0)
    }

    /// Whether the newest data of each page of U is where a search of U ends, so that U can be used as it is.
    fn is_searchable(&self, u: &BlockFinds) -> bool {
        let mut seen = vec![0; bits::words_for(self.of.len())];
        u.pages.iter().rev().all(|found| {
            let is_first = !bits::get(&seen, self.offset(found));
            bits::set(&mut seen, self.offset(found));
            !is_first || self.is_newest(found)
        })
    }

    /// Decides what becomes of a logical block. Blocks that hold nothing that counts are moved to `erased`.
    pub fn decide(
        &self,
        blocks: &mut Vec<BlockFinds>,
        unproven: Option<PageAddress>,
        erased: &mut Vec<BlockId>,
    ) -> Fate {
        loop {
            let d_blocks = blocks.iter().filter(|found| !found.is_u()).count();
            let is_lost = blocks.iter().any(|found| found.holds(unproven));
            let last_d = (0..blocks.len()).filter(|&n| !blocks[n].is_u()).max_by_key(|&n| blocks[n].last_program());
            let Some(d) = last_d else { return Fate::Copied };
            if blocks.len() == 1 {
                return if is_lost { Fate::Copied } else { Fate::Kept { d, u: None } };
            }
            if self.is_complete(&blocks[d]) {
                if is_lost {
                    return Fate::Copied;
                }
                let kept = blocks.swap_remove(d);
                erased.extend(blocks.drain(..).map(|found| found.block));
                blocks.push(kept);
            } else if d_blocks > 1 && self.is_spare(&blocks[d], blocks, unproven) {
                erased.push(blocks.swap_remove(d).block);
            } else {
                let u = (0..blocks.len()).find(|&n| blocks[n].is_u());
                let pair = u.filter(|&u| blocks.len() == 2 && !is_lost && self.is_searchable(&blocks[u]));
                return pair.map_or(Fate::Copied, |u| Fate::Kept { d, u: Some(u) });
            }
        }
    }

    /// A block of a logical block that is to be copied which is not needed for that: for a plane without free blocks.
    pub fn spare_block(&self, blocks: &[BlockFinds], unproven: Option<PageAddress>) -> Option<usize> {
        let whole = blocks.iter().find(|found| !found.is_u() && self.is_complete(found)).map(|found| found.block);
        (0..blocks.len()).find(|&n| {
            let is_candidate = whole.map_or(!blocks[n].is_u(), |whole| whole != blocks[n].block);
            is_candidate && self.is_spare(&blocks[n], blocks, unproven)
        })
    }
}

#[cfg(test)]
mod tests {
    use pumice_types::{Lpn, SpareEntry, SpareMark};

    use super::*;

    /// Pages of a block, by page: logical page, number of the write, number of the program.
    fn pages(block: u32, role: SpareRole, found: &[(u32, u64, u64)]) -> Vec<FoundPage> {
        let page_of = |(page, &(lpn, written, programmed)): (usize, &(u32, u64, u64))| FoundPage {
            page: PageAddress::new(BlockId(block), page as u16),
            entry: SpareEntry { lpn: Lpn(lpn), written, programmed, mark: SpareMark::from(role) },
        };
        found.iter().enumerate().map(page_of).collect()
    }

    fn block(pages: &[FoundPage]) -> BlockFinds<'_> {
        BlockFinds { block: pages[0].page.block, end: pages.len() as u16, pages }
    }

    fn newest(blocks: &[BlockFinds]) -> Newest {
        let mut newest = Newest::new(4);
        newest.find(0, blocks);
        newest
    }

    /// Two targets that hold the same, beside a U-block with what neither has reached.
    #[test]
    fn t583_a_page_that_nothing_proves_makes_no_other_block_spare() {
        let (first, second) = ([(0, 5, 10), (1, 6, 11)], [(0, 5, 12), (1, 6, 13)]);
        let found = [
            pages(3, SpareRole::Home, &first),
            pages(4, SpareRole::Home, &second),
            pages(5, SpareRole::Update, &[(2, 9, 9)]),
        ];
        let blocks: Vec<BlockFinds> = found.iter().map(|pages| block(pages)).collect();
        let newest = newest(&blocks);
        assert_eq!(newest.spare_block(&blocks, None), Some(0));
        // What the first target holds lies elsewhere on the last page alone, which the cut may have hurt.
        let last = Some(found[1][1].page);
        assert_eq!(newest.spare_block(&blocks, last), Some(1));
        assert_eq!(newest.spare_block(&blocks[1..], last), None, "the only place of two pages");
    }

    /// A search of U begins at its last page.
    #[test]
    fn t584_a_u_block_is_kept_only_if_a_search_ends_at_the_newest_data() {
        let d = pages(3, SpareRole::Home, &[(0, 1, 1), (1, 2, 2), (2, 3, 3), (3, 4, 4)]);
        for (in_u, is_kept) in [
            (&[(1, 7, 7)][..], true),
            (&[(1, 7, 7), (2, 8, 8)], true),
            (&[(1, 7, 7), (1, 9, 9)], true),
            (&[(1, 7, 9), (1, 7, 10)], true),
            (&[(1, 9, 7), (1, 7, 9)], false),
            (&[(1, 9, 7), (2, 8, 8), (1, 7, 9)], false),
        ] {
            let u = pages(4, SpareRole::Update, in_u);
            let mut blocks = vec![block(&d), block(&u)];
            let fate = newest(&blocks).decide(&mut blocks, None, &mut Vec::new());
            let expected = if is_kept { Fate::Kept { d: 0, u: Some(1) } } else { Fate::Copied };
            assert_eq!(fate, expected, "{in_u:?}");
        }
    }
}
