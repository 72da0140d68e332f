//! When requests arrive.

use pumice_types::{Time, choice};

use crate::source::error::TraceError;
use crate::source::random::RandomStream;

choice! {
    /// Laws of inter-arrival times by name.
    pub enum ArrivalKind {
        /// Exponential.
        Poisson = "poisson",
        /// All equal.
        Fixed = "fixed",
        /// Two-phase hyper-exponential with a coefficient of variation.
        Bursty = "bursty",
    }
}

/// Arrivals of a generator.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Arrival {
    /// The law's name.
    pub kind: ArrivalKind,
    /// Mean inter-arrival time in microseconds; 0 means all at once.
    pub mean_us: f64,
    /// Coefficient of variation of bursts, at least 1 (1 is Poisson); other laws do not read it.
    pub cv: f64,
}

impl Arrival {
    /// Arrivals by a law that has no bursts.
    pub fn even(kind: ArrivalKind, mean_us: f64) -> Arrival {
        Arrival { kind, mean_us, cv: 1.0 }
    }
}

/// Law of the inter-arrival times, in nanoseconds.
#[derive(Clone, Copy, Debug)]
enum GapLaw {
    Fixed {
        gap: f64,
    },
    Exponential {
        mean: f64,
    },
    /// With probability `p_short` exponential with mean `short`, else with mean `long`.
    TwoPhase {
        p_short: f64,
        short: f64,
        long: f64,
    },
}

/// The instants of a workload's arrivals; the first is 0.
#[derive(Clone, Debug)]
pub(crate) struct ArrivalClock {
    law: GapLaw,
    stream: RandomStream,
    /// Nanoseconds. Whole nanoseconds are exact in an f64 up to 104 days.
    now: f64,
}

impl ArrivalClock {
    /// Arrivals of a generator.
    pub fn new(arrival: Arrival, seed: u64) -> Result<ArrivalClock, TraceError> {
        let Arrival { kind, mean_us, cv } = arrival;
        if !(mean_us.is_finite() && mean_us >= 0.0) {
            return Err(TraceError::option(format!(
                "mean inter-arrival time of {mean_us} us found; allowed are finite numbers from 0"
            )));
        }
        let law = match kind {
            ArrivalKind::Poisson => GapLaw::Exponential { mean: mean_us * 1e3 },
            ArrivalKind::Fixed => GapLaw::Fixed { gap: mean_us * 1e3 },
            ArrivalKind::Bursty => return ArrivalClock::two_phase(mean_us * 1e3, cv, seed),
        };
        Ok(ArrivalClock { law, stream: RandomStream::new(seed, "arrivals"), now: 0.0 })
    }

    /// Two-phase hyper-exponential arrivals with balanced means (p₁/λ₁ = p₂/λ₂) and this
    /// coefficient of variation, which is at least 1 (1 is Poisson).
    pub fn two_phase(mean_ns: f64, cv: f64, seed: u64) -> Result<ArrivalClock, TraceError> {
        if !(cv.is_finite() && cv >= 1.0) {
            return Err(TraceError::option(format!(
                "coefficient of variation {cv} of the inter-arrival times found; allowed are finite numbers from 1"
            )));
        }
        let square = cv * cv;
        let p_short = 0.5 * (1.0 + libm::sqrt((square - 1.0) / (square + 1.0)));
        let law =
            GapLaw::TwoPhase { p_short, short: mean_ns / (2.0 * p_short), long: mean_ns / (2.0 * (1.0 - p_short)) };
        Ok(ArrivalClock { law, stream: RandomStream::new(seed, "arrivals"), now: 0.0 })
    }

    /// Stops at 0: every arrival from now on is 0.
    pub fn stop(&mut self) {
        (self.law, self.now) = (GapLaw::Fixed { gap: 0.0 }, 0.0);
    }

    /// The next arrival.
    #[inline]
    pub fn tick(&mut self) -> Time {
        let arrival = Time(self.now as u64);
        self.now += match self.law {
            GapLaw::Fixed { gap } => gap,
            GapLaw::Exponential { mean } => mean * self.stream.exponential(),
            GapLaw::TwoPhase { p_short, short, long } => {
                let mean = if self.stream.unit() < p_short { short } else { long };
                mean * self.stream.exponential()
            }
        };
        arrival
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn w030_the_first_arrival_is_zero_and_time_never_runs_back() {
        let mut clock = ArrivalClock::two_phase(1e6, 7.0, 1).expect("legal");
        let times: Vec<Time> = (0..1000).map(|_| clock.tick()).collect();
        assert_eq!(times[0], Time::ZERO);
        assert!(times.is_sorted());
    }

    #[test]
    fn w031_fixed_arrivals_do_not_drift() {
        let mut clock = ArrivalClock::new(Arrival::even(ArrivalKind::Fixed, 0.3), 1).expect("legal");
        let last = (0..1_000_001).map(|_| clock.tick()).last().expect("some");
        assert!(last.0.abs_diff(300_000_000) <= 1, "{last:?}");
    }

    #[test]
    fn w037_a_stopped_clock_stays_at_zero() {
        let mut clock = ArrivalClock::two_phase(1e6, 7.0, 1).expect("legal");
        for _ in 0..10 {
            clock.tick();
        }
        clock.stop();
        assert!((0..10).all(|_| clock.tick() == Time::ZERO));
    }

    #[test]
    fn w032_impossible_arrivals_are_refused() {
        for mean_us in [-1.0, f64::NAN, f64::INFINITY] {
            assert!(ArrivalClock::new(Arrival::even(ArrivalKind::Poisson, mean_us), 1).is_err());
        }
        assert!(ArrivalClock::new(Arrival { kind: ArrivalKind::Bursty, mean_us: f64::NAN, cv: 2.0 }, 1).is_err());
        assert!(ArrivalClock::new(Arrival { kind: ArrivalKind::Bursty, mean_us: 1.0, cv: f64::INFINITY }, 1).is_err());
        assert!(ArrivalClock::two_phase(1.0, 0.99, 1).is_err());
        assert!(ArrivalClock::two_phase(1.0, 1.0, 1).is_ok());
    }
}
