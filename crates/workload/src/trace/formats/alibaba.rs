//! The CSV of Alibaba's block traces of 2020: `device_id,opcode,offset,length,timestamp` with
//! offset and length in bytes and the time in microseconds since 1970.

use crate::trace::columns::{ColumnRule, ColumnTable, Role, Separator};
use crate::trace::formats::format::{FormatFacts, LineFormat, Writing};
use crate::trace::record::ParsedLine;
use crate::trace::record::fields::{Cursor, letter, size, span};
use crate::trace::record::sample::{Likeness, is_letter};
use crate::trace::record::time_scale::TimeScale;

const COLUMNS: ColumnTable = ColumnTable {
    what: "an Alibaba",
    separator: Separator::Comma,
    columns: &[
        ("device_id", ColumnRule::Whole, Some(Role::Volume)),
        ("opcode", ColumnRule::Either("R", "W"), Some(Role::Op)),
        ("offset", ColumnRule::Whole, Some(Role::Offset)),
        ("length", ColumnRule::Bytes, Some(Role::Size)),
        ("timestamp", ColumnRule::Whole, Some(Role::Time)),
    ],
    also: &[],
};

/// The parser.
#[derive(Default)]
pub(crate) struct Alibaba;

impl LineFormat for Alibaba {
    const FACTS: FormatFacts = FormatFacts {
        name: "alibaba",
        about: "CSV of Alibaba's block traces of 2020",
        units: "time: microseconds since 1970; offset and length: bytes",
        time: TimeScale {
            tick_ns: 1_000,
            decimals: 0,
            epoch: Some(0),
            column: "timestamp",
            allowed: "microseconds since 1970 in the years 1980 to 2099",
        },
        columns: Some(&COLUMNS),
        examples: &[
            "419,W,8792731648,16384,1577808144360767\n",
            "device_id,opcode,offset,length,timestamp\n419,W,8792731648,16384,1577808144360767\n",
        ],
        likeness: |sample| match sample.fields()[..] {
            [_, opcode, _, _, _] => Likeness::likely(is_letter(opcode)),
            _ => Likeness::No,
        },
        writing: Some(Writing {
            line: |out, r| writeln!(out, "0,{},{},{},{}", r.letter(), r.offset, r.bytes, r.time),
            ..Writing::IN_BYTES
        }),
        ..FormatFacts::PLAIN
    };

    #[inline]
    fn parse<'a>(&mut self, line: &'a [u8]) -> Option<ParsedLine<'a>> {
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
        Some(ParsedLine::request(time, span(offset, size(length)?)?, kind, device))
    }
}
