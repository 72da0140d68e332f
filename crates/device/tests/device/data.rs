//! Bytes of a device that keeps them. What reads return is judged sector by sector, by the times at which requests began
//! and were done, and by nothing that the device knows.

use std::collections::HashMap;

use pumice_device::{Device, DeviceError, DeviceRequest, RequestKind, SealKey, Status, ZoneCommand};
use pumice_workload::RandomStream;

use crate::support::{ZONE, ZONES, source};

const SECTOR: u64 = 512;

/// Sectors that are used: few pages, so that requests meet.
const SECTORS: u64 = 480;

/// A write or trim of a sector. Value 0 leaves zeroes.
#[derive(Clone, Copy, Debug)]
struct HostDeed {
    value: u64,
    began: u64,
    /// When it was done; `u64::MAX` if it never was.
    done: u64,
    is_promised: bool,
}

#[derive(Clone, Copy)]
struct AskedRequest {
    request: DeviceRequest,
    value: u64,
    began: u64,
}

/// A host that remembers what came of its requests.
#[derive(Clone)]
struct HostMemory {
    /// Writes, and trims, are kept once they are done.
    keeps: (bool, bool),
    page_bytes: u64,
    /// When the device's clock began, on the host's.
    base: u64,
    under_way: HashMap<u64, AskedRequest>,
    deeds: Vec<Vec<HostDeed>>,
    next_value: u64,
}

fn filled(value: u64, bytes: u64) -> Vec<u8> {
    value.to_le_bytes().into_iter().cycle().take(bytes as usize).collect()
}

fn sectors(request: &DeviceRequest) -> std::ops::Range<usize> {
    let first = (request.offset_bytes / SECTOR) as usize;
    first..first + request.bytes as usize / SECTOR as usize
}

impl HostMemory {
    fn new(keeps: (bool, bool), page_bytes: u64) -> HostMemory {
        let never = HostDeed { value: 0, began: 0, done: 0, is_promised: true };
        let deeds = vec![vec![never]; SECTORS as usize];
        HostMemory { keeps, page_bytes, base: 0, under_way: HashMap::new(), deeds, next_value: 1 }
    }

    fn submit(&mut self, device: &mut Device, now: u64, request: DeviceRequest) {
        let is_write = request.kind == RequestKind::Write;
        let value = if is_write { self.next_value } else { 0 };
        self.next_value += u64::from(is_write);
        let data = if is_write { filled(value, request.bytes.into()) } else { Vec::new() };
        let id = device.submit_data(now, &request, &data).expect("legal");
        self.under_way.insert(id, AskedRequest { request, value, began: self.base + now });
        let deed = HostDeed { value, began: self.base + now, done: u64::MAX, is_promised: false };
        self.changed(&request).for_each(|sector| self.deeds[sector].push(deed));
    }

    /// Sectors that a request changes. A trim gives up the pages that it covers whole.
    fn changed(&self, request: &DeviceRequest) -> std::ops::Range<usize> {
        let (own, per_page) = (sectors(request), (self.page_bytes / SECTOR) as usize);
        match request.kind {
            RequestKind::Write => own,
            RequestKind::Trim => own.start.next_multiple_of(per_page)..own.end / per_page * per_page,
            RequestKind::Read | RequestKind::Flush | RequestKind::Zone(_) => 0..0,
        }
    }

