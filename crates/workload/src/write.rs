//! Workloads as trace files.

use std::io::{self, BufWriter, Write};
use std::path::Path;

use lzma_rust2::{XzOptions, XzWriter};
use pumice_types::{HostRequest, RequestKind};
use serde::Serialize;

use crate::trace::{TimeScale, TraceFormat};
use crate::{TraceError, Workload};

/// Seconds from 1970 to 2000, where written times of the calendar begin: a date that nobody takes
/// for the recording's.
const START_S: u64 = 946_684_800;

const SECTOR: u64 = 512;

/// Most sectors whose bytes are a request's size.
const SECTORS_MAX: u64 = u32::MAX as u64 / SECTOR;

/// What [`write_trace`] wrote.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
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
}

/// Writes what is left of a workload as a trace of one volume.
///
/// Addresses are those on the device, after placement. Times of the calendar begin at 2000-01-01
/// 00:00:00 UTC, others at 0. Every format can be written but blkparse; fio is written as version 3.
/// fio alone has trims; in other formats they are left out and counted.
///
/// # Errors
/// A workload's own error, a format that cannot be written, a request too long for the format, or
/// an output that refuses.
pub fn write_trace(
    workload: &mut Workload,
    format: TraceFormat,
    out: &mut dyn Write,
) -> Result<WriteReport, TraceError> {
    let mut writer = TraceWriter::new(format, out)?;
    while let Some(request) = workload.next_request()? {
        writer.write(&request)?;
    }
    writer.finish()
}

/// Writes a workload as [`write_trace`] does, compressed.
///
/// # Errors
/// Those of [`write_trace`].
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

/// How a written trace is compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compression {
    /// Not at all.
    None,
    /// gzip.
    Gzip,
    /// zstd.
    Zstd,
    /// xz.
    Xz,
}

impl Compression {
    /// What a file's name promises: `.gz`, `.zst`, `.xz`, in any case; anything else is plain.
    pub fn of_name(path: &Path) -> Compression {
        let extension = path.extension().map(|extension| extension.to_ascii_lowercase());
        match extension.as_ref().and_then(|extension| extension.to_str()) {
            Some("gz") => Compression::Gzip,
            Some("zst") => Compression::Zstd,
            Some("xz") => Compression::Xz,
            _ => Compression::None,
        }
    }
}

struct TraceWriter<'a> {
    out: BufWriter<&'a mut dyn Write>,
    format: TraceFormat,
    scale: TimeScale,
    /// Ticks of the first arrival.
    start: u64,
    report: WriteReport,
    last: u64,
}

