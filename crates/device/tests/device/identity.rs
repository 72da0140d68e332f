//! A device that is fed runs what a run of the same requests runs.

use pumice_config::Config;
use pumice_device::{Device, DeviceCompletion, DeviceError, Status};
use pumice_engine::observe::{Observer, ObserverRef, RequestRecord};
use pumice_engine::{Session, SimError, run, run_observed};
use pumice_ftl::FtlKind;
use pumice_types::{Choice, FlashCommand, HostRequest, Time};
use pumice_workload::RandomStream;
use serde_json::Value;

use crate::support::{LOAD, ZONES, of_host, requests, source};

/// What lies between host and translation layer.
const HOSTS: &[&[(&str, &str)]] = &[
    &[],
    &[("host.link_mb_per_s", "300"), ("host.overhead_us", "4"), ("host.read_priority", "true")],
    &[("host.write_buffer_kib", "64"), ("host.flush", "lru"), ("run.warmup_requests", "200")],
];

/// A document without what says where its requests came from, and without keys of the spec that differ on purpose.
fn compared(mut document: Value) -> Value {
    let fields = document.as_object_mut().expect("an object");
    ["workload", "config", "config_sha256", "warnings"].iter().for_each(|field| drop(fields.remove(*field)));
    let flows = fields.get_mut("flows").and_then(Value::as_object_mut);
    for (_, flow) in flows.into_iter().flatten() {
        flow.as_object_mut().expect("an object").remove("workload");
    }
    document
}

/// The result of a spec's workload, submitted to a device whose time passes in steps that `chunks` draws;
/// the run ends well.
fn fed(sets: &[(&str, &str)], chunks: &mut RandomStream) -> Value {
    let config = Config::resolve(&source(sets)).expect("a spec");
    let capacity = Session::new(&config, 1.0, ObserverRef::nobody()).expect("a device").capacity();
    fed_with(sets, &requests(&config, capacity), chunks).unwrap_or_else(|error| panic!("{sets:?}: {error}"))
}

