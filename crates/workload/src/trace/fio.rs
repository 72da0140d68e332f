//! The iologs of fio, versions 2 and 3: `file action offset length`, in version 3 with the time
//! in front, in microseconds since the start.
//!
//! Version 2 has no times but `wait` actions, whose offset is the time in microseconds that passes
//! after the wait before it; without any, all requests arrive at once. fio itself drops waits below
//! 100 µs; here they count. File actions (add, open, close) are counted and not checked.

use pumice_types::RequestKind;

use crate::error::excerpt;
use crate::trace::Record;
use crate::trace::columns::{Rule, Separator, Table};
use crate::trace::fields::{Cursor, size, span};
use crate::trace::parser::{Line, Other};

const V2: Table = Table {
    what: "an fio iolog v2",
    separator: Separator::Blanks,
    columns: &[("file", Rule::Text), ("action", Rule::Text), ("offset", Rule::Whole), ("length", Rule::Bytes)],
};

const V3: Table = Table {
    what: "an fio iolog v3",
    separator: Separator::Blanks,
    columns: &[
        ("timestamp", Rule::Whole),
        ("file", Rule::Text),
        ("action", Rule::Text),
        ("offset", Rule::Whole),
        ("length", Rule::Bytes),
    ],
};

/// How a file's first line begins.
pub(super) const MAGIC: &[u8] = b"fio version ";

/// What the lines so far said.
#[derive(Debug, Default)]
pub(super) struct State {
    /// 2 or 3; `None` before the first line.
    version: Option<u8>,
    /// Microseconds waited so far (version 2).
    now: u64,
}

impl State {
    /// One line, parsed with its time in microseconds; `None` if it is not what the version has.
    #[inline]
    pub fn parse<'a>(&mut self, line: &'a [u8]) -> Option<Line<'a>> {
        let Some(version) = self.version else {
            self.version = Some(version(line)?);
            return Some(Line::Other(Other::Ignored));
        };
        let mut at = Cursor::new(line);
        let mut time = self.now;
        if version == 3 {
            time = at.whole()?;
            at.blanks()?;
        }
        let file = at.word()?;
        at.blanks()?;
        let action = at.word()?;
        at.skip_blanks();
        if at.end().is_some() {
            return matches!(action, b"add" | b"open" | b"close").then_some(Line::Other(Other::Ignored));
        }
        let offset = at.whole()?;
        at.blanks()?;
        let length = at.whole()?;
        at.skip_blanks();
        at.end()?;
        let kind = match action {
            b"read" => RequestKind::Read,
            b"write" => RequestKind::Write,
            b"trim" => RequestKind::Trim,
            b"sync" | b"datasync" => return Some(Line::Other(Other::NoData)),
            b"wait" if version == 2 => {
                self.now = self.now.checked_add(offset)?;
                return Some(Line::Other(Other::Ignored));
            }
            _ => return None,
        };
        let (offset, bytes) = span(offset, size(length)?)?;
        Some(Line::Record(Record { time, offset, line: 0, bytes, volume: 0, kind }, file))
    }

    /// What is wrong with a line that [`State::parse`] refuses.
    pub fn explain(&self, line: &[u8]) -> String {
        let table = match self.version {
            None => {
                return format!(
                    "{} found; allowed as first line are \"fio version 2 iolog\" and \"fio version 3 iolog\"",
                    excerpt(line)
                );
            }
            Some(2) => V2,
            Some(_) => V3,
        };
        let Ok(text) = std::str::from_utf8(line) else { return table.explain(line) };
        let words: Vec<&str> = text.split([' ', '\t']).filter(|field| !field.is_empty()).collect();
        let timed = usize::from(self.version == Some(3));
        let action = words.get(timed + 1).copied().unwrap_or_default();
        let (allowed, legal): (&str, &[&str]) = match (words.len() - timed.min(words.len()), timed) {
            (2, _) => ("add, open and close", &["add", "open", "close"]),
            (4, 0) => {
                ("read, write, trim, sync, datasync and wait", &["read", "write", "trim", "sync", "datasync", "wait"])
            }
            (4, _) => ("read, write, trim, sync and datasync", &["read", "write", "trim", "sync", "datasync"]),
            _ => {
                return format!(
                    "{} fields in {}; allowed are {}, or only those up to the action: {}",
                    words.len(),
                    excerpt(line),
                    table.columns.len(),
                    table.names()
                );
            }
        };
        if !legal.contains(&action) {
            return format!(
                "action {} found; allowed are {allowed}; the line is {}",
                excerpt(action.as_bytes()),
                excerpt(line)
            );
        }
        if words.len() == timed + 2 {
            return format!("{} found; allowed are {} with plain text in them", excerpt(line), table.names());
        }
        table.explain(line)
    }
}

fn version(line: &[u8]) -> Option<u8> {
    match line {
        b"fio version 2 iolog" => Some(2),
        b"fio version 3 iolog" => Some(3),
        _ => None,
    }
}
