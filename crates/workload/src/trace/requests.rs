//! A trace file as a stream of requests.

use std::collections::VecDeque;
use std::fmt;
use std::path::Path;

use pumice_types::{Choice, HostRequest, RequestKind, Time, ZoneCommand};

use crate::source::error::{TraceError, TraceErrorKind};
use crate::source::fact::Fact;
use crate::source::notes::Notes;
use crate::source::placement::{AddressPolicy, Misfit, Placement, Placer};
use crate::source::request_source::RequestSource;
use crate::trace::layout::VolumeLayout;
use crate::trace::options::TraceOptions;
use crate::trace::record::TraceRecord;
use crate::trace::record::reorder::ReorderWindow;
use crate::trace::records::RecordReader;
use crate::trace::volumes::Volumes;

/// A step in time that no working system makes between two requests: a day.
const JUMP_NS: u64 = 86_400 * 1_000_000_000;

/// A trace file as a stream of requests.
pub struct Trace {
    records: RecordReader,
    options: TraceOptions,
    window: ReorderWindow,
    placer: Placer,
    layout: VolumeLayout,
    /// Requests that one record makes beyond the first: pieces of a trim that lies in several places of the
    /// device, and what comes behind a flush of its own.
    more: VecDeque<HostRequest>,
    /// Trims of nothing that was ever touched, where addresses are compacted.
    idle_trims: u64,
    /// Time of the first request.
    base: Option<u64>,
    last_arrival: Time,
    /// The highest stream that a request named so far.
    last_stream: u8,
    clock_jumps: u64,
    /// No more records will come: the file ended, or `failure` says what stopped it.
    ended: bool,
    failure: Option<TraceError>,
}

impl fmt::Debug for Trace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Trace").field("path", &self.records.path()).field("line", &self.records.line).finish()
    }
}

impl Trace {
    /// Opens a trace file. The first record is read at once, so that a wrong file fails here.
    pub(crate) fn open(path: &Path, options: &TraceOptions, placement: &Placement) -> Result<Trace, TraceError> {
        let layout = VolumeLayout::of(path, options, placement.policy)?;
        let mut records = RecordReader::open(path, options, false)?;
        let mut window = ReorderWindow::default();
        if let Some(record) = records.next()? {
            window.push(record);
        }
        Ok(Trace {
            records,
            options: options.clone(),
            window,
            placer: Placer::new(placement),
            layout,
            more: VecDeque::new(),
            idle_trims: 0,
            base: None,
            last_arrival: Time::ZERO,
            last_stream: 0,
            clock_jumps: 0,
            ended: false,
            failure: None,
        })
    }

    /// The smallest capacity on which a trace keeps its addresses, or under [`AddressPolicy::Compact`] its regions.
    ///
    /// # Errors
    /// A trace that cannot be read.
    pub(crate) fn extent(path: &Path, options: &TraceOptions, policy: AddressPolicy) -> Result<u64, TraceError> {
        let policy = match policy {
            // Nothing shall have to be wrapped.
            AddressPolicy::Exact | AddressPolicy::Wrap => AddressPolicy::Exact,
            AddressPolicy::Compact => AddressPolicy::Compact,
        };
        let mut trace = Trace::open(path, options, &Placement { capacity_bytes: u64::MAX, page_bytes: 1, policy })?;
        let mut end = 0;
        while let Some(request) = trace.next_request()? {
            end = end.max(request.offset_bytes + u64::from(request.bytes));
        }
        Ok(end.max(trace.placer.compacted_bytes()))
    }

    /// Arrival of a record since the first request.
    #[inline]
    fn arrival(&mut self, record: &TraceRecord) -> Time {
        let base = *self.base.get_or_insert(record.time);
        let arrival = Time((record.time - base) * self.records.scale().tick_ns);
        self.clock_jumps += u64::from(arrival.0 - self.last_arrival.0 > JUMP_NS);
        self.last_arrival = arrival;
        arrival
    }

    /// A trim's places on the device, of which there may be several or none.
    #[cold]
    fn place_trim(&mut self, record: &TraceRecord) -> Result<(), TraceError> {
        let arrival = self.arrival(record);
        let volume = if matches!(self.layout, VolumeLayout::Regions) { record.volume } else { 0 };
        let pieces = self.layout.start(record).and_then(|start| self.placer.place_trim(volume, start, record.bytes));
        let pieces = pieces.map_err(|misfit| self.stop(record, misfit))?;
        self.idle_trims += u64::from(pieces.is_empty());
        let (kind, fua) = (record.kind, false);
        self.more.extend(record.durability.preflush.then(|| HostRequest::flush(arrival)));
        self.more.extend(pieces.into_iter().map(|(offset_bytes, bytes)| HostRequest {
            arrival,
            offset_bytes,
            bytes,
            kind,
            fua,
            stream: 0,
            flow: 0,
        }));
        Ok(())
    }

