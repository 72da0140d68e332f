//! The CSV of the MSR Cambridge collection:
//! `Timestamp,Hostname,Disk,Type,Offset,Size,ResponseTime` with a Windows filetime (100 ns ticks
//! since 1601), offset and size in bytes, and the response time in ticks, which is not used.

use pumice_types::RequestKind;

use crate::error::excerpt;
use crate::trace::Record;

/// Names of the fields, in their order.
const FIELDS: [&str; 7] = ["Timestamp", "Hostname", "Disk", "Type", "Offset", "Size", "ResponseTime"];

/// One line, parsed; `line` is left 0. The second part is the line's volume: `Hostname,Disk`.
/// `None` if it is anything but a record; [`explain`] then says why.
///
/// Works on bytes: the only field that may hold other than ASCII is the host's name.
#[inline]
pub(super) fn parse(line: &[u8]) -> Option<(Record, &[u8])> {
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

/// The fields from the disk on; `host..at` is the host's name.
#[inline]
fn parse_tail(line: &[u8], time: u64, host: usize, at: usize) -> Option<(Record, &[u8])> {
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
    let (size, at) = number(line, after_comma(line, at)?)?;
    let (_response, at) = number(line, after_comma(line, at)?)?;
    let bytes = u32::try_from(size).ok().filter(|&bytes| bytes > 0)?;
    offset.checked_add(size)?;
    (at == line.len()).then_some((Record { time, offset, line: 0, bytes, kind }, volume))
}

/// A host's name with characters outside ASCII: legal if it is UTF-8 without control characters.
#[cold]
fn parse_unusual_host(line: &[u8], time: u64, host: usize) -> Option<(Record, &[u8])> {
    let end = host + memchr::memchr(b',', &line[host..])?;
    let name = std::str::from_utf8(&line[host..end]).ok()?;
    if name.chars().any(char::is_control) { None } else { parse_tail(line, time, host, end) }
}

#[inline]
fn after_comma(line: &[u8], at: usize) -> Option<usize> {
    (*line.get(at)? == b',').then_some(at + 1)
}

/// The number that begins at `at` (one digit at least) and the index behind it.
#[inline]
fn number(line: &[u8], start: usize) -> Option<(u64, usize)> {
    let mut at = start;
    let mut value = 0u64;
    while let Some(digit) = line.get(at).map(|byte| byte.wrapping_sub(b'0')).filter(|&digit| digit < 10) {
        // 19 digits always fit.
        value = if at - start < 19 {
            value * 10 + u64::from(digit)
        } else {
            value.checked_mul(10)?.checked_add(u64::from(digit))?
        };
        at += 1;
    }
    (at > start).then_some((value, at))
}

/// Whether a first line names columns instead of holding a record: as many fields, and no number
/// where the time and the offset belong.
pub(super) fn is_header(line: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(line) else { return false };
    let fields: Vec<&str> = text.split(',').map(str::trim).collect();
    let named = |field: &str| field.parse::<f64>().is_err() && field.chars().any(char::is_alphabetic);
    fields.len() == FIELDS.len() && named(fields[0]) && named(fields[4]) && !text.chars().any(char::is_control)
}

/// What is wrong with a line that [`parse`] refuses, and what is allowed.
pub(super) fn explain(line: &[u8]) -> String {
    let Ok(text) = std::str::from_utf8(line) else {
        return format!("{} is not UTF-8 text; an MSR line is needed: {}", excerpt(line), FIELDS.join(","));
    };
    let fields: Vec<&str> = text.split(',').collect();
    if fields.len() != FIELDS.len() {
        return format!("{} fields in {}; allowed are {}: {}", fields.len(), excerpt(line), 7, FIELDS.join(","));
    }
    let fault = (0..FIELDS.len()).find_map(|index| field_fault(index, fields[index]));
    let fault = fault.unwrap_or_else(|| {
        format!("{} + {} ends beyond the largest address, 2^64 - 1", excerpt(fields[4].as_bytes()), fields[5])
    });
    format!("{fault}; the line is {}", excerpt(line))
}

/// What is wrong with one field, if anything is.
fn field_fault(index: usize, field: &str) -> Option<String> {
    let name = FIELDS[index];
    let found = excerpt(field.as_bytes());
    match index {
        1 => field.chars().any(char::is_control).then(|| format!("{name} {found} holds control characters")),
        3 => {
            let known = field.eq_ignore_ascii_case("read") || field.eq_ignore_ascii_case("write");
            (!known).then(|| format!("{name} {found} found; allowed are Read and Write"))
        }
        _ => {
            let value = number(field.as_bytes(), 0).filter(|&(_, end)| end == field.len());
            let legal = match value {
                None => return Some(format!("{name} {found} found; allowed are whole numbers from 0 to 2^64 - 1")),
                Some((value, _)) => index != 5 || (1..=u64::from(u32::MAX)).contains(&value),
            };
            (!legal).then(|| format!("{name} {found} found; allowed are 1 to 4294967295 bytes"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINE: &str = "128166372003061629,hm,0,Read,12345856,4096,1331";

    #[test]
    fn w110_a_record() {
        let (record, volume) = parse(LINE.as_bytes()).expect("legal");
        let expected =
            Record { time: 128166372003061629, offset: 12345856, line: 0, bytes: 4096, kind: RequestKind::Read };
        assert_eq!((record, volume), (expected, &b"hm,0"[..]));
        let (write, volume) = parse("5,h\u{f6}st,12,WRITE,0,1,0".as_bytes()).expect("legal");
        assert_eq!((write.kind, write.bytes, volume), (RequestKind::Write, 1, "h\u{f6}st,12".as_bytes()));
    }

    #[test]
    fn w111_each_fault_is_named() {
        for (line, part) in [
            ("1,hm,0,Read,0,4096", "6 fields in"),
            ("1,hm,0,Read,0,4096,1,", "8 fields in"),
            ("", "1 fields in"),
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
            let message = explain(line.as_bytes());
            assert!(message.contains(part), "{line}: {message}");
        }
        assert!(explain(b"1,\xff\xfe,0,Read,0,4096,1").contains("not UTF-8"));
    }

    #[test]
    fn w112_a_header_names_columns_and_is_no_broken_record() {
        assert!(is_header(b"Timestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime"));
        for no in ["x28,hm,0,Read,12345856,4096,1331", "-1,hm,0,Read,0,4096,1", "Timestamp,Offset", LINE] {
            assert!(!is_header(no.as_bytes()), "{no}");
        }
    }
}
