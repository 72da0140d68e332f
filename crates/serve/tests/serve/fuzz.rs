//! Broken messages by the many: none ends the server, and a client beside them is served as if they were not there.
//!
//! `FUZZ_MESSAGES` says how many (20,000 if absent), `FUZZ_SEED` which.
#![allow(clippy::print_stderr, reason = "tells how much was tried")]

use std::io::{Read, Write};
use std::net::Shutdown;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::client::{Client, greet, served, source, temporary};
use crate::messages;
use pumice_serve::protocol::handshake::{ClientOption, MetaQueries, OptionHeader};
use pumice_serve::protocol::transmission::{Command, RequestHeader};
use pumice_serve::{Address, ServeOptions};
use pumice_workload::RandomStream;

/// Broken messages never write below this address: what the steady client holds.
const STEADY: u64 = 1 << 20;

fn number(name: &str, otherwise: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(otherwise)
}

/// A message as it should be.
fn sound(random: &mut RandomStream, in_handshake: bool) -> Vec<u8> {
    if in_handshake {
        let asked = MetaQueries { export: "pumice".into(), queries: vec!["base:allocation".into()] };
        let options = [
            ClientOption::List,
            ClientOption::Info("pumice".into()),
            ClientOption::StructuredReply,
            ClientOption::ListMeta(asked.clone()),
            ClientOption::SetMeta(asked),
            ClientOption::Unknown(random.bits() as u32),
        ];
        return messages::option(&options[random.below(options.len() as u64) as usize]);
    }
    let commands =
        [Command::Read, Command::Write, Command::Flush, Command::Trim, Command::WriteZeroes, Command::BlockStatus];
    let command = commands[random.below(commands.len() as u64) as usize];
    let (offset, length) = (STEADY + random.below(256) * 4096, (1 + random.below(16) as u32) * 512);
    let header = RequestHeader { command: Ok(command), cookie: random.bits(), offset, length, flags: 0 };
    let mut message = messages::request(&header).to_vec();
    if command == Command::Write {
        message.resize(message.len() + length as usize, 7);
    }
    message
}

/// Breaks a message: bits and bytes change, parts go or come twice.
fn break_it(random: &mut RandomStream, message: &mut Vec<u8>) {
    for _ in 0..1 + random.below(3) {
        let at = random.below(message.len() as u64) as usize;
        match random.below(6) {
            0 => message[at] ^= 1 << random.below(8),
            1 => message[at] = [0, 1, 0x7f, 0x80, 0xff][random.below(5) as usize],
            2 => {
                let end = (at + 4).min(message.len());
                message[at..end].copy_from_slice(&random.bits().to_be_bytes()[..end - at]);
            }
            3 => message.truncate(at.max(1)),
            4 => message.insert(at, random.bits() as u8),
            _ => {
                let again = message[at..].to_vec();
                message.extend(again);
            }
        }
    }
}

/// Whether a broken message is a sound one for what the steady client holds.
fn is_for_steady(message: &[u8]) -> bool {
    let Some(Ok(header)) = message.first_chunk().map(RequestHeader::decode) else { return false };
    header.offset < STEADY && matches!(header.command, Ok(Command::Write | Command::Trim | Command::WriteZeroes))
}

/// Sends broken messages on one connection until it ends or has had its share. Returns how many went out.
fn one_connection(path: &Path, random: &mut RandomStream, share: u64) -> u64 {
    let in_handshake = random.below(4) == 0;
    let (input, mut out) = if in_handshake {
        greet(path).expect("greets")
    } else {
        let connect = if random.below(2) == 0 { Client::simple } else { Client::structured };
        let client = connect(path).expect("connects");
        (client.input, client.out)
    };
    // What comes back is thrown away, so that the server can go on.
    let drain = std::thread::spawn(move || drop(std::io::copy(&mut { input }, &mut std::io::sink())));
    let mut sent = 0;
    while sent < share {
        let mut message = sound(random, in_handshake);
        break_it(random, &mut message);
        if is_for_steady(&message) {
            continue;
        }
        sent += 1;
        if out.write_all(&message).is_err() {
            break;
        }
    }
    let _ = out.shutdown(Shutdown::Write);
    drain.join().expect("throws away");
    sent
}

