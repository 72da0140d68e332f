//! The CSV of the Systor '17 traces: `Timestamp,Response,IOType,LUN,Offset,Size` with times in
//! seconds since 1970, offset and size in bytes. The response time is not used and may be missing.

use crate::trace::columns::{ColumnRule, ColumnTable, Role, Separator};
use crate::trace::formats::format::{FormatFacts, LineFormat, Writing};
use crate::trace::record::ParsedLine;
use crate::trace::record::fields::{Cursor, letter, size, span};
use crate::trace::record::sample::Likeness;
use crate::trace::record::time_scale::TimeScale;

const COLUMNS: ColumnTable = ColumnTable {
    what: "a Systor",
    separator: Separator::Comma,
    columns: &[
        ("Timestamp", ColumnRule::Real(9), Some(Role::Time)),
        ("Response", ColumnRule::RealOrNothing, None),
        ("IOType", ColumnRule::Either("R", "W"), Some(Role::Op)),
        ("LUN", ColumnRule::Whole, Some(Role::Volume)),
        ("Offset", ColumnRule::Whole, Some(Role::Offset)),
        ("Size", ColumnRule::Bytes, Some(Role::Size)),
    ],
    also: &[],
};

/// The parser.
#[derive(Default)]
pub(crate) struct Systor;

impl LineFormat for Systor {
    const FACTS: FormatFacts = FormatFacts {
        name: "systor",
        about: "CSV of the Systor '17 traces",
        units: "time: seconds since 1970; offset and size: bytes",
        time: TimeScale {
            tick_ns: 1,
            decimals: 9,
            epoch: Some(0),
            column: "Timestamp",
            allowed: "seconds since 1970 in the years 1980 to 2099",
        },
        columns: Some(&COLUMNS),
        examples: &[
            "1456095145.133076000,0.000806000,R,0,899056122368,131072\n",
            "Timestamp,Response,IOType,LUN,Offset,Size\n1456095145.1,,R,0,8,131072\n",
        ],
        likeness: |sample| Likeness::likely(sample.fields().len() == COLUMNS.columns.len()),
        writing: Some(Writing {
            head: "Timestamp,Response,IOType,LUN,Offset,Size\n",
            line: |out, r| writeln!(out, "{},,{},0,{},{}", r.scale.written(r.time), r.letter(), r.offset, r.bytes),
            ..Writing::IN_BYTES
        }),
        ..FormatFacts::PLAIN
    };

    #[inline]
    fn parse<'a>(&mut self, line: &'a [u8]) -> Option<ParsedLine<'a>> {
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
        Some(ParsedLine::request(time, span(offset, size(length)?)?, kind, unit))
    }
}
