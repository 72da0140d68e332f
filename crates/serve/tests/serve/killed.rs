//! A device in a file whose process is killed: whatever was flushed is there in the next session, and a session that only
//! reads leaves the file as it was.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use crate::client::{Client, source, temporary};
use pumice_ftl::FtlKind;
use pumice_ftl::Recovery;
use pumice_serve::{Address, ControlRequest, ServeClock, ServeOptions, Server};
use pumice_types::Choice;
use pumice_workload::RandomStream;
use serde_json::Value;

const PAGE: usize = 4096;

/// Pages that are used: few, so that they are written again and their blocks reclaimed.
const PAGES: u64 = 400;

/// How the process that is killed learns what to serve: keys and values, the store, the socket, the clock.
const ORDER: &str = "PUMICE_KILLED_SERVES";

type Sets = Vec<(String, String)>;

/// A process that serves a device in a file.
struct Served {
    process: Child,
    path: PathBuf,
}

impl Served {
    /// Starts a process, and waits until clients can connect.
    fn start(name: &str, sets: &Sets, clock: ServeClock) -> Served {
        let path = temporary(&format!("{name}.socket"));
        let order = serde_json::json!([sets, store(name), path, clock.name()]).to_string();
        let mut command = Command::new(std::env::current_exe().expect("this program"));
        command.args(["--ignored", "--exact", "killed::serves_until_it_is_killed", "--nocapture"]).env(ORDER, order);
        let mut process = command.stdout(Stdio::piped()).stdin(Stdio::null()).spawn().expect("starts");
        let mut lines = BufReader::new(process.stdout.take().expect("a pipe")).lines();
        let is_ready = lines.any(|line| line.expect("text").contains("clients can connect"));
        assert!(is_ready, "{name}: the process has ended");
        Served { process, path }
    }

    /// Kills the process; returns the socket, which is left behind.
    fn kill(mut self) -> PathBuf {
        self.process.kill().expect("is killed");
        self.process.wait().expect("has ended");
        self.path
    }
}

fn store(name: &str) -> PathBuf {
    temporary(&format!("{name}.store"))
}

#[test]
#[ignore = "what the other tests run and kill"]
fn serves_until_it_is_killed() {
    let order = std::env::var(ORDER).expect("an order");
    let (sets, store, path, clock): (Sets, PathBuf, PathBuf, String) = serde_json::from_str(&order).expect("JSON");
    let sets: Vec<(&str, &str)> = sets.iter().map(|(key, value)| (key.as_str(), value.as_str())).collect();
    let mut options = ServeOptions::new(source("tiny", &sets), Address::Unix(path));
    options.store = Some(store);
    options.clock = ServeClock::from_name(&clock).expect("a clock");
    let server = Server::start(&options).unwrap_or_else(|error| panic!("{error}"));
    let mut out = std::io::stdout();
    out.write_all(b"clients can connect\n").and_then(|()| out.flush()).expect("a pipe");
    while !server.is_over() {
        std::thread::sleep(Duration::from_millis(100));
    }
    panic!("the simulation has ended in an error");
}

/// What each page may hold: its last promised value, and values that were written since.
struct Expected(Vec<Vec<u8>>);

impl Expected {
    fn promise(&mut self, pages: std::ops::Range<usize>) {
        for values in &mut self.0[pages] {
            values.drain(..values.len() - 1);
        }
    }

    /// Looks at every page, and goes on with what is there.
    fn check(&mut self, path: &Path, what: &str) {
        let mut client = Client::simple(path).expect("connects");
        for (page, values) in self.0.iter_mut().enumerate() {
            let found = client.read((page * PAGE) as u64, PAGE as u32).unwrap_or_else(|errno| {
                panic!("{what}: page {page} is not readable: {errno}");
            });
            assert!(found.iter().all(|&byte| byte == found[0]), "{what}: page {page} is of several writes");
            assert!(values.contains(&found[0]), "{what}: page {page} holds {}, allowed: {values:?}", found[0]);
            *values = vec![found[0]];
        }
    }
}

