//! Trims of a device that may lose power and recovers from spare areas (`ftl.recovery = "scan"` or `"summary"`).
//!
//! Nothing in a spare area says that a page was trimmed: an older copy would come back. So the trims are written down,
//! as pages of the layer's own. A *trim page* holds one bit for each of many logical pages: set if the page is trimmed.
//! Trim pages lie among the data, have logical pages of their own, are copied by collection like any page, and their
//! newest copies count. A copy of a logical page is void if its bit is set in a trim page whose write number is larger
//! than its own. A page that is written again has a larger number, so no trim page needs to be written for that.
//!
//! Two rules make it safe, whatever a cut leaves:
//!
//! 1. A trim page is programmed after every program that was decided before it, on whichever die. Where it no longer
//!    has the bit of a page that was written again, the new copy is therefore in place.
//! 2. Until its trim is written down, a trimmed page stays valid, and collection copies it. So an older copy never
//!    comes back in its place.
//!
//! Trim pages are written when the host flushes, and when enough trims wait.
//!
//! Where mapping units are smaller than pages, a trim page is one such unit. What gathers in open pages is forced out before
//! (1), and the pages of the trims at once.

use std::collections::BTreeSet;
use std::ops::Range;

use pumice_types::{Cause, FlashCommand, Lpn, PageAddress, bits};
use serde::{Deserialize, Serialize};

use crate::layers::page::PageFtl;
use crate::layers::page::collect::plane::WriteStream;
use crate::layers::page::recovery::spare_survey::CurrentPages;
use crate::plan::{FtlError, Payload, Plan};
use crate::seam::{ChipPort, ForcedOut, GatheredUnits};

/// Bits of a word of the map.
const WORD_BITS: u32 = u64::BITS;

/// Trims that wait for one trim page at most, so that writing them down costs at most one program for so many.
const TRIMS_A_PAGE: usize = 64;

/// The trim pages of a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TrimShape {
    /// The logical page of the first of them.
    first: u32,
    /// How many there are.
    pages: u32,
    /// Logical pages of the host of which each tells.
    lpns: u32,
}

impl TrimShape {
    /// Trim pages of so many logical pages of the host, with the logical pages from `first` on.
    pub(in crate::layers::page) fn new(first: u32, user_pages: u32, page_bytes: u32) -> TrimShape {
        let lpns = page_bytes / (WORD_BITS / 8) * WORD_BITS;
        TrimShape { first, pages: user_pages.div_ceil(lpns), lpns }
    }

    /// How many there are.
    pub(in crate::layers::page) fn pages(self) -> u32 {
        self.pages
    }

    /// The first logical page behind theirs.
    pub(in crate::layers::page) fn end(self) -> u32 {
        self.first + self.pages
    }

    /// Which of them a logical page is, if it is one.
    pub(in crate::layers::page) fn nth(self, lpn: Lpn) -> Option<u32> {
        lpn.0.checked_sub(self.first).filter(|&nth| nth < self.pages)
    }

    /// Which of them tells of a page of the host.
    fn of(self, lpn: Lpn) -> u32 {
        lpn.0 / self.lpns
    }
}

/// Which pages are trimmed, and what of that is not written down yet.
#[derive(Clone, Serialize, Deserialize)]
pub(in crate::layers::page) struct TrimMap {
    shape: TrimShape,
    /// A bit a logical page: trimmed, and not written since.
    trimmed: Vec<u64>,
    /// Trimmed since trim pages were written last; their pages are still valid.
    waiting: Vec<Lpn>,
    /// Trim pages with trims since the host flushed last: also those that are written meanwhile, because their programs
    /// may not have ended.
    since_flush: BTreeSet<u32>,
    /// Trim pages that the last flush has written.
    flushed: BTreeSet<u32>,
}

impl TrimMap {
    /// Nothing is trimmed.
    pub(in crate::layers::page) fn new(shape: TrimShape, user_pages: u32) -> TrimMap {
        TrimMap {
            shape,
            trimmed: vec![0; user_pages.div_ceil(WORD_BITS) as usize],
            waiting: Vec::new(),
            since_flush: BTreeSet::new(),
            flushed: BTreeSet::new(),
        }
    }

    /// Whether the host has trimmed a page and not written it since.
    #[inline]
    pub(super) fn is_trimmed(&self, lpn: Lpn) -> bool {
        bits::get(&self.trimmed, lpn.index())
    }

    /// The host writes a page.
    #[inline]
    pub(in crate::layers::page) fn note_write(&mut self, lpn: Lpn) {
        bits::clear(&mut self.trimmed, lpn.index());
    }

