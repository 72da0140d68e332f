//! A device that goes by the wall's clock: replies come in their time, several requests are under way together, and a
//! record replays to the same result all the same.

#[path = "serve/client/mod.rs"]
mod client;

use std::collections::HashMap;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use client::{Client, served, source, temporary};
use pumice_engine::run;
use pumice_serve::{Address, ControlRequest, ServeClock, ServeOptions, Server};
use pumice_workload::RandomStream;
use serde_json::Value;

const PAGE: u64 = 4096;

/// A device on a socket of this name, by the wall's clock.
fn options(name: &str, sets: &[(&str, &str)]) -> ServeOptions {
    let mut options = ServeOptions::new(source("tiny", sets), Address::Unix(temporary(name)));
    options.clock = ServeClock::Real;
    options
}

/// Fails and says where two results differ.
fn assert_same(served: Value, replayed: Value, what: &str) {
    let (served, replayed) = (bare(served), bare(replayed));
    let differing = |name: &&String| served[name.as_str()] != replayed[name.as_str()];
    let names = served.as_object().expect("a document").keys().filter(differing);
    let told: Vec<String> = names.map(|name| format!("{name}: {} / {}", served[name], replayed[name])).collect();
    assert!(told.is_empty(), "{what} replays to another result: {}", told.join("\n"));
    assert_eq!(served.as_object().map(|one| one.len()), replayed.as_object().map(|one| one.len()));
}

fn bare(mut document: Value) -> Value {
    for of_the_clock in ["run", "preset", "warnings"] {
        document.as_object_mut().expect("a document").remove(of_the_clock);
    }
    document
}

/// Sends page writes and reads of a part of the device, so many at a time, and checks what is read: no page is in two
/// requests of one burst. `pages`: what each page holds.
fn bursts(client: &mut Client, random: &mut RandomStream, pages: &mut [u8], bursts: u64) {
    for _ in 0..bursts {
        let mut asked = HashMap::new();
        let (from, stride) = (random.below(pages.len() as u64), 1 + random.below(3));
        for nth in 0..16 {
            let page = (from + nth * stride) % pages.len() as u64;
            let (is_read, fill) = (random.below(2) == 0, random.bits() as u8);
            let data = [fill; PAGE as usize];
            let command = if is_read { (0, 0) } else { (1, 0) };
            let written = if is_read { &[][..] } else { &data };
            let cookie = client.send(command, page * PAGE, PAGE as u32, written).expect("connected");
            asked.insert(cookie, (page as usize, (!is_read).then_some(fill)));
        }
        for _ in 0..16 {
            let (cookie, reply) = client.receive(0).expect("connected");
            match asked.remove(&cookie).expect("was asked") {
                (page, Some(fill)) => pages[page] = fill,
                (page, None) => {
                    assert!(reply.expect("a read") == [pages[page]; PAGE as usize], "page {page}");
                }
            }
        }
    }
}

#[test]
fn s140_replies_are_held_back_until_their_requests_are_done() {
    let (server, path) = served(&options("held-back", &[("ftl.kind", "page"), ("timing.t_prog_us", "5000")]));
    let mut client = Client::simple(&path).expect("connects");
    client.write(0, &[1; 4096]).expect("a write");
    let started = Instant::now();
    for page in 1..20 {
        client.write(page * PAGE, &[1; 4096]).expect("a write");
    }
    assert!(started.elapsed() >= Duration::from_millis(19 * 5), "{:?}", started.elapsed());
    let status = server.answer(&ControlRequest::Status {}).expect("a status");
    let lateness = &status["lateness"];
    assert_eq!(lateness["replies"], 20);
    assert!(lateness["mean_latency_us"].as_f64() >= Some(5000.0), "{status}");
    assert!(status["simulated_s"].as_f64() >= Some(0.1), "time passes: {status}");
    let told = server.lateness();
    let document = server.stop().expect("ends");
    assert_eq!(told().expect("by the wall's clock")["replies"], 20);
    let mean = document["host"]["write"]["latency_us"]["mean"].as_f64().expect("a mean");
    assert!((5000.0..6000.0).contains(&mean), "{mean}: latencies are the device's own");
}

