//! Requests a second through the socket: random reads and writes of 4 KiB at a queue depth of 32, on a device whose
//! bytes are in memory. Server and clients share this process and this machine.
//!
//! `cargo run --release -p pumice-serve --example load [-- SECONDS [CONNECTIONS [PRESET [KEY=VALUE ...]]]]`; with
//! `LOAD_STORE=FILE` the bytes are in a file, with `LOAD_FLUSH=N` a flush follows every N requests of a connection.
#![allow(clippy::print_stdout, clippy::unwrap_used, reason = "a program for developers")]

#[path = "../tests/serve/client/mod.rs"]
mod client;

use std::collections::VecDeque;
use std::io::Write;
use std::path::Path;
use std::time::{Duration, Instant};

use client::{Client, served, source, temporary};
use pumice_serve::{Address, ServeOptions};
use pumice_workload::RandomStream;

const DEPTH: usize = 32;
const BYTES: u32 = 4096;

/// Requests done on one connection until the end.
fn load(path: &Path, number: u64, end: Instant) -> u64 {
    let mut client = Client::simple(path).unwrap();
    let mut random = RandomStream::new(number, "load");
    let pages = client.bytes / u64::from(BYTES);
    let data = [number as u8; BYTES as usize];
    // The device does one operation after the other, so replies come in the order of the requests.
    let mut under_way: VecDeque<u32> = VecDeque::new();
    let flush_every = std::env::var("LOAD_FLUSH").ok().and_then(|text| text.parse::<u64>().ok());
    let (mut message, mut done, mut sent) = (Vec::new(), 0, 0);
    while Instant::now() < end {
        while under_way.len() < DEPTH {
            sent += 1;
            if flush_every.is_some_and(|every| sent % every == 0) {
                client.compose(&mut message, (3, 0), (0, 0));
                under_way.push_back(0);
                continue;
            }
            let (offset, is_read) = (random.below(pages) * u64::from(BYTES), random.below(2) == 0);
            client.compose(&mut message, (u16::from(!is_read), 0), (offset, BYTES));
            message.extend(if is_read { &[][..] } else { &data[..] });
            under_way.push_back(if is_read { BYTES } else { 0 });
        }
        client.out.write_all(&message).unwrap();
        message.clear();
        // One reply is waited for; what has come with it is taken as well.
        while let Some(read) = under_way.pop_front() {
            client.receive(read).unwrap().1.unwrap();
            done += 1;
            let next = under_way.front().map_or(usize::MAX, |&read| 16 + read as usize);
            if client.input.buffer().len() < next {
                break;
            }
        }
    }
    while let Some(read) = under_way.pop_front() {
        client.receive(read).unwrap().1.unwrap();
    }
    done
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number = |at: usize, otherwise| arguments.get(at).and_then(|text| text.parse().ok()).unwrap_or(otherwise);
    let (seconds, connections) = (number(0, 5u64), number(1, 1u64));
    let preset = arguments.get(2).map_or("bench-64g", String::as_str);
    let given = arguments.iter().skip(3).filter_map(|text| text.split_once('='));
    let sets = [("initial.age_writes", "0"), ("initial.fill", "0")].into_iter().chain(given);
    let source = source(preset, &sets.collect::<Vec<_>>());
    let mut options = ServeOptions::new(source, Address::Unix(temporary("load")));
    options.store = std::env::var_os("LOAD_STORE").map(Into::into);
    let (server, path) = served(&options);
    let (started, path) = (Instant::now(), &path);
    let end = started + Duration::from_secs(seconds);
    let done: u64 = std::thread::scope(|scope| {
        let clients: Vec<_> = (0..connections).map(|number| scope.spawn(move || load(path, number, end))).collect();
        clients.into_iter().map(|client| client.join().unwrap()).sum()
    });
    let elapsed = started.elapsed().as_secs_f64();
    let document = server.stop().unwrap();
    println!(
        "{preset}: {:.0} requests/s of {BYTES} bytes over {elapsed:.1} s, {connections} connections of depth {DEPTH}; \
         simulated {:.1} s, write amplification {}",
        done as f64 / elapsed,
        document["host"]["simulated_s"].as_f64().unwrap_or(f64::NAN),
        document["write_amplification"],
    );
}
