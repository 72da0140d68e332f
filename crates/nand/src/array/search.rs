//! Spare searches: the spare areas of consecutive pages of a block, read for a logical page.

use pumice_types::{FlashCommand, PageAddress, SearchExpectation};

use super::{BlockState, NandArray};
use crate::rules::Rule;

/// Tags that a spare search compares before it asks whether it is over.
const SEARCHED_AT_ONCE: usize = 32;

impl NandArray {
    pub(super) fn check_search(&self, command: &FlashCommand) -> Result<(), Rule> {
        self.check_address(command.target)?;
        let pages = command.searched_pages();
        if pages == 0 || pages > command.target.page + 1 { Err(Rule::AddressRange) } else { Ok(()) }
    }

    /// Whether a spare search meets what it expects.
    pub(super) fn search(&self, command: &FlashCommand) -> bool {
        let pages = command.searched_pages();
        let last = command.target.page + 1 - pages;
        let holds = |page: u16| {
            let page = PageAddress::new(command.target.block, page);
            self.is_programmed(page) && self.content(page).0 == command.lpn && !self.is_unreadable(page)
        };
        let filled = self.blocks[command.target.block.index()];
        if filled.fill_pages > 0 {
            return self.search_fill(command, filled);
        }
        // Tags of erased pages are stale, so a match in the column is only a candidate; no match
        // is final.
        let start = self.column(PageAddress::new(command.target.block, last));
        let tags = &self.tags[start..start + pages as usize];
        let is_wanted = |tag: &u32| self.config.tags.lpn(*tag) == command.lpn;
        // Whole chunks are compared at once, and only then is asked whether one was met.
        let meets = |tags: &[u32]| tags.iter().fold(false, |met, tag| met | is_wanted(tag));
        let none_newer = || !tags[1..].chunks(SEARCHED_AT_ONCE).any(meets);
        match command.expectation() {
            SearchExpectation::Scan | SearchExpectation::Pages => true,
            SearchExpectation::Absent => {
                (none_newer() && !is_wanted(&tags[0])) || !(last..=command.target.page).any(holds)
            }
            SearchExpectation::Found => holds(last) && (none_newer() || !(last + 1..=command.target.page).any(holds)),
        }
    }

    /// Searches a block whose initial fill is not written out: at most one of its pages holds the
    /// logical page, and which one can be computed.
    fn search_fill(&self, command: &FlashCommand, fill: BlockState) -> bool {
        let last = command.target.page + 1 - command.searched_pages();
        let (distance, stride) = (command.lpn.0.checked_sub(fill.fill_lpn), fill.fill_stride.max(1));
        let nth = distance.filter(|distance| distance % stride == 0).map(|distance| distance / stride);
        let upto = fill.fill_pages.min(command.target.page + 1);
        let found = nth.filter(|&nth| {
            let page = |nth| PageAddress::new(command.target.block, nth as u16);
            nth < u32::from(upto) && self.is_programmed(page(nth)) && !self.is_unreadable(page(nth))
        });
        match command.expectation() {
            SearchExpectation::Scan | SearchExpectation::Pages => true,
            SearchExpectation::Absent => found.is_none_or(|nth| nth < u32::from(last)),
            SearchExpectation::Found => found == Some(u32::from(last)),
        }
    }
}
