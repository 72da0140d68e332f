//! What was run, on which device, and what the run itself took.

use pumice_ftl::plugin::OwnLayer;
use pumice_ftl::policy::OwnPolicy;
use pumice_types::Time;
use serde_json::{Value, json};

use super::Type::{Integer, List, Number, Table, Text};
use super::{ResultField, fields, ratio, when};
use crate::chip::erase::Eraser;
use crate::metrics::TimeSeries;
use crate::results::{FORMAT, Finished};
use crate::stopping::StoppingReport;

/// Meaning of the fields that tell the shape of the device.
const SHAPE: &str = "Shape of the device, as in the keys of `[geometry]`";

fields! {
    pub const FIELDS:
    "format", Text, "", "",
        "Name and version of this format: `pumice.result/1`",
        |_| json!(FORMAT);
    "version", Text, "", "",
        "Version of the engine",
        |_| json!(env!("CARGO_PKG_VERSION"));
    "preset", Text, "", "the spec starts from none",
        "Preset that the spec starts from; the result depends on `config` alone",
        |_| Value::Null;
    "config.*", Table, "as in the spec", "an absent key",
        "Every [key](KEYS.md) of the resolved spec: preset, file and `--set` over the defaults; the geometry before scaling",
        |run| run.config.result_keys();
    "config_sha256", Text, "", "",
        "SHA-256 of the resolved spec in its canonical form. The same digest, `scale` and trace file give the same result",
        |run| json!(run.config.digest());
    "seed", Integer, "", "",
        "Seed of every random stream",
        |run| json!(run.config.seed);
    "scale", Number, "", "",
        "Share of the study that was run; 1 is all of it",
        |run| json!(run.scale);
    "policy.name", Text, "", "no policy of the user's",
        "Name of the policy",
        |run| own_policy(run, |policy| json!(policy.0.name()));
    "policy.sha256", Text, "", "no policy of the user's",
        "SHA-256 of its file or source",
        |run| own_policy(run, |policy| json!(policy.0.sha256()));
    "policy.decides", List, "", "no policy of the user's",
        "Its decisions, in this order: `victim`, `placement`, `suspend`, `wear_swap`. Keys of the same decisions have no effect",
        |run| own_policy(run, |policy| json!(policy.0.decides().names()));
    "plugin.name", Text, "", "`ftl.kind` names no plug-in",
        "Name of the plug-in",
        |run| own_layer(run, |layer| json!(layer.source.name().name()));
    "plugin.sha256", Text, "", "`ftl.kind` names no plug-in",
        "SHA-256 of its shared object",
        |run| own_layer(run, |layer| json!(layer.source.sha256()));
    "plugin.counts.*", Table, "", "`ftl.kind` names no plug-in, or it counts nothing for itself",
        "Counts of the layer's own, by its own names, without the warm-up",
        |run| own_layer(run, |layer| own_counts(run, layer));
    "warnings", List, "", "never; empty without warnings",
        "Sentences for the user: scale below 1/16, saturation, changes made to a trace, keys without effect",
        |run| json!(run.warnings);
    "workload.kind", Text, "", "",
        "The spec's `workload.kind`; of flows, each kind once",
        kinds;
    "workload.logical_blocks_written", Integer, "blocks", "",
        "Distinct logical blocks that the host wrote, warm-up included",
        |run| json!(run.host.oracle.logical_blocks_written());
    "device.channels", Integer, "", "",
        SHAPE,
        |run| json!(run.geometry.channels);
    "device.chips_per_channel", Integer, "", "",
        SHAPE,
        |run| json!(run.geometry.chips_per_channel);
    "device.dies_per_chip", Integer, "", "",
        SHAPE,
        |run| json!(run.geometry.dies_per_chip);
    "device.planes", Integer, "", "",
        "Planes of the whole device",
        |run| json!(run.geometry.planes());
    "device.blocks", Integer, "", "",
        "Blocks of the whole device, bad ones included",
        |run| json!(run.geometry.blocks());
    "device.pages", Integer, "", "",
        "Pages of the whole device, those of bad blocks included",
        |run| json!(run.geometry.pages());
    "device.raw_bytes", Integer, "bytes", "",
        "User bytes of all pages, spare areas excluded",
        |run| json!(run.geometry.raw_bytes());
    "device.user_bytes", Integer, "bytes", "",
        "What the host can address",
        |run| json!(run.user_pages() * u64::from(run.geometry.page_bytes));
    "device.erase_ram_bytes", Integer, "bytes", "`erase.scheme = \"fixed\"`",
        "Controller RAM of the erase scheme: its memory of each block (AERO: a bit; i-ISPE: a byte), and AERO's table of pulse times (35 entries of 4 bytes, section 6 of its paper)",
        |run| json!(run.chips().eraser.as_ref().map(Eraser::controller_ram_bytes));
    "device.spare_over_raw", Number, "share", "",
        "(pages − user pages) / pages; a little above `ftl.over_provisioning` where whole logical blocks are rounded",
        |run| ratio(run.spare_pages(), run.geometry.pages() as f64);
    "device.spare_over_user", Number, "share", "",
        "(pages − user pages) / user pages",
        |run| ratio(run.spare_pages(), run.user_pages() as f64);
    "utilisation.die", List, "share", "entries: no simulated time",
        "For each die: time held by commands, waits for the channel included / simulated time",
        |run| shares(run, &run.busy.dies);
    "utilisation.channel", List, "share", "entries: no simulated time",
        "For each channel: time of transfers / simulated time",
        |run| shares(run, &run.busy.channels);
    "utilisation.controller", Number, "share", "`controller.t_request_us` and `controller.t_command_us` are 0; untimed, or no simulated time",
        "Work of the controller's cores / (simulated time × `controller.cores`)",
        |run| when(run.config.run.timed, || share_of_cores(run));
    "integrity.pages_checked", Integer, "pages", "",
        "Pages whose tag was compared: data reads, sources of copies, and with `run.check = \"integrity\"` every stored page at the end",
        |run| json!(run.checked().pages_checked);
    "integrity.corrupt_pages", Integer, "pages", "",
        "Distinct logical pages that returned corrupt data at least once",
        |run| json!(run.checked().corrupt_pages);
    "integrity.lost_pages", Integer, "pages", "",
        "Logical pages whose newest version the read-back did not find",
        |run| json!(run.host.lost_pages);
    "run.requests", Integer, "requests", "",
        "Measured requests of every kind",
        |run| json!(run.host.metrics.requests());
    "run.flash_commands", Integer, "commands", "",
        "Page reads, programs and erases; a copy is two, a spare search one",
        |run| json!(run.counts().flash_commands());
    "run.bytes_per_page", Number, "bytes", "",
        "Memory of array, FTL and oracle / pages of the device, as if every page had been touched",
        |run| json!(run.state_bytes_per_page());
    "run.wall_s", Number, "s", "",
        "Wall-clock time, start-up included",
        |_| Value::Null;
    "run.requests_per_s", Number, "requests/s", "",
        "Requests simulated, warm-up included / `run.wall_s`",
        |_| Value::Null;
    "run.flash_commands_per_s", Number, "commands/s", "",
        "`run.flash_commands` / `run.wall_s`",
        |_| Value::Null;
    "run.peak_rss_mib", Number, "MiB", "unknown (read from Linux' `/proc`)",
        "Largest resident memory of the process so far",
        |_| Value::Null;
    "run.aged_device", Text, "", "not aged, or every run ages its own",
        "Source of the aged device: `aged` (this run), `memory` (another run of the process), `file` (a snapshot)",
        |_| Value::Null;
    "run.snapshot_faults", List, "", "no snapshots are used",
        "Snapshots refused or not written, and why",
        |_| Value::Null;
    "until.wanted", Text, "", "`run.until` is absent",
        "Quantity, and half-width of the 95 % confidence interval in percent",
        |run| until(run, |report| json!(report.until.to_string()));
    "until.outcome", Text, "", "`run.until` is absent",
        "`reached`, or `not-reached` if the requests ended first",
        |run| until(run, |report| json!(report.outcome()));
    "until.requests", Integer, "requests", "`run.until` is absent",
        "Measured requests done when the run decided to end, or in whole batches; `run.requests` adds those in flight",
        |run| until(run, |report| json!(report.requests));
    "until.batches", Integer, "", "`run.until` is absent",
        "Batches of these requests",
        |run| until(run, |report| json!(report.batches));
    "until.batch_requests", Integer, "requests", "`run.until` is absent",
        "Fewest requests of a batch",
        |run| until(run, |report| json!(report.batch_requests));
    "until.half_width", Number, "share of the value", "`run.until` is absent, or too few requests",
        "Widest half-width of `until.quantities`",
        |run| until(run, |report| json!(report.half_width()));
    "until.quantities", List, "", "`run.until` is absent",
        "List, one entry a quantity: `of` (`write_amplification`, `read_latency_us`, `write_latency_us`), `value` over the batches, `half_width` of its 95 % confidence interval as a share of the value, `correlation` of neighbouring batches, `state` (`known`, `wide`: the interval is too wide, `correlated`: the correlation is above 0.3, `no-erases`: parts of the run erased no block, `too-few`: too few requests)",
        |run| until(run, StoppingReport::quantities);
    "time_series", List, "", "`output.time_series_s` is absent",
        "List of windows of `output.time_series_s` seconds, in order, without empty ones",
        |run| run.host.series.as_ref().map_or(Value::Null, TimeSeries::document);
    "write_series", List, "", "`output.write_series` is absent",
        "List of windows of `output.write_series` user capacities of host data, in order",
        |run| run.controller.tally.series();
}

