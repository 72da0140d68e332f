//! The one error of this crate: one line that says where, what was found and what is allowed.

use std::fmt;
use std::path::Path;

use strsim::damerau_levenshtein;
use thiserror::Error;

/// What kind of mistake an error names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TraceErrorKind {
    /// A file cannot be opened, read or written.
    File,
    /// The file's content is not what the format allows.
    Content,
    /// A request does not fit the device under the chosen address policy.
    Capacity,
    /// A name or an option is not allowed.
    Option,
}

/// An error of a trace, a twin or a generator. Its `Display` is one line.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{line}")]
pub struct TraceError {
    kind: TraceErrorKind,
    line: String,
}

/// Longest name that is compared with the known ones. Comparing costs time with its square.
const NAME_CHARS: usize = 100;

/// Longest piece of offending text that an error repeats, in characters.
const EXCERPT_CHARS: usize = 80;

impl TraceError {
    /// An error about a whole file: `file: message`.
    pub(crate) fn in_file(kind: TraceErrorKind, path: &Path, message: impl fmt::Display) -> TraceError {
        TraceError { kind, line: format!("{}: {message}", path.display()) }
    }

    /// An error about one line of a file: `file:line: message`. Lines count from 1.
    pub(crate) fn at_line(kind: TraceErrorKind, path: &Path, line: u64, message: impl fmt::Display) -> TraceError {
        TraceError { kind, line: format!("{}:{line}: {message}", path.display()) }
    }

    /// An error about an option or a name.
    pub(crate) fn option(message: impl Into<String>) -> TraceError {
        TraceError { kind: TraceErrorKind::Option, line: message.into() }
    }

    /// This error as that of a line of a text that has several. Lines count from 1.
    pub(crate) fn in_line(self, number: usize) -> TraceError {
        TraceError { line: format!("line {number}: {}", self.line), ..self }
    }

    /// An error about a workload that does not fit the device.
    pub(crate) fn capacity(message: String) -> TraceError {
        TraceError { kind: TraceErrorKind::Capacity, line: message }
    }

    /// An output that cannot be written.
    pub(crate) fn output(error: std::io::Error) -> TraceError {
        TraceError { kind: TraceErrorKind::File, line: format!("the output cannot be written: {error}") }
    }

    /// What kind of mistake this is.
    pub fn kind(&self) -> TraceErrorKind {
        self.kind
    }
}

/// A number and what it counts: `1 line`, `3 lines`.
pub(crate) fn counted(number: u64, noun: &str) -> String {
    format!("{number} {noun}{}", if number == 1 { "" } else { "s" })
}

/// The text of a line as an error may repeat it: quoted, on one line, without control characters,
/// and cut after 80 characters.
pub(crate) fn excerpt(bytes: &[u8]) -> String {
    // Four bytes a character at most, so a longer prefix can never be shown.
    let head = &bytes[..bytes.len().min(EXCERPT_CHARS * 4 + 4)];
    let text = String::from_utf8_lossy(head);
    let shown: String = text.chars().take(EXCERPT_CHARS).flat_map(char::escape_debug).collect();
    let cut = text.chars().count() > EXCERPT_CHARS || head.len() < bytes.len();
    format!("\"{shown}{}\"", if cut { "…" } else { "" })
}

/// The known name that is meant by one that is none: at most a third of its letters differ. Capitals do not count.
pub(crate) fn nearest<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let lower = name.chars().take(NAME_CHARS).collect::<String>().to_lowercase();
    let away = |known: &str| damerau_levenshtein(&lower, &known.to_lowercase());
    let (away, known) = known.map(|known| (away(known), known)).min()?;
    (away * 3 <= lower.chars().count()).then_some(known)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn w000_offending_text_stays_short_and_on_one_line() {
        assert_eq!(excerpt(b"a\nb"), "\"a\\nb\"");
        let long = excerpt(&[b'x'; 5_000]);
        assert_eq!(long.chars().count(), EXCERPT_CHARS + 3);
        assert!(long.ends_with("…\""));
        assert!(!excerpt(&[0xff, 0, b'\r']).contains('\r'));
    }
}
