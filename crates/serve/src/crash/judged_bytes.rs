//! Images of the crash lab: what a host finds after a cut, judged from the bytes alone. The judge here shares nothing with
//! the lab's own: it knows the requests with their bytes, and the standards' rules of flush, force unit access and trim.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use pumice_config::SpecSource;
use pumice_types::{Choice, HostRequest, RequestKind, Time};
use pumice_workload::RandomStream;

use super::{CrashCut, CrashLab, CrashVerdict, CutPlaces};
use crate::recording::RecordedSession;
use crate::recording::operation::{ClientOperation, Place};

const SECTOR: usize = 512;

/// Sectors that the sessions use.
const SPAN: u64 = 1600;

/// Sectors that they can reach. Of an image no more is read.
const USED: usize = (SPAN / 4) as usize + 32;

/// Requests of a session.
const REQUESTS: u64 = 420;

/// The bytes that request `nth` writes into a sector. They begin with its number, counted from 1.
fn content(nth: u64, sector: u64) -> [u8; SECTOR] {
    let mut bytes = [0; SECTOR];
    for (at, word) in bytes.chunks_mut(8).enumerate() {
        let value = (nth + 1).wrapping_mul(1 + at as u64) ^ if at == 0 { 0 } else { sector.rotate_left(32) };
        word.copy_from_slice(&value.to_le_bytes());
    }
    bytes
}

/// The request that has written these bytes into a sector; `None` if there is none, or if they are zeroes.
fn writer(bytes: &[u8], sector: u64) -> Option<u64> {
    let number = u64::from_le_bytes(bytes[..8].try_into().expect("8 bytes"));
    number.checked_sub(1).filter(|&nth| content(nth, sector) == bytes)
}

/// Requests of every kind: of whole pages and of parts of them, with and without force unit access.
fn session(seed: u64, trims: u64, page_sectors: u64) -> Vec<HostRequest> {
    let mut random = RandomStream::new(seed, "crash-images");
    let draw = |_| {
        let kind = match random.below(20) {
            0 => RequestKind::Read,
            1..3 => RequestKind::Flush,
            draw if draw < 3 + trims => RequestKind::Trim,
            _ => RequestKind::Write,
        };
        let unit = if random.below(2) == 0 { page_sectors } else { 1 };
        let (first, sectors) = (random.below(SPAN / unit / 4) * unit, (1 + random.below(24 / unit)) * unit);
        let fua = kind == RequestKind::Write && random.below(8) == 0;
        let (offset_bytes, bytes) = match kind {
            RequestKind::Flush | RequestKind::Zone(_) => (0, 0),
            RequestKind::Read | RequestKind::Write | RequestKind::Trim => {
                (first * SECTOR as u64, sectors as u32 * SECTOR as u32)
            }
        };
        HostRequest { arrival: Time::ZERO, offset_bytes, bytes, kind, fua, stream: 0, flow: 0 }
    };
    (0..REQUESTS).map(draw).collect()
}

/// The session of a client that asks for `requests`.
fn asked(requests: &[HostRequest]) -> RecordedSession {
    let operation = |(nth, request): (u64, &HostRequest)| {
        let place = Place { offset: request.offset_bytes, bytes: request.bytes };
        let sectors = request.offset_bytes / 512..(request.offset_bytes + u64::from(request.bytes)) / 512;
        match request.kind {
            RequestKind::Read => ClientOperation::Read(place),
            RequestKind::Write => {
                let data = sectors.flat_map(|sector| content(nth, sector)).collect();
                ClientOperation::Write { place, data, fua: request.fua }
            }
            RequestKind::Trim => ClientOperation::Trim { place, fua: false },
            RequestKind::Flush => ClientOperation::Flush,
            RequestKind::Zone(_) => unreachable!("no such request is drawn"),
        }
    };
    RecordedSession { operations: (0..).zip(requests).map(operation).collect(), marks: Vec::new() }
}

/// What a sector may hold: requests that wrote or trimmed it, oldest first. `None` is nothing.
#[derive(Clone)]
struct SectorPast {
    held: Vec<Option<u64>>,
    /// The first of them that may still be found.
    from: usize,
    /// The host relies on nothing, because the device keeps what is trimmed.
    is_free: bool,
}

impl SectorPast {
    fn allows(&self, found: Option<u64>) -> bool {
        if self.is_free { self.held.contains(&found) } else { self.held[self.from..].contains(&found) }
    }

