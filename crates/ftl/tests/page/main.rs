//! The page-level FTL against a small array and a host that remembers what it stored.

#![allow(clippy::print_stdout, reason = "measured figures, shown with --nocapture")]

mod cached;
mod hot_cold;
mod rig;
mod steps;
mod wear;
