//! The formats of trace files: one file each, and one line each in the registry below.
//!
//! A format's file implements [`LineFormat`] for a type of the format's name. Reading, recognition by content,
//! writing, names in errors, the corpus and the contract tests go through the registry.

mod alibaba;
mod blkparse;
mod csv;
mod disksim;
mod fio;
pub(crate) mod format;
mod msr;
mod spc;
mod ssdsim;
mod systor;
mod tencent;

use std::str::FromStr;

use pumice_types::{Choice, choice};

use crate::source::error::{TraceError, excerpt};
use crate::trace::columns::request::ColumnRequest;
use crate::trace::formats::format::{FormatFacts, LineFormat};
use crate::trace::record::ParsedLine;

/// Makes [`TraceFormat`] and [`LineParser`] of a list of `file::Type`.
macro_rules! formats {
    ($($file:ident :: $format:ident),+ $(,)?) => {
        choice! {
            /// A format of trace files.
            pub enum TraceFormat {
                $(#[doc = concat!("The format that `trace/formats/", stringify!($file), ".rs` describes.")]
                $format = <$file::$format as LineFormat>::FACTS.name),+
            }
        }

        impl TraceFormat {
            /// What is known about the format.
            pub(crate) fn facts(self) -> &'static FormatFacts {
                match self { $(TraceFormat::$format => const { &<$file::$format as LineFormat>::FACTS }),+ }
            }
        }

        /// The parser of one format with what it remembers from line to line.
        pub(in crate::trace) enum LineParser { $($format($file::$format)),+ }

        impl LineParser {
            pub fn new(format: TraceFormat) -> LineParser {
                match format { $(TraceFormat::$format => LineParser::$format(Default::default())),+ }
            }

            pub fn format(&self) -> TraceFormat {
                match self { $(LineParser::$format(_) => TraceFormat::$format),+ }
            }

            /// One line, parsed. `None` if the format does not allow it; [`LineParser::explain`] says why.
            #[inline]
            pub fn parse<'a>(&mut self, line: &'a [u8]) -> Option<ParsedLine<'a>> {
                match self { $(LineParser::$format(parser) => parser.parse(line)),+ }
            }

            /// What is wrong with a line that [`LineParser::parse`] refuses, and what is allowed.
            pub fn explain(&self, line: &[u8]) -> String {
                match self { $(LineParser::$format(parser) => parser.explain(line)),+ }
            }

            /// See [`LineFormat::names_streams`].
            pub fn names_streams(&self) -> bool {
                match self { $(LineParser::$format(parser) => parser.names_streams()),+ }
            }

            /// See [`LineFormat::layout_text`].
            pub fn layout_text(&self) -> Option<String> {
                match self { $(LineParser::$format(parser) => parser.layout_text()),+ }
            }
        }
    };
}

// Names are listed in this order, in errors and in help.
formats! {
    msr::Msr,
    alibaba::Alibaba,
    tencent::Tencent,
    spc::Spc,
    ssdsim::SsdSim,
    disksim::DiskSim,
    systor::Systor,
    blkparse::BlkParse,
    fio::Fio,
    csv::Csv,
}

impl LineParser {
    /// The parser of delimited text with the columns asked for.
    pub fn of_columns(request: ColumnRequest) -> LineParser {
        LineParser::Csv(csv::Csv::new(request))
    }
}

impl TraceFormat {
    /// What the format is, in words.
    pub fn about(self) -> &'static str {
        self.facts().about
    }

    /// Units of the columns, in words.
    pub fn units(self) -> &'static str {
        self.facts().units
    }

    /// Beginnings of files in this format. Content recognises each of them.
    pub fn examples(self) -> &'static [&'static str] {
        self.facts().examples
    }

    /// Whether the format has trims.
    pub fn has_trims(self) -> bool {
        self.facts().trims
    }

    /// Whether the format has flushes.
    pub fn has_flushes(self) -> bool {
        self.facts().flushes
    }

    /// Whether a write's force unit access is written.
    pub fn writes_fua(self) -> bool {
        self.facts().writing.as_ref().is_some_and(|writing| writing.fua)
    }

    /// Whether traces can be written in the format; all can be read.
    pub fn is_writable(self) -> bool {
        self.facts().writing.is_some()
    }

    /// Whether a first line only names the columns.
    pub(super) fn is_header(self, line: &[u8]) -> bool {
        self.facts().columns.is_some_and(|columns| columns.is_header(line))
    }
}

impl FromStr for TraceFormat {
    type Err = TraceError;

    fn from_str(name: &str) -> Result<TraceFormat, TraceError> {
        TraceFormat::from_name(name).ok_or_else(|| {
            let names = TraceFormat::NAMES.join(", ");
            TraceError::option(format!("trace format {} found; allowed are {names}", excerpt(name.as_bytes())))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn field() -> impl Strategy<Value = String> {
        prop_oneof![
            8 => "[0-9]{1,10}",
            2 => "[0-9]{16,21}",
            2 => "[0-9]{1,11}\\.[0-9]{0,12}",
            4 => "(R|W|r|w|0|1|Read|write)",
            1 => "[ \\ta-z,.+-]{0,3}",
            1 => "\\PC{0,2}",
        ]
    }

    proptest! {
        /// Whatever a parser refuses, its columns have a reason for, and the reason is the true one.
        #[test]
        fn w115_every_refusal_has_a_reason(fields in prop::collection::vec(field(), 4..8), blanks in any::<bool>()) {
            let line = fields.join(if blanks { " " } else { "," });
            for &format in TraceFormat::ALL {
                let (Some(columns), mut parser) = (format.facts().columns, LineParser::new(format)) else { continue };
                let refused = parser.parse(line.as_bytes()).is_none();
                let message = columns.explain(line.as_bytes());
                let by_end = message.starts_with("the request's last byte");
                prop_assert!(refused || by_end, "{}: {line}: {message}", format.name());
                // Only an address within 2^32 of the largest can have a last byte beyond it.
                let large = fields.iter().any(|f| f.trim().parse::<u64>().is_ok_and(|n| n > (1 << 55) - (1 << 23) - 2));
                prop_assert!(!refused || !by_end || large, "{}: {line}: {message}", format.name());
            }
        }
    }

    /// Formats without columns explain their lines themselves.
    #[test]
    fn w119_no_line_is_refused_without_a_word() {
        for &format in TraceFormat::ALL {
            for line in [&b"~"[..], b"", b"\xff", b"1,2,3,4,5,6,7,8,9", b"1 2 3 4 5 6 7 8 9"] {
                let mut parser = LineParser::new(format);
                if parser.parse(line).is_none() {
                    let message = parser.explain(line);
                    assert!(!message.is_empty() && !message.contains('\n'), "{}: {message}", format.name());
                }
            }
        }
    }
}