#[test]
fn s141_a_record_and_a_store_give_what_was_served() {
    for (name, sets) in [
        ("real-page", &[("ftl.kind", "page")][..]),
        ("real-nftl", &[("host.write_buffer_kib", "64"), ("host.flush", "lru")]),
    ] {
        let (file, record) = (temporary(&format!("{name}.img")), temporary(&format!("{name}.csv")));
        let quick = [("timing.t_prog_us", "300"), ("timing.t_bers_us", "500"), ("host.read_priority", "true")];
        let mut options = options(name, &[sets, &quick].concat());
        (options.store, options.record) = (Some(file.clone()), Some(record.clone()));
        let mut random = RandomStream::new(3, name);
        let mut pages = vec![0; 600];
        let mut last = None;
        for _ in 0..2 {
            let (server, path) = served(&options);
            let mut client = Client::structured(&path).expect("connects");
            bursts(&mut client, &mut random, &mut pages, 60);
            client.zero(0, 64 * PAGE as u32, false).expect("zeroes");
            pages[..64].fill(0);
            let config = server.config().clone();
            last = Some((config, server.stop().unwrap_or_else(|error| panic!("{name}: {error}"))));
        }
        let (config, served) = last.expect("a session");
        assert!(served["host"]["read"]["requests"].as_u64() > Some(500));
        let replayed = run(&config, 1.0, &mut |_| true).expect("replays");
        assert_same(served, replayed.document, name);
        // The store's own state is that of the record too.
        let again = Server::start(&options).expect("starts").stop().expect("ends");
        let replayed = run(&config, 1.0, &mut |_| true).expect("replays");
        assert_same(again, replayed.document, name);
        [file, record].iter().for_each(|path| std::fs::remove_file(path).expect("was written"));
    }
}

#[test]
fn s142_a_power_cut_meets_what_is_under_way_and_what_was_acknowledged_is_there() {
    let (name, record) = ("real-cut", temporary("real-cut.csv"));
    let sets = [("ftl.kind", "page"), ("ftl.over_provisioning", "0.25"), ("ftl.recovery", "scan")];
    let mut options = options(name, &sets);
    options.record = Some(record.clone());
    let (server, path) = served(&options);
    let (mut random, mut pages) = (RandomStream::new(3, name), vec![0; 300]);
    for round in 0..4 {
        let mut client = Client::structured(&path).expect("connects");
        for (page, &fill) in pages.iter().enumerate() {
            assert!(client.read(page as u64 * PAGE, PAGE as u32) == Ok(vec![fill; PAGE as usize]), "page {page}");
        }
        bursts(&mut client, &mut random, &mut pages, 10);
        // These are under way when the power is cut: 40 programs take longer than the question.
        for nth in 0..40 {
            client.send((1, 0), (300 + nth) * PAGE, PAGE as u32, &[9; PAGE as usize]).expect("connected");
        }
        while server.answer(&ControlRequest::Status {}).expect("a status")["requests"].as_u64()
            < Some((round + 1) * (300 + 160 + 40))
        {
            std::thread::yield_now();
        }
        let cut = server.answer(&ControlRequest::Cut {}).expect("a cut");
        assert_eq!(cut["cuts"], round + 1);
        while client.receive(0).is_ok_and(|(_, reply)| reply.is_ok()) {}
    }
    let (mut config, served) = (server.config().clone(), server.stop().expect("ends"));
    assert!(served["power"]["failed_requests"].as_u64() > Some(0), "{}", served["power"]);
    let cuts = served["config"]["power"]["cut_at_s"].as_array().expect("a list");
    config.power.cut_at_s = cuts.iter().map(|at| at.as_f64().expect("a time")).collect();
    let replayed = run(&config, 1.0, &mut |_| true).expect("replays");
    assert_same(served, replayed.document, name);
    std::fs::remove_file(record).expect("was written");
}

#[test]
fn s143_a_session_for_the_crash_lab_is_not_recorded_by_the_walls_clock() {
    let mut options = options("real-session", &[("ftl.kind", "page")]);
    options.recording = Some(PathBuf::from("/nowhere/session"));
    let text = Server::start(&options).err().expect("refused").to_string();
    assert!(text.contains("--session") && text.contains("allowed: --clock virtual"), "{text}");
}

#[test]
fn s144_whoever_waits_for_a_device_to_begin_may_give_up() {
    let ageing = [("ftl.kind", "page"), ("initial.age_writes", "1000"), ("geometry.blocks_per_plane", "1024")];
    let started = Instant::now();
    let mut looks = 0;
    let begun = Server::start_while(&options("given-up", &ageing), &mut || {
        looks += 1;
        looks < 3
    });
    assert_eq!(begun.err().expect("given up").to_string(), "interrupted");
    assert_eq!(looks, 3);
    assert!(started.elapsed() < Duration::from_secs(20), "ageing takes longer");
}
