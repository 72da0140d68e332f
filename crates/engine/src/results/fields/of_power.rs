//! Power cuts, and what recovery took.

use pumice_ftl::{CutProtection, LogSize, Recovery};
use pumice_types::{Geometry, Time};
use serde_json::{Value, json};

use super::Type::{Integer, Number};
use super::{ResultField, count, fields, when};
use crate::results::Finished;

/// Meaning of the times of recoveries.
const RECOVERY: &str = "Time from a cut (of several in a recovery, the first) until the host is served again";

/// Meaning of the times that the device's own energy lasted.
const HOLD_UP: &str = "Time for which the device's own energy had to last; part of the recovery";

fields! {
    pub const FIELDS:
    "power.cuts", Integer, "", "`ftl.recovery = \"off\"`",
        "Power cuts, those during a recovery included",
        |run| of(run, run.power.cuts);
    "power.recovery_us.mean", Number, "us", "no cuts",
        RECOVERY,
        |run| when(run.power.recoveries > 0, || json!(us(run.power.recovery[0]) / run.power.recoveries as f64));
    "power.recovery_us.max", Number, "us", "no cuts",
        RECOVERY,
        |run| when(run.power.recoveries > 0, || json!(us(run.power.recovery[1])));
    "power.hold_up_us.mean", Number, "us", "no cuts, or `power.protection = \"none\"`",
        HOLD_UP,
        |run| when(is_protected(run), || json!(us(run.power.hold_up[0]) / run.power.cuts as f64));
    "power.hold_up_us.max", Number, "us", "no cuts, or `power.protection = \"none\"`",
        HOLD_UP,
        |run| when(is_protected(run), || json!(us(run.power.hold_up[1])));
    "power.spare_reads", Integer, "pages", "`ftl.recovery = \"off\"`",
        "Spare areas read to recover; not in `flash.reads`",
        |run| of(run, run.power.reads[0]);
    "power.page_reads", Integer, "pages", "`ftl.recovery = \"off\"`",
        "Whole pages read to recover: summaries, or map and journal; not in `flash.reads`",
        |run| of(run, run.power.reads[1]);
    "power.recovery_programs", Integer, "pages", "`ftl.recovery = \"off\"`",
        "Pages programmed or copied before the host was served again; also in `flash.programs`",
        |run| of(run, run.power.written[0]);
    "power.recovery_erases", Integer, "blocks", "`ftl.recovery = \"off\"`",
        "Blocks erased before the host was served again; also in `flash.erases`",
        |run| of(run, run.power.written[1]);
    "power.journal_pages", Integer, "pages", "`ftl.recovery` is not `checkpoint`",
        "Journal pages programmed; also in `flash.programs.map`",
        |run| count(is_logged(run), run.counts().waiting_map_programs);
    "power.map_pages", Integer, "pages", "`ftl.recovery` is not `checkpoint`",
        "Pages of map and table of open blocks programmed; also in `flash.programs.map`",
        |run| count(is_logged(run), run.counts().map_programs - run.counts().waiting_map_programs);
    "power.trim_pages", Integer, "pages", "neither `ftl.recovery = \"scan\"` nor `\"summary\"` with `ftl.kind = \"page\"`",
        "Trim pages programmed; also in `flash.programs.map`",
        |run| count(has_trim_pages(run), run.counts().waiting_map_programs);
    "power.log_blocks", Integer, "blocks a plane", "`ftl.recovery` is not `checkpoint`",
        "Blocks of a plane set aside for map and journal",
        |run| count(is_logged(run), log(run).blocks_per_plane);
    "power.log_ram_bytes", Integer, "bytes", "`ftl.recovery` is not `checkpoint`",
        "RAM for unwritten changes and the places of the map's pages",
        |run| count(is_logged(run), log(run).ram_bytes);
    "power.summary_pages", Integer, "pages a block", "`ftl.recovery` is not `summary`",
        "Pages of each block that list its contents; also in `flash.programs.map`",
        |run| {
            let Geometry { pages_per_block, page_bytes, units_per_page, .. } = run.geometry;
            let recovery = run.config.ftl.shared.recovery;
            let pages = recovery.summary_pages(pages_per_block, page_bytes, units_per_page) / units_per_page;
            count(recovery == Recovery::Summary, u64::from(pages))
        };
    "power.torn_programs", Integer, "commands", "`ftl.recovery = \"off\"`",
        "Programs and copies under way at a cut",
        |run| of(run, run.power.torn[0]);
    "power.torn_erases", Integer, "commands", "`ftl.recovery = \"off\"`",
        "Erases under way at a cut",
        |run| of(run, run.power.torn[1]);
    "power.unreadable_pages", Integer, "pages", "`ftl.recovery = \"off\"`",
        "Pages that failed their code, at each recovery",
        |run| of(run, run.power.found.unreadable_pages);
    "power.abandoned_blocks", Integer, "blocks", "`ftl.recovery = \"off\"`, or a plug-in",
        "Blocks with blank pages, not written further, at each recovery",
        |run| of_built_in(run, run.power.found.abandoned_blocks);
    "power.moved_pages", Integer, "pages", "`ftl.recovery = \"off\"`",
        "Pages copied before the host was served: possibly unfinished ones, and those of merges",
        |run| of(run, run.power.found.moved_pages);
    "power.erased_again", Integer, "blocks", "`ftl.recovery = \"off\"`, or a plug-in",
        "Blank blocks erased again before their first program",
        |run| of_built_in(run, run.counts().erases_again);
    "power.failed_requests", Integer, "requests", "`ftl.recovery = \"off\"`",
        "Requests in flight that failed",
        |run| of(run, run.power.failed_requests);
    "power.broken_promises", Integer, "pages", "`ftl.recovery = \"off\"`",
        "Pages that returned neither the promised version nor a newer one after a cut. With `run.check = \"integrity\"` every stored page is read, and one such page gives status 1",
        |run| of(run, run.power.broken_promises);
}

fn of(run: &Finished, value: u64) -> Value {
    count(run.config.ftl.shared.recovery != Recovery::Off, value)
}

fn is_protected(run: &Finished) -> bool {
    run.power.cuts > 0 && run.config.power.protection != CutProtection::None
}

/// What a plug-in does not tell.
fn of_built_in(run: &Finished, value: u64) -> Value {
    if run.config.ftl.own_layer().is_some() { Value::Null } else { of(run, value) }
}

fn is_logged(run: &Finished) -> bool {
    run.config.ftl.shared.recovery == Recovery::Checkpoint
}

/// A journal holds trims like any other change.
fn has_trim_pages(run: &Finished) -> bool {
    let recovery = run.config.ftl.shared.recovery;
    recovery != Recovery::Off && run.config.ftl.kind.facts().writes_down_trims && !is_logged(run)
}

fn log(run: &Finished) -> LogSize {
    run.controller.ftl.log_size()
}

fn us(time: Time) -> f64 {
    time.0 as f64 / 1e3
}
