//! Units of the columns of delimited text, and the words of its operations.

use pumice_types::{Choice, RequestKind, ZoneCommand, choice};

use crate::source::error::excerpt;
use crate::trace::columns::Role;

choice! {
    /// Unit of a column of times.
    pub(in crate::trace) enum TimeUnit {
        /// Nanoseconds.
        Nanoseconds = "ns",
        /// Ticks of a Windows filetime.
        HundredNanoseconds = "100ns",
        /// Microseconds.
        Microseconds = "us",
        /// Milliseconds.
        Milliseconds = "ms",
        /// Seconds.
        Seconds = "s",
    }
}

impl TimeUnit {
    /// Decimals of the unit that a nanosecond has.
    pub fn decimals(self) -> usize {
        match self {
            TimeUnit::Nanoseconds => 0,
            TimeUnit::HundredNanoseconds => 2,
            TimeUnit::Microseconds => 3,
            TimeUnit::Milliseconds => 6,
            TimeUnit::Seconds => 9,
        }
    }

    /// Nanoseconds of the unit.
    pub fn ns(self) -> u64 {
        10u64.pow(self.decimals() as u32)
    }

    /// The unit of so many nanoseconds.
    pub fn of_ns(ns: u64) -> Option<TimeUnit> {
        TimeUnit::ALL.iter().copied().find(|unit| unit.ns() == ns)
    }
}

/// Names of units of addresses and lengths, in bytes.
const GRAINS: [(&str, u64); 4] = [("bytes", 1), ("sectors", 512), ("kib", 1 << 10), ("mib", 1 << 20)];

/// Largest block that a number may name as a unit.
const GRAIN_MAX: u64 = 1 << 30;

/// A unit of addresses and lengths, in bytes: a name, or the number of bytes itself.
pub(in crate::trace) fn grain(text: &str) -> Result<u64, String> {
    let named = GRAINS.iter().find(|(name, _)| *name == text).map(|&(_, bytes)| bytes);
    let number = || text.parse().ok().filter(|bytes| (1..=GRAIN_MAX).contains(bytes));
    named.or_else(number).ok_or_else(|| {
        let names: Vec<&str> = GRAINS.iter().map(|(name, _)| *name).collect();
        format!("{} is no unit; allowed are {} and a number of bytes", excerpt(text.as_bytes()), names.join(", "))
    })
}

/// The name of a unit, as [`grain`] reads it.
pub(in crate::trace) fn grain_name(bytes: u64) -> String {
    let named = GRAINS.iter().find(|&&(_, grain)| grain == bytes);
    named.map_or_else(|| bytes.to_string(), |(name, _)| (*name).to_owned())
}

/// What an operation's word stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::trace) struct Operation {
    pub kind: RequestKind,
    /// A write with force unit access.
    pub fua: bool,
}

impl Operation {
    /// The word of the engine's own text: the first of those that stand for it.
    pub fn own_word(self) -> &'static str {
        let is_it = |of: Operation| of.kind == self.kind && (of.fua == self.fua || of.kind != RequestKind::Write);
        WORDS.iter().find(|&&(_, operation)| is_it(operation)).map_or("", |(word, _)| word)
    }
}

const READ: Operation = Operation { kind: RequestKind::Read, fua: false };
const WRITE: Operation = Operation { kind: RequestKind::Write, fua: false };
const TRIM: Operation = Operation { kind: RequestKind::Trim, fua: false };
const FLUSH: Operation = Operation { kind: RequestKind::Flush, fua: false };
const FUA_WRITE: Operation = Operation { kind: RequestKind::Write, fua: true };

const fn zone(command: ZoneCommand) -> Operation {
    Operation { kind: RequestKind::Zone(command), fua: false }
}

/// The words that are understood without being given.
const WORDS: [(&str, Operation); 25] = [
    ("R", READ),
    ("W", WRITE),
    ("read", READ),
    ("write", WRITE),
    ("rd", READ),
    ("wr", WRITE),
    ("D", TRIM),
    ("trim", TRIM),
    ("discard", TRIM),
    ("unmap", TRIM),
    ("F", FLUSH),
    ("flush", FLUSH),
    ("sync", FLUSH),
    ("WF", FUA_WRITE),
    ("FUA", FUA_WRITE),
    ("ZA", zone(ZoneCommand::Append)),
    ("append", zone(ZoneCommand::Append)),
    ("ZO", zone(ZoneCommand::Open)),
    ("open", zone(ZoneCommand::Open)),
    ("ZC", zone(ZoneCommand::Close)),
    ("close", zone(ZoneCommand::Close)),
    ("ZF", zone(ZoneCommand::Finish)),
    ("finish", zone(ZoneCommand::Finish)),
    ("ZR", zone(ZoneCommand::Reset)),
    ("reset", zone(ZoneCommand::Reset)),
];

