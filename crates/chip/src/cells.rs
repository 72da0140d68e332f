//! The bytes of pages. A page takes memory from its first program on, and only if it was given bytes.
//!
//! Copies of all cells share what none of them changes, page by page: a snapshot of a chip costs a pointer a block.

use std::sync::Arc;

use pumice_types::{BlockId, Geometry, PageAddress, Time};

/// What an erased cell reads as.
const BLANK: u8 = 0xff;

/// What was programmed into one page.
#[derive(Clone, Debug, Default)]
struct Cell {
    /// When the cell was programmed.
    programmed: Time,
    /// How often since it was erased.
    programs: u32,
    /// Data, then spare bytes. `None`: all blank.
    bytes: Option<Arc<[u8]>>,
}

/// A programmed page: its number among all, when and how often it was programmed, its bytes if it was given any.
pub type WrittenPage = (u64, Time, u32, Option<Vec<u8>>);

/// What was programmed into the pages of a device.
#[derive(Clone, Debug)]
pub struct Cells {
    page_bytes: usize,
    oob_bytes: usize,
    pages_per_block: usize,
    blocks: Vec<Option<Arc<Vec<Cell>>>>,
}

impl Cells {
    /// Cells of a device, nothing programmed.
    pub fn new(geometry: &Geometry) -> Cells {
        Cells {
            page_bytes: geometry.page_bytes as usize,
            oob_bytes: geometry.spare_bytes as usize,
            pages_per_block: usize::from(geometry.pages_per_block),
            blocks: vec![None; geometry.blocks() as usize],
        }
    }

    fn cell(&self, page: PageAddress) -> Option<&Cell> {
        self.blocks[page.block.index()].as_ref().map(|block| &block[usize::from(page.page)])
    }

    fn cell_mut(&mut self, page: PageAddress) -> &mut Cell {
        let pages = self.pages_per_block;
        let block = self.blocks[page.block.index()].get_or_insert_with(|| Arc::new(vec![Cell::default(); pages]));
        &mut Arc::make_mut(block)[usize::from(page.page)]
    }

    /// When a programmed page was programmed.
    pub fn programmed(&self, page: PageAddress) -> Time {
        self.cell(page).map_or(Time::ZERO, |cell| cell.programmed)
    }

    /// How often a page was programmed since it was erased.
    pub fn programs(&self, page: PageAddress) -> u32 {
        self.cell(page).map_or(0, |cell| cell.programs)
    }

    /// Bytes of a page: its data from `offset` on, and the first of its spare area.
    pub fn read(&self, page: PageAddress, offset: usize, data: &mut [u8], oob: &mut [u8]) {
        match self.cell(page).and_then(|cell| cell.bytes.as_ref()) {
            Some(bytes) => {
                copy(data, &bytes[offset..]);
                copy(oob, &bytes[self.page_bytes..]);
            }
            None => blank(data, oob),
        }
    }

    /// Programs the first bytes of data and spare area; the others stay blank.
    pub fn write(&mut self, page: PageAddress, now: Time, data: &[u8], oob: &[u8]) {
        let bytes = (!data.is_empty() || !oob.is_empty()).then(|| {
            let blank = |bytes: usize, of: usize| std::iter::repeat_n(BLANK, of - bytes);
            let mut all = Vec::with_capacity(self.page_bytes + self.oob_bytes);
            all.extend_from_slice(data);
            all.extend(blank(data.len(), self.page_bytes));
            all.extend_from_slice(oob);
            all.extend(blank(oob.len(), self.oob_bytes));
            Arc::from(all)
        });
        *self.cell_mut(page) = Cell { programmed: now, programs: 1, bytes };
    }

    /// Whether bytes can be programmed over what a page holds: every bit of theirs that is 1 is still 1.
    pub fn takes(&self, page: PageAddress, offset: usize, data: &[u8], oob: &[u8]) -> bool {
        let Some(held) = self.cell(page).and_then(|cell| cell.bytes.as_ref()) else { return true };
        let fits = |start: usize, new: &[u8]| new.iter().zip(&held[start..]).all(|(new, held)| new & !held == 0);
        fits(offset, data) && fits(self.page_bytes, oob)
    }

