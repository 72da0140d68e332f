//! A device in another program: it runs what a run runs, whatever the steps in which its time passes; it refuses calls
//! that make no sense; its copies go on alone.

use pumice_config::Config;
use pumice_device::{Device, DeviceCompletion, DeviceError, DeviceRequest, SpecSource, Status, ZoneCommand, ZoneError};
use pumice_engine::{open_workload, run};
use pumice_ftl::FtlKind;
use pumice_types::{Choice, HostRequest};
use pumice_workload::RandomStream;
use serde_json::Value;

/// A load that makes every layer collect, at a rate that keeps requests waiting.
const LOAD: &[(&str, &str)] = &[
    ("workload.kind", "hot-cold"),
    ("workload.requests", "1500"),
    ("workload.request_bytes", "6144"),
    ("workload.read_fraction", "0.3"),
    ("workload.trim_fraction", "0.02"),
    ("workload.flush_every", "60"),
    ("workload.fua_fraction", "0.05"),
    ("workload.mean_interarrival_us", "700"),
    ("workload.footprint", "0.9"),
    ("host.mode", "open-loop"),
    ("ftl.over_provisioning", "0.3"),
    ("initial.fill", "0.8"),
    ("initial.age_writes", "0.5"),
    ("run.check", "integrity"),
];

/// What lies between host and translation layer.
const HOSTS: &[&[(&str, &str)]] = &[
    &[],
    &[("host.link_mb_per_s", "300"), ("host.overhead_us", "4"), ("host.read_priority", "true")],
    &[("host.write_buffer_kib", "64"), ("host.flush", "lru"), ("run.warmup_requests", "200")],
];

fn source(sets: &[(&str, &str)]) -> SpecSource {
    let sets = sets.iter().map(|(key, value)| (key.to_string(), value.to_string())).collect();
    SpecSource { preset: Some("tiny".into()), sets, ..SpecSource::default() }
}

fn tiny() -> Device {
    Device::open(&source(&[])).expect("a device")
}

fn requests(config: &Config, capacity: u64) -> Vec<HostRequest> {
    let mut workload = open_workload(config, 1.0, capacity).expect("a workload");
    std::iter::from_fn(|| workload.next_request().expect("a request")).collect()
}

fn of_host(request: &HostRequest) -> DeviceRequest {
    let HostRequest { kind, offset_bytes, bytes, fua, stream, flow, .. } = *request;
    DeviceRequest { kind, offset_bytes, bytes, fua, stream, flow }
}

/// A document without what says where its requests came from, and without keys of the spec that differ on purpose.
fn compared(mut document: Value) -> Value {
    let fields = document.as_object_mut().expect("an object");
    ["workload", "config", "config_sha256", "warnings"].iter().for_each(|field| drop(fields.remove(*field)));
    document
}

/// The result of a spec's workload, submitted to a device whose time passes in steps that `chunks` draws.
fn fed(sets: &[(&str, &str)], chunks: &mut RandomStream) -> Value {
    let source = source(sets);
    let mut device = Device::open(&source).unwrap_or_else(|error| panic!("{sets:?}: {error}"));
    let config = Config::resolve(&source).expect("a spec");
    let requests = requests(&config, device.capacity());
    let (mut done, mut latest) = (Vec::new(), 0);
    for request in &requests {
        loop {
            let at = request.arrival.0 + device.behind();
            match chunks.below(4) {
                0 => {}
                1 => device.advance(at.max(device.now())).expect("time passes"),
                _ => {
                    let part = at.saturating_sub(device.now()) / (1 + chunks.below(4));
                    device.advance(device.now() + part).expect("time passes");
                }
            }
            done.extend(device.take_completions());
            let now = request.arrival.0 + device.behind();
            match device.submit(now, &of_host(request)) {
                Ok(id) => break assert_eq!(id, latest, "ids count up"),
                // The device's own cut came meanwhile.
                Err(DeviceError::Past { .. }) => assert!(request.arrival.0 + device.behind() > now, "{sets:?}"),
                Err(error) => panic!("{sets:?}: {error}"),
            }
        }
        latest += 1;
    }
    let document = device.finish().unwrap_or_else(|error| panic!("{sets:?}: {error}"));
    done.extend(device.take_completions());
    check_completions(&done, requests.len());
    document
}

