//! A recording: everything that clients asked of a device in a session, with the data of writes, so that the session
//! can be had again without the program that made it.
//!
//! A line that names the format, a line of JSON, and then, compressed, 24 bytes a request with the data of each write
//! behind them. Marks, which a program sets while it runs, lie between the requests. What is recorded is what a client
//! asked for, not what this device made of it: a layer that gives up what is trimmed makes a trim of zeroes, another one
//! has to write them.

pub(crate) mod journal;
pub(crate) mod operation;
pub(crate) mod record;
pub(crate) mod spec;

use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, Read, Write};
use std::path::{Path, PathBuf};

use pumice_config::SpecSource;
use pumice_engine::SimError;
use pumice_types::{HostRequest, RequestKind, Time};
use serde::{Deserialize, Serialize};

use self::journal::{DeviceEvent, ENTRY_BYTES};
use crate::protocol::SECTOR;
use crate::recording::operation::{ClientOperation, Place, request};
use crate::store::file::in_file;

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

/// Memory that every recording may take, in bytes, and how much more for each byte of its file. Sessions of programs
/// that write more do not compress so well, unless somebody made them to.
const UNFOLDED_LEAST: u64 = 128 << 20;
const UNFOLDED_RATIO: u64 = 256;

/// Level of the compression: the fastest.
const LEVEL: i32 = 1;

/// What a recording says of itself.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RecordingHeader {
    /// Bytes of the device that it was made on.
    pub capacity_bytes: u64,
    /// The spec of that device, as it was asked for.
    pub spec: RecordedSpec,
}

/// A spec as a recording keeps it. Code of the user's own is not in it and not named by a path: whoever reads the
/// recording names the file, which must have the same digest.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RecordedSpec {
    preset: Option<String>,
    spec_text: Option<String>,
    spec_name: Option<String>,
    sets: Vec<(String, String)>,
    origins: Vec<String>,
    scale: Option<f64>,
    /// Translation layers of the user's own.
    #[serde(default)]
    plugins: Vec<RecordedPlugin>,
}

/// A translation layer of the user's own, by the SHA-256 of its file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct RecordedPlugin {
    sha256: String,
}

impl RecordedSpec {
    /// The spec of a source.
    pub fn of(source: &SpecSource) -> RecordedSpec {
        let SpecSource { spec_text, spec_name, preset, sets, origins, scale, own_policy: _, plugins } = source.clone();
        let plugins = plugins.iter().map(|layer| RecordedPlugin { sha256: layer.source.sha256().into() }).collect();
        RecordedSpec { preset, spec_text, spec_name, sets, origins, scale, plugins }
    }
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
    pub fn create(path: &Path, header: &RecordingHeader) -> Result<RecordingWriter, SimError> {
        let begun = || -> io::Result<_> {
            let mut out = BufWriter::new(File::create(path)?);
            writeln!(out, "{FORMAT}\n{}", serde_json::to_string(header)?)?;
            zstd::stream::write::Encoder::new(out, LEVEL)
        };
        let out = begun().map_err(in_file(path))?;
        Ok(RecordingWriter { path: path.to_owned(), out })
    }

