//! The CSV of the MSR Cambridge collection:
//! `Timestamp,Hostname,Disk,Type,Offset,Size,ResponseTime` with a Windows filetime (100 ns ticks
//! since 1601), offset and size in bytes, and the response time in ticks, which is not used.

use pumice_types::RequestKind;

use crate::trace::columns::{ColumnRule, ColumnTable, Role, Separator};
use crate::trace::formats::format::{FormatFacts, LineFormat, Writing};
use crate::trace::record::ParsedLine;
use crate::trace::record::fields::{number, size, span};
use crate::trace::record::sample::Likeness;
use crate::trace::record::time_scale::TimeScale;

const COLUMNS: ColumnTable = ColumnTable {
    what: "an MSR",
    separator: Separator::Comma,
    columns: &[
        ("Timestamp", ColumnRule::Whole, Some(Role::Time)),
        ("Hostname", ColumnRule::Text, Some(Role::Volume)),
        ("Disk", ColumnRule::Whole, Some(Role::Volume)),
        ("Type", ColumnRule::Either("Read", "Write"), Some(Role::Op)),
        ("Offset", ColumnRule::Whole, Some(Role::Offset)),
        ("Size", ColumnRule::Bytes, Some(Role::Size)),
        ("ResponseTime", ColumnRule::Whole, None),
    ],
    also: &[("DiskNumber", "Disk")],
};

/// Seconds from 1601 to 1970.
const FILETIME_EPOCH_S: u64 = 11_644_473_600;

/// The parser.
#[derive(Default)]
pub(crate) struct Msr;

impl LineFormat for Msr {
    const FACTS: FormatFacts = FormatFacts {
        name: "msr",
        about: "CSV of the MSR Cambridge collection",
        units: "time: Windows filetime, ticks of 100 ns since 1601; offset and size: bytes",
        time: TimeScale {
            tick_ns: 100,
            decimals: 0,
            epoch: Some(FILETIME_EPOCH_S * 10_000_000),
            column: "Timestamp",
            allowed: "Windows filetimes (100 ns ticks since 1601) of the years 1980 to 2099",
        },
        columns: Some(&COLUMNS),
        examples: &[
            "128166372003061629,hm,0,Read,12345856,4096,1331\n",
            "Timestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime\n\
             128166372003061629,hm,0,Read,12345856,4096,1331\n",
        ],
        likeness: |sample| Likeness::likely(sample.fields().len() == COLUMNS.columns.len()),
        also_called,
        writing: Some(Writing {
            line: |out, r| {
                let kind = if r.is_read() { "Read" } else { "Write" };
                writeln!(out, "{},pumice,0,{kind},{},{},0", r.time, r.offset, r.bytes)
            },
            ..Writing::IN_BYTES
        }),
        ..FormatFacts::PLAIN
    };

    /// Works on bytes: the only field that may hold other than ASCII is the host's name.
    #[inline]
    fn parse<'a>(&mut self, line: &'a [u8]) -> Option<ParsedLine<'a>> {
        let (time, at) = number(line, 0)?;
        let host = after_comma(line, at)?;
        let mut at = host;
        while *line.get(at)? != b',' {
            if !(b' '..=b'~').contains(&line[at]) {
                return parse_unusual_host(line, time, host);
            }
            at += 1;
        }
        parse_tail(line, time, host, at)
    }
}

/// The records' name of a volume is `host,disk`. `host_disk`, as the collection's files are called, and the disk
/// alone name it too.
fn also_called(name: &[u8], wanted: &str) -> bool {
    memchr::memrchr(b',', name).is_some_and(|at| {
        let (host, disk) = (&name[..at], &name[at + 1..]);
        let whole = [host, b"_", disk].concat();
        disk == wanted.as_bytes() || whole == wanted.as_bytes()
    })
}

/// The fields from the disk on; `host..at` is the host's name.
#[inline]
fn parse_tail(line: &[u8], time: u64, host: usize, at: usize) -> Option<ParsedLine<'_>> {
    let (_disk, disk_end) = number(line, after_comma(line, at)?)?;
    let volume = &line[host..disk_end];
    let at = after_comma(line, disk_end)?;
    let rest = &line[at..];
    let (kind, at) = match rest {
        [b'W' | b'w', b'R' | b'r', b'I' | b'i', b'T' | b't', b'E' | b'e', b',', ..] => (RequestKind::Write, at + 6),
        [b'R' | b'r', b'E' | b'e', b'A' | b'a', b'D' | b'd', b',', ..] => (RequestKind::Read, at + 5),
        _ => return None,
    };
    let (offset, at) = number(line, at)?;
    let (length, at) = number(line, after_comma(line, at)?)?;
    let (_response, at) = number(line, after_comma(line, at)?)?;
    let extent = span(offset, size(length)?)?;
    (at == line.len()).then_some(ParsedLine::request(time, extent, kind, volume))
}

