//! Speed of the engine: flash commands and requests per second, start-up time, memory.
//!
//! `cargo run --release -p pumice-sim --example bench [-- REQUESTS]`; whole process on one core.
#![allow(clippy::print_stdout, clippy::unwrap_used, reason = "a program for developers")]

use std::time::Instant;

use pumice_sim::{Spec, SpecSource, device, run};

fn spec(sets: &[(&str, &str)]) -> Spec {
    let sets = sets.iter().map(|(key, value)| (key.to_string(), value.to_string())).collect();
    Spec::resolve(&SpecSource { preset: Some("pen-1tb".into()), sets, ..SpecSource::default() }).unwrap()
}

fn peak_rss_mib() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmHWM:"));
    line.and_then(|line| line.split_whitespace().nth(1)?.parse::<f64>().ok()).map_or(f64::NAN, |kib| kib / 1024.0)
}

fn measure(name: &str, sets: &[(&str, &str)]) {
    let started = Instant::now();
    let outcome = run(&spec(sets), 1.0, &mut |_| true).unwrap();
    let seconds = started.elapsed().as_secs_f64();
    let commands = outcome.flash_commands as f64;
    println!(
        "{name:<34} {:>7.2} s  {:>6.2} M flash commands/s  {:>6.1} ns/command  {:>6.2} M requests/s  {:>7.1} MiB peak",
        seconds,
        commands / seconds / 1e6,
        seconds * 1e9 / commands,
        outcome.requests as f64 / seconds / 1e6,
        peak_rss_mib()
    );
    println!(
        "{:<34} merges {} bytes/page {:.2} write mean {} us",
        "",
        outcome.document["gc"]["merges"],
        outcome.document["run"]["bytes_per_page"].as_f64().unwrap_or(f64::NAN),
        outcome.document["host"]["write"]["latency_us"]["mean"]
    );
}

fn main() {
    let requests = std::env::args().nth(1).unwrap_or_else(|| "3000000".into());
    let started = Instant::now();
    drop(device::build(&spec(&[]), 1.0).unwrap());
    println!("start of pen-1tb {:.3} s", started.elapsed().as_secs_f64());
    for merge in ["block-erase", "m-merge"] {
        for timed in ["true", "false"] {
            let sets = [("ftl.merge", merge), ("run.timed", timed), ("run.max_requests", requests.as_str())];
            measure(&format!("twin:prn_1 {merge} timed={timed}"), &sets);
        }
    }
}