    /// Adds what a client asks for at this time of the device's clock. Questions about its state are left out.
    ///
    /// # Errors
    /// A file that cannot be written, in one line.
    pub fn add(&mut self, operation: &ClientOperation, at: Time) -> Result<(), SimError> {
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
    pub fn mark(&mut self, text: &str) -> Result<(), SimError> {
        if text.len() > MARK_MAX {
            return Err(SimError::Output(format!("a mark of {} bytes; allowed: up to {MARK_MAX}", text.len())));
        }
        self.write(&[&[MARK], &(text.len() as u16).to_le_bytes(), text.as_bytes()])
    }

    fn write(&mut self, parts: &[&[u8]]) -> Result<(), SimError> {
        let written = parts.iter().try_for_each(|part| self.out.write_all(part));
        written.map_err(in_file(&self.path))
    }

    /// Ends the recording.
    ///
    /// # Errors
    /// A file that cannot be written, in one line.
    pub fn finish(mut self) -> Result<(), SimError> {
        self.write(&[&[END]])?;
        let mut out = self.out.finish().map_err(in_file(&self.path))?;
        out.flush().map_err(in_file(&self.path))
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
    pub fn header(path: &Path) -> Result<RecordingHeader, SimError> {
        Ok(open(path)?.0)
    }

    /// Reads a recording.
    ///
    /// # Errors
    /// A file that is no recording, not a whole one, or one with an entry that no client of its device can have made; in
    /// one line.
    pub fn read(path: &Path) -> Result<RecordedSession, SimError> {
        let (header, input) = open(path)?;
        let file_bytes = input.get_ref().metadata().map_err(in_file(path))?.len();
        let input = zstd::stream::read::Decoder::with_buffer(input).map_err(in_file(path))?;
        let left = UNFOLDED_LEAST.saturating_add(file_bytes.saturating_mul(UNFOLDED_RATIO));
        let mut reader = EntryReader { path, input: BufReader::new(input), left, capacity: header.capacity_bytes };
        let mut session = RecordedSession::default();
        while session.read_next(&mut reader)? {}
        Ok(session)
    }

    /// Reads the next entry; `false` at the end.
    fn read_next(&mut self, reader: &mut EntryReader<'_, impl Read>) -> Result<bool, SimError> {
        match reader.bytes::<1>()? {
            [MARK] => {
                let mark = reader.mark()?;
                self.marks.push((self.operations.len(), mark));
            }
            [END] => return Ok(false),
            [first] => {
                let operation = reader.operation(first, self.operations.len() + 1)?;
                self.operations.push(operation);
            }
        }
        Ok(true)
    }
}

/// What is said of a recording with an entry that is none.
const DAMAGED: &str = "is damaged";

/// The entries of a recording that is being read, and what they may take.
struct EntryReader<'a, R> {
    path: &'a Path,
    input: R,
    /// Memory that they may still take, in bytes.
    left: u64,
    /// Bytes of the device that the session is of.
    capacity: u64,
}

impl<R: Read> EntryReader<'_, R> {
    fn refusal(&self, what: &str) -> SimError {
        in_file(self.path)(what)
    }

    /// The next bytes.
    fn bytes<const LENGTH: usize>(&mut self) -> Result<[u8; LENGTH], SimError> {
        let mut bytes = [0; LENGTH];
        self.fill(&mut bytes)?;
        Ok(bytes)
    }

    fn fill(&mut self, bytes: &mut [u8]) -> Result<(), SimError> {
        self.input.read_exact(bytes).map_err(|error| {
            if error.kind() == io::ErrorKind::UnexpectedEof {
                self.refusal("ends in the middle; the session that it is of did not end well")
            } else {
                self.refusal(&format!("{DAMAGED}: {error}"))
            }
        })
    }

    /// Reads `bytes` bytes; memory is taken for `more` as well.
    fn data(&mut self, bytes: usize, more: usize) -> Result<Vec<u8>, SimError> {
        self.left = self.left.checked_sub((bytes + more) as u64).ok_or_else(|| {
            let most = UNFOLDED_LEAST >> 20;
            self.refusal(&format!("unfolds to over {most} MiB and {UNFOLDED_RATIO} times the size of its file"))
        })?;
        let mut data = vec![0; bytes];
        self.fill(&mut data)?;
        Ok(data)
    }