/// Every request is done once, in the order of time.
fn check_completions(done: &[DeviceCompletion], requests: usize) {
    assert!(done.windows(2).all(|pair| pair[0].at_ns <= pair[1].at_ns));
    let mut ids: Vec<u64> = done.iter().map(|completion| completion.id).collect();
    ids.sort_unstable();
    assert!(ids.into_iter().eq(0..requests as u64), "each once");
}

#[test]
fn a001_a_device_fed_in_any_steps_is_a_run_of_the_same_requests_for_every_layer() {
    let mut chunks = RandomStream::new(7, "chunks");
    for kind in FtlKind::ALL {
        for host in HOSTS {
            let sets = [LOAD, host, &[("ftl.kind", kind.name())]].concat();
            let Ok(config) = Config::resolve(&source(&sets)) else { continue };
            let document = run(&config, 1.0, &mut |_| true).expect("the run ends well").document;
            assert_eq!(compared(fed(&sets, &mut chunks)), compared(document), "{sets:?}");
        }
    }
}

/// Layers that start again, on devices that do; and when their power is cut.
fn recovering() -> Vec<Vec<(&'static str, &'static str)>> {
    let with = |kind: &FtlKind| [LOAD, &[("ftl.kind", kind.name()), ("ftl.recovery", "scan")]].concat();
    FtlKind::ALL.iter().map(with).filter(|sets| Config::resolve(&source(sets)).is_ok()).collect()
}

#[test]
fn a002_scheduled_power_cuts_come_to_a_fed_device_as_they_come_to_a_run() {
    let mut chunks = RandomStream::new(8, "chunks");
    let schedules = [("power.cut_at_s", "[0.1, 0.35, 0.350001, 0.6]"), ("power.cut_at_command", "[40, 300, 310, 900]")];
    assert!(recovering().len() >= 8, "layers that recover");
    for base in recovering() {
        for schedule in schedules {
            let sets = [&base[..], &[schedule]].concat();
            let config = Config::resolve(&source(&sets)).expect("a spec");
            let document = run(&config, 1.0, &mut |_| true).expect("the run ends well").document;
            assert!(document["power"]["cuts"].as_u64() >= Some(3), "{sets:?}");
            assert_eq!(compared(fed(&sets, &mut chunks)), compared(document), "{sets:?}");
        }
    }
}

/// Instants of a cut: as a spec says it in seconds, and in nanoseconds.
const CUTS: [(&str, u64); 2] = [("[0.2000001]", 200_000_100), ("[0.7000003]", 700_000_300)];

#[test]
fn a003_a_cut_and_a_restart_at_the_same_instant_are_a_scheduled_cut() {
    for (base, (at_s, at)) in recovering().iter().flat_map(|base| CUTS.map(|cut| (base, cut))) {
        let sets = [&base[..], &[("power.cut_at_s", at_s)]].concat();
        let config = Config::resolve(&source(&sets)).expect("a spec");
        let document = run(&config, 1.0, &mut |_| true).expect("the run ends well").document;
        let mut device = Device::open(&source(base)).expect("a device");
        let mut behind = None;
        for request in requests(&config, device.capacity()) {
            if behind.is_none() && request.arrival.0 >= at {
                device.cut(at).expect("a cut");
                let off = device.submit(at, &of_host(&request)).expect_err("no power");
                assert!(matches!(off, DeviceError::NoPower));
                device.restart(at).expect("it starts");
                behind = Some(device.now() - at);
            }
            device.submit(request.arrival.0 + behind.unwrap_or(0), &of_host(&request)).expect("it is taken");
        }
        let found = device.finish().expect("it ends well");
        let lost = device.take_completions().filter(|completion| completion.status == Status::PowerLost).count();
        assert_eq!(found["power"]["failed_requests"].as_u64(), Some(lost as u64), "{sets:?}");
        assert_eq!(compared(found), compared(document), "{sets:?}");
    }
}

