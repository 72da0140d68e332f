//! One line of any format.

use crate::trace::columns::Table;
use crate::trace::{Record, TraceFormat, alibaba, blkparse, disksim, fio, msr, spc, ssdsim, systor, tencent};

/// What a line is.
pub(super) enum Line<'a> {
    /// A request (its line and volume left 0) and the name of its volume.
    Record(Record, &'a [u8]),
    /// Something that is no request, and what.
    Other(Other),
}

/// A legal line that is no request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Other {
    /// An event, action or summary that concerns no request of its own.
    Ignored,
    /// A flush, or another request without data.
    NoData,
}

/// The parser of one format with what it remembers from line to line.
pub(super) struct Parser {
    format: TraceFormat,
    blkparse: blkparse::State,
    fio: fio::State,
}

impl Parser {
    pub fn new(format: TraceFormat) -> Parser {
        Parser { format, blkparse: blkparse::State::default(), fio: fio::State::default() }
    }

    pub fn format(&self) -> TraceFormat {
        self.format
    }

    /// One line, parsed. `None` if the format does not allow it; [`Parser::explain`] says why.
    #[inline]
    pub fn parse<'a>(&mut self, line: &'a [u8]) -> Option<Line<'a>> {
        let record = match self.format {
            TraceFormat::MsrCsv => msr::parse(line),
            TraceFormat::Alibaba => alibaba::parse(line),
            TraceFormat::Tencent => tencent::parse(line),
            TraceFormat::Spc => spc::parse(line),
            TraceFormat::SsdSim => ssdsim::parse(line),
            TraceFormat::DiskSim => disksim::parse(line),
            TraceFormat::Systor => systor::parse(line),
            TraceFormat::BlkParse => return self.blkparse.parse(line),
            TraceFormat::Fio => return self.fio.parse(line),
        };
        record.map(|(record, volume)| Line::Record(record, volume))
    }

    /// Whether a first line only names the columns.
    pub fn is_header(&self, line: &[u8]) -> bool {
        table(self.format).is_some_and(|table| table.is_header(line))
    }

    /// What is wrong with a line that [`Parser::parse`] refuses, and what is allowed.
    pub fn explain(&self, line: &[u8]) -> String {
        match (table(self.format), self.format) {
            (Some(table), _) => table.explain(line),
            (None, TraceFormat::BlkParse) => blkparse::explain(line),
            (None, _) => self.fio.explain(line),
        }
    }
}

/// The columns of a format whose lines are all alike.
pub(super) fn table(format: TraceFormat) -> Option<&'static Table> {
    match format {
        TraceFormat::MsrCsv => Some(&msr::TABLE),
        TraceFormat::Alibaba => Some(&alibaba::TABLE),
        TraceFormat::Tencent => Some(&tencent::TABLE),
        TraceFormat::Spc => Some(&spc::TABLE),
        TraceFormat::SsdSim => Some(&ssdsim::TABLE),
        TraceFormat::DiskSim => Some(&disksim::TABLE),
        TraceFormat::Systor => Some(&systor::TABLE),
        TraceFormat::BlkParse | TraceFormat::Fio => None,
    }
}
