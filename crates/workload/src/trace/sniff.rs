//! Which format a file has, by its first lines.

use crate::error::excerpt;
use crate::trace::TraceFormat;
use crate::trace::{blkparse, fio};

/// Bytes looked at.
pub(super) const HEAD_BYTES: usize = 16 << 10;

/// Lines looked at to tell whole numbers from real ones.
const LINES: usize = 64;

/// Mean distance in nanoseconds below which whole-number times are not believed to be nanoseconds:
/// ten million requests a second.
const MIN_GAP_NS: u64 = 100;

/// The format of a file that begins with `head`, or line and message of an error.
///
/// A first line that names columns decides by the line behind it. The rules, in this order:
/// `fio version` → fio; `major,minor` and five more fields between blanks → blkparse; seven fields
/// between commas → MSR; six → Systor; five: a letter in the second → Alibaba, in the fourth → SPC,
/// numbers only → Tencent; five fields between blanks → DiskSim if the times have a point or a flag
/// is above 1, else SSDSim.
pub(super) fn recognise(head: &[u8]) -> Result<TraceFormat, (u64, String)> {
    let mut lines: Vec<&[u8]> = head.split(|&byte| byte == b'\n').take(LINES + 1).collect();
    if lines.len() > 1 {
        // Empty after the last line feed, or cut.
        lines.pop();
    }
    for line in &mut lines {
        *line = line.strip_suffix(b"\r").unwrap_or(line);
    }
    let first = lines.first().copied().unwrap_or_default();
    if head.is_empty() {
        // Whatever the format, the reader says that there are no records.
        return Ok(TraceFormat::MsrCsv);
    }
    if !names_columns(first) {
        return shape(first, &lines).unwrap_or_else(|| Err((1, unknown(first))));
    }
    let second = lines.get(1).and_then(|&line| shape(line, &lines[1..]));
    second.or_else(|| by_count(first)).unwrap_or_else(|| Err((1, unknown(first))))
}

type Verdict = Result<TraceFormat, (u64, String)>;

fn unknown(line: &[u8]) -> String {
    format!(
        "the format is not recognised from {}; allowed are {}; a file in one of them can be named by workload.format",
        excerpt(line),
        TraceFormat::NAMES.join(", ")
    )
}

fn names_columns(line: &[u8]) -> bool {
    let named = |field: &[u8]| field.iter().filter(|byte| byte.is_ascii_alphabetic()).count() > 1;
    let number = |field: &[u8]| field.first().is_some_and(u8::is_ascii_digit);
    let mut fields = line.split(|&byte| byte == b',').map(<[u8]>::trim_ascii);
    (5..=7).contains(&fields.clone().count()) && fields.all(|field| named(field) && !number(field))
}

/// The format of a record's line, if it looks like any; `lines` begin with it.
fn shape(line: &[u8], lines: &[&[u8]]) -> Option<Verdict> {
    if line.starts_with(fio::MAGIC) {
        return Some(Ok(TraceFormat::Fio));
    }
    let blank = |byte: &u8| matches!(byte, b' ' | b'\t');
    let words: Vec<&[u8]> = line.split(blank).filter(|word| !word.is_empty()).collect();
    let device = words.first().is_some_and(|word| blkparse::device_numbers(word).is_some());
    if (device && words.len() >= 6) || line.starts_with(b"Input file ") {
        return Some(Ok(TraceFormat::BlkParse));
    }
    if words.len() == 5 && !line.contains(&b',') {
        return whole(words[1]).map(|_| nanoseconds_or_milliseconds(lines));
    }
    let fields: Vec<&[u8]> = line.split(|&byte| byte == b',').map(<[u8]>::trim_ascii).collect();
    if fields.len() != 5 {
        return by_count(line);
    }
    let letter = |field: &[u8]| field.len() == 1 && field[0].is_ascii_alphabetic();
    match fields[..] {
        [_, opcode, _, _, _] if letter(opcode) => Some(Ok(TraceFormat::Alibaba)),
        [_, _, _, opcode, _] if letter(opcode) => Some(Ok(TraceFormat::Spc)),
        _ if fields.iter().all(|field| whole(field).is_some()) => Some(Ok(TraceFormat::Tencent)),
        _ => None,
    }
}

/// The format that alone has so many fields between commas; of five, any.
fn by_count(line: &[u8]) -> Option<Verdict> {
    match memchr::memchr_iter(b',', line).count() {
        4 if names_columns(line) => Some(Ok(TraceFormat::Tencent)),
        5 => Some(Ok(TraceFormat::Systor)),
        6 => Some(Ok(TraceFormat::MsrCsv)),
        _ => None,
    }
}

