//! 83x: the power is cut on devices with a volatile write buffer, and with trims, as in [`crate::power`]. What was flushed,
//! or written with force unit access, is still there.

use pumice_engine::Session;
use pumice_engine::observe::ObserverRef;
use pumice_ftl::FtlKind;
use pumice_types::{HostRequest, Lpn, RequestKind, Time};

use crate::power::{Fault, Sets, all_are_noticed, cut_everywhere, fails, sampled};
use crate::power_layers::{all_keep_their_promises, combinations, cut_in_a_row, cut_often, fails_soon};
use crate::support::{document, number, spec};

/// A small buffer, that flushes and full places empty; and writes of parts of pages, which read the old copy.
pub const BUFFERED: &[(&str, &str)] = &[
    ("host.write_buffer_kib", "32"),
    ("host.flush", "lru"),
    ("workload.requests", "800"),
    ("workload.flush_every", "9"),
    ("workload.fua_fraction", "0.1"),
    ("workload.request_sizes", "[2048, 4096, 12288]"),
];

/// A write buffer whose pages are programmed as soon as they are there, and flushed seldom.
pub const EAGER: &[(&str, &str)] = &[
    ("host.write_buffer_kib", "64"),
    ("host.flush", "eager"),
    ("workload.requests", "320"),
    ("workload.flush_every", "40"),
    ("workload.fua_fraction", "0.3"),
];

/// Devices of these layers with a write buffer.
pub fn buffered(is_wanted: impl Fn(FtlKind) -> bool) -> Vec<Sets<'static>> {
    let all = combinations();
    let layers = all.iter().filter(|layer| is_wanted(layer.kind));
    layers.flat_map(|layer| [layer.device(BUFFERED), layer.device(EAGER)]).collect()
}

fn is_simple(kind: FtlKind) -> bool {
    [FtlKind::Page, FtlKind::LogBlock].contains(&kind)
}

#[test]
fn t833_what_was_flushed_or_written_through_outlasts_a_cut_anywhere() {
    let met = all_keep_their_promises(buffered(is_simple), |device| cut_everywhere(device, sampled(3, 97), false));
    assert!(met.cuts > 950 && met.programs > 300 && met.erases > 60, "{met:?}");
}

#[test]
fn t834_and_drawn_cuts_of_every_layer() {
    let met = all_keep_their_promises(buffered(|_| true), cut_often);
    assert!(met.cuts > 5_000 && met.programs > 5_000 && met.erases > 1_000, "{met:?}");
}

/// Faults that only a write buffer can have.
pub const OF_BUFFERS: &[Fault] = &["flush-done-early", "unit-access-ignored"];

#[test]
#[ignore = "needs faulty sources: make faults"]
fn t835_every_fault_of_a_write_buffer_is_noticed() {
    let devices = buffered(is_simple);
    for fault in OF_BUFFERS.iter().copied().chain(["acknowledged-early"]) {
        assert!(devices.iter().any(|device| fails(fault, device, 61, false)), "{fault} is not noticed");
    }
}

/// Trims among the writes, and flushes that promise them.
const TRIMS: &[(&str, &str)] =
    &[("workload.trim_fraction", "0.3"), ("workload.flush_every", "7"), ("workload.requests", "400")];

/// What else such devices may have: a write buffer; flushes so seldom that trims are written down between them; or parts
/// of blocks that are erased apart, which need that way of recovery.
const BESIDE_TRIMS: [&[(&str, &str)]; 4] = [
    &[],
    &[("host.write_buffer_kib", "16")],
    &[
        ("workload.flush_every", "300"),
        ("ftl.allocation", "static"),
        ("ftl.hot_cold", "recency"),
        ("ftl.over_provisioning", "0.65"),
        ("geometry.blocks_per_plane", "24"),
    ],
    &[
        ("geometry.pages_per_block", "16"),
        ("geometry.layers", "4"),
        ("geometry.sub_blocks", "4"),
        ("partial_erase.unit", "sub-block"),
        ("ftl.erase_unit", "sub-block"),
        ("ftl.hot_cold", "gc"),
        ("ftl.recovery", "scan"),
    ],
];

