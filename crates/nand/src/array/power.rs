//! What power cuts leave in the array, and what a controller that recovers can ask a chip.
//!
//! Only devices that may lose power keep this: two numbers a page, and sets of the few pages and blocks that a cut
//! left unreliable.

use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use pumice_types::{BlockId, FlashCommand, FlashOp, Lpn, PageAddress, SpareArea, SpareEntry, SpareMark, bits, choice};

use super::NandArray;
use crate::rules::Violation;

choice! {
    /// What a command leaves that lost its power.
    pub enum Torn {
        /// As if it had not begun: the page looks erased, the block keeps its data.
        Old = "old",
        /// As if it had ended: the page or block reads well, for now.
        New = "new",
        /// Neither: the page fails its code; of the block some pages are as before, some fail, some look erased.
        Mixed = "mixed",
    }
}

/// Numbers take 48 bits.
pub(super) const MARK_AT: u32 = 48;

/// In place of the number of a write: a mapping unit without data, as the summary of its block tells.
pub(super) const PADDED: u64 = u64::MAX;

/// What a device keeps that may lose power.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct PowerState {
    /// Numbers of each page's write and program; empty if spare areas keep none.
    written: Vec<u64>,
    /// Number of the program, and from bit [`MARK_AT`] on the mark of the page.
    programmed: Vec<u64>,
    /// Pages with a cut program: not to be programmed before their block is erased.
    pub(super) torn: BTreeSet<PageAddress>,
    /// Pages with a cut program that read well, until some time after the device has recovered.
    pub(super) fading: BTreeSet<PageAddress>,
    /// Pages that fail their code.
    unreadable: BTreeSet<PageAddress>,
    /// Blocks with a cut erase.
    pub(super) half_erased: BTreeSet<BlockId>,
    /// What programs under way write into pages of the controller's own, by their numbers, and the mapping unit of the page.
    staged: BTreeMap<(u64, u16), Arc<[u32]>>,
    /// What such pages hold.
    stored: BTreeMap<PageAddress, Arc<[u32]>>,
    /// Pages at the end of each block that list what the block holds.
    summary_pages: u16,
}

impl NandArray {
    /// Bytes of the columns.
    pub(super) fn power_bytes(&self) -> usize {
        self.power.as_ref().map_or(0, |power| (power.written.len() + power.programmed.len()) * size_of::<u64>())
    }

    /// From now on spare areas keep the numbers of writes and programs, and power may be cut.
    pub fn prepare_for_cuts(&mut self) {
        self.keep_cuts(self.tags.len());
    }

    /// From now on power may be cut. Spare areas keep no numbers: all are 0.
    pub fn prepare_for_cuts_without_numbers(&mut self) {
        self.keep_cuts(0);
    }

    fn keep_cuts(&mut self, numbered_pages: usize) {
        let numbers = || vec![0; numbered_pages];
        let (torn, fading, unreadable) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
        let (written, programmed, half_erased) = (numbers(), numbers(), BTreeSet::new());
        let (staged, stored) = (BTreeMap::new(), BTreeMap::new());
        let state =
            PowerState { written, programmed, torn, fading, unreadable, half_erased, staged, stored, summary_pages: 0 };
        self.power = Some(Box::new(state));
    }

    /// The last pages of each block are for a list of what it holds. Nothing is stored yet.
    pub fn set_summary_pages(&mut self, pages: u16) {
        self.power.iter_mut().for_each(|power| power.summary_pages = pages);
    }

    /// What the program with this number will write into a page of the controller's own, or into this mapping unit of it.
    pub fn stage(&mut self, number: u64, unit: u16, content: Arc<[u32]>) {
        if let Some(power) = &mut self.power {
            power.staged.insert((number, unit), content);
        }
    }

    /// Programs a page of the controller's own, as part of the initial state.
    pub fn fill_own(&mut self, page: PageAddress, lpn: Lpn, content: Arc<[u32]>) {
        self.store(page, lpn, 0, 0);
        if let Some(power) = &mut self.power {
            power.stored.insert(page, content);
        }
    }

    /// A page of the controller's own, with its spare area; `None` if it is blank or fails its code.
    pub fn own_page(&self, page: PageAddress) -> Option<(SpareEntry, Arc<[u32]>)> {
        match self.spare_area(page) {
            SpareArea::Written(entry) => {
                let content = self.power.as_ref().and_then(|power| power.stored.get(&page));
                Some((entry, content.cloned().unwrap_or_else(|| Arc::from([]))))
            }
            SpareArea::Blank | SpareArea::Unreadable => None,
        }
    }

