//! Measures how fast each format is read.
//!
//! `cargo run --release -p pumice-workload --example parse_rate -- [FILE]`
//!
//! Without a file, two million requests are written to a temporary one in every format first.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "what it measures goes to the terminal")]

use std::error::Error;
use std::io::{BufWriter, Write};
use std::path::Path;
use std::time::Instant;

use pumice_types::{Choice, RequestKind};
use pumice_workload::{
    AddressPolicy, Arrival, ArrivalKind, Placement, RequestSizes, SyntheticOptions, TraceFormat, UniformAccess,
    Workload, open_trace, synthetic, write_trace,
};

const DEVICE: Placement = Placement { capacity_bytes: 1 << 50, page_bytes: 512, policy: AddressPolicy::Exact };

fn requests() -> Result<Workload, Box<dyn Error>> {
    let options = SyntheticOptions {
        requests: 2_000_000,
        sizes: RequestSizes::mixed(&[(4_096, 4.0), (512, 1.0), (65_536, 1.0)])?,
        access: UniformAccess.into(),
        trim_fraction: 0.0,
        flush_every: None,
        fua_fraction: 0.0,
        read_fraction: 0.4,
        footprint: 0.001,
        arrival: Arrival::even(ArrivalKind::Poisson, 150.0),
        seed: 1,
    };
    Ok(synthetic(&options, &DEVICE)?)
}

/// The one format that is only read. Three events a request, as blkparse gives by default.
fn write_blkparse(out: &mut dyn Write) -> Result<(), Box<dyn Error>> {
    let mut requests = requests()?;
    while let Some(request) = requests.next_request()? {
        let kind = if request.kind == RequestKind::Read { 'R' } else { 'W' };
        let (second, part) = (request.arrival.0 / 1_000_000_000, request.arrival.0 % 1_000_000_000);
        for event in ['I', 'D', 'C'] {
            let (sector, count) = (request.offset_bytes / 512, request.bytes / 512);
            writeln!(out, "  8,16   3  123456 {second:5}.{part:09}  3645  {event}   {kind} {sector} + {count} [java]")?;
        }
    }
    Ok(())
}

fn measure(path: &Path, format: Option<TraceFormat>) -> Result<(), Box<dyn Error>> {
    let mut best = f64::INFINITY;
    let (mut requests, mut sum) = (0u64, 0u64);
    for _ in 0..3 {
        (requests, sum) = (0, 0);
        let start = Instant::now();
        let mut trace = open_trace(path, format, &DEVICE)?;
        while let Some(request) = trace.next_request()? {
            requests += 1;
            sum ^= request.offset_bytes;
        }
        best = best.min(start.elapsed().as_secs_f64());
    }
    let name = format.map_or("recognised", TraceFormat::name);
    let (rate, bytes) = (requests as f64 / best / 1e6, std::fs::metadata(path)?.len() as f64 / best / 1e6);
    println!("{name:10} {requests} requests: {rate:.2} million a second, {bytes:.0} MB/s ({sum:x})");
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    if let Some(path) = std::env::args().nth(1) {
        return measure(Path::new(&path), None);
    }
    let path = std::env::temp_dir().join(format!("pumice-parse-rate-{}", std::process::id()));
    for &format in TraceFormat::ALL {
        let mut out = BufWriter::new(std::fs::File::create(&path)?);
        if format == TraceFormat::BlkParse {
            write_blkparse(&mut out)?;
        } else if format.is_writable() {
            write_trace(&mut requests()?, format, &mut out)?;
        } else {
            continue;
        }
        out.flush()?;
        measure(&path, Some(format))?;
    }
    std::fs::remove_file(&path)?;
    Ok(())
}
