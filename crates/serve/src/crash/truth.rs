//! What the host knows: which write each sector was promised to keep, and so what it may find after a power cut.
//!
//! Every write of a sector has a number, from 1 on; 0 is a sector that was never written. A trim has one number for all
//! sectors that it takes, which are those of whole pages. Requests come one at a time, so a larger number is a later
//! write or trim. What is promised when is the engine's rule ([`Promises`]), as for the pages of a run.

use std::sync::Arc;

use pumice_engine::SimError;
use pumice_engine::host::promises::{OpenPlace, PromiseRules, Promised, Promises};
use pumice_types::{HostRequest, RequestKind, Time};

use super::verdict::{CrashVerdict, CutContext, WrongKind, WrongPages, WrongSector};
use crate::protocol::SECTOR;
use pumice_engine::data::{STAMP, SectorStamp, stamps_of};

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
    /// Numbers of the last promised writes and trims, of sectors of which everything is promised.
    promised: Box<[u64]>,
    /// The largest number of its newest writes.
    last: u64,
    /// Number of its last promised trim; 0 if there was none.
    given_up: u64,
}

impl PageTruth {
    fn new(sectors: usize) -> PageTruth {
        PageTruth { newest: vec![0; sectors * STAMP].into(), promised: vec![0; sectors].into(), last: 0, given_up: 0 }
    }

    fn promised(&self, sector: usize) -> Promised {
        Promised { last: self.promised[sector], given_up: self.given_up }
    }

    /// The page is trimmed.
    fn give_up(&mut self) {
        self.newest.fill(0);
        self.last = 0;
    }
}

/// The numbers of a session's writes and trims.
struct DeedNumbers {
    /// The first number of each request that has numbers; of the others, that of the next request that has some.
    first: Vec<u64>,
    /// Where what each request writes begins among the data of the session.
    data: Vec<u64>,
}

impl DeedNumbers {
    fn of(requests: &[HostRequest]) -> DeedNumbers {
        let (mut number, mut byte) = (1, 0);
        let (mut first, mut data) = (Vec::with_capacity(requests.len()), Vec::with_capacity(requests.len()));
        for request in requests {
            first.push(number);
            data.push(byte);
            match request.kind {
                RequestKind::Write => {
                    number += u64::from(request.bytes / SECTOR);
                    byte += u64::from(request.bytes);
                }
                RequestKind::Trim => number += 1,
                RequestKind::Read | RequestKind::Flush | RequestKind::Zone(_) => {}
            }
        }
        DeedNumbers { first, data }
    }

    /// The request that a number belongs to.
    fn request(&self, number: u64) -> usize {
        // Requests without a number of their own share that of the next one that has one; the last of them is it.
        self.first.partition_point(|&first| first <= number) - 1
    }

    /// Sectors between the first one that the request of a number writes and that of the number.
    fn sectors_before(&self, number: u64) -> u64 {
        number - self.first[self.request(number)]
    }
}

/// The host of a session that is replayed.
pub struct HostTruth<'a> {
    requests: &'a [HostRequest],
    numbers: DeedNumbers,
    page_sectors: u64,
    /// Requests that are done.
    done: usize,
    pages: Vec<Option<PageTruth>>,
    /// Sectors of which a write or trim waits to be promised.
    promises: Promises<()>,
}

