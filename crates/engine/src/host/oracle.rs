//! The host's oracle: what the host stored, and so what the device must return.
//!
//! Every host write of a logical page gets the next version of that page ([`TagFormat`]). The version is
//! programmed into the spare area, and a read must return the version that was newest when the read
//! was submitted. This is truth about the host, so neither FTL nor array can see it.

use pumice_types::{HostRequest, Lpn, PageColumn, RequestKind, TagFormat, bits, prefetch};
use serde::{Deserialize, Serialize};

use super::promises::{Allowed, Promises};

/// Versions stored by the host.
#[derive(Clone, Serialize, Deserialize)]
pub struct Oracle {
    /// Version of each logical page; 0 if the host never wrote it.
    versions: PageColumn<u8>,
    tags: TagFormat,
    /// Pages that the initial fill stored in each logical block (of as many pages as a physical
    /// one), from its first page.
    filled: Vec<u16>,
    pages_per_block: u32,
    /// Logical pages given up since they were stored, one bit each; empty until the first.
    trimmed: Vec<u64>,
    /// What has been promised of pages whose newest version has not, if power may be cut.
    promises: Option<Promises>,
    /// There is a write buffer.
    is_volatile: bool,
    /// The write buffer outlasts power cuts.
    is_protected: bool,
    /// The layer gives up what is trimmed, and promises that with the next flush.
    promises_trims: bool,
}

impl Oracle {
    /// An oracle over `user_pages` pages in blocks of `pages_per_block`, nothing stored; `tags` are the
    /// array's.
    pub fn new(user_pages: u32, pages_per_block: u16, tags: TagFormat) -> Oracle {
        Oracle {
            versions: PageColumn::new(user_pages as usize),
            tags,
            filled: vec![0; user_pages.div_ceil(u32::from(pages_per_block)) as usize],
            pages_per_block: u32::from(pages_per_block),
            trimmed: Vec::new(),
            promises: None,
            is_volatile: false,
            is_protected: false,
            promises_trims: false,
        }
    }

    /// Puts the column of versions into large pages, because writes will reach all of it. Nothing is stored yet.
    pub fn use_large_pages(&mut self) {
        self.versions = PageColumn::new_in_large_pages(self.versions.len());
    }

    /// Notes from now on which versions the device has promised to keep. `is_volatile`: it has a write buffer;
    /// `is_protected`: which outlasts power cuts. `gives_up_trimmed`: trims are promised too.
    pub fn prepare_for_cuts(&mut self, is_volatile: bool, is_protected: bool, gives_up_trimmed: bool) {
        self.promises = Some(Promises::new(is_volatile));
        (self.is_volatile, self.is_protected, self.promises_trims) = (is_volatile, is_protected, gives_up_trimmed);
    }

    /// Whether trims are promised, by the next flush.
    pub fn promises_trims(&self) -> bool {
        self.promises_trims
    }

    /// Whether it matters which requests are done.
    #[inline]
    pub fn keeps_promises(&self) -> bool {
        self.promises.is_some()
    }

    /// A flush is submitted.
    pub fn note_flush(&mut self, request: u32) {
        self.promises.iter_mut().for_each(|promises| promises.note_flush(request));
    }

    /// A request that touched these pages is done.
    pub fn note_done(&mut self, id: u32, request: &HostRequest, lpns: impl Iterator<Item = Lpn>) {
        let Some(promises) = &mut self.promises else { return };
        match request.kind {
            RequestKind::Write => {
                let is_promised = request.fua || self.is_protected;
                lpns.for_each(|lpn| promises.note_acknowledged(lpn.0, id, is_promised));
            }
            RequestKind::Flush => promises.note_flushed(id),
            RequestKind::Read | RequestKind::Trim => {}
        }
    }

    /// The write buffer has taken a page that `request` brings.
    #[inline]
    pub fn note_buffered(&mut self, lpn: Lpn, request: Option<u32>) {
        if self.promises.is_some() {
            self.note_write(lpn, request);
        }
    }

    /// The write buffer has given a page up that it had not begun to program, because it is trimmed.
    pub fn note_dropped(&mut self, lpn: Lpn) {
        // Where trims are promised, the trim takes the place of these writes.
        let promises = self.promises.as_mut().filter(|_| !self.promises_trims);
        promises.into_iter().for_each(|promises| promises.note_dropped(lpn.0));
    }

    /// The write buffer begins to program a page.
    #[inline]
    pub fn note_program_begun(&mut self, lpn: Lpn) {
        self.promises.iter_mut().for_each(|promises| promises.note_program_begun(lpn.0));
    }

