//! Zones.

use pumice_ftl::{ZoneError, ZoneReport};
use pumice_types::Choice;
use serde_json::{Value, json};

use super::Type::{Integer, List, Number};
use super::of_host::quantile;
use super::{ResultField, fields, ratio, when};
use crate::metrics::KindMetrics;
use crate::results::Finished;

/// Meaning of the counts of zones by state.
const IN_STATE: &str = "Zones in this state at the end: opened implicitly by a write or explicitly by a command; closed ones are active but not open";

fields! {
    pub const FIELDS:
    "zones.count", Integer, "zones", "`ftl.kind` is not `zns`: then `zones` is null",
        "Zones of the device",
        |run| of_zones(run, |zones| json!(zones.zones));
    "zones.capacity_pages", Integer, "pages", "as `zones.count`",
        "Pages of a zone that can be written",
        |run| of_zones(run, |zones| json!(zones.capacity));
    "zones.size_pages", Integer, "pages", "as `zones.count`",
        "Pages between the starts of two zones",
        |run| of_zones(run, |zones| json!(zones.size));
    "zones.states.empty", Integer, "zones", "as `zones.count`",
        IN_STATE,
        |run| of_zones(run, |zones| json!(zones.states[0]));
    "zones.states.implicitly_opened", Integer, "zones", "as `zones.count`",
        IN_STATE,
        |run| of_zones(run, |zones| json!(zones.states[1]));
    "zones.states.explicitly_opened", Integer, "zones", "as `zones.count`",
        IN_STATE,
        |run| of_zones(run, |zones| json!(zones.states[2]));
    "zones.states.closed", Integer, "zones", "as `zones.count`",
        IN_STATE,
        |run| of_zones(run, |zones| json!(zones.states[3]));
    "zones.states.full", Integer, "zones", "as `zones.count`",
        IN_STATE,
        |run| of_zones(run, |zones| json!(zones.states[4]));
    "zones.states.read_only", Integer, "zones", "as `zones.count`",
        IN_STATE,
        |run| of_zones(run, |zones| json!(zones.states[5]));
    "zones.states.offline", Integer, "zones", "as `zones.count`",
        IN_STATE,
        |run| of_zones(run, |zones| json!(zones.states[6]));
    "zones.opened", Integer, "zones", "as `zones.count`",
        "Empty zones that the host began to write",
        |run| of_zones(run, |zones| json!(zones.counters.opened));
    "zones.closed_by_controller", Integer, "zones", "as `zones.count`",
        "Implicitly opened zones closed to open others",
        |run| of_zones(run, |zones| json!(zones.counters.closed_by_controller));
    "zones.resets", Integer, "commands", "as `zones.count`",
        "Reset Zone commands",
        |run| of_zones(run, |zones| json!(zones.counters.resets));
    "zones.finishes", Integer, "commands", "as `zones.count`",
        "Finish Zone commands for zones not full",
        |run| of_zones(run, |zones| json!(zones.counters.finishes));
    "zones.unwritten_pages", Integer, "pages", "as `zones.count`",
        "Pages of finished zones never written by the host",
        |run| of_zones(run, |zones| json!(zones.counters.unwritten_pages));
    "zones.refused_requests", Integer, "requests", "`ftl.zns.interface` is not `zones`",
        "Requests that a zone refused, counted only here",
        |run| refused(run, |refused| json!(refused.iter().sum::<u64>()));
    "zones.errors", List, "", "`ftl.zns.interface` is not `zones`",
        "For each status of refusals: `error` as in the standard, and `requests`",
        |run| refused(run, errors);
    "zones.reset_latency_us.mean", Number, "us", "as `zones.count`; untimed, or no such reset",
        "From a Reset Zone that erases at once to the end of its last erase",
        |run| time(run, &run.controller.zone_times.reset, |times| json!(times.mean_us()));
    "zones.reset_latency_us.p99", Number, "us", "as `zones.reset_latency_us.mean`",
        "99th percentile of the same",
        |run| time(run, &run.controller.zone_times.reset, |times| quantile(times, 0.99));
    "zones.reset_latency_us.max", Number, "us", "as `zones.reset_latency_us.mean`",
        "The longest",
        |run| time(run, &run.controller.zone_times.reset, |times| json!(times.latency_max.as_us()));
    "zones.finish_latency_us.mean", Number, "us", "as `zones.count`; untimed, or no such finish",
        "From a Finish Zone to the end of its last program",
        |run| time(run, &run.controller.zone_times.finish, |times| json!(times.mean_us()));
    "zones.finish_latency_us.p99", Number, "us", "as `zones.finish_latency_us.mean`",
        "99th percentile of the same",
        |run| time(run, &run.controller.zone_times.finish, |times| quantile(times, 0.99));
    "zones.finish_latency_us.max", Number, "us", "as `zones.finish_latency_us.mean`",
        "The longest",
        |run| time(run, &run.controller.zone_times.finish, |times| json!(times.latency_max.as_us()));
    "zones.erased_when_idle", Integer, "erase units", "as `zones.count`",
        "Erase units of reset zones, erased on idle dies",
        |run| of_zones(run, |zones| json!(zones.counters.erased_when_idle));
    "zones.urgent_cleanings", Integer, "zones", "as `zones.count`",
        "Zones cleaned to the end before a write, for want of empty ones",
        |run| of_zones(run, |zones| json!(zones.counters.urgent));
    "zones.moved_pages", Integer, "pages", "as `zones.count`",
        "Pages that the host moved between zones",
        |run| of_zones(run, |zones| json!(zones.counters.moved_pages));
    "zones.relocated_pages", Integer, "pages", "as `zones.count`",
        "Pages moved by the device to save them from disturb",
        |run| of_zones(run, |zones| json!(zones.counters.relocated_pages));
    "zones.write_amplification.host", Number, "", "as `zones.count`, or no page was written",
        "Pages written to zones, moves included / pages of users",
        |run| of_zones(run, |zones| ratio(written(zones), zones.counters.user_pages as f64));
    "zones.write_amplification.device", Number, "", "as `zones.count`, or no page was written",
        "Pages programmed / pages written to zones",
        |run| of_zones(run, |zones| ratio(run.counts().programs() as f64, written(zones)));
}

/// What a field says of the requests that zones refused; null where the host does not address zones.
fn refused(run: &Finished, value: impl FnOnce(&[u64]) -> Value) -> Value {
    when(run.config.ftl.has_host_zones(), || value(&run.host.metrics.refused))
}

/// The errors that occurred, each with its requests.
fn errors(refused: &[u64]) -> Value {
    let counted = ZoneError::ALL.iter().zip(refused).filter(|(_, requests)| **requests > 0);
    counted.map(|(error, requests)| json!({ "error": error.name(), "requests": requests })).collect()
}

/// A value of the run's zones; null without zones.
fn of_zones(run: &Finished, value: impl FnOnce(&ZoneReport) -> Value) -> Value {
    run.zones().map_or(Value::Null, |zones| value(&zones))
}

/// A figure of the times of zone operations; null without one, or without a clock.
fn time(run: &Finished, times: &KindMetrics, figure: impl Fn(&KindMetrics) -> Value) -> Value {
    when(run.config.run.timed && times.requests > 0, || figure(times))
}

/// Pages that the host wrote to zones.
fn written(zones: &ZoneReport) -> f64 {
    (zones.counters.user_pages + zones.counters.moved_pages) as f64
}
