//! The CSV of Tencent's cloud block storage: `Timestamp,Offset,Size,IOType,VolumeID` with the time
//! in whole seconds since 1970, offset and size in sectors of 512 bytes, 0 for a read and 1 for a
//! write.

use pumice_types::RequestKind;

use crate::trace::Record;
use crate::trace::columns::{Rule, Separator, Table};
use crate::trace::fields::{Cursor, sectors};

pub(super) const TABLE: Table = Table {
    what: "a Tencent",
    separator: Separator::Comma,
    columns: &[
        ("Timestamp", Rule::Whole),
        ("Offset", Rule::SectorAddress),
        ("Size", Rule::Sectors),
        ("IOType", Rule::Either("0", "1")),
        ("VolumeID", Rule::Whole),
    ],
};

/// One line, parsed, and its volume; `None` if it is anything but a record.
#[inline]
pub(super) fn parse(line: &[u8]) -> Option<(Record, &[u8])> {
    let mut at = Cursor::new(line);
    let time = at.whole()?;
    at.byte(b',')?;
    let first = at.whole()?;
    at.byte(b',')?;
    let count = at.whole()?;
    at.byte(b',')?;
    let kind = match at.any()? {
        b'0' => RequestKind::Read,
        b'1' => RequestKind::Write,
        _ => return None,
    };
    at.byte(b',')?;
    let volume = at.digits()?;
    at.end()?;
    let (offset, bytes) = sectors(first, count)?;
    Some((Record { time, offset, line: 0, bytes, volume: 0, kind }, volume))
}