/// As [`fed`], with these requests; or what ends the simulation.
fn fed_with(sets: &[(&str, &str)], requests: &[HostRequest], chunks: &mut RandomStream) -> Result<Value, DeviceError> {
    let mut device = Device::open(&source(sets)).unwrap_or_else(|error| panic!("{sets:?}: {error}"));
    let (mut done, mut latest) = (Vec::new(), 0);
    for request in requests {
        loop {
            let at = request.arrival.0 + device.behind();
            match chunks.below(4) {
                0 => {}
                1 => device.advance(at.max(device.now()))?,
                _ => {
                    let part = at.saturating_sub(device.now()) / (1 + chunks.below(4));
                    device.advance(device.now() + part)?;
                }
            }
            done.extend(device.take_completions());
            let now = request.arrival.0 + device.behind();
            match device.submit(now, &of_host(request)) {
                Ok(id) => break assert_eq!(id, latest, "ids count up"),
                // The device's own cut came meanwhile.
                Err(DeviceError::Past { .. }) => assert!(request.arrival.0 + device.behind() > now, "{sets:?}"),
                Err(error) => return Err(error),
            }
        }
        latest += 1;
    }
    let document = device.finish()?;
    done.extend(device.take_completions());
    check_completions(&done, requests.len());
    Ok(document)
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

/// What a random spec may have besides its layer, where the layer allows it.
const DRAWN: &[(&str, &[&str])] = &[
    ("ftl.gc_policy", &["cost-benefit", "d-choices", "fifo", "random"]),
    ("ftl.gc_mode", &["foreground", "background", "preemptible", "paced"]),
    ("ftl.gc_planes", &["die"]),
    ("ftl.hot_cold", &["gc", "recency"]),
    ("ftl.wear_leveling", &["static", "dynamic"]),
    ("ftl.map_place", &["cached"]),
    ("ftl.allocation", &["static"]),
    ("ftl.merge", &["m-merge"]),
    ("erase.suspension", &["immediate", "pulse"]),
    ("erase.scheme", &["ispe", "aero"]),
    ("erase.read_retry", &["true"]),
    ("host.partial_page", &["whole-page"]),
    ("host.read_priority", &["true"]),
    ("host.write_buffer_kib", &["32", "128"]),
    ("host.flush", &["lru"]),
    ("host.link_mb_per_s", &["300"]),
    ("host.overhead_us", &["4"]),
    ("program.suspension", &["immediate"]),
    ("timing.multi_plane", &["queue", "neighbours"]),
    ("timing.plane_reads", &["plane", "batch"]),
    ("timing.read_transfer", &["codewords"]),
    ("timing.copyback", &["false"]),
    ("controller.cores", &["1", "2"]),
    ("controller.t_request_us", &["3"]),
    ("power.protection", &["map", "buffer", "full"]),
    ("power.torn", &["old", "new", "mixed"]),
    ("run.warmup_requests", &["100"]),
    ("workload.read_fraction", &["0.7"]),
    ("workload.mean_interarrival_us", &["90", "5000"]),
    ("workload.request_bytes", &["2048", "20480"]),
];

/// A device that maps units smaller than its pages.
const UNITS: &[(&str, &str)] = &[("ftl.kind", "page"), ("ftl.map_unit_bytes", "1024"), ("ftl.open_page_us", "300")];

/// Devices: the plain one of each layer, one with mapping units, and those whose host knows of zones.
fn devices() -> Vec<Vec<(&'static str, &'static str)>> {
    let plain = FtlKind::ALL.iter().map(|kind| vec![("ftl.kind", kind.name())]);
    let zoned = ["zone-write", "zone-append", "zone-reset"].map(|kind| [ZONES, &[("workload.kind", kind)]].concat());
    plain.chain([UNITS.to_vec()]).chain(zoned).collect()
}

/// Keys of `LOAD` that hosts who know of zones do not have.
const NOT_FOR_ZONES: &[&str] = &["workload.footprint", "workload.trim_fraction", "initial.fill", "initial.age_writes"];

/// Workloads side by side.
const FLOWS: &[(&str, &str)] = &[
    ("workload.flow[0].kind", "hot-cold"),
    ("workload.flow[0].range", "[0.0, 0.5]"),
    ("workload.flow[0].weight", "3"),
    ("workload.flow[1].kind", "uniform"),
    ("workload.flow[1].range", "[0.4, 1.0]"),
    ("workload.flow[1].priority", "high"),
];

/// A random spec of a device, whether it is allowed or not.
fn draw(device: &[(&'static str, &'static str)], random: &mut RandomStream) -> Vec<(String, String)> {
    let mut sets: Vec<(String, String)> = Vec::new();
    let mut set = |key: &str, value: String| {
        sets.retain(|(other, _)| other != key);
        sets.push((key.into(), value));
    };
    let is_zoned = device.iter().any(|(_, value)| *value == "zones");
    for (key, value) in LOAD.iter().filter(|(key, _)| !is_zoned || !NOT_FOR_ZONES.contains(key)) {
        set(key, value.to_string());
    }
    set("workload.requests", "500".into());
    set("seed", random.below(1 << 32).to_string());
    for (key, values) in DRAWN {
        if random.below(6) == 0 {
            set(key, values[random.below(values.len() as u64) as usize].into());
        }
    }
    if random.below(4) == 0 && !is_zoned {
        FLOWS.iter().for_each(|(key, value)| set(key, value.to_string()));
    }
    device.iter().for_each(|(key, value)| set(key, value.to_string()));
    if random.below(2) == 0 {
        set("ftl.recovery", ["scan", "scan", "summary", "checkpoint"][random.below(4) as usize].into());
        match random.below(3) {
            0 => set("power.cut_at_s", format!("[{}, {}]", random.unit() * 0.2, 0.2 + random.unit() * 0.2)),
            1 => set("power.cut_at_command", format!("[{}, {}]", 1 + random.below(100), 101 + random.below(900))),
            _ => {}
        }
    }
    sets
}

/// Everything that the observer of a run is told with a time, and the requests that were taken in.
#[derive(Default, PartialEq, Eq)]
struct Log {
    commands: Vec<(Time, Time, FlashCommand)>,
    suspended: Vec<(Time, Time)>,
    requests: Vec<RequestRecord>,
    taken: Vec<HostRequest>,
}

impl Observer for Log {
    fn accepted(&mut self, _slot: u32, request: &HostRequest) {
        self.taken.push(*request);
    }

    fn command(&mut self, start: Time, end: Time, command: &FlashCommand) {
        self.commands.push((start, end, *command));
    }

    fn suspended(&mut self, start: Time, end: Time, _command: &FlashCommand) {
        self.suspended.push((start, end));
    }

    fn request(&mut self, record: &RequestRecord) {
        self.requests.push(*record);
    }
}

/// Gives a session these requests; its time passes in steps that `chunks` draws.
fn feed(
    config: &Config,
    requests: &[HostRequest],
    chunks: &mut RandomStream,
    log: &mut dyn Observer,
) -> Result<(), SimError> {
    let mut session = Session::new(config, 1.0, ObserverRef::of(log))?;
    if let Some(mut ageing) = session.ageing()? {
        while session.age(&mut ageing)? {}
    }
    for request in requests {
        loop {
            let (now, due) = (session.ssd.now, request.arrival + session.behind());
            let part = Time(due.0.saturating_sub(now.0) / (1 + chunks.below(3)));
            let until = if part == Time::ZERO { due } else { now + part };
            while session.run_until(until)? {}
            if until == request.arrival + session.behind() {
                break;
            }
        }
        session.submit(request, request.arrival + session.behind())?;
    }
    session.end_requests();
    while session.run_until(Time::NEVER)? {}
    Ok(())
}

/// Compares a run of a spec with a session and with a device that are fed its requests. Returns its document, if it has
/// one: what ends a run in an error ends the others in the same.
fn compare(told: &[(&str, &str)], config: &Config, chunks: &mut RandomStream) -> Option<Value> {
    let (mut log, mut found) = (Log::default(), Log::default());
    let ran = run_observed(config, 1.0, &mut log, &mut |_| true).map(|outcome| outcome.document);
    let fed = feed(config, &log.taken, chunks, &mut found);
    assert!(log == found, "{told:?}");
    let document = fed_with(told, &log.taken, chunks);
    let failures = [ran.as_ref().err(), fed.as_ref().err()].map(|error| error.map(ToString::to_string));
    let by_device = document.as_ref().err().map(ToString::to_string);
    assert!(failures.iter().all(|failure| *failure == by_device), "{told:?}: {failures:?}, {by_device:?}");
    let (document, ran) = (document.ok()?, ran.ok()?);
    assert_eq!(compared(document), compared(ran.clone()), "{told:?}");
    Some(ran)
}

/// Random specs that are compared: `PUMICE_DEVICE_SPECS`, or a sample.
fn specs() -> usize {
    std::env::var("PUMICE_DEVICE_SPECS").ok().and_then(|text| text.parse().ok()).unwrap_or(45)
}

#[test]
fn a009_a_fed_device_is_a_run_for_random_specs_of_every_layer() {
    let devices = devices();
    let (mut random, each) = (RandomStream::new(10, "specs"), specs().div_ceil(devices.len()));
    let (mut compared_specs, mut cut, mut flows, mut failed) = (0, 0, 0, 0);
    for device in &devices {
        let mut left = each;
        for _ in 0..200 * each {
            let sets = draw(device, &mut random);
            let told: Vec<_> = sets.iter().map(|(key, value)| (key.as_str(), value.as_str())).collect();
            let Ok(config) = Config::resolve(&source(&told)) else { continue };
            match compare(&told, &config, &mut random) {
                Some(document) => cut += usize::from(document["power"]["cuts"].as_u64() > Some(0)),
                None => failed += 1,
            }
            flows += usize::from(!config.flows.is_empty());
            (compared_specs, left) = (compared_specs + 1, left - 1);
            if left == 0 {
                break;
            }
        }
        assert_eq!(left, 0, "specs of {device:?} that are allowed");
    }
    println!(
        "{compared_specs} specs: {cut} with power cuts that came, {flows} with flows, {failed} that end in an error"
    );
    assert!(failed * 50 <= compared_specs, "{failed} of {compared_specs} end in an error");
    assert!(cut * 10 > compared_specs && flows * 20 > compared_specs, "{cut} and {flows} of {compared_specs}");
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
