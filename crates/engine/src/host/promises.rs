//! What a device has promised to keep: of each page whose newest version may be lost in a power cut, what it may return
//! afterwards.
//!
//! Writes of the host are counted. A version is what one program stores; it holds the writes of its page up to one of
//! them. Without a write buffer every write makes a version, and is promised when it is acknowledged. With one, several
//! writes may share a version, or make none; a write is promised by the end of a flush that was submitted after it, or
//! by its own end if it has force unit access.
//!
//! A trim counts as a write that stores nothing. The device may return nothing from then on, and must after a flush that
//! was submitted later, buffer or not.

use std::collections::BTreeMap;

use pumice_types::RecoveryFault;
use serde::{Deserialize, Serialize};

/// Versions of a page that are remembered. A device that returns an older one has lost programs that had ended.
const VERSIONS_KEPT: usize = 128;

/// A page whose newest version is not promised.
#[derive(Clone, Serialize, Deserialize)]
pub struct Unsettled {
    /// The version before; `None` if nothing was stored.
    before: Option<u8>,
    /// Writes since, oldest first, each with the request that brought it.
    writes: Vec<(u64, u32)>,
    /// Last writes of programs that have begun in the write buffer and have no version yet.
    begun: Vec<u64>,
    /// Versions since, oldest first, each with the last write that it holds; `None` of trims.
    versions: Vec<(Option<u8>, u64)>,
    /// The last write that is promised apart from flushes; 0 if none is.
    promised: u64,
}

impl Unsettled {
    fn new(before: Option<u8>) -> Unsettled {
        Unsettled { before, writes: Vec::new(), begun: Vec::new(), versions: Vec::new(), promised: 0 }
    }

    /// The last promised write, if all up to `flushed` are.
    fn last_promised(&self, flushed: u64) -> u64 {
        let by_flush = self.writes.iter().rev().map(|&(write, _)| write).find(|&write| write <= flushed);
        by_flush.unwrap_or(0).max(self.promised)
    }

    /// Whether only the newest version is left that the device may return.
    fn is_settled(&self, flushed: u64) -> bool {
        let newest = self.writes.last().map_or(0, |&(write, _)| write);
        let is_programmed = self.versions.last().is_some_and(|&(_, holds)| holds >= newest);
        self.begun.is_empty() && is_programmed && newest <= self.last_promised(flushed)
    }

    /// Forgets what is older than the last promised write.
    fn forget(&mut self, flushed: u64) {
        let promised = self.last_promised(flushed);
        self.writes.retain(|&(write, _)| write >= promised);
        let excess = self.versions.len().saturating_sub(VERSIONS_KEPT);
        self.versions.drain(..excess);
    }
}

/// A page that a cut may have thrown back.
pub struct Allowed {
    page: Unsettled,
    flushed: u64,
}

impl Allowed {
    /// Whether the device may return this version (`None`: nothing stored) after a cut.
    pub fn contains(&self, found: Option<u8>) -> bool {
        let promised = self.page.last_promised(self.flushed);
        let is_before = promised == 0 && found == self.page.before;
        is_before || self.page.versions.iter().any(|&(version, holds)| found == version && holds >= promised)
    }
}

/// All such pages.
#[derive(Clone, Default, Serialize, Deserialize)]
pub struct Promises {
    /// Writes are promised by flushes: there is a write buffer.
    is_volatile: bool,
    pages: BTreeMap<u32, Unsettled>,
    /// Writes so far.
    writes: u64,
    /// All writes up to this one are promised by a flush.
    flushed: u64,
    /// Flushes under way, each with the last write before it.
    flushes: Vec<(u32, u64)>,
}

impl Promises {
    /// Nothing written yet, to a device with or without a write buffer.
    pub fn new(is_volatile: bool) -> Promises {
        Promises { is_volatile, ..Promises::default() }
    }

    /// A request brings a write of a page, of which `before` was the newest version.
    pub fn note_write(&mut self, page: u32, request: u32, before: Option<u8>) {
        self.writes += 1;
        let unsettled = self.pages.entry(page).or_insert_with(|| Unsettled::new(before));
        unsettled.writes.push((self.writes, request));
        if RecoveryFault::AcknowledgedEarly.is_on() {
            unsettled.promised = self.writes;
        }
    }

