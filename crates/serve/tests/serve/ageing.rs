//! Ageing of a served device: the state is that of a device whose spec asks for it, and data stays.

use std::path::{Path, PathBuf};

use crate::client::{Client, bare, check_same, served, source, temporary};
use pumice_ftl::FtlKind;
use pumice_serve::{Address, ControlRequest, ServeOptions, Server};
use pumice_types::Choice;
use pumice_workload::RandomStream;
use serde_json::{Value, json};

const PAGE: (&str, &str) = ("ftl.kind", "page");

/// Room for what a layer keeps for itself.
const SPACE: (&str, &str) = ("ftl.over_provisioning", "0.25");

const AERO: (&str, &str) = ("erase.scheme", "aero");

/// Sets of keys.
type Sets<'a> = &'a [(&'a str, &'a str)];

fn start(name: &str, sets: Sets) -> (Server, PathBuf) {
    served(&ServeOptions::new(source("tiny", sets), Address::Unix(temporary(name))))
}

fn age(server: &Server, pec: u32, writes: f64) -> Result<Value, String> {
    server.answer(&ControlRequest::Age { pec, writes }).map_err(|error| error.to_string())
}

/// Random writes of sectors, with flushes and trims; what the device then holds.
fn use_device(path: &Path, name: &str, requests: u32) -> Vec<u8> {
    let mut client = Client::simple(path).expect("connects");
    let mut random = RandomStream::new(9, name);
    for _ in 0..requests {
        let (offset, sectors) = (random.below(client.bytes / 6 / 512) * 512, 1 + random.below(40) as usize);
        match random.below(10) {
            0..=7 => client.write(offset, &vec![random.bits() as u8; sectors * 512]).expect("a write"),
            8 => client.trim(offset, sectors as u32 * 512).expect("a trim"),
            _ => client.flush().expect("a flush"),
        }
    }
    client.contents()
}

/// A result without the configuration, and without the layer's estimate of its own erases.
fn measured(server: Server) -> String {
    let mut document = server.stop().expect("ends");
    for key in ["config", "config_sha256"] {
        document.as_object_mut().expect("a document").remove(key);
    }
    bare(document)
}

#[test]
fn s160_a_new_device_is_aged_to_what_its_spec_would_have_made_of_it() {
    for &kind in FtlKind::ALL {
        let kind = ("ftl.kind", kind.name());
        check_as_by_the_spec(&[kind], &[kind, ("initial.age_writes", "0.6")], (0, 0.6));
    }
    let page: Sets = &[PAGE, SPACE, AERO, ("host.write_buffer_kib", "64")];
    check_as_by_the_spec(page, &[page, &[("initial.age_writes", "0.5")]].concat(), (0, 0.5));
    for scheme in ["aero", "i-ispe", "ispe"] {
        let scheme = ("erase.scheme", scheme);
        check_as_by_the_spec(&[PAGE, scheme], &[PAGE, scheme, ("erase.initial_pec", "2500")], (2500, 0.0));
    }
    let both = [PAGE, AERO, ("erase.initial_pec", "1500"), ("initial.age_writes", "0.5")];
    check_as_by_the_spec(&[PAGE, AERO], &both, (1500, 0.5));
    let learned = [PAGE, AERO, ("erase.initial_pec", "1500"), ("erase.initial_memory", "learned")];
    let partly = [PAGE, AERO, ("erase.initial_pec", "1000"), ("erase.initial_memory", "learned")];
    check_as_by_the_spec(&partly, &learned, (500, 0.0));
    let failing = [PAGE, SPACE, ("partial_erase.unit", "none"), ("erase.scheme", "ispe"), ("erase.max_loops", "3")];
    check_as_by_the_spec(&failing, &[&failing[..], &[("erase.initial_pec", "2500")]].concat(), (2500, 0.0));
}

fn check_as_by_the_spec(sets: Sets, by_spec: Sets, (pec, writes): (u32, f64)) {
    let (expected, path) = start("by-spec", by_spec);
    let bytes = use_device(&path, "behind", 700);
    let expected = measured(expected);
    let (server, path) = start("by-order", sets);
    let told = age(&server, pec, writes).expect("ages");
    assert_eq!((&told["pec"], &told["writes"]), (&json!(pec), &json!(writes)));
    assert!(use_device(&path, "behind", 700) == bytes, "{by_spec:?}: other bytes");
    check_same(&measured(server), &expected, &format!("{by_spec:?}"));
}

#[test]
fn s161_what_a_device_holds_outlasts_ageing_a_power_cut_and_the_session() {
    let cases: &[(&str, Sets)] = &[
        ("page", &[PAGE, SPACE, AERO, ("run.check", "integrity")]),
        ("buffer", &[PAGE, SPACE, AERO, ("host.write_buffer_kib", "64"), ("host.flush", "lru")]),
        ("scan", &[PAGE, SPACE, AERO, ("ftl.recovery", "scan"), ("run.check", "integrity")]),
        (
            "checkpoint",
            &[
                PAGE,
                SPACE,
                AERO,
                ("ftl.recovery", "checkpoint"),
                ("run.check", "integrity"),
                ("host.write_buffer_kib", "64"),
                ("host.flush", "lru"),
            ],
        ),
        ("fast", &[("ftl.kind", "fast"), AERO]),
        ("m-merge", &[("ftl.merge", "m-merge"), AERO]),
    ];
    for (what, sets) in cases {
        check_what_outlasts(what, sets);
    }
}

