//! Keys that a run does not read: each warns where it is idle and is silent where it is read, and a run where
//! it is idle really is the same whatever the key says.

use pumice_config::effect::is_conditional;
use pumice_config::{Config, SpecError, SpecSource};
use pumice_config::{table, without_effect};
use pumice_engine::run;
use serde_json::Value;

/// A key, two of its values, and settings under which it is idle and read.
type Case =
    (&'static str, [&'static str; 2], &'static [(&'static str, &'static str)], &'static [(&'static str, &'static str)]);

const PAGE: &[(&str, &str)] = &[("ftl.kind", "page")];
const NFTL: &[(&str, &str)] = &[("ftl.kind", "nftl")];
const ZNS: &[(&str, &str)] = &[("ftl.kind", "zns")];
const ZONE_WRITES: &[(&str, &str)] =
    &[("ftl.kind", "zns"), ("ftl.zns.interface", "zones"), ("workload.kind", "zone-write")];
const UNTIMED: &[(&str, &str)] = &[("run.timed", "false")];
const TIMED: &[(&str, &str)] = &[("run.timed", "true")];
const FULL_MERGES: &[(&str, &str)] = &[("ftl.merge", "block-erase")];
const M_MERGES: &[(&str, &str)] = &[("ftl.merge", "m-merge")];
const FIXED: &[(&str, &str)] = &[("erase.scheme", "fixed")];
const ISPE: &[(&str, &str)] = &[("erase.scheme", "ispe")];
const AERO: &[(&str, &str)] = &[("erase.scheme", "aero")];
const UNIFORM: &[(&str, &str)] = &[("workload.kind", "uniform")];
const TWIN: &[(&str, &str)] = &[("workload.kind", "twin:hm_0"), ("workload.address", "wrap")];
const FAT: &[(&str, &str)] = &[("workload.kind", "pic"), ("workload.address", "wrap")];
const PC: &[(&str, &str)] = &[("workload.kind", "pc"), ("workload.address", "wrap")];
const TRACE: &[(&str, &str)] = &[("workload.kind", "trace"), ("workload.path", "none.csv")];
const CLOSED: &[(&str, &str)] = &[("host.mode", "closed-loop")];
const OPEN: &[(&str, &str)] = &[("host.mode", "open-loop")];
const RECOVERS: &[(&str, &str)] =
    &[("ftl.kind", "page"), ("ftl.recovery", "scan"), ("host.mode", "closed-loop"), ("host.queue_depth", "64")];
const CHECKPOINT: &[(&str, &str)] = &[
    ("ftl.kind", "page"),
    ("ftl.recovery", "checkpoint"),
    ("ftl.over_provisioning", "0.4"),
    ("workload.request_bytes", "65536"),
];
const LEAVES: &[(&str, &str)] = &[("ftl.kind", "page"), ("ftl.erase_unit", "partial-block")];
const LEAF_ZONES: &[(&str, &str)] = &[("ftl.kind", "zns"), ("ftl.zns.unit", "partial-block")];
const LEAVES_OF_SUB_BLOCKS: &[(&str, &str)] =
    &[SUB_BLOCKS[0], SUB_BLOCKS[1], LEAVES[0], LEAVES[1], ("partial_erase.max_splits", "2")];
const UNITS: &[(&str, &str)] = &[("ftl.kind", "page"), ("timing.copyback", "false"), ("ftl.map_unit_bytes", "1024")];
const SUB_BLOCKS: [(&str, &str); 4] = [
    ("geometry.layers", "16"),
    ("geometry.sub_blocks", "4"),
    ("partial_erase.unit", "sub-block"),
    ("ftl.kind", "page"),
];

const NO_PARTS: (&str, &str) = ("partial_erase.unit", "none");

const SUB_BLOCKS_APART: &[(&str, &str)] =
    &[SUB_BLOCKS[0], SUB_BLOCKS[1], SUB_BLOCKS[2], SUB_BLOCKS[3], ("ftl.erase_unit", "sub-block")];
const SUB_BLOCKS_DISTURBED: &[(&str, &str)] = &[
    SUB_BLOCKS[0],
    SUB_BLOCKS[1],
    SUB_BLOCKS[2],
    SUB_BLOCKS[3],
    ("ftl.erase_unit", "sub-block"),
    ("partial_erase.sub_block_disturb", "3"),
];

