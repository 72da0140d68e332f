//! What a workload had to change or overlook.

use serde::Serialize;

use crate::source::error::counted;
use crate::source::placement::Placer;

/// What may be wrong with a file whose last line has no end.
const CUT: &str = "the last line has no line end; if the file was cut there, its last request is not as recorded";

/// What a workload had to change or overlook so far. Anything but 0 deserves a warning.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Notes {
    /// Lines read from the file, header included.
    pub lines: u64,
    /// Whether line 1 was taken for a header.
    pub header: bool,
    /// Records whose time lies before that of an earlier line, put back into order.
    pub reordered: u64,
    /// Records too late to be put back into order: they arrive with the record before them.
    pub clamped: u64,
    /// Requests whose address was taken modulo the device's capacity.
    pub wrapped: u64,
    /// Requests moved back so as not to cross the device's end or a compacted region's end.
    pub moved: u64,
    /// Records of another volume (host and disk, device, unit, file) than the first record's, where
    /// all share one address space.
    pub other_volumes: u64,
    /// Records whose time is no date between 1980 and 2100 though the format's clock is the
    /// calendar's; taken as they are.
    pub unlikely_times: u64,
    /// Records left out because they are not of the one volume asked for.
    pub left_out: u64,
    /// Trims left out: all if the options say so, and where addresses are compacted those of bytes
    /// that nothing had touched.
    pub discards: u64,
    /// Requests without data that are no flushes, left out.
    pub no_data: u64,
    /// Lines that are legal and no request: events before and after the issue, actions on files,
    /// summaries.
    pub other_lines: u64,
    /// Grain of the trace's clock in nanoseconds if it is a millisecond or coarser, otherwise 0:
    /// requests within a grain arrive at once.
    pub coarse_clock_ns: u64,
    /// Steps of more than a day from one request to the next, kept as they are.
    pub clock_jumps: u64,
    /// Whether there are several records and all have the same time, so that all arrive at 0.
    pub untimed: bool,
    /// Whether the last line has no line end, as where a file was cut.
    pub unended: bool,
}

impl Notes {
    /// Notes of a workload in which nothing but the placing of addresses can change anything.
    pub(crate) fn of_placer(placer: &Placer) -> Notes {
        Notes { wrapped: placer.wrapped, moved: placer.moved, ..Notes::default() }
    }

    /// Every note that deserves a warning, in words.
    pub fn warnings(&self) -> Vec<String> {
        [
            (self.reordered, "request", "ran backwards in time and {was} reordered"),
            (self.clamped, "request", "ran backwards beyond the reordering window and {was} set to the time before"),
            (self.wrapped, "request", "lay beyond the device and {was} wrapped into it"),
            (
                self.moved,
                "request",
                "{was} moved back so as not to cross the end of the device or of a compacted region",
            ),
            (
                self.other_volumes,
                "record",
                "{is} of another volume than the first; all share one address space (workload.volumes)",
            ),
            (self.left_out, "record", "{is} of another volume than the one asked for and {was} left out"),
            (self.discards, "trim", "{was} left out"),
            (self.no_data, "record", "without data {was} left out"),
            (self.clock_jumps, "step", "of more than a day {is} between one request and the next"),
            (
                self.unlikely_times,
                "record",
                "{has} a time that the format's calendar does not expect; taken as it stands",
            ),
        ]
        .into_iter()
        .filter(|&(number, ..)| number > 0)
        .map(|(number, noun, what)| format!("{} {}", counted(number, noun), agreeing(number, what)))
        .chain(self.clock_warning())
        .chain(self.unended.then(|| CUT.to_owned()))
        .collect()
    }

    /// What a trace without a fine clock means for latencies.
    fn clock_warning(&self) -> Option<String> {
        match self.coarse_clock_ns {
            _ if self.untimed => {
                Some("the trace has no times: all requests arrive at once; use host.mode = \"closed-loop\"".to_owned())
            }
            0 => None,
            grain => Some(format!(
                "all times of the trace are multiples of {} ms: requests with equal times arrive at once",
                grain as f64 / 1e6
            )),
        }
    }
}

/// A sentence whose verbs in braces agree with a number.
fn agreeing(number: u64, sentence: &str) -> String {
    let verbs = [("{is}", "is", "are"), ("{was}", "was", "were"), ("{has}", "has", "have")];
    let choose =
        |text: String, (verb, one, many): (&str, &str, &str)| text.replace(verb, if number == 1 { one } else { many });
    verbs.into_iter().fold(sentence.to_owned(), choose)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn w002_warnings_agree_with_their_numbers() {
        let notes = Notes { reordered: 1, left_out: 2, unlikely_times: 1, ..Notes::default() };
        let expected = [
            "1 request ran backwards in time and was reordered",
            "2 records are of another volume than the one asked for and were left out",
            "1 record has a time that the format's calendar does not expect; taken as it stands",
        ];
        assert_eq!(notes.warnings(), expected);
    }
}
