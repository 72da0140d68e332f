//! What the columns of a format allow, in words: how a refused line is explained.

pub(crate) mod header;
pub(crate) mod layout;
pub(crate) mod request;
pub(crate) mod units;

use pumice_types::choice;

use crate::source::error::{counted, excerpt};
use crate::trace::record::fields::{Cursor, device_numbers};

/// What a column allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::trace) enum ColumnRule {
    /// 0 to 2^64 - 1.
    Whole,
    /// A number of 0 or more with digits behind the point, at most so many of which count.
    Real(usize),
    /// A number with digits behind the point, or an empty field.
    RealOrNothing,
    /// 1 to 2^32 - 1 bytes.
    Bytes,
    /// As many sectors as make a size in bytes.
    Sectors,
    /// As many sectors as make an address in bytes.
    SectorAddress,
    /// One of two words, in any case.
    Either(&'static str, &'static str),
    /// `major,minor` numbers of a block device.
    Device,
    /// Text without control characters.
    Text,
}

choice! {
    /// What a column tells of a request, by its name in `workload.columns`.
    pub(in crate::trace) enum Role {
        /// When it arrives.
        Time = "time",
        /// What it does.
        Op = "op",
        /// First byte of the request.
        Offset = "offset",
        /// Length of the request.
        Size = "size",
        /// The volume that it goes to.
        Volume = "volume",
        /// Whether it is a write with force unit access.
        Fua = "fua",
        /// The stream that the host names for the data that it writes.
        Stream = "stream",
    }
}

/// How the fields of a line are separated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::trace) enum Separator {
    /// One comma; nothing around it.
    Comma,
    /// One comma, with blanks around it as the writer likes, and further fields that do not count.
    LooseComma,
    /// Spaces and tabs, as many as the writer likes.
    Blanks,
}

/// The columns of a format.
#[derive(Clone, Copy, Debug)]
pub(in crate::trace) struct ColumnTable {
    /// The format with its article: `an MSR`.
    pub what: &'static str,
    pub separator: Separator,
    /// Name, rule, and what the column tells of a request, if anything.
    pub columns: &'static [(&'static str, ColumnRule, Option<Role>)],
    /// Names that a header may have instead, each with the name above that it stands for.
    pub also: &'static [(&'static str, &'static str)],
}

impl ColumnTable {
    /// Names of the columns as a line would have them.
    pub fn names(&self) -> String {
        let names: Vec<&str> = self.columns.iter().map(|(name, ..)| *name).collect();
        names.join(if self.separator == Separator::Blanks { " " } else { "," })
    }

