//! What the host stored, and the check that the device returns it.
//!
//! Every host write of a logical page gets the next version of that page ([`TagFormat`]). The version is
//! programmed into the spare area, and a read must return the version that was newest when the read
//! was submitted. This is truth about the host, so neither FTL nor array can see it.

use pumice_nand::PageContent;
use pumice_types::{FlashCommand, FlashOp, Lpn, TagFormat, bits, prefetch};

use crate::error::SimError;

/// Versions stored by the host, and the outcome of every check.
pub struct Ledger {
    /// Version of each logical page; 0 if the host never wrote it.
    versions: Vec<u8>,
    tags: TagFormat,
    /// Pages that the initial fill stored in each logical block (of as many pages as a physical
    /// one), from its first page.
    filled: Vec<u16>,
    pages_per_block: u32,
    /// Logical pages given up since they were stored, one bit each; empty until the first.
    trimmed: Vec<u64>,
    /// Logical pages that returned corrupt data, one bit each; empty until the first.
    corrupt: Vec<u64>,
    /// Pages whose tag was checked.
    pub pages_checked: u64,
    /// Distinct logical pages that returned corrupt data.
    pub corrupt_pages: u64,
    /// Logical pages that the final read-back did not find.
    pub lost_pages: u64,
}

impl Ledger {
    /// A ledger over `user_pages` pages in blocks of `pages_per_block`, nothing stored; `tags` are the
    /// array's.
    pub fn new(user_pages: u32, pages_per_block: u16, tags: TagFormat) -> Ledger {
        Ledger {
            versions: vec![0; user_pages as usize],
            tags,
            filled: vec![0; user_pages.div_ceil(u32::from(pages_per_block)) as usize],
            pages_per_block: u32::from(pages_per_block),
            trimmed: Vec::new(),
            corrupt: Vec::new(),
            pages_checked: 0,
            corrupt_pages: 0,
            lost_pages: 0,
        }
    }

    /// Bytes of this ledger.
    pub fn state_bytes(&self) -> u64 {
        (self.versions.len() + self.filled.len() * 2) as u64
    }

    /// Notes that the initial fill stored `pages` logical pages from `first`, the first page of a
    /// logical block.
    pub fn note_fill(&mut self, first: Lpn, pages: u32) {
        let block = (first.0 / self.pages_per_block) as usize;
        let blocks = pages.div_ceil(self.pages_per_block) as usize;
        for (nth, filled) in self.filled[block..block + blocks].iter_mut().enumerate() {
            *filled = (pages - nth as u32 * self.pages_per_block).min(self.pages_per_block) as u16;
        }
    }

    /// The version that a host write of `lpn` stores.
    #[inline]
    pub fn next_version(&mut self, lpn: Lpn) -> u8 {
        let version = &mut self.versions[lpn.index()];
        *version = self.tags.next(*version);
        if !self.trimmed.is_empty() {
            bits::clear(&mut self.trimmed, lpn.index());
        }
        *version
    }

    /// `lpn` is accessed soon.
    #[inline]
    pub fn expect(&self, lpn: Lpn) {
        prefetch(self.versions.get(lpn.index()));
    }

    /// Notes that the host gave `lpn` up.
    pub fn note_trim(&mut self, lpn: Lpn) {
        if self.trimmed.is_empty() {
            self.trimmed = vec![0; bits::words_for(self.versions.len())];
        }
        bits::set(&mut self.trimmed, lpn.index());
    }

    /// The version that a read of `lpn` must return.
    #[inline]
    pub fn version(&self, lpn: Lpn) -> u8 {
        self.versions[lpn.index()]
    }

    /// Whether the page was ever stored, and not given up since.
    #[inline]
    pub fn is_stored(&self, lpn: Lpn) -> bool {
        if !self.trimmed.is_empty() && bits::get(&self.trimmed, lpn.index()) {
            return false;
        }
        let (block, offset) = (lpn.0 / self.pages_per_block, lpn.0 % self.pages_per_block);
        self.versions[lpn.index()] > 0 || offset < u32::from(self.filled[block as usize])
    }

    /// Distinct logical blocks that the host wrote to.
    pub fn logical_blocks_written(&self) -> u64 {
        let blocks = self.versions.chunks(self.pages_per_block as usize);
        blocks.filter(|block| block.iter().any(|&version| version > 0)).count() as u64
    }

    /// Checks what a page read or a copy returned against the belief in its command.
    ///
    /// # Errors
    /// The page belongs to another logical page, or a read returned another version.
    #[inline]
    pub fn check(&mut self, command: &FlashCommand, content: PageContent) -> Result<(), SimError> {
        self.pages_checked += 1;
        // Pages of the controller's own map lie beyond those of the host.
        if content.corrupt && content.lpn.index() < self.versions.len() {
            self.note_corrupt(content.lpn);
        }
        let stale = command.op == FlashOp::Read && content.version != command.version;
        if content.lpn != command.lpn || stale {
            return Err(mismatch(command, content));
        }
        Ok(())
    }

    /// Notes that `lpn` returned corrupt data.
    pub fn note_corrupt(&mut self, lpn: Lpn) {
        if self.corrupt.is_empty() {
            self.corrupt = vec![0; bits::words_for(self.versions.len())];
        }
        if !bits::get(&self.corrupt, lpn.index()) {
            bits::set(&mut self.corrupt, lpn.index());
            self.corrupt_pages += 1;
        }
    }
}

#[cold]
fn mismatch(command: &FlashCommand, content: PageContent) -> SimError {
    let source = if command.op == FlashOp::Copy { command.source } else { command.target };
    SimError::Simulation(format!(
        "integrity: {:?} of logical page {} version {} at block {} page {} returned logical page {} version {}",
        command.op, command.lpn.0, command.version, source.block.0, source.page, content.lpn.0, content.version
    ))
}