/// A page-level layer that writes down what is trimmed.
pub fn trimming() -> Vec<Sets<'static>> {
    let all = combinations();
    let page: Vec<Sets> =
        all.iter().filter(|layer| layer.kind.facts().writes_down_trims).map(|l| l.device(TRIMS)).collect();
    assert_eq!(page.len(), 3, "scan, summary, checkpoint");
    let of = |device: &Sets<'static>| {
        let recovery = device.iter().rev().find(|(key, _)| *key == "ftl.recovery").copied();
        let fits = BESIDE_TRIMS.into_iter().filter(move |more| {
            more.iter().find(|(key, _)| *key == "ftl.recovery").is_none_or(|wanted| Some(*wanted) == recovery)
        });
        fits.map(|more| [&device[..], more].concat()).collect::<Vec<_>>()
    };
    page.iter().flat_map(of).collect()
}

#[test]
fn t838_what_was_trimmed_and_flushed_does_not_come_back() {
    let met = all_keep_their_promises(trimming(), |device| cut_everywhere(device, sampled(7, 61), false));
    assert!(met.cuts > 400 && met.programs > 300, "{met:?}");
    let met = all_keep_their_promises(trimming(), cut_often);
    assert!(met.cuts > 1_500 && met.programs > 1_500, "{met:?}");
    let met = all_keep_their_promises(trimming(), |device| cut_in_a_row(device, sampled(37, 211)));
    assert!(met.cuts > 500 && met.programs > 300, "{met:?}");
}

/// Faults that only a layer can have that gives up what is trimmed.
pub const OF_TRIMS: &[Fault] =
    &["trims-not-kept", "trim-pages-forgotten", "trims-outlast-writes", "trims-do-not-wait", "trimmed-at-once"];

#[test]
#[ignore = "needs faulty sources: make faults"]
fn t839_every_fault_of_trims_is_noticed() {
    let devices = trimming();
    all_are_noticed(OF_TRIMS, |fault| fails_soon(fault, &devices, sampled(3, 61)));
}

#[test]
fn t836_layers_that_keep_what_is_trimmed_keep_their_promises_with_trims() {
    let all = combinations();
    let layers = all.iter().filter(|layer| !layer.kind.facts().gives_up_trimmed);
    let devices = layers.map(|layer| layer.device(&[("workload.trim_fraction", "0.2")])).collect();
    let met = all_keep_their_promises(devices, cut_often);
    assert!(met.cuts > 1_000 && met.programs > 1_000 && met.erases > 500, "{met:?}");
}

/// Writes to one page: their bytes, and whether they have force unit access. While the first one's old copy is read, the
/// second needs none.
const TO_ONE_PAGE: [&[(u32, bool)]; 2] =
    [&[(512, false), (4096, true)], &[(512, false), (4096, false), (1024, true), (4096, true)]];

#[test]
fn t837_programs_of_one_page_keep_the_order_of_its_writes_while_an_old_copy_is_being_read() {
    let device = [
        ("ftl.kind", "page"),
        ("ftl.recovery", "scan"),
        ("ftl.over_provisioning", "0.25"),
        ("initial.fill", "0.9"),
        ("host.write_buffer_kib", "64"),
        ("run.check", "integrity"),
        ("power.torn", "old"),
        ("host.partial_page", "rmw"),
    ];
    let config = spec(&device);
    let write = |nth: u64, (bytes, fua): (u32, bool)| {
        let (arrival, kind) = (Time(1000 * nth), RequestKind::Write);
        HostRequest { arrival, offset_bytes: 0, bytes, kind, fua, stream: 0, flow: 0 }
    };
    let cuts = TO_ONE_PAGE.iter().flat_map(|writes| (1..=writes.len() as u64).map(move |done| (*writes, done)));
    for (writes, acknowledged) in cuts {
        let mut session = Session::new(&config, 1.0, ObserverRef::nobody()).expect("a device");
        for (nth, of_write) in (0..).zip(writes) {
            let write = write(nth, *of_write);
            while session.run_until(write.arrival).expect("no rule is broken") {}
            session.submit(&write, write.arrival).expect("no rule is broken");
        }
        let mut done = session.ssd.host.take_completed();
        while done < acknowledged {
            session.run_until(Time::NEVER).expect("no rule is broken");
            done += session.ssd.host.take_completed();
        }
        session.cut_power(session.ssd.now + Time(1)).expect("recovers");
        assert_eq!(session.ssd.power.broken_promises, 0, "{writes:?}, when {done} are done");
    }
}

