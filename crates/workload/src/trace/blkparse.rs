//! The text that `blkparse` prints by default:
//! `major,minor cpu sequence seconds pid action RWBS sector + sectors [process]`.
//!
//! A request is a D event, which is when the block layer hands it to the driver. Every other event
//! is checked for its first six fields and counted. Discards are trims. Flushes and whatever else
//! carries no data are counted and not requests. The summary at the end may be there.

use pumice_types::RequestKind;

use crate::error::excerpt;
use crate::trace::Record;
use crate::trace::columns::{Rule, Separator, Table};
use crate::trace::fields::{Cursor, sectors};
use crate::trace::parser::{Line, Other};

/// The fields in front of an action's own.
const HEAD: Table = Table {
    what: "a blkparse",
    separator: Separator::Blanks,
    columns: &[
        ("device", Rule::Device),
        ("cpu", Rule::Whole),
        ("sequence", Rule::Whole),
        ("time", Rule::Real(9)),
        ("pid", Rule::Whole),
        ("action", Rule::Text),
    ],
};

/// Names of all fields of a D event.
pub(super) const COLUMNS: &str = "device cpu sequence time pid action RWBS sector + sectors";

/// Where in the text the parser is.
#[derive(Debug, Default)]
pub(super) struct State {
    /// The lines since the last event belong to a summary.
    in_summary: bool,
}

/// The fields that every event has.
struct Event<'a> {
    device: &'a [u8],
    time: u64,
    action: &'a [u8],
}

impl State {
    /// One line, parsed with its time in nanoseconds; `None` if it is neither an event nor part of
    /// a summary.
    #[inline]
    pub fn parse<'a>(&mut self, line: &'a [u8]) -> Option<Line<'a>> {
        let mut at = Cursor::new(line);
        let Some(event) = event(&mut at) else { return self.summary(line) };
        self.in_summary = false;
        if event.action != b"D" {
            return Some(Line::Other(Other::Ignored));
        }
        at.blanks()?;
        let flags = at.word()?;
        let kind = match flags {
            flags if flags.contains(&b'D') => RequestKind::Trim,
            flags if flags.contains(&b'R') => RequestKind::Read,
            flags if flags.contains(&b'W') => RequestKind::Write,
            flags if flags.iter().all(|flag| flag.is_ascii_uppercase()) => return Some(Line::Other(Other::NoData)),
            _ => return None,
        };
        data(at).map_or(Some(Line::Other(Other::NoData)), |(first, count)| {
            let (offset, bytes) = sectors(first?, count?)?;
            Some(Line::Record(Record { time: event.time, offset, line: 0, bytes, volume: 0, kind }, event.device))
        })
    }

    /// A line that is no event: legal in the summary that follows the events, and for the notices
    /// that blkparse gives about its input files.
    #[cold]
    fn summary<'a>(&mut self, line: &[u8]) -> Option<Line<'a>> {
        let begins = |starts: &[&str]| starts.iter().any(|start| line.starts_with(start.as_bytes()));
        self.in_summary |= begins(&["CPU", "Total ("]) && line.ends_with(b":");
        let known = line.trim_ascii().is_empty() || begins(&[" ", "CPU", "Total", "Throughput", "Events", "Skips"]);
        let legal = (self.in_summary && known) || begins(&["Input file "]);
        (legal && std::str::from_utf8(line).is_ok()).then_some(Line::Other(Other::Ignored))
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

/// `major,minor`.
#[inline]
pub(super) fn device_numbers(device: &[u8]) -> Option<()> {
    let mut at = Cursor::new(device);
    at.whole()?;
    at.byte(b',')?;
    at.whole()?;
    at.end()
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

/// What is wrong with a line that the parser refuses.
pub(super) fn explain(line: &[u8]) -> String {
    let Ok(text) = std::str::from_utf8(line) else {
        return format!("{} is not UTF-8 text; a blkparse line is needed: {COLUMNS}", excerpt(line));
    };
    let fields: Vec<&str> = text.split([' ', '\t']).filter(|field| !field.is_empty()).collect();
    let head = fields.get(..HEAD.columns.len()).unwrap_or(&fields).join(" ");
    if event(&mut Cursor::new(head.as_bytes())).is_none() {
        return HEAD.explain(if fields.len() < HEAD.columns.len() { line } else { head.as_bytes() });
    }
    format!(
        "{} found; allowed for a D event are flags out of R, W, D, N, F, A, S, M, B, a first sector below 2^55, +, and \
         0 to 8388607 sectors: {COLUMNS}",
        excerpt(line)
    )
}
