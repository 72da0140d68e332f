//! What the host saw: requests, latencies, rates, and where the time of writes went.

use pumice_config::PartialPage;
use pumice_types::Time;
use serde_json::{Value, json};

use super::Type::{Integer, Number};
use super::{ResultField, fields, ratio, when};
use crate::metrics::KindMetrics;
use crate::results::Finished;
use crate::scheduler::Phase;

/// Every field of this section, in the order of the document.
pub const FIELDS: [&[ResultField]; 15] = [
    READS,
    READ_LATENCIES,
    WRITES,
    WRITE_LATENCIES,
    TRIMS,
    TRIM_LATENCIES,
    FLUSHES,
    FLUSH_LATENCIES,
    APPENDS,
    APPEND_LATENCIES,
    RESETS,
    RESET_LATENCIES,
    FINISHES,
    FINISH_LATENCIES,
    REQUESTS,
];

/// Declares the latencies of a kind of request: path of their table, what its requests are called, the member of
/// `Metrics` that has them, and what is to be added to the texts of the mean and the median.
macro_rules! latencies {
    (pub const $name:ident: $path:literal, $many:literal, $kind:ident, $of_mean:literal, $of_median:literal;) => {
        fields! {
            pub const $name:
            concat!($path, ".mean"), Number, "us", concat!("untimed, or no ", $many),
                concat!("Mean latency, from an exact sum", $of_mean),
                |run| latency(run, &run.host.metrics.$kind, |kind| json!(kind.mean_us()));
            concat!($path, ".p50"), Number, "us", concat!("untimed, or no ", $many),
                concat!("Median", $of_median),
                |run| latency(run, &run.host.metrics.$kind, |kind| quantile(kind, 0.5));
            concat!($path, ".p90"), Number, "us", concat!("untimed, or no ", $many),
                "90th percentile",
                |run| latency(run, &run.host.metrics.$kind, |kind| quantile(kind, 0.9));
            concat!($path, ".p99"), Number, "us", concat!("untimed, or no ", $many),
                "99th percentile",
                |run| latency(run, &run.host.metrics.$kind, |kind| quantile(kind, 0.99));
            concat!($path, ".p99_9"), Number, "us", concat!("untimed, or no ", $many),
                "99.9th percentile",
                |run| latency(run, &run.host.metrics.$kind, |kind| quantile(kind, 0.999));
            concat!($path, ".p99_99"), Number, "us", concat!("untimed, or no ", $many),
                "99.99th percentile",
                |run| latency(run, &run.host.metrics.$kind, |kind| quantile(kind, 0.9999));
            concat!($path, ".p99_9999"), Number, "us", concat!("untimed, or fewer than 10⁶ ", $many),
                "99.9999th percentile",
                |run| latency(run, &run.host.metrics.$kind, rare_quantile);
            concat!($path, ".max"), Number, "us", concat!("untimed, or no ", $many),
                "Largest latency, exact",
                |run| latency(run, &run.host.metrics.$kind, |kind| json!(kind.latency_max.as_us()));
        }
    };
}

/// Meaning of the parts of write latency that collection causes.
const OF_COLLECTION: &str =
    "Waits while the die did this for merges or collection (GFTL: also while it was kept idle for an erase)";

fields! {
    pub const READS:
    "host.read.requests", Integer, "requests", "",
        "Reads done",
        |run| json!(run.host.metrics.read.requests);
    "host.read.bytes", Integer, "bytes", "",
        "Bytes of these reads, as requested",
        |run| json!(run.host.metrics.read.bytes);
}

latencies! {
    pub const READ_LATENCIES: "host.read.latency_us", "reads", read,
        "",
        ". Percentiles come from a histogram with three significant digits and are never above `max`";
}

fields! {
    pub const WRITES:
    "host.write.requests", Integer, "requests", "",
        "Writes done",
        |run| json!(run.host.metrics.write.requests);
    "host.write.bytes", Integer, "bytes", "",
        "Bytes of these writes, as requested",
        |run| json!(run.host.metrics.write.bytes);
    "host.write.fua_requests", Integer, "requests", "",
        "Writes with force unit access among these",
        |run| json!(run.host.metrics.fua_writes);
}

latencies! {
    pub const WRITE_LATENCIES: "host.write.latency_us", "writes", write,
        "",
        "";
}