impl<'a> TraceWriter<'a> {
    fn new(format: TraceFormat, out: &'a mut dyn Write) -> Result<TraceWriter<'a>, TraceError> {
        if format == TraceFormat::BlkParse {
            let names: Vec<&str> = TraceFormat::NAMES.into_iter().filter(|&name| name != format.name()).collect();
            let message = format!("format blkparse found, which is only read; allowed are {}", names.join(", "));
            return Err(TraceError::option(message));
        }
        let scale = format.time_scale();
        let address_grain_bytes = match format {
            TraceFormat::Tencent | TraceFormat::Spc | TraceFormat::SsdSim | TraceFormat::DiskSim => SECTOR,
            _ => 1,
        };
        let report = WriteReport {
            format: format.name(),
            lines: 0,
            requests: 0,
            bytes: 0,
            time_grain_ns: scale.tick_ns,
            rounded: 0,
            address_grain_bytes,
            widened: 0,
            trims_left_out: 0,
        };
        let start = scale.epoch.map_or(0, |epoch| epoch + START_S * (1_000_000_000 / scale.tick_ns));
        let mut writer =
            TraceWriter { out: BufWriter::with_capacity(1 << 16, out), format, scale, start, report, last: start };
        writer.head()?;
        Ok(writer)
    }

    /// Lines in front of the first request.
    fn head(&mut self) -> Result<(), TraceError> {
        let head = match self.format {
            TraceFormat::Systor => "Timestamp,Response,IOType,LUN,Offset,Size\n",
            TraceFormat::Fio => "fio version 3 iolog\n0 /dev/pumice add\n0 /dev/pumice open\n",
            _ => "",
        };
        self.report.lines += head.lines().count() as u64;
        self.out.write_all(head.as_bytes()).map_err(TraceError::output)
    }

    fn write(&mut self, request: &HostRequest) -> Result<(), TraceError> {
        if request.kind == RequestKind::Trim && self.format != TraceFormat::Fio {
            self.report.trims_left_out += 1;
            return Ok(());
        }
        let (offset, bytes) = self.widen(request)?;
        let time = self.start + request.arrival.0 / self.scale.tick_ns;
        self.report.rounded += u64::from(request.arrival.0 % self.scale.tick_ns != 0);
        self.last = time;
        self.line(time, offset, bytes, request.kind).map_err(TraceError::output)?;
        self.report.lines += 1;
        self.report.requests += 1;
        self.report.bytes += u64::from(request.bytes);
        Ok(())
    }

    /// Offset and length on the format's address grain.
    fn widen(&mut self, request: &HostRequest) -> Result<(u64, u64), TraceError> {
        let HostRequest { offset_bytes, bytes, .. } = *request;
        let (start, end) = (offset_bytes, offset_bytes + u64::from(bytes));
        let grain = self.report.address_grain_bytes;
        let first = start / grain * grain;
        // The address of an SPC record is a sector, its size is not.
        let last = if self.format == TraceFormat::Spc { end } else { end.next_multiple_of(grain) };
        self.report.widened += u64::from((first, last) != (start, end));
        let longest = if self.format == TraceFormat::Spc { u64::from(u32::MAX) } else { SECTORS_MAX * grain };
        if grain > 1 && last - first > longest {
            return Err(TraceError::option(format!(
                "request {} of {bytes} bytes found; a request of format {} has at most {longest} bytes, in whole sectors",
                self.report.requests + 1,
                self.format.name()
            )));
        }
        Ok((first, last - first))
    }

    fn line(&mut self, time: u64, offset: u64, bytes: u64, kind: RequestKind) -> io::Result<()> {
        let out = &mut self.out;
        let read = kind == RequestKind::Read;
        let (sector, sectors) = (offset / SECTOR, bytes / SECTOR);
        let letter = if read { 'R' } else { 'W' };
        let is_read = u8::from(read);
        match self.format {
            TraceFormat::MsrCsv => {
                let kind = if read { "Read" } else { "Write" };
                writeln!(out, "{time},pumice,0,{kind},{offset},{bytes},0")
            }
            TraceFormat::Alibaba => writeln!(out, "0,{letter},{offset},{bytes},{time}"),
            TraceFormat::Tencent => writeln!(out, "{time},{sector},{sectors},{},0", u8::from(!read)),
            TraceFormat::Spc => writeln!(out, "0,{sector},{bytes},{letter},{}", self.scale.written(time)),
            TraceFormat::SsdSim => writeln!(out, "{time} 0 {sector} {sectors} {is_read}"),
            TraceFormat::DiskSim => writeln!(out, "{} 0 {sector} {sectors} {is_read}", self.scale.written(time)),
            TraceFormat::Systor => writeln!(out, "{},,{letter},0,{offset},{bytes}", self.scale.written(time)),
            TraceFormat::Fio => {
                writeln!(out, "{time} /dev/pumice {} {offset} {bytes}", kind.name())
            }
            TraceFormat::BlkParse => Ok(()),
        }
    }

    fn finish(mut self) -> Result<WriteReport, TraceError> {
        if self.format == TraceFormat::Fio {
            writeln!(self.out, "{} /dev/pumice close", self.last).map_err(TraceError::output)?;
            self.report.lines += 1;
        }
        self.out.flush().map_err(TraceError::output)?;
        Ok(self.report)
    }
}
