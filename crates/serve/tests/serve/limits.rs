//! Clients that take up connections and do nothing with them keep nobody else from the device for long, and nobody from
//! its control socket.

use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::client::{Client, served, source, temporary};
use pumice_serve::{Address, ServeOptions, Server};
use serde_json::Value;

/// A device with a control socket.
fn start(name: &str) -> (Server, PathBuf, PathBuf) {
    let control = temporary(&format!("{name}-control"));
    let mut options = ServeOptions::new(source("tiny", &[("ftl.kind", "page")]), Address::Unix(temporary(name)));
    options.control = Some(Address::Unix(control.clone()));
    let (server, path) = served(&options);
    (server, path, control)
}

/// One question over a connection of its own.
fn ask(control: &Path, question: &str) -> Value {
    let mut out = UnixStream::connect(control).expect("connects");
    out.set_read_timeout(Some(Duration::from_secs(5))).expect("a limit");
    out.write_all(format!("{{\"do\": \"{question}\"}}\n").as_bytes()).expect("asks");
    let mut line = String::new();
    BufReader::new(out).read_line(&mut line).expect("an answer within 5 s");
    serde_json::from_str(&line).expect("JSON")
}

/// 64 idle clients, or half handshakes, were all connections that there were: nobody could ask the device any more, nor
/// end it.
#[test]
fn t948_idle_connections_of_any_kind_keep_nobody_from_the_control_socket() {
    let (server, path, control) = start("crowded");
    let idle: Vec<Client> = (0..40).map(|_| Client::simple(&path).expect("connects")).collect();
    let half: Vec<UnixStream> = (0..60).map(|_| UnixStream::connect(&path).expect("connects")).collect();
    assert_eq!(ask(&control, "status")["ok"], true);
    // Whoever connects there and asks nothing, or half a question, has to go.
    let mut silent: Vec<UnixStream> = (0..100).map(|_| UnixStream::connect(&control).expect("connects")).collect();
    silent.iter_mut().step_by(2).for_each(|one| drop(one.write_all(b"{\"do\": ")));
    assert_eq!(ask(&control, "status")["ok"], true);
    assert_eq!(ask(&control, "stop")["ok"], true);
    assert!(server.is_over());
    drop((idle, half, silent));
    server.stop().expect("ends");
}

/// The limit held for each part of a message: a byte every 8 s kept a connection for ever.
#[test]
fn t949_a_message_of_the_handshake_must_be_whole_within_10_s_however_it_is_sent() {
    let (server, path, _) = start("trickle");
    // Behind the greeting: the client's flags and an option that names an export, or the flags alone.
    let message =
        [&3u32.to_be_bytes()[..], b"IHAVEOPT", &1u32.to_be_bytes(), &200u32.to_be_bytes(), &[b'x'; 200]].concat();
    let begun = Instant::now();
    let ends = std::thread::scope(|scope| {
        let clients = [0, 4, 12, 30].map(|at_once| {
            let (path, message) = (&path, &message);
            scope.spawn(move || {
                let mut out = UnixStream::connect(path).expect("connects");
                out.read_exact(&mut [0; 18]).expect("the greeting");
                out.set_read_timeout(Some(Duration::from_millis(1))).expect("a limit");
                let (first, rest) = message.split_at(at_once);
                out.write_all(first).expect("is taken");
                let is_open = |out: &mut UnixStream| !matches!(out.read(&mut [0; 64]), Ok(0));
                for byte in rest {
                    if out.write_all(&[*byte]).is_err() || !is_open(&mut out) {
                        break;
                    }
                    std::thread::sleep(Duration::from_millis(250));
                }
                begun.elapsed()
            })
        });
        clients.map(|client| client.join().expect("a client"))
    });
    let limit = Duration::from_secs(9)..Duration::from_secs(14);
    assert!(ends.iter().all(|end| limit.contains(end)), "{ends:?}");
    Client::simple(&path).expect("others go on").write(0, &[1; 512]).expect("a write");
    server.stop().expect("ends");
}

/// A control socket on a port took orders out of the body of an HTTP request, which any web page can send.
#[test]
fn s174_the_control_socket_is_no_port() {
    let mut options = ServeOptions::new(source("tiny", &[]), Address::Tcp(0));
    options.control = Some(Address::Tcp(0));
    let text = Server::start(&options).err().expect("refused").to_string();
    assert!(text.contains("--control tcp:127.0.0.1:0") && text.contains("allowed: unix:PATH"), "{text}");
    assert!(!text.contains('\n'), "{text}");
}
