//! The device as its clients see it: what is written is read back, through every translation layer; flushes, trims and
//! zeroes do what the protocol says; and clients that break the protocol harm nobody but themselves.

use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

use crate::client::{Client, bare, greet, option_reply, send_option, served, source, temporary};
use pumice_config::Config;
use pumice_engine::run;
use pumice_ftl::FtlKind;
use pumice_serve::{Address, ControlRequest, ServeOptions, Server};
use pumice_types::Choice;
use pumice_workload::RandomStream;
use serde_json::{Value, json};

const SECTOR: usize = 512;

/// Room for what a layer keeps for itself.
const SPACE: (&str, &str) = ("ftl.over_provisioning", "0.25");

const PAGE: (&str, &str) = ("ftl.kind", "page");

/// A device that can recover.
const RECOVERS: [(&str, &str); 3] = [("ftl.kind", "page"), ("ftl.recovery", "checkpoint"), SPACE];

/// Serves a device on a socket of this name.
fn start(name: &str, sets: &[(&str, &str)]) -> (Server, PathBuf) {
    served(&ServeOptions::new(source("tiny", sets), Address::Unix(temporary(name))))
}

/// What a device should hold.
struct Shadow(Vec<u8>);

impl Shadow {
    /// Reads everything back.
    fn check(&self, client: &mut Client, what: &str) {
        for (nth, part) in self.0.chunks(1 << 20).enumerate() {
            let offset = (nth << 20) as u64;
            let found = client.read(offset, part.len() as u32).expect("a device reads");
            let wrong = found.iter().zip(part).position(|(found, expected)| found != expected);
            assert_eq!(wrong.map(|at| offset + at as u64), None, "{what}: first wrong byte");
        }
    }
}

/// Random writes, trims and zeroes of whole sectors over a part of the device, checked as they go.
fn exercise(client: &mut Client, operations: u32, span: u64, what: &str) {
    let mut random = RandomStream::new(7, what);
    let mut shadow = Shadow(vec![0; client.bytes as usize]);
    for nth in 0..operations {
        let offset = random.below(span / SECTOR as u64) as usize * SECTOR;
        let length = (1 + random.below(40) as usize) * SECTOR;
        let length = length.min(shadow.0.len() - offset);
        let place = offset..offset + length;
        match random.below(10) {
            0..=6 => {
                let mut data = vec![0; length];
                data.chunks_mut(8).for_each(|word| word.copy_from_slice(&random.bits().to_be_bytes()));
                client.write(offset as u64, &data).expect("a write");
                shadow.0[place].copy_from_slice(&data);
            }
            7 => {
                client.zero(offset as u64, length as u32, nth % 2 == 0).expect("zeroes");
                shadow.0[place].fill(0);
            }
            8 => {
                let found = client.read(offset as u64, length as u32).expect("a read");
                assert!(found == shadow.0[place], "{what}: operation {nth} read something else");
            }
            _ => client.flush().expect("a flush"),
        }
    }
    shadow.check(client, what);
}

#[test]
fn s100_every_translation_layer_returns_what_was_written() {
    for &kind in FtlKind::ALL {
        let name = kind.name();
        let (server, path) = start(&format!("layer-{name}"), &[("ftl.kind", name), ("run.check", "integrity")]);
        let mut client = Client::simple(&path).expect("connects");
        // A narrow span is written over and over, so that blocks are merged and reclaimed.
        let span = client.bytes / 6;
        exercise(&mut client, 6_000, span, name);
        drop(client);
        let document = server.stop().unwrap_or_else(|error| panic!("{name}: {error}"));
        let copies = document["gc"]["copied_pages"].as_u64().expect("a count");
        let erases = document["flash"]["erases"]["block"].as_u64().expect("a count");
        assert!(copies > 0 && erases > 0, "{name}: pages were copied ({copies}) and blocks erased ({erases})");
        assert_eq!(document["integrity"]["lost_pages"], 0, "{name}");
        assert!(!path.exists(), "the socket is gone");
    }
}