/// A host's name with characters outside ASCII: legal if it is UTF-8 without control characters.
#[cold]
fn parse_unusual_host(line: &[u8], time: u64, host: usize) -> Option<ParsedLine<'_>> {
    let end = host + memchr::memchr(b',', &line[host..])?;
    let name = std::str::from_utf8(&line[host..end]).ok()?;
    if name.chars().any(char::is_control) { None } else { parse_tail(line, time, host, end) }
}

#[inline]
fn after_comma(line: &[u8], at: usize) -> Option<usize> {
    (*line.get(at)? == b',').then_some(at + 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::record::{Durability, TraceRecord};

    fn parse(line: &[u8]) -> Option<(TraceRecord, &[u8])> {
        match Msr.parse(line)? {
            ParsedLine::Request(record, volume) => Some((record, volume)),
            ParsedLine::Other(other) => panic!("{other:?}"),
        }
    }

    const LINE: &str = "128166372003061629,hm,0,Read,12345856,4096,1331";

    #[test]
    fn w110_a_record() {
        let (record, volume) = parse(LINE.as_bytes()).expect("legal");
        let expected = TraceRecord {
            time: 128166372003061629,
            offset: 12345856,
            line: 0,
            bytes: 4096,
            volume: 0,
            kind: RequestKind::Read,
            durability: Durability::default(),
            stream: 0,
        };
        assert_eq!((record, volume), (expected, &b"hm,0"[..]));
        let (write, volume) = parse("5,h\u{f6}st,12,WRITE,0,1,0".as_bytes()).expect("legal");
        assert_eq!((write.kind, write.bytes, volume), (RequestKind::Write, 1, "h\u{f6}st,12".as_bytes()));
    }

    #[test]
    fn w111_each_fault_is_named() {
        for (line, part) in [
            ("1,hm,0,Read,0,4096", "6 fields in"),
            ("1,hm,0,Read,0,4096,1,", "8 fields in"),
            ("", "1 field in"),
            ("-1,hm,0,Read,0,4096,1", "Timestamp \"-1\""),
            ("1.5,hm,0,Read,0,4096,1", "Timestamp \"1.5\""),
            ("18446744073709551616,hm,0,Read,0,4096,1", "Timestamp \"18446744073709551616\""),
            ("1,h\u{7}m,0,Read,0,4096,1", "Hostname"),
            ("1,hm,x,Read,0,4096,1", "Disk \"x\""),
            ("1,hm,0,Trim,0,4096,1", "Type \"Trim\" found; allowed are Read and Write"),
            ("1,hm,0,Read, 0,4096,1", "Offset \" 0\""),
            ("1,hm,0,Read,-5,4096,1", "Offset \"-5\""),
            ("1,hm,0,Read,18446744073709551615,4096,1", "beyond the largest address"),
            ("1,hm,0,Read,0,0,1", "Size \"0\""),
            ("1,hm,0,Read,0,4294967296,1", "Size \"4294967296\" found; allowed are 1 to 4294967295"),
            ("1,hm,0,Read,0,,1", "Size \"\""),
            ("1,hm,0,Read,0,4096,1 ", "ResponseTime \"1 \""),
        ] {
            assert!(parse(line.as_bytes()).is_none(), "{line}");
            let message = COLUMNS.explain(line.as_bytes());
            assert!(message.contains(part), "{line}: {message}");
        }
        assert!(COLUMNS.explain(b"1,\xff\xfe,0,Read,0,4096,1").contains("not UTF-8"));
    }

    #[test]
    fn w112_a_header_names_columns_and_is_no_broken_record() {
        assert!(COLUMNS.is_header(b"Timestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime"));
        for no in ["x28,hm,0,Read,12345856,4096,1331", "-1,hm,0,Read,0,4096,1", "Timestamp,Offset", LINE] {
            assert!(!COLUMNS.is_header(no.as_bytes()), "{no}");
        }
    }

    #[test]
    fn w117_a_volume_by_its_names() {
        for (wanted, called) in [("hm_1", true), ("1", true), ("hm", false), ("0", false)] {
            assert_eq!(also_called(b"hm,1", wanted), called, "{wanted}");
        }
    }
}
