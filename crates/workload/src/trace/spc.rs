//! The format of the Storage Performance Council, as the UMass repository's traces have it:
//! `ASU,LBA,Size,Opcode,Timestamp` with the address in blocks of 512 bytes, the size in bytes and
//! the time in seconds. The specification (revision 1.0.1) allows blanks around fields and further
//! fields behind these five; they are not used.

use crate::trace::Record;
use crate::trace::alibaba::letter;
use crate::trace::columns::{Rule, Separator, Table};
use crate::trace::fields::{Cursor, size, span};

pub(super) const TABLE: Table = Table {
    what: "an SPC",
    separator: Separator::LooseComma,
    columns: &[
        ("ASU", Rule::Whole),
        ("LBA", Rule::SectorAddress),
        ("Size", Rule::Bytes),
        ("Opcode", Rule::Either("R", "W")),
        ("Timestamp", Rule::Real(9)),
    ],
};

/// One line, parsed with its time in nanoseconds, and its unit (ASU); `None` if it is anything but
/// a record.
#[inline]
pub(super) fn parse(line: &[u8]) -> Option<(Record, &[u8])> {
    let mut at = Cursor::new(line);
    at.skip_blanks();
    let unit = at.digits()?;
    comma(&mut at)?;
    let first = at.whole()?;
    comma(&mut at)?;
    let length = at.whole()?;
    comma(&mut at)?;
    let kind = letter(at.any()?)?;
    comma(&mut at)?;
    let time = at.decimal(9)?;
    at.skip_blanks();
    if at.end().is_none() {
        at.byte(b',')?;
        std::str::from_utf8(at.rest()).ok()?;
    }
    let (offset, bytes) = span(first.checked_mul(512)?, size(length)?)?;
    Some((Record { time, offset, line: 0, bytes, volume: 0, kind }, unit))
}

#[inline]
fn comma(at: &mut Cursor<'_>) -> Option<()> {
    at.skip_blanks();
    at.byte(b',')?;
    at.skip_blanks();
    Some(())
}
