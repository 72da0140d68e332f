//! Which format a file has, by its first lines.

use pumice_types::Choice;

use crate::error::excerpt;
use crate::trace::formats::TraceFormat;
use crate::trace::sample::{Likeness, Sample};

/// Bytes looked at.
pub(super) const HEAD_BYTES: usize = 16 << 10;

/// Lines looked at to tell whole numbers from real ones.
const LINES: usize = 64;

/// The format of a file that begins with `head`, or what is wrong with its first line.
///
/// Every format says how well the first lines fit; the best fit decides, and must be one format's alone.
/// Where the first line names columns, the line behind it decides, else the columns' names and number.
pub(super) fn recognise(head: &[u8]) -> Result<TraceFormat, String> {
    if head.is_empty() {
        // Whatever the format, the reader says that there are no records.
        return Ok(TraceFormat::ALL[0]);
    }
    let lines = whole_lines(head);
    let first = lines.first().copied().unwrap_or_default();
    let found = if names_columns(first) {
        by_records(lines.get(1..).unwrap_or_default()).or_else(|| by_header(first).map(Ok))
    } else {
        by_records(&lines)
    };
    found.unwrap_or_else(|| {
        let names = TraceFormat::NAMES.join(", ");
        let what = excerpt(first);
        Err(format!(
            "the format is not recognised from {what}; allowed are {names}; a file in one of them can be named by \
             workload.format"
        ))
    })
}

/// The first lines of a file, without their ends.
fn whole_lines(head: &[u8]) -> Vec<&[u8]> {
    let mut lines: Vec<&[u8]> = head.split(|&byte| byte == b'\n').take(LINES + 1).collect();
    if lines.len() > 1 {
        // Empty after the last line feed, or cut.
        lines.pop();
    }
    for line in &mut lines {
        *line = line.strip_suffix(b"\r").unwrap_or(line);
    }
    lines
}

/// Whether a line holds nothing but words, as many as some format has columns.
fn names_columns(line: &[u8]) -> bool {
    let named = |field: &[u8]| field.iter().filter(|byte| byte.is_ascii_alphabetic()).count() > 1;
    let number = |field: &[u8]| field.first().is_some_and(u8::is_ascii_digit);
    let mut fields = line.split(|&byte| byte == b',').map(<[u8]>::trim_ascii);
    fields.all(|field| named(field) && !number(field)) && TraceFormat::ALL.iter().any(|format| format.is_header(line))
}

/// The format whose records look like the first of these lines; `None` if there is none. The error asks for a choice
/// among those that fit equally well.
fn by_records(lines: &[&[u8]]) -> Option<Result<TraceFormat, String>> {
    let sample = Sample::new(lines)?;
    let fit = |&format: &TraceFormat| (format, (format.facts().likeness)(&sample));
    let fits: Vec<(TraceFormat, Likeness)> = TraceFormat::ALL.iter().map(fit).collect();
    let best = fits.iter().map(|(_, likeness)| likeness.rank()).max()?;
    let claims: Vec<&(TraceFormat, Likeness)> = fits.iter().filter(|(_, likeness)| likeness.rank() == best).collect();
    match claims[..] {
        [(_, Likeness::No), ..] | [] => None,
        [(format, Likeness::Likely | Likeness::Certain)] => Some(Ok(*format)),
        [(_, Likeness::Possible { why, .. }), ..] => Some(Err(ask(why, &claims))),
        [(_, Likeness::Likely | Likeness::Certain), ..] => Some(Err(ask("the line fits several formats", &claims))),
    }
}

/// Asks the user for the format.
fn ask(why: &str, claims: &[&(TraceFormat, Likeness)]) -> String {
    let name = |(format, likeness): &&(TraceFormat, Likeness)| {
        let sign = match likeness {
            Likeness::Possible { sign, .. } => sign,
            Likeness::No | Likeness::Likely | Likeness::Certain => format.about(),
        };
        format!("\"{format}\" ({sign})")
    };
    let named: Vec<String> = claims.iter().map(name).collect();
    format!("{why}: this may be {}; set workload.format to one of these", named.join(" or "))
}

/// The format that alone has columns of these names, or else so many columns.
fn by_header(line: &[u8]) -> Option<TraceFormat> {
    let with_header = TraceFormat::ALL.iter().copied().filter(|format| format.is_header(line));
    let candidates: Vec<TraceFormat> = with_header.collect();
    let by_name = candidates.iter().find(|format| {
        let names = format.facts().columns.map(|columns| columns.names()).unwrap_or_default();
        line.eq_ignore_ascii_case(names.as_bytes())
    });
    match candidates[..] {
        [only] => Some(only),
        _ => by_name.copied(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn w113_every_format_is_recognised_by_its_examples() {
        for &format in TraceFormat::ALL {
            assert!(!format.examples().is_empty(), "{} has no example", format.name());
            for example in format.examples() {
                assert_eq!(recognise(example.as_bytes()), Ok(format), "{example}");
            }
        }
        assert_eq!(recognise(b"fio version 9 iolog\n").map(TraceFormat::name), Ok("fio"));
    }

    #[test]
    fn w114_what_cannot_be_told_is_said() {
        let message = recognise(b"0 0 303567 7 0\n13 1 5 6 1\n30 1 5 6 1\n").expect_err("ambiguous");
        for part in ["\"ssdsim\" (whole nano", "\"disksim\" (milli", "15 apart", "workload.format"] {
            assert!(message.contains(part), "{message}");
        }
        let message = recognise(b"13 0 303567 7 0\n13.5 1 5 6 1\n").expect_err("mixed");
        assert!(message.contains("some times are whole") && message.contains("workload.format"), "{message}");
        for head in ["junk\n", "1,2,3\n", "1,xx,yy,zz,2\n", "\n", "a b c d e\n", "aa,bb,cc,dd,ee\n"] {
            assert!(recognise(head.as_bytes()).expect_err(head).contains("not recognised"), "{head}");
        }
    }

    #[test]
    fn w105_a_header_alone_is_known_by_its_names_or_its_number_of_columns() {
        for (header, format) in [
            ("Timestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime\n", "msr"),
            ("when,how long,what,unit,where,bytes\n", "systor"),
            ("timestamp,offset,size,iotype,volumeid\njunk\n", "tencent"),
            ("device_id,opcode,offset,length,timestamp\n", "alibaba"),
            ("ASU,LBA,Size,Opcode,Timestamp\n", "spc"),
        ] {
            assert_eq!(recognise(header.as_bytes()).map(TraceFormat::name), Ok(format), "{header}");
        }
    }
}
