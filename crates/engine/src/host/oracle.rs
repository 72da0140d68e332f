//! The host's oracle: what the host stored, and so what the device must return.
//!
//! Every host write of a logical page gets the next version of that page ([`TagFormat`]). The version is
//! programmed into the spare area, and a read must return the version that was newest when the read
//! was submitted. This is truth about the host, so neither FTL nor array can see it.

use pumice_types::{Lpn, TagFormat, bits, prefetch};

/// Versions stored by the host.
pub struct Oracle {
    /// Version of each logical page; 0 if the host never wrote it.
    versions: Vec<u8>,
    tags: TagFormat,
    /// Pages that the initial fill stored in each logical block (of as many pages as a physical
    /// one), from its first page.
    filled: Vec<u16>,
    pages_per_block: u32,
    /// Logical pages given up since they were stored, one bit each; empty until the first.
    trimmed: Vec<u64>,
}

impl Oracle {
    /// An oracle over `user_pages` pages in blocks of `pages_per_block`, nothing stored; `tags` are the
    /// array's.
    pub fn new(user_pages: u32, pages_per_block: u16, tags: TagFormat) -> Oracle {
        Oracle {
            versions: vec![0; user_pages as usize],
            tags,
            filled: vec![0; user_pages.div_ceil(u32::from(pages_per_block)) as usize],
            pages_per_block: u32::from(pages_per_block),
            trimmed: Vec::new(),
        }
    }

    /// Bytes of its columns.
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

    /// Prefetches the entry of `lpn`; no effect on results.
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
}
