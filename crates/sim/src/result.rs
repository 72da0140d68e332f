//! The result document.

use pumice_ftl::{GcCounters, MergeCount};
use pumice_types::Time;
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

use crate::build;
use crate::metrics::{KindMetrics, Metrics};
use crate::read_retry::ReadRetry;
use crate::run::Finished;
use crate::scheduler::Phase;
use crate::spec::Spec;

/// Name and version of the document's format.
pub const FORMAT: &str = "pumice.result/1";

/// Samples below which a p99.9999 would be noise.
const P99_9999_SAMPLES_MIN: u64 = 1_000_000;

/// The keys of a spec that the document depends on: all but those that only ask for files.
pub fn config(spec: &Spec) -> Value {
    // Serialising plain structs of numbers and texts cannot fail.
    let mut config = serde_json::to_value(spec).unwrap_or_default();
    config["output"] = json!({ "time_series_s": spec.output.time_series_s });
    config
}

/// SHA-256 of a spec in its canonical form: two specs with the same digest have the same document.
pub fn digest(spec: &Spec) -> String {
    Sha256::digest(config(spec).to_string().as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Builds the document of a finished run. Its `run` section lacks what only a wall clock knows.
pub fn document(run: &Finished) -> Value {
    let (host, tally) = (run.host, &run.host.tally);
    let metrics = &host.metrics;
    let written_bytes = tally.programs() as f64 * f64::from(run.geometry.page_bytes);
    let timed = run.spec.run.timed;
    json!({
        "format": FORMAT,
        "version": env!("CARGO_PKG_VERSION"),
        "config": config(run.spec),
        "config_sha256": digest(run.spec),
        "workload": workload(run),
        "seed": run.spec.seed,
        "scale": run.scale,
        "device": device(run),
        "host": host_section(metrics, timed),
        "flash": flash(run),
        "write_amplification": ratio(tally.programs() as f64, tally.host_programs as f64),
        "write_amplification_bytes": ratio(written_bytes, metrics.write.bytes as f64),
        "gc": gc(run),
        "write_latency_breakdown_us": if timed { breakdown(run) } else { Value::Null },
        "wear": wear(run),
        "integrity": {
            "pages_checked": host.device.ledger.pages_checked,
            "corrupt_pages": host.device.ledger.corrupt_pages,
            "lost_pages": host.device.ledger.lost_pages,
        },
        "utilisation": if timed { utilisation(run) } else { Value::Null },
        "run": {
            "requests": metrics.requests(),
            "flash_commands": tally.flash_commands(),
            "bytes_per_page": state_bytes_per_page(run),
        },
        "warnings": run.warnings,
    })
}

/// `a / b`, or null if `b` is 0.
fn ratio(a: f64, b: f64) -> Value {
    if b > 0.0 { json!(a / b) } else { Value::Null }
}

fn workload(run: &Finished) -> Value {
    let mut section = Map::new();
    section.insert("kind".into(), json!(run.spec.workload.kind));
    for (name, value) in run.workload.facts() {
        section.insert(name.to_string(), json!(value));
    }
    section.insert("logical_blocks_written".into(), json!(run.host.device.ledger.logical_blocks_written()));
    section.into()
}

fn device(run: &Finished) -> Value {
    let g = &run.geometry;
    let user_pages = u64::from(run.host.ftl.user_pages());
    let spare_pages = g.pages() - user_pages;
    json!({
        "channels": g.channels, "chips_per_channel": g.chips_per_channel, "dies_per_chip": g.dies_per_chip,
        "planes": g.planes(), "blocks": g.blocks(), "pages": g.pages(),
        "raw_bytes": g.raw_bytes(), "user_bytes": user_pages * u64::from(g.page_bytes),
        "spare_over_raw": spare_pages as f64 / g.pages() as f64,
        "spare_over_user": spare_pages as f64 / user_pages as f64,
    })
}

fn host_section(metrics: &Metrics, timed: bool) -> Value {
    let seconds = metrics.simulated().as_s();
    let requests = metrics.requests() as f64;
    let bytes = (metrics.read.bytes + metrics.write.bytes) as f64;
    let rate = |amount: f64, seconds: f64| if timed { ratio(amount, seconds) } else { Value::Null };
    json!({
        "read": kind(&metrics.read, timed),
        "write": kind(&metrics.write, timed),
        "trim": if metrics.trim.requests > 0 { kind(&metrics.trim, timed) } else { Value::Null },
        "iops": rate(requests, seconds),
        "service_iops": rate(requests, metrics.serving.as_s()),
        "throughput_mib_per_s": rate(bytes / f64::from(1 << 20), seconds),
        "buffer_hits": metrics.buffer_hits,
        "simulated_s": if timed { json!(seconds) } else { Value::Null },
    })
}

fn kind(metrics: &KindMetrics, timed: bool) -> Value {
    let latency = if timed && metrics.requests > 0 { latency(metrics) } else { Value::Null };
    json!({ "requests": metrics.requests, "bytes": metrics.bytes, "latency_us": latency })
}

fn latency(metrics: &KindMetrics) -> Value {
    let quantile = |q: f64| json!(metrics.latency.value_at_quantile(q).min(metrics.latency_max.0) as f64 / 1_000.0);
    let enough = metrics.requests >= P99_9999_SAMPLES_MIN;
    json!({
        "mean": metrics.mean_us(),
        "p50": quantile(0.5), "p90": quantile(0.9), "p99": quantile(0.99), "p99_9": quantile(0.999),
        "p99_99": quantile(0.9999),
        "p99_9999": if enough { quantile(0.999999) } else { Value::Null },
        "max": metrics.latency_max.as_us(),
    })
}

fn flash(run: &Finished) -> Value {
    let (spec, tally) = (run.spec, &run.host.tally);
    let retry = run.host.device.retry.as_ref();
    let in_spare = build::map_in_spare(spec);
    let cached = spec.ftl.map_place == "cached";
    let sub_blocks = spec.partial_erase.unit == "sub-block";
    json!({
        "reads": {
            "host": tally.host_reads, "gc": tally.copies,
            "spare": tally.host_spare_pages + tally.gc_spare_pages,
            "map": count(cached || in_spare, tally.map_reads + tally.map_copies + tally.map_spare_pages),
            "rmw": count(spec.host.partial_page == "rmw", tally.rmw_reads),
        },
        "spare_searches": tally.searches(),
        "programs": {
            "host": tally.host_programs, "gc": tally.copies,
            "map": count(cached, tally.map_programs + tally.map_copies),
        },
        "erases": { "block": tally.block_erases, "partial": tally.partial_erases_total(), "sub_block": count(sub_blocks, tally.sub_block_erases) },
        "multi_plane_commands": count(spec.run.timed && spec.timing.multi_plane, run.multi_plane_commands),
        "suspensions": count(spec.run.timed && spec.erase.suspension != "off", run.suspensions),
        "read_retries": retry.map(ReadRetry::retries),
    })
}

/// A count, or null where it does not apply.
fn count(applies: bool, value: u64) -> Value {
    if applies { json!(value) } else { Value::Null }
}

fn gc(run: &Finished) -> Value {
    let counters = run.host.ftl.counters();
    let (tally, timing) = (&run.host.tally, &run.timing);
    let searches = timing.t_r + timing.spare_transfer;
    let triggers = counters.trigger_full
        + counters.trigger_unpaired
        + counters.trigger_intra
        + counters.trigger_inter
        + counters.trigger_free_blocks;
    // A count is null where the FTL or the kind of merge does not apply.
    let ftl = &run.spec.ftl;
    let kind = ftl.kind.as_str();
    let (nftl, superblock, page) = (kind == "nftl", kind == "superblock", kind == "page");
    let classic = !page && !nftl && !(superblock && ftl.superblock.variant == "pen");
    let m_merge = ftl.merge != "block-erase";
    let steps = matches!(ftl.gc_mode.as_str(), "background" | "preemptible");
    let in_flash = ftl.map_place == "cached" || build::map_in_spare(run.spec);
    let cached = ftl.map_place == "cached";
    let levels_wear = matches!(ftl.wear_leveling.as_str(), "static" | "both");
    json!({
        "invocations": triggers,
        "reclaimed_blocks": count(page, counters.reclaimed.block_erases),
        "reclaimed_sub_blocks": count(run.spec.ftl.erase_unit == "sub-block", counters.reclaimed_sub_blocks),
        "reclaimed_partial_blocks": count(run.spec.ftl.erase_unit == "partial-block", counters.reclaimed.partial_erases),
        "urgent": count(steps, counters.urgent),
        "merges": {
            "full": count(!page, counters.full.merges), "partial": count(classic, counters.partial.merges),
            "switch": count(classic, counters.switch.merges), "m_merge": count(m_merge, counters.m_merge.merges),
        },
        "erases_by_merge": erases_by_merge(counters, [!page, m_merge, classic]),
        "triggers": {
            "full": count(!page && !superblock, counters.trigger_full),
            "unpaired": count(!page && !superblock, counters.trigger_unpaired),
            "intra": count(superblock, counters.trigger_intra), "inter": count(superblock, counters.trigger_inter),
            "free_blocks": count(page, counters.trigger_free_blocks),
        },
        "copied_pages": counters.copied_pages,
        "wear_leveling": {
            "erases": count(levels_wear, counters.moved.block_erases),
            "copied_pages": count(levels_wear, counters.moved_pages),
        },
        "time_us": {
            "map": (searches * (tally.gc_spare_pages + tally.map_spare_pages)
                + timing.command_overhead * (tally.gc_searches + tally.map_spare_pages)).as_us(),
            "copy": (timing.copy() * tally.copies).as_us(),
            "erase": erase_time(run).as_us(),
        },
        "victim_fill": counters.victim_fill,
        "u_blocks_max": count(nftl || classic, counters.u_blocks_max),
        "map": {
            "ram_bytes": run.host.ftl.map_ram_bytes(),
            "hits": count(in_flash, counters.map_hits), "misses": count(in_flash, counters.map_misses),
            "write_backs": count(cached, counters.map_write_backs), "erases": count(cached, counters.map_erases),
        },
    })
}

/// Erases of each kind of merge. Those of full merges and M-Merges are null where they do not apply; the
/// others are there only for FTLs that have them.
fn erases_by_merge(counters: &GcCounters, [full, m_merge, classic]: [bool; 3]) -> Value {
    let erases = |merges: &MergeCount| json!({ "block": merges.block_erases, "partial": merges.partial_erases });
    let mut all = json!({
        "full": if full { erases(&counters.full) } else { Value::Null },
        "m_merge": if m_merge { erases(&counters.m_merge) } else { Value::Null },
    });
    if classic {
        all["partial"] = erases(&counters.partial);
        all["switch"] = erases(&counters.switch);
        all["dead"] = erases(&counters.dead);
    }
    all
}

/// Die time of all erases.
fn erase_time(run: &Finished) -> Time {
    if let Some(eraser) = &run.host.device.eraser {
        return eraser.totals().time;
    }
    let (tally, timing) = (&run.host.tally, &run.timing);
    let partial: Time = tally.partial_erases.iter().zip(&timing.partial_erase).map(|(&n, &t)| t * n).sum();
    timing.t_bers * (tally.block_erases + tally.sub_block_erases) + partial
}

fn breakdown(run: &Finished) -> Value {
    let (spec, metrics) = (run.spec, &run.host.metrics);
    let requests = metrics.write.requests;
    if requests == 0 {
        return Value::Null;
    }
    let mean = |sum: u128| sum as f64 / requests as f64 / 1_000.0;
    let applied = |applies: bool, sum: u128| if applies { json!(mean(sum)) } else { Value::Null };
    let parts = &metrics.write_parts;
    json!({
        "transfer": mean(parts.transfer),
        "program": mean(parts.program),
        "queue": mean(parts.waited(Phase::Host)),
        "link": applied(spec.host.link_mb_per_s.is_some() || spec.host.overhead_us > 0.0, parts.link),
        "map": applied(spec.ftl.map_place != "ram", parts.waited(Phase::Map)),
        "rmw_read": applied(spec.host.partial_page == "rmw", parts.rmw_read),
        "gc_spare_read": mean(parts.waited(Phase::GcSpareRead)),
        "gc_read": mean(parts.waited(Phase::GcRead)),
        "gc_write": mean(parts.waited(Phase::GcWrite)),
        "gc_erase": mean(parts.waited(Phase::GcErase)),
    })
}

fn wear(run: &Finished) -> Value {
    let (wear, tally) = (run.host.device.array.wear(), &run.host.tally);
    let erases = tally.erases_total();
    let eraser = run.host.device.eraser.as_ref();
    let totals = eraser.map(|eraser| eraser.totals());
    let life = eraser.map(|eraser| (eraser.lifetime(), eraser.mean_pec()));
    json!({
        "aep": wear.aep,
        "vep": wear.vep,
        "max_erases_per_page": wear.max_erases_per_page,
        "mean_erase_latency_us": match totals {
            Some(totals) => json!(totals.mean_us()),
            None => ratio(erase_time(run).as_us(), erases as f64),
        },
        "loops": totals.map(|totals| &totals.loops[1..]),
        "mispredictions": totals.map(|totals| totals.mispredictions),
        "retired_blocks": totals.map(|totals| totals.retired),
        "m_rber": life.as_ref().map(|(life, pec)| life.at(*pec).m_rber),
        "pec_at_ecc": life.as_ref().and_then(|(life, _)| life.pec_at(run.spec.erase.ecc_bits_per_kib)),
        "pec_at_requirement": life.as_ref().and_then(|(life, _)| life.pec_at_requirement()),
    })
}

fn utilisation(run: &Finished) -> Value {
    let seconds = run.host.metrics.simulated().as_s();
    let shares = |busy: &[Time]| busy.iter().map(|time| ratio(time.as_s(), seconds)).collect::<Vec<_>>();
    json!({ "die": shares(&run.busy.0), "channel": shares(&run.busy.1) })
}

/// State of array, FTL and ledger per physical page, as if everything were touched.
fn state_bytes_per_page(run: &Finished) -> f64 {
    let erases = run.host.device.eraser.as_ref().map_or(0, |eraser| eraser.ram_bytes() as u64);
    let others = run.host.ftl.state_bytes() + run.host.device.ledger.state_bytes() + erases;
    run.host.device.array.bytes_per_page() + others as f64 / run.geometry.pages() as f64
}
