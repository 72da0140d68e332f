//! The page-level FTL against a small array and a host that remembers what it stored.

#![allow(clippy::wildcard_enum_match_arm, reason = "a test looks at the variants that it is about")]
#![allow(clippy::print_stdout, reason = "measured figures, shown with --nocapture")]

mod cached;
mod handles;
mod hot_cold;
mod rig;
mod steps;
mod wear;