fn check_what_outlasts(what: &str, sets: Sets) {
    let recovers = sets.iter().any(|(key, _)| *key == "ftl.recovery");
    let file = temporary(&format!("aged-{what}.img"));
    let mut options = ServeOptions::new(source("tiny", sets), Address::Unix(temporary(what)));
    options.store = Some(file.clone());
    let (server, path) = served(&options);
    let expected = use_device(&path, what, 1_500);
    age(&server, 300, 1.2).expect("ages");
    let so_far = server.answer(&ControlRequest::Result {}).expect("a result");
    assert_eq!(so_far["host"]["write"]["requests"], 0, "{what}: measuring starts anew");
    assert!(so_far["erase"]["mean_pec"].as_f64().is_none_or(|pec| pec >= 300.0), "{what}");
    let holds = || Client::simple(&path).expect("connects").contents();
    assert!(holds() == expected, "{what}: ageing changed what the device holds");
    if recovers {
        server.answer(&ControlRequest::Cut {}).expect("a cut");
        assert!(holds() == expected, "{what}: a cut behind it did");
    }
    let expected = use_device(&path, "behind", 700);
    age(&server, 0, 0.3).expect("ages again");
    assert!(holds() == expected, "{what}: the second time");
    let ended = server.stop().unwrap_or_else(|error| panic!("{what}: {error}"));
    assert_eq!(ended["integrity"]["lost_pages"].as_u64().unwrap_or(0), 0, "{what}");
    assert_eq!(ended["power"]["broken_promises"].as_u64().unwrap_or(0), 0, "{what}");
    let (again, path) = served(&options);
    assert!(Client::simple(&path).expect("connects").contents() == expected, "{what}: the next session");
    drop(again.stop().expect("ends"));
    std::fs::remove_file(file).expect("was written");
}

#[test]
fn s162_the_store_of_an_aged_device_opens_as_that_device() {
    let sets = [PAGE, SPACE, AERO];
    let file = temporary("aged.img");
    let mut options = ServeOptions::new(source("tiny", &sets), Address::Unix(temporary("aged")));
    options.store = Some(file.clone());
    let (server, path) = served(&options);
    use_device(&path, "before", 500);
    age(&server, 100, 0.7).expect("ages");
    use_device(&path, "behind", 500);
    let ended = bare(server.stop().expect("ends"));
    let again = Server::start(&options).expect("starts").stop().expect("ends");
    check_same(&bare(again), &ended, "the next session");
    std::fs::remove_file(file).expect("was written");
}

#[test]
fn s163_a_snapshot_before_ageing_is_the_device_before_it() {
    let sets = [PAGE, SPACE, AERO];
    let (straight, path) = start("young", &sets);
    let bytes = use_device(&path, "before", 600);
    let expected = bare(straight.stop().expect("ends"));
    let (server, path) = start("young-again", &sets);
    assert!(use_device(&path, "before", 600) == bytes);
    server.answer(&ControlRequest::Snapshot { name: "young".into() }).expect("is kept");
    let first = age(&server, 1000, 1.0).expect("ages");
    let restore = ControlRequest::Restore { name: "young".into() };
    server.answer(&restore).expect("goes back");
    assert_eq!(age(&server, 1000, 1.0).expect("ages"), first, "the same writes");
    server.answer(&restore).expect("goes back");
    check_same(&bare(server.stop().expect("ends")), &expected, "young again");
}

#[test]
fn s164_ageing_that_cannot_be_is_refused_in_one_line() {
    let refusal = |options: &ServeOptions, (pec, writes): (u32, f64), expected: &str| {
        let server = Server::start(options).expect("starts");
        let text = age(&server, pec, writes).expect_err("refused");
        assert!(text.contains(expected) && !text.contains('\n'), "{text}");
        server.stop().expect("ends");
    };
    let of = |sets: Sets| ServeOptions::new(source("tiny", sets), Address::Tcp(0));
    refusal(&of(&[PAGE]), (100, 0.0), "erase.scheme");
    refusal(&of(&[PAGE, AERO]), (70_000, 0.0), "65535 P/E cycles more");
    refusal(&of(&[PAGE, ("erase.scheme", "dpes")]), (2500, 0.0), "program time");
    refusal(&of(&[PAGE, AERO]), (0, 0.0), "age nothing");
    refusal(&of(&[PAGE]), (0, -1.0), "allowed: 0 to 10");
    refusal(&of(&[PAGE]), (0, f64::NAN), "allowed: 0 to 10");
    refusal(&of(&[PAGE, ("host.write_buffer_kib", "64"), ("host.flush", "ignored")]), (0, 1.0), "host.flush");
    let record = temporary("aged.csv");
    let recorded = ServeOptions { record: Some(record.clone()), ..of(&[PAGE]) };
    refusal(&recorded, (0, 1.0), "--record");
    std::fs::remove_file(record).expect("was written");
}
