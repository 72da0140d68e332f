//! The CSV of Tencent's cloud block storage: `Timestamp,Offset,Size,IOType,VolumeID` with the time
//! in whole seconds since 1970, offset and size in sectors of 512 bytes, 0 for a read and 1 for a
//! write.

use pumice_types::RequestKind;

use crate::trace::columns::{ColumnRule, ColumnTable, Role, Separator};
use crate::trace::formats::format::{FormatFacts, LineFormat, Writing};
use crate::trace::record::ParsedLine;
use crate::trace::record::fields::{Cursor, sectors};
use crate::trace::record::sample::{Likeness, whole};
use crate::trace::record::time_scale::TimeScale;

const COLUMNS: ColumnTable = ColumnTable {
    what: "a Tencent",
    separator: Separator::Comma,
    columns: &[
        ("Timestamp", ColumnRule::Whole, Some(Role::Time)),
        ("Offset", ColumnRule::SectorAddress, Some(Role::Offset)),
        ("Size", ColumnRule::Sectors, Some(Role::Size)),
        ("IOType", ColumnRule::Either("0", "1"), Some(Role::Op)),
        ("VolumeID", ColumnRule::Whole, Some(Role::Volume)),
    ],
    also: &[],
};

/// The parser.
#[derive(Default)]
pub(crate) struct Tencent;

impl LineFormat for Tencent {
    const FACTS: FormatFacts = FormatFacts {
        name: "tencent",
        about: "CSV of Tencent's cloud block storage",
        units: "time: seconds since 1970; offset and size: sectors of 512 bytes",
        time: TimeScale {
            tick_ns: 1_000_000_000,
            decimals: 0,
            epoch: Some(0),
            column: "Timestamp",
            allowed: "seconds since 1970 in the years 1980 to 2099",
        },
        columns: Some(&COLUMNS),
        examples: &[
            "1538323200,4247200,128,1,1058\n",
            "Timestamp,Offset,Size,IOType,VolumeID\r\n1538323200,4247200,128,1,1058\r\n",
        ],
        likeness: |sample| {
            let fields = sample.fields();
            Likeness::likely(fields.len() == 5 && fields.iter().all(|field| whole(field).is_some()))
        },
        writing: Some(Writing {
            line: |out, r| {
                let (first, count) = r.sectors();
                writeln!(out, "{},{first},{count},{},0", r.time, u8::from(!r.is_read()))
            },
            ..Writing::IN_SECTORS
        }),
        ..FormatFacts::PLAIN
    };

    #[inline]
    fn parse<'a>(&mut self, line: &'a [u8]) -> Option<ParsedLine<'a>> {
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
        Some(ParsedLine::request(time, sectors(first, count)?, kind, volume))
    }
}
