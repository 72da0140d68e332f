//! How a file is read, by its first lines and the options.

use pumice_types::Choice;

use crate::source::error::excerpt;
use crate::trace::columns::header::{Delimiter, Header, TableColumn};
use crate::trace::columns::layout::ColumnLayout;
use crate::trace::columns::request::ColumnRequest;
use crate::trace::columns::units::{TimeUnit, meaning};
use crate::trace::columns::{ColumnRule, ColumnTable, Role, Separator};
use crate::trace::formats::TraceFormat;
use crate::trace::options::TraceOptions;
use crate::trace::record::sample::{Likeness, Sample};
use crate::trace::record::time_scale::TimeScale;

/// Bytes looked at.
pub(super) const HEAD_BYTES: usize = 16 << 10;

/// Lines looked at to tell whole numbers from real ones.
const LINES: usize = 64;

/// How a file is read.
#[derive(Debug, PartialEq)]
pub(super) struct Reading {
    pub format: TraceFormat,
    /// Which column is what, if the format does not say it.
    pub columns: Option<ColumnRequest>,
}

impl Reading {
    fn of(format: TraceFormat) -> Reading {
        Reading { format, columns: None }
    }
}

/// How a file that begins with `head` is read under the options, or what is wrong with its first line.
///
/// Columns that the options give decide. Otherwise, where line 1 names columns, their names decide; where the options
/// name a format, the header must not contradict it. Otherwise the first records decide.
pub(super) fn reading(head: &[u8], options: &TraceOptions) -> Result<Reading, String> {
    if head.starts_with(&[0xff, 0xfe]) || head.starts_with(&[0xfe, 0xff]) {
        return Err("UTF-16 text found; allowed is UTF-8".to_owned());
    }
    let first = whole_lines(head).first().copied().unwrap_or_default();
    match (&options.columns, options.format) {
        (Some(columns), None | Some(TraceFormat::Csv)) => {
            Ok(Reading { format: TraceFormat::Csv, columns: Some(columns.clone()) })
        }
        (Some(_), Some(format)) => Err(two_descriptions(format)),
        (None, Some(TraceFormat::Csv)) => Ok(Reading::of(TraceFormat::Csv)),
        (None, Some(format)) => match Header::of(first) {
            Some(header) => under(format, &header),
            None => Ok(Reading::of(format)),
        },
        (None, None) => recognise(head),
    }
}