/// Zones of sub-blocks, whose pages have errors by their place: the order in which zones are written is their own.
const SUB_BLOCK_ZONES: &[(&str, &str)] = &[
    SUB_BLOCKS[0],
    SUB_BLOCKS[1],
    SUB_BLOCKS[2],
    ("ftl.kind", "zns"),
    ("ftl.zns.unit", "sub-block"),
    ("ftl.zns.zone_planes", "1"),
    ("erase.read_retry", "true"),
    ("erase.ecc_bits_per_kib", "1.5"),
];

#[rustfmt::skip]
const CASES: &[Case] = &[
    ("geometry.bits_per_cell", ["1", "2"], &[], &[("geometry.layers", "8"), ("geometry.sub_blocks", "4")]),
    ("geometry.bits_per_cell", ["1", "2"], &[], &[("timing.t_r_us", "[50, 90]")]),
    ("geometry.page_types", ["one-shot", "interleaved"], &[NO_PARTS, ("geometry.bits_per_cell", "2")], &[NO_PARTS, ("geometry.bits_per_cell", "2"), ("timing.t_r_us", "[50, 90]")]),
    ("geometry.page_types", ["one-shot", "interleaved"], &[NO_PARTS, ("geometry.bits_per_cell", "2")], &[NO_PARTS, ("geometry.bits_per_cell", "2"), ("timing.t_prog_us", "[500, 900]")]),
    ("geometry.write_sequence", ["lfws", "sfws"], &SUB_BLOCKS, &[SUB_BLOCKS[0], SUB_BLOCKS[1], SUB_BLOCKS[2], SUB_BLOCKS[3], ("ftl.erase_unit", "sub-block")]),
    ("geometry.write_sequence", ["lfws", "sfws"], &SUB_BLOCKS, &[SUB_BLOCKS[0], SUB_BLOCKS[1], SUB_BLOCKS[2], SUB_BLOCKS[3], ("erase.read_retry", "true")]),
    ("geometry.write_sequence", ["lfws", "sfws"], SUB_BLOCK_ZONES, &[SUB_BLOCKS[0], SUB_BLOCKS[1], SUB_BLOCKS[2], SUB_BLOCKS[3], ("erase.read_retry", "true")]),
    ("geometry.write_sequence", ["lfws", "sfws"], &SUB_BLOCKS, LEAVES_OF_SUB_BLOCKS),
    ("geometry.write_sequence", ["lfws", "sfws"], &SUB_BLOCKS, &[SUB_BLOCKS[0], SUB_BLOCKS[1], LEAF_ZONES[0], LEAF_ZONES[1], ("partial_erase.max_splits", "2")]),
    ("timing.multi_plane", ["off", "queue"], UNTIMED, TIMED),
    ("timing.multi_plane", ["off", "queue"], UNTIMED, &[PAGE[0], UNTIMED[0], ("ftl.gc_mode", "preemptible")]),
    ("timing.read_transfer", ["page", "codewords"], UNTIMED, TIMED),
    ("timing.codeword_bytes", ["512", "4096"], TIMED, &[("timing.read_transfer", "codewords")]),
    ("timing.codeword_bytes", ["512", "4096"], &[("run.timed", "false"), ("timing.read_transfer", "codewords")], &[("timing.read_transfer", "codewords")]),
    ("timing.read_command", ["at-once", "channel"], UNTIMED, TIMED),
    ("ftl.open_page_us", ["1.0", "100000.0"], PAGE, UNITS),
    ("ftl.open_page_us", ["1.0", "100000.0"], &[UNITS[0], UNITS[1], UNITS[2], UNTIMED[0]], UNITS),
    ("erase.mode", ["table", "mechanism"], FIXED, ISPE),
    ("erase.initial_pec", ["0", "4500"], FIXED, ISPE),
    ("erase.ecc_bits_per_kib", ["72.0", "80.0"], FIXED, ISPE),
    ("erase.rber_requirement", ["63", "40"], FIXED, ISPE),
    ("erase.worn_blocks", ["used", "retired-by-errors"], FIXED, &[PAGE[0], NO_PARTS, ISPE[0]]),
    ("erase.t_ep_us", ["3500.0", "7000.0"], FIXED, &[("erase.scheme", "ispe"), ("erase.t_se_us", "2000.0")]),
    ("erase.t_vr_us", ["100.0", "50.0"], FIXED, ISPE),
    ("erase.misprediction_rate", ["0.0", "0.9"], ISPE, AERO),
    ("erase.t_feature_us", ["0.0", "50.0"], ISPE, AERO),
    ("erase.t_se_us", ["1000.0", "1500.0"], ISPE, AERO),
    ("erase.ecc_bits_per_kib", ["72.0", "80.0"], FIXED, ISPE),
    ("erase.gamma", ["500", "900"], FIXED, AERO),
    ("erase.gamma", ["500", "900"], ISPE, AERO),
    ("erase.delta", ["5000", "1000"], FIXED, AERO),
    ("erase.delta", ["5000", "1000"], ISPE, AERO),
    ("erase.suspension", ["off", "pulse"], &[("run.timed", "false"), ("host.read_priority", "true")], &[("host.read_priority", "true")]),
    ("erase.initial_memory", ["clear", "learned"], AERO, &[("erase.scheme", "aero"), ("erase.initial_pec", "2500")]),
    ("erase.initial_memory", ["clear", "learned"], &[("erase.scheme", "i-ispe"), ("erase.initial_pec", "2500")], &[("erase.scheme", "aero-cons"), ("erase.initial_pec", "1")]),
    ("erase.memory_in_spare", ["false", "true"], &[RECOVERS[0], RECOVERS[1], ISPE[0]], &[RECOVERS[0], RECOVERS[1], RECOVERS[2], RECOVERS[3], ("erase.scheme", "aero"), ("erase.initial_pec", "2500"), ("erase.initial_memory", "learned"), ("power.cut_at_s", "[0.05]")]),
    ("erase.last_loop", ["at-once", "first-write"], &[PAGE[0]], &[PAGE[0], ISPE[0]]),
    ("erase.last_loop", ["at-once", "first-write"], &[PAGE[0], ISPE[0], UNTIMED[0]], &[PAGE[0], ISPE[0]]),
    ("host.read_tokens", ["0", "1"], &[("run.timed", "false"), ("host.read_priority", "true")], &[("host.read_priority", "true")]),
    ("erase.suspension_for", ["reads", "reads-and-writes"], &[("erase.suspension", "off"), ("host.read_priority", "true")], &[("erase.suspension", "authors-code"), ("host.read_priority", "true")]),
    ("erase.suspension_restart", ["loop", "pulse"], &[("erase.suspension", "loop"), ("host.read_priority", "true")], &[("erase.suspension", "immediate"), ("host.read_priority", "true")]),
    ("erase.suspension_guard_us", ["0.0", "700.0"], &[("erase.suspension", "authors-code"), ("host.read_priority", "true")], &[("erase.suspension", "immediate"), ("host.read_priority", "true")]),
    ("erase.suspension_max_restarts", ["10", "0"], &[("erase.suspension", "pulse"), ("host.read_priority", "true")], &[("erase.suspension", "immediate"), ("host.read_priority", "true")]),
    ("erase.suspension_max_restarts", ["10", "0"], &[("erase.suspension", "capped"), ("host.read_priority", "true")], &[("erase.suspension", "authors-code"), ("host.read_priority", "true")]),
    ("erase.protected_loops", ["0", "1"], &[("erase.suspension", "authors-code"), ("host.read_priority", "true")], &[("erase.suspension", "pulse"), ("host.read_priority", "true")]),
    ("erase.suspend_us", ["0.0", "500.0"], &[("erase.suspension", "authors-code"), ("host.read_priority", "true")], &[("erase.suspension", "immediate"), ("host.read_priority", "true")]),
    ("erase.suspend_us", ["0.0", "500.0"], &[], &[("erase.suspension", "loop"), ("host.read_priority", "true")]),
    ("erase.resume_us", ["0.0", "500.0"], &[], &[("erase.suspension", "loop"), ("host.read_priority", "true")]),
    ("erase.max_suspensions", ["10", "0"], &[("erase.suspension", "pulse"), ("host.read_priority", "true")], &[("erase.suspension", "capped"), ("host.read_priority", "true")]),
    ("timing.plane_reads", ["die", "plane"], &[("run.timed", "false"), ("host.read_priority", "true")], &[("host.read_priority", "true")]),
    ("program.suspension", ["off", "pulse"], &[("run.timed", "false"), ("host.read_priority", "true")], &[("host.read_priority", "true")]),
    ("program.spread", ["0.0", "0.1"], UNTIMED, TIMED),
    ("program.protected_pulses", ["0", "9"], &[], &[("program.suspension", "pulse"), ("host.read_priority", "true")]),
    ("program.pulses", ["10", "3"], &[], &[("program.suspension", "pulse"), ("host.read_priority", "true")]),
    ("program.suspension_guard_us", ["0.0", "50.0"], &[("program.suspension", "pulse"), ("host.read_priority", "true")], &[("program.suspension", "immediate"), ("host.read_priority", "true")]),
    ("program.suspension_max_restarts", ["10", "0"], &[("program.suspension", "pulse"), ("host.read_priority", "true")], &[("program.suspension", "immediate"), ("host.read_priority", "true")]),
    ("program.suspend_us", ["0.0", "50.0"], &[], &[("program.suspension", "pulse"), ("host.read_priority", "true")]),
    ("program.resume_us", ["0.0", "50.0"], &[], &[("program.suspension", "pulse"), ("host.read_priority", "true")]),
    ("program.max_suspensions", ["10", "0"], &[("program.suspension", "immediate"), ("host.read_priority", "true")], &[("program.suspension", "capped"), ("host.read_priority", "true")]),
    ("partial_erase.max_splits", ["4", "2"], &[("partial_erase.unit", "none")], M_MERGES),
    ("partial_erase.max_splits", ["4", "2"], FULL_MERGES, M_MERGES),
    ("partial_erase.max_splits", ["4", "2"], PAGE, LEAVES),
    ("partial_erase.t_us", ["[10000, 9000, 9000, 9000, 9000]", "[10000, 1, 1, 1, 1]"], FULL_MERGES, M_MERGES),
    ("partial_erase.max_splits", ["4", "2"], FULL_MERGES, LEAF_ZONES),
    ("partial_erase.disturb_tolerance", ["1", "3"], FULL_MERGES, M_MERGES),
    ("partial_erase.disturb_tolerance", ["1", "3"], FULL_MERGES, LEAF_ZONES),
    ("partial_erase.disturb_aware", ["true", "false"], FULL_MERGES, M_MERGES),
    ("partial_erase.disturb_aware", ["true", "false"], PAGE, LEAVES),
    ("partial_erase.disturb_aware", ["true", "false"], SUB_BLOCKS_APART, SUB_BLOCKS_DISTURBED),
    ("partial_erase.sub_block_disturb", ["3", "8"], &SUB_BLOCKS, SUB_BLOCKS_APART),
    ("partial_erase.wear_limit_w", ["16", "1"], FULL_MERGES, M_MERGES),
    ("ftl.superblock.logical", ["4", "2"], NFTL, &[("ftl.kind", "superblock-pen")]),
    ("ftl.superblock.physical", ["5", "8"], NFTL, &[("ftl.kind", "superblock-pen")]),
    ("ftl.superblock.valid_blocks", ["copy", "keep"], &[("ftl.kind", "superblock-pen")], &[("ftl.kind", "superblock-2006")]),
    ("ftl.write_buffer_share", ["0.16", "0.3"], NFTL, &[("ftl.kind", "gftl")]),
    ("ftl.gc_free_threshold", ["0.08", "0.02"], &[("ftl.kind", "log-block")], NFTL),
    ("ftl.gc_stop_threshold", ["0.08", "0.1"], NFTL, PAGE),
    ("ftl.gc_policy", ["greedy", "random"], NFTL, PAGE),
    ("ftl.allocation_order", ["CWDP", "PDWC"], NFTL, PAGE),
    ("ftl.gc_write_tokens", ["0", "1"], PAGE, &[("ftl.kind", "page"), ("ftl.gc_mode", "preemptible")]),
    ("ftl.gc_planes", ["own", "die"], &[("ftl.kind", "page"), ("ftl.gc_mode", "preemptible")], PAGE),
    ("ftl.d_choices", ["8", "1"], PAGE, &[("ftl.kind", "page"), ("ftl.gc_policy", "d-choices")]),
    ("ftl.hot_window", ["0.5", "0.1"], PAGE, &[("ftl.kind", "page"), ("ftl.hot_cold", "recency")]),
    ("ftl.isolation", ["initial", "persistent"], PAGE, &[("ftl.kind", "page"), ("ftl.handles", "2")]),
    ("workload.stream_space", ["[0.1, 0.3, 0.6]", "[0.2, 0.3, 0.5]"], UNIFORM, &[("workload.kind", "streams")]),
    ("workload.stream_share", ["[0.6, 0.3, 0.1]", "[0.2, 0.3, 0.5]"], UNIFORM, &[("workload.kind", "streams")]),
    ("workload.small_space", ["0.04", "0.2"], UNIFORM, &[("workload.kind", "cache")]),
    ("workload.small_share", ["0.8", "0.2"], UNIFORM, &[("workload.kind", "cache")]),
    ("workload.small_theta", ["0.0", "0.9"], UNIFORM, &[("workload.kind", "cache")]),
    ("ftl.wear_threshold", ["50", "1"], PAGE, &[("ftl.kind", "page"), ("ftl.wear_leveling", "static")]),
    ("ftl.wear_in_spare", ["true", "false"], RECOVERS, &[RECOVERS[0], RECOVERS[1], RECOVERS[2], RECOVERS[3], ("ftl.wear_leveling", "dynamic"), ("power.cut_at_s", "[0.05]")]),
    ("ftl.checkpoint_interval", ["0.1", "0.001"], RECOVERS, CHECKPOINT),
    ("ftl.map_ram_kib", ["1", "64"], NFTL, &[("ftl.kind", "page"), ("ftl.map_place", "cached")]),
    ("ftl.map_cache_entries", ["16", "64"], NFTL, &[("ftl.kind", "page"), ("ftl.map_place", "cached")]),
    ("ftl.u_index", ["spare", "ram"], &[("ftl.kind", "log-block")], NFTL),
    ("ftl.u_pointer", ["ram", "search"], &[("ftl.kind", "log-block")], NFTL),
    ("ftl.u_pointer", ["ram", "search"], &[("ftl.kind", "nftl"), ("ftl.u_index", "ram")], NFTL),
    ("ftl.u_blocks", ["2", "4"], NFTL, &[("ftl.kind", "log-block")]),
    ("ftl.zns.interface", ["log", "zones"], PAGE, ZNS),
    ("ftl.zns.zone_planes", ["2", "1"], PAGE, ZNS),
    ("ftl.zns.unit", ["block", "partial-block"], PAGE, ZNS),
    ("ftl.zns.units_per_plane", ["1", "2"], PAGE, ZNS),
    ("ftl.zns.run_pages", ["1", "2"], PAGE, ZNS),
    ("ftl.zns.zone_size_kib", ["2048", "4096"], PAGE, ZNS),
    ("ftl.zns.mapping", ["fixed", "on-demand"], PAGE, ZNS),
    ("ftl.zns.max_open", ["14", "2"], PAGE, ZNS),
    ("ftl.zns.max_active", ["14", "20"], PAGE, ZNS),
    ("ftl.zns.reset", ["at-once", "idle"], PAGE, ZNS),
    ("ftl.zns.reset_erases", ["together", "in-turn"], ZNS, ZONE_WRITES),
    ("ftl.zns.finish_pace", ["at-once", "shared"], ZNS, &[ZONE_WRITES[0], ZONE_WRITES[1], ZONE_WRITES[2], ("host.write_buffer_kib", "64")]),
    ("ftl.zns.first_plane", ["same", "drawn"], PAGE, ZNS),
    ("ftl.zns.finish_at", ["1.0", "0.9"], PAGE, ZNS),
    ("ftl.zns.finish", ["pad", "leave"], PAGE, ZNS),
    ("ftl.zns.streams", ["2", "1"], PAGE, ZNS),
    ("ftl.zns.cleaning", ["greedy", "cost-benefit"], PAGE, ZNS),
    ("ftl.zns.pace", ["paced", "whole-zone"], PAGE, ZNS),
    ("host.mode", ["open-loop", "closed-loop"], UNTIMED, TIMED),
    ("host.link_mb_per_s", ["100.0", "1000.0"], UNTIMED, TIMED),
    ("host.overhead_us", ["5.0", "1.0"], UNTIMED, TIMED),
    ("host.read_priority", ["false", "true"], UNTIMED, TIMED),
    ("controller.t_request_us", ["0.0", "2.5"], UNTIMED, TIMED),
    ("controller.t_command_us", ["0.0", "2.5"], UNTIMED, TIMED),
    ("controller.cores", ["1", "2"], TIMED, &[("controller.t_command_us", "1.0")]),
    ("run.only_flow", ["0", "1"], TIMED, &[("workload.flow[0].kind", "uniform"), ("workload.flow[1].kind", "zipf")]),
    ("host.queue_depth", ["1", "8"], OPEN, CLOSED),
    ("host.queues", ["1", "8"], OPEN, CLOSED),
    ("host.speedup", ["1.0", "10.0"], CLOSED, OPEN),
    ("host.flush", ["eager", "lru"], &[], &[("host.write_buffer_kib", "64")]),
    ("workload.address", ["exact", "wrap"], UNIFORM, &[("workload.kind", "twin:hm_0")]),
    ("workload.volumes", ["overlay", "separate"], UNIFORM, TRACE),
    ("workload.trims", ["keep", "drop"], UNIFORM, TRACE),
    ("workload.zone_request_bytes", ["8192", "16384"], UNIFORM, ZONE_WRITES),
    ("workload.zones_at_once", ["1", "2"], UNIFORM, ZONE_WRITES),
    ("workload.zone_share", ["1.0", "0.5"], UNIFORM, ZONE_WRITES),
    ("workload.requests", ["900", "800"], TWIN, &[("workload.kind", "w10")]),
    ("workload.trim_fraction", ["0.0", "0.2"], TWIN, UNIFORM),
    ("workload.flush_every", ["5", "9"], TWIN, UNIFORM),
    ("output.timeline_begin_s", ["0.0", "1.0"], TIMED, &[("output.timeline", "true")]),
    ("output.timeline_length_s", ["0.1", "1.0"], TIMED, &[("output.timeline", "true")]),
    ("power.cut_at_s", ["[0.05]", "[0.01, 0.06]"], &[RECOVERS[0], RECOVERS[1], RECOVERS[2], UNTIMED[0]], RECOVERS),
    ("power.cut_at_command", ["[5]", "[20, 90]"], &[RECOVERS[0], RECOVERS[1], RECOVERS[2], UNTIMED[0]], RECOVERS),
    ("power.cuts", ["2", "5"], &[RECOVERS[0], RECOVERS[1], RECOVERS[2], UNTIMED[0]], RECOVERS),
    ("power.torn", ["old", "mixed"], UNTIMED, &[RECOVERS[0], RECOVERS[1], RECOVERS[2], RECOVERS[3], ("power.cut_at_s", "[0.05]")]),
    ("power.torn", ["old", "mixed"], &[RECOVERS[0], RECOVERS[1], RECOVERS[2], RECOVERS[3], ("power.protection", "operations")], &[RECOVERS[0], RECOVERS[1], RECOVERS[2], RECOVERS[3], ("power.cut_at_s", "[0.05]")]),
    ("ftl.open_block", ["close", "reuse"], &[RECOVERS[0], RECOVERS[2], RECOVERS[3], ("power.protection", "full")], &[RECOVERS[0], RECOVERS[1], RECOVERS[2], RECOVERS[3], ("power.protection", "full"), ("power.cut_at_s", "[0.05]")]),
    ("power.protection", ["none", "full"], UNTIMED, &[RECOVERS[0], RECOVERS[1], RECOVERS[2], RECOVERS[3], ("power.cut_at_s", "[0.05]")]),
    ("workload.fua_fraction", ["0.0", "0.5"], TWIN, UNIFORM),
    ("workload.footprint", ["1.0", "0.2"], TWIN, &[TWIN[0], TWIN[1], ("initial.age_writes", "0.1")]),
    ("workload.request_sizes", ["[4096]", "[8192]"], &[("workload.kind", "w10")], UNIFORM),
    ("workload.request_weights", ["[1, 2]", "[2, 1]"], &[("workload.kind", "w10"), ("workload.request_sizes", "[4096, 8192]")], &[("workload.request_sizes", "[4096, 8192]")]),
    ("workload.read_fraction", ["0.1", "0.5"], TWIN, UNIFORM),
    ("workload.request_bytes", ["4096", "8192"], &[("workload.request_sizes", "[4096]")], UNIFORM),
    ("workload.zipf_theta", ["0.99", "0.5"], UNIFORM, &[("workload.kind", "zipf")]),
    ("workload.hot_space", ["0.2", "0.5"], UNIFORM, &[("workload.kind", "hot-cold")]),
    ("workload.hot_share", ["0.8", "0.5"], UNIFORM, &[("workload.kind", "hot-cold")]),
    ("workload.arrival", ["poisson", "fixed"], CLOSED, FAT),
    ("workload.mean_interarrival_us", ["1000.0", "50.0"], TWIN, FAT),
    ("workload.interarrival_cv", ["7.0", "2.0"], UNIFORM, &[("workload.arrival", "bursty")]),
    ("workload.mean_extent_kib", ["512.0", "64.0"], UNIFORM, TWIN),
    ("workload.write_extent_read_share", ["0.05", "0.5"], FAT, TWIN),
    ("workload.kind_persistence", ["0.0", "0.9"], UNIFORM, TWIN),
    ("workload.fat_volume_mib", ["128", "256"], UNIFORM, FAT),
    ("workload.fat_flush_kib", ["32", "64"], TWIN, FAT),
    ("workload.fat_fragmentation", ["0.02", "0.2"], UNIFORM, FAT),
    ("workload.fat_mixture", ["[0.05, 0.1, 0.09]", "[0.3, 0.3, 0.3]"], FAT, PC),
    ("workload.fat_update_kib", ["64", "4"], FAT, PC),
    ("workload.fat_saves", ["1", "3"], FAT, PC),
    ("initial.fill_unit", ["block", "page"], PAGE, NFTL),
    ("initial.aged_by", ["pages", "requests"], PAGE, &[PAGE[0], ("initial.age_writes", "0.5")]),
];

