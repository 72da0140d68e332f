//! Power cuts of a device with many requests under way: what it returns afterwards is judged from the bytes, by the times at
//! which requests began and were done, and by nothing that the engine knows of promises.

use pumice_config::SpecSource;
use pumice_types::Choice;
use pumice_workload::RandomStream;

use super::*;
use crate::device::pages::ServedPages;
use crate::recording::spec::served_config;

const SECTOR: u32 = 512;

/// Sectors that are used: few pages, so that requests meet.
const SECTORS: u64 = 480;

/// Operations between two cuts.
const OPERATIONS: u64 = 90;

/// A write or trim of a sector. Number 0 leaves zeroes.
#[derive(Clone, Copy, Debug)]
struct SectorDeed {
    number: u64,
    began: Time,
    /// When it was done; `Time(u64::MAX)` if it never was.
    done: Time,
    is_promised: bool,
}

/// What a client has asked for.
#[derive(Clone, Copy, Debug)]
struct AskedDeed {
    kind: RequestKind,
    place: Place,
    number: u64,
    fua: bool,
}

/// What the device promises by the end of requests.
#[derive(Clone, Copy)]
struct Keeps {
    /// Writes are kept.
    writes: bool,
    /// Trims are kept.
    trims: bool,
}

/// A client that keeps many requests under way, and remembers what came of them.
struct Client {
    keeps: Keeps,
    asked: Vec<AskedDeed>,
    deeds: Vec<Vec<SectorDeed>>,
}

fn filled(number: u64, bytes: u32) -> Vec<u8> {
    number.to_le_bytes().into_iter().cycle().take(bytes as usize).collect()
}

fn sectors(place: Place) -> std::ops::Range<usize> {
    let first = (place.offset / u64::from(SECTOR)) as usize;
    first..first + (place.bytes / SECTOR) as usize
}

impl Client {
    fn begin(&mut self, device: &mut Device<usize>, asked: AskedDeed) {
        let AskedDeed { kind, place, number, fua } = asked;
        let operation = match kind {
            RequestKind::Write => ClientOperation::Write { place, data: filled(number, place.bytes), fua },
            RequestKind::Trim => ClientOperation::Trim { place, fua },
            RequestKind::Flush => ClientOperation::Flush,
            RequestKind::Read => ClientOperation::Read(place),
            RequestKind::Zone(_) => unreachable!("no such request is drawn"),
        };
        let to = self.asked.len();
        self.asked.push(asked);
        device.begin(operation, to);
        self.take(device);
    }

    /// Takes what is done, or was ended by a cut. Returns what the last read has returned.
    fn take(&mut self, device: &mut Device<usize>) -> Option<Vec<u8>> {
        let mut read = None;
        while let Some(DoneOperation { to, reply, began, at, .. }) = device.take_done(Time(u64::MAX)) {
            let AskedDeed { kind, place, number, fua } = self.asked[to];
            let done = match reply {
                Reply::Data(_, data) => {
                    read = Some(data);
                    continue;
                }
                Reply::Done => at,
                Reply::Status(_) | Reply::Failed(_) => Time(u64::MAX),
            };
            let is_done = done == at;
            match kind {
                RequestKind::Flush if is_done => self.promise_before(began),
                RequestKind::Write | RequestKind::Trim => {
                    let by_end = if kind == RequestKind::Write { self.keeps.writes } else { self.keeps.trims };
                    let deed = SectorDeed { number, began, done, is_promised: is_done && (fua || by_end) };
                    sectors(place).for_each(|sector| self.deeds[sector].push(deed));
                }
                RequestKind::Flush | RequestKind::Read | RequestKind::Zone(_) => {}
            }
        }
        read
    }

    /// A flush that began at an instant is done.
    fn promise_before(&mut self, flush: Time) {
        for deed in self.deeds.iter_mut().flatten().filter(|deed| deed.done <= flush) {
            deed.is_promised = true;
        }
    }

    /// Judges what a sector holds behind a cut, and goes on with it.
    fn judge(&mut self, sector: usize, number: u64, now: Time, what: &str) {
        let deeds = &mut self.deeds[sector];
        let never = SectorDeed { number: 0, began: Time::ZERO, done: Time::ZERO, is_promised: true };
        let is_replaced = |of: &SectorDeed| deeds.iter().any(|by| by.is_promised && by.began > of.done);
        let is_allowed = [never].iter().chain(deeds.iter()).any(|deed| deed.number == number && !is_replaced(deed));
        assert!(is_allowed, "{what}: sector {sector} holds {number} of {deeds:?}");
        *deeds = vec![SectorDeed { number, began: now, done: now, is_promised: true }];
    }

