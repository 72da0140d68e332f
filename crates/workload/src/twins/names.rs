//! The twins by name.

use crate::family::{Family, OpenFor};
use crate::shared_keys::SharedWorkloadKeys;
use crate::source::error::{TraceError, excerpt, nearest};
use crate::twins::catalogue::{TwinFacts, twin_catalogue};
use crate::twins::options::{TwinKeys, TwinOptions};
use crate::twins::requests::Twin;

/// What stands before the name of a trace to name its twin.
const PREFIX: &str = "twin:";

/// A twin, by its place in the catalogue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TwinName(u8);

impl TwinName {
    /// The twin of the trace `name`, with or without `twin:` before it.
    ///
    /// # Errors
    /// An unknown name; the text gives the nearest and all there are.
    pub fn of_trace(name: &str) -> Result<TwinName, TraceError> {
        let name = name.strip_prefix(PREFIX).unwrap_or(name);
        let known = || twin_catalogue().iter().map(|facts| facts.name);
        let index = known().position(|known| known == name).and_then(|index| u8::try_from(index).ok());
        index.map(TwinName).ok_or_else(|| {
            let all: Vec<&str> = known().collect();
            let near = nearest(name, known()).map(|near| format!("nearest is \"{near}\"; ")).unwrap_or_default();
            let (found, all) = (excerpt(name.as_bytes()), all.join(", "));
            TraceError::option(format!("twin {found} found; {near}allowed are {all}"))
        })
    }

    /// The published figures, and what the twin adds to them.
    pub fn facts(self) -> &'static TwinFacts {
        &twin_catalogue()[usize::from(self.0)]
    }
}

impl Family for TwinName {
    type Source = Twin;
    type Keys = TwinKeys;
    const NEEDS_FILE: bool = false;

    fn members() -> Vec<TwinName> {
        (0..).take(twin_catalogue().len()).map(TwinName).collect()
    }

    fn name(self) -> String {
        format!("{PREFIX}{}", self.facts().name)
    }

    /// The bare name of its trace.
    fn slip(self) -> Option<String> {
        Some(self.facts().name.to_owned())
    }

    fn about(self) -> String {
        let facts = self.facts();
        format!(
            "stand-in for {} ({}): {} M reads of {} GiB, {} M writes of {} GiB to {} GiB, one week",
            facts.name,
            facts.description,
            to_thousandths(facts.read_requests_m),
            to_thousandths(facts.read_gib),
            to_thousandths(facts.write_requests_m),
            to_thousandths(facts.write_gib),
            facts.write_coverage_gib
        )
    }

    fn open(self, keys: &TwinKeys, shared: &SharedWorkloadKeys, run: &OpenFor) -> Result<Twin, TraceError> {
        Twin::new(self.facts(), &TwinOptions::of_keys(keys, shared, run), &run.placement)
    }
}

fn to_thousandths(value: f64) -> f64 {
    (value * 1e3).round() / 1e3
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn w080_an_unknown_twin_names_the_nearest() {
        let message = TwinName::of_trace("prn1").expect_err("unknown").to_string();
        assert!(message.contains("nearest is \"prn_1\"") && message.contains("usr_2"), "{message}");
        assert_eq!(TwinName::of_trace("twin:prn_1").expect("known"), TwinName::of_trace("prn_1").expect("known"));
    }

    #[test]
    fn w081_catalogue_rows_leave_room_for_their_coverage() {
        for row in twin_catalogue() {
            assert!(row.read_coverage_gib + row.write_coverage_gib < row.volume_gib, "{}", row.name);
            assert!(row.read_coverage_gib <= row.read_gib && row.write_coverage_gib <= row.write_gib, "{}", row.name);
        }
    }
}