/// The words of a column that says whether a request is a write.
const IS_WRITE: [(&str, Operation); 4] = [("0", READ), ("1", WRITE), ("false", READ), ("true", WRITE)];

/// The words of a column that says whether a request is a read.
const IS_READ: [(&str, Operation); 4] = [("1", READ), ("0", WRITE), ("true", READ), ("false", WRITE)];

/// The words of a column that says whether a write has force unit access.
pub(in crate::trace) const TRUTHS: [(&str, bool); 4] = [("0", false), ("1", true), ("false", false), ("true", true)];

/// What a word of such a column says.
#[inline]
pub(in crate::trace) fn truth(word: &[u8]) -> Option<bool> {
    TRUTHS.iter().find(|(known, _)| known.as_bytes().eq_ignore_ascii_case(word)).map(|&(_, is_true)| is_true)
}

/// The words of a column of operations, and what each stands for. Upper and lower case are alike.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::trace) struct OperationWords {
    words: Vec<(Box<[u8]>, Operation)>,
    /// As `workload.columns` gives them; empty for those that are understood without being given.
    text: String,
}

impl OperationWords {
    /// What is understood in a column of this name.
    pub fn of_name(name: &str) -> OperationWords {
        let plain: String = name.chars().filter(char::is_ascii_alphanumeric).collect();
        let (words, text): (&[(&str, Operation)], &str) = match plain.to_ascii_lowercase().as_str() {
            "iswrite" => (&IS_WRITE, "0+false/1+true"),
            "isread" => (&IS_READ, "1+true/0+false"),
            _ => (&WORDS, ""),
        };
        let words = words.iter().map(|&(word, operation)| (word.as_bytes().into(), operation)).collect();
        OperationWords { words, text: text.to_owned() }
    }

    /// Words given as `reads/writes`, `reads/writes/trims` or `reads/writes/trims/flushes`, with `+` between words of
    /// one kind.
    pub fn parse(text: &str) -> Result<OperationWords, String> {
        let kinds: Vec<&str> = text.split('/').collect();
        let mut words: Vec<(Box<[u8]>, Operation)> = Vec::new();
        for (kind, operation) in kinds.iter().zip([READ, WRITE, TRIM, FLUSH]) {
            for word in kind.split('+') {
                let is_known = words.iter().any(|(known, _)| known.eq_ignore_ascii_case(word.as_bytes()));
                if word.is_empty() || is_known {
                    let fault = if is_known { "stands for two operations" } else { "is missing" };
                    return Err(format!(
                        "the word {} {fault} in {}",
                        excerpt(word.as_bytes()),
                        excerpt(text.as_bytes())
                    ));
                }
                words.push((word.as_bytes().into(), operation));
            }
        }
        if !(2..=4).contains(&kinds.len()) {
            let found = excerpt(text.as_bytes());
            return Err(format!(
                "{found} found; allowed are words of reads/writes/trims/flushes such as 0/1 or 28+88/2a"
            ));
        }
        Ok(OperationWords { words, text: text.to_owned() })
    }

    #[inline]
    pub fn meaning(&self, word: &[u8]) -> Option<Operation> {
        self.words.iter().find(|(known, _)| known.eq_ignore_ascii_case(word)).map(|&(_, operation)| operation)
    }

    /// Every word with what it stands for.
    pub fn iter(&self) -> impl Iterator<Item = (String, Operation)> {
        self.words.iter().map(|(word, operation)| (String::from_utf8_lossy(word).into_owned(), *operation))
    }

    /// What is allowed, in words.
    pub fn allowed(&self) -> String {
        let words: Vec<_> = self.words.iter().map(|(word, _)| String::from_utf8_lossy(word)).collect();
        words.join(", ")
    }

    pub fn text(&self) -> &str {
        &self.text
    }
}

/// What a column's name tells: its role and, where the name ends in one, its unit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::trace) struct NameMeaning {
    pub role: Option<Role>,
    /// Unit of a time.
    pub time: Option<TimeUnit>,
    /// Unit of an address or a length, in bytes.
    pub grain: Option<u64>,
}