    /// A request gives a page up, of which `before` was the newest version.
    pub fn note_trim(&mut self, page: u32, request: u32, before: Option<u8>) {
        self.writes += 1;
        let unsettled = self.pages.entry(page).or_insert_with(|| Unsettled::new(before));
        unsettled.writes.push((self.writes, request));
        unsettled.versions.push((None, self.writes));
    }

    /// The write buffer begins to program a page: what is written to it from now on is not part of that.
    pub fn note_program_begun(&mut self, page: u32) {
        if let Some(page) = self.pages.get_mut(&page) {
            page.begun.extend(page.writes.last().map(|&(write, _)| write));
        }
    }

    /// The write buffer has given up what was written to a page since it last began to program it: that is never stored,
    /// so no flush promises it.
    pub fn note_dropped(&mut self, page: u32) {
        let Some(unsettled) = self.pages.get_mut(&page) else { return };
        let stored = unsettled.versions.last().map_or(0, |&(_, holds)| holds);
        let stored = unsettled.begun.last().map_or(stored, |&begun| begun.max(stored));
        unsettled.writes.retain(|&(write, _)| write <= stored);
        if stored == 0 {
            self.pages.remove(&page);
        }
    }

    /// A page is programmed in this version.
    pub fn note_version(&mut self, page: u32, version: u8) {
        let Some(page) = self.pages.get_mut(&page) else { return };
        let holds = match (self.is_volatile, page.writes.last()) {
            (true, _) if page.begun.is_empty() => return,
            (true, _) => page.begun.remove(0),
            (false, Some(&(write, _))) => write,
            (false, None) => return,
        };
        // A page that was trimmed while its program was being prepared is stored after all, behind the trim.
        let holds =
            page.versions.iter().filter(|(version, _)| version.is_none()).map(|&(_, trim)| trim).fold(holds, u64::max);
        page.versions.push((Some(version), holds));
        page.forget(self.flushed);
    }

    /// What a request wrote to a page is acknowledged; `fua`: it had force unit access.
    pub fn note_acknowledged(&mut self, page: u32, request: u32, fua: bool) {
        let flushed = self.flushed;
        let Some(unsettled) = self.pages.get_mut(&page).filter(|_| fua || !self.is_volatile) else { return };
        let Some(&(write, _)) = unsettled.writes.iter().rev().find(|&&(_, by)| by == request) else { return };
        unsettled.promised = unsettled.promised.max(write);
        unsettled.forget(flushed);
        if unsettled.is_settled(flushed) {
            self.pages.remove(&page);
        }
    }

    /// A flush is submitted.
    pub fn note_flush(&mut self, request: u32) {
        self.flushes.push((request, self.writes));
    }

    /// A flush is done.
    pub fn note_flushed(&mut self, request: u32) {
        let Some(at) = self.flushes.iter().position(|&(flush, _)| flush == request) else { return };
        let (_, before) = self.flushes.swap_remove(at);
        if !self.is_volatile {
            return self.promise_trims(before);
        }
        let flushed = self.flushed.max(before);
        self.flushed = flushed;
        self.pages.retain(|_, page| {
            page.forget(flushed);
            !page.is_settled(flushed)
        });
    }

    /// A flush of a device without a write buffer is done: trims up to this write are promised. Writes are when they are
    /// acknowledged.
    fn promise_trims(&mut self, before: u64) {
        self.pages.retain(|_, page| {
            let trims = page.versions.iter().filter(|&&(version, trim)| version.is_none() && trim <= before);
            page.promised = trims.map(|&(_, trim)| trim).fold(page.promised, u64::max);
            page.forget(0);
            !page.is_settled(0)
        });
    }

