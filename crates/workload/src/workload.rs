//! One type for everything that yields requests.

use std::fmt;

use pumice_types::HostRequest;
use serde::Serialize;

use crate::TraceError;
use crate::fat::FatWorkload;
use crate::generator::Generator;
use crate::placement::Placer;
use crate::trace::Trace;
use crate::twins::Twin;

/// A source of host requests in the order of their arrival; the first arrives at 0.
#[derive(Debug)]
pub enum Workload {
    /// A recorded trace.
    Trace(Box<Trace>),
    /// A synthetic stand-in for a trace.
    Twin(Box<Twin>),
    /// A file system in use.
    Fat(Box<FatWorkload>),
    /// Random addresses.
    Uniform(Box<Generator>),
    /// Ascending addresses.
    Sequential(Box<Generator>),
    /// Addresses and sizes from any of the generators' distributions.
    Synthetic(Box<Generator>),
}

/// What a workload had to change or overlook so far. Anything but 0 deserves a warning.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Notes {
    /// Lines read from the file, header included.
    pub lines: u64,
    /// Whether line 1 was taken for a header.
    pub header: bool,
    /// Records whose time lies before that of an earlier line, put back into order.
    pub reordered: u64,
    /// Records too late to be put back into order: they arrive with the record before them.
    pub clamped: u64,
    /// Requests whose address was taken modulo the device's capacity.
    pub wrapped: u64,
    /// Requests moved back so as not to cross the device's end or a compacted region's end.
    pub moved: u64,
    /// Records of another volume (host and disk, device, unit, file) than the first record's, where
    /// all share one address space.
    pub other_volumes: u64,
    /// Records whose time is no date between 1980 and 2100 though the format's clock is the
    /// calendar's; taken as they are.
    pub unlikely_times: u64,
    /// Records left out because they are not of the one volume asked for.
    pub left_out: u64,
    /// Trims left out: all if the options say so, and where addresses are compacted those of bytes
    /// that nothing had touched.
    pub discards: u64,
    /// Flushes and other requests without data, left out.
    pub no_data: u64,
    /// Lines that are legal and no request: events before and after the issue, actions on files,
    /// summaries.
    pub other_lines: u64,
    /// Grain of the trace's clock in nanoseconds if it is a millisecond or coarser, otherwise 0:
    /// requests within a grain arrive at once.
    pub coarse_clock_ns: u64,
    /// Steps of more than a day from one request to the next, kept as they are.
    pub clock_jumps: u64,
    /// Whether there are several records and all have the same time, so that all arrive at 0.
    pub untimed: bool,
}

/// A fact about a workload, for result documents.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Fact {
    /// Words.
    Text(String),
    /// A whole number.
    Count(u64),
    /// A number.
    Real(f64),
}

impl fmt::Display for Fact {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fact::Text(text) => f.write_str(text),
            Fact::Count(count) => count.fmt(f),
            Fact::Real(real) => real.fmt(f),
        }
    }
}

/// What the placing of addresses changed.
fn placed(placer: &Placer) -> Notes {
    Notes { wrapped: placer.wrapped, moved: placer.moved, ..Notes::default() }
}

impl Workload {
    /// The next request, `None` after the last. Arrivals never decrease.
    ///
    /// # Errors
    /// A bad line of a trace, or a request that does not fit the device.
    #[inline]
    pub fn next_request(&mut self) -> Result<Option<HostRequest>, TraceError> {
        match self {
            Workload::Trace(trace) => trace.next_request(),
            Workload::Twin(twin) => twin.next_request(),
            Workload::Fat(fat) => fat.next_request(),
            Workload::Uniform(generator) | Workload::Sequential(generator) | Workload::Synthetic(generator) => {
                Ok(generator.next_request())
            }
        }
    }

    /// Number of requests in all, if it is known beforehand: never for a trace or a
    /// file system.
    pub fn requests_expected(&self) -> Option<u64> {
        match self {
            Workload::Trace(_) | Workload::Fat(_) => None,
            Workload::Twin(twin) => Some(twin.requests()),
            Workload::Uniform(generator) | Workload::Sequential(generator) | Workload::Synthetic(generator) => {
                Some(generator.requests())
            }
        }
    }

    /// Share of the work done, 0 to 1: bytes of the file read, pages written by a
    /// file system, or requests issued. `None` if the
    /// file's length is unknown (a pipe).
    pub fn progress(&self) -> Option<f64> {
        let share = |issued: u64, of: u64| Some(if of == 0 { 1.0 } else { issued as f64 / of as f64 });
        match self {
            Workload::Trace(trace) => trace.progress(),
            Workload::Fat(fat) => Some(fat.progress()),
            Workload::Twin(twin) => share(twin.issued(), twin.requests()),
            Workload::Uniform(generator) | Workload::Sequential(generator) | Workload::Synthetic(generator) => {
                share(generator.issued(), generator.requests())
            }
        }
    }

    /// What was changed or overlooked so far.
    pub fn notes(&self) -> Notes {
        match self {
            Workload::Trace(trace) => trace.notes(),
            Workload::Twin(twin) => placed(twin.placer()),
            Workload::Fat(fat) => placed(fat.placer()),
            Workload::Uniform(_) | Workload::Sequential(_) | Workload::Synthetic(_) => Notes::default(),
        }
    }

    /// What is known about the workload, by name: a twin's parameters and published figures, a
    /// generator's options, a trace's path, format, compression and (once it was read to its end)
    /// the SHA-256 of the file's bytes.
    pub fn facts(&self) -> Vec<(&'static str, Fact)> {
        match self {
            Workload::Trace(trace) => trace.facts(),
            Workload::Twin(twin) => twin.facts(),
            Workload::Fat(fat) => fat.facts(),
            Workload::Uniform(generator) | Workload::Sequential(generator) | Workload::Synthetic(generator) => {
                generator.facts()
            }
        }
    }
}
