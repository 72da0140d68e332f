//! What the host knows: which write each sector was promised to keep, and so what it may find after a power cut.
//!
//! Every write of a sector has a number, from 1 on; 0 is a sector that was never written. Requests come one at a time,
//! so a larger number is a later write. After a cut a sector may hold its last promised write or a later one of its own,
//! and nothing else. A trim has a number too: it makes the sectors of whole pages hold nothing. It is promised by the next
//! flush; until then a sector may hold what it held, or nothing.

use std::sync::Arc;

use pumice_engine::SimError;
use pumice_types::{HostRequest, RequestKind, Time};

use super::verdict::{CrashVerdict, CutContext, WrongKind, WrongPages, WrongSector};
use crate::protocol::SECTOR;
use crate::sector::{STAMP, SectorStamp, stamps_of};

/// What a host finds in a logical page.
pub enum FoundContent {
    /// Nothing: its read fails.
    Unreadable,
    /// The stamps of its sectors; `None`: no write.
    Stamps(Option<Arc<[u8]>>),
}

/// A page that the host has written to.
struct PageTruth {
    /// Stamps of the newest writes.
    newest: Box<[u8]>,
    /// Numbers of the last promised writes.
    promised: Box<[u64]>,
    /// The largest number of its newest writes.
    last: u64,
    /// Number of its last trim; 0 if there was none.
    trimmed: u64,
}

impl PageTruth {
    fn new(sectors: usize) -> PageTruth {
        PageTruth { newest: vec![0; sectors * STAMP].into(), promised: vec![0; sectors].into(), last: 0, trimmed: 0 }
    }

    fn newest(&self, sector: usize) -> u64 {
        let written = stamps_of(&self.newest[sector * STAMP..]).next().map_or(0, SectorStamp::write_number);
        // A trim takes the writes before it away.
        if written > 0 { written } else { self.trimmed }
    }

    /// The page is trimmed. A device that does not give it up may return nothing from then on, or anything that was ever
    /// written there: a write that was only buffered is gone.
    fn trim(&mut self, number: u64, is_given_up: bool) {
        self.newest.fill(0);
        self.last = 0;
        if is_given_up {
            self.trimmed = number;
        } else {
            self.promised.fill(0);
        }
    }

    /// Everything written so far is promised.
    fn promise(&mut self, sectors: std::ops::Range<usize>) {
        for sector in sectors {
            self.promised[sector] = self.newest(sector);
        }
    }
}

/// The host of a session that is replayed.
pub struct HostTruth<'a> {
    requests: &'a [HostRequest],
    /// Number of the first sector that each request writes.
    first: Vec<u64>,
    page_sectors: u64,
    rules: PromiseRules,
    /// Requests that are done.
    done: usize,
    pages: Vec<Option<PageTruth>>,
    /// Pages of which a write or trim waits for a flush to be promised.
    unsettled: Vec<u32>,
}

/// What a device promises when.
#[derive(Clone, Copy)]
pub struct PromiseRules {
    /// There is a write buffer: only flushes and force unit access promise writes.
    pub is_volatile: bool,
    /// The device gives up what is trimmed. Others keep it, and promise nothing by a trim.
    pub gives_up_trimmed: bool,
}

impl PromiseRules {
    /// Whether a request makes a promise when it is done.
    fn promises(self, request: &HostRequest) -> bool {
        match request.kind {
            RequestKind::Write => request.fua || !self.is_volatile,
            RequestKind::Flush => self.is_volatile || self.gives_up_trimmed,
            RequestKind::Read | RequestKind::Trim => false,
        }
    }
}

