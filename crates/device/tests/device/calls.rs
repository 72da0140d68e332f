//! Calls: what is refused, what a fork is, when time stops, zones and flows.

use pumice_config::Config;
use pumice_device::{Device, DeviceCompletion, DeviceError, DeviceRequest, SealKey, Status, ZoneCommand, ZoneError};
use pumice_ftl::FtlKind;
use pumice_types::{Choice, HostRequest, RequestKind};
use pumice_workload::RandomStream;

use crate::support::{LOAD, ZONE, ZONES, of_host, requests, source, tiny};

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
fn a015_requests_submitted_together_are_taken_as_single_ones_are() {
    let (mut one_by_one, mut together) = (tiny(), tiny());
    let capacity = one_by_one.capacity();
    let mut random = RandomStream::new(12, "batches");
    let mut now = 0;
    for _ in 0..60 {
        let batch: Vec<(u64, DeviceRequest)> = (0..random.below(70))
            .map(|_| {
                now += random.below(3) * 40_000;
                let (at, bytes) = (random.below(capacity / 4096) * 4096, 4096 * (1 + random.below(3)) as u32);
                let read = DeviceRequest::read(at.min(capacity - u64::from(bytes)), bytes);
                let wrong = DeviceRequest { offset_bytes: u64::MAX - random.below(1 << 40), ..read };
                let kinds = [read, DeviceRequest { kind: RequestKind::Write, ..read }, DeviceRequest::flush(), wrong];
                let drawn = random.below(160);
                (now, kinds[if drawn == 0 { 3 } else { [0, 0, 0, 1, 1, 1, 1, 2][drawn as usize % 8] }])
            })
            .collect();
        let (ids, ended) = together.submit_many(batch.iter().map(|&timed| Ok::<_, DeviceError>(timed)));
        let single: Vec<u64> = batch.iter().map_while(|(at, request)| one_by_one.submit(*at, request).ok()).collect();
        assert!(ids.clone().eq(single), "as many, with the same ids");
        assert_eq!(ended.is_ok(), (ids.end - ids.start) as usize == batch.len());
        assert!(together.take_completions().eq(one_by_one.take_completions().collect::<Vec<_>>()));
    }
    assert_eq!(together.finish().expect("it ends well"), one_by_one.finish().expect("it ends well"));
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

/// Lets everything end, and returns what came in time.
fn ended(device: &mut Device) -> Vec<DeviceCompletion> {
    device.advance_for(Device::NEVER, usize::MAX).expect("time passes");
    device.take_completions().collect()
}

#[test]
fn a014_a_device_from_a_snapshot_goes_on_as_a_fork_of_it_does() {
    let folder = std::env::temp_dir().join(format!("pumice-device-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let (path, key) = (folder.join("device.snap"), SealKey::of(b"mine"));
    for (kind, recovery) in FtlKind::ALL.iter().flat_map(|kind| ["off", "scan"].map(|recovery| (kind, recovery))) {
        let spec = source(&[LOAD, &[("ftl.kind", kind.name()), ("ftl.recovery", recovery)]].concat());
        let Ok(config) = Config::resolve(&spec) else { continue };
        let mut device = Device::open(&spec).expect("a device");
        let requests = requests(&config, device.capacity());
        let (first, second) = requests.split_at(requests.len() / 2);
        // From a device's present on, at the distances of the recorded arrivals.
        let feed = |device: &mut Device, requests: &[HostRequest]| {
            let base = device.now();
            for request in requests {
                let at = base + (request.arrival.0 - requests[0].arrival.0);
                device.submit(at, &of_host(request)).expect("it is taken");
            }
        };
        feed(&mut device, first);
        let busy = device.snapshot(&path, &key).expect_err("something is under way");
        assert!(matches!(busy, DeviceError::Snapshot(_)), "{kind}");
        ended(&mut device);
        device.snapshot(&path, &key).expect("it is written");
        let mut opened = Device::open_snapshot(&spec, &path, &key).expect("it is read");
        let (base, id) = (device.now(), first.len() as u64);
        feed(&mut device, second);
        feed(&mut opened, second);
        let expected = ended(&mut device).into_iter();
        let expected = expected.map(|done| DeviceCompletion { id: done.id - id, at_ns: done.at_ns - base, ..done });
        assert!(expected.eq(ended(&mut opened)), "{kind}, {recovery}");
        let document = opened.finish().expect("it ends well");
        assert_eq!(document["integrity"]["lost_pages"].as_u64(), Some(0), "{kind}, {recovery}");
        let other = Device::open_snapshot(&source(&[]), &path, &key).map(|_| ()).expect_err("another spec");
        let stolen = Device::open_snapshot(&spec, &path, &SealKey::of(b"yours")).map(|_| ()).expect_err("another key");
        assert!([other, stolen].iter().all(|error| matches!(error, DeviceError::Snapshot(_))), "{kind}");
    }
    std::fs::remove_dir_all(&folder).expect("it was there");
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
fn a025_time_is_never_told_to_go_back_for_what_is_done() {
    let mut device = tiny();
    device.submit(0, &DeviceRequest::write(0, 4096)).expect("it is taken");
    device.submit(10_000_000, &DeviceRequest::write(4096, 4096)).expect("it is taken");
    let mut done = 0;
    while let Some(at) = device.next_event() {
        device.advance(at).expect("an instant that is not past");
        done += device.take_completions().count();
    }
    assert_eq!(done, 2, "the first was done before the second came");
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
        // Half a page: the state of a zone is told before what is wrong with the write.
        (DeviceRequest::write(0, 2048), Status::ZoneRefused(ZoneError::ZoneIsFull), 0),
        (zone(ZoneCommand::Reset, 0, 0), Status::Done, 0),
        (zone(ZoneCommand::Append, 0, 4096), Status::Done, 0),
        (DeviceRequest::write(4096, 2048), Status::ZoneRefused(ZoneError::ZoneInvalidWrite), 4096),
        (zone(ZoneCommand::Close, 3 * ZONE, 0), Status::ZoneRefused(ZoneError::InvalidZoneStateTransition), 3 * ZONE),
    ];
    for (request, status, offset_bytes) in calls {
        let id = device.submit(device.now(), &request).expect("it is taken");
        device.advance_for(Device::NEVER, 1).expect("time passes");
        let done = device.take_completion().expect("it is done");
        assert_eq!((done.id, done.status, done.offset_bytes), (id, status, offset_bytes), "{request:?}");
    }
    let code = Status::ZoneRefused(ZoneError::ZoneIsFull).code();
    assert_eq!((code, device.finish().expect("it ends well")["zones"]["refused_requests"].as_u64()), (0xb9, Some(5)));
    let refused = tiny().submit(0, &zone(ZoneCommand::Reset, 0, 0)).expect_err("it has no zones");
    assert!(matches!(refused, DeviceError::NoZones));
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

/// A buffer had taken all writes at once, and programmed them while time passed: dies were busy for longer than the
/// simulated time, which ends with the last completion.
#[test]
fn a016_no_part_of_a_device_is_busy_for_longer_than_there_was_time() {
    let sets = [("host.write_buffer_kib", "64"), ("controller.t_command_us", "40"), ("ftl.kind", "page")];
    let mut device = Device::open(&source(&sets)).expect("a device");
    for nth in 0..12 {
        device.submit(0, &DeviceRequest::write(nth * 4096, 4096)).expect("it is taken");
    }
    device.advance_for(Device::NEVER, 100).expect("time passes");
    let shares = &device.result().expect("a result")["utilisation"];
    let all = [&shares["die"], &shares["channel"]].map(|list| list.as_array().expect("a list").iter());
    let all: Vec<f64> =
        all.into_iter().flatten().chain([&shares["controller"]]).filter_map(serde_json::Value::as_f64).collect();
    assert!(all.len() == 5 && all.iter().all(|share| (0.0..=1.0).contains(share)), "{shares}");
}

/// The guard of last copies, of devices whose spec says that their workload trims nothing, took the trims of a caller for
/// losses: an erase of what was trimmed ended the device.
#[test]
fn t941_a_caller_may_trim_whatever_the_workload_of_its_spec_does() {
    let sets = [
        ("ftl.kind", "page"),
        ("ftl.recovery", "scan"),
        ("ftl.over_provisioning", "0.3"),
        ("initial.fill", "0.8"),
        ("run.check", "integrity"),
    ];
    let spec = source(&sets);
    let (mut device, mut random) = (Device::open(&spec).expect("a device"), RandomStream::new(3, "trims"));
    let file = std::env::temp_dir().join(format!("pumice-device-trims-{}", std::process::id()));
    for round in 0..4 {
        for _ in 0..400 {
            let page = random.below(device.capacity() / 4096) * 4096;
            let trims = random.below(3) == 0;
            let request = if trims { DeviceRequest::trim(page, 4096) } else { DeviceRequest::write(page, 4096) };
            device.submit(device.now(), &request).expect("legal");
            device.advance_for(Device::NEVER, usize::MAX).unwrap_or_else(|error| panic!("round {round}: {error}"));
        }
        let key = SealKey::of(b"a key of the tests, 32 bytes or so");
        device.snapshot(&file, &key).expect("is written");
        device = Device::open_snapshot(&spec, &file, &key).expect("is read");
    }
    std::fs::remove_file(&file).expect("was written");
}