    /// The initial fill has filled so many pages of a block: if it is full, its summary is written too.
    pub(super) fn fill_summary(&mut self, block: BlockId, pages: u16) {
        let (summary, all) = (self.summary_pages(), self.config.geometry.pages_per_block);
        if summary > 0 && pages + summary == all {
            let words = self.words(block);
            bits::set_range(&mut self.programmed[words], usize::from(pages), usize::from(all));
            self.blocks[block.index()].next_in_order = all;
        }
    }

    /// The sequence number of a block that its spare areas carry, as its last program has it.
    pub fn block_number(&self, block: BlockId) -> u32 {
        self.blocks[block.index()].sequence
    }

    fn summary_pages(&self) -> u16 {
        self.power.as_ref().map_or(0, |power| power.summary_pages)
    }

    /// What the summary of a block says of all pages before it, into `found`; and the number of the program of its
    /// last page. `None` if a page of it is blank or fails its code.
    pub fn summary(&self, block: BlockId, found: &mut Vec<SpareArea>) -> Option<u64> {
        let (summary, all) = (self.summary_pages(), self.config.geometry.pages_per_block);
        let units = usize::from(self.config.geometry.units_per_page);
        let is_readable = |page: u16| match self.spare_area(PageAddress::new(block, page)) {
            SpareArea::Written(_) => true,
            SpareArea::Blank | SpareArea::Unreadable => false,
        };
        if summary == 0 || !(all - summary..all).step_by(units).all(is_readable) {
            return None;
        }
        found.clear();
        // It was written when all other pages were. The columns keep what it says until the block is erased, also of
        // pages that cannot be read any more.
        found.extend((0..all - summary).map(|page| match self.spare_entry(PageAddress::new(block, page)) {
            SpareEntry { written: PADDED, .. } => SpareArea::Blank,
            entry => SpareArea::Written(entry),
        }));
        Some(self.spare_entry(PageAddress::new(block, all - units as u16)).programmed)
    }

    /// What the spare area of a page says that was programmed.
    fn spare_entry(&self, page: PageAddress) -> SpareEntry {
        let column = self.column(page);
        let number = |of: fn(&PowerState) -> &Vec<u64>| {
            self.power.as_deref().and_then(|power| of(power).get(column).copied()).unwrap_or_default()
        };
        let (lpn, _) = self.content(page);
        let (written, programmed) = (number(|power| &power.written), number(|power| &power.programmed));
        let mark = SpareMark((programmed >> MARK_AT) as u8);
        SpareEntry { lpn, written, programmed: programmed & ((1 << MARK_AT) - 1), mark }
    }

    /// The number of the write that brought what a programmed page holds, as its spare area keeps it; 0 of the initial
    /// fill, and where spare areas keep no numbers.
    pub fn write_number(&self, page: PageAddress) -> u64 {
        self.power.as_deref().and_then(|power| power.written.get(self.column(page)).copied()).unwrap_or_default()
    }

    /// The spare area of a page, as a recovering controller reads it. Nothing tells that a page or block that
    /// reads well was touched by a cut.
    pub fn spare_area(&self, page: PageAddress) -> SpareArea {
        let Some(power) = self.power.as_ref().filter(|_| self.is_programmed(page)) else { return SpareArea::Blank };
        if power.unreadable.contains(&page) || self.is_over_tolerance(page) || self.was_copied_corrupt(page) {
            return SpareArea::Unreadable;
        }
        SpareArea::Written(self.spare_entry(page))
    }

    /// Whether a page holds data that will still be readable after the next cut.
    pub(crate) fn is_sound(&self, page: PageAddress) -> bool {
        let hurt = |power: &PowerState| {
            power.torn.contains(&page) || power.fading.contains(&page) || power.unreadable.contains(&page)
        };
        self.is_programmed(page) && !self.power.as_deref().is_some_and(hurt) && !self.was_copied_corrupt(page)
    }

    /// Whether a cut has left a page that fails its code.
    #[inline]
    pub(super) fn is_unreadable(&self, page: PageAddress) -> bool {
        self.power.as_deref().is_some_and(|power| power.unreadable.contains(&page))
    }