#[test]
fn s101_so_does_every_way_to_write() {
    let page = ("ftl.kind", "page");
    let cases: &[(&str, &[(&str, &str)])] = &[
        ("eager buffer", &[page, ("host.write_buffer_kib", "64")]),
        ("lru buffer", &[page, ("host.write_buffer_kib", "256"), ("host.flush", "lru")]),
        ("nftl with a buffer", &[("host.write_buffer_kib", "128"), ("host.flush", "lru")]),
        ("m-merge", &[("ftl.merge", "m-merge")]),
        ("cached map", &[page, SPACE, ("ftl.map_place", "cached"), ("ftl.map_cache_entries", "512")]),
        (
            "sub-blocks",
            &[
                page,
                ("partial_erase.unit", "sub-block"),
                ("ftl.erase_unit", "sub-block"),
                ("geometry.layers", "16"),
                ("geometry.sub_blocks", "4"),
            ],
        ),
        ("background", &[page, SPACE, ("ftl.gc_mode", "background")]),
        ("recovery", &RECOVERS),
        ("link", &[page, ("host.link_mb_per_s", "1000"), ("host.overhead_us", "5")]),
        ("filled", &[page, ("initial.fill", "0.5"), ("initial.age_writes", "0.5")]),
    ];
    for (what, sets) in cases {
        let (server, path) = start(&what.replace(' ', "-"), sets);
        let mut client = Client::structured(&path).expect("connects");
        let span = client.bytes / 6;
        exercise(&mut client, 3_000, span, what);
        drop(client);
        server.stop().unwrap_or_else(|error| panic!("{what}: {error}"));
    }
}

#[test]
fn s102_a_session_replays_from_its_record_to_the_same_result() {
    for (name, sets) in [
        ("record-page", &[("ftl.kind", "page")][..]),
        ("record-nftl", &[("host.write_buffer_kib", "64"), ("host.flush", "lru"), ("output.time_series_s", "1")][..]),
    ] {
        let record = temporary(&format!("{name}.csv"));
        let mut options = ServeOptions::new(source("tiny", sets), Address::Unix(temporary(name)));
        options.record = Some(record.clone());
        let (server, path) = served(&options);
        let mut client = Client::simple(&path).expect("connects");
        let span = client.bytes / 6;
        exercise(&mut client, 2_000, span, name);
        client.ask((1, 1), 0, 512, &[1; 512]).expect("a write with FUA");
        client.ask((4, 1), 0, 8192, &[]).expect("a trim with FUA");
        let config = server.config().clone();
        let served = server.stop().expect("ends");
        // The configuration is that of a run of the trace, so a run of it must say the same.
        let mut replay = source("tiny", sets);
        for (key, value) in [("host.partial_page", "rmw"), ("workload.kind", "trace")] {
            replay.sets.push((key.into(), value.into()));
        }
        replay.sets.push(("workload.path".into(), format!("{:?}", record.to_str().expect("text"))));
        let replay = Config::resolve(&replay).expect("a spec");
        assert_eq!(config.digest(), replay.digest());
        let replayed = run(&replay, 1.0, &mut |_| true).expect("replays");
        assert_eq!(bare(served.clone()), bare(replayed.document), "{name}");
        assert!(served["host"]["write"]["requests"].as_u64() > Some(1000));
        std::fs::remove_file(record).expect("was written");
    }
}

#[test]
fn s103_status_tells_what_holds_data() {
    let (server, path) = start("status", &[("ftl.kind", "page"), ("initial.fill", "0")]);
    let mut client = Client::structured(&path).expect("connects");
    client.write(8192, &[1; 8192]).expect("a write");
    client.write(65536 + 512, &[1; 512]).expect("a part of a page");
    let found = client.status(0, 1 << 17).expect("a status");
    let expected = [(8192, false), (8192, true), (49152, false), (4096, true), (61440, false)];
    assert_eq!(found, expected);
    assert_eq!(client.ask((7, 8), 0, 1 << 17, &[]).map(|one| one.len()), Ok(8), "one extent");
    client.trim(0, 16384).expect("a trim");
    assert_eq!(client.status(0, 16384), Ok(vec![(16384, false)]));
    assert_eq!(client.read(8192, 8192), Ok(vec![0; 8192]), "what was given up reads as zeroes");
    let mut plain = Client::simple(&path).expect("connects");
    assert_eq!(plain.status(0, 4096), Err(22), "not without having asked for it");
    server.stop().expect("ends");
}