    /// Programs bytes over what a page holds: a bit is 1 that was and is to be.
    pub fn overlay(&mut self, page: PageAddress, now: Time, offset: usize, [data, oob]: [&[u8]; 2]) {
        let (size, oob_start) = (self.page_bytes + self.oob_bytes, self.page_bytes);
        let cell = self.cell_mut(page);
        let mut all = cell.bytes.as_ref().map_or_else(|| vec![BLANK; size], |bytes| bytes.to_vec());
        let mut program = |start: usize, new: &[u8]| {
            all[start..].iter_mut().zip(new).for_each(|(held, new)| *held &= new);
        };
        program(offset, data);
        program(oob_start, oob);
        *cell = Cell { programmed: now, programs: cell.programs + 1, bytes: Some(Arc::from(all)) };
    }

    /// Every page that was programmed, by its number among all: when, how often, and its bytes.
    pub fn written(&self) -> Vec<WrittenPage> {
        let cells = self.blocks.iter().enumerate().flat_map(|(block, cells)| {
            let start = block * self.pages_per_block;
            cells.iter().flat_map(|cells| cells.iter()).enumerate().map(move |(page, cell)| (start + page, cell))
        });
        let programmed = cells.filter(|(_, cell)| cell.programs > 0);
        programmed
            .map(|(at, cell)| (at as u64, cell.programmed, cell.programs, cell.bytes.as_deref().map(Vec::from)))
            .collect()
    }

    /// Puts pages back that [`Cells::written`] returned; the others are blank. `None`: they are not of this device.
    pub fn put_back(&mut self, pages: Vec<WrittenPage>) -> Option<()> {
        self.blocks.fill(None);
        for (at, programmed, programs, bytes) in pages {
            let (block, page) = (at / self.pages_per_block as u64, at % self.pages_per_block as u64);
            let fits = bytes.as_ref().is_none_or(|bytes| bytes.len() == self.page_bytes + self.oob_bytes);
            if block >= self.blocks.len() as u64 || !fits {
                return None;
            }
            let address = PageAddress::new(BlockId(block as u32), page as u16);
            *self.cell_mut(address) = Cell { programmed, programs, bytes: bytes.map(Arc::from) };
        }
        Some(())
    }

    /// Copies a page with its spare bytes, or with others.
    pub fn copy(&mut self, [from, to]: [PageAddress; 2], now: Time, oob: Option<&[u8]>) {
        let bytes = self.cell(from).and_then(|cell| cell.bytes.clone());
        let Some(oob) = oob else {
            *self.cell_mut(to) = Cell { programmed: now, programs: 1, bytes };
            return;
        };
        let data = bytes.as_ref().map_or(&[][..], |bytes| &bytes[..self.page_bytes]);
        self.write(to, now, data, oob);
    }

    /// Forgets what a block holds, but for the pages that an erase has left.
    pub fn erase(&mut self, block: BlockId, is_left: impl Fn(PageAddress) -> bool) {
        let Some(cells) = &mut self.blocks[block.index()] else { return };
        let pages = (0..self.pages_per_block as u16).map(|page| PageAddress::new(block, page));
        if !pages.clone().any(&is_left) {
            self.blocks[block.index()] = None;
            return;
        }
        let cells = Arc::make_mut(cells);
        pages.filter(|&page| !is_left(page)).for_each(|page| cells[usize::from(page.page)] = Cell::default());
    }
}

/// Copies the first bytes. An empty copy is left out: where its pointer leads nowhere, some processors take 100 ns.
fn copy(to: &mut [u8], from: &[u8]) {
    if !to.is_empty() {
        to.copy_from_slice(&from[..to.len()]);
    }
}

/// Fills data and spare area with what erased cells read as; an empty part is left out for the same reason.
pub fn blank(data: &mut [u8], oob: &mut [u8]) {
    [data, oob].into_iter().filter(|part| !part.is_empty()).for_each(|part| part.fill(BLANK));
}