    fn promise_newest(&mut self) {
        if !self.is_free || self.held.last() != Some(&None) {
            (self.from, self.is_free) = (self.held.len() - 1, false);
        }
    }
}

/// What every sector may hold.
struct Past<'a> {
    requests: &'a [HostRequest],
    sectors: Vec<SectorPast>,
    page_sectors: u64,
    is_buffered: bool,
    gives_up: bool,
}

impl<'a> Past<'a> {
    /// Behind so many requests; the next one may be under way.
    fn behind(requests: &'a [HostRequest], done: usize, device: &JudgedDevice) -> Past<'a> {
        let never = SectorPast { held: vec![None], from: 0, is_free: false };
        let sectors = vec![never; device.bytes / SECTOR];
        let (page_sectors, is_buffered, gives_up) = (device.page_sectors, device.is_buffered, device.gives_up);
        let mut past = Past { requests, sectors, page_sectors, is_buffered, gives_up };
        for nth in 0..requests.len().min(done + 1) {
            past.submit(nth);
            if nth < done {
                past.end(nth);
            }
        }
        past
    }

    /// Sectors that a request takes.
    fn taken(&self, nth: usize) -> std::ops::Range<u64> {
        let HostRequest { offset_bytes, bytes, kind, .. } = self.requests[nth];
        let (first, end) = (offset_bytes / 512, (offset_bytes + u64::from(bytes)) / 512);
        let page = self.page_sectors;
        match kind {
            RequestKind::Write => first..end,
            RequestKind::Trim => first.div_ceil(page) * page..end / page * page,
            RequestKind::Read | RequestKind::Flush | RequestKind::Zone(_) => 0..0,
        }
    }

    fn submit(&mut self, nth: usize) {
        let is_trim = self.requests[nth].kind == RequestKind::Trim;
        for sector in self.taken(nth) {
            let past = &mut self.sectors[sector as usize];
            past.held.push((!is_trim).then_some(nth as u64));
            past.is_free |= is_trim && !self.gives_up;
        }
    }

    fn end(&mut self, nth: usize) {
        let request = self.requests[nth];
        match request.kind {
            RequestKind::Flush => self.sectors.iter_mut().for_each(SectorPast::promise_newest),
            RequestKind::Write if request.fua || !self.is_buffered => {
                self.taken(nth).for_each(|sector| self.sectors[sector as usize].promise_newest());
            }
            RequestKind::Write | RequestKind::Read | RequestKind::Trim | RequestKind::Zone(_) => {}
        }
    }

    /// Pages of an image with a sector that may not hold what it does.
    fn wrong_pages(&self, image: &[u8]) -> u64 {
        let is_wrong = |sector: u64, bytes: &[u8]| {
            let is_nothing = bytes.iter().all(|&byte| byte == 0);
            let found = writer(bytes, sector);
            // What no write has brought here is wrong.
            !(is_nothing || found.is_some()) || !self.sectors[sector as usize].allows(found)
        };
        let pages = image.chunks(self.page_sectors as usize * SECTOR).zip((0..).step_by(self.page_sectors as usize));
        let wrong = pages
            .filter(|(page, first)| (*first..).zip(page.chunks(SECTOR)).any(|(sector, bytes)| is_wrong(sector, bytes)));
        wrong.count() as u64
    }
}

/// A device of the lab.
struct JudgedDevice {
    lab: CrashLab,
    requests: Vec<HostRequest>,
    bytes: usize,
    page_sectors: u64,
    is_buffered: bool,
    gives_up: bool,
}

/// Sectors of a page of the preset `tiny`.
const PAGE_SECTORS: u64 = 8;

impl JudgedDevice {
    fn new(sets: &[(&str, &str)], requests: Vec<HostRequest>) -> JudgedDevice {
        let given: Vec<_> = sets.iter().map(|(key, value)| (key.to_string(), value.to_string())).collect();
        let has = |key: &str, value: &str| sets.contains(&(key, value));
        let source = SpecSource { preset: Some("tiny".into()), sets: given, ..SpecSource::default() };
        let lab = CrashLab::new(&source, asked(&requests)).unwrap_or_else(|error| panic!("{sets:?}: {error}"));
        assert_eq!(lab.requests(), requests.len(), "each is one request of the device");
        JudgedDevice {
            lab,
            requests,
            bytes: 0,
            page_sectors: PAGE_SECTORS,
            is_buffered: !has("host.write_buffer_kib", "0"),
            gives_up: has("ftl.kind", "page"),
        }
    }

