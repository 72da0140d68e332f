//! Records in the order of the file, with every fault said as `file:line`.

use std::io;
use std::path::{Path, PathBuf};

use crate::error::{TraceError, TraceErrorKind, excerpt};
use crate::trace::lines::{LineFault, LineReader, MAX_LINE};
use crate::trace::source::Source;
use crate::trace::{Record, TraceFormat, msr};

/// Windows filetimes of 1980-01-01 and 2100-01-01: what can be the time of a recorded request.
const FILETIMES: std::ops::Range<u64> = 119_600_064_000_000_000..157_469_184_000_000_000;

/// Longest distance between two records' times, in ticks of 100 ns: 100 years. In nanoseconds it
/// still fits 64 bits.
const SPAN_TICKS_MAX: u64 = 100 * 366 * 86_400 * 10_000_000;

/// Reads records one after the other.
pub(crate) struct RecordReader {
    path: PathBuf,
    lines: LineReader<Source>,
    pub format: TraceFormat,
    /// Whether a time that is no filetime is an error.
    strict_time: bool,
    /// Lines read, header included.
    pub line: u64,
    pub header: bool,
    pub other_volumes: u64,
    pub unlikely_times: u64,
    /// Time and volume of the first record.
    first: Option<(u64, Vec<u8>)>,
    pub sha256: Option<String>,
}

impl RecordReader {
    pub fn open(path: &Path, format: Option<TraceFormat>, strict_time: bool) -> Result<RecordReader, TraceError> {
        Ok(RecordReader {
            path: path.to_owned(),
            lines: LineReader::new(Source::open(path)?),
            format: format.unwrap_or(TraceFormat::MsrCsv),
            strict_time,
            line: 0,
            header: false,
            other_volumes: 0,
            unlikely_times: 0,
            first: None,
            sha256: None,
        })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn compression(&self) -> &'static str {
        self.lines.source().compression()
    }

    pub fn progress(&self) -> Option<f64> {
        self.lines.source().progress()
    }

    /// `Hostname,Disk` of the first record.
    pub fn volume(&self) -> String {
        let bytes = self.first.as_ref().map_or(&[][..], |(_, volume)| volume);
        String::from_utf8_lossy(bytes).into_owned()
    }

    /// The next record, `None` after the last. A file without any is an error.
    #[inline]
    pub fn next(&mut self) -> Result<Option<Record>, TraceError> {
        loop {
            let line = match self.lines.next_line() {
                Ok(Some(line)) => line,
                Ok(None) => return self.finish(),
                Err(fault) => return Err(self.line_fault(fault)),
            };
            self.line += 1;
            let Some((mut record, volume)) = msr::parse(line) else {
                if self.line == 1 && msr::is_header(line) {
                    self.header = true;
                    continue;
                }
                let explanation = msr::explain(line);
                return Err(TraceError::at_line(TraceErrorKind::Content, &self.path, self.line, explanation));
            };
            record.line = self.line;
            let Some((first_time, first_volume)) = &self.first else {
                self.first = Some((record.time, volume.to_vec()));
                self.check_time(&record, record.time)?;
                return Ok(Some(record));
            };
            self.other_volumes += u64::from(volume != first_volume.as_slice());
            let first_time = *first_time;
            self.check_time(&record, first_time)?;
            return Ok(Some(record));
        }
    }

    #[inline]
    fn check_time(&mut self, record: &Record, first: u64) -> Result<(), TraceError> {
        let likely = FILETIMES.contains(&record.time);
        self.unlikely_times += u64::from(!likely);
        if record.time.abs_diff(first) <= SPAN_TICKS_MAX && (likely || !self.strict_time) {
            return Ok(());
        }
        let why = if likely || !self.strict_time {
            format!("lies more than 100 years from the first record's, {first}")
        } else {
            "is no time; allowed are Windows filetimes (100 ns ticks since 1601) of the years 1980 to 2099".to_owned()
        };
        let message = format!("Timestamp \"{}\" {why}", record.time);
        Err(TraceError::at_line(TraceErrorKind::Content, &self.path, record.line, message))
    }

    fn finish(&mut self) -> Result<Option<Record>, TraceError> {
        if self.first.is_none() {
            let what = if self.header { "holds a header and no records" } else { "is empty" };
            let message = format!("{what}; at least one record is needed");
            return Err(TraceError::in_file(TraceErrorKind::Content, &self.path, message));
        }
        if self.sha256.is_none() {
            let digest = self.lines.source_mut().digest();
            self.sha256 = Some(digest.map_err(|e| self.line_fault(LineFault::Io(e)))?);
        }
        Ok(None)
    }

    /// What stopped the reading. Complete lines before it were handed out already.
    fn line_fault(&self, fault: LineFault) -> TraceError {
        let (compression, lines) = (self.compression(), self.line);
        let (kind, message) = match fault {
            LineFault::TooLong(head) => {
                let message = format!(
                    "{} is longer than {MAX_LINE} bytes without a line end; an MSR CSV is needed",
                    excerpt(&head)
                );
                return TraceError::at_line(TraceErrorKind::Content, &self.path, lines + 1, message);
            }
            LineFault::Io(e) if compression == "none" => {
                (TraceErrorKind::File, format!("cannot be read after {lines} lines: {e}"))
            }
            LineFault::Io(e) if e.kind() == io::ErrorKind::UnexpectedEof => (
                TraceErrorKind::Content,
                format!("{compression} data ends early after {lines} lines; a complete file is needed"),
            ),
            LineFault::Io(e) => {
                (TraceErrorKind::Content, format!("{compression} data is damaged after {lines} lines: {e}"))
            }
        };
        TraceError::in_file(kind, &self.path, message)
    }
}
