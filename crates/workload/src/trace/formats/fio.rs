//! The iologs of fio, versions 2 and 3: `file action offset length`, in version 3 with the time
//! in front, in microseconds since the start.
//!
//! Version 2 has no times but `wait` actions, whose offset is the time in microseconds that passes
//! after the wait before it; without any, all requests arrive at once. fio itself drops waits below
//! 100 µs; here they count. File actions (add, open, close) are counted and not checked. `sync` and `datasync` are
//! flushes; their offset and length say nothing.

use pumice_types::RequestKind;

use crate::source::error::{counted, excerpt};
use crate::trace::columns::{ColumnRule, ColumnTable, Role, Separator};
use crate::trace::formats::format::{FormatFacts, LineFormat, Writing};
use crate::trace::record::fields::{Cursor, size, span};
use crate::trace::record::sample::Likeness;
use crate::trace::record::time_scale::TimeScale;
use crate::trace::record::{OtherLine, ParsedLine};

const V2: ColumnTable = ColumnTable {
    what: "an fio iolog v2",
    separator: Separator::Blanks,
    columns: &[
        ("file", ColumnRule::Text, Some(Role::Volume)),
        ("action", ColumnRule::Text, Some(Role::Op)),
        ("offset", ColumnRule::Whole, Some(Role::Offset)),
        ("length", ColumnRule::Bytes, Some(Role::Size)),
    ],
    also: &[],
};

const V3: ColumnTable = ColumnTable {
    what: "an fio iolog v3",
    separator: Separator::Blanks,
    columns: &[
        ("timestamp", ColumnRule::Whole, Some(Role::Time)),
        ("file", ColumnRule::Text, Some(Role::Volume)),
        ("action", ColumnRule::Text, Some(Role::Op)),
        ("offset", ColumnRule::Whole, Some(Role::Offset)),
        ("length", ColumnRule::Bytes, Some(Role::Size)),
    ],
    also: &[],
};

/// How a file's first line begins.
const MAGIC: &[u8] = b"fio version ";

/// Actions on a file, which carry no data.
const FILE_ACTIONS: [&str; 3] = ["add", "open", "close"];

/// Version of an iolog.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Version {
    Two,
    Three,
}

/// The parser, which knows what the lines so far said.
#[derive(Default)]
pub(crate) struct Fio {
    /// `None` before the first line.
    version: Option<Version>,
    /// Microseconds waited so far (version 2).
    now: u64,
}

impl LineFormat for Fio {
    const FACTS: FormatFacts = FormatFacts {
        name: "fio",
        about: "iologs of fio, versions 2 and 3",
        units: "time: microseconds (v2: waits only); offset and length: bytes",
        time: TimeScale { tick_ns: 1_000, decimals: 0, epoch: None, column: "timestamp", allowed: "microseconds" },
        trims: true,
        flushes: true,
        examples: &[
            "fio version 3 iolog\n0 /dev/sda add\n12 /dev/sda write 4096 512\n",
            "fio version 2 iolog\n/dev/sda add\n/dev/sda read 0 4096\n",
        ],
        likeness: |sample| Likeness::certain(sample.line().starts_with(MAGIC)),
        writing: Some(Writing {
            head: "fio version 3 iolog\n0 /dev/pumice add\n0 /dev/pumice open\n",
            line: |out, r| writeln!(out, "{} /dev/pumice {} {} {}", r.time, action(r.kind), r.offset, r.bytes),
            tail: |last| format!("{last} /dev/pumice close\n"),
            ..Writing::IN_BYTES
        }),
        ..FormatFacts::PLAIN
    };

    /// Times are in microseconds.
    #[inline]
    fn parse<'a>(&mut self, line: &'a [u8]) -> Option<ParsedLine<'a>> {
        let Some(version) = self.version else {
            self.version = Some(Version::of_first_line(line)?);
            return Some(ParsedLine::Other(OtherLine::Ignored));
        };
        let mut at = Cursor::new(line);
        let mut time = self.now;
        if version == Version::Three {
            time = at.whole()?;
            at.blanks()?;
        }
        let file = at.word()?;
        at.blanks()?;
        let action = at.word()?;
        at.skip_blanks();
        if at.end().is_some() {
            return matches!(action, b"add" | b"open" | b"close").then_some(ParsedLine::Other(OtherLine::Ignored));
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
            b"sync" | b"datasync" => return Some(ParsedLine::flush(time, file)),
            b"wait" if version == Version::Two => {
                self.now = self.now.checked_add(offset)?;
                return Some(ParsedLine::Other(OtherLine::Ignored));
            }
            _ => return None,
        };
        Some(ParsedLine::request(time, span(offset, size(length)?)?, kind, file))
    }

    fn explain(&self, line: &[u8]) -> String {
        match self.version {
            Some(version) => version.explain(line),
            None => {
                let firsts = listed(&Version::ALL.map(|version| format!("\"{}\"", version.first_line())));
                format!("{} found; allowed as first line are {firsts}", excerpt(line))
            }
        }
    }
}

impl Version {
    const ALL: [Version; 2] = [Version::Two, Version::Three];

    fn first_line(self) -> &'static str {
        match self {
            Version::Two => "fio version 2 iolog",
            Version::Three => "fio version 3 iolog",
        }
    }

    fn of_first_line(line: &[u8]) -> Option<Version> {
        Version::ALL.into_iter().find(|version| version.first_line().as_bytes() == line)
    }

    fn columns(self) -> &'static ColumnTable {
        match self {
            Version::Two => &V2,
            Version::Three => &V3,
        }
    }

    /// Columns in front of the file.
    fn times(self) -> usize {
        match self {
            Version::Two => 0,
            Version::Three => 1,
        }
    }

    /// Actions with an offset and a length.
    fn actions(self) -> &'static [&'static str] {
        match self {
            Version::Two => &["read", "write", "trim", "sync", "datasync", "wait"],
            Version::Three => &["read", "write", "trim", "sync", "datasync"],
        }
    }

    /// What is wrong with a line behind the first that the parser refuses.
    fn explain(self, line: &[u8]) -> String {
        let (columns, times) = (self.columns(), self.times());
        let Ok(text) = std::str::from_utf8(line) else { return columns.explain(line) };
        let words: Vec<&str> = text.split([' ', '\t']).filter(|field| !field.is_empty()).collect();
        let legal = match words.len().saturating_sub(times) {
            2 => &FILE_ACTIONS[..],
            4 => self.actions(),
            _ => {
                return format!(
                    "{} in {}; allowed are {}, or only those up to the action: {}",
                    counted(words.len() as u64, "field"),
                    excerpt(line),
                    columns.columns.len(),
                    columns.names()
                );
            }
        };
        let action = words[times + 1];
        if !legal.contains(&action) {
            let (action, allowed) = (excerpt(action.as_bytes()), listed(legal));
            return format!("action {action} found; allowed are {allowed}; the line is {}", excerpt(line));
        }
        if legal == FILE_ACTIONS {
            return format!("{} found; allowed are {} with plain text in them", excerpt(line), columns.names());
        }
        columns.explain(line)
    }
}

/// The action that a request is written as.
fn action(kind: RequestKind) -> &'static str {
    match kind {
        RequestKind::Read | RequestKind::Write | RequestKind::Trim | RequestKind::Zone(_) => kind.name(),
        RequestKind::Flush => "sync",
    }
}

/// `a, b and c`.
fn listed<T: AsRef<str>>(words: &[T]) -> String {
    let words: Vec<&str> = words.iter().map(AsRef::as_ref).collect();
    match words.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("{} and {last}", rest.join(", ")),
        _ => words.concat(),
    }
}