impl<'a> HostTruth<'a> {
    /// Nothing has come yet of these requests.
    pub fn new(requests: &'a [HostRequest], page_bytes: u32, rules: PromiseRules) -> HostTruth<'a> {
        let (numbers, page_sectors) = (DeedNumbers::of(requests), u64::from(page_bytes / SECTOR));
        HostTruth { requests, numbers, page_sectors, done: 0, pages: Vec::new(), promises: Promises::new(rules) }
    }

    /// Requests that are done.
    pub fn done(&self) -> usize {
        self.done
    }

    /// Sectors of a request, page by page: the page, its sectors, and the number of the first one's write.
    fn parts(&self, nth: usize) -> impl Iterator<Item = (usize, std::ops::Range<usize>, u64)> + use<> {
        let (request, page, number) = (self.requests[nth], self.page_sectors, self.numbers.first[nth]);
        let begin = request.offset_bytes / u64::from(SECTOR);
        let end = begin + u64::from(request.bytes / SECTOR);
        (begin / page..end.div_ceil(page)).map(move |at| {
            let (from, to) = (begin.max(at * page), end.min((at + 1) * page));
            (at as usize, (from - at * page) as usize..(to - at * page) as usize, number + from - begin)
        })
    }

    /// The next request is submitted. Returns the stamps that it writes.
    pub fn begin(&mut self) -> Vec<u8> {
        match self.requests[self.done].kind {
            RequestKind::Write => return self.begin_write(),
            RequestKind::Trim => self.begin_trim(),
            RequestKind::Flush => self.promises.note_flush(self.done as u32),
            RequestKind::Read | RequestKind::Zone(_) => {}
        }
        Vec::new()
    }

    fn begin_write(&mut self) -> Vec<u8> {
        let (number, sectors) = (self.numbers.first[self.done], self.requests[self.done].bytes / SECTOR);
        let numbers = number..number + u64::from(sectors);
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
            for (sector, number) in sectors.zip(number..) {
                self.note_deed(page, sector, number, RequestKind::Write);
            }
        }
        stamps
    }

    /// A trim is submitted. It takes the pages that lie wholly inside.
    fn begin_trim(&mut self) {
        let gives_up = self.promises.rules().gives_up_trimmed;
        for (page, sectors, _) in self.parts(self.done) {
            let written = self.pages.get_mut(page).and_then(Option::as_mut);
            let Some(truth) = written.filter(|_| sectors.len() as u64 == self.page_sectors) else { continue };
            truth.give_up();
            for sector in sectors {
                if gives_up {
                    self.note_deed(page, sector, self.numbers.first[self.done], RequestKind::Trim);
                } else {
                    self.promises.release(self.place(page, sector));
                    self.pages[page].iter_mut().for_each(|truth| truth.promised[sector] = 0);
                }
            }
        }
    }

    fn place(&self, page: usize, sector: usize) -> u64 {
        page as u64 * self.page_sectors + sector as u64
    }

    fn note_deed(&mut self, page: usize, sector: usize, number: u64, kind: RequestKind) {
        let (place, truth) = (self.place(page, sector), self.pages[page].as_ref());
        let before = || OpenPlace::new(truth.map(|truth| truth.promised(sector)).unwrap_or_default(), ());
        self.promises.note_deed(place, number, (self.done as u32, kind), before);
    }

    /// Notes that the request under way is done. Returns whether the device has promised something by that.
    pub fn end(&mut self) -> bool {
        let nth = self.done;
        self.done += 1;
        let (request, rules) = (self.requests[nth], self.promises.rules());
        let HostTruth { pages, page_sectors, promises, .. } = self;
        let mut settle = |place: u64, promised: Promised| {
            let page = pages.get_mut((place / *page_sectors) as usize).and_then(Option::as_mut);
            let Some(page) = page else { return };
            page.promised[(place % *page_sectors) as usize] = promised.last;
            page.given_up = page.given_up.max(promised.given_up);
        };
        if request.kind == RequestKind::Flush {
            promises.note_flushed(nth as u32, settle);
            return rules.promises_by_flush();
        }
        if !rules.promises_by_end(request.kind, request.fua) {
            return false;
        }
        let first = request.offset_bytes / u64::from(SECTOR);
        for place in first..first + u64::from(request.bytes / SECTOR) {
            promises.note_done(place, nth as u32).into_iter().for_each(|promised| settle(place, promised));
        }
        true
    }

