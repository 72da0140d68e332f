//! Flash commands, write amplification and wear.

use pumice_config::PartialPage;
use pumice_types::{MultiPlane, PartialEraseUnit, ProgramSuspension, Suspension};
use serde_json::{Value, json};

use super::Type::{Integer, List, Number};
use super::{ResultField, count, fields, ratio};
use crate::chip::read_retry::ReadRetry;
use crate::results::Finished;

fields! {
    pub const FIELDS:
    "flash.reads.host", Integer, "pages", "",
        "Data pages read for host reads",
        |run| json!(run.counts().host_reads);
    "flash.reads.gc", Integer, "pages", "",
        "Data pages read by copies (a copy is a read and a program), or to be moved between zones, without those still in the controller's buffer",
        |run| json!(run.counts().copies + run.counts().moved_reads);
    "flash.reads.spare", Integer, "pages", "",
        "Spare areas read in searches, for the host and for merges",
        |run| json!(run.counts().host_spare_pages + run.counts().gc_spare_pages);
    "flash.reads.map", Integer, "pages", "the map is in RAM",
        "Mapping pages read (`ftl.map_place = \"cached\"`), or spare areas (`\"spare\"`; `ftl.u_pointer = \"search\"`)",
        |run| count(run.is_map_in_flash(), run.counts().map_reads + run.counts().map_copies + run.counts().map_spare_pages);
    "flash.reads.rmw", Integer, "pages", "`host.partial_page` is `whole-page`",
        "Reads before a write of part of a page",
        |run| count(run.config.host.partial_page == PartialPage::Rmw, run.counts().rmw_reads);
    "flash.spare_searches", Integer, "commands", "",
        "Search commands behind `flash.reads.spare`",
        |run| json!(run.counts().searches());
    "flash.programs.host", Integer, "pages", "",
        "Pages programmed for host writes",
        |run| json!(run.counts().host_programs);
    "flash.programs.gc", Integer, "pages", "",
        "Pages programmed by copies, and pages moved between zones",
        |run| json!(run.counts().gc_programs());
    "flash.programs.map", Integer, "pages", "map in RAM, and nothing written for recovery",
        "Translation pages programmed (copies included), summaries of blocks, map, journal, trim pages",
        |run| count(run.programs_for_map(), run.counts().all_map_programs());
    "flash.programs.padding", Integer, "pages", "`ftl.kind` is not `zns`",
        "Pages programmed to fill zones that were finished",
        |run| count(run.zones().is_some(), run.counts().padding_programs);
    "flash.erases.block", Integer, "commands", "",
        "Erases of whole blocks",
        |run| json!(run.counts().block_erases);
    "flash.erases.partial", Integer, "commands", "",
        "Erases of partial blocks of every size, PB 1 included",
        |run| json!(run.counts().partial_erases_total());
    "flash.erases.sub_block", Integer, "commands", "`partial_erase.unit` is not `sub-block`",
        "Erases of sets of physical sub-blocks",
        |run| count(run.config.chip.partial_erase.unit == PartialEraseUnit::SubBlock, run.counts().sub_block_erases);
    "flash.multi_plane_commands", Integer, "commands", "untimed, or `timing.multi_plane = \"off\"`",
        "Commands that used more than one plane of a die",
        |run| multi_plane(run, MultiPlane::Erases, run.scheduler().multi_plane().commands);
    "flash.multi_plane_copies", Integer, "commands", "untimed, or `timing.multi_plane` is not `queue`",
        "Such commands that only copied pages",
        |run| multi_plane(run, MultiPlane::Queue, run.scheduler().multi_plane().copies);
    "flash.multi_plane_copies_with_programs", Integer, "commands", "untimed, or `timing.multi_plane` is not `queue`",
        "Such commands that copied pages and programmed others",
        |run| multi_plane(run, MultiPlane::Queue, run.scheduler().multi_plane().copies_with_programs);
    "flash.suspensions", Integer, "", "untimed; `erase.suspension = \"off\"`",
        "Times an erase was suspended, warm-up included",
        |run| count(is_suspended(run), run.scheduler().suspensions().erases);
    "flash.erase_restarts", Integer, "", "untimed; `erase.suspension = \"off\"`",
        "Erase pulses or loops that began again after a suspension",
        |run| count(is_suspended(run), run.chips().restarts.count);
    "flash.program_suspensions", Integer, "", "untimed; `program.suspension = \"off\"`",
        "Times a program, also of a copy, was suspended, warm-up included",
        |run| count(programs_are_suspended(run), run.scheduler().suspensions().programs);
    "flash.read_retries", Integer, "", "`erase.read_retry = false`",
        "[Retries](models/bit-errors.md#read-retries) of reads",
        |run| json!(run.chips().retry.as_ref().map(ReadRetry::retries));
    "flash.units.host", Integer, "units", "`ftl.map_unit_bytes` is not smaller than a page",
        "Mapping units of the host in programmed pages",
        |run| count(run.maps_units(), run.counts().units.host);
    "flash.units.gc", Integer, "units", "`ftl.map_unit_bytes` is not smaller than a page",
        "Mapping units that collection moved",
        |run| count(run.maps_units(), run.counts().units.gc);
    "flash.units.padding", Integer, "units", "`ftl.map_unit_bytes` is not smaller than a page",
        "Units without data in pages programmed before they were full",
        |run| count(run.maps_units(), run.counts().units.padding);
    "flash.units.map", Integer, "units", "`ftl.map_unit_bytes` is not smaller than a page",
        "Units of the layer's own pages: map, journal, trims, summaries",
        |run| count(run.maps_units(), run.counts().units.map);
    "write_amplification", Number, "", "no page was programmed for the host",
        "(host + gc + map + padding) / host, of `flash.programs`; of `flash.units` where mapping units are smaller than pages",
        |run| ratio(run.counts().stored() as f64, run.counts().host_stored() as f64);
    "write_amplification_bytes", Number, "", "no byte was written",
        "Bytes of all pages programmed / `host.write.bytes`; larger than `write_amplification` where requests do not fill pages",
        |run| ratio(run.programmed_bytes(), run.host.metrics.write.bytes as f64);
    "wear.aep", Number, "erases/page", "",
        "AEP: mean number of erases that hit a page, over all pages of the device",
        |run| json!(run.wear().aep);
    "wear.vep", Number, "erases²/page²", "",
        "VEP: population variance of the same",
        |run| json!(run.wear().vep);
    "wear.max_erases_per_page", Number, "erases", "",
        "Most erases that hit one page",
        |run| json!(run.wear().max_erases_per_page);
    "wear.endurance_used", Number, "", "`erase.endurance` is absent",
        "P/E cycles of the most erased page, those before the run included / `erase.endurance`",
        endurance_used;
    "wear.mean_erase_latency_us", Number, "us", "no erases",
        "Mean time of an erase, block or partial, without suspensions",
        mean_erase_latency;
    "wear.loops", List, "", "`erase.scheme = \"fixed\"`",
        "Erases by erase loops: five counts, one loop first",
        |run| json!(run.erase_totals().map(|totals| &totals.loops[1..]));
    "wear.mispredictions", Integer, "", "`erase.scheme = \"fixed\"`",
        "Pulses predicted from fail bits that were too short",
        |run| json!(run.erase_totals().map(|totals| totals.mispredictions));
    "wear.retired_blocks", Integer, "", "`erase.scheme = \"fixed\"`",
        "Blocks retired while measuring: their erase failed after `erase.max_loops` loops, or by `pumice ctl fault`",
        |run| json!(retired_blocks(run));
    "wear.restart_stress", Number, "", "`erase.scheme = \"fixed\"`, no erases",
        "Stress of interrupted pulses / that of all erases; included in the three fields below",
        |run| json!(run.erase_totals().filter(|totals| totals.erases > 0).map(|_| run.chips().restart_factor() - 1.0));
    "wear.m_rber", Number, "bits/KiB", "`erase.scheme = \"fixed\"`",
        "Most raw bit errors of a page after a year, of a block at the mean P/E cycles",
        |run| json!(run.life.as_ref().map(|(life, pec)| life.at(*pec).m_rber));
    "wear.pec_at_ecc", Number, "P/E cycles", "`erase.scheme = \"fixed\"`, or it always is",
        "Cycles up to which M_RBER is at most `erase.ecc_bits_per_kib`; later some reads need retries",
        |run| json!(run.life.as_ref().and_then(|(life, _)| life.pec_at(run.config.chip.erase.ecc_bits_per_kib)));
    "wear.pec_at_requirement", Number, "P/E cycles", "`erase.scheme = \"fixed\"`, or it is always met",
        "Cycles up to which `erase.rber_requirement` is met",
        |run| json!(run.life.as_ref().and_then(|(life, _)| life.pec_at_requirement()));
}

