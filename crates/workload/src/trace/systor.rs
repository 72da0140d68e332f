//! The CSV of the Systor '17 traces: `Timestamp,Response,IOType,LUN,Offset,Size` with times in
//! seconds since 1970, offset and size in bytes. The response time is not used and may be missing.

use crate::trace::Record;
use crate::trace::alibaba::letter;
use crate::trace::columns::{Rule, Separator, Table};
use crate::trace::fields::{Cursor, size, span};

pub(super) const TABLE: Table = Table {
    what: "a Systor",
    separator: Separator::Comma,
    columns: &[
        ("Timestamp", Rule::Real(9)),
        ("Response", Rule::RealOrNothing),
        ("IOType", Rule::Either("R", "W")),
        ("LUN", Rule::Whole),
        ("Offset", Rule::Whole),
        ("Size", Rule::Bytes),
    ],
};

/// One line, parsed with its time in nanoseconds, and its LUN; `None` if it is anything but a
/// record.
#[inline]
pub(super) fn parse(line: &[u8]) -> Option<(Record, &[u8])> {
    let mut at = Cursor::new(line);
    let time = at.decimal(9)?;
    at.byte(b',')?;
    if at.byte(b',').is_none() {
        at.decimal(9)?;
        at.byte(b',')?;
    }
    let kind = letter(at.any()?)?;
    at.byte(b',')?;
    let unit = at.digits()?;
    at.byte(b',')?;
    let offset = at.whole()?;
    at.byte(b',')?;
    let length = at.whole()?;
    at.end()?;
    let (offset, bytes) = span(offset, size(length)?)?;
    Some((Record { time, offset, line: 0, bytes, volume: 0, kind }, unit))
}