    /// The host trims a page that is stored.
    fn note_trim(&mut self, lpn: Lpn) {
        bits::set(&mut self.trimmed, lpn.index());
        self.waiting.push(lpn);
        self.since_flush.insert(self.shape.of(lpn));
    }

    /// Whether so many trims wait that they are written down.
    fn is_full(&self) -> bool {
        self.waiting.len() >= TRIMS_A_PAGE * self.shape.pages as usize
    }

    /// RAM of the bits, and of the trims that wait.
    pub(in crate::layers::page) fn ram_bytes(&self) -> u64 {
        size_of_val(&self.trimmed[..]) as u64 + (TRIMS_A_PAGE as u64 * u64::from(self.shape.pages)) * 4
    }

    fn words_of(&self, nth: u32) -> Range<usize> {
        let words = (self.shape.lpns / WORD_BITS) as usize;
        let first = nth as usize * words;
        first..(first + words).min(self.trimmed.len())
    }

    /// What a trim page holds: pairs of halves of words, without zeros at the end.
    fn content(&self, nth: u32) -> Payload {
        let words = &self.trimmed[self.words_of(nth)];
        let used = words.iter().rposition(|&word| word > 0).map_or(0, |last| last + 1);
        words[..used].iter().flat_map(|&word| [word as u32, (word >> (WORD_BITS / 2)) as u32]).collect()
    }

    /// Takes over what a trim page holds.
    fn set_content(&mut self, nth: u32, content: &[u32]) {
        let range = self.words_of(nth);
        for (word, halves) in self.trimmed[range].iter_mut().zip(content.chunks_exact(2)) {
            *word = u64::from(halves[0]) | u64::from(halves[1]) << (WORD_BITS / 2);
        }
    }

    /// The trim pages to write because the host flushes. `again`: also those of the last flush.
    fn begin_flush(&mut self, again: bool) -> BTreeSet<u32> {
        let mut due = std::mem::take(&mut self.since_flush);
        if again {
            due.append(&mut self.flushed);
        }
        self.flushed.clone_from(&due);
        due
    }
}

/// Pages that a recovery has found and does not take over, because trim pages say so; each with its trim page.
#[derive(Default)]
pub(in crate::layers::page) struct VoidPages {
    pages: Vec<(Lpn, Lpn)>,
}

impl VoidPages {
    /// A logical page, and if it is a trim page those that it makes void: they would count again if it were lost.
    pub(in crate::layers::page) fn with(&self, lpn: Lpn) -> impl Iterator<Item = Lpn> {
        let of_it = self.pages.iter().filter(move |(_, trim_page)| *trim_page == lpn).map(|&(void, _)| void);
        std::iter::once(lpn).chain(of_it)
    }
}

impl PageFtl {
    /// The host trims a page: it reads as nothing from now on, and is valid until that is written down.
    pub(in crate::layers::page) fn trim_later(&mut self, lpn: Lpn) {
        let is_stored = self.locate_stored(lpn).is_some();
        let Some(trims) = &mut self.trims else { return };
        if is_stored {
            trims.note_trim(lpn);
        }
    }

    /// Writes down the trims that wait, if they are many.
    pub(in crate::layers::page) fn write_trims_if_full(&mut self, plan: &mut Plan) -> Result<(), FtlError> {
        let Some(trims) = self.trims.as_ref().filter(|trims| trims.is_full()) else { return Ok(()) };
        let due = trims.waiting.iter().map(|&lpn| trims.shape.of(lpn)).collect();
        self.write_trims(&due, plan)
    }

    /// Writes down all trims since the last flush, because the host flushes. `again`: also those of that flush, which is
    /// not done yet.
    pub(in crate::layers::page) fn flush_trim_pages(&mut self, again: bool, plan: &mut Plan) -> Result<(), FtlError> {
        let Some(trims) = &mut self.trims else { return Ok(()) };
        let due = trims.begin_flush(again);
        self.write_trims(&due, plan)
    }

    /// Writes trim pages, and gives up what has waited for that.
    fn write_trims(&mut self, due: &BTreeSet<u32>, plan: &mut Plan) -> Result<(), FtlError> {
        if !due.is_empty() {
            self.force_out(ForcedOut::All, plan)?;
            due.iter().try_for_each(|&nth| self.write_trim_page(nth, plan))?;
            self.force_out(ForcedOut::All, plan)?;
        }
        let waited = self.trims.as_mut().map(|trims| std::mem::take(&mut trims.waiting)).unwrap_or_default();
        self.give_up(&waited);
        Ok(())
    }

