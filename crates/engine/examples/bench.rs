//! Speed of the engine: flash commands and requests per second, start-up time, memory, trace lines
//! per second. Whole process on one core.
//!
//! `cargo run --release -p pumice-engine --example bench [-- ROUNDS [NAME]]`; each figure is the median of
//! ROUNDS rounds (3 if absent). With NAME only the cases whose name contains it are run.
#![allow(clippy::print_stdout, clippy::unwrap_used, reason = "a program for developers")]

use std::fmt::Write;
use std::time::Instant;

use pumice_config::{Config, SpecSource};
use pumice_engine::{build, run};
use pumice_workload::{AddressPolicy, Placement, open_trace};

const TRACE_LINES: u64 = 2_000_000;

/// Name, preset, settings.
type Case = (&'static str, &'static str, &'static [(&'static str, &'static str)]);

const CASES: &[Case] = &[
    ("pen-1tb prn_1 full merges, timed", "pen-1tb", &[]),
    ("pen-1tb prn_1 full merges, untimed", "pen-1tb", &[("run.timed", "false")]),
    ("pen-1tb prn_1 M-Merge, timed", "pen-1tb-m-merge", &[]),
    ("pen-1tb prn_1 M-Merge, untimed", "pen-1tb-m-merge", &[("run.timed", "false")]),
    ("bench-64g writes after the fill, timed", "bench-64g", &[("initial.age_writes", "0")]),
    (
        "bench-64g steady state, timed",
        "bench-64g",
        &[("initial.age_writes", "0"), ("run.max_requests", "12000000"), ("workload.requests", "12000000")],
    ),
    (
        "bench-64g steady state, untimed",
        "bench-64g",
        &[("initial.age_writes", "0"), ("workload.requests", "12000000"), ("run.timed", "false")],
    ),
    (
        "bench-64g steady state in units of pages of 64 KiB, untimed",
        "bench-64g",
        &[
            ("initial.age_writes", "0"),
            ("workload.requests", "12000000"),
            ("run.timed", "false"),
            ("geometry.page_bytes", "65536"),
            ("geometry.spare_bytes", "5120"),
            ("geometry.pages_per_block", "64"),
            ("ftl.map_unit_bytes", "16384"),
        ],
    ),
    (
        "bench-64g reads, timed",
        "bench-64g",
        &[
            ("initial.age_writes", "0"),
            ("initial.fill", "1.0"),
            ("workload.read_fraction", "1.0"),
            ("workload.requests", "5000000"),
        ],
    ),
    (
        "1 TiB page-level writes, timed",
        "bench-64g",
        &[("initial.age_writes", "0"), ("geometry.blocks_per_plane", "8192"), ("workload.requests", "20000000")],
    ),
    (
        "1 TiB page-level writes, untimed",
        "bench-64g",
        &[
            ("initial.age_writes", "0"),
            ("geometry.blocks_per_plane", "8192"),
            ("workload.requests", "20000000"),
            ("run.timed", "false"),
        ],
    ),
];

fn spec(preset: &str, sets: &[(&str, &str)]) -> Config {
    let sets = sets.iter().map(|(key, value)| (key.to_string(), value.to_string())).collect();
    Config::resolve(&SpecSource { preset: Some(preset.into()), sets, ..SpecSource::default() }).unwrap()
}

fn peak_rss_mib() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmHWM:"));
    line.and_then(|line| line.split_whitespace().nth(1)?.parse::<f64>().ok()).map_or(f64::NAN, |kib| kib / 1024.0)
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn measure(case: &Case, rounds: usize) {
    let (name, preset, sets) = case;
    let (mut seconds, mut commands, mut requests, mut bytes) = (Vec::new(), 0.0, 0.0, 0.0);
    for _ in 0..rounds {
        let started = Instant::now();
        let outcome = run(&spec(preset, sets), 1.0, &mut |_| true).unwrap();
        seconds.push(started.elapsed().as_secs_f64());
        commands = outcome.flash_commands as f64;
        requests = outcome.requests as f64;
        bytes = outcome.document["run"]["bytes_per_page"].as_f64().unwrap_or(f64::NAN);
    }
    let seconds = median(seconds);
    println!(
        "{name:<40} {seconds:>7.2} s {:>7.2} M flash commands/s {:>7.1} ns/command {:>6.2} M requests/s {bytes:>6.2} bytes/page",
        commands / seconds / 1e6,
        seconds * 1e9 / commands,
        requests / seconds / 1e6,
    );
}

fn parse_rate(rounds: usize) {
    let path = std::env::temp_dir().join(format!("pumice-bench-{}.csv", std::process::id()));
    let mut text = String::new();
    for line in 0..TRACE_LINES {
        let kind = if line % 3 == 0 { "Read" } else { "Write" };
        let (time, offset) = (128_166_372_002_061_629 + line * 31_337, line * 7_919 % 1_000_000 * 4096);
        writeln!(text, "{time},src1,1,{kind},{offset},{},{}", 4096 << (line % 4), 1_331 + line % 977).unwrap();
    }
    std::fs::write(&path, text).unwrap();
    let placement = Placement { capacity_bytes: 1 << 40, page_bytes: 16_384, policy: AddressPolicy::Exact };
    let seconds = (0..rounds).map(|_| {
        let started = Instant::now();
        let mut trace = open_trace(&path, None, &placement).unwrap();
        while trace.next_request().unwrap().is_some() {}
        started.elapsed().as_secs_f64()
    });
    let rate = TRACE_LINES as f64 / median(seconds.collect()) / 1e6;
    std::fs::remove_file(&path).unwrap();
    println!("{:<40} {rate:>37.2} M lines/s", "MSR CSV, plain");
}

fn main() {
    let rounds = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(3usize).max(1);
    let wanted = std::env::args().nth(2);
    if wanted.is_none() {
        let started = Instant::now();
        drop(build(&spec("pen-1tb", &[]), 1.0).unwrap());
        println!("{:<40} {:>7.3} s", "start of pen-1tb", started.elapsed().as_secs_f64());
        parse_rate(rounds);
    }
    for case in CASES.iter().filter(|(name, ..)| wanted.as_deref().is_none_or(|wanted| name.contains(wanted))) {
        measure(case, rounds);
    }
    println!("{:<40} {:>7.0} MiB (of all of the above)", "peak memory", peak_rss_mib());
}