/// The kind of the workload, or those of all flows, each once.
fn kinds(run: &Finished) -> Value {
    let mut kinds: Vec<String> = Vec::new();
    for kind in run.config.workloads().map(|workload| workload.kind().name()) {
        if !kinds.contains(&kind) {
            kinds.push(kind);
        }
    }
    json!(kinds.join(" + "))
}

/// Share of their time in which the cores of the controller worked; null if they take none.
fn share_of_cores(run: &Finished) -> Value {
    let cores = run.host.cores().map(|count| run.busy.of.as_s() * f64::from(count));
    cores.map_or(Value::Null, |time| ratio(run.busy.cores.as_s(), time))
}

/// Shares of the time measured, one entry each; null without a clock.
fn shares(run: &Finished, busy: &[Time]) -> Value {
    let seconds = run.busy.of.as_s();
    match run.config.run.timed {
        true => busy.iter().map(|time| ratio(time.as_s(), seconds)).collect(),
        false => Value::Null,
    }
}

/// What a field says of the user's own translation layer.
fn own_layer(run: &Finished, value: impl Fn(&OwnLayer) -> Value) -> Value {
    run.config.ftl.own_layer().map_or(Value::Null, value)
}

/// What a layer of the user's own has counted for itself.
fn own_counts(run: &Finished, layer: &OwnLayer) -> Value {
    let counts = run.controller.ftl.layer().own_counts().map(|own| own.counts());
    let named = |counts: Vec<u64>| layer.source.counts().iter().cloned().zip(counts.into_iter().map(Value::from));
    counts.map_or(Value::Null, |counts| Value::Object(named(counts).collect()))
}

/// What a field says of the rule that may end the run early.
fn until(run: &Finished, value: impl Fn(&StoppingReport) -> Value) -> Value {
    run.stopping.as_ref().map_or(Value::Null, value)
}

/// What a field says of the user's own policy.
fn own_policy(run: &Finished, value: impl Fn(&OwnPolicy) -> Value) -> Value {
    run.config.ftl.own_policy.as_ref().map_or(Value::Null, value)
}