    fn take(&mut self, device: &mut Device, what: &str) {
        for done in device.take_completions().collect::<Vec<_>>() {
            let asked = self.under_way.remove(&done.id).expect("was asked for");
            let (kind, fua) = (asked.request.kind, asked.request.fua);
            let data = device.take_data(done.id);
            assert!(device.take_data(done.id).is_none(), "taken once");
            assert_eq!(data.is_some(), kind == RequestKind::Read && done.status == Status::Done, "{what}");
            match kind {
                _ if done.status == Status::PowerLost => {}
                RequestKind::Read => self.judge_read(&asked, self.base + done.at_ns, &data.unwrap_or_default(), what),
                RequestKind::Flush => {
                    let is_covered = |deed: &&mut HostDeed| deed.done <= asked.began;
                    self.deeds.iter_mut().flatten().filter(is_covered).for_each(|deed| deed.is_promised = true);
                }
                RequestKind::Write | RequestKind::Trim => {
                    let is_promised = fua || if kind == RequestKind::Write { self.keeps.0 } else { self.keeps.1 };
                    let is_own = |deed: &&mut HostDeed| {
                        (deed.value, deed.began, deed.done) == (asked.value, asked.began, u64::MAX)
                    };
                    for sector in self.changed(&asked.request) {
                        let own = self.deeds[sector].iter_mut().find(is_own).expect("was noted");
                        (own.done, own.is_promised) = (self.base + done.at_ns, is_promised);
                    }
                }
                RequestKind::Zone(_) => unreachable!("none is drawn"),
            }
        }
    }

    /// The value of each sector; each is of one write.
    fn values<'a>(&self, data: &'a [u8], what: &'a str) -> impl Iterator<Item = u64> + use<'a> {
        data.chunks(SECTOR as usize).map(move |sector| {
            let value = u64::from_le_bytes(sector[..8].try_into().expect("8 bytes"));
            assert!(sector == filled(value, SECTOR), "{what}: a sector is of several writes");
            value
        })
    }

    /// While power lasts, a read returns no write that another one had replaced when the read began.
    fn judge_read(&self, asked: &AskedRequest, done: u64, data: &[u8], what: &str) {
        assert_eq!(data.len(), asked.request.bytes as usize);
        for (sector, value) in sectors(&asked.request).zip(self.values(data, what)) {
            let deeds = &self.deeds[sector];
            let is_replaced = |of: &HostDeed| deeds.iter().any(|by| by.done <= asked.began && by.began > of.done);
            let is_allowed = |deed: &HostDeed| deed.value == value && deed.began <= done && !is_replaced(deed);
            assert!(deeds.iter().any(is_allowed), "{what}: sector {sector} reads {value} of {deeds:?}");
        }
    }

    /// Reads everything back behind a cut: no sector holds what a promised write had replaced. What it holds now, it
    /// holds for good.
    fn judge_all(&mut self, device: &mut Device, what: &str) {
        self.under_way.clear();
        let (data, now) = (everything(device), self.base + device.now());
        for (sector, value) in self.values(&data, what).enumerate() {
            let deeds = &mut self.deeds[sector];
            let is_replaced = |of: &HostDeed| deeds.iter().any(|by| by.is_promised && by.began > of.done);
            let is_allowed = |deed: &HostDeed| deed.value == value && !is_replaced(deed);
            assert!(deeds.iter().any(is_allowed), "{what}: sector {sector} holds {value} of {deeds:?}");
            *deeds = vec![HostDeed { value, began: now, done: now, is_promised: true }];
        }
    }
}

/// Reads all sectors that are used.
fn everything(device: &mut Device) -> Vec<u8> {
    let read = DeviceRequest::read(0, (SECTORS * SECTOR) as u32);
    let id = device.submit(device.now(), &read).expect("legal");
    device.advance_for(Device::NEVER, usize::MAX).expect("time passes");
    let done = device.take_completions().find(|done| done.id == id).expect("is done");
    assert_eq!(done.status, Status::Done);
    device.take_data(id).expect("a read")
}

fn drawn(random: &mut RandomStream, page_bytes: u64, trims: bool) -> DeviceRequest {
    let per_page = page_bytes / SECTOR;
    let draw = random.below(16);
    if draw < 2 {
        return DeviceRequest::flush();
    }
    let unit = if random.below(3) == 0 { per_page } else { 1 };
    let first = random.below(SECTORS / unit - 3) * unit;
    let (offset, bytes) = (first * SECTOR, ((1 + random.below(3)) * unit * SECTOR) as u32);
    match draw {
        2..5 => DeviceRequest::read(offset, bytes),
        5..8 if trims => DeviceRequest::trim(offset, bytes),
        _ => DeviceRequest { fua: random.below(8) == 0, ..DeviceRequest::write(offset, bytes) },
    }
}

