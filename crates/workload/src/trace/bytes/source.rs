//! A trace file as the run reads it: on the spot, or ahead on another thread.

use std::io::{self, Read};
use std::path::Path;

use crate::source::compression::Compression;
use crate::source::error::{TraceError, TraceErrorKind};
use crate::trace::bytes::ahead::ReadAhead;
use crate::trace::bytes::content::FileContent;
use crate::trace::bytes::recorded::SharedContent;

/// Bytes from which on a regular file is read ahead. A smaller one is read before a thread would have begun.
const AHEAD_FROM: u64 = 1 << 20;

/// What reads the content.
enum ContentReader {
    Here(FileContent),
    Ahead(ReadAhead),
}

/// A trace file's content.
pub(in crate::trace) struct TraceFile {
    reader: ContentReader,
    compression: Compression,
    file_bytes: Option<u64>,
}

impl TraceFile {
    /// Opens the file, or in its place the content that the caller holds.
    pub fn of(path: &Path, content: Option<&SharedContent>) -> Result<TraceFile, TraceError> {
        let (content, file_bytes, is_far) = match content {
            Some(content) => (FileContent::held(content), Some(content.text.len() as u64), false),
            None => {
                let (content, file_bytes) = FileContent::open(path)?;
                // What comes through a pipe may not have come yet, and whoever waits for it must hear signals.
                (content, file_bytes, file_bytes.is_some_and(|bytes| bytes >= AHEAD_FROM))
            }
        };
        let compression = content.compression();
        let no_thread =
            |e| TraceError::in_file(TraceErrorKind::File, path, format!("cannot be read ahead: no thread: {e}"));
        let reader = match is_far {
            true => ContentReader::Ahead(ReadAhead::start(content).map_err(no_thread)?),
            false => ContentReader::Here(content),
        };
        Ok(TraceFile { reader, compression, file_bytes })
    }

    pub fn compression(&self) -> Compression {
        self.compression
    }

    /// Whether it is read ahead.
    pub fn is_read_ahead(&self) -> bool {
        match self.reader {
            ContentReader::Here(_) => false,
            ContentReader::Ahead(_) => true,
        }
    }

    /// Share of the file's bytes read so far; `None` if its length is unknown.
    pub fn progress(&self) -> Option<f64> {
        let read = match &self.reader {
            ContentReader::Here(content) => content.bytes_read(),
            ContentReader::Ahead(ahead) => ahead.bytes_read(),
        };
        self.file_bytes.map(|all| if all == 0 { 1.0 } else { (read as f64 / all as f64).min(1.0) })
    }

    /// SHA-256 of the whole file in hexadecimal, once its content was read to its end.
    pub fn digest(&mut self) -> io::Result<String> {
        match &mut self.reader {
            ContentReader::Here(content) => content.digest(),
            ContentReader::Ahead(ahead) => ahead.digest(),
        }
    }
}

impl Read for TraceFile {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match &mut self.reader {
            ContentReader::Here(content) => content.read(buffer),
            ContentReader::Ahead(ahead) => ahead.read(buffer),
        }
    }
}