#[test]
fn s104_requests_that_make_no_sense_get_errors_and_the_connection_lives() {
    let (server, path) = start("errors", &[("ftl.kind", "page")]);
    let mut client = Client::simple(&path).expect("connects");
    let end = client.bytes;
    assert_eq!(client.flags & 0b1_1110_1101, 0b1_1110_1101, "flush, FUA, trim, zeroes, DF, several connections");
    assert_eq!(client.read(end, 512), Err(22));
    assert_eq!(client.read(end - 512, 1024), Err(22));
    assert_eq!(client.read(u64::MAX - 511, 512), Err(22));
    assert_eq!(client.write(end - 512, &[0; 1024]), Err(28));
    assert_eq!(client.zero(end, 512, false), Err(28));
    assert_eq!(client.trim(end, 512), Err(22));
    assert_eq!(client.read(1, 512), Err(22), "no whole sector");
    assert_eq!(client.write(0, &[0; 100]), Err(22));
    assert_eq!(client.read(0, 33 << 20), Err(75), "longer than a reply");
    assert_eq!(client.ask((99, 0), 0, 0, &[]), Err(95), "an unknown command");
    assert_eq!(client.ask((0, 1 << 15), 0, 512, &[]), Err(22), "an unknown flag");
    assert_eq!(client.ask((3, 0), 512, 512, &[]), Err(22), "a flush of a place");
    assert_eq!(client.read(0, 0), Ok(vec![]));
    assert_eq!(client.write(0, &[5; 1024]), Ok(()));
    assert_eq!(client.read(512, 512), Ok(vec![5; 512]));
    server.stop().expect("ends");
}

#[test]
fn s105_the_handshake_answers_what_it_knows_and_goes_on() {
    let (server, path) = start("handshake", &[("ftl.kind", "page")]);
    let (mut input, mut out) = greet(&path).expect("greets");
    send_option(&mut out, 3, &[]).expect("sends");
    assert_eq!(option_reply(&mut input, 3).expect("a reply"), (2, [&[0, 0, 0, 6][..], b"pumice"].concat()));
    assert_eq!(option_reply(&mut input, 3).expect("a reply").0, 1);
    send_option(&mut out, 5, &[]).expect("STARTTLS");
    assert_eq!(option_reply(&mut input, 5).expect("a reply").0, (1 << 31) + 1);
    send_option(&mut out, 6, &[&[0, 0, 0, 2][..], b"no", &[0, 0]].concat()).expect("INFO");
    assert_eq!(option_reply(&mut input, 6).expect("a reply").0, (1 << 31) + 6);
    send_option(&mut out, 7, &[1, 2, 3]).expect("half a GO");
    assert_eq!(option_reply(&mut input, 7).expect("a reply").0, (1 << 31) + 3);
    send_option(&mut out, 3, &[0; 20_000]).expect("too long");
    assert_eq!(option_reply(&mut input, 3).expect("a reply").0, (1 << 31) + 9);
    send_option(&mut out, 1, b"pumice").expect("EXPORT_NAME");
    let mut export = [0; 10];
    input.read_exact(&mut export).expect("the export");
    assert_eq!(export[..8], server.capacity().to_be_bytes());
    let (mut input, mut out) = greet(&path).expect("greets");
    send_option(&mut out, 2, &[]).expect("ABORT");
    assert_eq!(option_reply(&mut input, 2).expect("a reply").0, 1);
    assert_eq!(input.read(&mut [0]).expect("ended"), 0);
    server.stop().expect("ends");
}

#[test]
fn s106_a_flush_and_a_read_on_one_connection_see_what_another_wrote() {
    let (server, path) = start("several", &[("ftl.kind", "page"), ("host.write_buffer_kib", "256")]);
    let mut clients: Vec<Client> = (0..4).map(|_| Client::simple(&path).expect("connects")).collect();
    for round in 0..200u64 {
        let (writer, reader) = ((round % 4) as usize, ((round + 1) % 4) as usize);
        clients[writer].write(round * 4096, &[round as u8 + 1; 4096]).expect("a write");
        clients[reader].flush().expect("a flush");
        assert_eq!(clients[reader].read(round * 4096, 4096), Ok(vec![round as u8 + 1; 4096]));
    }
    let document = server.stop().expect("ends");
    assert_eq!(document["host"]["flush"]["requests"], 201, "the last one ends the session");
}

