//! Records in the order of the file, with every fault said as `file:line`.

use std::io;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};

use pumice_types::{Choice, RequestKind};

use crate::source::compression::Compression;
use crate::source::error::{TraceError, TraceErrorKind, counted, excerpt};
use crate::trace::bytes::recorded::SharedContent;
use crate::trace::bytes::source::TraceFile;
use crate::trace::formats::{LineParser, TraceFormat};
use crate::trace::options::{TraceOptions, Trims};
use crate::trace::record::clock::Grain;
use crate::trace::record::lines::{LineFault, LineReader, MAX_LINE};
use crate::trace::record::time_scale::TimeScale;
use crate::trace::record::{OtherLine, ParsedLine, TraceRecord};
use crate::trace::sniff::{HEAD_BYTES, Reading, reading};
use crate::trace::volumes::{VOLUMES_MAX, VolumeFilter};

/// Longest distance between two records' times: 100 years. In nanoseconds it still fits 64 bits.
const SPAN_NS_MAX: u64 = 100 * 366 * 86_400 * 1_000_000_000;

/// What was counted on the way.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct LineCounts {
    /// Whether line 1 names the columns.
    pub header: bool,
    /// Legal lines that are no request.
    pub other_lines: u64,
    /// Trims that were left out.
    pub discards: u64,
    /// Requests without data that are no flushes.
    pub no_data: u64,
    /// Records of another volume than the first record's.
    pub other_volumes: u64,
    /// Records left out because they are not of the one volume asked for.
    pub left_out: u64,
    /// Records whose time is none that the calendar's clock could show.
    pub unlikely_times: u64,
}

/// Reads records one after the other.
pub(crate) struct RecordReader {
    path: PathBuf,
    /// What is read in place of the file.
    content: Option<SharedContent>,
    lines: LineReader<TraceFile>,
    parser: LineParser,
    scale: TimeScale,
    likely: RangeInclusive<u64>,
    /// Whether a time that is none is an error.
    strict_time: bool,
    /// Lines read.
    pub line: u64,
    pub counts: LineCounts,
    volumes: VolumeFilter,
    trims: Trims,
    /// Time and volume of the first record.
    first: Option<(u64, u16)>,
    grain: Grain,
    pub sha256: Option<String>,
}

