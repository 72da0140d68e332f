//! A device in another program: it runs what a run runs, whatever the steps in which its time passes; it refuses calls
//! that make no sense; its copies go on alone.

use pumice_config::Config;
use pumice_device::{Device, DeviceCompletion, DeviceError, DeviceRequest, SpecSource, Status};
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
    let HostRequest { kind, offset_bytes, bytes, fua, stream, .. } = *request;
    DeviceRequest { kind, offset_bytes, bytes, fua, stream }
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
