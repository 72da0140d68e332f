//! The clocks by which a device is served, and how late its replies are.

use std::time::{Duration, Instant};

use hdrhistogram::Histogram;
use pumice_engine::SimError;
use pumice_types::{Time, choice};
use serde_json::{Value, json};

choice! {
    /// What time a served device goes by.
    pub enum ServeClock {
        /// The device's own clock: it passes while a request is served, and at no other time. Replies are sent at once.
        Virtual = "virtual",
        /// The clock of the wall: requests arrive when they come, and replies are held back until they are done.
        Real = "real",
    }
}

/// The wall's clock, as the device's.
pub struct WallClock {
    /// When it began.
    origin: Instant,
    /// The device's time then.
    base: Time,
}

impl WallClock {
    /// A clock by which it is `base` at this instant of the wall.
    pub fn beginning(origin: Instant, base: Time) -> WallClock {
        WallClock { origin, base }
    }

    /// The device's time at an instant of the wall.
    pub fn time_of(&self, instant: Instant) -> Time {
        let passed = instant.saturating_duration_since(self.origin);
        self.base + Time(u64::try_from(passed.as_nanos()).unwrap_or(u64::MAX >> 1))
    }

    /// The device's present.
    pub fn now(&self) -> Time {
        self.time_of(Instant::now())
    }

    /// How long it is until the device's time is this one; nothing if it was.
    pub fn until(&self, time: Time) -> Duration {
        Duration::from_nanos(time.saturating_sub(self.now()).0)
    }
}

/// Share of the mean latency from which on the mean lateness of replies matters.
const LATENESS_SHARE: f64 = 0.1;

/// Lateness of the 99th percentile of replies from which on it matters, in microseconds.
const LATENESS_P99_US: f64 = 1000.0;

/// Largest lateness that is told apart, in nanoseconds: an hour.
const LATENESS_MAX: u64 = 3_600_000_000_000;

/// How late replies were sent, and how long their requests took on the device.
#[derive(Clone)]
pub struct Lateness {
    late: Histogram<u64>,
    /// Sum of what the requests took.
    latency: u128,
}

impl Lateness {
    /// No reply yet.
    ///
    /// # Errors
    /// None in practice: its bounds are constants.
    pub fn new() -> Result<Lateness, SimError> {
        let late =
            Histogram::new_with_bounds(1, LATENESS_MAX, 3).map_err(|error| SimError::Output(error.to_string()))?;
        Ok(Lateness { late, latency: 0 })
    }

    /// A reply is sent `late` behind the end of its request, which took `latency`.
    pub fn note(&mut self, late: Time, latency: Time) {
        self.late.saturating_record(late.0);
        self.latency += u128::from(latency.0);
    }

    /// Mean latency of the requests on the device, in microseconds.
    fn mean_latency_us(&self) -> f64 {
        self.latency as f64 / self.late.len().max(1) as f64 / 1e3
    }

    /// What is said if it matters.
    pub fn warning(&self) -> Option<String> {
        let (mean, p99) = (self.late.mean() / 1e3, self.late.value_at_quantile(0.99) as f64 / 1e3);
        let latency = self.mean_latency_us();
        (mean > LATENESS_SHARE * latency || p99 > LATENESS_P99_US).then(|| {
            format!(
                "replies were late: by {mean:.0} us on average, 99 % of them by at most {p99:.0} us; requests took \
                 {latency:.0} us on average. Clients have measured this machine as well as the device: believe the \
                 result, not their latencies"
            )
        })
    }

    /// Figures, in microseconds.
    pub fn told(&self) -> Value {
        let us = |ns: u64| ns as f64 / 1e3;
        json!({
            "replies": self.late.len(),
            "mean_us": if self.late.is_empty() { 0.0 } else { self.late.mean() / 1e3 },
            "p50_us": us(self.late.value_at_quantile(0.5)),
            "p99_us": us(self.late.value_at_quantile(0.99)),
            "max_us": us(self.late.max()),
            "mean_latency_us": self.mean_latency_us(),
            "warning": self.warning(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lateness(late_us: &[f64], latency_us: f64) -> Lateness {
        let mut lateness = Lateness::new().expect("bounds");
        late_us.iter().for_each(|&late| lateness.note(Time::from_us(late), Time::from_us(latency_us)));
        lateness
    }

    #[test]
    fn s080_lateness_matters_from_a_tenth_of_the_latency_or_a_millisecond_on() {
        assert_eq!(lateness(&[], 0.0).warning(), None, "nothing was late");
        assert_eq!(lateness(&[90.0; 100], 1000.0).warning(), None);
        let text = lateness(&[110.0; 100], 1000.0).warning().expect("a tenth");
        assert!(text.contains("by 110 us on average") && text.contains("took 1000 us"), "{text}");
        let mut few = [1.0; 100];
        few[0] = 5000.0;
        assert_eq!(lateness(&few, 1000.0).warning(), None, "one of a hundred");
        few[1] = 5000.0;
        assert!(lateness(&few, 1000.0).warning().is_some(), "two of a hundred");
        let told = lateness(&few, 1000.0).told();
        assert_eq!((told["replies"].as_u64(), told["p50_us"].as_f64()), (Some(100), Some(1.0)));
        assert!(told["max_us"].as_f64().is_some_and(|max| (max - 5000.0).abs() < 10.0), "{told}");
    }
}