impl<'a> HostTruth<'a> {
    /// Nothing has come yet of these requests.
    pub fn new(requests: &'a [HostRequest], page_bytes: u32, rules: PromiseRules) -> HostTruth<'a> {
        let mut next = 1;
        let number = |request: &HostRequest| {
            let first = next;
            next += match request.kind {
                RequestKind::Write => u64::from(request.bytes / SECTOR),
                RequestKind::Trim => 1,
                RequestKind::Read | RequestKind::Flush => 0,
            };
            first
        };
        let first = requests.iter().map(number).collect();
        let page_sectors = u64::from(page_bytes / SECTOR);
        HostTruth { requests, first, page_sectors, rules, done: 0, pages: Vec::new(), unsettled: Vec::new() }
    }

    /// Requests that are done.
    pub fn done(&self) -> usize {
        self.done
    }

    /// Sectors of a request, page by page: the page, its sectors, and the number of the first one's write.
    fn parts(&self, nth: usize) -> impl Iterator<Item = (usize, std::ops::Range<usize>, u64)> + use<> {
        let (request, page, number) = (self.requests[nth], self.page_sectors, self.first[nth]);
        let begin = request.offset_bytes / u64::from(SECTOR);
        let end = begin + u64::from(request.bytes / SECTOR);
        (begin / page..end.div_ceil(page)).map(move |at| {
            let (from, to) = (begin.max(at * page), end.min((at + 1) * page));
            (at as usize, (from - at * page) as usize..(to - at * page) as usize, number + from - begin)
        })
    }

    /// The next request is submitted. Returns the stamps that it writes.
    pub fn begin(&mut self) -> Vec<u8> {
        let request = self.requests[self.done];
        match request.kind {
            RequestKind::Write => {}
            RequestKind::Trim => {
                self.begin_trim();
                return Vec::new();
            }
            RequestKind::Read | RequestKind::Flush => return Vec::new(),
        }
        let sectors = u64::from(request.bytes / SECTOR);
        let numbers = self.first[self.done]..self.first[self.done] + sectors;
        let stamps: Vec<u8> = numbers.flat_map(|number| SectorStamp::of(number).to_bytes()).collect();
        let mut taken = 0;
        for (page, sectors, number) in self.parts(self.done) {
            if self.pages.len() <= page {
                self.pages.resize_with(page + 1, || None);
            }
            let truth = self.pages[page].get_or_insert_with(|| PageTruth::new(self.page_sectors as usize));
            let bytes = sectors.len() * STAMP;
            truth.newest[sectors.start * STAMP..sectors.end * STAMP].copy_from_slice(&stamps[taken..taken + bytes]);
            truth.last = number + sectors.len() as u64 - 1;
            taken += bytes;
            if self.rules.is_volatile {
                self.unsettled.push(page as u32);
            }
        }
        stamps
    }

    /// A trim is submitted. It takes the pages that lie wholly inside.
    fn begin_trim(&mut self) {
        let number = self.first[self.done];
        for (page, sectors, _) in self.parts(self.done) {
            let written = self.pages.get_mut(page).and_then(Option::as_mut);
            let Some(truth) = written.filter(|_| sectors.len() as u64 == self.page_sectors) else { continue };
            truth.trim(number, self.rules.gives_up_trimmed);
            self.unsettled.push(page as u32);
        }
    }

    /// Notes that the request under way is done. Returns whether the device has promised something by that.
    pub fn end(&mut self) -> bool {
        let nth = self.done;
        self.done += 1;
        let request = self.requests[nth];
        if !self.rules.promises(&request) {
            return false;
        }
        let all = 0..self.page_sectors as usize;
        if request.kind == RequestKind::Flush {
            for page in std::mem::take(&mut self.unsettled) {
                self.pages[page as usize].iter_mut().for_each(|page| page.promise(all.clone()));
            }
            return true;
        }
        for (page, sectors, _) in self.parts(nth) {
            self.pages[page].iter_mut().for_each(|page| page.promise(sectors.clone()));
        }
        true
    }

    /// The request that a write of a sector belongs to, and the sector's place on the device.
    fn origin(&self, number: u64) -> (usize, u64) {
        // Requests without a number of their own share that of the next one that has one; the last of them is it.
        let nth = self.first.partition_point(|&first| first <= number) - 1;
        (nth, self.requests[nth].offset_bytes / u64::from(SECTOR) + number - self.first[nth])
    }

    /// Compares what a host finds on a device that has started anew with what it was promised.
    ///
    /// # Errors
    /// The errors of `find`, which reads a page.
    pub fn judge(
        &self,
        context: CutContext,
        took: Time,
        pages: u32,
        find: &mut impl FnMut(u32) -> Result<FoundContent, SimError>,
    ) -> Result<CrashVerdict, SimError> {
        let mut judgement = Judgement::default();
        for lpn in 0..pages {
            let content = find(lpn)?;
            let truth = self.pages.get(lpn as usize).and_then(Option::as_ref);
            match (truth, content) {
                (Some(truth), FoundContent::Stamps(Some(stamps))) if *truth.newest == *stamps => {
                    judgement.newest_found = judgement.newest_found.max(truth.last);
                }
                (None, FoundContent::Stamps(None)) => {}
                (truth, content) => self.judge_page(lpn, truth, content, &mut judgement),
            }
        }
        let Judgement { pages, first, newest_found, oldest_gone } = judgement;
        let first = first.map(|wrong| wrong.told(self));
        let out_of_order = oldest_gone.is_some_and(|gone| gone < newest_found);
        Ok(CrashVerdict { recovery_us: took.as_us(), pages, out_of_order, first, ..CrashVerdict::of(context) })
    }

    /// Judges a page that is not simply the newest.
    fn judge_page(&self, lpn: u32, truth: Option<&PageTruth>, content: FoundContent, judgement: &mut Judgement) {
        let sectors = self.page_sectors as usize;
        let stamps = match content {
            FoundContent::Unreadable => {
                let promised = truth.map_or(0, |truth| truth.promised.iter().copied().max().unwrap_or(0));
                let at = u64::from(lpn) * self.page_sectors;
                judgement.add(WrongFound { kind: WrongKind::Unreadable, sector: at, promised, found: 0 });
                return;
            }
            FoundContent::Stamps(stamps) => stamps.unwrap_or_else(|| vec![0; sectors * STAMP].into()),
        };
        let found: Vec<SectorStamp> = stamps_of(&stamps).collect();
        let mut worst: Option<WrongFound> = None;
        for (nth, &stamp) in found.iter().enumerate() {
            let (promised, trimmed) = truth.map_or((0, 0), |truth| (truth.promised[nth], truth.trimmed));
            let sector = u64::from(lpn) * self.page_sectors + nth as u64;
            match self.judge_sector(sector, [promised, trimmed], stamp) {
                Some(kind) => {
                    let wrong = WrongFound { kind, sector, promised, found: stamp.write_number() };
                    if worst.as_ref().is_none_or(|worst| wrong.kind > worst.kind) {
                        worst = Some(wrong);
                    }
                }
                None => judgement.newest_found = judgement.newest_found.max(stamp.write_number()),
            }
        }
        let Some(mut wrong) = worst else { return };
        if matches!(wrong.kind, WrongKind::Lost | WrongKind::RolledBack) && self.is_shorn(wrong.promised, &found) {
            wrong.kind = WrongKind::Shorn;
        }
        judgement.add(wrong);
    }

    /// What is wrong with a sector whose last promise and last trim have these numbers.
    fn judge_sector(&self, sector: u64, [promised, trimmed]: [u64; 2], stamp: SectorStamp) -> Option<WrongKind> {
        let number = stamp.write_number();
        if stamp.flipped_bit().is_some() {
            return Some(WrongKind::Corrupt);
        }
        if number == 0 {
            return (promised > trimmed).then_some(WrongKind::Lost);
        }
        if self.origin(number).1 != sector {
            return Some(WrongKind::Foreign);
        }
        (number < promised).then_some(WrongKind::RolledBack)
    }

    /// Whether a part of the write is there that this one is a part of.
    fn is_shorn(&self, promised: u64, found: &[SectorStamp]) -> bool {
        let of = |number: u64| self.origin(number).0;
        found.iter().any(|stamp| stamp.write_number() > 0 && of(stamp.write_number()) == of(promised))
    }
}

/// A sector that is not what it may be.
struct WrongFound {
    kind: WrongKind,
    sector: u64,
    promised: u64,
    found: u64,
}

impl WrongFound {
    fn told(&self, truth: &HostTruth) -> WrongSector {
        let request = |number: u64| (number > 0).then(|| truth.origin(number).0 + 1);
        WrongSector {
            kind: self.kind,
            offset_bytes: self.sector * u64::from(SECTOR),
            promised_request: request(self.promised),
            found_request: request(self.found),
        }
    }
}

#[derive(Default)]
struct Judgement {
    pages: WrongPages,
    first: Option<WrongFound>,
    /// The latest write that was found.
    newest_found: u64,
    /// The earliest promised write that was not.
    oldest_gone: Option<u64>,
}

impl Judgement {
    fn add(&mut self, wrong: WrongFound) {
        self.pages.add(wrong.kind);
        let is_gone = matches!(wrong.kind, WrongKind::RolledBack | WrongKind::Lost | WrongKind::Unreadable);
        if is_gone && wrong.promised > 0 {
            self.oldest_gone = Some(self.oldest_gone.map_or(wrong.promised, |gone| gone.min(wrong.promised)));
        }
        self.first.get_or_insert(wrong);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: u32 = 2 * SECTOR;

    fn request(kind: RequestKind, first: u64, sectors: u32) -> HostRequest {
        let offset_bytes = first * u64::from(SECTOR);
        HostRequest { arrival: Time::ZERO, offset_bytes, bytes: sectors * SECTOR, kind, fua: false, stream: 0 }
    }

    /// What is wrong with page 0 if its sectors hold these writes, behind so many of the requests.
    fn judged(requests: &[HostRequest], rules: PromiseRules, done: usize, found: [u64; 2]) -> WrongPages {
        let mut truth = HostTruth::new(requests, PAGE, rules);
        for _ in 0..done {
            truth.begin();
            truth.end();
        }
        let stamps: Vec<u8> = found.iter().flat_map(|&number| SectorStamp::of(number).to_bytes()).collect();
        let context = CutContext { at: Time::ZERO, under_way: 0, requests: done, mark: None };
        let mut find = |_| Ok(FoundContent::Stamps(Some(stamps.clone().into())));
        truth.judge(context, Time::ZERO, 1, &mut find).expect("nothing fails").pages
    }

    #[test]
    fn s090_a_trimmed_page_may_hold_what_it_held_or_nothing_until_a_flush_and_nothing_then() {
        // Writes 1 and 2, then 3 and 4 to the same page; the trim is 5, the last write 6.
        let requests = [
            request(RequestKind::Write, 0, 2),
            request(RequestKind::Write, 0, 2),
            request(RequestKind::Trim, 0, 2),
            request(RequestKind::Flush, 0, 0),
            request(RequestKind::Write, 1, 1),
        ];
        let rules = PromiseRules { is_volatile: false, gives_up_trimmed: true };
        let wrong = |done, found| {
            let WrongPages { lost, rolled_back, shorn, .. } = judged(&requests, rules, done, found);
            [lost, rolled_back, shorn]
        };
        assert_eq!(wrong(2, [0, 0]), [1, 0, 0], "lost before any trim");
        assert_eq!(wrong(3, [3, 4]), [0; 3], "what it held");
        assert_eq!(wrong(3, [0, 0]), [0; 3], "nothing");
        assert_eq!(wrong(3, [1, 2]), [0, 1, 0], "older than what was trimmed");
        assert_eq!(wrong(4, [0, 0]), [0; 3]);
        assert_eq!(wrong(4, [3, 4]), [0, 1, 0], "it came back behind the flush");
        assert_eq!(wrong(5, [0, 6]), [0; 3]);
        assert_eq!(wrong(5, [0, 0]), [1, 0, 0], "what was written behind the trim is lost");
        assert_eq!(wrong(5, [3, 6]), [0, 1, 0], "half of it came back");
        let keeps = PromiseRules { is_volatile: false, gives_up_trimmed: false };
        for found in [[3, 4], [1, 2], [0, 0]] {
            let WrongPages { lost, rolled_back, shorn, .. } = judged(&requests, keeps, 4, found);
            assert_eq!([lost, rolled_back, shorn], [0; 3], "a layer that keeps what is trimmed: {found:?}");
        }
        assert_eq!(judged(&requests, keeps, 5, [3, 4]).rolled_back, 1, "what was written behind the trim");
    }

    #[test]
    fn s091_a_trim_of_part_of_a_page_gives_nothing_up() {
        let requests =
            [request(RequestKind::Write, 0, 2), request(RequestKind::Trim, 1, 1), request(RequestKind::Flush, 0, 0)];
        let rules = PromiseRules { is_volatile: true, gives_up_trimmed: true };
        assert_eq!(judged(&requests, rules, 2, [0, 0]).lost, 0, "not promised yet");
        assert_eq!(judged(&requests, rules, 3, [1, 0]).lost + judged(&requests, rules, 3, [1, 0]).shorn, 1);
        assert_eq!(judged(&requests, rules, 3, [1, 2]).rolled_back, 0);
    }
}
