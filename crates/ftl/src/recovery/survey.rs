//! What the spare areas of one die, or of one plane, say, block by block: for layers that map blocks, and find them again
//! by reading every page.

use std::ops::Range;

use pumice_types::{BlockId, DieId, Geometry, PageAddress, PlaneId, RecoveryFault, SpareArea, SpareEntry, bits};

use crate::seam::ChipPort;

/// A page that was found written and can be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FoundPage {
    /// Where.
    pub page: PageAddress,
    /// What its spare area says.
    pub entry: SpareEntry,
}

/// A block that is not blank.
#[derive(Clone, Copy, Debug)]
pub struct FoundBlock {
    /// Which.
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
    /// Its planes.
    pub fn planes(&self) -> impl Iterator<Item = PlaneId> {
        self.0.clone().map(PlaneId)
    }

    /// The areas of a die.
    pub fn all_of(geometry: &Geometry, die: DieId, planes_apart: bool) -> Vec<CutArea> {
        let planes = die.0 * geometry.planes_per_die..(die.0 + 1) * geometry.planes_per_die;
        if planes_apart && !RecoveryFault::PlanesAsOne.is_on() {
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
        let blocks = geometry.blocks() - u32::from(RecoveryFault::LastBlockForgotten.is_on());
        for plane in area.planes() {
            let blocks_here = (0..geometry.blocks_per_plane).map(|index| geometry.block(plane, index));
            for block in blocks_here.filter(|block| block.0 < blocks && !bits::get(is_bad, block.index())) {
                chips.spares(block, &mut spares);
                survey.note(block, &spares);
            }
        }
        survey
    }

    fn note(&mut self, block: BlockId, spares: &[SpareArea]) {
        let first = self.pages.len();
        let spoilt = RecoveryFault::UnreadableSpoilsBlock.is_on() && spares.contains(&SpareArea::Unreadable);
        for (page, spare) in spares.iter().enumerate() {
            match *spare {
                SpareArea::Blank => {}
                SpareArea::Unreadable => self.unreadable += 1,
                SpareArea::Written(entry) if entry.programmed == 0 && RecoveryFault::FillForgotten.is_on() => {}
                SpareArea::Written(entry) if !spoilt => {
                    let found = FoundPage { page: PageAddress::new(block, page as u16), entry };
                    self.pages.push(found);
                    let last = self.last.map_or(0, |last| last.entry.programmed);
                    if entry.programmed > last && !RecoveryFault::UnprovenPageKept.is_on() {
                        self.last = Some(found);
                    }
                }
                SpareArea::Written(_) => {}
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