#[test]
fn s107_more_connections_than_the_server_takes_are_closed() {
    let (server, path) = start("crowd", &[("ftl.kind", "page")]);
    let clients: Vec<Client> = (0..64).map(|_| Client::simple(&path).expect("connects")).collect();
    let mut late = UnixStream::connect(&path).expect("connects");
    assert_eq!(late.read(&mut [0]).expect("closed"), 0, "no greeting");
    drop(clients);
    // Places are free again as soon as the server has noticed.
    let again = (0..200).find_map(|_| {
        std::thread::sleep(std::time::Duration::from_millis(20));
        std::panic::catch_unwind(|| Client::simple(&path)).ok()?.ok()
    });
    assert!(again.is_some());
    server.stop().expect("ends");
}

#[test]
fn s108_clients_that_vanish_or_send_garbage_harm_nobody() {
    let (server, path) = start("garbage", &[("ftl.kind", "page")]);
    let mut steady = Client::structured(&path).expect("connects");
    let mut random = RandomStream::new(1, "garbage");
    let mut shadow = Shadow(vec![0; 1 << 20]);
    for round in 0..400u64 {
        break_something(&path, &mut random);
        let offset = random.below(255) * 4096;
        let data = vec![round as u8; 4096];
        steady.write(offset, &data).expect("the steady client is served");
        shadow.0[offset as usize..offset as usize + 4096].copy_from_slice(&data);
    }
    shadow.check(&mut steady, "beside broken clients");
    assert!(!server.is_over());
    server.stop().expect("ends");
}

/// A client that breaks the protocol somewhere, or leaves in the middle.
fn break_something(path: &Path, random: &mut RandomStream) {
    let mut garbage = vec![0; 1 + random.below(300) as usize];
    garbage.iter_mut().for_each(|byte| *byte = random.bits() as u8);
    match random.below(4) {
        // Nothing but garbage, or less than a handshake.
        0 => drop(UnixStream::connect(path).expect("connects").write_all(&garbage)),
        1 => {
            let (_, mut out) = greet(path).expect("greets");
            let _ = out.write_all(&garbage);
        }
        // A write that announces more than comes, and what a request is not.
        2 => {
            let mut client = Client::simple(path).expect("connects");
            let offset = (1 << 20) + random.below(100) * 4096;
            let _ = client.send((1, 0), offset, 1 << 16, &garbage);
        }
        _ => {
            let mut client = Client::simple(path).expect("connects");
            // Reads whose answers nobody takes.
            (0..20).for_each(|nth| drop(client.send((0, 0), nth * 4096, 1 << 17, &[])));
            let _ = client.out.write_all(&garbage);
        }
    }
}

#[test]
fn s109_specs_that_cannot_be_served_are_refused_in_one_line() {
    let refusal = |sets: &[(&str, &str)]| {
        let options = ServeOptions::new(source("tiny", sets), Address::Unix(temporary("refused")));
        match Server::start(&options) {
            Ok(_) => panic!("{sets:?} is served"),
            Err(error) => error.to_string(),
        }
    };
    for (sets, expected) in [
        (&[("run.timed", "false")][..], "run.timed"),
        (&[("run.max_requests", "5")], "run.max_requests"),
        (&[("run.until", "steady")], "run.until"),
        (&[("output.request_log", "true")], "output.request_log"),
        (&[RECOVERS[0], RECOVERS[1], RECOVERS[2], ("power.cuts", "3")], "power.cuts"),
        (&[("ftl.kind", "no")], "ftl.kind"),
    ] {
        let text = refusal(sets);
        assert!(text.contains(expected) && !text.contains('\n'), "{text}");
    }
}

