//! One record of a trace, and what else a line can be.

pub(crate) mod clock;
pub(crate) mod fields;
pub(crate) mod lines;
pub(crate) mod reorder;
pub(crate) mod sample;
pub(crate) mod time_scale;

use pumice_types::RequestKind;

/// One record of a trace, as read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TraceRecord {
    /// Ticks of the format's clock.
    pub time: u64,
    /// First byte.
    pub offset: u64,
    /// Line of the file, from 1.
    pub line: u64,
    /// 0 for a flush, and for nothing else.
    pub bytes: u32,
    /// Number of the volume in the order of first appearance.
    pub volume: u16,
    pub kind: RequestKind,
    pub durability: Durability,
    /// The stream that the host names for what it writes; 0 if it names none.
    pub stream: u8,
}

/// What a record asks for beside its data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Durability {
    /// A flush comes in front of it.
    pub preflush: bool,
    /// Whether the request is a write with force unit access.
    pub fua: bool,
}

impl TraceRecord {
    /// Records are ordered by time, and at equal times by their line.
    pub fn order(&self) -> (u64, u64) {
        (self.time, self.line)
    }
}

/// What a parser made of a line that its format allows.
pub(crate) enum ParsedLine<'a> {
    /// A request and the name of its volume. The reader fills in the record's line and volume, which are 0 here.
    Request(TraceRecord, &'a [u8]),
    /// Something that is no request.
    Other(OtherLine),
}

impl<'a> ParsedLine<'a> {
    /// A request at `time` on the volume `name`; `extent` is its first byte and its length in bytes.
    #[inline]
    pub fn request(time: u64, extent: (u64, u32), kind: RequestKind, name: &'a [u8]) -> ParsedLine<'a> {
        ParsedLine::lasting(time, extent, kind, Durability::default(), name)
    }

    /// As [`ParsedLine::request`], of a format that says more.
    #[inline]
    pub fn lasting(
        time: u64,
        extent: (u64, u32),
        kind: RequestKind,
        durability: Durability,
        name: &'a [u8],
    ) -> ParsedLine<'a> {
        let (offset, bytes) = extent;
        ParsedLine::Request(TraceRecord { time, offset, line: 0, bytes, volume: 0, kind, durability, stream: 0 }, name)
    }

    /// Gives the request the stream in which the host places its data.
    #[inline]
    pub fn in_stream(self, stream: u8) -> ParsedLine<'a> {
        match self {
            ParsedLine::Request(record, name) => ParsedLine::Request(TraceRecord { stream, ..record }, name),
            ParsedLine::Other(other) => ParsedLine::Other(other),
        }
    }

    /// A flush at `time` of the volume `name`.
    pub fn flush(time: u64, name: &'a [u8]) -> ParsedLine<'a> {
        ParsedLine::request(time, (0, 0), RequestKind::Flush, name)
    }
}

/// A legal line that is no request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OtherLine {
    /// The names of the columns.
    Header,
    /// An event, action or summary that concerns no request of its own.
    Ignored,
    /// A request without data that is no flush.
    NoData,
}
