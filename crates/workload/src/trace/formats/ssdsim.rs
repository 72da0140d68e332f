//! The ASCII format that SSDSim and MQSim share: `time device LBA sectors type`, separated by
//! blanks, with the time in whole nanoseconds, sectors of 512 bytes, 1 for a read and 0 for a write.

use pumice_types::RequestKind;

use crate::trace::columns::{ColumnRule, ColumnTable, Role, Separator};
use crate::trace::formats::format::{FormatFacts, LineFormat, Writing};
use crate::trace::record::ParsedLine;
use crate::trace::record::fields::{Cursor, device_and_extent};
use crate::trace::record::sample::{Likeness, SimulatorTimes};
use crate::trace::record::time_scale::TimeScale;

const COLUMNS: ColumnTable = ColumnTable {
    what: "an SSDSim",
    separator: Separator::Blanks,
    columns: &[
        ("time", ColumnRule::Whole, Some(Role::Time)),
        ("device", ColumnRule::Whole, Some(Role::Volume)),
        ("LBA", ColumnRule::SectorAddress, Some(Role::Offset)),
        ("sectors", ColumnRule::Sectors, Some(Role::Size)),
        ("type", ColumnRule::Either("0", "1"), Some(Role::Op)),
    ],
    also: &[],
};

/// The parser.
#[derive(Default)]
pub(crate) struct SsdSim;

impl LineFormat for SsdSim {
    const FACTS: FormatFacts = FormatFacts {
        name: "ssdsim",
        about: "ASCII format that SSDSim and MQSim share",
        units: "time: nanoseconds; LBA and size: sectors of 512 bytes; 1 is a read",
        time: TimeScale { tick_ns: 1, decimals: 0, epoch: None, column: "time", allowed: "nanoseconds" },
        columns: Some(&COLUMNS),
        examples: &["26214000 1 240840 6 0\n", "0 0 303567 7 1\n0 0 303567 7 1\n"],
        likeness: |sample| match sample.simulator_times() {
            Some(SimulatorTimes::Nanoseconds) => Likeness::Likely,
            Some(SimulatorTimes::Either(why)) => Likeness::Possible { why, sign: "whole nanoseconds" },
            Some(SimulatorTimes::Milliseconds) | None => Likeness::No,
        },
        writing: Some(Writing {
            line: |out, r| {
                let (first, count) = r.sectors();
                writeln!(out, "{} 0 {first} {count} {}", r.time, u8::from(r.is_read()))
            },
            ..Writing::IN_SECTORS
        }),
        ..FormatFacts::PLAIN
    };

    #[inline]
    fn parse<'a>(&mut self, line: &'a [u8]) -> Option<ParsedLine<'a>> {
        let mut at = Cursor::new(line);
        at.skip_blanks();
        let time = at.whole()?;
        let (device, extent) = device_and_extent(&mut at)?;
        let kind = match at.any()? {
            b'1' => RequestKind::Read,
            b'0' => RequestKind::Write,
            _ => return None,
        };
        at.skip_blanks();
        at.end()?;
        Some(ParsedLine::request(time, extent, kind, device))
    }
}
