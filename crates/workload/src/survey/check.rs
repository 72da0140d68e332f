//! How a trace was understood, so that a human can see whether that is right.

use std::path::Path;

use pumice_types::{Choice, RequestKind};
use serde::Serialize;

use crate::source::error::TraceError;
use crate::survey::footprint::{Footprint, SectorSet, refuse_too_wide};
use crate::trace::formats::TraceFormat;
use crate::trace::options::TraceOptions;
use crate::trace::record::TraceRecord;
use crate::trace::record::reorder::ReorderWindow;
use crate::trace::record::time_scale::TimeScale;
use crate::trace::records::RecordReader;

/// Records that are shown decoded.
const SHOWN: usize = 3;

/// One record as it was understood.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DecodedLine {
    /// Line of the file, from 1.
    pub line: u64,
    /// Time in UTC; for a clock that is not the calendar's, its seconds.
    pub time_utc: String,
    /// `read`, `write` or `trim`.
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
    pub format: String,
    /// `none`, `gzip`, `zstd` or `xz`.
    pub compression: &'static str,
    /// SHA-256 of the file's bytes, in hexadecimal.
    pub sha256: String,
    /// Units of the columns, in words.
    pub units: &'static str,
    /// Which column is what, as `workload.columns` would say it; absent if the format says it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub columns: Option<String>,
    /// Volume of the first record: host and disk, device, unit or file.
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
    /// Trims among them.
    pub trims: u64,
    /// Flushes among them, and in front of others of them.
    pub flushes: u64,
    /// Writes with force unit access among them.
    pub fua_writes: u64,
    /// Earliest time in UTC; for a clock that is not the calendar's, its seconds.
    pub first_time_utc: String,
    /// Latest time, likewise.
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
    /// Records of another volume than the first record's.
    pub other_volumes: u64,
    /// Volumes named in the file.
    pub volumes: u64,
    /// Records left out because they are not of the one volume asked for.
    pub left_out: u64,
    /// Trims that were left out because the options say so.
    pub discards: u64,
    /// Requests without data that are no flushes, left out.
    pub no_data: u64,
    /// Lines that are legal and no request.
    pub other_lines: u64,
    /// Grain of the clock in nanoseconds if it is a millisecond or coarser, otherwise 0.
    pub coarse_clock_ns: u64,
    /// Whether there are several records and all have the same time.
    pub untimed: bool,
    /// Whether the last line has no line end, as where a file was cut.
    pub unended: bool,
}

/// What is gathered record by record.
struct CheckTally {
    first_lines: Vec<DecodedLine>,
    records: u64,
    reads: u64,
    writes: u64,
    trims: u64,
    flushes: u64,
    fua_writes: u64,
    times: (u64, u64),
    bytes: (u64, u64),
    sectors: SectorSet,
    previous_time: u64,
    backward_steps: u64,
    largest_step: u64,
}

impl CheckTally {
    fn new() -> CheckTally {
        CheckTally {
            first_lines: Vec::with_capacity(SHOWN),
            records: 0,
            reads: 0,
            writes: 0,
            trims: 0,
            flushes: 0,
            fua_writes: 0,
            times: (u64::MAX, 0),
            bytes: (u64::MAX, 0),
            sectors: SectorSet::default(),
            previous_time: 0,
            backward_steps: 0,
            largest_step: 0,
        }
    }

    fn add(&mut self, record: &TraceRecord, scale: &TimeScale) {
        let TraceRecord { time, offset, bytes, kind, durability, .. } = *record;
        if self.first_lines.len() < SHOWN {
            self.first_lines.push(decoded(record, scale));
        }
        match kind {
            RequestKind::Read => self.reads += 1,
            RequestKind::Write => self.writes += 1,
            RequestKind::Trim => self.trims += 1,
            RequestKind::Flush => self.flushes += 1,
            RequestKind::Zone(_) => {}
        }
        self.records += 1;
        self.flushes += u64::from(durability.preflush);
        self.fua_writes += u64::from(durability.fua);
        self.times = (self.times.0.min(time), self.times.1.max(time));
        if kind != RequestKind::Flush {
            self.bytes = (self.bytes.0.min(offset), self.bytes.1.max(offset + u64::from(bytes) - 1));
        }
        if matches!(kind, RequestKind::Read | RequestKind::Write) {
            self.sectors.add(offset, bytes);
        }
        let step = self.previous_time.saturating_sub(time);
        self.backward_steps += u64::from(step > 0);
        self.largest_step = self.largest_step.max(step);
        self.previous_time = time;
    }
}

/// Reads a whole trace and says how it was understood. Addresses are taken as they are, and all
/// volumes for one.
///
/// # Errors
/// Whatever a run would refuse, and times outside 1980 to 2099 where the clock is the calendar's.
pub fn check(path: &Path, format: Option<TraceFormat>) -> Result<CheckReport, TraceError> {
    check_with(path, &TraceOptions { format, ..TraceOptions::default() })
}

