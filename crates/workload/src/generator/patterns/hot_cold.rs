//! A hot and a cold part.

use pumice_types::key::{CHOSEN, When, float};

use crate::generator::pattern::{Pattern, SlotLaw, places};
use crate::generator::scatter::Scatter;
use crate::source::error::TraceError;
use crate::source::fact::Fact;
use crate::source::random::RandomStream;

/// A share of the slots, spread at random over the footprint, takes a share of the requests;
/// within the hot and within the cold slots each is equally likely.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HotColdAccess {
    /// Share of the slots that is hot, above 0 and below 1.
    pub hot_space: f64,
    /// Share of the requests that goes there, 0 to 1.
    pub hot_share: f64,
}

/// When such a workload runs.
const IS_HOT_COLD: When = When::All(&[When::Requests, When::Is("workload.kind", &[HotColdAccess::NAME])]);

pumice_types::keys! {
    /// What hot and cold addresses read of `[workload]`.
    pub struct HotColdKeys in "workload" {
        hot_space: f64 = "0.2", float(1e-9, 0.999999999), "share of the footprint", CHOSEN, IS_HOT_COLD, "Hot part of the footprint (kind = \"hot-cold\").";
        hot_share: f64 = "0.8", float(0.0, 1.0), "share of requests", CHOSEN, IS_HOT_COLD, "Requests that go to the hot part (kind = \"hot-cold\").";
    }
}

impl Pattern for HotColdAccess {
    const NAME: &'static str = "hot-cold";
    const ABOUT: &'static str = "a share hot_space of the footprint takes a share hot_share of the requests";
    type Keys = HotColdKeys;
    type Law = HotColdLaw;

    fn of_keys(keys: &HotColdKeys) -> HotColdAccess {
        HotColdAccess { hot_space: keys.hot_space, hot_share: keys.hot_share }
    }

    fn law(self, slots: u64, seed: u64) -> Result<HotColdLaw, TraceError> {
        let HotColdAccess { hot_space, hot_share } = self;
        let refuse = |what: String| Err(TraceError::option(what));
        if !(hot_space > 0.0 && hot_space < 1.0) {
            return refuse(format!("hot_space = {hot_space} found; allowed are numbers above 0 and below 1"));
        }
        if !(0.0..=1.0).contains(&hot_share) {
            return refuse(format!("hot_share = {hot_share} found; allowed are numbers from 0 to 1"));
        }
        if slots < 2 {
            return refuse("a footprint of one request found; hot and cold need at least two".to_owned());
        }
        let hot = libm::round(hot_space * slots as f64) as u64;
        let scatter = Scatter::new(slots, &mut places(seed));
        Ok(HotColdLaw { slots, hot: hot.clamp(1, slots - 1), hot_share, scatter })
    }

    fn parameters(self) -> Vec<(&'static str, Fact)> {
        vec![("hot_space", Fact::Real(self.hot_space)), ("hot_share", Fact::Real(self.hot_share))]
    }
}

/// How many slots are hot, how often one of them is drawn, and which they are.
#[derive(Debug)]
pub struct HotColdLaw {
    slots: u64,
    hot: u64,
    hot_share: f64,
    scatter: Scatter,
}

impl SlotLaw for HotColdLaw {
    #[inline]
    fn draw(&mut self, stream: &mut RandomStream) -> Option<u64> {
        let is_hot = stream.unit() < self.hot_share;
        let rank = if is_hot { stream.below(self.hot) } else { self.hot + stream.below(self.slots - self.hot) };
        Some(self.scatter.place(rank))
    }
}
