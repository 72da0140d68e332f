//! A recording: every request of a session, with the data of its writes, so that the session can be had again without
//! the program that made it.
//!
//! A line that names the format, a line of JSON, and then, compressed, 24 bytes a request with the data of each write
//! behind them. Marks, which a program sets while it runs, lie between the requests.

use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, Read, Write};
use std::path::{Path, PathBuf};

use pumice_types::{HostRequest, RequestKind};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::journal::{self, DeviceEvent, ENTRY_BYTES};

/// Name and version of the format.
const FORMAT: &str = "pumice.recording/1";

/// Longest first lines, in bytes.
const LINES_MAX: u64 = 1 << 24;

/// First byte of a mark; an entry of a request begins with [`REQUEST`].
const MARK: u8 = 1;

/// First byte of a request.
const REQUEST: u8 = 0;

/// Last byte: the recording is whole.
const END: u8 = 2;

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

    /// Adds a request, and what it writes.
    ///
    /// # Errors
    /// A file that cannot be written, in one line.
    pub fn add(&mut self, request: &HostRequest, data: &[u8]) -> Result<(), String> {
        let entry = journal::encode(&DeviceEvent::Request(*request));
        self.write(&[&[REQUEST], &entry, data])
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

/// Requests of a session, in their order.
#[derive(Debug, Default)]
pub struct RecordedSession {
    /// The requests.
    pub requests: Vec<HostRequest>,
    /// Data of all writes, one after the other; `None` if only the requests are known.
    pub data: Option<Vec<u8>>,
    /// Marks, each with the number of requests before it.
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
        let mut session = RecordedSession { data: Some(Vec::new()), ..RecordedSession::default() };
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
        let end = |request: &HostRequest| request.offset_bytes + u64::from(request.bytes);
        match session.requests.iter().position(|request| end(request) > header.capacity_bytes) {
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
            REQUEST => {
                let mut entry = [0; ENTRY_BYTES];
                input.read_exact(&mut entry)?;
                let Some(DeviceEvent::Request(request)) = journal::decode(&entry) else { return Err(damaged()) };
                self.requests.push(request);
                if let (RequestKind::Write, Some(data)) = (request.kind, &mut self.data) {
                    let before = data.len();
                    data.resize(before + request.bytes as usize, 0);
                    input.read_exact(&mut data[before..])?;
                }
                Ok(true)
            }
            MARK => {
                let mut length = [0; 2];
                input.read_exact(&mut length)?;
                let mut text = vec![0; usize::from(u16::from_le_bytes(length))];
                input.read_exact(&mut text)?;
                self.marks.push((self.requests.len(), String::from_utf8(text).map_err(|_| damaged())?));
                Ok(true)
            }
            END => Ok(false),
            _ => Err(damaged()),
        }
    }
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
    use pumice_types::Time;

    use super::*;

    #[test]
    fn s060_a_recording_comes_back_as_it_was_written_and_never_in_part() {
        let path = std::env::temp_dir().join(format!("pumice-recording-{}", std::process::id()));
        let header = RecordingHeader { capacity_bytes: 1 << 20, spec: serde_json::json!({ "preset": "tiny" }) };
        let at = |offset_bytes, bytes, kind| HostRequest {
            arrival: Time(7),
            offset_bytes,
            bytes,
            kind,
            fua: false,
            stream: 0,
        };
        let write = at(512, 1024, RequestKind::Write);
        let mut out = RecordingWriter::create(&path, &header).expect("begins");
        out.add(&write, &[9; 1024]).expect("a write");
        out.mark("row 1").expect("a mark");
        out.add(&HostRequest::flush(Time(8)), &[]).expect("a flush");
        out.finish().expect("ends");
        let read = RecordedSession::read(&path).expect("reads");
        assert_eq!(RecordedSession::header(&path), Ok(header));
        assert_eq!((read.requests, read.data), (vec![write, HostRequest::flush(Time(8))], Some(vec![9; 1024])));
        assert_eq!(read.marks, [(1, "row 1".to_string())]);
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
