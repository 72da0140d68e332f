//! Records in the order of the file, with every fault said as `file:line`.

use std::io;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};

use pumice_types::RequestKind;

use crate::error::{TraceError, TraceErrorKind, excerpt};
use crate::trace::clock::Grain;
use crate::trace::format::TimeScale;
use crate::trace::lines::{LineFault, LineReader, MAX_LINE};
use crate::trace::parser::{Line, Other, Parser};
use crate::trace::sniff::{HEAD_BYTES, recognise};
use crate::trace::source::Source;
use crate::trace::volumes::{VOLUMES_MAX, VolumeNames, Volumes, is_called};
use crate::trace::{Record, TraceFormat, TraceOptions};

/// Longest distance between two records' times: 100 years. In nanoseconds it still fits 64 bits.
const SPAN_NS_MAX: u64 = 100 * 366 * 86_400 * 1_000_000_000;

/// What was counted on the way.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Counts {
    /// Whether line 1 names the columns.
    pub header: bool,
    /// Legal lines that are no request.
    pub other_lines: u64,
    /// Trims that were left out.
    pub discards: u64,
    /// Flushes and other requests without data.
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
    lines: LineReader<Source>,
    parser: Parser,
    scale: TimeScale,
    likely: RangeInclusive<u64>,
    /// Whether a time that is none is an error.
    strict_time: bool,
    /// Lines read.
    pub line: u64,
    pub counts: Counts,
    names: VolumeNames,
    drop_trims: bool,
    /// The one volume asked for by name, and its number once it was seen.
    wanted: Option<(String, Option<u16>)>,
    /// Time and volume of the first record.
    first: Option<(u64, u16)>,
    grain: Grain,
    pub sha256: Option<String>,
}

impl RecordReader {
    pub fn open(path: &Path, options: &TraceOptions, strict_time: bool) -> Result<RecordReader, TraceError> {
        let mut lines = LineReader::new(Source::open(path)?);
        let format = match options.format {
            Some(format) => format,
            None => recognise(lines.peek(HEAD_BYTES))
                .map_err(|(line, message)| TraceError::at_line(TraceErrorKind::Content, path, line, message))?,
        };
        let scale = format.time_scale();
        let wanted = match &options.volumes {
            Volumes::One(name) => Some((name.clone(), None)),
            Volumes::Overlay | Volumes::Separate => None,
        };
        Ok(RecordReader {
            path: path.to_owned(),
            lines,
            parser: Parser::new(format),
            scale,
            likely: scale.likely(),
            strict_time,
            line: 0,
            counts: Counts::default(),
            names: VolumeNames::default(),
            drop_trims: options.drop_trims,
            wanted,
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

    pub fn scale(&self) -> &TimeScale {
        &self.scale
    }

    pub fn compression(&self) -> &'static str {
        self.lines.source().compression()
    }

    pub fn progress(&self) -> Option<f64> {
        self.lines.source().progress()
    }

    /// Whether the file can be read a second time.
    pub fn is_regular(&self) -> bool {
        self.progress().is_some()
    }

    /// Name of the first record's volume.
    pub fn volume(&self) -> String {
        self.first.map(|(_, volume)| self.names.name(usize::from(volume))).unwrap_or_default()
    }

    /// Volumes named so far.
    pub fn volumes(&self) -> u64 {
        self.names.len() as u64
    }

    /// The clock's grain in nanoseconds if it is a millisecond or coarser, otherwise 0.
    pub fn coarse_clock_ns(&self) -> u64 {
        self.grain.coarse_ns(self.scale.tick_ns)
    }

    /// Whether there are several records and all have the same time.
    pub fn clock_is_still(&self) -> bool {
        self.grain.is_still()
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
            let (mut record, volume) = match self.parser.parse(line) {
                Some(Line::Record(record, _)) if self.drop_trims && record.kind == RequestKind::Trim => {
                    self.counts.discards += 1;
                    continue;
                }
                Some(Line::Record(record, volume)) => (record, volume),
                Some(Line::Other(other)) => {
                    self.counts.add(other);
                    continue;
                }
                None if self.line == 1 && self.parser.is_header(line) => {
                    self.counts.header = true;
                    continue;
                }
                None => {
                    let explanation = self.parser.explain(line);
                    return Err(TraceError::at_line(TraceErrorKind::Content, &self.path, self.line, explanation));
                }
            };
            record.line = self.line;
            let Some((number, is_new)) = self.names.number(volume) else {
                let message = format!("more than {VOLUMES_MAX} volumes found; up to {VOLUMES_MAX} are allowed");
                return Err(TraceError::at_line(TraceErrorKind::Content, &self.path, self.line, message));
            };
            record.volume = number;
            if let Some((wanted, found)) = &mut self.wanted {
                if is_new && found.is_none() && is_called(self.parser.format(), volume, wanted) {
                    *found = Some(number);
                }
                if *found != Some(number) {
                    self.counts.left_out += 1;
                    continue;
                }
            }
            self.check(&record)?;
            return Ok(Some(record));
        }
    }

    /// Looks at a record's time and volume beside the first one's.
    #[inline]
    fn check(&mut self, record: &Record) -> Result<(), TraceError> {
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

    fn finish(&mut self) -> Result<Option<Record>, TraceError> {
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
        if let (Some((wanted, _)), 1..) = (&self.wanted, self.names.len()) {
            let known: Vec<String> =
                (0..self.names.len().min(8)).map(|n| excerpt(self.names.name(n).as_bytes())).collect();
            let more = if self.names.len() > known.len() { ", …" } else { "" };
            return format!(
                "no record of volume {} among those of {} volumes; allowed are {}{more}",
                excerpt(wanted.as_bytes()),
                self.names.len(),
                known.join(", ")
            );
        }
        let what = match (self.line, self.counts.header) {
            (0, _) => "is empty".to_owned(),
            (_, true) => "holds a header and no records".to_owned(),
            (lines, false) => format!("holds no reads, writes or trims ({lines} lines read)"),
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

impl Counts {
    fn add(&mut self, other: Other) {
        match other {
            Other::Ignored => self.other_lines += 1,
            Other::NoData => self.no_data += 1,
        }
    }
}
