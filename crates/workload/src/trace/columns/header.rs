//! Line 1 of delimited text: how its fields are parted, and whether they name columns.

use pumice_types::Choice;

use crate::source::error::excerpt;
use crate::trace::columns::Role;
use crate::trace::columns::units::{NameMeaning, TimeUnit, meaning};

/// What parts the fields of delimited text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::trace) enum Delimiter {
    /// One byte, with blanks around it as the writer likes.
    Byte(u8),
    /// Spaces and tabs, as many as the writer likes.
    Blanks,
}

/// The bytes that part fields, in the order in which they are looked for. The comma comes last, because it may be
/// inside a field of text that another byte parts.
const DELIMITERS: [u8; 4] = [b'\t', b';', b'|', b','];

impl Delimiter {
    /// What parts the fields of a line.
    pub fn of(line: &[u8]) -> Delimiter {
        let found = DELIMITERS.into_iter().find(|byte| line.contains(byte));
        found.map_or(Delimiter::Blanks, Delimiter::Byte)
    }

    /// Start and end of every field, without the blanks and the quotes around it.
    #[inline]
    pub fn spans(self, line: &[u8], spans: &mut Vec<(usize, usize)>) {
        spans.clear();
        match self {
            Delimiter::Byte(byte) => {
                let mut start = 0;
                for end in memchr::memchr_iter(byte, line).chain([line.len()]) {
                    spans.push(bare(line, start, end));
                    start = end + 1;
                }
            }
            Delimiter::Blanks => {
                let mut at = 0;
                while let Some(blanks) = line[at..].iter().position(|byte| !is_blank(byte)) {
                    let start = at + blanks;
                    at = line[start..].iter().position(is_blank).map_or(line.len(), |length| start + length);
                    spans.push(bare(line, start, at));
                }
            }
        }
    }

    /// The fields of a line.
    pub fn fields(self, line: &[u8]) -> Vec<&[u8]> {
        let mut spans = Vec::new();
        self.spans(line, &mut spans);
        spans.into_iter().map(|(start, end)| &line[start..end]).collect()
    }
}

fn is_blank(byte: &u8) -> bool {
    matches!(byte, b' ' | b'\t')
}

/// A field without the blanks around it, and without a pair of quotes.
#[inline]
fn bare(line: &[u8], mut start: usize, mut end: usize) -> (usize, usize) {
    while start < end && is_blank(&line[start]) {
        start += 1;
    }
    while start < end && is_blank(&line[end - 1]) {
        end -= 1;
    }
    let is_quoted = end - start >= 2 && line[start] == b'"' && line[end - 1] == b'"';
    if is_quoted { (start + 1, end - 1) } else { (start, end) }
}

/// A column of a table in memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableColumn {
    /// Name of the column.
    pub name: String,
    /// Whether its type is a time, which the caller gives in nanoseconds.
    pub is_time: bool,
}

/// A first line that names columns.
#[derive(Debug)]
pub(in crate::trace) struct Header<'a> {
    pub delimiter: Delimiter,
    pub names: Vec<&'a str>,
    /// What each column's name tells.
    pub meanings: Vec<NameMeaning>,
}

impl<'a> Header<'a> {
    /// The header that a line is; `None` if a field of it is no name. The first may be empty: tables are written with a
    /// column of row numbers in front that has no name.
    pub fn of(line: &'a [u8]) -> Option<Header<'a>> {
        let line = line.strip_prefix(b"#").unwrap_or(line);
        let delimiter = Delimiter::of(line);
        let fields = delimiter.fields(line);
        let is_index =
            |(column, field): (usize, &[u8])| column == 0 && field.is_empty() && delimiter != Delimiter::Blanks;
        let named = |(column, field): (usize, &'a [u8])| if is_index((column, field)) { Some("") } else { name(field) };
        let names: Option<Vec<&str>> = fields.into_iter().enumerate().map(named).collect();
        let names = names.filter(|names| names.iter().filter(|name| !name.is_empty()).count() > 1)?;
        let meanings = names.iter().map(|name| meaning(name)).collect();
        Some(Header { delimiter, names, meanings })
    }

    /// The names of a table's columns. A column whose type is a time tells its unit itself.
    pub fn of_table(columns: &'a [TableColumn]) -> Header<'a> {
        let told = |column: &TableColumn| {
            let told = meaning(&column.name);
            NameMeaning { time: if column.is_time { Some(TimeUnit::Nanoseconds) } else { told.time }, ..told }
        };
        let names = columns.iter().map(|column| column.name.as_str()).collect();
        Header { delimiter: Delimiter::Byte(b','), names, meanings: columns.iter().map(told).collect() }
    }

    /// The one column whose name tells a role; `None` if none or several do.
    pub fn column(&self, role: Role) -> Option<usize> {
        let mut columns = (0..self.meanings.len()).filter(|&column| self.meanings[column].role == Some(role));
        columns.next().filter(|_| columns.next().is_none())
    }

    /// The names as an error may repeat them.
    pub fn shown(&self) -> String {
        excerpt(self.names.join(",").as_bytes())
    }

    /// A list of columns for `workload.columns`, as far as the names tell it; the user fills in what they do not.
    pub fn suggestion(&self) -> String {
        let item = |role: Role| {
            let column = self.column(role);
            let name = column.map_or("COLUMN", |column| self.names[column]);
            let told = column.map(|column| self.meanings[column]).unwrap_or_default();
            let unit = match (role, told.time, told.grain) {
                (Role::Time, None, _) => ":UNIT",
                (Role::Offset | Role::Size, _, None) => ":UNIT",
                (Role::Time | Role::Offset | Role::Size | Role::Op | Role::Volume | Role::Fua | Role::Stream, _, _) => {
                    ""
                }
            };
            format!("{}={name}{unit}", role.name())
        };
        [Role::Time, Role::Op, Role::Offset, Role::Size].map(item).join(",")
    }
}

/// The name that a field is: it begins with a letter and holds no control character.
fn name(field: &[u8]) -> Option<&str> {
    let text = std::str::from_utf8(field).ok()?;
    let begins = text.chars().next().is_some_and(|first| first.is_alphabetic() || first == '_');
    (begins && !text.chars().any(char::is_control)).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn w154_a_header_has_names_only() {
        let names = |line: &'static str| Header::of(line.as_bytes()).map(|header| header.names.join("/"));
        for (line, found) in [
            ("a,b", Some("a/b")),
            (" time_ns ;\"op\"; size", Some("time_ns/op/size")),
            ("# time\top\tsize", Some("time/op/size")),
            ("time op  size ", Some("time/op/size")),
            ("one", None),
            ("a,1", None),
            ("a,-b", None),
            ("a,", None),
            (",a,b", Some("/a/b")),
            (",a", None),
            ("a,,b", None),
            ("", None),
        ] {
            assert_eq!(names(line).as_deref(), found, "{line}");
        }
    }

    #[test]
    fn w155_a_suggestion_leaves_open_what_the_names_do_not_tell() {
        let header = Header::of(b"ts,rw,lba,bytes").expect("names");
        assert_eq!(header.suggestion(), "time=ts:UNIT,op=rw,offset=lba:UNIT,size=bytes");
        let header = Header::of(b"when,offset,address").expect("names");
        assert_eq!(header.suggestion(), "time=COLUMN:UNIT,op=COLUMN,offset=COLUMN:UNIT,size=COLUMN:UNIT");
    }
}