fields! {
    pub const TRIMS:
    "host.trim.requests", Integer, "requests", "no trims: then `host.trim` is null",
        "Trims done",
        |run| trim(run, |kind| json!(kind.requests));
    "host.trim.bytes", Integer, "bytes", "no trims: then `host.trim` is null",
        "Bytes of these trims, as requested",
        |run| trim(run, |kind| json!(kind.bytes));
}

latencies! {
    pub const TRIM_LATENCIES: "host.trim.latency_us", "trims", trim,
        ". A trim waits only for a map in flash",
        "";
}

fields! {
    pub const FLUSHES:
    "host.flush.requests", Integer, "requests", "no flushes: then `host.flush` is null",
        "Flushes done",
        |run| flush(run, |kind| json!(kind.requests));
}

latencies! {
    pub const FLUSH_LATENCIES: "host.flush.latency_us", "flushes", flush,
        ". A flush waits until every page of the write buffer is programmed; without a buffer it passes the link alone",
        "";
}

fields! {
    pub const APPENDS:
    "host.append.requests", Integer, "requests", "no zone appends: then `host.append` is null",
        "Zone appends done",
        |run| of_zones(&run.host.metrics.append, |kind| json!(kind.requests));
    "host.append.bytes", Integer, "bytes", "no zone appends: then `host.append` is null",
        "Bytes of these appends",
        |run| of_zones(&run.host.metrics.append, |kind| json!(kind.bytes));
}

latencies! {
    pub const APPEND_LATENCIES: "host.append.latency_us", "zone appends", append,
        "",
        "";
}

fields! {
    pub const RESETS:
    "host.reset.requests", Integer, "requests", "no zones reset by requests: then `host.reset` is null",
        "Zones reset by requests",
        |run| of_zones(&run.host.metrics.reset, |kind| json!(kind.requests));
}

latencies! {
    pub const RESET_LATENCIES: "host.reset.latency_us", "zones reset by requests", reset,
        ". Until the reset's last erase has ended",
        "";
}

fields! {
    pub const FINISHES:
    "host.finish.requests", Integer, "requests", "no zones finished by requests: then `host.finish` is null",
        "Zones finished by requests",
        |run| of_zones(&run.host.metrics.finish, |kind| json!(kind.requests));
}

latencies! {
    pub const FINISH_LATENCIES: "host.finish.latency_us", "zones finished by requests", finish,
        ". Until the last page that the device fills is programmed",
        "";
}

fields! {
    pub const REQUESTS:
    "host.iops", Number, "requests/s", "untimed, or no simulated time",
        "Measured requests / `host.simulated_s`; in an unsaturated open loop the workload's rate",
        |run| rate(run, run.host.metrics.requests() as f64, run.host.metrics.simulated());
    "host.service_iops", Number, "requests/s", "untimed, or no such time",
        "Measured requests / time with at least one request outstanding",
        |run| rate(run, run.host.metrics.requests() as f64, run.host.metrics.serving);
    "host.throughput_mib_per_s", Number, "MiB/s", "untimed, or no simulated time",
        "Bytes read and written / `host.simulated_s`",
        |run| rate(run, mebibytes(run), run.host.metrics.simulated());
    "host.buffer_hits", Integer, "pages", "",
        "Page accesses answered from the write buffer, or from pages still queued for programming",
        |run| json!(run.counts().buffer_hits);
    "host.simulated_s", Number, "s", "untimed",
        "From the start of measuring to the last completion, arrival or recovery",
        |run| when(run.config.run.timed, || json!(run.host.metrics.simulated().as_s()));
    "write_latency_breakdown_us.transfer", Number, "us", "untimed, or no writes",
        "The page's transfer to the die, command overhead included",
        |run| part(run, true, run.host.metrics.write_parts.transfer);
    "write_latency_breakdown_us.program", Number, "us", "untimed, or no writes",
        "The page's program",
        |run| part(run, true, run.host.metrics.write_parts.program);
    "write_latency_breakdown_us.queue", Number, "us", "untimed, or no writes",
        "Waits for other host requests on the die, for the channel, and for room in the write buffer",
        |run| part(run, true, waited(run, Phase::Host));
    "write_latency_breakdown_us.link", Number, "us", "`host.link_mb_per_s` and `host.overhead_us` are not given",
        "The request's overhead and transfer over the link",
        |run| part(run, has_link(run), run.host.metrics.write_parts.link);
    "write_latency_breakdown_us.controller", Number, "us", "`controller.t_request_us` and `controller.t_command_us` are 0",
        "Wait for a controller core, and its time for the request",
        |run| part(run, run.config.controller.takes_time(), run.host.metrics.write_parts.controller);
    "write_latency_breakdown_us.map", Number, "us", "map in RAM, and nothing written for recovery",
        "Loading the map's entry, and waits for the map or its recovery on the die",
        |run| part(run, run.is_map_in_flash() || run.programs_for_map(), waited(run, Phase::Map));
    "write_latency_breakdown_us.rmw_read", Number, "us", "`host.partial_page` is `whole-page`",
        "Read of the old copy before a partial write",
        |run| part(run, run.config.host.partial_page == PartialPage::Rmw, run.host.metrics.write_parts.rmw_read);
    "write_latency_breakdown_us.gc_spare_read", Number, "us", "untimed, or no writes",
        OF_COLLECTION,
        |run| part(run, true, waited(run, Phase::GcSpareRead));
    "write_latency_breakdown_us.gc_read", Number, "us", "untimed, or no writes",
        OF_COLLECTION,
        |run| part(run, true, waited(run, Phase::GcRead));
    "write_latency_breakdown_us.gc_write", Number, "us", "untimed, or no writes",
        OF_COLLECTION,
        |run| part(run, true, waited(run, Phase::GcWrite));
    "write_latency_breakdown_us.gc_erase", Number, "us", "untimed, or no writes",
        OF_COLLECTION,
        |run| part(run, true, waited(run, Phase::GcErase));
}