#[test]
fn t975_a_device_far_behind_its_host_is_not_convicted_for_the_length_of_its_queue() {
    // The oracle once knew the last 128 versions of a page: of thousands of outstanding writes it took the oldest for lost.
    let sets = [
        ("ftl.recovery", "scan"),
        ("power.cuts", "20"),
        ("workload.kind", "zipf"),
        ("workload.mean_interarrival_us", "100"),
        ("run.check", "integrity"),
    ];
    let document = document(&sets);
    assert_eq!((number(&document, "power.cuts"), number(&document, "power.broken_promises")), (20.0, 0.0));
    assert!(number(&document, "power.failed_requests") > 1_000.0, "many are outstanding");
}

/// Requests to one page, each a while behind the one before: a write of the page, one of a part of it, and a trim.
const TRIMMED_WHILE_WRITTEN: [(RequestKind, u32, u64); 6] = [
    (RequestKind::Write, 4096, 0),
    (RequestKind::Flush, 0, 1),
    (RequestKind::Write, 512, 5_000_000),
    (RequestKind::Flush, 0, 5_001_000),
    (RequestKind::Trim, 4096, 5_002_000),
    (RequestKind::Flush, 0, 5_003_000),
];

#[test]
fn t976_a_trim_outlasts_a_program_of_its_page_that_had_begun_before() {
    // The program of the part, which was reading its old copy, once brought the page back behind the trim.
    for (flush, protection) in [("eager", "none"), ("lru", "none"), ("eager", "operations"), ("lru", "full")] {
        let config = spec(&[
            ("ftl.kind", "page"),
            ("ftl.recovery", "scan"),
            ("ftl.over_provisioning", "0.25"),
            ("host.write_buffer_kib", "64"),
            ("host.flush", flush),
            ("power.protection", protection),
            ("initial.fill", "0.0"),
            ("workload.trim_fraction", "0.1"),
            ("run.check", "integrity"),
        ]);
        let mut session = Session::new(&config, 1.0, ObserverRef::nobody()).expect("a device");
        for (kind, bytes, at) in TRIMMED_WHILE_WRITTEN {
            let request =
                HostRequest { arrival: Time(at), offset_bytes: 0, bytes, kind, fua: false, stream: 0, flow: 0 };
            while session.run_until(request.arrival).expect("no rule is broken") {}
            session.submit(&request, request.arrival).expect("no rule is broken");
        }
        let mut done = session.ssd.host.take_completed();
        while done < TRIMMED_WHILE_WRITTEN.len() as u64 {
            session.run_until(Time::NEVER).expect("no rule is broken");
            done += session.ssd.host.take_completed();
        }
        let is_found = |session: &Session<ObserverRef>| session.ssd.ftl().locate(Lpn(0)).is_some();
        assert!(!is_found(&session), "{flush}, {protection}");
        session.cut_power(session.ssd.now + Time(1)).expect("recovers");
        assert!(!is_found(&session), "{flush}, {protection}: behind a cut");
        assert_eq!(session.ssd.power.broken_promises, 0, "{flush}, {protection}");
    }
}