fn source(key: &str, value: &str, sets: &[(&str, &str)]) -> SpecSource {
    let all =
        sets.iter().copied().chain([("run.max_requests", "600"), ("ftl.over_provisioning", "0.25"), (key, value)]);
    let sets = all.map(|(key, value)| (key.into(), value.into())).collect();
    SpecSource { preset: Some("tiny".into()), sets, ..SpecSource::default() }
}

/// The warnings about a key, and its spec.
fn warned(key: &str, value: &str, sets: &[(&str, &str)]) -> Result<(Vec<String>, Config), String> {
    let source = source(key, value, sets);
    let told = |error: SpecError| format!("{key} = {value} with {sets:?}: {error}");
    let spec = Config::resolve(&source).map_err(told)?;
    let lines = without_effect(&source, &spec).map_err(told)?;
    Ok((lines.into_iter().filter(|line| line.starts_with(&format!("{key} "))).collect(), spec))
}

/// What came of a run, without what was asked for (`workload` repeats some of it).
fn outcome(spec: &Config) -> Result<Value, String> {
    let mut document = run(spec, 1.0, &mut |_| true).map_err(|error| error.to_string())?.document;
    let fields = document.as_object_mut().ok_or("no object")?;
    fields.retain(|name, _| !["config", "config_sha256", "workload", "run"].contains(&name.as_str()));
    Ok(document)
}