/// Sends requests, some of which are answered, and kills the process at some moment.
fn use_and_kill(served: Served, expected: &mut Expected, random: &mut RandomStream) {
    let mut client = Client::simple(&served.path).expect("connects");
    let answered = random.below(60);
    // The last few are sent at once, and may be at any point when the process is killed.
    for nth in 0..answered + 6 {
        let page = random.below(PAGES) as usize;
        let pages = page..(page + 1 + random.below(8) as usize).min(PAGES as usize);
        let (offset, bytes) = ((page * PAGE) as u64, (pages.len() * PAGE) as u32);
        let (value, fua) = (random.bits() as u8, u16::from(random.below(6) == 0));
        let (command, data, written) = match random.below(8) {
            0 => ((3, 0), vec![], None),
            1 => ((6, fua | (2 * (nth as u16 % 2))), vec![], Some(0)),
            _ => ((1, fua), vec![value; bytes as usize], Some(value)),
        };
        if let Some(value) = written {
            expected.0[pages.clone()].iter_mut().for_each(|values| values.push(value));
        }
        let (offset, bytes) = if written.is_some() { (offset, bytes) } else { (0, 0) };
        if client.send(command, offset, bytes, &data).is_err() || nth >= answered {
            continue;
        }
        client.receive(0).expect("is answered").1.expect("is done");
        match written {
            None => expected.promise(0..PAGES as usize),
            Some(_) if fua == 1 => expected.promise(pages),
            Some(_) => {}
        }
    }
    std::thread::sleep(Duration::from_micros(random.below(3_000)));
    served.kill();
}

fn check_killed(name: &str, sets: &[(&str, &str)], clock: ServeClock, kills: u32) {
    let sets: Sets = sets.iter().map(|&(key, value)| (key.into(), value.into())).collect();
    let mut random = RandomStream::new(17, name);
    let mut expected = Expected(vec![vec![0]; PAGES as usize]);
    for nth in 0..=kills {
        let served = Served::start(name, &sets, clock);
        expected.check(&served.path, &format!("{name}, killed {nth} times"));
        if nth < kills {
            use_and_kill(served, &mut expected, &mut random);
        } else {
            served.kill();
        }
    }
    std::fs::remove_file(store(name)).expect("was written");
    let _ = std::fs::remove_file(temporary(&format!("{name}.socket")));
}

/// A killed process lost its device: the file was refused from then on, with all that was flushed.
#[test]
fn t947_what_was_flushed_is_there_when_the_process_was_killed() {
    for &kind in FtlKind::ALL {
        for recovery in kind.facts().recoveries {
            for buffer in ["0", "128"] {
                let sets = [
                    ("ftl.kind", kind.name()),
                    ("ftl.recovery", recovery.name()),
                    ("ftl.over_provisioning", "0.25"),
                    ("host.write_buffer_kib", buffer),
                    ("host.flush", "lru"),
                ];
                let name = format!("killed-{}-{}-{buffer}", kind.name(), recovery.name());
                check_killed(&name, &sets, ServeClock::Virtual, 4);
            }
        }
    }
}

#[test]
fn s171_so_it_is_however_the_device_writes_and_by_the_walls_clock() {
    let (page, space, scan) = (("ftl.kind", "page"), ("ftl.over_provisioning", "0.25"), ("ftl.recovery", "scan"));
    let buffer = [("host.write_buffer_kib", "128"), ("host.flush", "lru")];
    let cases: &[(&str, &[(&str, &str)])] = &[
        ("full", &[page, space, scan, buffer[0], buffer[1], ("power.protection", "full")]),
        ("operations", &[page, space, scan, ("power.protection", "operations")]),
        ("new", &[page, space, scan, buffer[0], buffer[1], ("power.torn", "new")]),
        ("mixed", &[space, scan, ("ftl.merge", "m-merge"), ("power.torn", "mixed")]),
        ("background", &[page, space, ("ftl.gc_mode", "background"), buffer[0]]),
        ("cached", &[page, space, ("ftl.map_place", "cached"), ("ftl.map_cache_entries", "512")]),
        ("filled", &[page, space, ("initial.fill", "0.9"), ("initial.age_writes", "0.5")]),
        ("link", &[page, ("host.link_mb_per_s", "200"), ("host.overhead_us", "5"), buffer[0]]),
    ];
    for (what, sets) in cases {
        for clock in [ServeClock::Virtual, ServeClock::Real] {
            check_killed(&format!("killed-{what}-{}", clock.name()), sets, clock, 4);
        }
    }
}

