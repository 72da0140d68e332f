//! The ASCII format that SSDSim and MQSim share: `time device LBA sectors type`, separated by
//! blanks, with the time in whole nanoseconds, sectors of 512 bytes, 1 for a read and 0 for a write.

use pumice_types::RequestKind;

use crate::trace::Record;
use crate::trace::columns::{Rule, Separator, Table};
use crate::trace::fields::{Cursor, device_and_extent};

pub(super) const TABLE: Table = Table {
    what: "an SSDSim",
    separator: Separator::Blanks,
    columns: &[
        ("time", Rule::Whole),
        ("device", Rule::Whole),
        ("LBA", Rule::SectorAddress),
        ("sectors", Rule::Sectors),
        ("type", Rule::Either("0", "1")),
    ],
};

/// One line, parsed, and its device; `None` if it is anything but a record.
#[inline]
pub(super) fn parse(line: &[u8]) -> Option<(Record, &[u8])> {
    let mut at = Cursor::new(line);
    at.skip_blanks();
    let time = at.whole()?;
    let (device, (offset, bytes)) = device_and_extent(&mut at)?;
    let kind = match at.any()? {
        b'1' => RequestKind::Read,
        b'0' => RequestKind::Write,
        _ => return None,
    };
    at.skip_blanks();
    at.end()?;
    Some((Record { time, offset, line: 0, bytes, volume: 0, kind }, device))
}
