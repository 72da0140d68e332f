//! Recorded traces: opened by content, streamed once, put into the order of time.

mod alibaba;
mod blkparse;
mod clock;
mod columns;
mod disksim;
mod fields;
mod fio;
mod format;
mod lines;
mod msr;
mod parser;
mod records;
mod reorder;
mod sniff;
mod source;
mod spc;
mod ssdsim;
mod systor;
mod tencent;
mod volumes;

use std::collections::VecDeque;
use std::fmt;
use std::path::Path;

use pumice_types::{HostRequest, RequestKind, Time};

use crate::error::TraceErrorKind;
use crate::placement::{Misfit, Placer};
use crate::workload::{Fact, Notes};
use crate::{AddressPolicy, Placement, TraceError, Workload};
#[cfg(test)]
pub(crate) use format::FILETIME_EPOCH_S;
pub(crate) use format::TimeScale;
pub use format::TraceFormat;
pub(crate) use records::RecordReader;
pub use reorder::REORDER_WINDOW;
pub(crate) use reorder::Window;
pub use source::file_digest;
pub use volumes::Volumes;

/// A step in time that no working system makes between two requests: a day.
const JUMP_NS: u64 = 86_400 * 1_000_000_000;

/// How a trace file is read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TraceOptions {
    /// Its format; `None` recognises it by content.
    pub format: Option<TraceFormat>,
    /// What becomes of its volumes.
    pub volumes: Volumes,
    /// Leaves trims (discards) out, and counts them. Otherwise they are requests like others.
    pub drop_trims: bool,
}

/// One record of a trace, as read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Record {
    /// Ticks of the format's clock.
    pub time: u64,
    /// First byte.
    pub offset: u64,
    /// Line of the file, from 1.
    pub line: u64,
    /// Never 0.
    pub bytes: u32,
    /// Number of the volume in the order of first appearance.
    pub volume: u16,
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
    options: TraceOptions,
    window: Window,
    placer: Placer,
    layout: Layout,
    /// What is left of a trim that lies in several places of the device.
    trims: VecDeque<HostRequest>,
    /// Trims of nothing that was ever touched, where addresses are compacted.
    idle_trims: u64,
    /// Time of the first request.
    base: Option<u64>,
    last_arrival: Time,
    clock_jumps: u64,
    /// No more records will come: the file ended, or `failure` says what stopped it.
    ended: bool,
    failure: Option<TraceError>,
}

/// Where the volumes lie.
#[derive(Debug)]
enum Layout {
    /// All on the same addresses.
    Shared,
    /// Each in regions of its own, mixed with the others'.
    Regions,
    /// One behind the other; the first byte of each.
    Bases(Vec<u64>),
}

impl fmt::Debug for Trace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Trace").field("path", &self.records.path()).field("line", &self.records.line).finish()
    }
}

/// Opens a trace whose volumes share one address space. The compression (plain, gzip, zstd, xz) is
/// recognised by content, and so is the format unless it is named. The first record is read at
/// once, so that a wrong file fails here.
pub fn open_trace(path: &Path, format: Option<TraceFormat>, placement: &Placement) -> Result<Workload, TraceError> {
    open_trace_with(path, &TraceOptions { format, ..TraceOptions::default() }, placement)
}

/// Opens a trace as [`open_trace`] does, with a choice of what becomes of its volumes.
///
/// [`Volumes::Separate`] reads the file twice unless addresses are compacted: how long the volumes
/// are must be known before the second can be placed.
pub fn open_trace_with(path: &Path, options: &TraceOptions, placement: &Placement) -> Result<Workload, TraceError> {
    Trace::open(path, options, placement).map(|trace| Workload::Trace(Box::new(trace)))
}

/// First byte of each volume when each begins at the 1 MiB behind the last byte of the one that
/// appears before it.
fn lay_out(path: &Path, options: &TraceOptions) -> Result<Vec<u64>, TraceError> {
    let mut records = RecordReader::open(path, options, false)?;
    if !records.is_regular() {
        let message = "is a pipe, and volumes laid out one behind the other need a second reading; set \
                       workload.address = \"compact\", set workload.volumes = \"overlay\", or use a file";
        return Err(TraceError::in_file(TraceErrorKind::File, path, message));
    }
    let mut ends: Vec<u64> = Vec::new();
    while let Some(record) = records.next()? {
        let volume = usize::from(record.volume);
        if volume >= ends.len() {
            ends.resize(volume + 1, 0);
        }
        ends[volume] = ends[volume].max(record.offset + u64::from(record.bytes));
    }
    let mut bases = Vec::with_capacity(ends.len());
    let mut next = 0u64;
    for end in ends {
        bases.push(next);
        let after =
            end.checked_next_multiple_of(crate::COMPACT_REGION_BYTES).and_then(|length| next.checked_add(length));
        next = after.ok_or_else(|| {
            let message = "the volumes are longer than 2^64 bytes together; set workload.address = \"compact\"";
            TraceError::in_file(TraceErrorKind::Capacity, path, message)
        })?;
    }
    Ok(bases)
}

impl Trace {
    pub(crate) fn open(path: &Path, options: &TraceOptions, placement: &Placement) -> Result<Trace, TraceError> {
        let layout = match (&options.volumes, placement.policy) {
            (Volumes::Overlay | Volumes::One(_), _) => Layout::Shared,
            (Volumes::Separate, AddressPolicy::Compact) => Layout::Regions,
            (Volumes::Separate, _) => Layout::Bases(lay_out(path, options)?),
        };
        let mut records = RecordReader::open(path, options, false)?;
        let mut window = Window::default();
        if let Some(record) = records.next()? {
            window.push(record);
        }
        Ok(Trace {
            records,
            options: options.clone(),
            window,
            placer: Placer::new(placement),
            layout,
            trims: VecDeque::new(),
            idle_trims: 0,
            base: None,
            last_arrival: Time::ZERO,
            clock_jumps: 0,
            ended: false,
            failure: None,
        })
    }

