//! Recorded traces: opened by content, streamed once, put into the order of time.

mod lines;
mod msr;
mod records;
mod reorder;
mod source;

use std::fmt;
use std::path::Path;
use std::str::FromStr;

use pumice_types::{HostRequest, RequestKind, Time};

use crate::error::{TraceErrorKind, excerpt};
use crate::placement::Placer;
use crate::workload::{Fact, Notes};
use crate::{Placement, TraceError, Workload};
pub(crate) use records::RecordReader;
pub use reorder::REORDER_WINDOW;
pub(crate) use reorder::Window;
pub use source::file_digest;

/// Nanoseconds of a tick of a Windows filetime.
const TICK_NS: u64 = 100;

/// A format of trace files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TraceFormat {
    /// The CSV of the MSR Cambridge collection, named `msr`.
    MsrCsv,
}

impl TraceFormat {
    /// The names that can be given, in the order of the variants.
    pub const NAMES: [&'static str; 1] = ["msr"];

    /// This format's name.
    pub fn name(self) -> &'static str {
        match self {
            TraceFormat::MsrCsv => "msr",
        }
    }
}

impl FromStr for TraceFormat {
    type Err = TraceError;

    fn from_str(name: &str) -> Result<TraceFormat, TraceError> {
        match name {
            "msr" => Ok(TraceFormat::MsrCsv),
            _ => Err(TraceError::option(format!(
                "trace format {} found; allowed are {}",
                excerpt(name.as_bytes()),
                TraceFormat::NAMES.join(", ")
            ))),
        }
    }
}

/// One record of a trace, as read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Record {
    /// 100 ns ticks.
    pub time: u64,
    /// First byte.
    pub offset: u64,
    /// Line of the file, from 1.
    pub line: u64,
    /// Never 0.
    pub bytes: u32,
    pub kind: RequestKind,
}

impl Record {
    fn order(&self) -> (u64, u64) {
        (self.time, self.line)
    }
}

/// A trace file as a stream of requests.
pub struct Trace {
    records: RecordReader,
    window: Window,
    placer: Placer,
    /// Time of the first request.
    base: Option<u64>,
    /// No more records will come: the file ended, or `failure` says what stopped it.
    ended: bool,
    failure: Option<TraceError>,
}

impl fmt::Debug for Trace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Trace").field("path", &self.records.path()).field("line", &self.records.line).finish()
    }
}

/// Opens a trace. The compression (plain, gzip, zstd, xz) is recognised by content, and so is the
/// format unless it is named. The first record is read at once, so that a wrong file fails here.
pub fn open_trace(path: &Path, format: Option<TraceFormat>, placement: &Placement) -> Result<Workload, TraceError> {
    Trace::open(path, format, placement).map(|trace| Workload::Trace(Box::new(trace)))
}

impl Trace {
    pub(crate) fn open(path: &Path, format: Option<TraceFormat>, placement: &Placement) -> Result<Trace, TraceError> {
        let mut records = RecordReader::open(path, format, false)?;
        let mut window = Window::default();
        if let Some(record) = records.next()? {
            window.push(record);
        }
        let placer = Placer::new(placement);
        Ok(Trace { records, window, placer, base: None, ended: false, failure: None })
    }

    /// The next request, `None` after the last. A bad line is reported after the requests that
    /// come before it in time; after an error every further call gives the same one.
    #[inline]
    pub fn next_request(&mut self) -> Result<Option<HostRequest>, TraceError> {
        while !self.ended && self.window.has_room() {
            match self.records.next() {
                Ok(Some(record)) => self.window.push(record),
                Ok(None) => self.ended = true,
                Err(failure) => (self.ended, self.failure) = (true, Some(failure)),
            }
        }
        match self.window.pop() {
            Some(record) => self.place(&record).map(Some),
            None => self.failure.clone().map_or(Ok(None), Err),
        }
    }

    #[inline]
    fn place(&mut self, record: &Record) -> Result<HostRequest, TraceError> {
        let base = *self.base.get_or_insert(record.time);
        let Record { time, offset, bytes, kind, .. } = *record;
        match self.placer.place(offset, bytes) {
            Ok(offset_bytes) => Ok(HostRequest { arrival: Time((time - base) * TICK_NS), offset_bytes, bytes, kind }),
            Err(misfit) => {
                let failure = TraceError::at_line(TraceErrorKind::Capacity, self.records.path(), record.line, misfit);
                (self.window, self.ended, self.failure) = (Window::default(), true, Some(failure.clone()));
                Err(failure)
            }
        }
    }

    pub(crate) fn progress(&self) -> Option<f64> {
        self.records.progress()
    }

    pub(crate) fn notes(&self) -> Notes {
        Notes {
            lines: self.records.line,
            header: self.records.header,
            reordered: self.window.reordered,
            clamped: self.window.clamped,
            wrapped: self.placer.wrapped,
            moved: self.placer.moved,
            other_volumes: self.records.other_volumes,
            unlikely_times: self.records.unlikely_times,
        }
    }

    pub(crate) fn facts(&self) -> Vec<(&'static str, Fact)> {
        let text = |text: &str| Fact::Text(text.to_owned());
        let mut facts = vec![
            ("path", Fact::Text(self.records.path().display().to_string())),
            ("format", text(self.records.format.name())),
            ("compression", text(self.records.compression())),
            ("volume", Fact::Text(self.records.volume())),
        ];
        facts.extend(self.records.sha256.as_deref().map(|digest| ("sha256", text(digest))));
        facts
    }
}