/// A count of multi-plane commands that there are from this mode on.
fn multi_plane(run: &Finished, from: MultiPlane, commands: u64) -> Value {
    count(run.config.run.timed && run.config.chip.timing.multi_plane >= from, commands)
}

fn is_suspended(run: &Finished) -> bool {
    run.config.run.timed && run.config.chip.erase.suspension != Suspension::Off
}

fn programs_are_suspended(run: &Finished) -> bool {
    run.config.run.timed && run.config.chip.program.suspension != ProgramSuspension::Off
}

/// Blocks whose erase failed, of its own or by order. `None`: none can fail of its own, and none was ordered to.
fn retired_blocks(run: &Finished) -> Option<u64> {
    let ordered = run.chips().failed_by_order();
    let own = run.erase_totals().map(|totals| totals.retired);
    if ordered > 0 { Some(own.unwrap_or(0) + ordered) } else { own }
}

fn mean_erase_latency(run: &Finished) -> Value {
    match run.erase_totals() {
        Some(totals) => json!(totals.mean_us()),
        None => ratio(run.erase_steps_time().as_us(), run.counts().erases_total() as f64),
    }
}

fn endurance_used(run: &Finished) -> Value {
    let erase = &run.config.chip.erase;
    let before = if erase.scheme.has_loops() { erase.initial_pec.into() } else { 0.0 };
    let cycles = before + run.wear().max_erases_per_page as f64;
    json!(erase.endurance.map(|rated| cycles / f64::from(rated)))
}