/// Random requests at random times, many under way.
fn use_device(device: &mut Device, host: &mut HostMemory, random: &mut RandomStream, trims: bool, what: &str) {
    for _ in 0..1 + random.below(70) {
        let longest = if random.below(6) == 0 { 3_000_000 } else { 60_000 };
        let now = device.now() + random.below(longest);
        device.advance(now).expect("time passes");
        host.take(device, what);
        let request = drawn(random, host.page_bytes, trims);
        host.submit(device, now, request);
        host.take(device, what);
    }
}

fn use_often(sets: &[(&str, &str)], seed: u64, rounds: u64) {
    let what = &format!("{sets:?}, {seed}");
    let source = source(sets);
    let config = pumice_config::Config::resolve(&source).expect("a spec");
    let page_bytes = u64::from(config.mapped_page_bytes());
    let is_full = sets.contains(&("power.protection", "full"));
    let gathers = config.assumed_chip().units.per_page > 1 || config.host.write_buffer_kib > 0;
    let trims = config.ftl.kind.facts().gives_up_trimmed && !config.forgets_trims();
    let mut device = Device::open_with_data(&source).expect("a device");
    let mut host = HostMemory::new((is_full || !gathers, is_full), page_bytes);
    let mut random = RandomStream::new(seed, "data");
    let file = std::env::temp_dir().join(format!("pumice-device-data-{}-{seed}", std::process::id()));
    for round in 0..rounds {
        use_device(&mut device, &mut host, &mut random, trims, what);
        let mut fork = (device.fork().expect("a copy"), host.clone());
        use_device(&mut device, &mut host, &mut random, trims, what);
        use_device(&mut fork.0, &mut fork.1, &mut random, trims, what);
        if round % 2 == 0 {
            std::mem::swap(&mut device, &mut fork.0);
            std::mem::swap(&mut host, &mut fork.1);
        }
        let at = device.now() + random.below(900_000);
        device.cut(at).expect("it can start again");
        host.take(&mut device, what);
        let started = device.restart(device.now() + random.below(1_000_000));
        started.unwrap_or_else(|error| panic!("{what}: {error}"));
        host.judge_all(&mut device, what);
        if round % 3 == 2 {
            let key = SealKey::of(b"a key of the tests, 32 bytes or so");
            use_device(&mut device, &mut host, &mut random, trims, what);
            device.advance_for(Device::NEVER, usize::MAX).expect("time passes");
            host.take(&mut device, what);
            device.snapshot(&file, &key).expect("is written");
            let mut other = Device::open_snapshot(&source, &file, &key).expect("is read");
            host.base += device.now();
            assert!(everything(&mut device) == everything(&mut other), "{what}");
            device = other;
            std::fs::remove_file(&file).expect("was written");
        }
    }
    device.finish().unwrap_or_else(|error| panic!("{what}: {error}"));
}

#[test]
fn a018_reads_return_what_was_written_through_forks_cuts_and_snapshots() {
    let units: &[(&str, &str)] = &[("ftl.map_unit_bytes", "1024"), ("timing.copyback", "false")];
    let layers =
        [("page", "scan", &[][..]), ("page", "checkpoint", &[]), ("nftl", "scan", &[]), ("page", "scan", units)];
    let mut seed = 0;
    for (kind, recovery, more) in layers {
        for (buffer, flush, protection) in [("0", "eager", "none"), ("64", "lru", "none"), ("16", "lru", "full")] {
            let sets = [
                ("ftl.kind", kind),
                ("ftl.recovery", recovery),
                ("ftl.over_provisioning", "0.3"),
                ("host.partial_page", "rmw"),
                ("host.write_buffer_kib", buffer),
                ("host.flush", flush),
                ("power.protection", protection),
                ("run.check", "integrity"),
                ("initial.fill", "0.8"),
                ("initial.age_writes", "0.5"),
            ];
            seed += 1;
            use_often(&[&sets[..], more].concat(), seed, 6);
        }
    }
}