impl RecordReader {
    pub fn open(path: &Path, options: &TraceOptions, strict_time: bool) -> Result<RecordReader, TraceError> {
        let mut lines = LineReader::new(TraceFile::of(path, options.content.as_ref())?);
        lines.peek(HEAD_BYTES);
        lines.skip_mark();
        let found = match &options.content {
            Some(content) => {
                content.columns().map(|columns| Reading { format: TraceFormat::Csv, columns: Some(columns) })
            }
            None => reading(lines.peek(HEAD_BYTES), options),
        };
        let Reading { format, columns } =
            found.map_err(|message| TraceError::at_line(TraceErrorKind::Content, path, 1, message))?;
        let scale = format.facts().time;
        Ok(RecordReader {
            path: path.to_owned(),
            content: options.content.clone(),
            lines,
            parser: match columns {
                Some(columns) => LineParser::of_columns(columns),
                None => LineParser::new(format),
            },
            scale,
            likely: scale.likely(),
            strict_time,
            line: 0,
            counts: LineCounts::default(),
            volumes: VolumeFilter::new(&options.volumes, format.facts().also_called),
            trims: options.trims,
            first: None,
            grain: Grain::new(),
            sha256: None,
        })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn format(&self) -> TraceFormat {
        self.parser.format()
    }

    /// Which column is what, as `workload.columns` would say it; `None` if the format says it.
    pub fn columns(&self) -> Option<String> {
        match &self.content {
            Some(content) => Some(content.origin_columns.clone()),
            None => self.parser.layout_text(),
        }
    }

    /// Whether the lines say the streams of writes; false before line 1 was read.
    pub fn names_streams(&self) -> bool {
        self.parser.names_streams()
    }

    /// The format as results name it.
    pub fn format_name(&self) -> &str {
        self.content.as_ref().map_or(self.format().name(), |content| &content.format)
    }

    pub fn scale(&self) -> &TimeScale {
        &self.scale
    }

    pub fn compression(&self) -> Compression {
        self.lines.source().compression()
    }

    pub fn progress(&self) -> Option<f64> {
        self.lines.source().progress().map(|read| read * self.lines.handed_out())
    }

    /// Whether the file is read ahead.
    pub fn is_read_ahead(&self) -> bool {
        self.lines.source().is_read_ahead()
    }

    /// Whether the file can be read a second time.
    pub fn is_regular(&self) -> bool {
        self.progress().is_some()
    }

    /// Name of the first record's volume.
    pub fn volume(&self) -> String {
        self.first.map(|(_, volume)| self.volumes.name(usize::from(volume))).unwrap_or_default()
    }

    /// Volumes named so far.
    pub fn volumes(&self) -> u64 {
        self.volumes.len() as u64
    }

    /// The clock's grain in nanoseconds if it is a millisecond or coarser, otherwise 0.
    pub fn coarse_clock_ns(&self) -> u64 {
        self.grain.coarse_ns(self.scale.tick_ns)
    }

    /// Whether the last line has no line end; false before it was read.
    pub fn is_unended(&self) -> bool {
        self.lines.unended
    }

    /// Whether there are several records and all have the same time.
    pub fn clock_is_still(&self) -> bool {
        self.grain.is_still()
    }

    /// The next record, `None` after the last. A file without any is an error.
    #[inline]
    pub fn next(&mut self) -> Result<Option<TraceRecord>, TraceError> {
        loop {
            let line = match self.lines.next_line() {
                Ok(Some(line)) => line,
                Ok(None) => return self.finish(),
                Err(fault) => return Err(self.line_fault(fault)),
            };
            self.line += 1;
            let (mut record, volume) = match self.parser.parse(line) {
                Some(ParsedLine::Request(record, volume)) => (record, volume),
                Some(ParsedLine::Other(other)) => {
                    self.counts.add(other);
                    continue;
                }
                None if self.line == 1 && self.parser.format().is_header(line) => {
                    self.counts.header = true;
                    continue;
                }
                None if line.trim_ascii().is_empty() => {
                    let fault = self.parser.explain(line);
                    return self.blank_to_the_end(fault);
                }
                None => return Err(refused(&self.path, self.line, self.parser.explain(line))),
            };
            if record.kind == RequestKind::Trim && self.trims == Trims::Drop {
                self.counts.discards += 1;
                continue;
            }
            let Some((number, is_wanted)) = self.volumes.admit(volume) else {
                let message = format!("more than {VOLUMES_MAX} volumes found; up to {VOLUMES_MAX} are allowed");
                return Err(refused(&self.path, self.line, message));
            };
            if !is_wanted {
                self.counts.left_out += 1;
                continue;
            }
            (record.line, record.volume) = (self.line, number);
            self.check(&record)?;
            return Ok(Some(record));
        }
    }

    /// Behind a blank line: the end of the file, if nothing but blank lines follows. Otherwise the first blank line is
    /// at fault.
    #[cold]
    fn blank_to_the_end(&mut self, fault: String) -> Result<Option<TraceRecord>, TraceError> {
        let first = self.line;
        loop {
            match self.lines.next_line() {
                Ok(Some(line)) if line.trim_ascii().is_empty() => self.line += 1,
                Ok(Some(_)) => return Err(refused(&self.path, first, fault)),
                Ok(None) => return self.finish(),
                Err(fault) => return Err(self.line_fault(fault)),
            }
        }
    }

    /// Looks at a record's time and volume beside the first one's.
    #[inline]
    fn check(&mut self, record: &TraceRecord) -> Result<(), TraceError> {
        let (first_time, first_volume) = *self.first.get_or_insert((record.time, record.volume));
        self.counts.other_volumes += u64::from(record.volume != first_volume);
        let likely = self.likely.contains(&record.time);
        self.counts.unlikely_times += u64::from(!likely);
        let distance = record.time.abs_diff(first_time);
        self.grain.add(distance, self.scale.tick_ns);
        if distance <= SPAN_NS_MAX / self.scale.tick_ns && (likely || !self.strict_time) {
            return Ok(());
        }
        Err(self.no_time(record.time, first_time, likely || !self.strict_time))
    }

    #[cold]
    fn no_time(&self, time: u64, first: u64, too_far: bool) -> TraceError {
        let why = if too_far {
            format!("lies more than 100 years from the first record's, {}", self.scale.written(first))
        } else {
            format!("is no time; allowed are {}", self.scale.allowed)
        };
        let message = format!("{} \"{}\" {why}", self.scale.column, self.scale.written(time));
        TraceError::at_line(TraceErrorKind::Content, &self.path, self.line, message)
    }

    fn finish(&mut self) -> Result<Option<TraceRecord>, TraceError> {
        if self.first.is_none() {
            return Err(TraceError::in_file(TraceErrorKind::Content, &self.path, self.nothing()));
        }
        if self.sha256.is_none() {
            let digest = self.lines.source_mut().digest();
            self.sha256 = Some(digest.map_err(|e| self.line_fault(LineFault::Io(e)))?);
        }
        Ok(None)
    }

    /// Why there is no record at all.
    fn nothing(&self) -> String {
        if let Some(none) = self.volumes.none_wanted() {
            return none;
        }
        let what = match (self.line, self.counts.header) {
            (0, _) => "is empty".to_owned(),
            (_, true) => "holds a header and no records".to_owned(),
            (lines, false) => format!("holds no reads, writes or trims ({} read)", counted(lines, "line")),
        };
        format!("{what}; at least one record is needed")
    }

    /// What stopped the reading. Complete lines before it were handed out already.
    fn line_fault(&self, fault: LineFault) -> TraceError {
        let (compression, lines) = (self.compression(), self.line);
        let (kind, message) = match fault {
            LineFault::TooLong(head) => {
                let message = format!(
                    "{} is longer than {MAX_LINE} bytes without a line end; text in the format {} is needed",
                    excerpt(&head),
                    self.format().name()
                );
                return TraceError::at_line(TraceErrorKind::Content, &self.path, lines + 1, message);
            }
            LineFault::Io(e) if compression == Compression::None => {
                (TraceErrorKind::File, format!("cannot be read after {}: {e}", counted(lines, "line")))
            }
            LineFault::Io(e) if e.kind() == io::ErrorKind::UnexpectedEof => (
                TraceErrorKind::Content,
                format!("{compression} data ends early after {}; a complete file is needed", counted(lines, "line")),
            ),
            LineFault::Io(e) => (
                TraceErrorKind::Content,
                format!("{compression} data is damaged after {}: {e}", counted(lines, "line")),
            ),
        };
        TraceError::in_file(kind, &self.path, message)
    }
}

impl LineCounts {
    fn add(&mut self, other: OtherLine) {
        match other {
            OtherLine::Header => self.header = true,
            OtherLine::Ignored => self.other_lines += 1,
            OtherLine::NoData => self.no_data += 1,
        }
    }
}

/// A line that cannot be read.
#[cold]
fn refused(path: &Path, line: u64, message: String) -> TraceError {
    TraceError::at_line(TraceErrorKind::Content, path, line, message)
}