#[test]
fn s200_no_broken_message_ends_the_server_or_disturbs_another_client() {
    let (messages, seed) = (number("FUZZ_MESSAGES", 20_000), number("FUZZ_SEED", 1));
    let source = source("tiny", &[("ftl.kind", "page"), ("run.check", "integrity")]);
    let (server, path) = served(&ServeOptions::new(source, Address::Unix(temporary("fuzz"))));
    let ended = AtomicBool::new(false);
    let rounds = std::thread::scope(|scope| {
        let steady = scope.spawn(|| {
            let mut client = Client::structured(&path).expect("connects");
            let mut random = RandomStream::new(seed, "steady");
            let mut rounds = 0u64;
            while !ended.load(Ordering::Relaxed) {
                let (offset, fill) = (random.below(STEADY / 4096) * 4096, random.bits() as u8);
                client.write(offset, &[fill; 4096]).expect("is served");
                assert!(client.read(offset, 4096).expect("is served") == [fill; 4096], "round {rounds}");
                rounds += 1;
            }
            rounds
        });
        let mut random = RandomStream::new(seed, "fuzz");
        let (mut sent, mut connections) = (0, 0);
        while sent < messages {
            sent += one_connection(&path, &mut random, (messages - sent).min(200));
            connections += 1;
        }
        ended.store(true, Ordering::Relaxed);
        let rounds = steady.join().expect("the steady client");
        eprintln!("{sent} broken messages on {connections} connections beside {rounds} rounds of a steady client");
        rounds
    });
    assert!(rounds > 10 && !server.is_over());
    let document = server.stop().expect("ends");
    assert_eq!(document["integrity"]["lost_pages"], 0);
}

#[test]
fn s201_no_bytes_make_the_decoders_panic() {
    let mut random = RandomStream::new(number("FUZZ_SEED", 1), "decoders");
    let mut understood = 0;
    for _ in 0..number("FUZZ_MESSAGES", 20_000) {
        let mut option = sound(&mut random, true);
        break_it(&mut random, &mut option);
        if let Some((head, payload)) = option.split_first_chunk()
            && let Ok(header) = OptionHeader::decode(head)
            && let Ok(decoded) = ClientOption::decode(header.number, payload)
        {
            // An option that is understood encodes to bytes that mean the same.
            let encoded = messages::option(&decoded);
            let (head, payload) = encoded.split_first_chunk().expect("a header");
            let number = OptionHeader::decode(head).expect("an option").number;
            assert_eq!(ClientOption::decode(number, payload), Ok(decoded));
            understood += 1;
        }
        let mut request = sound(&mut random, false);
        break_it(&mut random, &mut request);
        if let Some(Ok(header)) = request.first_chunk().map(RequestHeader::decode) {
            assert_eq!(Some(&messages::request(&header)), request.first_chunk());
        }
    }
    assert!(understood > 100, "{understood}: some broken options are options still");
}

/// A client that only connects, over and over, and one that sends half a message and waits.
#[test]
fn s202_connections_that_end_at_once_leave_nothing_behind() {
    let (server, path) = served(&ServeOptions::new(source("tiny", &[]), Address::Unix(temporary("idle"))));
    for _ in 0..500 {
        drop(std::os::unix::net::UnixStream::connect(&path).expect("connects"));
    }
    // There is room again as soon as the server has noticed that those have gone.
    let (_, mut half) = (0..500)
        .find_map(|_| {
            std::thread::sleep(std::time::Duration::from_millis(10));
            greet(&path).ok()
        })
        .expect("greets");
    half.write_all(b"IHAVE").expect("sends");
    let mut client = Client::simple(&path).expect("connects");
    client.write(0, &[1; 512]).expect("is served");
    server.stop().expect("ends, though a client has not");
    assert_eq!(half.read(&mut [0]).unwrap_or(0), 0);
}