    fn write_trim_page(&mut self, nth: u32, plan: &mut Plan) -> Result<(), FtlError> {
        let Some(trims) = &mut self.trims else { return Ok(()) };
        let (lpn, content) = (Lpn(trims.shape.first + nth), trims.content(nth));
        let plane = self.choose_plane(lpn)?;
        let stream = WriteStream::unplaced(self.config.hot_cold);
        let mark = self.config.hot_cold.mark(stream);
        self.store(lpn, (plane, stream), plan, |target, sequence, plan| {
            let program = FlashCommand::program(Cause::Map, target, lpn, 0, sequence).with_mark(mark);
            plan.push_content(program.behind_programs(), content);
        })
    }

    /// Pages that are still trimmed become invalid.
    fn give_up(&mut self, lpns: &[Lpn]) {
        for &lpn in lpns {
            let is_trimmed = self.trims.as_ref().is_some_and(|trims| trims.is_trimmed(lpn));
            if is_trimmed && let Some(page) = self.find(lpn) {
                self.invalidate(page);
                self.maps.forget(lpn);
                self.note_change(lpn);
            }
        }
    }

    /// Where the page of `lpn` is that the host reads, unless it is trimmed.
    #[inline]
    pub(in crate::layers::page) fn locate_stored(&self, lpn: Lpn) -> Option<PageAddress> {
        match &self.trims {
            Some(trims) if trims.is_trimmed(lpn) => None,
            _ => self.find(lpn),
        }
    }

    /// Reads the trim pages that count, and takes the pages out of those that count that they make void.
    pub(in crate::layers::page) fn read_trims(
        &mut self,
        current: &mut CurrentPages,
        chips: &mut dyn ChipPort,
    ) -> VoidPages {
        let Some(trims) = &mut self.trims else {
            return VoidPages::default();
        };
        let shape = trims.shape;
        let mut written = vec![0; shape.pages as usize];
        for found in current.iter() {
            if let Some(nth) = shape.nth(found.entry.lpn)
                && let Some((entry, content)) = chips.page(found.page)
            {
                trims.set_content(nth, &content);
                written[nth as usize] = entry.written;
            }
        }
        let mut void = VoidPages::default();
        current.retain(|found| {
            let lpn = found.entry.lpn;
            if shape.nth(lpn).is_some() || !trims.is_trimmed(lpn) {
                return true;
            }
            let is_younger = found.entry.written > written[shape.of(lpn) as usize];
            if is_younger {
                trims.note_write(lpn);
                return true;
            }
            void.pages.push((lpn, Lpn(shape.first + shape.of(lpn))));
            false
        });
        void
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn t570_a_trim_page_holds_what_is_trimmed_of_its_own_pages() {
        let shape = TrimShape::new(9_001, 9_000, 512);
        assert_eq!((shape.pages(), shape.end()), (3, 9_004));
        assert_eq!([9_000, 9_001, 9_003, 9_004].map(|lpn| shape.nth(Lpn(lpn))), [None, Some(0), Some(2), None]);
        let (mut trims, mut read) = (TrimMap::new(shape, 9_000), TrimMap::new(shape, 9_000));
        let all = [0, 31, 32, 4_095, 4_096, 8_191, 8_999].map(Lpn);
        all.iter().for_each(|&lpn| trims.note_trim(lpn));
        read.set_content(1, &trims.content(1));
        let taken_over: Vec<Lpn> = (0..9_000).map(Lpn).filter(|&lpn| read.is_trimmed(lpn)).collect();
        assert_eq!(taken_over, all[4..6]);
        read.set_content(2, &trims.content(2));
        read.set_content(0, &trims.content(0));
        assert!(all.iter().all(|&lpn| read.is_trimmed(lpn)));
        trims.note_write(Lpn(8_999));
        assert!(trims.content(2).is_empty(), "nothing is trimmed there");
    }

    #[test]
    fn t571_a_flush_writes_what_was_trimmed_since_the_last_one_and_of_an_unfinished_one() {
        let mut trims = TrimMap::new(TrimShape::new(9_000, 9_000, 512), 9_000);
        trims.note_trim(Lpn(5_000));
        assert_eq!(trims.begin_flush(false), BTreeSet::from([1]));
        trims.note_trim(Lpn(1));
        assert_eq!(trims.begin_flush(true), BTreeSet::from([0, 1]));
        assert_eq!(trims.begin_flush(true), BTreeSet::from([0, 1]), "not done either");
        assert_eq!(trims.begin_flush(false), BTreeSet::new());
    }
}
