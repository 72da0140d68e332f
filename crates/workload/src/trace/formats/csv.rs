//! Delimited text whose columns a header names with their units, or `workload.columns` gives.
//!
//! Fields are parted by commas, semicolons, tabs, bars or blanks; line 1 decides which. Columns that tell nothing of a
//! request are ignored. A flush's offset and size say nothing.

use pumice_types::{RequestKind, ZoneCommand};

use crate::source::error::{counted, excerpt};
use crate::trace::columns::Role;
use crate::trace::columns::layout::ColumnLayout;
use crate::trace::columns::request::ColumnRequest;
use crate::trace::columns::units::{Operation, TimeUnit, truth};
use crate::trace::formats::format::{FormatFacts, LineFormat, Writing};
use crate::trace::record::fields::{Cursor, size, span};
use crate::trace::record::time_scale::TimeScale;
use crate::trace::record::{Durability, OtherLine, ParsedLine};

/// The parser. Line 1 says which column is what.
#[derive(Default)]
pub(in crate::trace) struct Csv {
    /// What the user or another format's columns ask for.
    request: Option<Box<ColumnRequest>>,
    layout: Option<Box<ColumnLayout>>,
    /// What is wrong with line 1.
    fault: Option<String>,
    /// Start and end of every field of a line, reused.
    spans: Vec<(usize, usize)>,
}

/// Why a line is refused.
enum Fault {
    Fields,
    Time,
    Op,
    Offset,
    Size,
    End,
    Volume,
    Fua,
    Stream,
}

impl Csv {
    pub fn new(request: ColumnRequest) -> Csv {
        Csv { request: Some(Box::new(request)), ..Csv::default() }
    }

    /// Line 1 gives the layout. It is no request if it names the columns.
    #[cold]
    fn begin<'a>(&mut self, line: &'a [u8]) -> Option<ParsedLine<'a>> {
        match ColumnLayout::of(self.request.as_deref(), line) {
            Ok(layout) => {
                let has_header = layout.has_header();
                self.layout = Some(Box::new(layout));
                if has_header { Some(ParsedLine::Other(OtherLine::Header)) } else { self.parse(line) }
            }
            Err(fault) => {
                self.fault = Some(fault);
                None
            }
        }
    }
}

impl LineFormat for Csv {
    const FACTS: FormatFacts = FormatFacts {
        name: "csv",
        about: "delimited text whose header names its columns and units, or described by workload.columns",
        units: "time: ns, 100ns, us, ms or s; offset and size: bytes, sectors of 512 bytes, kib, mib; as the columns say",
        time: TimeScale { tick_ns: 1, decimals: 0, epoch: None, column: "time in nanoseconds", allowed: "nanoseconds" },
        trims: true,
        flushes: true,
        zones: true,
        examples: &[
            "time_ns,op,offset_bytes,size_bytes\n0,W,4096,512\n",
            "size_sectors;Timestamp (s);offset_sectors;is_write\n8;0.5;16;1\n",
        ],
        writing: Some(Writing {
            fua: true,
            head: "time_ns,op,offset_bytes,size_bytes\n",
            head_with_streams: Some("time_ns,op,offset_bytes,size_bytes,stream\n"),
            line: |out, r| {
                let word = Operation { kind: r.kind, fua: r.fua }.own_word();
                write!(out, "{},{word},{},{}", r.time, r.offset, r.bytes)?;
                r.stream.map_or(Ok(()), |stream| write!(out, ",{stream}"))?;
                writeln!(out)
            },
            ..Writing::IN_BYTES
        }),
        // No record is like one of these: only a header makes a file one, and that is looked at before.
        ..FormatFacts::PLAIN
    };

    #[inline]
    fn parse<'a>(&mut self, line: &'a [u8]) -> Option<ParsedLine<'a>> {
        let Some(layout) = &self.layout else { return self.begin(line) };
        layout.delimiter.spans(line, &mut self.spans);
        read(layout, &self.spans, line).ok()
    }

    fn layout_text(&self) -> Option<String> {
        self.layout.as_deref().map(ColumnLayout::text)
    }

    fn names_streams(&self) -> bool {
        self.layout.as_ref().is_some_and(|layout| layout.stream.is_some())
    }

    fn explain(&self, line: &[u8]) -> String {
        match (&self.layout, &self.fault) {
            (_, Some(fault)) => fault.clone(),
            (Some(layout), None) => {
                let mut spans = Vec::new();
                layout.delimiter.spans(line, &mut spans);
                let fault = read(layout, &spans, line).err();
                fault.map_or_else(|| excerpt(line), |fault| explained(layout, &spans, line, &fault))
            }
            (None, None) => format!("{} found before line 1", excerpt(line)),
        }
    }
}

