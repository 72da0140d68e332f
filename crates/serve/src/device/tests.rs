//! Many operations under way together, by a clock that the test sets: what reads return, and what a record replays to.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use pumice_config::SpecSource;
use pumice_engine::run;
use pumice_ftl::FtlKind;
use pumice_types::Choice;
use pumice_workload::RandomStream;

use super::*;
use crate::device::pages::ServedPages;
use crate::recording::spec::served_config;

const SECTOR: u64 = 512;

/// Most requests under way before another one comes.
const DEPTH: usize = 24;

/// A write of a sector: its number, when its request came, and when it was done.
#[derive(Clone, Copy)]
struct SectorWrite {
    number: u64,
    began: Time,
    done: Time,
}

/// What a client has asked for; numbers of writes say what their sectors hold.
#[derive(Clone, Copy)]
enum CrowdRequest {
    Read(Place),
    Write(Place, u64),
    /// The whole pages of the place.
    Trim(Place),
}

/// Every write of every sector, in the order in which they were done. Number 0 is a sector of zeroes.
#[derive(Default)]
struct History(HashMap<u64, Vec<SectorWrite>>);

fn sectors(place: Place) -> std::ops::Range<u64> {
    place.offset / SECTOR..(place.offset + u64::from(place.bytes)) / SECTOR
}

fn filled(number: u64, bytes: u32) -> Vec<u8> {
    number.to_le_bytes().into_iter().cycle().take(bytes as usize).collect()
}

impl History {
    /// Whether a read that began and was done at these times may have found this number in a sector: of a write that
    /// had begun, and that no later one had replaced by then.
    fn allows(&self, sector: u64, number: u64, (began, done): (Time, Time)) -> bool {
        let never = SectorWrite { number: 0, began: Time::ZERO, done: Time::ZERO };
        let writes = || [never].into_iter().chain(self.0.get(&sector).into_iter().flatten().copied());
        let is_replaced = |of: &SectorWrite| writes().any(|by| by.began > of.done && by.done < began);
        writes().any(|write| write.number == number && write.began <= done && !is_replaced(&write))
    }

    fn note(&mut self, place: Place, write: SectorWrite) {
        sectors(place).for_each(|sector| self.0.entry(sector).or_default().push(write));
    }
}

/// A read that is done.
struct FoundData {
    place: Place,
    data: Vec<u8>,
    times: (Time, Time),
}

/// A client that keeps many requests under way.
struct Crowd {
    wanted: Vec<CrowdRequest>,
    history: History,
    found: Vec<FoundData>,
    most: usize,
}

impl Crowd {
    /// Takes what is done.
    fn take(&mut self, device: &mut Device<usize>) {
        while let Some(DoneOperation { to, reply, began, at, .. }) = device.take_done(Time(u64::MAX)) {
            match (self.wanted[to], reply) {
                (CrowdRequest::Read(place), Reply::Data(_, data)) => {
                    self.found.push(FoundData { place, data, times: (began, at) });
                }
                (CrowdRequest::Write(place, number), Reply::Done) => {
                    self.history.note(place, SectorWrite { number, began, done: at });
                }
                (CrowdRequest::Trim(place), Reply::Done) => {
                    self.history.note(place, SectorWrite { number: 0, began, done: at });
                }
                (_, reply) => panic!("{reply:?}; {:?}", device.failure()),
            }
        }
    }

    fn begin(&mut self, device: &mut Device<usize>, wanted: CrowdRequest, is_zeroes: bool) {
        let to = self.wanted.len();
        self.wanted.push(wanted);
        let operation = match wanted {
            CrowdRequest::Read(place) => ClientOperation::Read(place),
            CrowdRequest::Trim(place) => ClientOperation::Trim { place, fua: false },
            CrowdRequest::Write(place, _) if is_zeroes => {
                ClientOperation::WriteZeroes { place, stored: to.is_multiple_of(2), fua: false }
            }
            CrowdRequest::Write(place, number) => {
                ClientOperation::Write { place, data: filled(number, place.bytes), fua: to.is_multiple_of(16) }
            }
        };
        device.begin(operation, to);
        self.most = self.most.max(device.operations.under_way());
        self.take(device);
    }

