//! The host's oracle: what the host stored, and so what the device must return.
//!
//! Every host write of a logical page gets the next version of that page ([`TagFormat`]). The version is
//! programmed into the spare area, and a read must return the version that was newest when the read
//! was submitted. This is truth about the host, so neither FTL nor array can see it.

use pumice_types::{HostRequest, Lpn, PageColumn, RequestKind, TagFormat, bits, prefetch};
use serde::{Deserialize, Serialize};

use super::programs::{OpenPage, Programs, StoredVersion};
use super::promises::{PromiseRules, Promised, Promises};

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
    /// What is known of pages beyond their versions, if power may be cut.
    ledger: Option<Ledger>,
}

/// What the oracle keeps if power may be cut. Versions repeat; numbers do not.
#[derive(Clone, Serialize, Deserialize)]
struct Ledger {
    /// Number of the program that stored the newest version of each logical page.
    programs: Vec<u64>,
    /// Writes and trims of pages so far.
    deeds: u64,
    /// Pages whose newest write or trim is not promised.
    promises: Promises<Programs>,
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
            ledger: None,
        }
    }

    /// Puts the column of versions into large pages, because writes will reach all of it. Nothing is stored yet.
    pub fn use_large_pages(&mut self) {
        self.versions = PageColumn::new_in_large_pages(self.versions.len());
    }

    /// Notes from now on what the device has promised to keep.
    pub fn prepare_for_cuts(&mut self, rules: PromiseRules) {
        let programs = vec![0; self.versions.len()];
        self.ledger = Some(Ledger { programs, deeds: 0, promises: Promises::new(rules) });
    }

    /// Whether the layer gives up what is trimmed, and promises that, on a device that may lose power.
    pub fn promises_trims(&self) -> bool {
        self.ledger.as_ref().is_some_and(|ledger| ledger.promises.rules().gives_up_trimmed)
    }

    /// Whether it matters which requests are done.
    #[inline]
    pub fn keeps_promises(&self) -> bool {
        self.ledger.is_some()
    }

    /// A flush is submitted.
    pub fn note_flush(&mut self, request: u32) {
        self.ledger.iter_mut().for_each(|ledger| ledger.promises.note_flush(request));
    }

    /// A request that touched these pages is done.
    pub fn note_done(&mut self, id: u32, request: &HostRequest, lpns: impl Iterator<Item = Lpn>) {
        let Some(Ledger { promises, .. }) = &mut self.ledger else { return };
        if request.kind == RequestKind::Flush {
            promises.note_flushed(id, |_, _| {});
        } else if promises.rules().promises_by_end(request.kind, request.fua) {
            for lpn in lpns {
                promises.note_done(u64::from(lpn.0), id);
            }
        }
    }

    /// The write buffer has taken a page that `request` brings.
    #[inline]
    pub fn note_buffered(&mut self, lpn: Lpn, request: Option<u32>) {
        if self.ledger.is_some() {
            self.note_deed(lpn, RequestKind::Write, request);
        }
    }

    /// The write buffer begins to program a page: what is written to it from now on is not part of that.
    #[inline]
    pub fn note_program_begun(&mut self, lpn: Lpn) {
        let open = self.ledger.as_mut().and_then(|ledger| ledger.promises.backing(u64::from(lpn.0)));
        open.into_iter().for_each(|(programs, newest)| programs.begin(newest));
    }

    /// The version of a page that was begun last has got its place, by the program of this number.
    pub fn note_placed(&mut self, lpn: Lpn, program: u64) {
        let stored = StoredVersion { program, version: self.versions[lpn.index()] };
        let Some(Ledger { programs, promises, .. }) = &mut self.ledger else { return };
        programs[lpn.index()] = program;
        let (place, has_buffer) = (u64::from(lpn.0), promises.rules().has_buffer);
        let last = promises.get(place).map_or(0, |open| open.promised.last);
        let Some((programs, newest)) = promises.backing(place) else { return };
        // Without a buffer the write has just been counted.
        let write = if has_buffer { programs.next_begun() } else { Some(newest) };
        write.into_iter().for_each(|write| programs.place(stored, write, last));
        promises.settle(place);
    }

    /// What a device may return after a power cut, page by page where that is more than the newest version. Nothing is
    /// in flight then.
    pub fn take_unsettled(&mut self) -> Vec<(Lpn, OpenPage)> {
        let pages = self.ledger.iter_mut().flat_map(|ledger| ledger.promises.take());
        pages.map(|(lpn, page)| (Lpn(lpn as u32), page)).collect()
    }

    /// The host has found this after a power cut (`None`: nothing), and goes on with it.
    pub fn settle(&mut self, lpn: Lpn, found: Option<StoredVersion>) {
        self.versions[lpn.index()] = found.map_or(0, |found| found.version);
        if let Some(ledger) = &mut self.ledger {
            ledger.programs[lpn.index()] = found.map_or(0, |found| found.program);
        }
        match found {
            // Also of a page that the initial fill stored, which has no version that could say so.
            None => self.mark_trimmed(lpn),
            Some(_) if self.promises_trims() && !self.trimmed.is_empty() => bits::clear(&mut self.trimmed, lpn.index()),
            Some(_) => {}
        }
    }

    /// Whether a page of flash holds the newest version of a logical page. Where power is never cut versions alone tell,
    /// and repeat ([`TagFormat`]).
    pub fn is_newest(&self, lpn: Lpn, stored: StoredVersion) -> bool {
        stored.version == self.versions[lpn.index()]
            && self.ledger.as_ref().is_none_or(|ledger| ledger.programs[lpn.index()] == stored.program)
    }

    /// Adds what another thread has written, to pages of its own.
    pub fn absorb(&mut self, other: &Oracle) {
        let blocks = self.pages_per_block as usize;
        let blocks = self.versions.chunks_mut(blocks).zip(other.versions.chunks(blocks));
        // No page has a version on both, and memory where the other has written nothing is left untouched.
        blocks.filter(|(_, others)| is_written(others)).for_each(|(own, others)| {
            own.iter_mut().zip(others).for_each(|(own, other)| *own |= *other);
        });
    }

    /// Bytes of its columns.
    pub fn state_bytes(&self) -> u64 {
        let programs = self.ledger.as_ref().map_or(0, |ledger| ledger.programs.len() * size_of::<u64>());
        (self.versions.len() + self.filled.len() * 2 + programs) as u64
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
        if self.ledger.as_ref().is_some_and(|ledger| !ledger.promises.rules().has_buffer) {
            self.note_deed(lpn, RequestKind::Write, request);
        }
        let version = &mut self.versions[lpn.index()];
        *version = self.tags.next(*version);
        if !self.trimmed.is_empty() {
            bits::clear(&mut self.trimmed, lpn.index());
        }
        *version
    }

    /// The device refuses a write that [`Oracle::next_version`] counted: the page holds this version still. Only where
    /// power is never cut.
    pub fn take_back(&mut self, lpn: Lpn, version: u8, was_trimmed: bool) {
        debug_assert!(!self.keeps_promises(), "a device that recovers does not end read-only");
        self.versions[lpn.index()] = version;
        if was_trimmed {
            self.mark_trimmed(lpn);
        }
    }

    /// The device takes a write or trim of a page that a request brings.
    fn note_deed(&mut self, lpn: Lpn, kind: RequestKind, request: Option<u32>) {
        let (is_trimmed, was_stored) = (self.is_trimmed(lpn), self.was_stored(lpn));
        let version = self.versions[lpn.index()];
        let (Some(Ledger { programs, deeds, promises }), Some(request)) = (&mut self.ledger, request) else { return };
        // What the page holds counts as one write more.
        let before = *deeds + 1;
        let keeps_trimmed = is_trimmed && !promises.rules().gives_up_trimmed;
        *deeds += 2;
        promises.note_deed(u64::from(lpn.0), *deeds, (request, kind), || match was_stored {
            true if keeps_trimmed => OpenPage::new(Promised::default(), Programs::any()),
            true if !is_trimmed => {
                let stored = StoredVersion { program: programs[lpn.index()], version };
                OpenPage::new(Promised { last: before, given_up: 0 }, Programs::of(stored, before))
            }
            true | false => OpenPage::new(Promised::default(), Programs::default()),
        });
    }

    /// Prefetches the entry of `lpn`; no effect on results.
    #[inline]
    pub fn expect(&self, lpn: Lpn) {
        prefetch(self.versions.get(lpn.index()));
    }

    /// Notes that the host gave `lpn` up, by a request.
    pub fn note_trim(&mut self, lpn: Lpn, request: Option<u32>) {
        if self.promises_trims() {
            self.note_deed(lpn, RequestKind::Trim, request);
        } else if let Some(ledger) = &mut self.ledger {
            ledger.promises.release(u64::from(lpn.0));
        }
        self.mark_trimmed(lpn);
    }

    /// Whether the host gave a page up and has not stored it since.
    pub fn is_trimmed(&self, lpn: Lpn) -> bool {
        !self.trimmed.is_empty() && bits::get(&self.trimmed, lpn.index())
    }

    /// Pages that the host gave up and has not stored since.
    pub fn trimmed(&self) -> Vec<Lpn> {
        let all = 0..if self.trimmed.is_empty() { 0 } else { self.versions.len() as u32 };
        all.map(Lpn).filter(|&lpn| self.is_trimmed(lpn)).collect()
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
        self.versions.chunks(self.pages_per_block as usize).filter(|block| is_written(block)).count() as u64
    }
}

/// Whether the host wrote to any of these pages, from their versions; without a branch for each.
fn is_written(versions: &[u8]) -> bool {
    versions.iter().fold(0, |any, version| any | version) != 0
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
