//! Workloads as trace files.

use std::io::{BufWriter, Write};

use lzma_rust2::{XzOptions, XzWriter};
use pumice_types::{Choice, HostRequest, RequestKind};
use serde::Serialize;

use crate::kinds::registry::Workload;
use crate::source::compression::Compression;
use crate::source::error::TraceError;
use crate::trace::formats::TraceFormat;
use crate::trace::formats::format::{Writing, WrittenRequest};
use crate::trace::record::time_scale::TimeScale;

/// Seconds from 1970 to 2000, where written times of the calendar begin: a date that cannot be mistaken for the
/// recording's.
const START_S: u64 = 946_684_800;

/// What [`write_trace`] wrote.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct WriteReport {
    /// Name of the format.
    pub format: &'static str,
    /// Lines, header included.
    pub lines: u64,
    /// Requests.
    pub requests: u64,
    /// Bytes that the requests move, before they were widened.
    pub bytes: u64,
    /// The format's time grain in nanoseconds: arrivals are rounded down to it.
    pub time_grain_ns: u64,
    /// Requests whose arrival was rounded.
    pub rounded: u64,
    /// The format's address grain in bytes: requests are widened to it.
    pub address_grain_bytes: u64,
    /// Requests that were widened.
    pub widened: u64,
    /// Trims left out because the format has none.
    pub trims_left_out: u64,
    /// Flushes left out because the format has none.
    pub flushes_left_out: u64,
    /// Commands to zones that the format does not have.
    pub zone_commands_left_out: u64,
    /// Writes whose force unit access the format cannot say.
    pub fua_left_out: u64,
    /// Writes to another stream than 0 whose stream the format cannot say.
    pub streams_left_out: u64,
}

/// Writes what is left of a workload as a trace of one volume.
///
/// Addresses are those on the device, after placement. Times of the calendar begin at 2000-01-01
/// 00:00:00 UTC, others at 0. Formats that are only read say so ([`TraceFormat::is_writable`]); fio is written as
/// version 3. Trims and flushes are left out and counted where the format has none ([`TraceFormat::has_trims`],
/// [`TraceFormat::has_flushes`]), and so are force unit access and streams where the format does not know them.
///
/// # Errors
/// A workload's own error, a format that cannot be written, a request too long for the format, or
/// an output that refuses.
pub fn write_trace(
    workload: &mut Workload,
    format: TraceFormat,
    out: &mut dyn Write,
) -> Result<WriteReport, TraceError> {
    let mut writer = TraceWriter::new(format, workload.names_streams(), out)?;
    while let Some(request) = workload.next_request()? {
        writer.write(&request)?;
    }
    writer.finish()
}

/// Writes a workload as [`write_trace`] does, compressed.
///
/// # Errors
/// The errors of [`write_trace`].
pub fn write_trace_as(
    workload: &mut Workload,
    format: TraceFormat,
    compression: Compression,
    out: &mut dyn Write,
) -> Result<WriteReport, TraceError> {
    let refused = TraceError::output;
    match compression {
        Compression::None => write_trace(workload, format, out),
        Compression::Gzip => {
            let mut encoder = flate2::write::GzEncoder::new(out, flate2::Compression::default());
            let report = write_trace(workload, format, &mut encoder)?;
            encoder.finish().map_err(refused)?;
            Ok(report)
        }
        Compression::Zstd => {
            let mut encoder = zstd::stream::write::Encoder::new(out, 0).map_err(refused)?;
            let report = write_trace(workload, format, &mut encoder)?;
            encoder.finish().map_err(refused)?;
            Ok(report)
        }
        Compression::Xz => {
            let mut encoder = XzWriter::new(out, XzOptions::default()).map_err(refused)?;
            let report = write_trace(workload, format, &mut encoder)?;
            encoder.finish().map_err(refused)?;
            Ok(report)
        }
    }
}

/// Writes requests one by one, as [`write_trace`] does.
pub struct TraceWriter<W: Write> {
    out: BufWriter<W>,
    writing: &'static Writing,
    scale: TimeScale,
    /// Whether the format has trims.
    trims: bool,
    /// Whether it has flushes.
    flushes: bool,
    /// Whether it has commands to zones.
    zones: bool,
    /// Whether the lines say the stream of each request.
    streams: bool,
    /// Ticks of the first arrival.
    start: u64,
    report: WriteReport,
    last: u64,
}

