//! The text that `blkparse` prints by default:
//! `major,minor cpu sequence seconds pid action RWBS sector + sectors [process]`.
//!
//! A request is a D event, which is when the block layer hands it to the driver. Every other event
//! is checked for its first six fields and counted. Discards are trims. An F in front of the operation's letter is
//! a flush, which comes before the data if there is any; behind it, force unit access. Whatever else carries no data
//! is counted and not a request. The summary at the end may be there.

use pumice_types::RequestKind;

use crate::source::error::excerpt;
use crate::trace::columns::{ColumnRule, ColumnTable, Role, Separator};
use crate::trace::formats::format::{FormatFacts, LineFormat};
use crate::trace::record::fields::{Cursor, device_numbers, sectors};
use crate::trace::record::sample::{Likeness, Sample};
use crate::trace::record::time_scale::TimeScale;
use crate::trace::record::{Durability, OtherLine, ParsedLine};

/// The fields in front of an action's own.
const HEAD: ColumnTable = ColumnTable {
    what: "a blkparse",
    separator: Separator::Blanks,
    columns: &[
        ("device", ColumnRule::Device, Some(Role::Volume)),
        ("cpu", ColumnRule::Whole, None),
        ("sequence", ColumnRule::Whole, None),
        ("time", ColumnRule::Real(9), Some(Role::Time)),
        ("pid", ColumnRule::Whole, None),
        ("action", ColumnRule::Text, Some(Role::Op)),
    ],
    also: &[],
};

/// Names of all fields of a D event.
const COLUMNS: &str = "device cpu sequence time pid action RWBS sector + sectors";

/// The fields that every event has.
struct Event<'a> {
    device: &'a [u8],
    time: u64,
    action: &'a [u8],
}

/// How a notice about an input file begins.
const NOTICE: &str = "Input file ";

/// The parser, which knows where in the text it is.
#[derive(Default)]
pub(crate) struct BlkParse {
    /// The lines since the last event belong to a summary.
    in_summary: bool,
}

impl LineFormat for BlkParse {
    const FACTS: FormatFacts = FormatFacts {
        name: "blkparse",
        about: "text that blkparse prints by default",
        units: "time: seconds, of D events; sector and size: sectors of 512 bytes",
        time: TimeScale { tick_ns: 1, decimals: 9, epoch: None, column: "time", allowed: "seconds" },
        trims: true,
        flushes: true,
        examples: &[
            "  8,16   3        5     0.000026421  3645  D   R 4938888 + 256 [java]\n",
            "Input file sda.blktrace.0 added\n  8,0    0        2     0.000001000  3645  D   W 4938888 + 8 [java]\n",
        ],
        likeness,
        ..FormatFacts::PLAIN
    };

    /// Times are in nanoseconds.
    #[inline]
    fn parse<'a>(&mut self, line: &'a [u8]) -> Option<ParsedLine<'a>> {
        let mut at = Cursor::new(line);
        let Some(event) = event(&mut at) else { return self.summary(line) };
        self.in_summary = false;
        if event.action != b"D" {
            return Some(ParsedLine::Other(OtherLine::Ignored));
        }
        at.blanks()?;
        let Some(Flags { kind, durability }) = flags(at.word()?)? else {
            return Some(ParsedLine::Other(OtherLine::NoData));
        };
        match (data(at), kind) {
            (Some((first, count)), Some(kind)) => {
                let extent = sectors(first?, count?)?;
                Some(ParsedLine::lasting(event.time, extent, kind, durability, event.device))
            }
            (_, None) => Some(ParsedLine::flush(event.time, event.device)),
            (None, Some(_)) if durability.preflush => Some(ParsedLine::flush(event.time, event.device)),
            (None, Some(_)) => Some(ParsedLine::Other(OtherLine::NoData)),
        }
    }

    fn explain(&self, line: &[u8]) -> String {
        let Ok(text) = std::str::from_utf8(line) else {
            return format!("{} is not UTF-8 text; a blkparse line is needed: {COLUMNS}", excerpt(line));
        };
        let fields: Vec<&str> = text.split([' ', '\t']).filter(|field| !field.is_empty()).collect();
        let head = fields.get(..HEAD.columns.len()).unwrap_or(&fields).join(" ");
        if event(&mut Cursor::new(head.as_bytes())).is_none() {
            return HEAD.explain(if fields.len() < HEAD.columns.len() { line } else { head.as_bytes() });
        }
        format!(
            "{} found; allowed for a D event are flags out of R, W, D, N, F, A, S, M, B, a first sector below 2^55, +, \
             and 0 to 8388607 sectors: {COLUMNS}",
            excerpt(line)
        )
    }
}

