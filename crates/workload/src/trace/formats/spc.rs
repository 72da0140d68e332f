//! The format of the Storage Performance Council, as the UMass repository's traces have it:
//! `ASU,LBA,Size,Opcode,Timestamp` with the address in blocks of 512 bytes, the size in bytes and
//! the time in seconds. The specification (revision 1.0.1) allows blanks around fields and further
//! fields behind these five; they are not used.

use crate::trace::columns::{ColumnRule, ColumnTable, Role, Separator};
use crate::trace::formats::format::{FormatFacts, LineFormat, SECTOR_BYTES, Writing};
use crate::trace::record::ParsedLine;
use crate::trace::record::fields::{Cursor, letter, size, span};
use crate::trace::record::sample::{Likeness, is_letter};
use crate::trace::record::time_scale::TimeScale;

const COLUMNS: ColumnTable = ColumnTable {
    what: "an SPC",
    separator: Separator::LooseComma,
    columns: &[
        ("ASU", ColumnRule::Whole, Some(Role::Volume)),
        ("LBA", ColumnRule::SectorAddress, Some(Role::Offset)),
        ("Size", ColumnRule::Bytes, Some(Role::Size)),
        ("Opcode", ColumnRule::Either("R", "W"), Some(Role::Op)),
        ("Timestamp", ColumnRule::Real(9), Some(Role::Time)),
    ],
    also: &[],
};

/// The parser.
#[derive(Default)]
pub(crate) struct Spc;

impl LineFormat for Spc {
    const FACTS: FormatFacts = FormatFacts {
        name: "spc",
        about: "format of the Storage Performance Council, as the UMass repository has it",
        units: "time: seconds; LBA: sectors of 512 bytes; size: bytes",
        time: TimeScale { tick_ns: 1, decimals: 9, epoch: None, column: "Timestamp", allowed: "seconds" },
        columns: Some(&COLUMNS),
        examples: &["0,303567,3584,w,0.000000\n", " 0 , 303567 , 3584 , w , 0.5\n"],
        likeness: |sample| match sample.fields()[..] {
            // A letter in the second field is another format's opcode.
            [_, address, _, opcode, _] => Likeness::likely(is_letter(opcode) && !is_letter(address)),
            _ => Likeness::No,
        },
        writing: Some(Writing {
            // The address is a sector's, the size is not.
            address_grain: SECTOR_BYTES,
            line: |out, r| {
                let (first, _) = r.sectors();
                writeln!(out, "0,{first},{},{},{}", r.bytes, r.letter(), r.scale.written(r.time))
            },
            ..Writing::IN_BYTES
        }),
        ..FormatFacts::PLAIN
    };

    #[inline]
    fn parse<'a>(&mut self, line: &'a [u8]) -> Option<ParsedLine<'a>> {
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
        let extent = span(first.checked_mul(SECTOR_BYTES)?, size(length)?)?;
        Some(ParsedLine::request(time, extent, kind, unit))
    }
}

#[inline]
fn comma(at: &mut Cursor<'_>) -> Option<()> {
    at.skip_blanks();
    at.byte(b',')?;
    at.skip_blanks();
    Some(())
}