    /// Fields of a line.
    fn split<'a>(&self, text: &'a str) -> Vec<&'a str> {
        match self.separator {
            Separator::Comma => text.split(',').collect(),
            Separator::LooseComma => text.split(',').map(|field| field.trim_matches([' ', '\t'])).collect(),
            Separator::Blanks => text.split([' ', '\t']).filter(|field| !field.is_empty()).collect(),
        }
    }

    /// Whether a first line names columns instead of holding a record: as many fields, none of
    /// them a number or a single letter.
    pub fn is_header(&self, line: &[u8]) -> bool {
        let Ok(text) = std::str::from_utf8(line) else { return false };
        let fields = self.split(text);
        let named = |field: &&str| {
            let field = field.trim();
            field.chars().filter(|c| c.is_alphabetic()).count() > 1 && field.parse::<f64>().is_err()
        };
        let numbers = |&(index, _): &(usize, &&str)| !matches!(self.columns[index].1, ColumnRule::Text);
        fields.len() == self.columns.len()
            && self.separator != Separator::Blanks
            && fields.iter().enumerate().filter(numbers).all(|(_, field)| named(field))
            && !text.chars().any(char::is_control)
    }

    /// Where each column is among the names of a header; `None` if one of them is missing.
    pub fn places(&self, names: &[&str]) -> Option<Vec<usize>> {
        let is = |found: &str, name: &str| {
            let stands_for = self.also.iter().any(|(also, own)| *own == name && found.eq_ignore_ascii_case(also));
            found.eq_ignore_ascii_case(name) || stands_for
        };
        self.columns.iter().map(|(name, ..)| names.iter().position(|found| is(found, name))).collect()
    }

    /// What is wrong with a line that the format's parser refuses, and what is allowed.
    pub fn explain(&self, line: &[u8]) -> String {
        let Ok(text) = std::str::from_utf8(line) else {
            return format!("{} is not UTF-8 text; {} line is needed: {}", excerpt(line), self.what, self.names());
        };
        let fields = self.split(text);
        let wanted = self.columns.len();
        let enough = fields.len() == wanted || (self.separator == Separator::LooseComma && fields.len() > wanted);
        if !enough {
            return format!(
                "{} in {}; allowed are {wanted}: {}",
                counted(fields.len() as u64, "field"),
                excerpt(line),
                self.names()
            );
        }
        let faults = self.columns.iter().zip(&fields);
        let fault = faults.into_iter().find_map(|(&(name, rule, _), field)| rule.fault(name, field));
        let fault = fault.unwrap_or_else(|| {
            "the request's last byte lies beyond the largest address, 2^64 - 1; allowed are requests that end before it"
                .to_owned()
        });
        format!("{fault}; the line is {}", excerpt(line))
    }
}

impl ColumnRule {
    /// What is wrong with a field, if anything is.
    fn fault(self, name: &str, field: &str) -> Option<String> {
        (!self.allows(field))
            .then(|| format!("{name} {} found; allowed are {}", excerpt(field.as_bytes()), self.allowed()))
    }

    fn allows(self, field: &str) -> bool {
        let whole = || {
            let mut cursor = Cursor::new(field.as_bytes());
            cursor.whole().filter(|_| cursor.end().is_some())
        };
        let real = |decimals| {
            let mut cursor = Cursor::new(field.as_bytes());
            cursor.decimal(decimals).is_some() && cursor.end().is_some()
        };
        match self {
            ColumnRule::Whole => whole().is_some(),
            ColumnRule::Real(decimals) => real(decimals),
            ColumnRule::RealOrNothing => field.is_empty() || real(9),
            ColumnRule::Bytes => whole().is_some_and(|n| (1..=u64::from(u32::MAX)).contains(&n)),
            ColumnRule::Sectors => whole().is_some_and(|n| (1..1 << 23).contains(&n)),
            ColumnRule::SectorAddress => whole().is_some_and(|n| n < 1 << 55),
            ColumnRule::Either(one, other) => field.eq_ignore_ascii_case(one) || field.eq_ignore_ascii_case(other),
            ColumnRule::Device => device_numbers(field.as_bytes()).is_some(),
            ColumnRule::Text => !field.chars().any(char::is_control),
        }
    }

    /// What is allowed, in words.
    fn allowed(self) -> String {
        match self {
            ColumnRule::Whole => "whole numbers from 0 to 2^64 - 1".to_owned(),
            ColumnRule::Real(decimals) => {
                format!("plain digits like 12.345, from 0 to {}", u64::MAX / 10u64.pow(decimals as u32))
            }
            ColumnRule::RealOrNothing => "plain digits like 12.345, or an empty field".to_owned(),
            ColumnRule::Bytes => "1 to 4294967295 bytes".to_owned(),
            ColumnRule::Sectors => "1 to 8388607 sectors of 512 bytes".to_owned(),
            ColumnRule::SectorAddress => "sectors of 512 bytes from 0 to 2^55 - 1".to_owned(),
            ColumnRule::Either(one, other) => format!("{one} and {other}"),
            ColumnRule::Device => "a device's numbers like 8,16".to_owned(),
            ColumnRule::Text => "text without control characters".to_owned(),
        }
    }
}
