//! The bytes of a device, by physical page: they lie where commands put them, and go with erases.

use std::ops::Range;
use std::sync::Arc;

use pumice_types::{BlockId, Geometry, PageAddress};
use serde::{Deserialize, Serialize};

use crate::error::SimError;

/// Where the bytes of physical pages are. A page to which no bytes were given reads as zeroes.
pub trait PageMedium: Sized {
    /// The device begins, with pages of this geometry.
    fn begin(&mut self, geometry: &Geometry);

    /// A page is programmed with these bytes; `None`: with zeroes. It was erased before.
    ///
    /// # Errors
    /// The medium's.
    fn program(&mut self, page: PageAddress, bytes: Option<Arc<[u8]>>) -> Result<(), SimError>;

    /// A page was programmed in an earlier session of the medium.
    fn retrace_program(&mut self, _page: PageAddress) {}

    /// Consecutive pages of a block are erased.
    fn erase(&mut self, block: BlockId, pages: Range<usize>);

    /// The bytes of a page; `None`: all zeroes.
    ///
    /// # Errors
    /// The medium's.
    fn bytes(&self, page: PageAddress) -> Result<Option<Arc<[u8]>>, SimError>;

    /// Reads a part of a page, which begins at byte `from` of it.
    ///
    /// # Errors
    /// The medium's.
    fn read(&self, page: PageAddress, from: usize, out: &mut [u8]) -> Result<(), SimError>;

    /// A copy of the pages, to be changed apart from these.
    ///
    /// # Errors
    /// The medium's.
    fn copied(&self) -> Result<Self, SimError>;

    /// Makes these pages what others are that were copied from them.
    ///
    /// # Errors
    /// The medium's.
    fn go_back_to(&mut self, copied: &Self) -> Result<(), SimError>;
}

/// The pages of one block; `None`: all zeroes. Copies of a device share blocks that neither has changed since.
type BlockBytes = Arc<[Option<Arc<[u8]>>]>;

/// Pages in memory.
#[derive(Clone, Default, Serialize, Deserialize)]
pub struct PagesInMemory {
    pages_per_block: usize,
    /// `None`: all zeroes.
    blocks: Vec<Option<BlockBytes>>,
}

impl PagesInMemory {
    /// Whether there are as many pages.
    pub fn is_like(&self, other: &PagesInMemory) -> bool {
        (self.pages_per_block, self.blocks.len()) == (other.pages_per_block, other.blocks.len())
    }

    fn page(&self, page: PageAddress) -> Option<&Arc<[u8]>> {
        self.blocks[page.block.index()].as_ref().and_then(|block| block[usize::from(page.page)].as_ref())
    }
}

impl PageMedium for PagesInMemory {
    fn begin(&mut self, geometry: &Geometry) {
        let (pages_per_block, blocks) = (usize::from(geometry.pages_per_block), vec![None; geometry.blocks() as usize]);
        *self = PagesInMemory { pages_per_block, blocks };
    }

    fn program(&mut self, page: PageAddress, bytes: Option<Arc<[u8]>>) -> Result<(), SimError> {
        let (pages, block) = (self.pages_per_block, &mut self.blocks[page.block.index()]);
        if block.is_some() || bytes.is_some() {
            let block = block.get_or_insert_with(|| vec![None; pages].into());
            Arc::make_mut(block)[usize::from(page.page)] = bytes;
        }
        Ok(())
    }

    fn erase(&mut self, block: BlockId, pages: Range<usize>) {
        let block = &mut self.blocks[block.index()];
        if pages.len() == self.pages_per_block {
            *block = None;
        } else if let Some(cells) = block {
            Arc::make_mut(cells)[pages].fill(None);
        }
    }

    fn bytes(&self, page: PageAddress) -> Result<Option<Arc<[u8]>>, SimError> {
        Ok(self.page(page).cloned())
    }

    fn read(&self, page: PageAddress, from: usize, out: &mut [u8]) -> Result<(), SimError> {
        match self.page(page) {
            Some(bytes) => out.copy_from_slice(&bytes[from..from + out.len()]),
            None => out.fill(0),
        }
        Ok(())
    }

    fn copied(&self) -> Result<PagesInMemory, SimError> {
        Ok(self.clone())
    }

    fn go_back_to(&mut self, copied: &PagesInMemory) -> Result<(), SimError> {
        self.clone_from(copied);
        Ok(())
    }
}