/// All that is wrong with the cases, one line each.
fn wrong(check: impl Fn(&Case) -> Result<(), String>) -> String {
    CASES.iter().filter_map(|case| check(case).err()).collect::<Vec<_>>().join("\n")
}

#[test]
fn t054_every_key_with_a_condition_warns_where_it_is_idle_and_only_there() {
    let mut listed: Vec<&str> = table::rows().iter().filter(|key| is_conditional(key)).map(|key| key.path).collect();
    let mut tested: Vec<&str> = CASES.iter().map(|case| case.0).collect();
    listed.sort_unstable();
    tested.sort_unstable();
    tested.dedup();
    assert_eq!(listed, tested);
    let found = wrong(|(key, values, idle, read)| {
        for value in values {
            let (lines, _) = warned(key, value, idle)?;
            if !matches!(&lines[..], [line] if line.starts_with(&format!("{key} has no effect with "))) {
                return Err(format!("{key} = {value} under {idle:?}: {lines:?}"));
            }
        }
        match warned(key, values[1], read)?.0.as_slice() {
            [] => Ok(()),
            lines => Err(format!("{key} under {read:?}: {lines:?}")),
        }
    });
    assert!(found.is_empty(), "{found}");
}

#[test]
fn t055_an_idle_key_changes_nothing_but_the_configuration() {
    let found = wrong(|(key, [one, other], idle, _)| {
        let (first, second) = (warned(key, one, idle)?.1, warned(key, other, idle)?.1);
        let same = first != second && outcome(&first)? == outcome(&second)?;
        if same { Ok(()) } else { Err(format!("{key} under {idle:?}: equal specs, or the result changes")) }
    });
    assert!(found.is_empty(), "{found}");
}