#[test]
fn a004_calls_that_make_no_sense_are_refused_and_change_nothing() {
    let (mut device, mut other) = (tiny(), tiny());
    let capacity = device.capacity();
    let mut random = RandomStream::new(9, "calls");
    for step in 0..2_000u64 {
        let now = step * 50_000;
        let write = DeviceRequest::write(random.below(capacity / 4096) * 4096, 4096);
        assert_eq!(device.submit(now, &write).expect("legal"), other.submit(now, &write).expect("legal"));
        let illegal = [
            device.submit(now.wrapping_sub(1).min(now), &DeviceRequest::read(capacity, 1)).expect_err("beyond the end"),
            device.submit(now, &DeviceRequest::read(u64::MAX - 5, 100)).expect_err("beyond all numbers"),
            device.submit(now, &DeviceRequest::read(0, 0)).expect_err("no bytes"),
            device
                .submit(now, &DeviceRequest { bytes: 4096, ..DeviceRequest::flush() })
                .expect_err("a flush with bytes"),
            device.cut(now).expect_err("it cannot start again"),
            device.restart(now).expect_err("it has power"),
        ];
        assert!(illegal.iter().all(|error| !error.to_string().contains('\n')));
        if step > 0 {
            let past = device.submit(now - 1, &write).expect_err("past");
            assert!(matches!(past, DeviceError::Past { at, present } if at == now - 1 && present == now));
            assert!(device.advance(now - 1).is_err());
        }
    }
    assert_eq!(device.finish().expect("it ends"), other.finish().expect("it ends"));
    assert!(device.take_completions().eq(other.take_completions().collect::<Vec<_>>()));
    let after = [
        device.submit(u64::MAX / 4, &DeviceRequest::flush()).expect_err("ended"),
        device.advance(u64::MAX / 4).expect_err("ended"),
        device.result().expect_err("ended"),
        device.finish().expect_err("ended"),
        device.fork().map(|_| ()).expect_err("ended"),
        device.restart(u64::MAX / 4).expect_err("ended"),
    ];
    assert!(after.iter().all(|error| matches!(error, DeviceError::Ended)));
}

#[test]
fn a005_specs_that_need_a_run_are_refused() {
    let refused = [
        ("run.timed", "false"),
        ("run.until", "steady"),
        ("power.failure", "shorn-writes"),
        ("power.cuts", "3"),
        ("ftl.no_such_key", "1"),
    ];
    for set in refused {
        let sets = [("ftl.recovery", "scan"), set];
        let error = Device::open(&source(&sets)).map(|_| ()).expect_err(set.0);
        assert!(error.to_string().contains(set.0.rsplit('.').next().expect("a name")), "{error}");
    }
}

#[test]
fn a006_a_fork_goes_on_alone_and_as_its_origin_would_have() {
    for kind in FtlKind::ALL {
        let sets = [LOAD, &[("ftl.kind", kind.name())]].concat();
        let Ok(config) = Config::resolve(&source(&sets)) else { continue };
        let mut device = Device::open(&source(&sets)).expect("a device");
        let requests = requests(&config, device.capacity());
        let (first, second) = requests.split_at(requests.len() / 2);
        let feed = |device: &mut Device, requests: &[HostRequest]| {
            for request in requests {
                device.submit(request.arrival.0, &of_host(request)).expect("it is taken");
            }
        };
        feed(&mut device, first);
        let mut straight = device.fork().expect("a fork");
        let mut aside = device.fork().expect("a fork");
        let now = device.now();
        for nth in 0..200 {
            aside.submit(now + nth, &DeviceRequest::write(nth * 4096, 4096)).expect("it is taken");
        }
        feed(&mut device, second);
        feed(&mut straight, second);
        let document = device.finish().expect("it ends well");
        assert_eq!(document, straight.finish().expect("it ends well"), "{kind}");
        assert!(device.take_completions().eq(straight.take_completions().collect::<Vec<_>>()), "{kind}");
        assert_ne!(document, aside.finish().expect("it ends well"), "{kind}");
    }
}

#[test]
fn a007_a_device_may_go_to_another_thread() {
    fn goes_anywhere<T: Send>(device: T) -> T {
        device
    }
    let mut device = goes_anywhere(tiny());
    device.submit(0, &DeviceRequest::write(0, 4096)).expect("it is taken");
    let done = std::thread::spawn(move || {
        device.advance_for(Device::NEVER, 1).expect("time passes");
        device.take_completion()
    });
    assert_eq!(done.join().expect("no panic").map(|completion| completion.id), Some(0));
}

