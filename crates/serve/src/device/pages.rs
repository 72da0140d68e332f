//! The bytes of a served device, in memory or in the file of a store.

use std::ops::Range;
use std::sync::Arc;

use pumice_engine::SimError;
use pumice_engine::data::{self, PageMedium, PagesInMemory};
use pumice_types::{BlockId, Geometry, PageAddress};

use crate::store::pages::StoredPages;

/// The bytes of a served device, and the requests under way.
pub type DataPath = data::DataPath<ServedPages>;

/// Where the bytes are.
pub enum ServedPages {
    /// In memory.
    Memory(PagesInMemory),
    /// In a file, with the pages of each block.
    File(StoredPages, usize),
}

impl Default for ServedPages {
    fn default() -> ServedPages {
        ServedPages::Memory(PagesInMemory::default())
    }
}

impl From<StoredPages> for ServedPages {
    fn from(file: StoredPages) -> ServedPages {
        ServedPages::File(file, 0)
    }
}

/// Number of a page among all of the device.
fn number(page: PageAddress, per_block: usize) -> u64 {
    page.block.index() as u64 * per_block as u64 + u64::from(page.page)
}

impl ServedPages {
    /// The pages were committed in an earlier session of their file.
    pub fn retrace_commit(&mut self) {
        if let ServedPages::File(file, _) = self {
            file.retrace_commit();
        }
    }

    /// The pages are committed. `is_end`: what nobody needs any more is given up now.
    ///
    /// # Errors
    /// The file's.
    pub fn commit(&mut self, is_end: bool) -> Result<(), SimError> {
        match self {
            ServedPages::File(file, _) => file.commit(is_end),
            ServedPages::Memory(_) => Ok(()),
        }
    }
}

impl PageMedium for ServedPages {
    fn begin(&mut self, geometry: &Geometry) {
        match self {
            ServedPages::Memory(memory) => memory.begin(geometry),
            ServedPages::File(_, per_block) => *per_block = usize::from(geometry.pages_per_block),
        }
    }

    fn program(&mut self, page: PageAddress, bytes: Option<Arc<[u8]>>) -> Result<(), SimError> {
        match self {
            ServedPages::Memory(memory) => memory.program(page, bytes),
            ServedPages::File(file, per_block) => file.write(number(page, *per_block), bytes.as_deref()),
        }
    }

    fn retrace_program(&mut self, page: PageAddress) {
        if let ServedPages::File(file, per_block) = self {
            file.retrace_write(number(page, *per_block));
        }
    }

    fn erase(&mut self, block: BlockId, pages: Range<usize>) {
        match self {
            ServedPages::Memory(memory) => memory.erase(block, pages),
            ServedPages::File(file, per_block) => {
                let first = number(PageAddress::new(block, pages.start as u16), *per_block);
                file.erase(first..first + pages.len() as u64);
            }
        }
    }

    fn bytes(&self, page: PageAddress) -> Result<Option<Arc<[u8]>>, SimError> {
        match self {
            ServedPages::Memory(memory) => memory.bytes(page),
            ServedPages::File(file, per_block) => file.bytes(number(page, *per_block)),
        }
    }

    fn read(&self, page: PageAddress, from: usize, out: &mut [u8]) -> Result<(), SimError> {
        match self {
            ServedPages::Memory(memory) => memory.read(page, from, out),
            ServedPages::File(file, per_block) => file.read(number(page, *per_block), from, out),
        }
    }

    fn copied(&self) -> Result<ServedPages, SimError> {
        Ok(match self {
            ServedPages::Memory(memory) => ServedPages::Memory(memory.clone()),
            ServedPages::File(file, per_block) => ServedPages::File(file.copied()?, *per_block),
        })
    }

    fn go_back_to(&mut self, copied: &ServedPages) -> Result<(), SimError> {
        match (self, copied) {
            (ServedPages::File(file, _), ServedPages::File(copied, _)) => file.go_back_to(copied)?,
            (medium, ServedPages::Memory(memory)) => *medium = ServedPages::Memory(memory.clone()),
            (ServedPages::Memory(_), ServedPages::File(..)) => {
                return Err(SimError::Output("a device in memory was not copied into a file".into()));
            }
        }
        Ok(())
    }
}
