//! The whole engine, end to end: contract of every FTL (4xx), scheduling (6xx), closed forms (7xx),
//! golden digests and past bugs (9xx).

#![allow(clippy::print_stdout, reason = "measured figures, shown with --nocapture")]

mod closed_forms;
mod contract;
mod golden;
mod merge_execution;
mod page_level;
mod past_bugs;
mod scheduling;
mod sub_blocks;
mod support;
mod write_amplification;
