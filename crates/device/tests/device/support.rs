//! Specs and requests of the tests.

use pumice_config::Config;
use pumice_device::{Device, DeviceRequest, SpecSource};
use pumice_engine::open_workload;
use pumice_types::HostRequest;

/// A load that makes every layer collect, at a rate that keeps requests waiting.
pub const LOAD: &[(&str, &str)] = &[
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

/// Zones of 1 MiB that the host knows of.
pub const ZONES: &[(&str, &str)] = &[
    ("ftl.kind", "zns"),
    ("ftl.zns.interface", "zones"),
    ("ftl.zns.max_open", "4"),
    ("ftl.zns.max_active", "4"),
    ("initial.fill", "0.0"),
    ("run.check", "integrity"),
];
pub const ZONE: u64 = 1 << 20;

pub fn source(sets: &[(&str, &str)]) -> SpecSource {
    let sets = sets.iter().map(|(key, value)| (key.to_string(), value.to_string())).collect();
    SpecSource { preset: Some("tiny".into()), sets, ..SpecSource::default() }
}

pub fn tiny() -> Device {
    Device::open(&source(&[])).expect("a device")
}

pub fn requests(config: &Config, capacity: u64) -> Vec<HostRequest> {
    let mut workload = open_workload(config, 1.0, capacity).expect("a workload");
    std::iter::from_fn(|| workload.next_request().expect("a request")).collect()
}

pub fn of_host(request: &HostRequest) -> DeviceRequest {
    let HostRequest { kind, offset_bytes, bytes, fua, stream, flow, .. } = *request;
    DeviceRequest { kind, offset_bytes, bytes, fua, stream, flow }
}