/// Samples below which a p99.9999 would be noise.
pub(super) const P99_9999_SAMPLES_MIN: u64 = 1_000_000;

/// A figure of trims; null without one.
fn trim(run: &Finished, figure: impl Fn(&KindMetrics) -> Value) -> Value {
    let trims = &run.host.metrics.trim;
    when(trims.requests > 0, || figure(trims))
}

/// A figure of flushes; null without one.
fn flush(run: &Finished, figure: impl Fn(&KindMetrics) -> Value) -> Value {
    let flushes = &run.host.metrics.flush;
    when(flushes.requests > 0, || figure(flushes))
}

/// A figure of a kind of command to zones; null without one.
fn of_zones(kind: &KindMetrics, figure: impl Fn(&KindMetrics) -> Value) -> Value {
    when(kind.requests > 0, || figure(kind))
}

/// A figure of latencies; null without a clock or a request.
fn latency(run: &Finished, kind: &KindMetrics, figure: impl Fn(&KindMetrics) -> Value) -> Value {
    when(run.config.run.timed && kind.requests > 0, || figure(kind))
}

/// The latency that this share of the requests does not exceed.
pub(super) fn quantile(kind: &KindMetrics, quantile: f64) -> Value {
    json!(kind.latency.value_at_quantile(quantile).min(kind.latency_max.0) as f64 / 1_000.0)
}

fn rare_quantile(kind: &KindMetrics) -> Value {
    when(kind.requests >= P99_9999_SAMPLES_MIN, || quantile(kind, 0.999999))
}

/// An amount a second; null without a clock.
fn rate(run: &Finished, amount: f64, time: Time) -> Value {
    when(run.config.run.timed, || ratio(amount, time.as_s()))
}

fn mebibytes(run: &Finished) -> f64 {
    let metrics = &run.host.metrics;
    (metrics.read.bytes + metrics.write.bytes + metrics.append.bytes) as f64 / f64::from(1 << 20)
}

/// The mean of a part of write latency; null without a clock, without a write, or where there is no such part.
fn part(run: &Finished, applies: bool, sum: u128) -> Value {
    let writes = run.host.metrics.write.requests;
    when(run.config.run.timed && writes > 0 && applies, || json!(sum as f64 / writes as f64 / 1_000.0))
}

fn waited(run: &Finished, phase: Phase) -> u128 {
    run.host.metrics.write_parts.waited(phase)
}

fn has_link(run: &Finished) -> bool {
    run.config.host.link_mb_per_s.is_some() || run.config.host.overhead_us > 0.0
}