#[test]
fn s110_a_store_keeps_the_device_from_session_to_session() {
    for (name, sets) in [
        ("store-page", &[("ftl.kind", "page"), ("host.write_buffer_kib", "64"), ("initial.age_writes", "0.2")][..]),
        ("store-nftl", &[("ftl.merge", "m-merge")]),
        ("store-pbe", &[("ftl.kind", "pbe")]),
    ] {
        let (file, record) = (temporary(&format!("{name}.img")), temporary(&format!("{name}.csv")));
        let mut options = ServeOptions::new(source("tiny", sets), Address::Unix(temporary(name)));
        options.store = Some(file.clone());
        options.record = Some(record.clone());
        let mut random = RandomStream::new(3, name);
        let mut shadow = Shadow(Vec::new());
        let mut requests = 0;
        for session in 0..3 {
            let (server, path) = served(&options);
            let mut client = Client::simple(&path).expect("connects");
            shadow.0.resize(client.bytes as usize, 0);
            shadow.check(&mut client, &format!("{name}, session {session}"));
            for _ in 0..1500 {
                let offset = random.below(client.bytes / 6 / SECTOR as u64) as usize * SECTOR;
                let data = vec![random.bits() as u8; (1 + random.below(20) as usize) * SECTOR];
                client.write(offset as u64, &data).expect("a write");
                shadow.0[offset..offset + data.len()].copy_from_slice(&data);
            }
            drop(client);
            let document = server.stop().unwrap_or_else(|error| panic!("{name}: {error}"));
            let so_far = document["host"]["write"]["requests"].as_u64().expect("a count");
            assert_eq!(so_far, 1500 * (session + 1), "the result counts every session");
            requests = so_far;
        }
        // The record of the last session holds the device's whole life.
        let server = Server::start(&options).expect("starts");
        let config = server.config().clone();
        let again = server.stop().expect("ends");
        let replayed = run(&config, 1.0, &mut |_| true).expect("replays");
        assert_eq!(bare(again), bare(replayed.document), "{name}, {requests} writes");
        [file, record].iter().for_each(|path| std::fs::remove_file(path).expect("was written"));
    }
}

#[test]
fn s111_a_store_is_refused_with_another_spec_or_if_it_is_not_whole() {
    let file = temporary("other.img");
    let start = |sets: &[(&str, &str)]| {
        let mut options = ServeOptions::new(source("tiny", sets), Address::Tcp(0));
        options.store = Some(file.clone());
        Server::start(&options)
    };
    let refusal = |sets: &[(&str, &str)]| match start(sets) {
        Ok(_) => panic!("{sets:?} is served"),
        Err(error) => error.to_string(),
    };
    let page = ("ftl.kind", "page");
    let server = start(&[page]).expect("a new store");
    assert!(refusal(&[page]).contains("another process uses it"));
    server.stop().expect("ends");
    let text = refusal(&[page, ("timing.t_prog_us", "1000")]);
    assert!(text.contains("holds a device of another spec") && text.contains("other.img"), "{text}");
    start(&[page]).expect("its own spec").stop().expect("ends");
    // What a session leaves that ended while it went back to a snapshot.
    let bytes = std::fs::read(&file).expect("the store");
    let header = String::from_utf8(bytes[..4096].to_vec()).expect("text");
    let between = header.replace("\"last_end\":\"well\"", "\"last_end\":\"going-back\"");
    assert_ne!(header, between);
    std::fs::write(&file, [between.as_bytes(), &bytes[4096..]].concat()).expect("writes");
    assert!(refusal(&[page]).contains("went back to a snapshot"));
    std::fs::write(&file, &bytes[..bytes.len() / 2]).expect("writes");
    assert!(refusal(&[page]).contains("is cut short"));
    std::fs::write(&file, b"something else").expect("writes");
    assert!(refusal(&[page]).contains("no store of a device"));
    std::fs::remove_file(&file).expect("was written");
}

#[test]
fn s113_a_session_that_cannot_begin_leaves_the_store_as_it_was() {
    let file = temporary("spared.img");
    let mut options = ServeOptions::new(source("tiny", &[("ftl.kind", "page")]), Address::Unix(temporary("spared")));
    options.store = Some(file.clone());
    for session in 0..2u8 {
        options.record = Some(temporary("no-such-folder").join("record.csv"));
        let text = Server::start(&options).err().expect("no such folder").to_string();
        assert!(text.contains("record.csv"), "{text}");
        options.record = None;
        let server = Server::start(&options).expect("the store is good");
        let mut client = Client::simple(&temporary("spared")).expect("connects");
        assert_eq!(client.read(0, 512), Ok(vec![session; 512]));
        client.write(0, &[session + 1; 512]).expect("a write");
        server.stop().expect("ends");
        let server = Server::start(&options).expect("the store is good");
        server.stop().expect("ends");
    }
    std::fs::remove_file(&file).expect("was written");
}

