//! The whole engine, end to end: contract of every FTL (4xx), scheduling (6xx), closed forms (7xx),
//! golden digests and past bugs (9xx).

#![allow(clippy::print_stdout, reason = "measured figures, shown with --nocapture")]

mod closed_forms;
mod contract;
mod erase_suspension;
mod golden;
mod host_timing;
mod merge_execution;
mod multi_plane_erase;
mod outputs;
mod page_level;
mod partial_blocks;
mod past_bugs;
mod peers;
mod read_retries;
mod retirement;
mod scheduling;
mod sub_blocks;
mod superblock;
mod support;
mod workloads;
mod write_amplification;