    /// Whether a program of the page would be lost: a cut has left it, or its block, unreliable.
    #[inline]
    pub(super) fn is_unreliable(&self, page: PageAddress) -> bool {
        let marked = |power: &PowerState| power.torn.contains(&page) || power.half_erased.contains(&page.block);
        self.power.as_deref().is_some_and(marked)
    }

    /// Notes the numbers of a page that was just stored. A copy brings the number of its data along, and so does the
    /// program of a page that is moved.
    #[inline]
    pub(super) fn note_numbers(&mut self, page: PageAddress, command: &FlashCommand) {
        let brings = command.op == FlashOp::Copy || command.is_move();
        let source = if brings { command.source } else { command.target };
        let (to, from) = (self.column(page), self.column(source));
        if let Some(power) = self.power.as_mut().filter(|power| !power.written.is_empty()) {
            let number = command.number();
            power.written[to] = if brings { power.written[from] } else { number };
            power.programmed[to] = number | u64::from(command.mark.0) << MARK_AT;
            let copied = command.op == FlashOp::Copy;
            self.store_own((number, 0), page);
            if copied {
                self.copy_own(source, page);
            }
        }
    }

    /// A page of the controller's own holds what was staged for it, if anything was.
    pub(super) fn store_own(&mut self, staged: (u64, u16), page: PageAddress) {
        if let Some(power) = self.power.as_mut().filter(|power| !power.staged.is_empty())
            && let Some(content) = power.staged.remove(&staged)
        {
            power.stored.insert(page, content);
        }
    }

    /// A copy brings along what a page of the controller's own holds.
    pub(super) fn copy_own(&mut self, source: PageAddress, page: PageAddress) {
        if let Some(power) = self.power.as_mut().filter(|power| !power.stored.is_empty())
            && let Some(content) = power.stored.get(&source).cloned()
        {
            power.stored.insert(page, content);
        }
    }

    /// Notes the numbers of the write and, with its mark, of the program of what a page or unit holds.
    pub(super) fn set_numbers(&mut self, page: PageAddress, [written, programmed]: [u64; 2]) {
        let column = self.column(page);
        if let Some(power) = self.power.as_mut().filter(|power| !power.written.is_empty()) {
            (power.written[column], power.programmed[column]) = (written, programmed);
        }
    }

    /// Power is cut: what was to be programmed is gone with the controller, but for the commands that are torn.
    pub fn forget_staged(&mut self, torn: &[FlashCommand]) {
        if let Some(power) = &mut self.power {
            power.staged.retain(|(number, _), _| torn.iter().any(|command| command.number() == *number));
        }
    }

    /// A block was erased whole: what cuts left in it is gone.
    pub(super) fn forget_cuts(&mut self, block: BlockId) {
        if let Some(power) = &mut self.power {
            power.half_erased.remove(&block);
        }
        self.forget_cuts_in(block, |_| true);
    }

    /// A part of a block was erased: what cuts left in its pages is gone.
    pub(super) fn forget_cuts_in(&mut self, block: BlockId, is_erased: impl Fn(u16) -> bool) {
        let Some(power) = &mut self.power else { return };
        if !power.stored.is_empty() {
            let of_block = PageAddress::new(block, 0)..=PageAddress::new(block, u16::MAX);
            let pages: Vec<PageAddress> = power.stored.range(of_block).map(|(&page, _)| page).collect();
            pages.iter().filter(|page| is_erased(page.page)).for_each(|page| drop(power.stored.remove(page)));
        }
        for pages in [&mut power.torn, &mut power.fading, &mut power.unreadable] {
            if !pages.is_empty() {
                pages.retain(|page| page.block != block || !is_erased(page.page));
            }
        }
    }

    /// Power is cut while a program, copy or erase is under way. `draw(page)` decides what becomes of each page of an
    /// erased block or part of which some are as before and some are not.
    ///
    /// An erase of a part changes no other page; that it disturbed its neighbours has happened.
    ///
    /// Source: Tseng, Grupp and Swanson, DAC'11; Zheng and others, FAST'13.
    ///
    /// # Errors
    /// The rule that the command breaks.
    pub fn tear(
        &mut self,
        command: &FlashCommand,
        left: Torn,
        draw: impl FnMut(PageAddress) -> Torn,
    ) -> Result<(), Violation> {
        match command.op {
            FlashOp::Program | FlashOp::Copy => self.tear_program(command, left)?,
            FlashOp::Erase => self.tear_erase(command.target.block, left, draw),
            FlashOp::PartialErase => {
                let pages = self.config.tree.page_ranges(command.pb()).flatten().map(|page| page as u16).collect();
                self.tear_part(command, pages, left, draw)?;
            }
            FlashOp::SubBlockErase => {
                self.tear_part(command, self.pages_of_sub_blocks(command.sub_blocks()), left, draw)?;
            }
            FlashOp::Read | FlashOp::SpareSearch | FlashOp::Pause => {}
        }
        Ok(())
    }