/// What [`check`] says, of all volumes or of one.
pub fn check_with(path: &Path, options: &TraceOptions) -> Result<CheckReport, TraceError> {
    let mut records = RecordReader::open(path, options, true)?;
    let scale = *records.scale();
    let (mut tally, mut window) = (CheckTally::new(), ReorderWindow::default());
    while let Some(record) = records.next()? {
        tally.add(&record, &scale);
        refuse_too_wide(tally.sectors.chunks())?;
        window.push(record);
        if !window.has_room() {
            window.pop();
        }
    }
    while window.pop().is_some() {}
    Ok(report(&records, tally, &window))
}

fn report(records: &RecordReader, tally: CheckTally, window: &ReorderWindow) -> CheckReport {
    let (scale, counts) = (records.scale(), records.counts);
    let (first_time, last_time) = tally.times;
    let seconds = |ticks: u64| ticks as f64 * scale.tick_ns as f64 / 1e9;
    CheckReport {
        path: records.path().display().to_string(),
        format: records.format_name().to_owned(),
        compression: records.compression().name(),
        sha256: records.sha256.clone().unwrap_or_default(),
        units: records.format().units(),
        columns: records.columns(),
        volume: records.volume(),
        header: counts.header,
        lines: records.line,
        records: tally.records,
        reads: tally.reads,
        writes: tally.writes,
        trims: tally.trims,
        flushes: tally.flushes,
        fua_writes: tally.fua_writes,
        first_time_utc: instant(first_time, scale),
        last_time_utc: instant(last_time, scale),
        span_s: seconds(last_time.saturating_sub(first_time)),
        first_byte: if tally.bytes.0 == u64::MAX { 0 } else { tally.bytes.0 },
        last_byte: tally.bytes.1,
        footprint: tally.sectors.footprint(),
        first_lines: tally.first_lines,
        backward_steps: tally.backward_steps,
        largest_backward_step_s: seconds(tally.largest_step),
        reordered: window.reordered,
        clamped: window.clamped,
        other_volumes: counts.other_volumes,
        volumes: records.volumes(),
        left_out: counts.left_out,
        discards: counts.discards,
        no_data: counts.no_data,
        other_lines: counts.other_lines,
        coarse_clock_ns: records.coarse_clock_ns(),
        untimed: records.clock_is_still(),
        unended: records.is_unended(),
    }
}

fn decoded(record: &TraceRecord, scale: &TimeScale) -> DecodedLine {
    DecodedLine {
        line: record.line,
        time_utc: instant(record.time, scale),
        kind: record.kind.name(),
        offset_bytes: record.offset,
        bytes: record.bytes,
    }
}

/// A time as `2007-02-22 17:00:00.0000000`, or as `26.214000000 s` of a clock of its own; with as
/// many decimals as the tick has.
fn instant(ticks: u64, scale: &TimeScale) -> String {
    let a_second = scale.ticks_a_second();
    let decimals = a_second.ilog10() as usize;
    let (second, part) = match scale.epoch {
        Some(epoch) => {
            let since = ticks.saturating_sub(epoch);
            (utc(since / a_second), since % a_second)
        }
        None => ((ticks / a_second).to_string(), ticks % a_second),
    };
    let fraction = if decimals > 0 { format!(".{part:0decimals$}") } else { String::new() };
    let unit = if scale.epoch.is_none() { " s" } else { "" };
    format!("{second}{fraction}{unit}")
}

/// Seconds since 1970 as a date and time. The date is found with the civil calendar whose years
/// begin in March, so that a leap day is a year's last; eras are 400 years of 146,097 days.
fn utc(seconds: u64) -> String {
    let days = seconds / 86_400 + 719_468;
    let (era, day_of_era) = (days / 146_097, days % 146_097);
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * from_march + 2) / 5 + 1;
    let month = if from_march < 10 { from_march + 3 } else { from_march - 9 };
    let year = era * 400 + year_of_era + u64::from(month <= 2);
    let (hour, minute, second) = (seconds / 3_600 % 24, seconds / 60 % 60, seconds % 60);
    format!("{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02}")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Seconds from 1601 to 1970.
    const FILETIME_EPOCH_S: u64 = 11_644_473_600;

    #[test]
    fn w150_filetimes_as_dates() {
        let utc = |ticks| instant(ticks, &TraceFormat::Msr.facts().time);
        assert_eq!(utc(128_166_372_000_000_000), "2007-02-22 17:00:00.0000000");
        assert_eq!(utc(119_600_064_000_000_000), "1980-01-01 00:00:00.0000000");
        assert_eq!(utc(157_469_183_999_999_999), "2099-12-31 23:59:59.9999999");
        assert_eq!(utc((FILETIME_EPOCH_S + 951_782_400) * 10_000_000), "2000-02-29 00:00:00.0000000");
    }

    #[test]
    fn w151_other_clocks() {
        let shown = |format: TraceFormat, ticks| instant(ticks, &format.facts().time);
        assert_eq!(shown(TraceFormat::Tencent, 1_538_323_200), "2018-09-30 16:00:00");
        assert_eq!(shown(TraceFormat::Alibaba, 1_577_808_144_360_767), "2019-12-31 16:02:24.360767");
        assert_eq!(shown(TraceFormat::Spc, 26_214_000), "0.026214000 s");
        assert_eq!(shown(TraceFormat::Fio, 1_500_000), "1.500000 s");
    }
}