/// What the flags of a D event ask for.
struct Flags {
    /// `None` for a flush.
    kind: Option<RequestKind>,
    durability: Durability,
}

/// Understands flags; `None` if they are none, `Some(None)` if they name nothing that a device is asked for here.
#[inline]
fn flags(flags: &[u8]) -> Option<Option<Flags>> {
    let operation = flags.iter().position(|flag| matches!(flag, b'D' | b'R' | b'W'));
    let Some(at) = operation else {
        let known = flags.iter().all(u8::is_ascii_uppercase);
        let flush = flags.contains(&b'F').then_some(Flags { kind: None, durability: Durability::default() });
        return known.then_some(flush);
    };
    let kind = match flags[at] {
        b'D' => RequestKind::Trim,
        b'R' => RequestKind::Read,
        _ => RequestKind::Write,
    };
    let preflush = flags[..at].contains(&b'F');
    let fua = kind == RequestKind::Write && flags[at..].contains(&b'F');
    Some(Some(Flags { kind: Some(kind), durability: Durability { preflush, fua } }))
}

/// Numbers of a device and five more fields, or a notice about an input file.
fn likeness(sample: &Sample<'_>) -> Likeness {
    let words = sample.words();
    let device = words.first().is_some_and(|word| device_numbers(word).is_some());
    Likeness::certain((device && words.len() >= HEAD.columns.len()) || sample.line().starts_with(NOTICE.as_bytes()))
}

impl BlkParse {
    /// A line that is no event: legal in the summary that follows the events, and for the notices
    /// that blkparse gives about its input files.
    #[cold]
    fn summary<'a>(&mut self, line: &[u8]) -> Option<ParsedLine<'a>> {
        let begins = |starts: &[&str]| starts.iter().any(|start| line.starts_with(start.as_bytes()));
        self.in_summary |= begins(&["CPU", "Total ("]) && line.ends_with(b":");
        let known = line.trim_ascii().is_empty() || begins(&[" ", "CPU", "Total", "Throughput", "Events", "Skips"]);
        let legal = (self.in_summary && known) || begins(&[NOTICE]);
        (legal && std::str::from_utf8(line).is_ok()).then_some(ParsedLine::Other(OtherLine::Ignored))
    }
}

/// The fields in front of an action's own.
#[inline]
fn event<'a>(at: &mut Cursor<'a>) -> Option<Event<'a>> {
    at.skip_blanks();
    let device = at.word()?;
    device_numbers(device)?;
    at.blanks()?;
    at.whole()?;
    at.blanks()?;
    at.whole()?;
    at.blanks()?;
    let time = at.decimal(9)?;
    at.blanks()?;
    at.whole()?;
    at.blanks()?;
    let action = at.word()?;
    (action.len() <= 2).then_some(Event { device, time, action })
}

/// First sector and count behind the flags. `None` if the event carries no data (no `+`, or a
/// count of 0); a missing part is a number that cannot be read.
#[inline]
fn data(mut at: Cursor<'_>) -> Option<(Option<u64>, Option<u64>)> {
    let bad = Some((None, None));
    if at.blanks().is_none() {
        return if at.end().is_some() { None } else { bad };
    }
    let Some(first) = at.whole() else {
        // A flush has its process next; anything else is no event.
        return if at.rest().first().is_none_or(|&byte| byte == b'[') { None } else { bad };
    };
    if at.blanks().is_none() {
        return if at.end().is_some() { None } else { bad };
    }
    if at.byte(b'+').is_none() {
        // The process, or a passed-through command in parentheses.
        return if matches!(at.rest().first(), Some(b'[' | b'(')) { None } else { bad };
    }
    let count = at.blanks().and_then(|()| at.whole()).filter(|_| at.end().is_some() || at.blanks().is_some());
    if count == Some(0) { None } else { Some((Some(first), count)) }
}
