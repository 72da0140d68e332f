//! Measures how fast an MSR CSV is read.
//!
//! `cargo run --release -p pumice-workload --example parse_rate -- [FILE]`
//!
//! Without a file, five million lines are written to a temporary one first.
#![allow(clippy::print_stdout, clippy::print_stderr)]

use std::io::{BufWriter, Write};
use std::path::PathBuf;
use std::time::Instant;

use pumice_workload::{AddressPolicy, Placement, open_trace};

fn sample() -> std::io::Result<PathBuf> {
    let path = std::env::temp_dir().join(format!("pumice-parse-rate-{}.csv", std::process::id()));
    let mut out = BufWriter::new(std::fs::File::create(&path)?);
    let mut state = 1u64;
    for line in 0..5_000_000u64 {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        let kind = if state >> 62 == 0 { "Read" } else { "Write" };
        let (time, offset) = (128_166_372_000_000_000 + line * 1_515_000, (state >> 34) * 512);
        writeln!(out, "{time},hm,0,{kind},{offset},{},{}", ((state >> 20) % 64 + 1) * 512, state % 100_000)?;
    }
    out.flush()?;
    Ok(path)
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let given = std::env::args().nth(1).map(PathBuf::from);
    let path = match &given {
        Some(path) => path.clone(),
        None => sample()?,
    };
    let placement = Placement { capacity_bytes: 1 << 50, page_bytes: 16_384, policy: AddressPolicy::Exact };
    for _ in 0..3 {
        let start = Instant::now();
        let mut trace = open_trace(&path, None, &placement)?;
        let (mut requests, mut sum) = (0u64, 0u64);
        while let Some(request) = trace.next_request()? {
            requests += 1;
            sum ^= request.offset_bytes;
        }
        let seconds = start.elapsed().as_secs_f64();
        println!(
            "{requests} requests in {seconds:.3} s: {:.2} million a second ({sum:x})",
            requests as f64 / seconds / 1e6
        );
    }
    if given.is_none() {
        std::fs::remove_file(&path)?;
    }
    Ok(())
}
