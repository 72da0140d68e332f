//! The formats by name, with the clock of each.

use std::ops::RangeInclusive;
use std::str::FromStr;

use crate::TraceError;
use crate::error::excerpt;

/// A format of trace files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TraceFormat {
    /// The CSV of the MSR Cambridge collection, named `msr`.
    MsrCsv,
    /// The CSV of Alibaba's block traces of 2020, named `alibaba`.
    Alibaba,
    /// The CSV of Tencent's cloud block storage, named `tencent`.
    Tencent,
    /// The Storage Performance Council's format, as UMass has it, named `spc`.
    Spc,
    /// The ASCII format that SSDSim and MQSim share, named `ssdsim`.
    SsdSim,
    /// The ASCII format of DiskSim, named `disksim`.
    DiskSim,
    /// The CSV of the Systor '17 traces, named `systor`.
    Systor,
    /// The text that blkparse prints by default, named `blkparse`.
    BlkParse,
    /// The iologs of fio, versions 2 and 3, named `fio`.
    Fio,
}

/// How a format tells time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TimeScale {
    /// Nanoseconds of a tick, the unit that parsed times have.
    pub tick_ns: u64,
    /// Decimals that a written time has behind the point.
    pub decimals: usize,
    /// Ticks at 1970 for a clock of the calendar, `None` for a clock of its own.
    pub epoch: Option<u64>,
    /// Name of the column.
    pub column: &'static str,
    /// What times are allowed, in words.
    pub allowed: &'static str,
}

/// Seconds from 1601 to 1970.
pub(crate) const FILETIME_EPOCH_S: u64 = 11_644_473_600;

/// Seconds from 1970 to 1980, and to the end of 2099.
const LIKELY_S: (u64, u64) = (315_532_800, 4_102_444_799);

impl TraceFormat {
    /// Every format, in the order of the variants.
    pub const ALL: [TraceFormat; 9] = [
        TraceFormat::MsrCsv,
        TraceFormat::Alibaba,
        TraceFormat::Tencent,
        TraceFormat::Spc,
        TraceFormat::SsdSim,
        TraceFormat::DiskSim,
        TraceFormat::Systor,
        TraceFormat::BlkParse,
        TraceFormat::Fio,
    ];

    /// The names that can be given, in the order of the variants.
    pub const NAMES: [&'static str; 9] =
        ["msr", "alibaba", "tencent", "spc", "ssdsim", "disksim", "systor", "blkparse", "fio"];

    /// This format's name.
    pub fn name(self) -> &'static str {
        TraceFormat::NAMES[self as usize]
    }

    /// Units of the columns, in words.
    pub fn units(self) -> &'static str {
        match self {
            TraceFormat::MsrCsv => "time: Windows filetime, ticks of 100 ns since 1601; offset and size: bytes",
            TraceFormat::Alibaba => "time: microseconds since 1970; offset and length: bytes",
            TraceFormat::Tencent => "time: seconds since 1970; offset and size: sectors of 512 bytes",
            TraceFormat::Spc => "time: seconds; LBA: sectors of 512 bytes; size: bytes",
            TraceFormat::SsdSim => "time: nanoseconds; LBA and size: sectors of 512 bytes; 1 is a read",
            TraceFormat::DiskSim => "time: milliseconds; block and size: sectors of 512 bytes; flag 1 is a read",
            TraceFormat::Systor => "time: seconds since 1970; offset and size: bytes",
            TraceFormat::BlkParse => "time: seconds, of D events; sector and size: sectors of 512 bytes",
            TraceFormat::Fio => "time: microseconds (v2: waits only); offset and length: bytes",
        }
    }

    /// How this format tells time.
    pub(crate) fn time_scale(self) -> TimeScale {
        let scale = |tick_ns, decimals, epoch, column, allowed| TimeScale { tick_ns, decimals, epoch, column, allowed };
        match self {
            TraceFormat::MsrCsv => {
                let allowed = "Windows filetimes (100 ns ticks since 1601) of the years 1980 to 2099";
                scale(100, 0, Some(FILETIME_EPOCH_S * 10_000_000), "Timestamp", allowed)
            }
            TraceFormat::Alibaba => {
                scale(1_000, 0, Some(0), "timestamp", "microseconds since 1970 in the years 1980 to 2099")
            }
            TraceFormat::Tencent => {
                scale(1_000_000_000, 0, Some(0), "Timestamp", "seconds since 1970 in the years 1980 to 2099")
            }
            TraceFormat::Systor => scale(1, 9, Some(0), "Timestamp", "seconds since 1970 in the years 1980 to 2099"),
            TraceFormat::Spc => scale(1, 9, None, "Timestamp", "seconds"),
            TraceFormat::SsdSim => scale(1, 0, None, "time", "nanoseconds"),
            TraceFormat::DiskSim => scale(1, 6, None, "time", "milliseconds"),
            TraceFormat::BlkParse => scale(1, 9, None, "time", "seconds"),
            TraceFormat::Fio => scale(1_000, 0, None, "timestamp", "microseconds"),
        }
    }
}

impl TimeScale {
    /// Times in ticks that can be the time of a recorded request: of 1980 to 2099 by the calendar,
    /// any of a clock of its own.
    pub fn likely(&self) -> RangeInclusive<u64> {
        let ticks_a_second = 1_000_000_000 / self.tick_ns;
        let at = |epoch, seconds: u64| epoch + seconds * ticks_a_second;
        match self.epoch {
            Some(epoch) => at(epoch, LIKELY_S.0)..=at(epoch, LIKELY_S.1) + (ticks_a_second - 1),
            None => 0..=u64::MAX,
        }
    }

    /// A time as the format writes it.
    pub fn written(&self, ticks: u64) -> String {
        let unit = 10u64.pow(self.decimals as u32);
        match self.decimals {
            0 => ticks.to_string(),
            decimals => format!("{}.{:0decimals$}", ticks / unit, ticks % unit),
        }
    }
}

impl FromStr for TraceFormat {
    type Err = TraceError;

    fn from_str(name: &str) -> Result<TraceFormat, TraceError> {
        let found = TraceFormat::ALL.into_iter().find(|format| format.name() == name);
        found.ok_or_else(|| {
            TraceError::option(format!(
                "trace format {} found; allowed are {}",
                excerpt(name.as_bytes()),
                TraceFormat::NAMES.join(", ")
            ))
        })
    }
}
