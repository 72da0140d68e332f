//! Prints what twins really emit beside the published figures.
//!
//! `cargo run --release -p pumice-workload --example twin_statistics -- [SCALE [SEED [TWIN ...]]]`
//!
//! Requests, bytes and coverage are recounted from the requests by the survey, which knows nothing
//! of the generator. The last columns are a second pass that only generates, for its speed.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "what it measures goes to the terminal")]

use std::time::Instant;

use pumice_workload::{
    AddressPolicy, InfoReport, Placement, Survey, TraceError, TwinFacts, TwinOptions, Workload, twin, twin_catalogue,
};

const GIB: f64 = (1u64 << 30) as f64;

fn open(facts: &TwinFacts, options: &TwinOptions) -> Result<Workload, TraceError> {
    let placement = Placement { capacity_bytes: 1 << 40, page_bytes: 16_384, policy: AddressPolicy::Exact };
    twin(facts.name, options, &placement)
}

fn recount(facts: &TwinFacts, options: &TwinOptions) -> Result<InfoReport, TraceError> {
    let mut workload = open(facts, options)?;
    let mut survey = Survey::new();
    while let Some(request) = workload.next_request()? {
        survey.add(&request)?;
    }
    Ok(survey.report(workload.facts(), workload.notes()))
}

fn nanoseconds_per_request(facts: &TwinFacts, options: &TwinOptions) -> Result<f64, TraceError> {
    let mut workload = open(facts, options)?;
    let start = Instant::now();
    let (mut requests, mut sum) = (0u64, 0u64);
    while let Some(request) = workload.next_request()? {
        requests += 1;
        sum ^= request.offset_bytes;
    }
    std::hint::black_box(sum);
    Ok(start.elapsed().as_nanos() as f64 / requests as f64)
}

fn print_row(facts: &TwinFacts, options: &TwinOptions) -> Result<(), TraceError> {
    let report = recount(facts, options)?;
    let speed = nanoseconds_per_request(facts, options)?;
    let pairs = [
        (report.read.requests as f64 / 1e6, facts.read_requests_m),
        (report.write.requests as f64 / 1e6, facts.write_requests_m),
        (report.read.bytes as f64 / GIB, facts.read_gib),
        (report.write.bytes as f64 / GIB, facts.write_gib),
        (report.read.footprint.bytes as f64 / GIB, facts.read_coverage_gib),
        (report.write.footprint.bytes as f64 / GIB, facts.write_coverage_gib),
    ];
    print!("| {} ", facts.name);
    let mut worst = 0f64;
    for (found, published) in pairs {
        let error = found / (published * options.scale) - 1.0;
        worst = worst.max(error.abs());
        print!("| {found:.4} ({:+.2} %) ", error * 100.0);
    }
    let heat = report.heat.map_or([0.0; 3], |h| [h.hottest_1_percent, h.hottest_10_percent, h.hottest_20_percent]);
    println!(
        "| {:.2} % | {:.1} | {:.2} | {:.2}/{:.2}/{:.2} | {speed:.0} |",
        worst * 100.0,
        report.span_us / 3.6e9,
        report.interarrival_cv.unwrap_or_default(),
        heat[0],
        heat[1],
        heat[2],
    );
    Ok(())
}

fn main() -> Result<(), TraceError> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number = |at: usize, default: f64| arguments.get(at).and_then(|text| text.parse().ok()).unwrap_or(default);
    let options = TwinOptions { scale: number(0, 1.0), seed: number(1, 1.0) as u64, ..TwinOptions::default() };
    let names = arguments.get(2..).unwrap_or_default();
    println!("scale {}, seed {}", options.scale, options.seed);
    println!(
        "| twin | reads M | writes M | read GiB | written GiB | read coverage GiB | write coverage GiB | worst \
         | hours | CV | heat 1/10/20 % | ns/request |"
    );
    println!("|---|---|---|---|---|---|---|---|---|---|---|---|");
    for facts in twin_catalogue() {
        if names.is_empty() || names.iter().any(|name| name == facts.name) {
            print_row(facts, &options)?;
        }
    }
    Ok(())
}