/// Cases under whose settings a key is tried besides its own.
const PARTNERS: usize = 4;

#[test]
fn t1094_a_key_that_is_idle_under_the_settings_of_another_one_changes_nothing() {
    let mut tried = 0;
    let found: Vec<String> = (0..CASES.len() * PARTNERS)
        .filter_map(|nth| {
            let (of_key, partner) = (nth / PARTNERS, (nth * 37 + nth / PARTNERS) % CASES.len());
            let ((key, values, ..), (other, _, idle, read)) = (CASES[of_key], CASES[partner]);
            let settings = if nth % 2 == 0 { idle } else { read };
            let [one, two] = values.map(|value| warned(key, value, settings));
            let ((lines, one), (_, two)) = (one.ok()?, two.ok()?);
            if lines.is_empty() {
                return None;
            }
            let [one, two] = [outcome(&one).ok()?, outcome(&two).ok()?];
            tried += 1;
            (one != two).then(|| format!("{key} under the settings of {other}, {settings:?}: {lines:?}"))
        })
        .collect();
    assert!(found.is_empty(), "{}", found.join("\n"));
    assert!(tried > CASES.len() / 2, "{tried} of {}", CASES.len());
}

#[test]
fn t056_only_what_the_user_set_is_warned_of() {
    let preset = SpecSource { preset: Some("lfws-256gb".into()), ..SpecSource::default() };
    let spec = Config::resolve(&preset).expect("a preset");
    assert_eq!(without_effect(&preset, &spec).expect("resolved"), Vec::<String>::new());
    let text = "preset = \"lfws-256gb\"\n[ftl]\ngc_policy = \"greedy\"\nu_blocks = 4\n";
    let own = SpecSource { spec_text: Some(text.into()), ..SpecSource::default() };
    let spec = Config::resolve(&own).expect("valid");
    let readers = "\"superblock-2006\" | \"replacement-block\" | \"log-block\" | \"fast\"";
    let line = format!("ftl.u_blocks has no effect with ftl.kind = \"page\"; ftl.kind = {readers} reads it");
    assert_eq!(without_effect(&own, &spec).expect("resolved"), [line]);
}

