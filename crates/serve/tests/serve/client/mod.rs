//! A client of the tests' own. It speaks the protocol by itself: numbers on the wire are written out here once more,
//! so that a slip in the server's own types shows.
#![allow(dead_code, reason = "each test uses a part of it")]

use std::io::{self, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

use pumice_config::SpecSource;
use pumice_serve::{Address, ServeOptions, Server};
use serde_json::Value;

/// A request's error number.
pub type Errno = u32;

/// A result document without what a wall clock tells, as text.
pub fn bare(mut document: Value) -> String {
    for of_the_clock in ["run", "preset", "warnings"] {
        document.as_object_mut().expect("a document").remove(of_the_clock);
    }
    serde_json::to_string_pretty(&document).expect("JSON")
}

/// Checks that two results are the same; the first line that differs if they are not.
pub fn check_same(found: &str, expected: &str, what: &str) {
    let differs = found.lines().zip(expected.lines()).enumerate().find(|(_, (found, expected))| found != expected);
    assert!(found == expected, "{what}: line and (found, expected): {differs:?}");
}

/// A file of this process in the temporary folder.
#[track_caller]
pub fn temporary(name: &str) -> PathBuf {
    let file = Path::new(std::panic::Location::caller().file()).file_stem().expect("a source file");
    std::env::temp_dir().join(format!("pumice-{}-{}-{name}", std::process::id(), file.display()))
}

/// A spec: a preset, and what differs from it.
pub fn source(preset: &str, sets: &[(&str, &str)]) -> SpecSource {
    let sets = sets.iter().map(|(key, value)| (key.to_string(), value.to_string())).collect();
    SpecSource { preset: Some(preset.into()), sets, ..SpecSource::default() }
}

/// Serves a device on a socket of the file system; returns the socket's path as well.
pub fn served(options: &ServeOptions) -> (Server, PathBuf) {
    let Address::Unix(path) = options.listen.clone() else { panic!("a socket") };
    (Server::start(options).unwrap_or_else(|error| panic!("{}: {error}", path.display())), path)
}

/// A connection in its transmission phase.
pub struct Client {
    pub input: BufReader<UnixStream>,
    pub out: UnixStream,
    pub bytes: u64,
    pub flags: u16,
    cookie: u64,
    structured: bool,
}

fn take<const N: usize>(input: &mut impl Read) -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    input.read_exact(&mut bytes)?;
    Ok(bytes)
}

/// One option's reply: kind and payload.
pub fn option_reply(input: &mut impl Read, option: u32) -> io::Result<(u32, Vec<u8>)> {
    assert_eq!(take(input)?, 0x0003_e889_0455_65a9_u64.to_be_bytes());
    assert_eq!(take(input)?, option.to_be_bytes());
    let kind = u32::from_be_bytes(take(input)?);
    let mut payload = vec![0; u32::from_be_bytes(take(input)?) as usize];
    input.read_exact(&mut payload)?;
    Ok((kind, payload))
}

pub fn send_option(out: &mut impl Write, option: u32, payload: &[u8]) -> io::Result<()> {
    let head = [&b"IHAVEOPT"[..], &option.to_be_bytes(), &(payload.len() as u32).to_be_bytes(), payload].concat();
    out.write_all(&head)
}

/// A connection behind the greeting.
pub fn greet(path: &Path) -> io::Result<(BufReader<UnixStream>, UnixStream)> {
    let mut out = UnixStream::connect(path)?;
    let mut input = BufReader::with_capacity(1 << 18, out.try_clone()?);
    assert_eq!(&take::<16>(&mut input)?, b"NBDMAGICIHAVEOPT");
    assert_eq!(take(&mut input)?, 3u16.to_be_bytes(), "fixed newstyle, no zeroes");
    out.write_all(&3u32.to_be_bytes())?;
    Ok((input, out))
}

impl Client {
    /// Connects with simple replies.
    pub fn simple(path: &Path) -> io::Result<Client> {
        let (input, out) = greet(path)?;
        Client::go(input, out, false)
    }

    /// Connects with structured replies and block status.
    pub fn structured(path: &Path) -> io::Result<Client> {
        let (mut input, mut out) = greet(path)?;
        send_option(&mut out, 8, &[])?;
        assert_eq!(option_reply(&mut input, 8)?, (1, vec![]));
        let query = [&0u32.to_be_bytes()[..], &1u32.to_be_bytes(), &15u32.to_be_bytes(), b"base:allocation"].concat();
        send_option(&mut out, 10, &query)?;
        let (kind, context) = option_reply(&mut input, 10)?;
        assert_eq!((kind, &context[..4]), (4, &[0, 0, 0, 1][..]));
        assert_eq!(option_reply(&mut input, 10)?, (1, vec![]));
        Client::go(input, out, true)
    }

