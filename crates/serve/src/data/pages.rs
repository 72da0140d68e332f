//! The bytes of the device, by physical page: they lie where commands put them, and go with erases.

use std::sync::Arc;

use pumice_types::{BlockId, Geometry, PageAddress};

use crate::store::pages::StoredPages;

/// The pages of one block; `None`: all zeroes. Forks of a device share blocks that neither has changed since.
type BlockBytes = Arc<[Option<Arc<[u8]>>]>;

/// Where the bytes are.
enum Medium {
    /// In memory, block by block; `None`: all zeroes.
    Memory(Vec<Option<BlockBytes>>),
    /// In a file.
    File(StoredPages),
}

/// The bytes of every physical page. A page to which no bytes were given reads as zeroes.
pub struct PhysicalPages {
    pages_per_block: usize,
    page_bytes: usize,
    medium: Medium,
}

impl PhysicalPages {
    /// Pages of a device: those of a store, or new ones in memory.
    pub fn new(geometry: &Geometry, stored: Option<StoredPages>) -> PhysicalPages {
        let (pages_per_block, page_bytes) = (usize::from(geometry.pages_per_block), geometry.page_bytes as usize);
        let in_memory = || Medium::Memory(vec![None; geometry.blocks() as usize]);
        PhysicalPages { pages_per_block, page_bytes, medium: stored.map_or_else(in_memory, Medium::File) }
    }

    /// Copies the pages, to be changed apart from these.
    ///
    /// # Errors
    /// The file's.
    pub fn copied(&self) -> Result<PhysicalPages, String> {
        let medium = match &self.medium {
            Medium::Memory(blocks) => Medium::Memory(blocks.clone()),
            Medium::File(file) => Medium::File(file.copied()?),
        };
        Ok(PhysicalPages { pages_per_block: self.pages_per_block, page_bytes: self.page_bytes, medium })
    }

    /// Makes these pages what others are that were copied from them.
    ///
    /// # Errors
    /// The file's.
    pub fn go_back_to(&mut self, copied: &PhysicalPages) -> Result<(), String> {
        match (&mut self.medium, &copied.medium) {
            (Medium::File(file), Medium::File(copied)) => file.go_back_to(copied)?,
            (medium, Medium::Memory(blocks)) => *medium = Medium::Memory(blocks.clone()),
            (Medium::Memory(_), Medium::File(_)) => return Err("a device in memory was not copied into a file".into()),
        }
        Ok(())
    }

    /// Number of a page among all of the device.
    fn number(&self, page: PageAddress) -> u64 {
        page.block.index() as u64 * self.pages_per_block as u64 + u64::from(page.page)
    }

    /// A page is programmed with these bytes; `None`: with zeroes. It was erased before.
    ///
    /// # Errors
    /// The file's.
    pub fn program(&mut self, page: PageAddress, bytes: Option<Arc<[u8]>>) -> Result<(), String> {
        let number = self.number(page);
        match (&mut self.medium, bytes) {
            (Medium::File(file), bytes) => file.write(number, bytes.as_deref())?,
            (Medium::Memory(blocks), None) => {
                if let Some(block) = &mut blocks[page.block.index()] {
                    Arc::make_mut(block)[usize::from(page.page)] = None;
                }
            }
            (Medium::Memory(blocks), Some(bytes)) => {
                let pages = self.pages_per_block;
                let block = blocks[page.block.index()].get_or_insert_with(|| vec![None; pages].into());
                Arc::make_mut(block)[usize::from(page.page)] = Some(bytes);
            }
        }
        Ok(())
    }

    /// A page was programmed in an earlier session of its file.
    pub fn retrace_program(&mut self, page: PageAddress) {
        let number = self.number(page);
        if let Medium::File(file) = &mut self.medium {
            file.retrace_write(number);
        }
    }

    /// The pages were committed in an earlier session of their file.
    pub fn retrace_commit(&mut self) {
        if let Medium::File(file) = &mut self.medium {
            file.retrace_commit();
        }
    }

    /// The pages are committed. `is_end`: what nobody needs any more is given up now.
    ///
    /// # Errors
    /// The file's.
    pub fn commit(&mut self, is_end: bool) -> Result<(), String> {
        match &mut self.medium {
            Medium::File(file) => file.commit(is_end),
            Medium::Memory(_) => Ok(()),
        }
    }

    /// The bytes of a page; `None`: all zeroes.
    ///
    /// # Errors
    /// The file's.
    pub fn bytes(&self, page: PageAddress) -> Result<Option<Arc<[u8]>>, String> {
        match &self.medium {
            Medium::Memory(blocks) => {
                Ok(blocks[page.block.index()].as_ref().and_then(|block| block[usize::from(page.page)].clone()))
            }
            Medium::File(file) => {
                let mut bytes = vec![0; self.page_bytes];
                file.read(self.number(page), 0, &mut bytes)?;
                Ok(bytes.iter().any(|&byte| byte != 0).then(|| bytes.into()))
            }
        }
    }

    /// Consecutive pages of a block are erased.
    pub fn erase(&mut self, block: BlockId, pages: std::ops::Range<usize>) {
        let first = block.index() as u64 * self.pages_per_block as u64 + pages.start as u64;
        match &mut self.medium {
            Medium::File(file) => file.erase(first..first + pages.len() as u64),
            Medium::Memory(blocks) if pages.len() == self.pages_per_block => blocks[block.index()] = None,
            Medium::Memory(blocks) => {
                if let Some(cells) = &mut blocks[block.index()] {
                    Arc::make_mut(cells)[pages].fill(None);
                }
            }
        }
    }

    /// Reads a part of a page, which begins at byte `from` of it.
    ///
    /// # Errors
    /// The file's.
    pub fn read(&self, page: PageAddress, from: usize, out: &mut [u8]) -> Result<(), String> {
        let cells = match &self.medium {
            Medium::File(file) => return file.read(self.number(page), from, out),
            Medium::Memory(blocks) => &blocks[page.block.index()],
        };
        match cells.as_ref().and_then(|block| block[usize::from(page.page)].as_ref()) {
            Some(bytes) => out.copy_from_slice(&bytes[from..from + out.len()]),
            None => out.fill(0),
        }
        Ok(())
    }
}
