//! What a controller can ask of the chips when it knows nothing.

use pumice_ftl::ChipPort;
use pumice_ftl::Payload;
use pumice_nand::NandArray;
use pumice_types::{BlockId, Cause, FlashCommand, Lpn, PageAddress, SearchExpectation, SpareArea, SpareEntry, bits};

/// The chips, as a controller asks them that knows nothing. What it asks is read at once, and its commands are kept,
/// to be given time later: nothing changes meanwhile.
pub(super) struct Port<'a> {
    array: &'a NandArray,
    /// What it has read, as commands that have not run yet.
    pub(super) commands: Vec<FlashCommand>,
    summary_pages: u16,
    /// The page of which the spare area was read last: that tells of all its mapping units.
    read_last: Option<PageAddress>,
    /// The largest number that was found.
    pub(super) last_number: u64,
    /// A bit a block of which a page was read.
    pub(super) known: Vec<u64>,
}

impl<'a> Port<'a> {
    /// The chips of an array, of which nothing was read. A summary of a block takes so many pages.
    pub(super) fn new(array: &'a NandArray, summary_pages: u16) -> Port<'a> {
        let known = vec![0; bits::words_for(array.config().geometry.blocks() as usize)];
        Port { array, commands: Vec::new(), summary_pages, read_last: None, last_number: 0, known }
    }
    fn read(&mut self, page: PageAddress) -> SpareArea {
        let area = self.array.spare_area(page);
        if let SpareArea::Written(entry) = area {
            self.last_number = self.last_number.max(entry.programmed).max(entry.written);
            bits::set(&mut self.known, page.block.index());
        }
        area
    }

    fn pay(&mut self, newest: PageAddress, pages: u16, what: SearchExpectation) {
        self.commands.push(FlashCommand::spare_search(Cause::Map, newest, pages, Lpn(0), what));
    }
}

impl ChipPort for Port<'_> {
    fn spare(&mut self, page: PageAddress) -> SpareArea {
        let geometry = &self.array.config().geometry;
        let whole = geometry.page_of_unit(page);
        if geometry.units_per_page == 1 || self.read_last.replace(whole) != Some(whole) {
            self.pay(page, 1, SearchExpectation::Scan);
        }
        self.read(page)
    }

    fn spares(&mut self, block: BlockId, found: &mut Vec<SpareArea>) {
        let geometry = &self.array.config().geometry;
        let pages = geometry.pages_per_block;
        self.pay(PageAddress::new(block, pages - 1), geometry.page_number(pages), SearchExpectation::Scan);
        found.clear();
        found.extend((0..pages).map(|page| self.read(PageAddress::new(block, page))));
    }

    fn summary(&mut self, block: BlockId, found: &mut Vec<SpareArea>) -> Option<u64> {
        let pages = self.array.config().geometry.pages_per_block;
        self.pay(PageAddress::new(block, pages - 1), self.summary_pages, SearchExpectation::Pages);
        let number = self.array.summary(block, found)?;
        bits::set(&mut self.known, block.index());
        let listed = found.iter().filter_map(|area| match area {
            SpareArea::Written(entry) => Some(entry.programmed),
            SpareArea::Blank | SpareArea::Unreadable => None,
        });
        self.last_number = listed.fold(self.last_number.max(number), u64::max);
        Some(number)
    }

    fn block_number(&mut self, block: BlockId) -> u32 {
        self.array.block_number(block)
    }

    fn version(&self, page: PageAddress) -> u8 {
        self.array.peek(page).map_or(0, |content| content.version)
    }

    fn page(&mut self, page: PageAddress) -> Option<(SpareEntry, Payload)> {
        self.pay(page, 1, SearchExpectation::Pages);
        let found = self.array.own_page(page);
        self.last_number = found.iter().map(|(entry, _)| entry.programmed).fold(self.last_number, u64::max);
        if found.is_some() {
            bits::set(&mut self.known, page.block.index());
        }
        found
    }
}