#[test]
fn a019_zones_keep_what_they_took_and_nothing_of_what_they_refused() {
    let mut device = Device::open_with_data(&source(ZONES)).expect("a device");
    let mut random = RandomStream::new(5, "zones");
    // What each page of four zones holds.
    let (pages, mut held) = (ZONE / 4096, vec![Vec::<u64>::new(); 4]);
    for value in 1..3_000u64 {
        let zone = random.below(4);
        let (at, own) = (zone * ZONE, &mut held[zone as usize]);
        let (request, is_taken) = match random.below(if own.len() as u64 == pages { 2 } else { 64 }) {
            0 => (DeviceRequest::zone(ZoneCommand::Reset, at, 0), true),
            1 if !own.is_empty() => (DeviceRequest::write(at + random.below(own.len() as u64) * 4096, 4096), false),
            draw if draw % 2 == 0 => (DeviceRequest::zone(ZoneCommand::Append, at, 4096), (own.len() as u64) < pages),
            _ => (DeviceRequest::write(at + own.len() as u64 * 4096, 4096), (own.len() as u64) < pages),
        };
        let data = if request.bytes > 0 { filled(value, 4096) } else { Vec::new() };
        let id = device.submit_data(device.now(), &request, &data).expect("legal");
        device.advance_for(Device::NEVER, usize::MAX).expect("time passes");
        let done = device.take_completions().find(|done| done.id == id).expect("is done");
        assert_eq!(done.status == Status::Done, is_taken, "{request:?}: {:?}", done.status);
        if request.kind == RequestKind::Zone(ZoneCommand::Reset) {
            own.clear();
        } else if is_taken {
            assert_eq!(done.offset_bytes, at + own.len() as u64 * 4096);
            own.push(value);
        }
        if value % 50 == 0 {
            for (zone, own) in held.iter().enumerate() {
                let read = DeviceRequest::read(zone as u64 * ZONE, ZONE as u32);
                let id = device.submit(device.now(), &read).expect("legal");
                device.advance_for(Device::NEVER, usize::MAX).expect("time passes");
                device.take_completions().for_each(drop);
                let data = device.take_data(id).expect("a read");
                for (nth, page) in data.chunks(4096).enumerate() {
                    assert!(page == filled(own.get(nth).copied().unwrap_or(0), 4096), "page {nth} of zone {zone}");
                }
            }
        }
    }
}

#[test]
fn a020_bytes_that_do_not_fit_their_request_are_refused_and_change_nothing() {
    let mut device = Device::open_with_data(&source(&[("host.partial_page", "rmw")])).expect("a device");
    let write = DeviceRequest::write(4096, 4096);
    let first = device.submit_data(0, &write, &filled(7, 4096)).expect("legal");
    let refused = [
        device.submit(0, &write).expect_err("no bytes"),
        device.submit_data(0, &write, &[1; 4095]).expect_err("too few"),
        device.submit_data(0, &DeviceRequest::read(0, 512), &[1]).expect_err("a read has none"),
        device.submit_data(0, &DeviceRequest::write(1, 512), &[1; 512]).expect_err("inside a sector"),
        device.submit(0, &DeviceRequest::read(0, 100)).expect_err("a part of a sector"),
    ];
    assert!(refused[..3].iter().all(|error| matches!(error, DeviceError::Data { .. })));
    assert!(refused[3..].iter().all(|error| matches!(error, DeviceError::Units { .. })));
    assert!(refused.iter().all(|error| !error.to_string().contains('\n')));
    let id = device.submit(5_000_000, &DeviceRequest::read(3584, 1024)).expect("legal");
    assert_eq!(id, first + 1);
    assert!(device.take_data(id).is_none(), "is not done");
    device.advance_for(Device::NEVER, usize::MAX).expect("time passes");
    assert_eq!(device.data(id).map(|data| [data[511], data[512]]), Some([0, 7]));
    assert!(device.take_data(first).is_none() && device.take_data(99).is_none());

    let mut without = Device::open(&source(&[])).expect("a device");
    let error = without.submit_data(0, &write, &[1; 4096]).expect_err("keeps none");
    assert!(matches!(error, DeviceError::NoData) && without.take_data(0).is_none());
    let failing = source(&[
        ("power.failure", "shorn-writes"),
        ("ftl.kind", "page"),
        ("ftl.recovery", "scan"),
        ("ftl.over_provisioning", "0.3"),
    ]);
    let text = Device::open(&failing).map(|_| ()).expect_err("keeps no bytes").to_string();
    assert!(text.contains("power.failure") && text.contains("opened with data"), "{text}");
    let whole = source(&[("host.partial_page", "whole-page")]);
    let mut device = Device::open_with_data(&whole).expect("a device");
    let part =
        device.submit_data(0, &DeviceRequest::write(512, 512), &[1; 512]).expect_err("loses the rest of its page");
    assert!(matches!(part, DeviceError::Units { unit: 4096, .. }), "{part}");
    device.submit(0, &DeviceRequest::read(512, 512)).expect("legal");
}