    /// The nth operation, whose entry begins with the byte `first`: one that a client of the device can have asked for.
    fn operation(&mut self, first: u8, nth: usize) -> Result<ClientOperation, SimError> {
        let entry = self.bytes::<ENTRY_BYTES>()?;
        let Some(DeviceEvent::Request(asked)) = journal::decode(&entry) else { return Err(self.refusal(DAMAGED)) };
        let (place, fua) = (Place { offset: asked.offset_bytes, bytes: asked.bytes }, asked.fua);
        let is_flush = asked.kind == RequestKind::Flush;
        if place.offset.checked_add(place.bytes.into()).is_none_or(|end| end > self.capacity) {
            return Err(self.refusal(&format!("request {nth} lies beyond its device")));
        }
        if is_flush != (place.bytes == 0) || !(place.offset | u64::from(place.bytes)).is_multiple_of(SECTOR.into()) {
            return Err(self.refusal(&format!("request {nth} is not of whole sectors")));
        }
        let is_write = (first, asked.kind) == (REQUEST, RequestKind::Write);
        let data = self.data(if is_write { place.bytes as usize } else { 0 }, size_of::<ClientOperation>())?;
        Ok(match (first, asked.kind) {
            (REQUEST, RequestKind::Read) => ClientOperation::Read(place),
            (REQUEST, RequestKind::Write) => ClientOperation::Write { place, data, fua },
            (REQUEST, RequestKind::Flush) => ClientOperation::Flush,
            (REQUEST, RequestKind::Trim) => ClientOperation::Trim { place, fua },
            (ZEROES, RequestKind::Write) => ClientOperation::WriteZeroes { place, stored: false, fua },
            (STORED_ZEROES, RequestKind::Write) => ClientOperation::WriteZeroes { place, stored: true, fua },
            _ => return Err(self.refusal(DAMAGED)),
        })
    }

    fn mark(&mut self) -> Result<String, SimError> {
        let length = usize::from(u16::from_le_bytes(self.bytes()?));
        if length > MARK_MAX {
            return Err(self.refusal(DAMAGED));
        }
        let text = self.data(length, size_of::<(usize, String)>())?;
        String::from_utf8(text).map_err(|_| self.refusal(DAMAGED))
    }
}

/// The header of a recording, and its file behind it.
fn open(path: &Path) -> Result<(RecordingHeader, BufReader<File>), SimError> {
    let file = File::open(path).map_err(in_file(path))?;
    let none = || in_file(path)(format!("is no recording of a session; allowed: a file of format {FORMAT}"));
    let mut input = BufReader::new(file);
    let line = |input: &mut BufReader<File>| {
        let mut text = Vec::new();
        input.by_ref().take(LINES_MAX).read_until(b'\n', &mut text).map_err(|_| none())?;
        String::from_utf8(text).map_err(|_| none())
    };
    if line(&mut input)?.trim_end() != FORMAT {
        return Err(none());
    }
    let header = serde_json::from_str::<RecordingHeader>(&line(&mut input)?);
    let header = header.map_err(|error| in_file(path)(format!("its header is damaged: {error}")))?;
    if header.spec.origins.len() > header.spec.sets.len() {
        return Err(in_file(path)("its header is damaged: more origins than keys that are set"));
    }
    Ok((header, input))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn s060_a_recording_comes_back_as_it_was_written_and_never_in_part() {
        let path = std::env::temp_dir().join(format!("pumice-recording-{}", std::process::id()));
        let header = RecordingHeader {
            capacity_bytes: 1 << 20,
            spec: RecordedSpec { preset: Some("tiny".into()), ..RecordedSpec::default() },
        };
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
        assert_eq!(RecordedSession::header(&path).expect("a header"), header);
        assert_eq!(read.operations, asked);
        assert_eq!(read.marks, [(3, "row 1".to_string())]);
        let whole = std::fs::read(&path).expect("is there");
        for length in [0, 10, whole.len() / 2, whole.len() - 1] {
            std::fs::write(&path, &whole[..length]).expect("is cut short");
            let text = RecordedSession::read(&path).map(|_| ()).expect_err("in part").to_string();
            assert!(
                ["is no recording", "header is damaged"].iter().any(|said| text.contains(said))
                    || text.contains("ends in the middle"),
                "{text}"
            );
            assert!(!text.contains('\n'), "{text}");
        }
        std::fs::remove_file(path).expect("is there");
    }
}
