//! `run.until`: what a run has to know before it ends, and how well.

use std::fmt;

use pumice_types::key::{Field, Value, ValueKind};
use pumice_types::{Choice, SpecError, choice, refuse};

choice! {
    /// What a run has to know.
    pub enum Goal {
        /// Write amplification and mean latency.
        Steady = "steady",
        /// Mean latency.
        Mean = "mean",
        /// Median latency.
        P50 = "p50",
        /// Latency that 90 % of the requests stay within.
        P90 = "p90",
        /// Latency that 99 % of the requests stay within.
        P99 = "p99",
        /// Latency that 99.9 % of the requests stay within.
        P999 = "p99.9",
    }
}

impl Goal {
    /// The quantile in thousandths; `None` if it is none.
    pub fn quantile_per_mille(self) -> Option<u64> {
        match self {
            Goal::Steady | Goal::Mean => None,
            Goal::P50 => Some(500),
            Goal::P90 => Some(900),
            Goal::P99 => Some(990),
            Goal::P999 => Some(999),
        }
    }

    /// Whether a run without a clock can find it.
    pub fn is_known_without_clock(self) -> bool {
        match self {
            Goal::Steady => true,
            Goal::Mean | Goal::P50 | Goal::P90 | Goal::P99 | Goal::P999 => false,
        }
    }
}

/// Half-width of `steady` if none is given, in percent.
const STEADY_PERCENT: f64 = 5.0;

/// Smallest and largest half-width, in percent. Latency histograms keep three digits, so less than 0.1 % cannot be told.
const PERCENT: [f64; 2] = [0.1, 50.0];

/// What a run has to know, and how well.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Until {
    /// The quantity that is wanted.
    pub wanted: Goal,
    /// Half-width of its 95 % confidence interval, in percent of its value.
    pub percent: f64,
}

impl Until {
    /// Reads `p99 ± 2 %`. `+-` may stand for the sign; `steady` alone means ± 5 %.
    ///
    /// # Errors
    /// How the sentence ends that begins with the key and the value.
    pub fn parse(text: &str) -> Result<Until, SpecError> {
        let refused = || {
            let names = Goal::NAMES.join(" | ");
            let [low, high] = PERCENT;
            refuse!(
                "is not allowed; allowed: \"steady\", or \"NAME ± X %\" with NAME = {names} and X from {low} to {high}"
            )
        };
        let (name, percent) = match text.split_once('±').or_else(|| text.split_once("+-")) {
            Some((name, percent)) => {
                let number = percent.trim().strip_suffix('%').and_then(|number| number.trim().parse().ok());
                (name.trim(), number.ok_or_else(refused)?)
            }
            None if text.trim() == Goal::Steady.name() => (text.trim(), STEADY_PERCENT),
            None => return Err(refused()),
        };
        let wanted = Goal::from_name(name).ok_or_else(refused)?;
        let is_in_range = (PERCENT[0]..=PERCENT[1]).contains(&percent);
        if is_in_range { Ok(Until { wanted, percent }) } else { Err(refused()) }
    }
}

impl fmt::Display for Until {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ± {} %", self.wanted, self.percent)
    }
}

impl Field for Until {
    const SHAPE: ValueKind = ValueKind::Text;

    fn read(value: Option<&Value>) -> Result<Until, SpecError> {
        Until::parse(value.and_then(Value::as_text).unwrap_or_default())
    }

    fn write(&self) -> Option<Value> {
        Some(Value::Text(self.to_string()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn t028_what_a_run_has_to_know_is_read_as_it_is_written() {
        let of = |wanted, percent| Ok(Until { wanted, percent });
        for (text, expected, written) in [
            ("steady", of(Goal::Steady, 5.0), "steady ± 5 %"),
            ("steady ± 1 %", of(Goal::Steady, 1.0), "steady ± 1 %"),
            ("p99 ± 2 %", of(Goal::P99, 2.0), "p99 ± 2 %"),
            ("p50+-0.1%", of(Goal::P50, 0.1), "p50 ± 0.1 %"),
            (" p99.9 +- 0.5% ", of(Goal::P999, 0.5), "p99.9 ± 0.5 %"),
            ("mean ± 50%", of(Goal::Mean, 50.0), "mean ± 50 %"),
        ] {
            let until = Until::parse(text);
            assert_eq!(until, expected, "{text}");
            assert_eq!(until.expect("checked").to_string(), written);
            assert_eq!(Until::parse(written), expected, "{written}");
        }
        let refused =
            ["", "p99", "p98 ± 2 %", "p99 ± 2", "p99 ± x %", "p99 ± 0.09 %", "p99 ± 60 %", "p99 ± NaN %", "± 2 %"];
        for text in refused {
            let error = Until::parse(text).expect_err(text);
            assert!(error.0.starts_with("is not allowed; allowed: \"steady\", or \"NAME ± X %\""), "{error}");
        }
    }
}