impl<W: Write> TraceWriter<W> {
    /// Begins a trace in a format, with the stream of each request if the host names streams and the format has a way
    /// to say them.
    ///
    /// # Errors
    /// A format that cannot be written, or an output that refuses.
    pub fn new(format: TraceFormat, names_streams: bool, out: W) -> Result<TraceWriter<W>, TraceError> {
        let facts = format.facts();
        let Some(writing) = &facts.writing else { return Err(only_read(format)) };
        let scale = facts.time;
        let report = WriteReport {
            format: format.name(),
            time_grain_ns: scale.tick_ns,
            address_grain_bytes: writing.address_grain,
            ..WriteReport::default()
        };
        let start = scale.epoch.map_or(0, |epoch| epoch + START_S * scale.ticks_a_second());
        let out = BufWriter::with_capacity(1 << 16, out);
        let (trims, flushes, zones) = (facts.trims, facts.flushes, facts.zones);
        let head = writing.head_with_streams.filter(|_| names_streams);
        let streams = head.is_some();
        let mut writer =
            TraceWriter { out, writing, scale, trims, flushes, zones, streams, start, report, last: start };
        writer.lines(head.unwrap_or(writing.head))?;
        Ok(writer)
    }

    /// Lines that are no requests.
    fn lines(&mut self, lines: &str) -> Result<(), TraceError> {
        self.report.lines += lines.lines().count() as u64;
        self.out.write_all(lines.as_bytes()).map_err(TraceError::output)
    }

    /// Adds a request that arrives no earlier than the one before it.
    ///
    /// # Errors
    /// A request too long for the format, or an output that refuses.
    pub fn write(&mut self, request: &HostRequest) -> Result<(), TraceError> {
        match request.kind {
            RequestKind::Trim if !self.trims => {
                self.report.trims_left_out += 1;
                return Ok(());
            }
            RequestKind::Flush if !self.flushes => {
                self.report.flushes_left_out += 1;
                return Ok(());
            }
            RequestKind::Zone(_) if !self.zones => {
                self.report.zone_commands_left_out += 1;
                return Ok(());
            }
            RequestKind::Read | RequestKind::Write | RequestKind::Trim | RequestKind::Flush | RequestKind::Zone(_) => {}
        }
        self.report.fua_left_out += u64::from(request.fua && !self.writing.fua);
        // Reads and trims place nothing.
        let stream = if request.kind == RequestKind::Write { request.stream } else { 0 };
        self.report.streams_left_out += u64::from(stream > 0 && !self.streams);
        let (offset, bytes) = self.widen(request)?;
        let time = self.start + request.arrival.0 / self.scale.tick_ns;
        self.report.rounded += u64::from(!request.arrival.0.is_multiple_of(self.scale.tick_ns));
        self.last = time;
        let HostRequest { kind, fua, .. } = *request;
        let stream = self.streams.then_some(stream);
        let written = WrittenRequest { time, scale: &self.scale, offset, bytes, kind, fua, stream };
        (self.writing.line)(&mut self.out, &written).map_err(TraceError::output)?;
        self.report.lines += 1;
        self.report.requests += 1;
        self.report.bytes += u64::from(request.bytes);
        Ok(())
    }

    /// Offset and length on the format's grains.
    fn widen(&mut self, request: &HostRequest) -> Result<(u64, u64), TraceError> {
        let HostRequest { offset_bytes, bytes, .. } = *request;
        let Writing { address_grain, size_grain, .. } = *self.writing;
        let (start, end) = (offset_bytes, offset_bytes + u64::from(bytes));
        let (first, last) = (start / address_grain * address_grain, end.next_multiple_of(size_grain));
        self.report.widened += u64::from((first, last) != (start, end));
        let longest = u64::from(u32::MAX) / size_grain * size_grain;
        if last - first > longest {
            return Err(TraceError::option(format!(
                "request {} of {bytes} bytes found; a request of format {} has at most {longest} bytes, in whole sectors",
                self.report.requests + 1,
                self.report.format
            )));
        }
        Ok((first, last - first))
    }

    /// Ends the trace.
    ///
    /// # Errors
    /// An output that refuses.
    pub fn finish(mut self) -> Result<WriteReport, TraceError> {
        let tail = (self.writing.tail)(self.last);
        self.lines(&tail)?;
        self.out.flush().map_err(TraceError::output)?;
        Ok(self.report)
    }
}

/// A format that cannot be written, and those that can.
fn only_read(format: TraceFormat) -> TraceError {
    let writable = TraceFormat::ALL.iter().filter(|format| format.is_writable());
    let names: Vec<&str> = writable.map(|format| format.name()).collect();
    TraceError::option(format!("format {format} found, which is only read; allowed are {}", names.join(", ")))
}