    /// The next request, `None` after the last. A bad line is reported after the requests that
    /// come before it in time; after an error every further call gives the same one.
    #[inline]
    pub fn next_request(&mut self) -> Result<Option<HostRequest>, TraceError> {
        loop {
            if let Some(trim) = self.trims.pop_front() {
                return Ok(Some(trim));
            }
            while !self.ended && self.window.has_room() {
                match self.records.next() {
                    Ok(Some(record)) => self.window.push(record),
                    Ok(None) => self.ended = true,
                    Err(failure) => (self.ended, self.failure) = (true, Some(failure)),
                }
            }
            match self.window.pop() {
                Some(record) if record.kind == RequestKind::Trim => self.place_trim(&record)?,
                Some(record) => return self.place(&record).map(Some),
                None => return self.failure.clone().map_or(Ok(None), Err),
            }
        }
    }

    /// Arrival of a record since the first request.
    #[inline]
    fn arrival(&mut self, record: &Record) -> Time {
        let base = *self.base.get_or_insert(record.time);
        let arrival = Time((record.time - base) * self.records.scale().tick_ns);
        self.clock_jumps += u64::from(arrival.0 - self.last_arrival.0 > JUMP_NS);
        self.last_arrival = arrival;
        arrival
    }

    /// First byte of a record where its volume's addresses begin.
    #[inline]
    fn start(&self, record: &Record) -> Result<u64, Misfit> {
        let Layout::Bases(bases) = &self.layout else { return Ok(record.offset) };
        let base = bases.get(usize::from(record.volume)).ok_or(Misfit::Changed)?;
        let start = base.checked_add(record.offset).ok_or(Misfit::Changed)?;
        start.checked_add(u64::from(record.bytes)).map(|_| start).ok_or(Misfit::Changed)
    }

    /// A trim's places on the device, of which there may be several or none.
    #[cold]
    fn place_trim(&mut self, record: &Record) -> Result<(), TraceError> {
        let arrival = self.arrival(record);
        let volume = if matches!(self.layout, Layout::Regions) { record.volume } else { 0 };
        let pieces = self.start(record).and_then(|start| self.placer.place_trim(volume, start, record.bytes));
        let pieces = pieces.map_err(|misfit| self.stop(record, misfit))?;
        self.idle_trims += u64::from(pieces.is_empty());
        let kind = record.kind;
        self.trims.extend(pieces.into_iter().map(|(offset_bytes, bytes)| HostRequest {
            arrival,
            offset_bytes,
            bytes,
            kind,
        }));
        Ok(())
    }

    /// A record without a place ends the reading.
    #[cold]
    fn stop(&mut self, record: &Record, misfit: Misfit) -> TraceError {
        let failure = TraceError::at_line(TraceErrorKind::Capacity, self.records.path(), record.line, misfit);
        (self.window, self.ended, self.failure) = (Window::default(), true, Some(failure.clone()));
        failure
    }

    #[inline]
    fn place(&mut self, record: &Record) -> Result<HostRequest, TraceError> {
        let arrival = self.arrival(record);
        let Record { bytes, kind, volume, .. } = *record;
        let placed = self.start(record).and_then(|start| match self.layout {
            Layout::Regions => self.placer.place_in(volume, start, bytes),
            Layout::Shared | Layout::Bases(_) => self.placer.place(start, bytes),
        });
        match placed {
            Ok(offset_bytes) => Ok(HostRequest { arrival, offset_bytes, bytes, kind }),
            Err(misfit) => Err(self.stop(record, misfit)),
        }
    }

    pub(crate) fn progress(&self) -> Option<f64> {
        self.records.progress()
    }

    pub(crate) fn notes(&self) -> Notes {
        let counts = self.records.counts;
        let shared = self.options.volumes == Volumes::Overlay;
        Notes {
            lines: self.records.line,
            header: counts.header,
            reordered: self.window.reordered,
            clamped: self.window.clamped,
            wrapped: self.placer.wrapped,
            moved: self.placer.moved,
            other_volumes: if shared { counts.other_volumes } else { 0 },
            unlikely_times: counts.unlikely_times,
            left_out: counts.left_out,
            discards: counts.discards + self.idle_trims,
            no_data: counts.no_data,
            other_lines: counts.other_lines,
            coarse_clock_ns: self.records.coarse_clock_ns(),
            clock_jumps: self.clock_jumps,
            untimed: self.records.clock_is_still(),
        }
    }

    pub(crate) fn facts(&self) -> Vec<(&'static str, Fact)> {
        let text = |text: &str| Fact::Text(text.to_owned());
        let policy = match &self.options.volumes {
            Volumes::Overlay => "overlay",
            Volumes::Separate => "separate",
            Volumes::One(name) => name,
        };
        let mut facts = vec![
            ("path", Fact::Text(self.records.path().display().to_string())),
            ("format", text(self.records.format().name())),
            ("compression", text(self.records.compression())),
            ("volume", Fact::Text(self.records.volume())),
            ("volumes", text(policy)),
            ("volumes_seen", Fact::Count(self.records.volumes())),
        ];
        facts.extend(self.records.sha256.as_deref().map(|digest| ("sha256", text(digest))));
        facts
    }
}