/// The format of a file that begins with `head`, or what is wrong with its first line.
///
/// Where the first line names columns, their names decide. Otherwise every format says how well the first lines fit;
/// the best fit decides, and must be one format's alone.
fn recognise(head: &[u8]) -> Result<Reading, String> {
    if head.is_empty() {
        // Whatever the format, the reader says that there are no records.
        return Ok(Reading::of(TraceFormat::ALL[0]));
    }
    let lines = whole_lines(head);
    let first = lines.first().copied().unwrap_or_default();
    // Words between blanks may be a sentence, such as a notice of blkparse.
    if let Some(header) = Header::of(first).filter(|header| header.delimiter != Delimiter::Blanks) {
        return by_header(&header);
    }
    match by_records(&lines) {
        Some(found) => found.map(Reading::of),
        None if ColumnLayout::of(None, first).is_ok() => Ok(Reading::of(TraceFormat::Csv)),
        None => {
            let (what, names) = (excerpt(first), TraceFormat::NAMES.join(", "));
            if first.starts_with(b"#") && lines.get(1).is_some_and(|second| Header::of(second).is_some()) {
                return Err(format!(
                    "{what} is a comment, and names of columns follow; take the comments out, as with \
                     grep -v '^#' FILE > NEW"
                ));
            }
            if first.starts_with(b"[") {
                return Err(format!("{what} begins a section, as in a job of fio's; --fio-job FILE runs one"));
            }
            if first.iter().any(|&byte| byte < b' ' && byte != b'\t') {
                return Err(format!(
                    "is no text; allowed are {names}, plain or compressed by gzip, zstd or xz, and Parquet"
                ));
            }
            Err(format!(
                "the format is not recognised from {what}; allowed are {names}; a file in one of them can be named by \
                 workload.format, and workload.columns (--columns) says which column of other text is what"
            ))
        }
    }
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

/// Which column of a table is what, under the options.
///
/// # Errors
/// What the names lack or contradict, and what is allowed.
pub(super) fn of_table(columns: &[TableColumn], options: &TraceOptions) -> Result<ColumnLayout, String> {
    let header = Header::of_table(columns);
    let found = match (&options.columns, options.format) {
        (Some(columns), None | Some(TraceFormat::Csv)) => {
            Reading { format: TraceFormat::Csv, columns: Some(columns.clone()) }
        }
        (Some(_), Some(format)) => return Err(two_descriptions(format)),
        (None, Some(TraceFormat::Csv)) => Reading::of(TraceFormat::Csv),
        (None, Some(format)) => under(format, &header)?,
        (None, None) => by_header(&header)?,
    };
    match (found.format, found.columns) {
        (TraceFormat::Csv, request) => ColumnLayout::under(request.as_ref(), &header),
        (format, _) => {
            let table = table(format).filter(|table| table.columns.len() == columns.len());
            let table = table.ok_or_else(|| {
                format!(
                    "format {format} has no names for the columns {}; set workload.columns (--columns)",
                    header.shown()
                )
            })?;
            let places: Vec<usize> = (0..columns.len()).collect();
            ColumnLayout::under(Some(&elsewhere(table, &format.facts().time, &places, &[])?), &header)
        }
    }
}

/// Columns and a format are both given.
fn two_descriptions(format: TraceFormat) -> String {
    format!(
        "workload.columns is given beside workload.format = \"{format}\"; allowed are columns without a format, or with \
         \"csv\""
    )
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

/// How a file with this header is read: as the one format whose names these are, or by names that tell everything.
fn by_header(header: &Header<'_>) -> Result<Reading, String> {
    let own = |format: &&TraceFormat| table(**format).is_some_and(|table| table.places(&header.names).is_some());
    let formats: Vec<&TraceFormat> = TraceFormat::ALL.iter().filter(own).collect();
    match formats[..] {
        [&format] => under(format, header),
        _ => ColumnLayout::under(None, header).map(|_| Reading::of(TraceFormat::Csv)),
    }
}

/// How a file with this header is read in a format: as the format has its columns, or, where the header has them in
/// another order or more of them, by their names.
fn under(format: TraceFormat, header: &Header<'_>) -> Result<Reading, String> {
    let Some(table) = table(format) else { return Ok(Reading::of(format)) };
    let Some(places) = table.places(&header.names) else {
        return contradiction(table, &header.names).map_or_else(
            || Ok(Reading::of(format)),
            |fault| {
                Err(format!(
                    "{fault}; the columns of format {format} are {}; set workload.columns (--columns) to {}",
                    table.names(),
                    header.suggestion()
                ))
            },
        );
    };
    let in_order = places.iter().enumerate().all(|(column, &place)| column == place);
    if in_order && header.names.len() == table.columns.len() {
        return Ok(Reading::of(format));
    }
    let besides = [Role::Fua, Role::Stream].map(|role| (role, header.column(role)));
    let columns = elsewhere(table, &format.facts().time, &places, &besides)?;
    Ok(Reading { format: TraceFormat::Csv, columns: Some(columns) })
}

/// The columns of a format whose header may name them; those of formats with blanks are not named.
fn table(format: TraceFormat) -> Option<&'static ColumnTable> {
    format.facts().columns.filter(|table| table.separator != Separator::Blanks)
}

/// What a header says against the columns of a format: a name that means something else than the column in its place.
fn contradiction(table: &ColumnTable, names: &[&str]) -> Option<String> {
    names.iter().zip(table.columns).enumerate().find_map(|(column, (name, &(own, _, role)))| {
        let told = meaning(name).role?;
        (Some(told) != role).then(|| {
            format!("the header names column {column} \"{name}\", which means {}, where \"{own}\" belongs", told.name())
        })
    })
}

/// The columns of a format where a header has them, each in the format's unit, and what the header has besides.
fn elsewhere(
    table: &ColumnTable,
    time: &TimeScale,
    places: &[usize],
    besides: &[(Role, Option<usize>)],
) -> Result<ColumnRequest, String> {
    let mut items = Vec::new();
    let mut volume: Vec<usize> = Vec::new();
    for (&(_, rule, role), place) in table.columns.iter().zip(places) {
        let Some(role) = role else { continue };
        match (role, rule) {
            (Role::Volume, _) => volume.push(*place),
            (Role::Time, _) => {
                let unit = TimeUnit::of_ns(time.tick_ns * 10u64.pow(time.decimals as u32));
                items.push(format!("time={place}:{}", unit.map_or("?", TimeUnit::name)));
            }
            (Role::Op, ColumnRule::Either(read, write)) => items.push(format!("op={place}:{read}/{write}")),
            (Role::Offset | Role::Size, ColumnRule::Sectors | ColumnRule::SectorAddress) => {
                items.push(format!("{}={place}:sectors", role.name()));
            }
            (Role::Op | Role::Offset | Role::Size | Role::Fua | Role::Stream, _) => {
                items.push(format!("{}={place}", role.name()));
            }
        }
    }
    if volume.windows(2).any(|pair| pair[1] != pair[0] + 1) {
        return Err(format!(
            "the columns of one volume are apart in the header; allowed is one next to the other: {}",
            table.names()
        ));
    }
    if let (Some(first), Some(last)) = (volume.first(), volume.last()) {
        items.push(if first == last { format!("volume={first}") } else { format!("volume={first}-{last}") });
    }
    items.extend(besides.iter().filter_map(|(role, column)| column.map(|column| format!("{}={column}", role.name()))));
    ColumnRequest::parse(&items.join(","))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(head: &str) -> Result<&'static str, String> {
        recognise(head.as_bytes()).map(|reading| reading.format.name())
    }

    #[test]
    fn w113_every_format_is_recognised_by_its_examples() {
        for &format in TraceFormat::ALL {
            let facts = format.facts();
            assert!([facts.name, facts.about, facts.units, facts.time.allowed].iter().all(|text| !text.is_empty()));
            assert!(!format.examples().is_empty(), "{} has no example", format.name());
            for example in format.examples() {
                assert_eq!(recognise(example.as_bytes()), Ok(Reading::of(format)), "{example}");
            }
        }
        assert_eq!(name("fio version 9 iolog\n"), Ok("fio"));
    }

    #[test]
    fn w114_what_cannot_be_told_is_said() {
        let message = name("0 0 303567 7 0\n13 1 5 6 1\n30 1 5 6 1\n").expect_err("ambiguous");
        for part in ["\"ssdsim\" (whole nano", "\"disksim\" (milli", "15 apart", "workload.format"] {
            assert!(message.contains(part), "{message}");
        }
        let message = name("13 0 303567 7 0\n13.5 1 5 6 1\n").expect_err("mixed");
        assert!(message.contains("some times are whole") && message.contains("workload.format"), "{message}");
        for head in ["junk\n", "1,2,3\n", "1,xx,yy,zz,2\n", "\n", "a b c d e\n", "aa,bb,cc,dd,ee\n"] {
            assert!(name(head).expect_err(head).contains("not recognised"), "{head}");
        }
        assert!(name("\u{feff}x\n").is_err());
        let utf16 = reading(b"\xff\xfe1\0,\0", &TraceOptions::default()).expect_err("UTF-16");
        assert!(utf16.contains("UTF-16 text found; allowed is UTF-8"), "{utf16}");
    }

    #[test]
    fn w105_a_header_alone_is_known_by_its_names() {
        for (header, format) in [
            ("Timestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime\n", "msr"),
            ("timestamp,offset,size,iotype,volumeid\njunk\n", "tencent"),
            ("device_id,opcode,offset,length,timestamp\n", "alibaba"),
            ("ASU,LBA,Size,Opcode,Timestamp\n", "spc"),
            ("time_us op offset_sectors size_bytes\n", "csv"),
        ] {
            assert_eq!(name(header), Ok(format), "{header}");
        }
    }

    /// A header in the order of no format is read by its names, in the units of the one format that has these.
    #[test]
    fn w106_columns_go_by_the_names_of_the_header() {
        for (header, columns) in [
            ("device_id,opcode,length,offset,timestamp", "time=4:us,op=1:R/W,offset=3,size=2,volume=0"),
            ("Size,Offset,Timestamp,VolumeID,IOType", "time=2:s,op=4:0/1,offset=1:sectors,size=0:sectors,volume=3"),
            (
                "Timestamp,Offset,Size,IOType,VolumeID,Latency",
                "time=0:s,op=3:0/1,offset=1:sectors,size=2:sectors,volume=4",
            ),
            ("device_id,opcode,offset,length,timestamp,fua", "time=4:us,op=1:R/W,offset=2,size=3,volume=0,fua=5"),
            (
                "Timestamp,Offset,Size,IOType,VolumeID,stream",
                "time=0:s,op=3:0/1,offset=1:sectors,size=2:sectors,volume=4,stream=5",
            ),
            (
                "Type,Hostname,Disk,Timestamp,Size,Offset,ResponseTime",
                "time=3:100ns,op=0:Read/Write,offset=5,size=4,volume=1-2",
            ),
        ] {
            let found = recognise(header.as_bytes()).expect(header);
            let expected: Vec<&str> = columns.split(',').collect();
            let text = found.columns.expect("named").to_string();
            let mut found: Vec<&str> = text.split(',').collect();
            found.sort_by_key(|item| expected.iter().position(|known| known == item));
            assert_eq!(found, expected, "{header}");
        }
        let apart = name("Type,Disk,Hostname,Timestamp,Size,Offset,ResponseTime").expect_err("apart");
        assert!(apart.contains("next to the other"), "{apart}");
    }

    #[test]
    fn w107_names_that_no_format_has_are_not_guessed() {
        for (header, part) in [
            ("when,how long,what,unit,where,bytes", "none of them is known to mean time"),
            ("ts,op,offset,size", "\"ts\" does not end in a unit"),
            ("time_s,op,lba,bytes", "\"lba\" does not end in a unit"),
            ("time_s,op,lba_bytes,bytes,fua,is_fua", "fua, is_fua may all mean fua"),
            ("time_s,is_write,is_trim,lba_bytes,bytes", "is_write, is_trim may all mean op"),
            ("time_s,op,offset_bytes,lba_sectors,bytes", "offset_bytes, lba_sectors may all mean offset"),
        ] {
            let message = name(header).expect_err(header);
            assert!(message.contains(part) && message.contains("workload.columns (--columns) to"), "{message}");
        }
    }

    #[test]
    fn w108_a_header_may_not_contradict_the_format_that_is_named() {
        let under = |header: &str| {
            let options = TraceOptions { format: Some(TraceFormat::Alibaba), ..TraceOptions::default() };
            reading(header.as_bytes(), &options)
        };
        assert_eq!(under("device_id,opcode,offset,length,timestamp\n"), Ok(Reading::of(TraceFormat::Alibaba)));
        assert_eq!(under("vol,rw,where,len,ts\n"), Ok(Reading::of(TraceFormat::Alibaba)), "nothing speaks against it");
        let swapped = under("device_id,opcode,length,offset,timestamp\n").expect("by name");
        assert_eq!(swapped.format, TraceFormat::Csv);
        let message = under("vol,rw,len,lba,ts\n").expect_err("contradiction");
        for part in
            ["column 2 \"len\", which means size, where \"offset\" belongs", "device_id,opcode", "offset=lba:UNIT"]
        {
            assert!(message.contains(part), "{message}");
        }
    }
}
