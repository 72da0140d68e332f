//! The ASCII format of DiskSim: `time device block size flags`, separated by blanks, with the time
//! in milliseconds as a real number, blocks of 512 bytes, and a read where bit 0 of the flags is
//! set. The other flags are not used.

use pumice_types::RequestKind;

use crate::trace::columns::{ColumnRule, ColumnTable, Role, Separator};
use crate::trace::formats::format::{FormatFacts, LineFormat, Writing};
use crate::trace::record::ParsedLine;
use crate::trace::record::fields::{Cursor, device_and_extent};
use crate::trace::record::sample::{Likeness, SimulatorTimes};
use crate::trace::record::time_scale::TimeScale;

const COLUMNS: ColumnTable = ColumnTable {
    what: "a DiskSim",
    separator: Separator::Blanks,
    columns: &[
        ("time", ColumnRule::Real(6), Some(Role::Time)),
        ("device", ColumnRule::Whole, Some(Role::Volume)),
        ("block", ColumnRule::SectorAddress, Some(Role::Offset)),
        ("size", ColumnRule::Sectors, Some(Role::Size)),
        ("flags", ColumnRule::Whole, Some(Role::Op)),
    ],
    also: &[],
};

/// The parser.
#[derive(Default)]
pub(crate) struct DiskSim;

impl LineFormat for DiskSim {
    const FACTS: FormatFacts = FormatFacts {
        name: "disksim",
        about: "ASCII format of DiskSim",
        units: "time: milliseconds; block and size: sectors of 512 bytes; flag 1 is a read",
        time: TimeScale { tick_ns: 1, decimals: 6, epoch: None, column: "time", allowed: "milliseconds" },
        columns: Some(&COLUMNS),
        examples: &["0.000000\t0 303567 7 0\n", "0 0 303567 7 0\n13.19 1 5 6 1\n", "0 0 303567 7 3\n"],
        likeness: |sample| match sample.simulator_times() {
            Some(SimulatorTimes::Milliseconds) => Likeness::Likely,
            Some(SimulatorTimes::Either(why)) => {
                Likeness::Possible { why, sign: "milliseconds with digits behind the point" }
            }
            Some(SimulatorTimes::Nanoseconds) | None => Likeness::No,
        },
        writing: Some(Writing {
            line: |out, r| {
                let (first, count) = r.sectors();
                writeln!(out, "{} 0 {first} {count} {}", r.scale.written(r.time), u8::from(r.is_read()))
            },
            ..Writing::IN_SECTORS
        }),
        ..FormatFacts::PLAIN
    };

    #[inline]
    fn parse<'a>(&mut self, line: &'a [u8]) -> Option<ParsedLine<'a>> {
        let mut at = Cursor::new(line);
        at.skip_blanks();
        let time = at.decimal(6)?;
        let (device, extent) = device_and_extent(&mut at)?;
        let flags = at.whole()?;
        at.skip_blanks();
        at.end()?;
        let kind = if flags & 1 == 1 { RequestKind::Read } else { RequestKind::Write };
        Some(ParsedLine::request(time, extent, kind, device))
    }
}