#[test]
fn s114_zeroes_are_stored_in_parts_however_long_they_are() {
    let (server, path) = start("long-zeroes", &[("ftl.kind", "page")]);
    let mut client = Client::simple(&path).expect("connects");
    let bytes = u32::try_from(client.bytes).expect("a small device");
    assert!(bytes > 2 << 20);
    client.write(u64::from(bytes) - 4096, &[7; 4096]).expect("a write");
    client.zero(0, bytes, true).expect("zeroes");
    assert_eq!(client.read(u64::from(bytes) - 4096, 4096), Ok(vec![0; 4096]));
    let document = server.stop().expect("ends");
    assert_eq!(document["host"]["write"]["requests"], 1 + bytes.div_ceil(1 << 20));
    assert_eq!(document["host"]["write"]["bytes"], 4096 + u64::from(bytes));
}

#[test]
fn s112_the_control_socket_answers_and_ends_the_device() {
    let (path, control) = (temporary("controlled"), temporary("control"));
    let mut options = ServeOptions::new(source("tiny", &[("ftl.kind", "page")]), Address::Unix(path.clone()));
    options.control = Some(Address::Unix(control.clone()));
    let server = Server::start(&options).expect("starts");
    let mut client = Client::simple(&path).expect("connects");
    client.write(0, &[1; 4096]).expect("a write");
    let mut out = UnixStream::connect(&control).expect("connects");
    let mut input = BufReader::new(out.try_clone().expect("a handle"));
    let mut ask = |question: &str| -> Value {
        out.write_all(format!("{question}\n").as_bytes()).expect("asks");
        let mut line = String::new();
        input.read_line(&mut line).expect("an answer");
        serde_json::from_str(&line).expect("JSON")
    };
    let status = ask("{\"do\": \"status\"}");
    assert_eq!(status["answer"]["requests"], 1);
    assert_eq!(status["answer"]["capacity_bytes"], server.capacity());
    assert_eq!(status["answer"]["failure"], Value::Null);
    assert_eq!(ask("{\"do\": \"result\"}")["answer"]["host"]["write"]["requests"], 1);
    assert_eq!(ask("fly")["ok"], json!(false));
    assert!(!server.is_over());
    assert_eq!(ask("{\"do\": \"stop\"}")["ok"], json!(true));
    assert!(server.is_over());
    server.stop().expect("ends");
    assert!(!control.exists());
}

/// What each page of a part of the device holds: devices that recover have no write buffer, so whatever was
/// acknowledged is promised.
struct Promises(Vec<u8>);

impl Promises {
    /// Writes pages, now and then with force unit access or with a flush behind them.
    fn write(&mut self, client: &mut Client, random: &mut RandomStream, writes: u64) {
        for _ in 0..writes {
            let (page, fill) = (random.below(self.0.len() as u64) as usize, random.bits() as u8);
            let fua = u16::from(random.below(8) == 0);
            client.ask((1, fua), page as u64 * 4096, 4096, &[fill; 4096]).expect("a write");
            self.0[page] = fill;
            if random.below(40) == 0 {
                client.flush().expect("a flush");
            }
        }
    }

    /// Looks at every page.
    fn check(&self, client: &mut Client, what: &str) {
        for (page, &fill) in self.0.iter().enumerate() {
            let found = client.read(page as u64 * 4096, 4096).expect("a page reads");
            assert!(found == [fill; 4096], "{what}: page {page} holds {}, promised was {fill}", found[0]);
        }
    }
}

