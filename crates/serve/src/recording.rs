//! A recording: everything that clients asked of a device in a session, with the data of writes, so that the session
//! can be had again without the program that made it.
//!
//! A line that names the format, a line of JSON, and then, compressed, 24 bytes a request with the data of each write
//! behind them. Marks, which a program sets while it runs, lie between the requests. What is recorded is what a client
//! asked for, not what this device made of it: a layer that gives up what is trimmed makes a trim of zeroes, another one
//! has to write them.

use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, Read, Write};
use std::path::{Path, PathBuf};

use pumice_types::{HostRequest, RequestKind, Time};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::journal::{self, DeviceEvent, ENTRY_BYTES};
use crate::operation::{ClientOperation, Place, request};

/// Name and version of the format.
const FORMAT: &str = "pumice.recording/1";

/// Longest first lines, in bytes.
const LINES_MAX: u64 = 1 << 24;

/// First byte of a read, write, flush or trim.
const REQUEST: u8 = 0;

/// First byte of a mark.
const MARK: u8 = 1;

/// Last byte: the recording is whole.
const END: u8 = 2;

/// First byte of an order to let a place read as zeroes. Its entry is that of a write, without data.
const ZEROES: u8 = 3;

/// First byte of an order to store zeroes, likewise.
const STORED_ZEROES: u8 = 4;

/// Longest mark, in bytes.
const MARK_MAX: usize = 4096;

/// Level of the compression: the fastest.
const LEVEL: i32 = 1;

/// What a recording says of itself.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RecordingHeader {
    /// Bytes of the device that it was made on.
    pub capacity_bytes: u64,
    /// The spec of that device, as it was asked for.
    pub spec: Value,
}

/// A recording that is being written.
pub struct RecordingWriter {
    path: PathBuf,
    out: zstd::stream::write::Encoder<'static, BufWriter<File>>,
}

impl RecordingWriter {
    /// Begins a recording.
    ///
    /// # Errors
    /// A file that cannot be written, in one line.
    pub fn create(path: &Path, header: &RecordingHeader) -> Result<RecordingWriter, String> {
        let begun = || -> io::Result<_> {
            let mut out = BufWriter::new(File::create(path)?);
            writeln!(out, "{FORMAT}\n{}", serde_json::to_string(header)?)?;
            zstd::stream::write::Encoder::new(out, LEVEL)
        };
        let out = begun().map_err(|error| format!("{}: {error}", path.display()))?;
        Ok(RecordingWriter { path: path.to_owned(), out })
    }

    /// Adds what a client asks for at this time of the device's clock. Questions about its state are left out.
    ///
    /// # Errors
    /// A file that cannot be written, in one line.
    pub fn add(&mut self, operation: &ClientOperation, at: Time) -> Result<(), String> {
        let place = Place { offset: 0, bytes: 0 };
        let (first, kind, place, fua, data) = match operation {
            ClientOperation::Read(place) => (REQUEST, RequestKind::Read, *place, false, &[][..]),
            ClientOperation::Write { place, data, fua } => (REQUEST, RequestKind::Write, *place, *fua, &data[..]),
            ClientOperation::Flush => (REQUEST, RequestKind::Flush, place, false, &[][..]),
            ClientOperation::Trim { place, fua } => (REQUEST, RequestKind::Trim, *place, *fua, &[][..]),
            ClientOperation::WriteZeroes { place, stored, fua } => {
                (if *stored { STORED_ZEROES } else { ZEROES }, RequestKind::Write, *place, *fua, &[][..])
            }
            ClientOperation::Status { .. } => return Ok(()),
        };
        let asked = HostRequest { arrival: at, ..request(kind, place, fua) };
        self.write(&[&[first], &journal::encode(&DeviceEvent::Request(asked)), data])
    }

    /// Adds a mark.
    ///
    /// # Errors
    /// A mark that is too long, or a file that cannot be written, in one line.
    pub fn mark(&mut self, text: &str) -> Result<(), String> {
        if text.len() > MARK_MAX {
            return Err(format!("a mark of {} bytes; allowed: up to {MARK_MAX}", text.len()));
        }
        self.write(&[&[MARK], &(text.len() as u16).to_le_bytes(), text.as_bytes()])
    }

    fn write(&mut self, parts: &[&[u8]]) -> Result<(), String> {
        let written = parts.iter().try_for_each(|part| self.out.write_all(part));
        written.map_err(|error| format!("{}: {error}", self.path.display()))
    }

    /// Ends the recording.
    ///
    /// # Errors
    /// A file that cannot be written, in one line.
    pub fn finish(mut self) -> Result<(), String> {
        self.write(&[&[END]])?;
        let failed = |error: io::Error| format!("{}: {error}", self.path.display());
        let mut out = self.out.finish().map_err(failed)?;
        out.flush().map_err(failed)
    }
}

/// What clients asked for in a session.
#[derive(Debug, Default)]
pub struct RecordedSession {
    /// In this order, one after the other.
    pub operations: Vec<ClientOperation>,
    /// Marks, each with the number of operations before it.
    pub marks: Vec<(usize, String)>,
}

impl RecordedSession {
    /// Reads what a recording says of itself.
    ///
    /// # Errors
    /// A file that is no recording, in one line.
    pub fn header(path: &Path) -> Result<RecordingHeader, String> {
        Ok(open(path)?.0)
    }