    /// Cuts the power at so many instants, and judges each image by itself. Returns the lab's verdicts with the pages that
    /// are wrong by the bytes.
    fn judged(&mut self, places: CutPlaces, cuts: usize, folder: &Path) -> Vec<(CrashVerdict, u64)> {
        let instants = self.lab.instants(places, cuts).expect("instants");
        let image = |nth: usize| folder.join(format!("{nth}.img"));
        let cuts: Vec<CrashCut> =
            instants.iter().enumerate().map(|(nth, &at)| CrashCut { at, image: Some(image(nth)) }).collect();
        let mut tried = Vec::new();
        let all = self.lab.try_cuts(&cuts, 1, &mut |one| {
            tried.push((one.verdict, one.image));
            true
        });
        assert!(all.expect("a session that can be replayed"), "all were tried");
        let judged = tried.into_iter().filter_map(|(verdict, image)| {
            let image: PathBuf = image?;
            let mut bytes = vec![0; USED * SECTOR];
            File::open(&image).and_then(|mut file| file.read_exact(&mut bytes)).expect("an image");
            std::fs::remove_file(image).expect("an image");
            self.bytes = bytes.len();
            let wrong = Past::behind(&self.requests, verdict.requests, self).wrong_pages(&bytes);
            Some((verdict, wrong))
        });
        judged.collect()
    }
}

/// Layers that give up what is trimmed, and one that does not.
const LAYERS: &[(&str, &str)] = &[("page", "scan"), ("page", "summary"), ("page", "checkpoint"), ("nftl", "scan")];

/// Calls `judge` with the verdicts of each device: these layers, each kind of buffer, sessions with many trims and with
/// none.
fn of_devices(
    layers: &[(&'static str, &'static str)],
    further: &[(&'static str, &'static str)],
    judge: impl Fn(&str, &[(CrashVerdict, u64)]),
) {
    let folder = std::env::temp_dir().join(format!("pumice-images-{}-{}", std::process::id(), further.len()));
    std::fs::create_dir_all(&folder).expect("a folder");
    for (nth, &(kind, recovery)) in layers.iter().enumerate() {
        for (buffer, flush, trims) in [("0", "eager", 5), ("64", "lru", 5), ("32", "eager", 9), ("64", "lru", 0)] {
            let sets = [
                ("ftl.kind", kind),
                ("ftl.recovery", recovery),
                ("ftl.over_provisioning", "0.3"),
                ("host.write_buffer_kib", buffer),
                ("host.flush", flush),
            ];
            let sets = [&sets, further].concat();
            let mut device = JudgedDevice::new(&sets, session(nth as u64, trims, PAGE_SECTORS));
            for places in CutPlaces::ALL.iter().copied() {
                judge(&format!("{sets:?}, {places}"), &device.judged(places, 10, &folder));
            }
        }
    }
    std::fs::remove_dir_all(folder).expect("a folder");
}

#[test]
fn c110_an_image_is_what_the_host_was_promised_and_the_lab_says_so() {
    // Images were once filled as if trims had no numbers: behind the first trim every sector came from one place before.
    of_devices(LAYERS, &[], |what, judged| {
        assert!(judged.len() > 7, "{what}");
        for (verdict, wrong) in judged {
            assert!(verdict.is_kept() && *wrong == 0, "{what}: {wrong} pages are wrong by their bytes; {verdict:?}");
        }
    });
}

#[test]
fn c111_of_a_drive_that_fails_the_lab_finds_as_many_wrong_pages_as_the_bytes_show() {
    for failing in [
        ("power.failure", "bit-corruption"),
        ("power.failure", "shorn-writes"),
        ("power.failure", "flying-writes"),
        ("power.failure", "unserializable-writes"),
    ] {
        let found = std::cell::Cell::new(0);
        of_devices(&LAYERS[..1], &[failing], |what, judged| {
            for (verdict, wrong) in judged {
                let pages = verdict.pages;
                let read = pages.rolled_back + pages.lost + pages.shorn + pages.foreign + pages.corrupt;
                // Sectors that cannot be read are zeroes in an image, which may be right by their bytes.
                assert!((read..=read + pages.unreadable).contains(wrong), "{what}: {wrong} by the bytes, {verdict:?}");
                found.set(found.get() + wrong);
            }
        });
        assert!(found.get() > 20, "{failing:?}: {} pages", found.get());
    }
}