#[test]
fn s120_what_was_promised_is_there_after_a_power_cut_and_a_record_replays_the_cuts() {
    let cases: &[(&str, &[(&str, &str)])] = &[
        ("cut-scan", &[("ftl.kind", "page"), SPACE, ("ftl.recovery", "scan")]),
        ("cut-checkpoint", &RECOVERS),
        ("cut-nftl", &[SPACE, ("ftl.recovery", "scan"), ("ftl.merge", "m-merge")]),
        ("cut-pbe", &[("ftl.kind", "pbe"), SPACE, ("ftl.recovery", "scan"), ("power.torn", "mixed")]),
    ];
    for (name, sets) in cases {
        let (file, record) = (temporary(&format!("{name}.img")), temporary(&format!("{name}.csv")));
        let mut options = ServeOptions::new(source("tiny", sets), Address::Unix(temporary(name)));
        options.store = Some(file.clone());
        options.record = Some(record.clone());
        let mut random = RandomStream::new(5, name);
        let mut promises = Promises(vec![0; 1500]);
        let mut last = None;
        // Two sessions: the second one begins with the cuts of the first.
        for session in 0..2 {
            let (server, path) = served(&options);
            for round in 0..6 {
                let mut client = Client::simple(&path).expect("connects");
                promises.check(&mut client, &format!("{name}, session {session}, round {round}"));
                promises.write(&mut client, &mut random, 400);
                let cut = server.answer(&ControlRequest::Cut {}).expect("a cut");
                assert_eq!(cut["cuts"], 6 * session + round + 1);
                assert!(
                    client.send((3, 0), 0, 0, &[]).is_err() || client.receive(0).is_err(),
                    "the connection is lost"
                );
            }
            let config = server.config().clone();
            last = Some((config, server.stop().unwrap_or_else(|error| panic!("{name}: {error}"))));
        }
        let (mut config, served) = last.expect("a session");
        let cuts = served["config"]["power"]["cut_at_s"].as_array().expect("a list");
        config.power.cut_at_s = cuts.iter().map(|at| at.as_f64().expect("a time")).collect();
        assert_eq!(config.power.cut_at_s.len(), 12);
        let replayed = run(&config, 1.0, &mut |_| true).expect("replays");
        assert_eq!(bare(served), bare(replayed.document), "{name}");
        [file, record].iter().for_each(|path| std::fs::remove_file(path).expect("was written"));
    }
}

#[test]
fn s122_a_device_that_recovers_takes_trims_and_they_last_behind_a_flush() {
    for recovery in ["scan", "summary", "checkpoint"] {
        let sets = [PAGE, SPACE, ("ftl.recovery", recovery), ("run.check", "integrity"), ("initial.fill", "0")];
        let (server, path) = start(&format!("trim-{recovery}"), &sets);
        let mut client = Client::structured(&path).expect("connects");
        client.write(0, &[7; 64 << 10]).expect("a write");
        client.trim(0, 32 << 10).expect("a trim");
        client.zero(32 << 10, 16 << 10, false).expect("zeroes");
        let holds = |client: &mut Client| client.status(0, 64 << 10).expect("a status");
        assert_eq!(holds(&mut client), [(48 << 10, false), (16 << 10, true)], "{recovery}");
        client.flush().expect("a flush");
        server.answer(&ControlRequest::Cut {}).expect("a cut");
        let mut client = Client::structured(&path).expect("connects");
        assert_eq!(holds(&mut client), [(48 << 10, false), (16 << 10, true)], "{recovery}, behind the cut");
        assert_eq!(client.read(0, 48 << 10).expect("reads"), vec![0; 48 << 10], "{recovery}");
        assert_eq!(client.read(48 << 10, 16 << 10).expect("reads"), vec![7; 16 << 10], "{recovery}");
        let document = server.stop().expect("ends");
        assert_eq!(document["power"]["broken_promises"], 0, "{recovery}");
        assert_eq!(document["host"]["trim"]["requests"], 2, "{recovery}");
    }
}

#[test]
fn s123_so_does_one_that_keeps_what_is_trimmed_and_promises_nothing_by_a_trim() {
    for kind in ["nftl", "fast", "log-block"] {
        let sets = [("ftl.kind", kind), SPACE, ("ftl.recovery", "scan"), ("run.check", "integrity")];
        let (server, path) = start(&format!("keep-{kind}"), &sets);
        let mut client = Client::structured(&path).expect("connects");
        client.write(0, &[7; 64 << 10]).expect("a write");
        client.trim(0, 32 << 10).expect("a trim");
        client.zero(32 << 10, 16 << 10, false).expect("zeroes");
        client.flush().expect("a flush");
        server.answer(&ControlRequest::Cut {}).expect("a cut");
        let mut client = Client::structured(&path).expect("connects");
        assert_eq!(client.read(0, 32 << 10).expect("reads"), vec![7; 32 << 10], "{kind} keeps it");
        assert_eq!(client.read(32 << 10, 16 << 10).expect("reads"), vec![0; 16 << 10], "{kind}");
        let document = server.stop().expect("ends");
        assert_eq!(document["power"]["broken_promises"], 0, "{kind}");
        assert_eq!(document["host"]["trim"]["requests"], 2, "{kind}");
    }
}

