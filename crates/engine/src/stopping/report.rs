//! What a run with `run.until` tells of its end.

use pumice_config::Until;
use pumice_types::choice;
use serde_json::{Value, json};

choice! {
    /// Whether a quantity is known as well as it has to be.
    pub enum Certainty {
        /// The value is known.
        Known = "known",
        /// The quantity's interval is too wide.
        Wide = "wide",
        /// Neighbouring batches depend on each other: the interval is narrower than what is known.
        Correlated = "correlated",
        /// Parts of the run erased no block: the device was not yet in a steady state.
        NoErases = "no-erases",
        /// Too few requests for an interval.
        TooFew = "too-few",
    }
}

/// What is known of one quantity.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Quantity {
    /// Name of the quantity.
    pub of: &'static str,
    /// Value of the quantity over the batches.
    pub value: f64,
    /// Half-width of its 95 % interval as a share of the value; `None` with too few requests.
    pub half_width: Option<f64>,
    /// Correlation of neighbouring batches.
    pub correlation: Option<f64>,
    /// Whether that is enough.
    pub state: Certainty,
}

impl Quantity {
    fn document(&self) -> Value {
        let Quantity { of, value, half_width, correlation, state } = *self;
        let state = state.to_string();
        json!({ "of": of, "value": value, "half_width": half_width, "correlation": correlation, "state": state })
    }

    /// What the user reads of a quantity that is not known well enough.
    fn shortfall(&self) -> Option<String> {
        let Quantity { of, half_width, correlation, .. } = self;
        let percent = 100.0 * half_width.unwrap_or_default();
        match self.state {
            Certainty::Known => None,
            Certainty::Wide => Some(format!("{of} is known to ± {percent:.2} %")),
            Certainty::Correlated => Some(format!(
                "{of} still drifts or its batches are too short (± {percent:.2} % with correlation {:.2})",
                correlation.unwrap_or_default()
            )),
            Certainty::NoErases => Some(format!("{of} is not steady, parts of the run erased no block")),
            Certainty::TooFew => Some(format!("too few requests to tell how well {of} is known")),
        }
    }
}

/// How a run with `run.until` ended.
#[derive(Clone, Debug, PartialEq)]
pub struct StoppingReport {
    /// What it had to know.
    pub until: Until,
    /// Whether it does.
    pub is_met: bool,
    /// Requests in the batches that were looked at.
    pub requests: u64,
    /// Number of batches that the report rests on.
    pub batches: u64,
    /// Requests of each, or a few more.
    pub batch_requests: u64,
    /// What is known.
    pub quantities: Vec<Quantity>,
    /// Whether the host wrote in the first quarter of the run, and no block was erased for it.
    pub begins_without_erases: bool,
}

impl StoppingReport {
    /// The widest half-width, as a share; `None` if nothing, or not everything, has one.
    pub fn half_width(&self) -> Option<f64> {
        let widths: Option<Vec<f64>> = self.quantities.iter().map(|quantity| quantity.half_width).collect();
        widths?.into_iter().reduce(f64::max)
    }

    /// Whether the run knows what it had to know, in a word.
    pub fn outcome(&self) -> &'static str {
        if self.is_met { "reached" } else { "not-reached" }
    }

    /// The quantities for the result document.
    pub fn quantities(&self) -> Value {
        self.quantities.iter().map(Quantity::document).collect()
    }

    /// What the user should know.
    pub fn warning(&self) -> Option<String> {
        let until = self.until;
        if self.is_met {
            return self.begins_without_erases.then(|| {
                format!(
                    "run.until = \"{until}\" was reached, but the host wrote at first without any block being erased: the \
                     device may be faster than in its steady state (initial.age_writes, run.warmup_requests)"
                )
            });
        }
        let shortfalls: Vec<String> = self.quantities.iter().filter_map(Quantity::shortfall).collect();
        let known = match (self.quantities.is_empty(), shortfalls.is_empty()) {
            (true, _) => "too few requests, or none of a kind that it asks for".to_string(),
            (false, true) => "the last requests came between two looks at what is known".to_string(),
            (false, false) => shortfalls.join("; "),
        };
        Some(format!("run.until = \"{until}\" was not reached before the requests ended: {known}"))
    }
}
