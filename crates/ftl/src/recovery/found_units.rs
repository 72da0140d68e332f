//! What was found of each logical page, and what may be erased whatever the last cut has hurt.

use std::cmp::Reverse;

use pumice_types::{BlockId, Lpn, PageAddress};

use super::survey::{AreaSurvey, FoundBlock, FoundPage};

/// All readable pages of a die, copy by copy.
pub struct Finds<'a> {
    /// What was found.
    pub survey: &'a AreaSurvey,
    /// The page that the die programmed last.
    pub suspect: Option<PageAddress>,
    /// Places of pages in the survey, by logical page, of each the copy that counts first.
    order: Vec<u32>,
}

impl<'a> Finds<'a> {
    /// Sorts what a survey has found.
    pub fn of(survey: &'a AreaSurvey) -> Finds<'a> {
        let pages = survey.pages();
        let mut order: Vec<u32> = (0..pages.len() as u32).collect();
        order.sort_unstable_by_key(|&at| {
            let entry = &pages[at as usize].entry;
            (entry.lpn, Reverse(entry.written), Reverse(entry.programmed))
        });
        Finds { survey, suspect: survey.last.map(|last| last.page), order }
    }

    fn page(&self, at: u32) -> &'a FoundPage {
        &self.survey.pages()[at as usize]
    }

    /// The pages that count.
    pub fn counting(&self) -> impl Iterator<Item = &'a FoundPage> {
        let of_one = |a: &u32, b: &u32| self.page(*a).entry.lpn == self.page(*b).entry.lpn;
        self.order.chunk_by(of_one).map(|copies| self.page(copies[0]))
    }

    /// The copies of a logical page, the one that counts first.
    pub fn copies_of(&self, lpn: Lpn) -> impl Iterator<Item = &'a FoundPage> + Clone + use<'_, 'a> {
        let first = self.order.partition_point(|&at| self.page(at).entry.lpn < lpn);
        self.order[first..].iter().map(|&at| self.page(at)).take_while(move |found| found.entry.lpn == lpn)
    }

    /// Whether nothing would be lost without a block, whatever the last cut has hurt.
    pub fn is_spare(&self, block: &FoundBlock) -> bool {
        self.survey.pages_of(block).iter().all(|found| self.is_kept_without(found.entry.lpn, block.block))
    }

    /// Whether nothing of one logical page would be lost without a block, whatever the last cut has hurt.
    fn is_kept_without(&self, lpn: Lpn, block: BlockId) -> bool {
        // If the suspect was cut, everything else is sound.
        let mut others = self.copies_of(lpn).filter(|copy| Some(copy.page) != self.suspect);
        let without_suspect = others.clone().next().map(|newest| newest.entry.written);
        let is_kept = |copy: &FoundPage| Some(copy.entry.written) == without_suspect && copy.page.block != block;
        let survives_program = without_suspect.is_none() || others.any(is_kept);
        // If an erase was cut, it was of one block, and of none with a page that counts.
        let mut copies = self.copies_of(lpn);
        let Some(counting) = copies.next() else { return true };
        let elsewhere = copies.filter(|copy| copy.entry.written == counting.entry.written);
        let mut elsewhere: Vec<BlockId> = elsewhere.map(|copy| copy.page.block).filter(|&at| at != block).collect();
        elsewhere.sort_unstable();
        elsewhere.dedup();
        survives_program && (counting.page.block != block || elsewhere.len() >= 2)
    }

    /// A block is erased.
    pub fn forget(&mut self, block: BlockId) {
        let survey = self.survey;
        self.order.retain(|&at| survey.pages()[at as usize].page.block != block);
        self.suspect = self.suspect.filter(|suspect| suspect.block != block);
    }
}