    fn tear_program(&mut self, command: &FlashCommand, left: Torn) -> Result<(), Violation> {
        let page = command.target;
        if left == Torn::Old {
            if let Some(power) = &mut self.power {
                power.torn.insert(page);
                power.staged.retain(|(number, _), _| *number != command.number());
            }
            return Ok(());
        }
        // It is stored as if it had ended, and marked as what cannot be trusted.
        self.execute(command)?;
        for unit in self.units_of(page) {
            self.note_corrupt(unit, left == Torn::Mixed);
            if let Some(power) = &mut self.power {
                power.torn.insert(unit);
                let kind = if left == Torn::Mixed { &mut power.unreadable } else { &mut power.fading };
                kind.insert(unit);
            }
        }
        Ok(())
    }

    fn tear_erase(&mut self, block: BlockId, left: Torn, mut draw: impl FnMut(PageAddress) -> Torn) {
        if left == Torn::New {
            self.blocks[block.index()].erases += 1;
            let words = self.words(block);
            self.programmed[words].fill(0);
        } else {
            if self.blocks[block.index()].fill_pages > 0 {
                self.write_out_fill(block);
            }
            self.blocks[block.index()].erases += 1;
            for page in (0..self.config.geometry.pages_per_block).map(|page| PageAddress::new(block, page)) {
                if self.is_programmed(page) {
                    self.tear_erased_page(page, if left == Torn::Old { left } else { draw(page) });
                }
            }
        }
        if let Some(power) = &mut self.power {
            power.half_erased.insert(block);
        }
    }

    /// An erase of a part of a block, of these pages, is cut.
    fn tear_part(
        &mut self,
        command: &FlashCommand,
        pages: Vec<u16>,
        left: Torn,
        mut draw: impl FnMut(PageAddress) -> Torn,
    ) -> Result<(), Violation> {
        let block = command.target.block;
        let address = |page: &u16| PageAddress::new(block, *page);
        // A page that was bad before the erase does not become good by it.
        let was_bad = |page| self.peek(page).is_ok_and(|content| content.corrupt);
        let stored = pages.iter().map(address).filter(|&page| self.is_programmed(page));
        let stored: Vec<_> = stored.map(|page| (page, was_bad(page))).collect();
        self.execute(command)?;
        for (page, was_bad) in stored {
            let left = if left == Torn::Mixed { draw(page) } else { left };
            if left != Torn::New {
                let words = self.words(block);
                bits::set(&mut self.programmed[words], usize::from(page.page));
                self.tear_erased_page(page, if was_bad { Torn::Mixed } else { left });
            }
        }
        if let Some(power) = &mut self.power {
            power.torn.extend(pages.iter().map(address));
        }
        Ok(())
    }

    /// A cut destroyed what a programmed page held: from now on it fails its code.
    pub fn spoil(&mut self, page: PageAddress) {
        self.note_corrupt(page, true);
        if let Some(power) = &mut self.power {
            power.unreadable.insert(page);
        }
    }

    /// What a cut erase leaves of one programmed page.
    fn tear_erased_page(&mut self, page: PageAddress, left: Torn) {
        match left {
            Torn::New => {
                let words = self.words(page.block);
                bits::clear(&mut self.programmed[words], usize::from(page.page));
            }
            Torn::Old => {
                if let Some(power) = &mut self.power {
                    power.fading.insert(page);
                }
            }
            Torn::Mixed => self.spoil(page),
        }
    }

    /// Some time has passed since the device started again: what a cut had left readable fails now.
    pub fn fade(&mut self) {
        let Some(power) = &mut self.power else { return };
        let fading = std::mem::take(&mut power.fading);
        power.unreadable.extend(&fading);
        fading.into_iter().for_each(|page| self.note_corrupt(page, true));
    }
}