    /// Reads everything back and judges it.
    fn judge_all(&mut self, device: &mut Device<usize>, what: &str) {
        let place = Place { offset: 0, bytes: SECTORS as u32 * SECTOR };
        self.begin(device, AskedDeed { kind: RequestKind::Read, place, number: 0, fua: false });
        device.complete();
        let data = self.take(device).unwrap_or_else(|| panic!("{what}: {:?}", device.failure()));
        let now = device.now();
        for (sector, bytes) in data.chunks(SECTOR as usize).enumerate() {
            let number = u64::from_le_bytes(bytes[..8].try_into().expect("8 bytes"));
            assert!(bytes == filled(number, SECTOR), "{what}: sector {sector} is of several writes");
            self.judge(sector, number, now, what);
        }
    }
}

/// What the client asks for next.
fn drawn(random: &mut RandomStream, page: u64, trims: bool) -> (RequestKind, Place, bool) {
    let per_page = page / u64::from(SECTOR);
    let kind = match random.below(16) {
        0..2 => RequestKind::Flush,
        2..6 if trims => RequestKind::Trim,
        _ => RequestKind::Write,
    };
    let is_whole = kind == RequestKind::Trim || random.below(3) == 0;
    let unit = if is_whole { per_page } else { 1 };
    let first = random.below(SECTORS / unit - 3) * unit;
    let count = (1 + random.below(3)) * unit;
    let place = Place { offset: first * u64::from(SECTOR), bytes: count as u32 * SECTOR };
    (kind, place, kind == RequestKind::Write && random.below(8) == 0)
}

/// Cuts the power of a device often while many requests are under way.
fn cut_often(sets: &[(&str, &str)], seed: u64, cuts: u64) {
    let what = format!("{sets:?}, {seed}");
    let given = sets.iter().map(|(key, value)| (key.to_string(), value.to_string())).collect();
    let source = SpecSource { preset: Some("tiny".into()), sets: given, ..SpecSource::default() };
    let config = served_config(&source, None).unwrap_or_else(|error| panic!("{what}: {error}"));
    let page = u64::from(config.mapped_page_bytes());
    let is_full = sets.contains(&("power.protection", "full"));
    // Mapping units gather in RAM even without a write buffer.
    let gathers = config.assumed_chip().units.per_page > 1 || config.host.write_buffer_kib > 0;
    let keeps = Keeps { writes: is_full || !gathers, trims: is_full };
    let trims = config.ftl.kind.facts().gives_up_trimmed && !config.forgets_trims();
    let path = DataPath::new(config.mapped_page_bytes(), ServedPages::default());
    let mut device: Device<usize> = Device::new(&config, 1.0, path, Kept::default(), &|| true).expect("a device");
    let mut random = RandomStream::new(seed, "durability");
    let mut client = Client { keeps, asked: Vec::new(), deeds: vec![Vec::new(); SECTORS as usize] };
    let mut number = 0;
    for _ in 0..cuts {
        for _ in 0..1 + random.below(OPERATIONS) {
            let wait = if random.below(6) == 0 { 3_000_000 } else { 60_000 };
            let now = if client.asked.is_empty() { Time::ZERO } else { device.now() + Time(random.below(wait)) };
            device.advance(now);
            client.take(&mut device);
            let (kind, place, fua) = drawn(&mut random, page, trims);
            number += 1;
            let number = if kind == RequestKind::Trim { 0 } else { number };
            client.begin(&mut device, AskedDeed { kind, place, number, fua });
        }
        device.advance(device.now() + Time(random.below(900_000)));
        client.take(&mut device);
        device.cut().unwrap_or_else(|error| panic!("{what}: {error}"));
        client.take(&mut device);
        client.judge_all(&mut device, &what);
    }
    device.finish().unwrap_or_else(|error| panic!("{what}: {error}"));
}

#[test]
fn s165_what_was_promised_while_many_requests_were_under_way_outlasts_cuts() {
    let buffers = [("0", "eager"), ("16", "lru"), ("64", "lru"), ("64", "eager")];
    let units: &[(&str, &str)] = &[("ftl.map_unit_bytes", "1024"), ("timing.copyback", "false")];
    let layers = [
        ("page", "scan", &[][..]),
        ("page", "summary", &[]),
        ("page", "checkpoint", &[]),
        ("nftl", "scan", &[]),
        ("log-block", "scan", &[]),
        ("page", "scan", units),
    ];
    let mut seed = 0;
    for (kind, recovery, more) in layers {
        for (buffer, flush) in buffers {
            for &protection in pumice_ftl::CutProtection::NAMES {
                let sets = [
                    ("ftl.kind", kind),
                    ("ftl.recovery", recovery),
                    ("ftl.over_provisioning", "0.3"),
                    ("host.write_buffer_kib", buffer),
                    ("host.flush", flush),
                    ("power.protection", protection),
                    ("run.check", "integrity"),
                ];
                seed += 1;
                cut_often(&[&sets[..], more].concat(), seed, 12);
            }
        }
    }
}
