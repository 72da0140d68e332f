//! Snapshots: a device that goes back to one is the device that never went on, to the last byte and counter.

use std::path::{Path, PathBuf};

use crate::client::{Client, bare, check_same, served, source, temporary};
use pumice_ftl::FtlKind;
use pumice_serve::{Address, ControlRequest, ServeClock, ServeOptions, Server};
use pumice_types::Choice;
use pumice_workload::RandomStream;
use serde_json::{Value, json};

const SECTOR: u64 = 512;

const PAGE: (&str, &str) = ("ftl.kind", "page");

/// Room for what a layer keeps for itself.
const SPACE: (&str, &str) = ("ftl.over_provisioning", "0.25");

/// Sets of keys.
type Sets<'a> = &'a [(&'a str, &'a str)];

/// What happens to a device apart from requests.
#[derive(Clone, Copy, PartialEq)]
enum Order {
    Nothing,
    Cut,
    Fault,
}

fn ask(server: &Server, request: &ControlRequest) -> Value {
    server.answer(request).unwrap_or_else(|why| panic!("{request:?}: {why}"))
}

fn snapshot(name: &str) -> ControlRequest {
    ControlRequest::Snapshot { name: name.into() }
}

fn restore(name: &str) -> ControlRequest {
    ControlRequest::Restore { name: name.into() }
}

/// Random requests over a part of the device, the same ones for the same name.
fn use_device(path: &Path, name: &str, requests: u32) {
    let mut client = Client::simple(path).expect("connects");
    let mut random = RandomStream::new(9, name);
    for _ in 0..requests {
        let offset = random.below(client.bytes / 6 / SECTOR) * SECTOR;
        let length = (1 + random.below(40)) * SECTOR;
        match random.below(10) {
            0..=6 => {
                let data = vec![random.bits() as u8; length as usize];
                client.write(offset, &data).expect("a write");
            }
            7 => client.trim(offset, length as u32).expect("a trim"),
            8 => drop(client.read(offset, length as u32).expect("a read")),
            _ => client.flush().expect("a flush"),
        }
    }
}

/// All bytes of the device.
fn contents(path: &Path) -> Vec<u8> {
    Client::simple(path).expect("connects").contents()
}

fn suffer(server: &Server, order: Order, block: u32) {
    match order {
        Order::Nothing => {}
        Order::Cut => drop(ask(server, &ControlRequest::Cut {})),
        Order::Fault => drop(ask(server, &ControlRequest::Fault { block })),
    }
}

/// A device, its socket, and its store's file if it has one.
fn start(name: &str, sets: Sets, is_stored: bool) -> (Server, PathBuf, ServeOptions) {
    let mut options = ServeOptions::new(source("tiny", sets), Address::Unix(temporary(name)));
    options.store = is_stored.then(|| temporary(&format!("{name}.img")));
    let (server, path) = served(&options);
    (server, path, options)
}

/// What a device holds, and its result.
fn end(server: Server, path: &Path, what: &str) -> (Vec<u8>, String) {
    let bytes = contents(path);
    (bytes, bare(server.stop().unwrap_or_else(|error| panic!("{what}: {error}"))))
}

/// A device that was led astray twice and went back each time is one that never was.
fn check_going_back(what: &str, sets: Sets, order: Order, is_stored: bool) {
    let name = what.replace(' ', "-");
    let (straight, path, _) = start(&format!("straight-{name}"), sets, false);
    use_device(&path, "before", 700);
    suffer(&straight, order, 3);
    use_device(&path, "between", 700);
    use_device(&path, "behind", 1_500);
    let expected = end(straight, &path, what);

    let (server, path, options) = start(&format!("back-{name}"), sets, is_stored);
    use_device(&path, "before", 700);
    suffer(&server, order, 3);
    use_device(&path, "between", 700);
    let kept = ask(&server, &snapshot("here"));
    for astray in ["astray", "astray again"] {
        use_device(&path, astray, 900);
        suffer(&server, order, 4);
        use_device(&path, astray, 200);
        assert_eq!(ask(&server, &restore("here")), kept, "{what}");
    }
    use_device(&path, "behind", 1_500);
    let found = end(server, &path, what);
    assert!(found.0 == expected.0, "{what}: other bytes");
    check_same(&found.1, &expected.1, what);
    if let Some(file) = &options.store {
        // What went astray is not in the file either.
        let (again, path) = served(&options);
        assert!(contents(&path) == expected.0, "{what}: other bytes in the next session");
        again.stop().expect("ends");
        std::fs::remove_file(file).expect("was written");
    }
}

#[test]
fn s150_a_device_that_goes_back_is_the_one_that_never_went_on() {
    for &kind in FtlKind::ALL {
        check_going_back(kind.name(), &[("ftl.kind", kind.name())], Order::Nothing, false);
    }
    let cases: &[(&str, Sets)] = &[
        ("eager buffer", &[PAGE, ("host.write_buffer_kib", "64")]),
        ("lru buffer", &[("host.write_buffer_kib", "128"), ("host.flush", "lru"), ("ftl.merge", "m-merge")]),
        ("cached map", &[PAGE, SPACE, ("ftl.map_place", "cached"), ("ftl.map_cache_entries", "512")]),
        ("background", &[PAGE, SPACE, ("ftl.gc_mode", "background"), ("run.check", "integrity")]),
        ("aero", &[PAGE, ("erase.scheme", "aero"), ("erase.initial_pec", "1000")]),
        ("link", &[PAGE, ("host.link_mb_per_s", "200"), ("output.time_series_s", "1")]),
    ];
    for (what, sets) in cases {
        check_going_back(what, sets, Order::Nothing, false);
    }
}