/// The request of a line.
#[inline]
fn read<'a>(layout: &ColumnLayout, spans: &[(usize, usize)], line: &'a [u8]) -> Result<ParsedLine<'a>, Fault> {
    if spans.len() != layout.fields {
        return Err(Fault::Fields);
    }
    let field = |column: usize| &line[spans[column].0..spans[column].1];
    let time = match layout.time {
        Some((column, unit)) => number(field(column), unit.decimals()).ok_or(Fault::Time)?,
        None => 0,
    };
    let operation = layout.op.1.meaning(field(layout.op.0)).ok_or(Fault::Op)?;
    let volume = match layout.volume {
        Some((first, last)) => &line[spans[first].0..spans[last].1],
        None => b"0",
    };
    // Names of volumes are shown and typed.
    if volume.is_empty() || volume.iter().any(u8::is_ascii_control) || std::str::from_utf8(volume).is_err() {
        return Err(Fault::Volume);
    }
    let is_marked = layout.fua.map_or(Some(false), |column| truth(field(column))).ok_or(Fault::Fua)?;
    if is_marked && operation.kind != RequestKind::Write {
        return Err(Fault::Fua);
    }
    if operation.kind == RequestKind::Flush {
        return Ok(ParsedLine::flush(time, volume));
    }
    let scaled = |(column, grain): (usize, u64)| address(field(column)).and_then(|count| count.checked_mul(grain));
    let offset = scaled(layout.offset).ok_or(Fault::Offset)?;
    // What a command to a zone that has no data says of a length counts for nothing; one byte stands for its place.
    let bytes = match operation.kind {
        RequestKind::Zone(command) if command != ZoneCommand::Append => {
            scaled(layout.size).map(|_| 1).ok_or(Fault::Size)?
        }
        RequestKind::Read | RequestKind::Write | RequestKind::Trim | RequestKind::Flush | RequestKind::Zone(_) => {
            scaled(layout.size).and_then(size).ok_or(Fault::Size)?
        }
    };
    let extent = span(offset, bytes).ok_or(Fault::End)?;
    let durability = Durability { fua: operation.fua || is_marked, preflush: false };
    let stream = match layout.stream {
        Some(column) if operation.kind == RequestKind::Write => stream(field(column)).ok_or(Fault::Stream)?,
        Some(_) | None => 0,
    };
    Ok(ParsedLine::lasting(time, extent, operation.kind, durability, volume).in_stream(stream))
}

/// The number of a stream.
#[inline]
fn stream(field: &[u8]) -> Option<u8> {
    number(field, 0).and_then(|stream| u8::try_from(stream).ok())
}

/// A number that is a whole field; without decimals it must be a whole number.
#[inline]
fn number(field: &[u8], decimals: usize) -> Option<u64> {
    let mut at = Cursor::new(field);
    let value = if decimals == 0 { at.whole() } else { at.decimal(decimals) };
    at.end().and(value)
}

/// A whole number, in digits or as `0x` and hexadecimal digits.
#[inline]
fn address(field: &[u8]) -> Option<u64> {
    number(field, 0).or_else(|| hexadecimal(field))
}

#[cold]
fn hexadecimal(field: &[u8]) -> Option<u64> {
    let digits = field.strip_prefix(b"0x").or_else(|| field.strip_prefix(b"0X"))?;
    let is_plain = !digits.is_empty() && digits.iter().all(u8::is_ascii_hexdigit);
    is_plain.then(|| std::str::from_utf8(digits).ok()).flatten().and_then(|text| u64::from_str_radix(text, 16).ok())
}

/// What to do with dates, which are no numbers.
fn if_dates(field: &[u8]) -> &'static str {
    let dashes = field.iter().filter(|&&byte| byte == b'-').count();
    if dashes < 2 || !field.contains(&b':') {
        return "";
    }
    "; dates are no numbers: give them as seconds since any instant, or as a table whose column is a time \
     (in Python: requests=table with pandas.to_datetime)"
}

/// Times in this unit that are allowed, where the field at this place of a line was found.
fn allowed_times(unit: TimeUnit, (start, end): (usize, usize), line: &[u8]) -> String {
    let allowed = match unit.decimals() {
        0 => "whole numbers of nanoseconds from 0 to 2^64 - 1".to_owned(),
        decimals => {
            format!("plain digits like 12.345, in {unit}, from 0 to {}", u64::MAX / 10u64.pow(decimals as u32))
        }
    };
    allowed + if_dates(&line[start..end])
}

/// The fault in words: what was found, and what is allowed.
#[cold]
fn explained(layout: &ColumnLayout, spans: &[(usize, usize)], line: &[u8], fault: &Fault) -> String {
    let found = |role, column: usize, allowed: String| {
        let (start, end) = spans[column];
        let label = layout.label(role, column);
        format!("{label} {} found; allowed are {allowed}; the line is {}", excerpt(&line[start..end]), excerpt(line))
    };
    let bytes_of = |grain: u64| if grain == 1 { String::new() } else { format!(" units of {grain} bytes") };
    match (fault, layout.time) {
        (Fault::Fields, _) => {
            let fields = counted(spans.len() as u64, "field");
            format!("{fields} in {}; allowed are {}, as in line 1", excerpt(line), layout.fields)
        }
        (Fault::Time, Some((column, unit))) => found(Role::Time, column, allowed_times(unit, spans[column], line)),
        (Fault::Op, _) => found(Role::Op, layout.op.0, layout.op.1.allowed()),
        (Fault::Offset, _) => {
            let (column, grain) = layout.offset;
            found(Role::Offset, column, format!("whole numbers from 0 to {}{}", u64::MAX / grain, bytes_of(grain)))
        }
        (Fault::Size, _) => {
            let (column, grain) = layout.size;
            let unit = if grain == 1 { " bytes".to_owned() } else { bytes_of(grain) };
            found(Role::Size, column, format!("1 to {}{unit}", u64::from(u32::MAX) / grain))
        }
        (Fault::Volume, _) => found(
            Role::Volume,
            layout.volume.map_or(0, |volume| volume.0),
            "names without control characters".to_owned(),
        ),
        (Fault::Fua, _) => {
            found(Role::Fua, layout.fua.unwrap_or_default(), "0 and false, of writes also 1 and true".to_owned())
        }
        (Fault::Stream, _) => {
            found(Role::Stream, layout.stream.unwrap_or_default(), "whole numbers from 0 to 255 for a write".to_owned())
        }
        (Fault::End | Fault::Time, _) => format!(
            "the request's last byte lies beyond the largest address, 2^64 - 1; allowed are requests that end before it; \
             the line is {}",
            excerpt(line)
        ),
    }
}
