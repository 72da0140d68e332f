//! The ASCII format of DiskSim: `time device block size flags`, separated by blanks, with the time
//! in milliseconds as a real number, blocks of 512 bytes, and a read where bit 0 of the flags is
//! set. The other flags are not used.

use pumice_types::RequestKind;

use crate::trace::Record;
use crate::trace::columns::{Rule, Separator, Table};
use crate::trace::fields::{Cursor, device_and_extent};

pub(super) const TABLE: Table = Table {
    what: "a DiskSim",
    separator: Separator::Blanks,
    columns: &[
        ("time", Rule::Real(6)),
        ("device", Rule::Whole),
        ("block", Rule::SectorAddress),
        ("size", Rule::Sectors),
        ("flags", Rule::Whole),
    ],
};

/// One line, parsed with its time in nanoseconds, and its device; `None` if it is anything but a
/// record.
#[inline]
pub(super) fn parse(line: &[u8]) -> Option<(Record, &[u8])> {
    let mut at = Cursor::new(line);
    at.skip_blanks();
    let time = at.decimal(6)?;
    let (device, (offset, bytes)) = device_and_extent(&mut at)?;
    let flags = at.whole()?;
    at.skip_blanks();
    at.end()?;
    let kind = if flags & 1 == 1 { RequestKind::Read } else { RequestKind::Write };
    Some((Record { time, offset, line: 0, bytes, volume: 0, kind }, device))
}