    /// Reads so many sectors, one part after the other.
    fn read_back(&mut self, device: &mut Device<usize>, span: u64) {
        for first in (0..span).step_by(64) {
            let place = Place { offset: first * SECTOR, bytes: 64 * SECTOR as u32 };
            self.begin(device, CrowdRequest::Read(place), false);
            device.complete();
            self.take(device);
        }
    }

    /// Judges every read, once all is done.
    fn judge(&self, what: &str) {
        for FoundData { place, data, times } in &self.found {
            for (sector, bytes) in sectors(*place).zip(data.chunks(SECTOR as usize)) {
                let number = u64::from_le_bytes(bytes[..8].try_into().expect("8 bytes"));
                assert!(bytes == filled(number, SECTOR as u32), "{what}: sector {sector} is of several writes");
                assert!(
                    self.history.allows(sector, number, *times),
                    "{what}: a read from {:?} to {:?} found write {number} in sector {sector}",
                    times.0,
                    times.1
                );
            }
        }
    }
}

fn source(sets: &[(&str, &str)]) -> SpecSource {
    let sets = sets.iter().map(|(key, value)| (key.to_string(), value.to_string())).collect();
    SpecSource { preset: Some("tiny".into()), sets, ..SpecSource::default() }
}

/// The whole pages of a place, if there are some and the layer gives up what is trimmed.
fn whole_pages(place: Place, config: &Config) -> Option<Place> {
    let page = u64::from(config.mapped_page_bytes());
    let end = (place.offset + u64::from(place.bytes)) / page * page;
    let offset = place.offset.next_multiple_of(page);
    let drops = config.workload.trace.trims == Trims::Drop;
    (offset < end && config.ftl.kind.facts().gives_up_trimmed && !drops)
        .then(|| Place { offset, bytes: (end - offset) as u32 })
}

/// Lets a crowd use a device; returns the document, and a record's path if one is wanted.
fn crowded(sets: &[(&str, &str)], operations: u64, what: &str, record: &Path) -> (Config, Value) {
    let config = served_config(&source(sets), Some(record)).expect("a spec");
    let kept = Kept { record: Some(Record::create(record, 1.0).expect("a file")), ..Kept::default() };
    let path = DataPath::new(config.mapped_page_bytes(), ServedPages::default());
    let mut device: Device<usize> = Device::new(&config, 1.0, path, kept, &|| true).expect("a device");
    let mut random = RandomStream::new(11, what);
    let span = device.capacity() / 6 / SECTOR;
    let mut crowd = Crowd { wanted: Vec::new(), history: History::default(), found: Vec::new(), most: 0 };
    for nth in 0..operations {
        // Bursts, with a hot part that is read and written again and again.
        let wait = if nth % 50 == 0 { 20_000_000 } else { 150_000 };
        let waited = Time(random.below(wait));
        // A trace begins with its first request.
        device.advance(if nth == 0 { Time::ZERO } else { device.now() + waited });
        while let Some(next) = device.next_event().filter(|_| device.operations.under_way() > DEPTH) {
            device.advance(next);
        }
        crowd.take(&mut device);
        let hot = if random.below(3) == 0 { 64 } else { span };
        let place = Place { offset: random.below(hot) * SECTOR, bytes: (1 + random.below(40) as u32) * SECTOR as u32 };
        let (is_read, is_zeroes) = (random.below(3) == 0, random.below(16) == 0);
        let written = if is_zeroes { 0 } else { nth + 1 };
        let trimmed = whole_pages(place, &config).filter(|_| !is_zeroes && random.below(8) == 0);
        let wanted = match trimmed {
            _ if is_read => CrowdRequest::Read(place),
            Some(pages) => CrowdRequest::Trim(pages),
            None => CrowdRequest::Write(place, written),
        };
        crowd.begin(&mut device, wanted, is_zeroes);
    }
    device.complete();
    crowd.take(&mut device);
    crowd.read_back(&mut device, span);
    assert_eq!(crowd.wanted.len(), operations as usize + span.div_ceil(64) as usize);
    assert!(crowd.most > 8, "{what}: at most {} were under way together", crowd.most);
    crowd.judge(what);
    let document = device.finish().unwrap_or_else(|error| panic!("{what}: {error}")).document;
    (config, document)
}