/// The flow's key warns under these settings exactly as it should.
fn check_flow_key(key: &str, value: &str, sets: &[(&str, &str)], why: Option<&str>) {
    let (lines, _) = warned(key, value, sets).expect("a valid spec");
    let wanted: Vec<String> = why.into_iter().map(|why| format!("{key} has no effect with {why}")).collect();
    assert_eq!(lines, wanted, "{key} under {sets:?}");
}

#[test]
fn t058_a_key_of_a_flow_is_read_as_that_flow_reads_it() {
    let two = [("workload.flow[0].kind", "uniform"), ("workload.flow[1].kind", "zipf"), ("host.mode", "open-loop")];
    let with = |more: &[(&'static str, &'static str)]| [&two[..], more].concat();
    check_flow_key("workload.flow[0].zipf_theta", "0.5", &two, Some("workload.flow[0].kind = \"uniform\""));
    check_flow_key("workload.flow[1].zipf_theta", "0.5", &two, None);
    let depth = "workload.flow[1].queue_depth";
    check_flow_key(depth, "4", &two, Some("workload.flow[1].mode = \"open-loop\""));
    check_flow_key(depth, "4", &with(&[("workload.flow[1].mode", "rate-limited")]), None);
    check_flow_key("workload.flow[0].weight", "4", &two, Some("controller.t_request_us = 0.0"));
    check_flow_key("workload.flow[0].weight", "4", &with(&[("controller.t_command_us", "1.0")]), None);
    let closed = with(&[("workload.flow[1].mode", "closed-loop")]);
    check_flow_key("workload.flow[1].arrival", "fixed", &closed, Some("workload.flow[1].mode = \"closed-loop\""));
    check_flow_key("workload.flow[0].arrival", "fixed", &closed, None);
    // What is set for all flows is read where one of them reads it and has no value of its own.
    check_flow_key("workload.zipf_theta", "0.5", &two, None);
    let own = with(&[("workload.flow[1].zipf_theta", "0.6")]);
    check_flow_key("workload.zipf_theta", "0.5", &own, Some("workload.flow[0].kind = \"uniform\""));
    check_flow_key("host.queue_depth", "4", &closed, None);
}
