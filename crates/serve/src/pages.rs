//! The bytes of the device, by physical page: they lie where commands put them, and go with erases.

use std::sync::Arc;

use pumice_types::{BlockId, Geometry, PageAddress};

/// The pages of one block; `None`: all zeroes.
type BlockBytes = Box<[Option<Arc<[u8]>>]>;

/// The bytes of every physical page. A page to which no bytes were given reads as zeroes.
pub struct PhysicalPages {
    pages_per_block: usize,
    blocks: Vec<Option<BlockBytes>>,
}

impl PhysicalPages {
    /// Pages of a device, nothing stored.
    pub fn new(geometry: &Geometry) -> PhysicalPages {
        let pages_per_block = usize::from(geometry.pages_per_block);
        PhysicalPages { pages_per_block, blocks: vec![None; geometry.blocks() as usize] }
    }

    fn page(&self, page: PageAddress) -> Option<&Arc<[u8]>> {
        self.blocks[page.block.index()].as_ref()?[usize::from(page.page)].as_ref()
    }

    /// A page is programmed with these bytes; `None`: with zeroes.
    pub fn program(&mut self, page: PageAddress, bytes: Option<Arc<[u8]>>) {
        let block = &mut self.blocks[page.block.index()];
        if bytes.is_none() && block.is_none() {
            return;
        }
        let pages = self.pages_per_block;
        block.get_or_insert_with(|| vec![None; pages].into())[usize::from(page.page)] = bytes;
    }

    /// A page is copied.
    pub fn copy(&mut self, source: PageAddress, target: PageAddress) {
        let bytes = self.page(source).cloned();
        self.program(target, bytes);
    }

    /// A block is erased.
    pub fn erase_block(&mut self, block: BlockId) {
        self.blocks[block.index()] = None;
    }

    /// Pages of a block are erased.
    pub fn erase_pages(&mut self, block: BlockId, pages: impl Iterator<Item = usize>) {
        if let Some(cells) = &mut self.blocks[block.index()] {
            pages.for_each(|page| cells[page] = None);
        }
    }

    /// Reads a part of a page, which begins at byte `from` of it.
    pub fn read(&self, page: PageAddress, from: usize, out: &mut [u8]) {
        match self.page(page) {
            Some(bytes) => out.copy_from_slice(&bytes[from..from + out.len()]),
            None => out.fill(0),
        }
    }
}