    /// The request that a write of a sector belongs to, and the sector's place on the device.
    fn origin(&self, number: u64) -> (usize, u64) {
        let nth = self.numbers.request(number);
        (nth, self.requests[nth].offset_bytes / u64::from(SECTOR) + self.numbers.sectors_before(number))
    }

    /// Where what a write of a sector has brought lies among the data of the session.
    pub fn data_of(&self, number: u64) -> usize {
        let begin = self.numbers.data[self.numbers.request(number)];
        (begin + self.numbers.sectors_before(number) * u64::from(SECTOR)) as usize
    }

    /// What a sector must hold.
    fn promised(&self, lpn: u32, sector: usize) -> Promised {
        let open = self.promises.get(self.place(lpn as usize, sector)).map(|open| open.promised);
        let settled = || self.pages.get(lpn as usize).and_then(Option::as_ref).map(|page| page.promised(sector));
        open.or_else(settled).unwrap_or_default()
    }

    /// Compares what a host finds on a device that has recovered with what it was promised.
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
                (_, content) => self.judge_page(lpn, content, &mut judgement),
            }
        }
        let Judgement { pages, first, newest_found, oldest_gone } = judgement;
        let first = first.map(|wrong| wrong.told(self));
        let out_of_order = oldest_gone.is_some_and(|gone| gone < newest_found);
        Ok(CrashVerdict { recovery_us: took.as_us(), pages, out_of_order, first, ..CrashVerdict::of(context) })
    }

    /// Judges a page that is not simply the newest.
    fn judge_page(&self, lpn: u32, content: FoundContent, judgement: &mut Judgement) {
        let sectors = self.page_sectors as usize;
        let stamps = match content {
            FoundContent::Unreadable => {
                let promised = (0..sectors).map(|sector| self.promised(lpn, sector).last).max().unwrap_or(0);
                let at = u64::from(lpn) * self.page_sectors;
                judgement.add(WrongFound { kind: WrongKind::Unreadable, sector: at, promised, found: 0 });
                return;
            }
            FoundContent::Stamps(stamps) => stamps.unwrap_or_else(|| vec![0; sectors * STAMP].into()),
        };
        let found: Vec<SectorStamp> = stamps_of(&stamps).collect();
        let mut worst: Option<WrongFound> = None;
        for (nth, &stamp) in found.iter().enumerate() {
            let promised = self.promised(lpn, nth);
            let sector = self.place(lpn as usize, nth);
            match self.judge_sector(sector, promised, stamp) {
                Some(kind) => {
                    let wrong = WrongFound { kind, sector, promised: promised.last, found: stamp.write_number() };
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

    /// What is wrong with a sector.
    fn judge_sector(&self, sector: u64, promised: Promised, stamp: SectorStamp) -> Option<WrongKind> {
        let number = stamp.write_number();
        if stamp.flipped_bit().is_some() {
            return Some(WrongKind::Corrupt);
        }
        if number > 0 && self.origin(number).1 != sector {
            return Some(WrongKind::Foreign);
        }
        let wrong = if number == 0 { WrongKind::Lost } else { WrongKind::RolledBack };
        (!promised.allows(number)).then_some(wrong)
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
        HostRequest { arrival: Time::ZERO, offset_bytes, bytes: sectors * SECTOR, kind, fua: false, stream: 0, flow: 0 }
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
        let rules = PromiseRules { gives_up_trimmed: true, ..PromiseRules::default() };
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
        let keeps = PromiseRules::default();
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
        let rules = PromiseRules { is_buffered: true, gives_up_trimmed: true, ..PromiseRules::default() };
        assert_eq!(judged(&requests, rules, 2, [0, 0]).lost, 0, "not promised yet");
        assert_eq!(judged(&requests, rules, 3, [1, 0]).lost + judged(&requests, rules, 3, [1, 0]).shorn, 1);
        assert_eq!(judged(&requests, rules, 3, [1, 2]).rolled_back, 0);
    }
}