#[test]
fn s151_so_it_is_with_power_cuts_and_faults_before_and_behind() {
    let cases: &[(&str, Sets, Order)] = &[
        ("cut", &[PAGE, SPACE, ("ftl.recovery", "scan")], Order::Cut),
        ("cut, checkpoint", &[PAGE, SPACE, ("ftl.recovery", "checkpoint"), ("run.check", "integrity")], Order::Cut),
        (
            "cut, torn",
            &[("ftl.kind", "pbe"), SPACE, ("ftl.recovery", "scan"), ("power.torn", "drawn"), ("erase.scheme", "aero")],
            Order::Cut,
        ),
        (
            "cut, shorn",
            &[
                PAGE,
                SPACE,
                ("ftl.recovery", "scan"),
                ("power.failure", "shorn-writes"),
                ("host.write_buffer_kib", "64"),
                ("host.flush", "lru"),
            ],
            Order::Cut,
        ),
        ("fault", &[PAGE, SPACE, ("partial_erase.unit", "none")], Order::Fault),
    ];
    for (what, sets, order) in cases {
        check_going_back(what, sets, *order, false);
    }
}

#[test]
fn s152_so_it_is_with_a_device_in_a_file() {
    check_going_back("store", &[PAGE, ("host.write_buffer_kib", "64")], Order::Nothing, true);
    check_going_back("store, cut", &[PAGE, SPACE, ("ftl.recovery", "checkpoint")], Order::Cut, true);
    check_going_back("store, fault", &[PAGE, SPACE, ("partial_erase.unit", "none")], Order::Fault, true);
}

#[test]
fn s153_clients_lose_their_connections_when_the_device_goes_back_and_not_when_it_is_kept() {
    let (server, path, _) = start("parting", &[PAGE], false);
    let mut client = Client::simple(&path).expect("connects");
    client.write(0, &[1; 4096]).expect("a write");
    let kept = ask(&server, &snapshot("one.of-them"));
    assert_eq!((&kept["name"], &kept["requests"]), (&json!("one.of-them"), &json!(1)));
    client.write(0, &[2; 4096]).expect("the connection lives");
    ask(&server, &snapshot("another"));
    ask(&server, &restore("one.of-them"));
    assert!(client.send((3, 0), 0, 0, &[]).is_err() || client.receive(0).is_err(), "the connection is lost");
    assert_eq!(Client::simple(&path).expect("connects").read(0, 4096).expect("reads"), [1; 4096]);
    // A later snapshot stays, and the device can go there.
    let names = |server: &Server| -> Vec<Value> {
        let status = ask(server, &ControlRequest::Status {});
        status["snapshots"].as_array().expect("a list").iter().map(|kept| kept["name"].clone()).collect()
    };
    assert_eq!(names(&server), ["another", "one.of-them"]);
    ask(&server, &restore("another"));
    assert_eq!(Client::simple(&path).expect("connects").read(0, 4096).expect("reads"), [2; 4096]);
    ask(&server, &ControlRequest::Forget { name: "another".into() });
    assert_eq!(names(&server), ["one.of-them"]);
    server.stop().expect("ends");
}

#[test]
fn s154_what_cannot_be_kept_or_is_not_there_is_refused_in_one_line() {
    let refusal = |server: &Server, request: &ControlRequest, expected: &str| {
        let text = server.answer(request).expect_err("refused").to_string();
        assert!(text.contains(expected) && !text.contains('\n'), "{request:?}: {text}");
    };
    let (server, _, _) = start("refused", &[PAGE], false);
    refusal(&server, &restore("gone"), "no snapshot of the name \"gone\"; there is none");
    for nth in 0..16 {
        ask(&server, &snapshot(&format!("n{nth}")));
    }
    refusal(&server, &snapshot("n3"), "there is one of the name \"n3\"");
    refusal(&server, &snapshot("one-more"), "forget one");
    refusal(&server, &restore("gone"), "there are: n0, n1, n10");
    refusal(&server, &ControlRequest::Forget { name: "gone".into() }, "forget: no snapshot");
    for name in ["", "a b", "../x", "ä", &"x".repeat(65)] {
        refusal(&server, &snapshot(name), "is not allowed; allowed: 1 to 64 of");
    }
    server.stop().expect("ends");

    let file = temporary("refused-file");
    let refused = |change: &dyn Fn(&mut ServeOptions), expected: &str| {
        let mut options = ServeOptions::new(source("tiny", &[PAGE]), Address::Tcp(0));
        change(&mut options);
        let server = Server::start(&options).expect("starts");
        refusal(&server, &snapshot("x"), expected);
        server.stop().expect("ends");
    };
    refused(&|options| options.record = Some(file.clone()), "--record");
    refused(&|options| options.recording = Some(file.clone()), "--session");
    refused(&|options| options.clock = ServeClock::Real, "--clock virtual");
    std::fs::remove_file(file).expect("was written");
}

#[test]
fn s155_a_drive_whose_power_cut_was_its_last_lives_again_where_it_was_kept() {
    let failing = ("power.failure", "dead-device");
    let (server, path, _) = start("dead", &[PAGE, SPACE, ("ftl.recovery", "scan"), failing], false);
    use_device(&path, "before", 200);
    let alive = contents(&path);
    ask(&server, &snapshot("alive"));
    let died = (0..100).any(|_| ask(&server, &ControlRequest::Cut {})["is_dead"] == true);
    assert!(died, "one cut in four is the last");
    assert!(Client::simple(&path).expect("connects").read(0, 512).is_err());
    let text = server.answer(&ControlRequest::Age { pec: 0, writes: 1.0 }).expect_err("is dead").to_string();
    assert!(text.contains("answers nothing any more"), "{text}");
    ask(&server, &restore("alive"));
    assert!(contents(&path) == alive);
    server.stop().expect("ends");
}