#[test]
fn a008_time_stops_when_enough_is_done_and_goes_on_as_if_it_had_not() {
    let (mut whole, mut stopped) = (tiny(), tiny());
    for device in [&mut whole, &mut stopped] {
        for nth in 0..100 {
            device.submit(nth * 10_000, &DeviceRequest::write(nth * 4096, 4096)).expect("it is taken");
        }
    }
    whole.advance_for(Device::NEVER, usize::MAX).expect("time passes");
    let all: Vec<_> = whole.take_completions().collect();
    assert_eq!((all.len(), whole.next_event()), (100, None));
    assert_eq!(whole.now(), all[99].at_ns, "time has passed no further than something happened");
    let mut parts = Vec::new();
    while parts.len() < 100 {
        stopped.advance_for(Device::NEVER, 7).expect("time passes");
        assert!(stopped.waiting() >= 7.min(100 - parts.len()));
        let taken: Vec<_> = (0..7).map_while(|_| stopped.take_completion()).collect();
        assert!(stopped.now() == taken.last().expect("something is done").at_ns);
        parts.extend(taken);
    }
    assert_eq!(all, parts);
    let late = stopped.advance(1 << 63).expect_err("later than 146 years");
    assert!(matches!(late, DeviceError::TooLate { .. }));
    assert!(matches!(stopped.submit(u64::MAX, &DeviceRequest::flush()), Err(DeviceError::TooLate { .. })));
    assert_eq!(whole.finish().expect("it ends well"), stopped.finish().expect("it ends well"));
}

/// What a random spec may have besides its layer and host, where the layer allows it.
const DRAWN: &[(&str, &[&str])] = &[
    ("ftl.gc_policy", &["cost-benefit", "d-choices", "fifo", "random"]),
    ("ftl.gc_mode", &["foreground", "background", "preemptible", "paced"]),
    ("ftl.gc_planes", &["die"]),
    ("ftl.hot_cold", &["gc", "recency"]),
    ("ftl.wear_leveling", &["static", "dynamic"]),
    ("ftl.map_place", &["cached"]),
    ("ftl.allocation", &["static"]),
    ("ftl.merge", &["m-merge"]),
    ("ftl.recovery", &["scan", "checkpoint"]),
    ("erase.suspension", &["immediate", "pulse"]),
    ("erase.scheme", &["ispe", "aero"]),
    ("erase.read_retry", &["true"]),
    ("host.partial_page", &["whole-page"]),
    ("host.read_priority", &["true"]),
    ("host.write_buffer_kib", &["32"]),
    ("timing.multi_plane", &["queue"]),
    ("timing.plane_reads", &["plane"]),
    ("timing.copyback", &["false"]),
    ("controller.cores", &["1", "2"]),
    ("workload.read_fraction", &["0.7"]),
    ("workload.mean_interarrival_us", &["90", "5000"]),
    ("workload.request_bytes", &["2048", "20480"]),
    ("seed", &["3", "77"]),
];

#[test]
fn a009_a_fed_device_is_a_run_for_random_specs_of_every_layer() {
    const ROUNDS: usize = 4;
    let mut random = RandomStream::new(10, "specs");
    for kind in FtlKind::ALL {
        let mut compared_specs = 0;
        for _ in 0..60 {
            let drawn = DRAWN.iter().filter_map(|&(key, values)| match random.below(5) {
                0 => Some((key, values[random.below(values.len() as u64) as usize])),
                _ => None,
            });
            let drawn: Vec<_> = drawn.chain([("ftl.kind", kind.name()), ("workload.requests", "600")]).collect();
            let rest = LOAD.iter().filter(|(key, _)| drawn.iter().all(|(other, _)| other != key));
            let mut sets = [rest.copied().collect(), drawn].concat();
            let recovers = sets.iter().any(|(key, _)| *key == "ftl.recovery");
            if recovers && random.below(2) == 0 {
                sets.push(("power.cut_at_s", "[0.0314159, 0.2]"));
            }
            let Ok(config) = Config::resolve(&source(&sets)) else { continue };
            let document = run(&config, 1.0, &mut |_| true).expect("the run ends well").document;
            assert_eq!(compared(fed(&sets, &mut random)), compared(document), "{sets:?}");
            compared_specs += 1;
            if compared_specs == ROUNDS {
                break;
            }
        }
        assert_eq!(compared_specs, ROUNDS, "specs of {kind} that are allowed");
    }
}

