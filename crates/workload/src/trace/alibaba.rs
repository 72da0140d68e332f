//! The CSV of Alibaba's block traces of 2020: `device_id,opcode,offset,length,timestamp` with
//! offset and length in bytes and the time in microseconds since 1970.

use pumice_types::RequestKind;

use crate::trace::Record;
use crate::trace::columns::{Rule, Separator, Table};
use crate::trace::fields::{Cursor, size, span};

pub(super) const TABLE: Table = Table {
    what: "an Alibaba",
    separator: Separator::Comma,
    columns: &[
        ("device_id", Rule::Whole),
        ("opcode", Rule::Either("R", "W")),
        ("offset", Rule::Whole),
        ("length", Rule::Bytes),
        ("timestamp", Rule::Whole),
    ],
};

/// One line, parsed, and its device; `None` if it is anything but a record.
#[inline]
pub(super) fn parse(line: &[u8]) -> Option<(Record, &[u8])> {
    let mut at = Cursor::new(line);
    let device = at.digits()?;
    at.byte(b',')?;
    let kind = letter(at.any()?)?;
    at.byte(b',')?;
    let offset = at.whole()?;
    at.byte(b',')?;
    let length = at.whole()?;
    at.byte(b',')?;
    let time = at.whole()?;
    at.end()?;
    let (offset, bytes) = span(offset, size(length)?)?;
    Some((Record { time, offset, line: 0, bytes, volume: 0, kind }, device))
}

/// `R` or `W`, in either case.
#[inline]
pub(super) fn letter(letter: u8) -> Option<RequestKind> {
    match letter {
        b'R' | b'r' => Some(RequestKind::Read),
        b'W' | b'w' => Some(RequestKind::Write),
        _ => None,
    }
}