    /// What a device may return after a power cut, page by page where that is more than the newest version. Nothing is
    /// in flight then.
    pub fn take_unsettled(&mut self) -> Vec<(Lpn, Allowed)> {
        let pages = self.promises.iter_mut().flat_map(Promises::take);
        pages.map(|(lpn, allowed)| (Lpn(lpn), allowed)).collect()
    }

    /// The host has found this version after a power cut (`None`: nothing), and goes on with it.
    pub fn settle(&mut self, lpn: Lpn, found: Option<u8>) {
        self.versions[lpn.index()] = found.unwrap_or(0);
        match found {
            // Also of a page that the initial fill stored, which has no version that could say so.
            None => self.mark_trimmed(lpn),
            Some(_) if self.promises_trims && !self.trimmed.is_empty() => bits::clear(&mut self.trimmed, lpn.index()),
            Some(_) => {}
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

    /// The version that a host write of `lpn` stores; `request` brings it, if a request does.
    #[inline]
    pub fn next_version(&mut self, lpn: Lpn, request: Option<u32>) -> u8 {
        if self.promises.is_some() {
            self.note_version(lpn, request);
        }
        let version = &mut self.versions[lpn.index()];
        *version = self.tags.next(*version);
        if !self.trimmed.is_empty() {
            bits::clear(&mut self.trimmed, lpn.index());
        }
        *version
    }

    /// A request brings a write.
    fn note_write(&mut self, lpn: Lpn, request: Option<u32>) {
        let before = self.may_be_found(lpn).then(|| self.versions[lpn.index()]);
        if let (Some(promises), Some(request)) = (&mut self.promises, request) {
            promises.note_write(lpn.0, request, before);
        }
    }

    /// A version comes that is not promised yet.
    fn note_version(&mut self, lpn: Lpn, request: Option<u32>) {
        if !self.is_volatile {
            self.note_write(lpn, request);
        }
        let version = self.tags.next(self.versions[lpn.index()]);
        if let Some(promises) = self.promises.as_mut().filter(|_| self.is_volatile || request.is_some()) {
            promises.note_version(lpn.0, version);
        }
    }

    /// Prefetches the entry of `lpn`; no effect on results.
    #[inline]
    pub fn expect(&self, lpn: Lpn) {
        prefetch(self.versions.get(lpn.index()));
    }

    /// Whether the device may find something of a page. Layers that do not give up what is trimmed find it all the same.
    fn may_be_found(&self, lpn: Lpn) -> bool {
        if self.promises_trims { self.is_stored(lpn) } else { self.was_stored(lpn) }
    }

    /// Notes that the host gave `lpn` up, by a request.
    pub fn note_trim(&mut self, lpn: Lpn, request: Option<u32>) {
        let before = self.may_be_found(lpn).then(|| self.versions[lpn.index()]);
        if let (Some(promises), Some(request), true) = (&mut self.promises, request, self.promises_trims) {
            promises.note_trim(lpn.0, request, before);
        }
        self.mark_trimmed(lpn);
    }

    /// Whether the host gave a page up and has not stored it since.
    pub fn is_trimmed(&self, lpn: Lpn) -> bool {
        !self.trimmed.is_empty() && bits::get(&self.trimmed, lpn.index())
    }

    fn mark_trimmed(&mut self, lpn: Lpn) {
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
        !self.is_trimmed(lpn) && self.was_stored(lpn)
    }

    /// Whether the page was ever stored.
    #[inline]
    fn was_stored(&self, lpn: Lpn) -> bool {
        let (block, offset) = (lpn.0 / self.pages_per_block, lpn.0 % self.pages_per_block);
        self.versions[lpn.index()] > 0 || offset < u32::from(self.filled[block as usize])
    }

    /// Distinct logical blocks that the host wrote to.
    pub fn logical_blocks_written(&self) -> u64 {
        let blocks = self.versions.chunks(self.pages_per_block as usize);
        blocks.filter(|block| block.iter().any(|&version| version > 0)).count() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn t695_stored_is_what_was_filled_or_written_and_not_given_up_since() {
        let mut oracle = Oracle::new(100, 16, TagFormat::new(100));
        oracle.note_fill(Lpn(16), 20);
        let stored = |oracle: &Oracle| (0..100).filter(|&lpn| oracle.is_stored(Lpn(lpn))).collect::<Vec<_>>();
        assert_eq!(stored(&oracle), (16..36).collect::<Vec<_>>());
        oracle.next_version(Lpn(50), None);
        oracle.next_version(Lpn(17), None);
        oracle.note_trim(Lpn(17), None);
        oracle.note_trim(Lpn(18), None);
        oracle.next_version(Lpn(18), None);
        assert_eq!(stored(&oracle), [16].into_iter().chain(18..36).chain([50]).collect::<Vec<_>>());
        assert_eq!(oracle.logical_blocks_written(), 2);
    }
}
