//! The first lines of a file, as formats look at them to recognise their own.

/// Mean distance in nanoseconds below which whole-number times are not believed to be nanoseconds:
/// ten million requests a second.
const MIN_GAP_NS: u64 = 100;

/// How well the first lines of a file fit a format.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::trace) enum Likeness {
    /// The lines do not fit the format.
    No,
    /// The lines fit this format and others.
    Possible {
        /// Why the formats cannot be told apart.
        why: String,
        /// By what a human may know this one, in words.
        sign: &'static str,
    },
    /// A record's line has the shape that the format alone has.
    Likely,
    /// There is a mark that no other format has. It decides even where the shape fits another format.
    Certain,
}

impl Likeness {
    /// A shape that fits, or not.
    pub fn likely(fits: bool) -> Likeness {
        if fits { Likeness::Likely } else { Likeness::No }
    }

    /// A mark that is there, or not.
    pub fn certain(is_there: bool) -> Likeness {
        if is_there { Likeness::Certain } else { Likeness::No }
    }

    /// The higher, the more is it worth.
    pub fn rank(&self) -> u8 {
        match self {
            Likeness::No => 0,
            Likeness::Possible { .. } => 1,
            Likeness::Likely => 2,
            Likeness::Certain => 3,
        }
    }
}

/// The first line that is no header, and the lines behind it.
#[derive(Clone, Copy, Debug)]
pub(in crate::trace) struct Sample<'a> {
    lines: &'a [&'a [u8]],
}

impl<'a> Sample<'a> {
    /// `lines` begin with the first that is no header; `None` if there is none.
    pub fn new(lines: &'a [&'a [u8]]) -> Option<Sample<'a>> {
        (!lines.is_empty()).then_some(Sample { lines })
    }

    /// The first line.
    pub fn line(&self) -> &'a [u8] {
        self.lines[0]
    }

    /// Fields of the first line between blanks.
    pub fn words(&self) -> Vec<&'a [u8]> {
        words(self.line()).collect()
    }

    /// Fields of the first line between commas, without the blanks around them.
    pub fn fields(&self) -> Vec<&'a [u8]> {
        self.line().split(|&byte| byte == b',').map(<[u8]>::trim_ascii).collect()
    }

    /// What the times of five numbers between blanks look like; `None` if the first line is not that.
    pub fn simulator_times(&self) -> Option<SimulatorTimes> {
        let words = self.words();
        (words.len() == 5 && !self.line().contains(&b',')).then_some(())?;
        whole(words[1])?;
        Some(self.looks_of_times())
    }

    /// Times with a point, or flags above 1, are milliseconds; whole numbers are nanoseconds. Both kinds of times in
    /// one file (but for a 0), or whole numbers that would make an unbelievable rate, may be either.
    fn looks_of_times(&self) -> SimulatorTimes {
        let (mut whole_times, mut real_times, mut flagged) = (Vec::new(), 0, false);
        for line in self.lines {
            let mut words = words(line);
            let (time, flags) = (words.next().unwrap_or_default(), words.nth(3).unwrap_or_default());
            flagged |= whole(flags).is_some_and(|flags| flags > 1);
            match whole(time) {
                Some(time) => whole_times.push(time),
                None if time.contains(&b'.') => real_times += 1,
                None => break,
            }
        }
        if flagged || (real_times > 0 && whole_times.iter().all(|&time| time == 0)) {
            return SimulatorTimes::Milliseconds;
        }
        if real_times > 0 {
            return SimulatorTimes::Either("some times are whole numbers and some are not".to_owned());
        }
        let (least, most) = (whole_times.iter().min().unwrap_or(&0), whole_times.iter().max().unwrap_or(&0));
        let gap = (most - least) / (whole_times.len() as u64).saturating_sub(1).max(1);
        if most > least && gap < MIN_GAP_NS {
            let why = format!("the times are whole numbers, {gap} apart on average, too close for nanoseconds");
            return SimulatorTimes::Either(why);
        }
        SimulatorTimes::Nanoseconds
    }
}

/// Times of the two ASCII formats of simulators, whose columns are the same.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::trace) enum SimulatorTimes {
    Nanoseconds,
    Milliseconds,
    /// The two simulators' formats cannot be told apart, and why.
    Either(String),
}

/// Whether a field is a single letter.
pub(in crate::trace) fn is_letter(field: &[u8]) -> bool {
    field.len() == 1 && field[0].is_ascii_alphabetic()
}

/// A whole number.
pub(in crate::trace) fn whole(field: &[u8]) -> Option<u64> {
    std::str::from_utf8(field).ok()?.parse().ok()
}

fn words(line: &[u8]) -> impl Iterator<Item = &[u8]> {
    line.split(|byte| matches!(byte, b' ' | b'\t')).filter(|word| !word.is_empty())
}
