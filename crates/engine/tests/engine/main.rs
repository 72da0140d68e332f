//! The whole engine, end to end: contract of every FTL (4xx), scheduling (6xx), closed forms (7xx),
//! golden digests and past bugs (9xx).

#![allow(clippy::wildcard_enum_match_arm, reason = "a test looks at the variants that it is about")]
#![allow(clippy::print_stdout, reason = "measured figures, shown with --nocapture")]

mod ageing;
mod closed_forms;
mod contract;
mod cores;
mod erase_suspension;
mod figures;
mod fit;
mod flows;
mod golden;
mod host_timing;
mod late_work;
mod mapping_units;
mod merge_execution;
mod multi_plane_erase;
mod multi_plane_queue;
mod outputs;
mod own_policy;
mod page_level;
mod page_types;
mod partial_blocks;
mod partial_writes;
mod past_bugs;
mod peers;
mod percentiles;
mod placement;
mod plane_reads;
mod power;
mod power_blocks;
mod power_erases;
mod power_handles;
mod power_host;
mod power_layers;
mod power_map;
mod power_pairs;
mod power_planes;
mod power_protection;
mod power_random;
mod power_sub_blocks;
mod power_units;
mod power_wear;
mod power_zones;
mod program_suspension;
mod random_devices;
mod read_retries;
mod read_transfer;
mod registry;
mod retirement;
mod scheduling;
mod smallest_reserve;
mod snapshots;
mod steps;
mod sub_blocks;
mod superblock;
mod support;
mod threads;
mod timeline;
mod until;
mod workloads;
mod write_amplification;
mod zone_requests;
mod zones;
