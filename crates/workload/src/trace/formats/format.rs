//! What a format of trace files is made of. Each format is one file in `formats/`.

use std::io;

use pumice_types::RequestKind;

use crate::source::error::excerpt;
use crate::trace::columns::ColumnTable;
use crate::trace::record::ParsedLine;
use crate::trace::record::sample::{Likeness, Sample};
use crate::trace::record::time_scale::TimeScale;

/// A format of trace files. A value parses lines and remembers what it must from one to the next.
pub(in crate::trace) trait LineFormat: Default {
    /// What is known about the format.
    const FACTS: FormatFacts;

    /// One line, parsed; `None` if the format does not allow it.
    fn parse<'a>(&mut self, line: &'a [u8]) -> Option<ParsedLine<'a>>;

    /// Which column is what, as `workload.columns` would say it, once line 1 was read; `None` if the format says it.
    fn layout_text(&self) -> Option<String> {
        None
    }

    /// Whether its lines say the streams of writes, once line 1 was read.
    fn names_streams(&self) -> bool {
        false
    }

    /// What is wrong with a line that [`LineFormat::parse`] refuses, and what is allowed. A format without columns
    /// has to say it itself.
    fn explain(&self, line: &[u8]) -> String {
        match Self::FACTS.columns {
            Some(columns) => columns.explain(line),
            None => format!("{} found; it is no line of format {}", excerpt(line), Self::FACTS.name),
        }
    }
}

/// What is known about a format, apart from how its lines are parsed.
pub(crate) struct FormatFacts {
    /// The name that users give.
    pub name: &'static str,
    /// What it is, in words.
    pub about: &'static str,
    /// Units of the columns, in words.
    pub units: &'static str,
    /// How it tells time.
    pub time: TimeScale,
    /// Columns of a line, if all lines are alike.
    pub(in crate::trace) columns: Option<&'static ColumnTable>,
    /// Whether it has trims.
    pub trims: bool,
    /// Whether it has flushes.
    pub flushes: bool,
    /// Whether it has commands to zones.
    pub zones: bool,
    /// Beginnings of files that content recognises.
    pub examples: &'static [&'static str],
    /// How well the first lines of a file fit.
    pub(in crate::trace) likeness: fn(&Sample<'_>) -> Likeness,
    /// Whether a volume that the records call by the first name may also be called by the second.
    pub(in crate::trace) also_called: fn(&[u8], &str) -> bool,
    /// How it is written; `None` if it is only read.
    pub writing: Option<Writing>,
}

impl FormatFacts {
    /// A format that has reads and writes alone, is only read, and of which each file says more.
    pub(in crate::trace) const PLAIN: FormatFacts = FormatFacts {
        name: "",
        about: "",
        units: "",
        time: TimeScale { tick_ns: 1, decimals: 0, epoch: None, column: "time", allowed: "" },
        columns: None,
        trims: false,
        flushes: false,
        zones: false,
        examples: &[],
        likeness: |_| Likeness::No,
        also_called: |_, _| false,
        writing: None,
    };
}

/// How a format is written.
pub(crate) struct Writing {
    /// Grain of the first byte, in bytes: requests are widened to it.
    pub address_grain: u64,
    /// Grain of the length, in bytes, likewise.
    pub size_grain: u64,
    /// Whether a line says that a write has force unit access.
    pub fua: bool,
    /// Lines in front of the first request, each with its line feed.
    pub head: &'static str,
    /// Lines in front of the first request where lines say the stream of each; `None` if the format cannot say it.
    pub head_with_streams: Option<&'static str>,
    /// Writes one request and a line feed.
    pub line: fn(&mut dyn io::Write, &WrittenRequest<'_>) -> io::Result<()>,
    /// Lines behind the last request, from its time in ticks.
    pub tail: fn(u64) -> String,
}

impl Writing {
    /// Lines of requests alone, in bytes.
    pub(in crate::trace) const IN_BYTES: Writing = Writing {
        address_grain: 1,
        size_grain: 1,
        fua: false,
        head: "",
        head_with_streams: None,
        line: |_, _| Ok(()),
        tail: |_| String::new(),
    };

    /// Lines of requests alone, in sectors.
    pub(in crate::trace) const IN_SECTORS: Writing =
        Writing { address_grain: SECTOR_BYTES, size_grain: SECTOR_BYTES, ..Writing::IN_BYTES };
}

/// A request on the grains of its format.
pub(crate) struct WrittenRequest<'a> {
    /// Ticks of the format's clock.
    pub time: u64,
    /// The format's clock.
    pub scale: &'a TimeScale,
    /// First byte.
    pub offset: u64,
    /// Length in bytes.
    pub bytes: u64,
    pub kind: RequestKind,
    /// Whether it is a write with force unit access.
    pub fua: bool,
    /// Stream of the request, if the lines say it.
    pub stream: Option<u8>,
}

impl WrittenRequest<'_> {
    /// `R` or `W`.
    pub fn letter(&self) -> char {
        if self.is_read() { 'R' } else { 'W' }
    }

    pub fn is_read(&self) -> bool {
        self.kind == RequestKind::Read
    }

    /// First sector and number of sectors.
    pub fn sectors(&self) -> (u64, u64) {
        (self.offset / SECTOR_BYTES, self.bytes / SECTOR_BYTES)
    }
}

/// Bytes of the sectors that formats count in.
pub(in crate::trace) const SECTOR_BYTES: u64 = 512;