    /// The power is cut: what the device may return of each page. Nothing is in flight any more.
    pub fn take(&mut self) -> impl Iterator<Item = (u32, Allowed)> + use<> {
        self.flushes.clear();
        let flushed = self.flushed;
        std::mem::take(&mut self.pages).into_iter().map(move |(lpn, page)| (lpn, Allowed { page, flushed }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What may be returned of a page; `None` if only its newest version may.
    fn allowed(promises: &mut Promises, page: u32) -> Option<Vec<Option<u8>>> {
        let (_, allowed) = promises.take().find(|&(lpn, _)| lpn == page)?;
        Some([None, Some(1), Some(2), Some(3)].into_iter().filter(|&version| allowed.contains(version)).collect())
    }

    #[test]
    fn t830_without_a_buffer_an_acknowledged_write_is_promised() {
        let mut promises = Promises::new(false);
        promises.note_write(7, 0, None);
        promises.note_version(7, 1);
        promises.note_write(7, 1, Some(1));
        promises.note_version(7, 2);
        promises.note_acknowledged(7, 0, false);
        assert_eq!(allowed(&mut promises, 7), Some(vec![Some(1), Some(2)]), "the first, or the one in flight");
        promises.note_write(7, 2, Some(2));
        promises.note_version(7, 3);
        promises.note_acknowledged(7, 2, false);
        assert_eq!(allowed(&mut promises, 7), None);
    }

    #[test]
    fn t831_with_a_buffer_a_flush_promises_what_was_written_before_it() {
        let mut promises = Promises::new(true);
        promises.note_write(7, 0, None);
        promises.note_acknowledged(7, 0, false);
        assert_eq!(allowed(&mut promises, 7), Some(vec![None]), "it may be lost");
        promises.note_write(7, 0, None);
        promises.note_program_begun(7);
        promises.note_write(7, 1, None);
        promises.note_flush(2);
        promises.note_version(7, 1);
        promises.note_program_begun(7);
        promises.note_version(7, 2);
        promises.note_flushed(2);
        assert_eq!(allowed(&mut promises, 7), None, "both writes are in the newest version");
        promises.note_write(7, 3, Some(2));
        promises.note_flush(4);
        promises.note_flushed(4);
        assert_eq!(allowed(&mut promises, 7), Some(vec![]), "a flush that programs nothing cannot be kept");
    }

    #[test]
    fn t959_what_a_trim_takes_out_of_the_buffer_is_promised_by_no_flush() {
        let mut promises = Promises::new(true);
        promises.note_write(7, 0, Some(1));
        promises.note_dropped(7);
        promises.note_flush(1);
        promises.note_flushed(1);
        assert_eq!(allowed(&mut promises, 7), None, "as if it had not been written");
        promises.note_write(7, 2, Some(1));
        promises.note_program_begun(7);
        promises.note_write(7, 3, Some(1));
        promises.note_dropped(7);
        promises.note_flush(4);
        promises.note_version(7, 2);
        promises.note_flushed(4);
        assert_eq!(allowed(&mut promises, 7), None, "what had begun to be programmed is promised");
    }

    #[test]
    fn t837_a_trim_is_promised_by_a_flush_and_what_was_written_behind_it_when_it_is_acknowledged() {
        let mut promises = Promises::new(false);
        promises.note_trim(7, 0, Some(1));
        promises.note_flush(1);
        promises.note_trim(8, 2, Some(1));
        promises.note_write(9, 3, Some(1));
        promises.note_version(9, 2);
        promises.note_flushed(1);
        assert!(!promises.pages.contains_key(&7), "only nothing may be returned");
        let versions = [None, Some(1), Some(2)];
        let left: Vec<_> =
            promises.take().map(|(lpn, page)| (lpn, versions.map(|found| page.contains(found)))).collect();
        assert_eq!(
            left,
            [(8, [true, true, false]), (9, [false, true, true])],
            "neither was there before the flush, or done"
        );
        promises.note_trim(7, 4, Some(1));
        promises.note_write(7, 5, None);
        promises.note_version(7, 2);
        promises.note_flush(6);
        promises.note_flushed(6);
        assert_eq!(allowed(&mut promises, 7), Some(vec![None, Some(2)]), "the write is in flight");
    }

    #[test]
    fn t832_with_a_buffer_force_unit_access_promises_its_own_page() {
        let mut promises = Promises::new(true);
        promises.note_write(7, 0, None);
        promises.note_program_begun(7);
        promises.note_version(7, 1);
        promises.note_write(7, 1, Some(1));
        promises.note_acknowledged(7, 0, true);
        assert_eq!(allowed(&mut promises, 7), Some(vec![Some(1)]), "not nothing, and the second write has no version");
    }
}