fn temporary(name: &str) -> PathBuf {
    std::env::temp_dir().join(format!("pumice-device-{}-{}.csv", std::process::id(), name.replace(' ', "-")))
}

/// A result without what the wall's clock tells.
fn bare(mut document: Value) -> Value {
    for of_the_clock in ["run", "preset", "warnings"] {
        document.as_object_mut().expect("a document").remove(of_the_clock);
    }
    document
}

/// A crowd's reads are true, and its record replays to its result.
fn check_crowd(sets: &[(&str, &str)], operations: u64, what: &str) {
    let record = temporary(what);
    let (config, document) = crowded(sets, operations, what, &record);
    let replayed = run(&config, 1.0, &mut |_| true).unwrap_or_else(|error| panic!("{what}: {error}"));
    assert!(bare(document) == bare(replayed.document), "{what}: the record replays to another result");
    std::fs::remove_file(record).expect("was written");
}

#[test]
fn s130_with_many_requests_under_way_every_read_is_true_at_one_instant_and_a_record_replays() {
    for &kind in FtlKind::ALL {
        check_crowd(&[("ftl.kind", kind.name()), ("run.check", "integrity")], 4_000, kind.name());
    }
}

#[test]
fn s131_so_it_is_however_pages_are_written() {
    let (page, space) = (("ftl.kind", "page"), ("ftl.over_provisioning", "0.25"));
    let (units, out) = (("ftl.map_unit_bytes", "1024"), ("timing.copyback", "false"));
    let cases: &[(&str, &[(&str, &str)])] = &[
        ("reads first", &[page, space, ("host.read_priority", "true")]),
        ("reads first, nftl", &[("host.read_priority", "true"), ("ftl.merge", "m-merge")]),
        ("eager buffer", &[page, ("host.write_buffer_kib", "64")]),
        ("lru buffer", &[page, ("host.write_buffer_kib", "256"), ("host.flush", "lru")]),
        ("small buffer", &[page, space, ("host.write_buffer_kib", "8"), ("host.flush", "lru")]),
        ("nftl with a buffer", &[("host.write_buffer_kib", "128"), ("host.flush", "lru")]),
        ("cached map", &[page, space, ("ftl.map_place", "cached"), ("ftl.map_cache_entries", "512")]),
        ("background", &[page, space, ("ftl.gc_mode", "background")]),
        ("multi-plane queue", &[page, space, ("timing.multi_plane", "queue"), out]),
        ("recovery", &[page, space, ("ftl.recovery", "checkpoint")]),
        ("recovery and buffer", &[page, space, ("ftl.recovery", "scan"), ("host.write_buffer_kib", "128")]),
        (
            "protected buffer",
            &[
                page,
                space,
                ("ftl.recovery", "summary"),
                ("power.protection", "full"),
                ("host.write_buffer_kib", "128"),
                ("host.flush", "lru"),
            ],
        ),
        ("units", &[page, space, out, units]),
        ("units of sectors", &[page, space, out, ("ftl.map_unit_bytes", "512"), ("host.read_priority", "true")]),
        ("units and buffer", &[page, space, out, units, ("host.write_buffer_kib", "64"), ("host.flush", "lru")]),
        ("units, multi-plane", &[page, space, out, units, ("timing.multi_plane", "queue")]),
        ("units, recovery", &[page, space, out, units, ("ftl.recovery", "scan")]),
        ("link", &[page, ("host.link_mb_per_s", "200"), ("host.overhead_us", "5")]),
        ("link and buffer", &[page, ("host.link_mb_per_s", "200"), ("host.write_buffer_kib", "64")]),
    ];
    for (what, sets) in cases {
        check_crowd(sets, 3_000, what);
    }
}