/// Names of columns by what they tell, in lower case and without signs, between blanks.
const NAMES: [(Role, &str); 7] = [
    (Role::Time, "time timestamp ts arrival arrivaltime issuetime starttime requesttime"),
    (
        Role::Op,
        "op opcode operation type iotype optype reqtype requesttype rw readwrite kind action direction \
         cmd command iswrite isread istrim isdiscard isflush",
    ),
    (Role::Offset, "offset lba sector address addr start startlba startsector slba lbn byteoffset"),
    (Role::Size, "size length len bytes nbytes sectors nsectors nsect iosize reqsize requestsize"),
    (Role::Volume, "volume volumeid vol device deviceid dev disk disknumber diskid lun asu drive"),
    (Role::Fua, "fua isfua forceunitaccess"),
    (Role::Stream, "stream streamid placementid placementhandle"),
];

/// What a column's name tells.
pub(in crate::trace) fn meaning(name: &str) -> NameMeaning {
    let lower = name.to_ascii_lowercase();
    let parts: Vec<&str> = lower.split(|c: char| !c.is_ascii_alphanumeric()).filter(|part| !part.is_empty()).collect();
    let last = parts.last().copied().unwrap_or_default();
    let (time, grain) = match last {
        "seconds" | "sec" => (Some(TimeUnit::Seconds), None),
        _ => (TimeUnit::from_name(last), GRAINS.iter().find(|(unit, _)| *unit == last).map(|&(_, bytes)| bytes)),
    };
    let has_unit = time.is_some() || grain.is_some();
    let base = if has_unit && parts.len() > 1 { parts[..parts.len() - 1].concat() } else { parts.concat() };
    let role = NAMES.iter().find(|(_, names)| names.split(' ').any(|name| name == base)).map(|&(role, _)| role);
    match role {
        Some(Role::Time) => NameMeaning { role, time, grain: None },
        Some(Role::Offset | Role::Size) => NameMeaning { role, time: None, grain },
        Some(Role::Op | Role::Volume | Role::Fua | Role::Stream) | None => {
            NameMeaning { role, ..NameMeaning::default() }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn w150_names_tell_roles_and_units() {
        let told = |name| {
            let NameMeaning { role, time, grain } = meaning(name);
            (role.map(Role::name), time.map(TimeUnit::name), grain)
        };
        for (name, role, time, grain) in [
            ("Timestamp", Some("time"), None, None),
            ("time_us", Some("time"), Some("us"), None),
            ("Arrival (ns)", Some("time"), Some("ns"), None),
            ("opcode", Some("op"), None, None),
            ("is_write", Some("op"), None, None),
            ("LBA", Some("offset"), None, None),
            ("offset_sectors", Some("offset"), None, Some(512)),
            ("bytes", Some("size"), None, Some(1)),
            ("size [KiB]", Some("size"), None, Some(1024)),
            ("device_id", Some("volume"), None, None),
            ("is_fua", Some("fua"), None, None),
            ("Stream ID", Some("stream"), None, None),
            ("placement_handle", Some("stream"), None, None),
            ("is_trim", Some("op"), None, None),
            ("latency_us", None, None, None),
            ("", None, None, None),
        ] {
            assert_eq!(told(name), (role, time, grain), "{name}");
        }
    }

    #[test]
    fn w151_words_of_operations() {
        let words = OperationWords::of_name("rw");
        let kind =
            |words: &OperationWords, word: &str| words.meaning(word.as_bytes()).map(|found| (found.kind, found.fua));
        for (word, kind_of) in [
            ("r", Some((RequestKind::Read, false))),
            ("WRITE", Some((RequestKind::Write, false))),
            ("wf", Some((RequestKind::Write, true))),
            ("Discard", Some((RequestKind::Trim, false))),
            ("0", None),
            ("", None),
        ] {
            assert_eq!(kind(&words, word), kind_of, "{word}");
        }
        assert_eq!(kind(&OperationWords::of_name("Is_Write"), "1"), Some((RequestKind::Write, false)));
        assert_eq!(kind(&OperationWords::of_name("is_read"), "1"), Some((RequestKind::Read, false)));
        let scsi = OperationWords::parse("28+88/2a+8a/42").expect("legal");
        assert_eq!(kind(&scsi, "8A"), Some((RequestKind::Write, false)));
        assert_eq!(kind(&scsi, "42"), Some((RequestKind::Trim, false)));
        for wrong in ["", "R", "R/", "R/R", "a/b/c/d/e", "a+/b"] {
            assert!(OperationWords::parse(wrong).is_err(), "{wrong}");
        }
    }
}