    /// A record without a place ends the reading.
    #[cold]
    fn stop(&mut self, record: &TraceRecord, misfit: Misfit) -> TraceError {
        let failure = TraceError::at_line(TraceErrorKind::Capacity, self.records.path(), record.line, misfit);
        (self.window, self.ended, self.failure) = (ReorderWindow::default(), true, Some(failure.clone()));
        failure
    }

    #[inline]
    fn place(&mut self, record: &TraceRecord) -> Result<HostRequest, TraceError> {
        let arrival = self.arrival(record);
        let TraceRecord { bytes, kind, volume, durability, stream, .. } = *record;
        self.last_stream = self.last_stream.max(stream);
        let placed = self.layout.start(record).and_then(|start| match self.layout {
            VolumeLayout::Regions => self.placer.place_in(volume, start, bytes),
            VolumeLayout::Shared | VolumeLayout::Bases(_) => self.placer.place(start, bytes),
        });
        match placed {
            Ok(offset_bytes) => {
                Ok(HostRequest { arrival, offset_bytes, bytes, kind, fua: durability.fua, stream, flow: 0 })
            }
            Err(misfit) => Err(self.stop(record, misfit)),
        }
    }
}

impl RequestSource for Trace {
    /// The next request, `false` after the last. A bad line is reported after the requests that
    /// come before it in time; after an error every further call gives the same one.
    #[inline]
    fn take_next(&mut self, request: &mut HostRequest) -> Result<bool, TraceError> {
        loop {
            if let Some(next) = self.more.pop_front() {
                *request = next;
                return Ok(true);
            }
            while !self.ended && self.window.has_room() {
                match self.records.next() {
                    Ok(Some(record)) => self.window.push(record),
                    Ok(None) => self.ended = true,
                    Err(failure) => (self.ended, self.failure) = (true, Some(failure)),
                }
            }
            match self.window.pop() {
                Some(record) => match record.kind {
                    RequestKind::Read | RequestKind::Write => {
                        *request = self.place(&record)?;
                        if record.durability.preflush {
                            self.more.push_back(*request);
                            *request = HostRequest::flush(request.arrival);
                        }
                        return Ok(true);
                    }
                    RequestKind::Flush => {
                        *request = HostRequest::flush(self.arrival(&record));
                        return Ok(true);
                    }
                    RequestKind::Trim => self.place_trim(&record)?,
                    RequestKind::Zone(command) => {
                        *request = self.place(&record)?;
                        if command != ZoneCommand::Append {
                            request.bytes = 0;
                        }
                        return Ok(true);
                    }
                },
                None => return self.failure.clone().map_or(Ok(false), Err),
            }
        }
    }

    fn requests_expected(&self) -> Option<u64> {
        None
    }

    /// How many streams there are, up to the highest one that was named so far.
    fn streams(&self) -> u16 {
        u16::from(self.last_stream) + 1
    }

    fn names_streams(&self) -> bool {
        self.records.names_streams()
    }

    /// Share of the file's bytes whose requests were handed out, as if all lines were of one length; `None` if the
    /// file's length is unknown (a pipe).
    fn progress(&self) -> Option<f64> {
        let lines = self.records.line.max(1) as f64;
        self.records.progress().map(|read| read * (1.0 - self.window.len() as f64 / lines))
    }

    fn long_file(&self) -> Option<&Path> {
        self.records.is_read_ahead().then(|| self.records.path())
    }

    fn notes(&self) -> Notes {
        let counts = self.records.counts;
        Notes {
            lines: self.records.line,
            header: counts.header,
            reordered: self.window.reordered,
            clamped: self.window.clamped,
            wrapped: self.placer.wrapped,
            moved: self.placer.moved,
            other_volumes: match self.options.volumes {
                Volumes::Overlay => counts.other_volumes,
                Volumes::Separate | Volumes::One(_) => 0,
            },
            unlikely_times: counts.unlikely_times,
            left_out: counts.left_out,
            discards: counts.discards + self.idle_trims,
            no_data: counts.no_data,
            other_lines: counts.other_lines,
            coarse_clock_ns: self.records.coarse_clock_ns(),
            clock_jumps: self.clock_jumps,
            untimed: self.records.clock_is_still(),
            unended: self.records.is_unended(),
        }
    }

    /// Path, format, compression, volumes and (once the file was read to its end) the SHA-256 of its bytes.
    fn facts(&self) -> Vec<(&'static str, Fact)> {
        let mut facts = vec![
            ("path", Fact::Text(self.records.path().display().to_string())),
            ("format", Fact::text(self.records.format_name())),
            ("compression", Fact::text(self.records.compression().name())),
            ("volume", Fact::Text(self.records.volume())),
            ("volumes", Fact::text(self.options.volumes.name())),
            ("volumes_seen", Fact::Count(self.records.volumes())),
        ];
        facts.extend(self.records.columns().map(|columns| ("columns", Fact::Text(columns))));
        facts.extend(self.records.sha256.as_deref().map(|digest| ("sha256", Fact::text(digest))));
        facts
    }
}