fn whole(field: &[u8]) -> Option<u64> {
    std::str::from_utf8(field).ok()?.parse().ok()
}

/// SSDSim and DiskSim have the same columns. Times with a point, or flags above 1, are DiskSim's;
/// whole numbers are SSDSim's nanoseconds. Both kinds of times in one file (but for a 0), or whole
/// numbers that would make an unbelievable rate, may be either.
fn nanoseconds_or_milliseconds(lines: &[&[u8]]) -> Verdict {
    let ask = |why: String| {
        let message = format!(
            "{why}: this may be \"ssdsim\" (whole nanoseconds) or \"disksim\" (milliseconds with digits behind the \
             point); set workload.format to one of these two"
        );
        Err((1, message))
    };
    let (mut whole_times, mut real_times, mut flagged) = (Vec::new(), 0, false);
    for line in lines {
        let mut words = line.split(|byte| matches!(byte, b' ' | b'\t')).filter(|word| !word.is_empty());
        let (time, flags) = (words.next().unwrap_or_default(), words.nth(3).unwrap_or_default());
        flagged |= whole(flags).is_some_and(|flags| flags > 1);
        match whole(time) {
            Some(time) => whole_times.push(time),
            None if time.contains(&b'.') => real_times += 1,
            None => break,
        }
    }
    if flagged || (real_times > 0 && whole_times.iter().all(|&time| time == 0)) {
        return Ok(TraceFormat::DiskSim);
    }
    if real_times > 0 {
        return ask("some times are whole numbers and some are not".to_owned());
    }
    let (least, most) = (whole_times.iter().min().unwrap_or(&0), whole_times.iter().max().unwrap_or(&0));
    let gap = (most - least) / (whole_times.len() as u64).saturating_sub(1).max(1);
    if most > least && gap < MIN_GAP_NS {
        return ask(format!("the times are whole numbers, {gap} apart on average, too close for nanoseconds"));
    }
    Ok(TraceFormat::SsdSim)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn w113_formats_by_content() {
        for (head, format) in [
            ("128166372003061629,hm,0,Read,12345856,4096,1331\n", "msr"),
            ("Timestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime\n", "msr"),
            ("419,W,8792731648,16384,1577808144360767\n", "alibaba"),
            ("device_id,opcode,offset,length,timestamp\n419,W,8792731648,16384,1577808144360767\n", "alibaba"),
            ("1538323200,4247200,128,1,1058\n", "tencent"),
            ("Timestamp,Offset,Size,IOType,VolumeID\r\n1538323200,4247200,128,1,1058\r\n", "tencent"),
            ("0,303567,3584,w,0.000000\n", "spc"),
            (" 0 , 303567 , 3584 , w , 0.5\n", "spc"),
            ("26214000 1 240840 6 0\n", "ssdsim"),
            ("0.000000\t0 303567 7 0\n", "disksim"),
            ("0 0 303567 7 0\n13.19 1 5 6 1\n", "disksim"),
            ("0 0 303567 7 3\n", "disksim"),
            ("0 0 303567 7 1\n0 0 303567 7 1\n", "ssdsim"),
            ("1456095145.133076000,0.000806000,R,0,899056122368,131072\n", "systor"),
            ("Timestamp,Response,IOType,LUN,Offset,Size\n1456095145.1,,R,0,8,131072\n", "systor"),
            ("  8,16   3        5     0.000026421  3645  D   R 4938888 + 256 [java]\n", "blkparse"),
            ("fio version 2 iolog\n/dev/sda add\n", "fio"),
            ("fio version 9 iolog\n", "fio"),
        ] {
            assert_eq!(recognise(head.as_bytes()).map(TraceFormat::name), Ok(format), "{head}");
        }
    }

    #[test]
    fn w114_what_cannot_be_told_is_said() {
        let (line, message) = recognise(b"0 0 303567 7 0\n13 1 5 6 1\n30 1 5 6 1\n").expect_err("ambiguous");
        assert_eq!(line, 1);
        for part in ["\"ssdsim\"", "\"disksim\"", "15 apart", "workload.format"] {
            assert!(message.contains(part), "{message}");
        }
        let (_, message) = recognise(b"13 0 303567 7 0\n13.5 1 5 6 1\n").expect_err("mixed");
        assert!(message.contains("some times are whole") && message.contains("workload.format"), "{message}");
        for head in ["junk\n", "1,2,3\n", "1,xx,yy,zz,2\n", "\n", "a b c d e\n"] {
            assert!(recognise(head.as_bytes()).expect_err(head).1.contains("not recognised"), "{head}");
        }
    }
}
