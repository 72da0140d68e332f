//! What each flow of the workload saw.

use pumice_config::Flow;
use serde_json::{Map, Value, json};

use super::Type::Table;
use super::of_host::{P99_9999_SAMPLES_MIN, quantile};
use super::{ResultField, fields, ratio, when};
use crate::metrics::{FlowMetrics, KindMetrics};
use crate::results::Finished;

fields! {
    pub const FIELDS:
    "flows.*", Table, "", "`workload.flow` is absent",
        "One table a flow, by its name ([below](#flows))",
        flows;
}

/// A table of the flows by name; null without flows.
fn flows(run: &Finished) -> Value {
    let flows = run.config.flows.iter().zip(&run.host.flows).enumerate();
    let table: Map<String, Value> =
        flows.map(|(number, (flow, metrics))| (flow.name.clone(), one(run, number, (flow, metrics)))).collect();
    when(!table.is_empty(), || table.into())
}

fn one(run: &Finished, number: usize, (flow, metrics): (&Flow, &FlowMetrics)) -> Value {
    let is_timed = run.config.run.timed;
    let took = metrics.last_done.saturating_sub(run.host.metrics.since).as_s();
    let rate = |amount: f64| when(is_timed, || ratio(amount, took));
    let bytes = metrics.read.bytes + metrics.write.bytes;
    let facts = run.flow_facts.iter().find(|(of, _)| usize::from(*of) == number).map(|(_, facts)| facts);
    let facts = facts.into_iter().flatten().map(|(name, fact)| (name.to_string(), json!(fact)));
    let kind = ("kind".to_string(), json!(flow.workload.kind()));
    json!({
        "mode": flow.mode(&run.config.host).to_string(),
        "queue_depth": flow.depth(&run.config.host),
        "requests": metrics.requests(),
        "read": direction(is_timed, &metrics.read),
        "write": direction(is_timed, &metrics.write),
        "iops": rate(metrics.requests() as f64),
        "throughput_mib_per_s": rate(bytes as f64 / f64::from(1 << 20)),
        "last_done_s": when(is_timed && metrics.requests() > 0, || json!(took)),
        "workload": Map::from_iter(facts.chain([kind])),
    })
}

/// Requests of one direction; null without one.
fn direction(is_timed: bool, kind: &KindMetrics) -> Value {
    let rare = || when(kind.requests >= P99_9999_SAMPLES_MIN, || quantile(kind, 0.999999));
    let latency = || {
        json!({
            "mean": kind.mean_us(), "p50": quantile(kind, 0.5), "p90": quantile(kind, 0.9),
            "p99": quantile(kind, 0.99), "p99_9": quantile(kind, 0.999), "p99_99": quantile(kind, 0.9999),
            "p99_9999": rare(), "max": kind.latency_max.as_us(),
        })
    };
    when(
        kind.requests > 0,
        || json!({ "requests": kind.requests, "bytes": kind.bytes, "latency_us": when(is_timed, latency) }),
    )
}