/// Zones of 1 MiB that the host knows of.
const ZONES: &[(&str, &str)] = &[
    ("ftl.kind", "zns"),
    ("ftl.zns.interface", "zones"),
    ("ftl.zns.max_open", "4"),
    ("ftl.zns.max_active", "4"),
    ("initial.fill", "0.0"),
    ("run.check", "integrity"),
];
const ZONE: u64 = 1 << 20;

#[test]
fn a011_a_zone_says_what_it_refuses_and_where_an_append_was_written() {
    let mut device = Device::open(&source(ZONES)).expect("a device");
    let zone = DeviceRequest::zone;
    let calls = [
        (DeviceRequest::write(0, 8192), Status::Done, 0),
        (zone(ZoneCommand::Append, 0, 4096), Status::Done, 8192),
        (zone(ZoneCommand::Append, 0, 8192), Status::Done, 12_288),
        (DeviceRequest::write(8192, 4096), Status::ZoneRefused(ZoneError::ZoneInvalidWrite), 8192),
        (zone(ZoneCommand::Finish, 0, 0), Status::Done, 0),
        (zone(ZoneCommand::Append, 0, 4096), Status::ZoneRefused(ZoneError::ZoneIsFull), 0),
        (zone(ZoneCommand::Reset, 0, 0), Status::Done, 0),
        (zone(ZoneCommand::Append, 0, 4096), Status::Done, 0),
        (zone(ZoneCommand::Close, 3 * ZONE, 0), Status::ZoneRefused(ZoneError::InvalidZoneStateTransition), 3 * ZONE),
    ];
    for (request, status, offset_bytes) in calls {
        let id = device.submit(device.now(), &request).expect("it is taken");
        device.advance_for(Device::NEVER, 1).expect("time passes");
        let done = device.take_completion().expect("it is done");
        assert_eq!((done.id, done.status, done.offset_bytes), (id, status, offset_bytes), "{request:?}");
    }
    let code = Status::ZoneRefused(ZoneError::ZoneIsFull).code();
    assert_eq!((code, device.finish().expect("it ends well")["zones"]["refused_requests"].as_u64()), (0xb9, Some(3)));
    let refused = tiny().submit(0, &zone(ZoneCommand::Reset, 0, 0)).expect_err("it has no zones");
    assert!(matches!(refused, DeviceError::NoZones));
}

#[test]
fn a012_a_zoned_device_that_is_fed_is_a_run_of_the_same_requests() {
    let mut chunks = RandomStream::new(11, "chunks");
    for kind in ["zone-write", "zone-append", "zone-reset"] {
        let load = [
            ("workload.kind", kind),
            ("workload.requests", "400"),
            ("workload.request_bytes", "8192"),
            ("workload.mean_interarrival_us", "900"),
            ("host.mode", "open-loop"),
        ];
        let sets = [ZONES, &load[..]].concat();
        let config = Config::resolve(&source(&sets)).expect("a spec");
        let document = run(&config, 1.0, &mut |_| true).expect("the run ends well").document;
        assert_eq!(compared(fed(&sets, &mut chunks)), compared(document), "{sets:?}");
    }
}

#[test]
fn a013_requests_of_flows_are_counted_apart_and_share_the_controller_by_weight() {
    let flows = [
        ("workload.flow[0].kind", "uniform"),
        ("workload.flow[0].weight", "3"),
        ("workload.flow[1].kind", "uniform"),
        ("controller.t_request_us", "50"),
    ];
    let mut device = Device::open(&source(&flows)).expect("a device");
    let read = |nth: u64, flow: u8| DeviceRequest { flow, ..DeviceRequest::read(nth * 4096, 4096) };
    for nth in 0..200 {
        device.submit(0, &read(nth, 0)).expect("it is taken");
        device.submit(0, &read(nth, 1)).expect("it is taken");
    }
    device.advance_for(Device::NEVER, 200).expect("time passes");
    // Requests of flow 0 have even ids.
    let favoured = device.take_completions().filter(|completion| completion.id % 2 == 0).count();
    assert!((130..=160).contains(&favoured), "three of four: {favoured} of 200");
    let refused = device.submit(device.now(), &read(0, 2)).expect_err("two flows");
    assert!(matches!(refused, DeviceError::Flow { flow: 2, flows: 2 }));
    let found = device.finish().expect("it ends well");
    assert_eq!(["flow0", "flow1"].map(|flow| found["flows"][flow]["requests"].as_u64()), [Some(200); 2]);
}