    fn go(mut input: BufReader<UnixStream>, mut out: UnixStream, structured: bool) -> io::Result<Client> {
        send_option(&mut out, 7, &[0; 6])?;
        let (mut bytes, mut flags) = (0, 0);
        loop {
            match option_reply(&mut input, 7)? {
                (3, info) if info[..2] == [0, 0] => {
                    bytes = u64::from_be_bytes(info[2..10].try_into().expect("8 bytes"));
                    flags = u16::from_be_bytes(info[10..].try_into().expect("2 bytes"));
                }
                (3, _) => {}
                (kind, _) => {
                    assert_eq!(kind, 1, "the export is there");
                    break;
                }
            }
        }
        Ok(Client { input, out, bytes, flags, cookie: 0, structured })
    }

    /// Appends a request to a message; returns its cookie.
    pub fn compose(&mut self, message: &mut Vec<u8>, command: (u16, u16), place: (u64, u32)) -> u64 {
        let ((number, flags), (offset, length)) = (command, place);
        self.cookie += 1;
        message.extend(0x2560_9513_u32.to_be_bytes());
        message.extend(flags.to_be_bytes());
        message.extend(number.to_be_bytes());
        message.extend(self.cookie.to_be_bytes());
        message.extend(offset.to_be_bytes());
        message.extend(length.to_be_bytes());
        self.cookie
    }

    /// Sends a request; returns its cookie.
    pub fn send(&mut self, command: (u16, u16), offset: u64, length: u32, data: &[u8]) -> io::Result<u64> {
        let mut message = Vec::new();
        let cookie = self.compose(&mut message, command, (offset, length));
        message.extend(data);
        self.out.write_all(&message)?;
        Ok(cookie)
    }

    /// Receives a reply: its cookie, and its data or its error. `read`: bytes of data of a simple reply.
    pub fn receive(&mut self, read: u32) -> io::Result<(u64, Result<Vec<u8>, Errno>)> {
        let magic = u32::from_be_bytes(take(&mut self.input)?);
        if !self.structured {
            assert_eq!(magic, 0x6744_6698);
            let error = u32::from_be_bytes(take(&mut self.input)?);
            let cookie = u64::from_be_bytes(take(&mut self.input)?);
            let mut data = vec![0; if error == 0 { read as usize } else { 0 }];
            self.input.read_exact(&mut data)?;
            return Ok((cookie, if error == 0 { Ok(data) } else { Err(error) }));
        }
        assert_eq!(magic, 0x668e_33ef);
        assert_eq!(take(&mut self.input)?, [0, 1], "the last chunk");
        let kind = u16::from_be_bytes(take(&mut self.input)?);
        let cookie = u64::from_be_bytes(take(&mut self.input)?);
        let mut payload = vec![0; u32::from_be_bytes(take(&mut self.input)?) as usize];
        self.input.read_exact(&mut payload)?;
        let result = match kind {
            0 => Ok(Vec::new()),
            1 => Ok(payload.split_off(8)),
            5 => Ok(payload.split_off(4)),
            kind => {
                assert_eq!(kind, 0x8001);
                Err(u32::from_be_bytes(payload[..4].try_into().expect("4 bytes")))
            }
        };
        Ok((cookie, result))
    }

    /// A request and its reply.
    pub fn ask(&mut self, command: (u16, u16), offset: u64, length: u32, data: &[u8]) -> Result<Vec<u8>, Errno> {
        let cookie = self.send(command, offset, length, data).expect("connected");
        let read = if command.0 == 0 { length } else { 0 };
        let (answered, result) = self.receive(read).expect("connected");
        assert_eq!(answered, cookie);
        result
    }

    pub fn read(&mut self, offset: u64, length: u32) -> Result<Vec<u8>, Errno> {
        self.ask((0, 0), offset, length, &[])
    }

    /// All bytes of the device.
    pub fn contents(&mut self) -> Vec<u8> {
        let mut all = Vec::with_capacity(self.bytes as usize);
        while (all.len() as u64) < self.bytes {
            let at = all.len() as u64;
            all.extend_from_slice(&self.read(at, (self.bytes - at).min(1 << 20) as u32).expect("reads"));
        }
        all
    }

    pub fn write(&mut self, offset: u64, data: &[u8]) -> Result<(), Errno> {
        self.ask((1, 0), offset, data.len() as u32, data).map(drop)
    }

    pub fn flush(&mut self) -> Result<(), Errno> {
        self.ask((3, 0), 0, 0, &[]).map(drop)
    }

    pub fn trim(&mut self, offset: u64, length: u32) -> Result<(), Errno> {
        self.ask((4, 0), offset, length, &[]).map(drop)
    }

    pub fn zero(&mut self, offset: u64, length: u32, no_hole: bool) -> Result<(), Errno> {
        self.ask((6, if no_hole { 2 } else { 0 }), offset, length, &[]).map(drop)
    }

    /// Lengths of parts, and whether each holds data.
    pub fn status(&mut self, offset: u64, length: u32) -> Result<Vec<(u32, bool)>, Errno> {
        let extents = self.ask((7, 0), offset, length, &[])?;
        let number = |bytes: &[u8]| u32::from_be_bytes(bytes.try_into().expect("4 bytes"));
        Ok(extents.chunks(8).map(|extent| (number(&extent[..4]), number(&extent[4..]) == 0)).collect())
    }
}