    /// Reads a recording.
    ///
    /// # Errors
    /// A file that is no recording, or not a whole one, in one line.
    pub fn read(path: &Path) -> Result<RecordedSession, String> {
        let refuse = |what: String| format!("{}: {what}", path.display());
        let (header, input) = open(path)?;
        let mut input =
            BufReader::new(zstd::stream::read::Decoder::new(input).map_err(|error| refuse(error.to_string()))?);
        let mut session = RecordedSession::default();
        loop {
            match session.read_next(&mut input) {
                Ok(true) => {}
                Ok(false) => break,
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                    return Err(refuse("ends in the middle; the session that it is of did not end well".into()));
                }
                Err(error) => return Err(refuse(error.to_string())),
            }
        }
        match session.operations.iter().position(|operation| operation.end() > header.capacity_bytes) {
            Some(nth) => Err(refuse(format!("request {} lies beyond its device", nth + 1))),
            None => Ok(session),
        }
    }

    /// Reads the next entry; `false` at the end.
    fn read_next(&mut self, input: &mut impl Read) -> io::Result<bool> {
        let damaged = || io::Error::new(io::ErrorKind::InvalidData, "is damaged");
        let mut kind = [0];
        input.read_exact(&mut kind)?;
        match kind[0] {
            REQUEST | ZEROES | STORED_ZEROES => {
                let mut entry = [0; ENTRY_BYTES];
                input.read_exact(&mut entry)?;
                let Some(DeviceEvent::Request(asked)) = journal::decode(&entry) else { return Err(damaged()) };
                self.operations.push(operation(kind[0], &asked, input)?.ok_or_else(damaged)?);
                Ok(true)
            }
            MARK => {
                let mut length = [0; 2];
                input.read_exact(&mut length)?;
                let mut text = vec![0; usize::from(u16::from_le_bytes(length))];
                input.read_exact(&mut text)?;
                self.marks.push((self.operations.len(), String::from_utf8(text).map_err(|_| damaged())?));
                Ok(true)
            }
            END => Ok(false),
            _ => Err(damaged()),
        }
    }
}

/// The operation of an entry that begins with the byte `first`; the data of a write is read. `None`: it is none.
fn operation(first: u8, asked: &HostRequest, input: &mut impl Read) -> io::Result<Option<ClientOperation>> {
    let (place, fua) = (Place { offset: asked.offset_bytes, bytes: asked.bytes }, asked.fua);
    Ok(Some(match (first, asked.kind) {
        (REQUEST, RequestKind::Read) => ClientOperation::Read(place),
        (REQUEST, RequestKind::Write) => {
            let mut data = vec![0; place.bytes as usize];
            input.read_exact(&mut data)?;
            ClientOperation::Write { place, data, fua }
        }
        (REQUEST, RequestKind::Flush) => ClientOperation::Flush,
        (REQUEST, RequestKind::Trim) => ClientOperation::Trim { place, fua },
        (ZEROES, RequestKind::Write) => ClientOperation::WriteZeroes { place, stored: false, fua },
        (STORED_ZEROES, RequestKind::Write) => ClientOperation::WriteZeroes { place, stored: true, fua },
        _ => return Ok(None),
    }))
}

/// The header of a recording, and its file behind it.
fn open(path: &Path) -> Result<(RecordingHeader, BufReader<File>), String> {
    let refuse = |what: &str| format!("{}: {what}", path.display());
    let file = File::open(path).map_err(|error| refuse(&error.to_string()))?;
    let none = || refuse(&format!("is no recording of a session; allowed: a file of format {FORMAT}"));
    let mut input = BufReader::new(file);
    let line = |input: &mut BufReader<File>| {
        let mut text = Vec::new();
        input.by_ref().take(LINES_MAX).read_until(b'\n', &mut text).map_err(|_| none())?;
        String::from_utf8(text).map_err(|_| none())
    };
    if line(&mut input)?.trim_end() != FORMAT {
        return Err(none());
    }
    let header = serde_json::from_str(&line(&mut input)?).map_err(|_| none())?;
    Ok((header, input))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn s060_a_recording_comes_back_as_it_was_written_and_never_in_part() {
        let path = std::env::temp_dir().join(format!("pumice-recording-{}", std::process::id()));
        let header = RecordingHeader { capacity_bytes: 1 << 20, spec: serde_json::json!({ "preset": "tiny" }) };
        let place = Place { offset: 512, bytes: 1024 };
        let mut asked = vec![ClientOperation::Read(place), ClientOperation::Flush];
        for fua in [false, true] {
            asked.push(ClientOperation::Write { place, data: vec![9; 1024], fua });
            asked.push(ClientOperation::Trim { place, fua });
            asked.push(ClientOperation::WriteZeroes { place, stored: false, fua });
            asked.push(ClientOperation::WriteZeroes { place, stored: true, fua });
        }
        let mut out = RecordingWriter::create(&path, &header).expect("begins");
        for (nth, operation) in asked.iter().enumerate() {
            out.add(operation, Time(7)).expect("an operation");
            out.add(&ClientOperation::Status { place, one: true }, Time(7)).expect("is left out");
            if nth == 2 {
                out.mark("row 1").expect("a mark");
            }
        }
        out.finish().expect("ends");
        let read = RecordedSession::read(&path).expect("reads");
        assert_eq!(RecordedSession::header(&path), Ok(header));
        assert_eq!(read.operations, asked);
        assert_eq!(read.marks, [(3, "row 1".to_string())]);
        let whole = std::fs::read(&path).expect("is there");
        for length in [0, 10, whole.len() / 2, whole.len() - 1] {
            std::fs::write(&path, &whole[..length]).expect("is cut short");
            let text = RecordedSession::read(&path).map(|_| ()).expect_err("in part");
            assert!(text.contains("is no recording") || text.contains("ends in the middle"), "{text}");
            assert!(!text.contains('\n'), "{text}");
        }
        std::fs::remove_file(path).expect("is there");
    }
}