#[test]
fn s172_a_session_in_which_nothing_is_written_leaves_the_file_as_it_was() {
    for recovery in [Recovery::Off, Recovery::Scan] {
        let name = format!("read-only-{}", recovery.name());
        let sets = [("ftl.kind", "page"), ("ftl.recovery", recovery.name()), ("ftl.over_provisioning", "0.25")];
        let mut options = ServeOptions::new(source("tiny", &sets), Address::Unix(temporary(&name)));
        options.store = Some(store(&name));
        let server = Server::start(&options).expect("starts");
        let path = temporary(&name);
        let mut client = Client::simple(&path).expect("connects");
        (0..PAGES).for_each(|page| client.write(page * PAGE as u64, &[7; PAGE]).expect("a write"));
        drop(client);
        server.stop().expect("ends");
        let before = std::fs::read(store(&name)).expect("the store");
        let read = |path: &Path| {
            let mut client = Client::simple(path).expect("connects");
            for page in 0..PAGES {
                assert_eq!(client.read(page * PAGE as u64, PAGE as u32), Ok(vec![7; PAGE]), "{name}");
                if page % 50 == 0 {
                    client.flush().expect("a flush");
                }
            }
        };
        let owned: Sets = sets.iter().map(|&(key, value)| (key.into(), value.into())).collect();
        let killed = Served::start(&name, &owned, ServeClock::Virtual);
        read(&killed.path);
        std::fs::remove_file(killed.kill()).expect("was left behind");
        assert!(std::fs::read(store(&name)).expect("the store") == before, "{name}: a killed session has changed it");
        let server = Server::start(&options).expect("starts");
        read(&path);
        server.stop().expect("ends");
        assert!(std::fs::read(store(&name)).expect("the store") == before, "{name}: a session has changed it");
        std::fs::remove_file(store(&name)).expect("was written");
    }
}

#[test]
fn s173_what_became_of_a_session_that_broke_off_is_told_in_one_line() {
    for (recovery, expected) in [("off", "ftl.recovery = \"off\""), ("scan", "has recovered in")] {
        let name = format!("told-{recovery}");
        let sets = [("ftl.kind", "page"), ("ftl.recovery", recovery), ("ftl.over_provisioning", "0.25")];
        let owned: Sets = sets.iter().map(|&(key, value)| (key.into(), value.into())).collect();
        let killed = Served::start(&name, &owned, ServeClock::Virtual);
        let mut client = Client::simple(&killed.path).expect("connects");
        client.write(0, &[1; PAGE]).expect("a write");
        client.flush().expect("a flush");
        client.write(0, &[2; PAGE]).expect("a write");
        std::fs::remove_file(killed.kill()).expect("was left behind");
        let mut options = ServeOptions::new(source("tiny", &sets), Address::Unix(temporary(&name)));
        options.store = Some(store(&name));
        for session in 0..2 {
            let server = Server::start(&options).expect("starts");
            let status = server.answer(&ControlRequest::Status {}).expect("a status");
            let mut client = Client::simple(&temporary(&name)).expect("connects");
            assert_eq!(client.read(0, PAGE as u32), Ok(vec![1; PAGE]), "{name}: what was flushed");
            drop(client);
            if session == 0 {
                let text = status["recovered"].as_str().expect("a text");
                assert!(text.contains(expected) && text.contains("did not end well") && !text.contains('\n'), "{text}");
            } else {
                assert_eq!(status["recovered"], Value::Null, "{name}: that session ended well");
            }
            server.stop().expect("ends");
        }
        std::fs::remove_file(store(&name)).expect("was written");
    }
}
