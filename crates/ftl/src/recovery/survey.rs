//! What the spare areas of one die, or of one plane, say, block by block: for layers that map blocks, and find them again
//! by reading every page.

use std::ops::Range;

use pumice_types::{BlockId, DieId, Geometry, PageAddress, PlaneId, SpareArea, SpareEntry, bits};

use crate::seam::ChipPort;

/// A page that was found written and can be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FoundPage {
    /// Place of the page.
    pub page: PageAddress,
    /// What its spare area says.
    pub entry: SpareEntry,
}

/// A block that is not blank.
#[derive(Clone, Copy, Debug)]
pub struct FoundBlock {
    /// The block.
    pub block: BlockId,
    /// Pages before the blank ones at its end.
    pub end: u16,
    /// Where its readable pages are in the survey.
    pages: [usize; 2],
}

/// Planes in which a cut meets at most one program or erase: those of one die, or one plane of a die that works on
/// several at once. What shares a logical page lies on one plane.
#[derive(Clone, Debug)]
pub struct CutArea(Range<u32>);

impl CutArea {
    /// Planes of the area.
    pub fn planes(&self) -> impl Iterator<Item = PlaneId> {
        self.0.clone().map(PlaneId)
    }

    /// The areas of a die.
    pub fn all_of(geometry: &Geometry, die: DieId, planes_apart: bool) -> Vec<CutArea> {
        let planes = die.0 * geometry.planes_per_die..(die.0 + 1) * geometry.planes_per_die;
        if planes_apart {
            return planes.map(|plane| CutArea(plane..plane + 1)).collect();
        }
        vec![CutArea(planes)]
    }
}

/// Everything that the spare areas of a cut area say.
#[derive(Debug, Default)]
pub struct AreaSurvey {
    /// Blocks that are not blank, by address.
    pub blocks: Vec<FoundBlock>,
    pages: Vec<FoundPage>,
    /// The page that was programmed last, as far as it can be read; not of the initial fill. Only one thing is done at
    /// a time, so no other page can be one that a cut left readable for now.
    pub last: Option<FoundPage>,
    /// Pages that fail their code.
    pub unreadable: u64,
    /// Pages of a block.
    pub pages_per_block: u16,
}

impl AreaSurvey {
    /// Reads every page of the area's good blocks.
    pub fn read(geometry: &Geometry, area: &CutArea, is_bad: &[u64], chips: &mut dyn ChipPort) -> AreaSurvey {
        let mut survey = AreaSurvey { pages_per_block: geometry.pages_per_block, ..AreaSurvey::default() };
        let mut spares = Vec::new();
        for plane in area.planes() {
            let blocks_here = (0..geometry.blocks_per_plane).map(|index| geometry.block(plane, index));
            for block in blocks_here.filter(|block| !bits::get(is_bad, block.index())) {
                chips.spares(block, &mut spares);
                survey.note(block, &spares);
            }
        }
        survey
    }

    fn note(&mut self, block: BlockId, spares: &[SpareArea]) {
        let first = self.pages.len();
        for (page, spare) in spares.iter().enumerate() {
            match *spare {
                SpareArea::Blank => {}
                SpareArea::Unreadable => self.unreadable += 1,
                SpareArea::Written(entry) => {
                    let found = FoundPage { page: PageAddress::new(block, page as u16), entry };
                    self.pages.push(found);
                    let last = self.last.map_or(0, |last| last.entry.programmed);
                    if entry.programmed > last {
                        self.last = Some(found);
                    }
                }
            }
        }
        if let Some(end) = spares.iter().rposition(|&spare| spare != SpareArea::Blank) {
            self.blocks.push(FoundBlock { block, end: end as u16 + 1, pages: [first, self.pages.len()] });
        }
    }

    /// All readable pages, block by block and in page order.
    pub fn pages(&self) -> &[FoundPage] {
        &self.pages
    }

    /// The readable pages of a block, in page order.
    pub fn pages_of(&self, block: &FoundBlock) -> &[FoundPage] {
        &self.pages[block.pages[0]..block.pages[1]]
    }
}

#[cfg(test)]
mod tests {
    use pumice_types::{Lpn, SpareMark};

    use super::*;
    use crate::plan::Payload;

    /// Chips whose spare areas are these, block by block.
    struct Chips(Vec<Vec<SpareArea>>);

    impl ChipPort for Chips {
        fn spare(&mut self, page: PageAddress) -> SpareArea {
            self.0[page.block.index()][usize::from(page.page)]
        }

        fn spares(&mut self, block: BlockId, found: &mut Vec<SpareArea>) {
            found.clone_from(&self.0[block.index()]);
        }

        fn summary(&mut self, _: BlockId, _: &mut Vec<SpareArea>) -> Option<u64> {
            None
        }

        fn block_number(&mut self, _: BlockId) -> u32 {
            0
        }

        fn version(&self, _: PageAddress) -> u8 {
            0
        }

        fn page(&mut self, _: PageAddress) -> Option<(SpareEntry, Payload)> {
            None
        }
    }

    fn written(lpn: u32, programmed: u64) -> SpareArea {
        let entry = SpareEntry { lpn: Lpn(lpn), written: programmed, programmed, mark: SpareMark::default() };
        SpareArea::Written(entry)
    }

    #[test]
    fn t585_a_block_ends_behind_its_last_page_that_is_not_blank_readable_or_not() {
        let (blank, torn) = (SpareArea::Blank, SpareArea::Unreadable);
        let mut chips = Chips(vec![
            vec![written(0, 7), written(1, 4), torn, blank],
            vec![torn, blank, blank, blank],
            vec![blank; 4],
            vec![written(2, 0), blank, written(3, 9), blank],
            vec![torn; 4],
        ]);
        let geometry = Geometry {
            channels: 1,
            chips_per_channel: 1,
            dies_per_chip: 1,
            planes_per_die: 1,
            blocks_per_plane: 5,
            pages_per_block: 4,
            page_bytes: 4096,
            spare_bytes: 128,
            units_per_page: 1,
        };
        let [area] = &CutArea::all_of(&geometry, DieId(0), true)[..] else { panic!("one plane") };
        let survey = AreaSurvey::read(&geometry, area, &[0b1_0000], &mut chips);
        let ends: Vec<(u32, u16, usize)> =
            survey.blocks.iter().map(|found| (found.block.0, found.end, survey.pages_of(found).len())).collect();
        assert_eq!(ends, [(0, 3, 2), (1, 1, 0), (3, 3, 2)], "block 4 is bad");
        assert_eq!(survey.unreadable, 2);
        assert_eq!(survey.last.map(|last| last.page), Some(PageAddress::new(BlockId(3), 2)));
    }
}
