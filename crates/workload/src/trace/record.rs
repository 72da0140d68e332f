//! One record of a trace, and what else a line can be.

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
    /// Never 0.
    pub bytes: u32,
    /// Number of the volume in the order of first appearance.
    pub volume: u16,
    pub kind: RequestKind,
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
        let (offset, bytes) = extent;
        ParsedLine::Request(TraceRecord { time, offset, line: 0, bytes, volume: 0, kind }, name)
    }
}

/// A legal line that is no request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OtherLine {
    /// An event, action or summary that concerns no request of its own.
    Ignored,
    /// A flush, or another request without data.
    NoData,
}