/// What a device returns of its first page, once all is done.
fn first_page(device: &mut Device<u64>, page: u32) -> Vec<u8> {
    while device.take_done(Time(u64::MAX)).is_some() {}
    device.begin(ClientOperation::Read(Place { offset: 0, bytes: page }), 0);
    device.complete();
    match device.take_done(Time(u64::MAX)).map(|done| done.reply) {
        Some(Reply::Data(_, data)) => data,
        _ => panic!("{:?}", device.failure()),
    }
}

#[test]
fn s133_a_trim_is_not_undone_by_a_write_of_the_page_that_was_acknowledged_before() {
    // A write buffer once gave a page up only if it was not being programmed: a write of one sector, which was reading its
    // old copy, brought all of the page back behind the trim.
    let buffers: [&[(&str, &str)]; 3] = [
        &[],
        &[("host.write_buffer_kib", "64"), ("host.flush", "eager")],
        &[("host.write_buffer_kib", "64"), ("host.flush", "lru")],
    ];
    for (sets, recovery) in buffers.into_iter().flat_map(|sets| ["off", "scan"].map(|recovery| (sets, recovery))) {
        let page = [("ftl.kind", "page"), ("ftl.recovery", recovery), ("ftl.over_provisioning", "0.25")];
        let sets = [sets, &page, &[("run.check", "integrity")]].concat();
        let config = served_config(&source(&sets), None).expect("a spec");
        let page = config.mapped_page_bytes();
        let path = DataPath::new(page, ServedPages::default());
        let mut device: Device<u64> = Device::new(&config, 1.0, path, Kept::default(), &|| true).expect("a device");
        let write = |bytes: u32, number: u64| ClientOperation::Write {
            place: Place { offset: 0, bytes },
            data: filled(number, bytes),
            fua: false,
        };
        device.begin(write(page, 1), 0);
        device.begin(ClientOperation::Flush, 0);
        device.complete();
        device.begin(write(SECTOR as u32, 2), 0);
        device.begin(ClientOperation::Flush, 0);
        device.advance(device.now() + Time(1000));
        device.begin(ClientOperation::Trim { place: Place { offset: 0, bytes: page }, fua: false }, 0);
        device.begin(ClientOperation::Flush, 0);
        device.complete();
        let found = first_page(&mut device, page);
        // Without a buffer the write is not acknowledged before the trim comes, and may count as the later one.
        let sector = &found[..SECTOR as usize];
        assert!(
            sector == filled(0, SECTOR as u32) || host_waits(&sets) && sector == filled(2, SECTOR as u32),
            "{sets:?}"
        );
        assert!(found[SECTOR as usize..].iter().all(|&byte| byte == 0), "{sets:?}: the rest was trimmed");
        device.finish().unwrap_or_else(|error| panic!("{sets:?}: {error}"));
    }
}

/// Whether writes are acknowledged only when they are programmed.
fn host_waits(sets: &[(&str, &str)]) -> bool {
    !sets.iter().any(|(key, _)| *key == "host.write_buffer_kib")
}

#[test]
fn s132_requests_under_way_together_are_served_together() {
    let config = served_config(&source(&[("ftl.kind", "page")]), None).expect("a spec");
    let path = DataPath::new(config.mapped_page_bytes(), ServedPages::default());
    let mut device: Device<u64> = Device::new(&config, 1.0, path, Kept::default(), &|| true).expect("a device");
    let page = u64::from(config.mapped_page_bytes());
    let mut took = |pages: std::ops::Range<u64>, together: bool| {
        let began = device.now();
        for nth in pages {
            let place = Place { offset: nth * page, bytes: page as u32 };
            device.begin(ClientOperation::Write { place, data: vec![1; page as usize], fua: false }, nth);
            if !together {
                device.complete();
            }
        }
        device.complete();
        device.now() - began
    };
    let (alone, together) = (took(0..4, false), took(4..8, true));
    assert!(together * 3 <= alone * 2, "{together:?} against {alone:?}");
}