/// A drive that fails, with so many pages written, of which the nth holds 1 + n.
fn failing(failure: &str, recovery: &str, seed: u64, writes: u64) -> Device {
    let seed = seed.to_string();
    let sets = [
        ("ftl.kind", "page"),
        ("ftl.recovery", recovery),
        ("ftl.over_provisioning", "0.3"),
        ("power.failure", failure),
        ("geometry.pages_per_block", "16"),
        ("seed", &seed),
    ];
    let mut device = Device::open_with_data(&source(&sets)).expect("a device");
    for nth in 0..writes {
        let write = DeviceRequest::write(nth * 4096, 4096);
        device.submit_data(device.now(), &write, &filled(1 + nth, 4096)).expect("legal");
    }
    device.advance_for(Device::NEVER, usize::MAX).expect("time passes");
    device.take_completions().for_each(drop);
    device
}

/// How the pages read that [`failing`] wrote: with one wrong byte, and not at all.
fn damaged(device: &mut Device, writes: u64) -> [u32; 2] {
    let read = |nth| DeviceRequest::read(nth * 4096, 4096);
    let ids: Vec<u64> = (0..writes).map(|nth| device.submit(device.now(), &read(nth)).expect("legal")).collect();
    device.advance_for(Device::NEVER, usize::MAX).expect("time passes");
    let done: HashMap<u64, Status> = device.take_completions().map(|done| (done.id, done.status)).collect();
    let mut seen = [0; 2];
    for (nth, id) in (0..).zip(ids) {
        match (done[&id], device.take_data(id)) {
            (Status::Done, Some(data)) => {
                let wrong = data.iter().zip(filled(1 + nth, 4096)).filter(|(found, wrote)| **found != *wrote);
                seen[0] += u32::from(wrong.count() == 1);
            }
            (Status::Unreadable, None) => seen[1] += 1,
            other => panic!("{other:?}"),
        }
    }
    seen
}

/// Reads of a drive that fails return what a code did not notice, or no page, or nothing is ever read again.
#[test]
fn a021_drives_that_fail_damage_bytes_or_start_no_more() {
    let mut seen = [[0; 2]; 2];
    let mut dead = 0;
    for nth in 0..24 {
        let writes = 100 + nth * 4;
        for (kind, (failure, recovery)) in
            [("bit-corruption", "scan"), ("unserializable-writes", "summary")].into_iter().enumerate()
        {
            let mut device = failing(failure, recovery, nth, writes);
            let at = device.now() + 1;
            device.cut(at).expect("it can start again");
            device.restart(at).expect("it starts");
            let found = damaged(&mut device, writes);
            (0..2).for_each(|of| seen[kind][of] += found[of]);
        }
        let mut device = failing("dead-device", "scan", nth, writes);
        let at = device.now() + 1;
        device.cut(at).expect("it can start again");
        if let Err(error) = device.restart(at) {
            assert!(error.to_string().contains("does not start any more"), "{error}");
            assert!(matches!(device.submit(at, &DeviceRequest::flush()), Err(DeviceError::Ended)));
            dead += 1;
        }
    }
    let [[wrong, none], [_, unreadable]] = seen;
    assert!(wrong > 0 && none == 0 && unreadable > 0 && dead > 0 && dead < 24, "{seen:?}, {dead}");
}
