//! How a trace was understood, so that a human can see whether that is right.

use std::path::Path;

use pumice_types::RequestKind;
use serde::Serialize;

use crate::TraceError;
use crate::survey::footprint::{Footprint, SectorSet};
use crate::survey::info::refuse_too_wide;
use crate::trace::{Record, RecordReader, TraceFormat, Window};

/// Records that are shown decoded.
const SHOWN: usize = 3;

/// Seconds from 1601 to 1970.
const EPOCH_SECONDS: u64 = 11_644_473_600;

/// Ticks of a second.
const TICKS: u64 = 10_000_000;

/// One record as it was understood.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DecodedLine {
    /// Line of the file, from 1.
    pub line: u64,
    /// Time in UTC.
    pub time_utc: String,
    /// `read` or `write`.
    pub kind: &'static str,
    /// First byte.
    pub offset_bytes: u64,
    /// Length in bytes.
    pub bytes: u32,
}

/// What [`check`] found.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CheckReport {
    /// The file.
    pub path: String,
    /// Name of the format.
    pub format: &'static str,
    /// `none`, `gzip`, `zstd` or `xz`.
    pub compression: &'static str,
    /// SHA-256 of the file's bytes, in hexadecimal.
    pub sha256: String,
    /// Units of the columns, in words.
    pub units: &'static str,
    /// Host and disk of the first record.
    pub volume: String,
    /// Whether line 1 was taken for a header.
    pub header: bool,
    /// The first three records, decoded.
    pub first_lines: Vec<DecodedLine>,
    /// Lines, header included.
    pub lines: u64,
    /// Records.
    pub records: u64,
    /// Reads among them.
    pub reads: u64,
    /// Writes among them.
    pub writes: u64,
    /// Earliest time in UTC.
    pub first_time_utc: String,
    /// Latest time in UTC.
    pub last_time_utc: String,
    /// From the earliest to the latest time, in seconds.
    pub span_s: f64,
    /// First byte touched.
    pub first_byte: u64,
    /// Last byte touched.
    pub last_byte: u64,
    /// Distinct bytes and pages touched, read or written.
    pub footprint: Footprint,
    /// Lines whose time is earlier than the line's before them.
    pub backward_steps: u64,
    /// Largest of these steps, in seconds.
    pub largest_backward_step_s: f64,
    /// Records that a run would put back into order.
    pub reordered: u64,
    /// Records that a run would clamp, being too late for that.
    pub clamped: u64,
    /// Records of another host or disk than the first record's.
    pub other_volumes: u64,
}

/// What is gathered record by record.
struct Tally {
    first_lines: Vec<DecodedLine>,
    reads: u64,
    writes: u64,
    times: (u64, u64),
    bytes: (u64, u64),
    sectors: SectorSet,
    previous_time: u64,
    backward_steps: u64,
    largest_step: u64,
}

impl Tally {
    fn new() -> Tally {
        Tally {
            first_lines: Vec::with_capacity(SHOWN),
            reads: 0,
            writes: 0,
            times: (u64::MAX, 0),
            bytes: (u64::MAX, 0),
            sectors: SectorSet::new(),
            previous_time: 0,
            backward_steps: 0,
            largest_step: 0,
        }
    }

    fn add(&mut self, record: &Record) {
        let Record { time, offset, bytes, kind, .. } = *record;
        if self.first_lines.len() < SHOWN {
            self.first_lines.push(decoded(record));
        }
        match kind {
            RequestKind::Read => self.reads += 1,
            RequestKind::Write => self.writes += 1,
        }
        self.times = (self.times.0.min(time), self.times.1.max(time));
        self.bytes = (self.bytes.0.min(offset), self.bytes.1.max(offset + u64::from(bytes) - 1));
        self.sectors.add(offset, bytes);
        let step = self.previous_time.saturating_sub(time);
        self.backward_steps += u64::from(step > 0);
        self.largest_step = self.largest_step.max(step);
        self.previous_time = time;
    }
}

/// Reads a whole trace and says how it was understood.
///
/// # Errors
/// Whatever a run would refuse, and times that are no Windows filetimes of 1980 to 2099.
pub fn check(path: &Path, format: Option<TraceFormat>) -> Result<CheckReport, TraceError> {
    let mut records = RecordReader::open(path, format, true)?;
    let (mut tally, mut window) = (Tally::new(), Window::default());
    while let Some(record) = records.next()? {
        tally.add(&record);
        refuse_too_wide(tally.sectors.chunks())?;
        window.push(record);
        if !window.has_room() {
            window.pop();
        }
    }
    while window.pop().is_some() {}
    let (first_time, last_time) = tally.times;
    Ok(CheckReport {
        path: records.path().display().to_string(),
        format: records.format.name(),
        compression: records.compression(),
        sha256: records.sha256.clone().unwrap_or_default(),
        units: "time: Windows filetime, ticks of 100 ns since 1601; offset and size: bytes",
        volume: records.volume(),
        header: records.header,
        lines: records.line,
        records: tally.reads + tally.writes,
        reads: tally.reads,
        writes: tally.writes,
        first_time_utc: utc(first_time),
        last_time_utc: utc(last_time),
        span_s: last_time.saturating_sub(first_time) as f64 / TICKS as f64,
        first_byte: tally.bytes.0,
        last_byte: tally.bytes.1,
        footprint: tally.sectors.footprint(),
        first_lines: tally.first_lines,
        backward_steps: tally.backward_steps,
        largest_backward_step_s: tally.largest_step as f64 / TICKS as f64,
        reordered: window.reordered,
        clamped: window.clamped,
        other_volumes: records.other_volumes,
    })
}

fn decoded(record: &Record) -> DecodedLine {
    DecodedLine {
        line: record.line,
        time_utc: utc(record.time),
        kind: match record.kind {
            RequestKind::Read => "read",
            RequestKind::Write => "write",
        },
        offset_bytes: record.offset,
        bytes: record.bytes,
    }
}

/// A filetime as `2007-02-22 17:00:00.0000000`. The date is found with the civil calendar whose
/// years begin in March, so that a leap day is a year's last; eras are 400 years of 146,097 days.
fn utc(ticks: u64) -> String {
    let seconds = (ticks / TICKS).saturating_sub(EPOCH_SECONDS);
    let days = seconds / 86_400 + 719_468;
    let (era, day_of_era) = (days / 146_097, days % 146_097);
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * from_march + 2) / 5 + 1;
    let month = if from_march < 10 { from_march + 3 } else { from_march - 9 };
    let year = era * 400 + year_of_era + u64::from(month <= 2);
    let (hour, minute, second) = (seconds / 3_600 % 24, seconds / 60 % 60, seconds % 60);
    format!("{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02}.{:07}", ticks % TICKS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn w150_filetimes_as_dates() {
        assert_eq!(utc(128_166_372_000_000_000), "2007-02-22 17:00:00.0000000");
        assert_eq!(utc(119_600_064_000_000_000), "1980-01-01 00:00:00.0000000");
        assert_eq!(utc(157_469_183_999_999_999), "2099-12-31 23:59:59.9999999");
        assert_eq!(utc((EPOCH_SECONDS + 951_782_400) * TICKS), "2000-02-29 00:00:00.0000000");
    }
}
