//! The example of deterministic simulation testing: a sound log outlives every cut of 1,000 seeds, and each planted bug
//! is found.

#![allow(clippy::print_stdout, reason = "shows what was tried and what was found")]

#[path = "../../../examples/device/write_ahead_log.rs"]
mod write_ahead_log;

use write_ahead_log::{PlantedBug, drive, live};

const SEEDS: u64 = 1_000;

#[test]
fn a010_a_sound_log_outlives_every_cut_and_a_planted_bug_is_found() {
    let fresh = drive().expect("a drive");
    let committed: u64 = (0..SEEDS).map(|seed| live(&fresh, PlantedBug::None, seed).expect("nothing is lost")).sum();
    println!("{SEEDS} seeds: {committed} transactions were acknowledged, and none was lost");
    assert!(committed > 10 * SEEDS, "cuts meet a log at work: {committed}");
    for bug in [PlantedBug::NoFlush, PlantedBug::AcknowledgedEarly] {
        let found = (0..SEEDS).find_map(|seed| live(&fresh, bug, seed).err()).expect("the bug is found");
        println!("{bug:?}: {found}");
    }
}