#[test]
fn s115_a_block_whose_erase_fails_by_order_is_used_no_more_and_its_store_remembers() {
    let file = temporary("fault.img");
    let sets = [("ftl.kind", "page"), SPACE, ("partial_erase.unit", "none")];
    let mut options = ServeOptions::new(source("tiny", &sets), Address::Unix(temporary("fault")));
    options.store = Some(file.clone());
    let fault = |server: &Server, block| server.answer(&ControlRequest::Fault { block });
    let (server, path) = served(&options);
    let mut client = Client::simple(&path).expect("connects");
    let span = client.bytes / 6;
    exercise(&mut client, 500, span, "before the fault");
    for block in 0..8 {
        assert_eq!(fault(&server, block).expect("a fault")["block"], block);
    }
    assert!(fault(&server, 3).expect_err("twice").to_string().contains("its next erase fails already"));
    assert!(fault(&server, 256).expect_err("beyond the end").to_string().contains("allowed: 0 to 255"));
    drop(client);
    server.stop().expect("ends");
    // The order outlasts the session. Every block is erased at some time, and these once more at the most.
    let (server, path) = served(&options);
    assert!(fault(&server, 3).is_err(), "ordered in the session before");
    let mut client = Client::simple(&path).expect("connects");
    let whole = client.bytes;
    client.zero(0, u32::try_from(whole).expect("a small device"), false).expect("zeroes, as its shadow has them");
    exercise(&mut client, 12_000, whole, "behind the fault");
    drop(client);
    let ended = server.stop().expect("ends");
    assert_eq!(ended["wear"]["retired_blocks"], 8);
    assert_eq!(ended["integrity"]["lost_pages"], 0);
    let again = Server::start(&options).expect("starts").stop().expect("ends");
    assert_eq!(bare(ended), bare(again), "the store holds another device");
    std::fs::remove_file(file).expect("was written");
}

#[test]
fn s116_a_fault_is_refused_where_nothing_would_remember_it_or_retire_its_block() {
    let unit = ("partial_erase.unit", "none");
    let refusal = |sets: &[(&str, &str)]| {
        let (server, _) = start("fault-refused", sets);
        let text = server.answer(&ControlRequest::Fault { block: 1 }).expect_err("refused").to_string();
        server.stop().expect("ends");
        text
    };
    for (sets, expected) in [
        (&[("ftl.kind", "fast"), unit][..], "ftl.kind"),
        (&[("ftl.kind", "page")], "partial_erase.unit"),
        (&[RECOVERS[0], RECOVERS[1], SPACE, unit], "ftl.recovery"),
    ] {
        let text = refusal(sets);
        assert!(text.contains(expected) && !text.contains('\n'), "{text}");
    }
    let record = temporary("fault.csv");
    let sets = [("ftl.kind", "page"), unit];
    let mut options = ServeOptions::new(source("tiny", &sets), Address::Unix(temporary("fault-recorded")));
    options.record = Some(record.clone());
    let server = Server::start(&options).expect("starts");
    let text = server.answer(&ControlRequest::Fault { block: 1 }).expect_err("refused").to_string();
    assert!(text.contains("--record"), "{text}");
    server.stop().expect("ends");
    std::fs::remove_file(record).expect("was written");
}

#[test]
fn s121_a_device_that_cannot_recover_keeps_its_power() {
    let (server, path) = start("steady-power", &[("ftl.kind", "fast")]);
    let text = server.answer(&ControlRequest::Cut {}).expect_err("no recovery").to_string();
    assert!(text.contains("ftl.recovery = \"scan\""), "{text}");
    Client::simple(&path).expect("connects").write(0, &[1; 512]).expect("goes on");
    server.stop().expect("ends");
}
