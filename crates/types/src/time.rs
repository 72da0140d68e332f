//! Simulated time: integer nanoseconds, used for instants and for durations.

use serde::{Deserialize, Serialize};
use std::iter::Sum;
use std::ops::{Add, AddAssign, Mul, Sub};

/// An instant since the start of the run, or a duration, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Time(pub u64);

impl Time {
    /// Zero nanoseconds.
    pub const ZERO: Time = Time(0);

    /// An instant at which nothing is due. What is added to it in a run does not overflow the clock.
    pub const NEVER: Time = Time(u64::MAX / 2);

    /// Nearest whole nanosecond to a number of microseconds. Negative and non-finite input gives 0.
    pub fn from_us(us: f64) -> Time {
        Time((us * 1_000.0).round().max(0.0) as u64)
    }

    /// Returns the time in microseconds.
    pub fn as_us(self) -> f64 {
        self.0 as f64 / 1_000.0
    }

    /// Returns the time in seconds.
    pub fn as_s(self) -> f64 {
        self.0 as f64 / 1e9
    }

    /// Returns the time in the proportion of `part` to `whole`, rounded to the nearest nanosecond. `whole` is not zero.
    pub fn scaled(self, part: Time, whole: Time) -> Time {
        let (time, part, whole) = (u128::from(self.0), u128::from(part.0), u128::from(whole.0));
        Time(((time * part + whole / 2) / whole) as u64)
    }

    /// `self - other`, or zero if `other` is later.
    pub fn saturating_sub(self, other: Time) -> Time {
        Time(self.0.saturating_sub(other.0))
    }
}

impl Add for Time {
    type Output = Time;
    fn add(self, other: Time) -> Time {
        Time(self.0 + other.0)
    }
}

impl AddAssign for Time {
    fn add_assign(&mut self, other: Time) {
        self.0 += other.0;
    }
}

impl Sub for Time {
    type Output = Time;
    fn sub(self, other: Time) -> Time {
        Time(self.0 - other.0)
    }
}

impl Mul<u64> for Time {
    type Output = Time;
    fn mul(self, factor: u64) -> Time {
        Time(self.0 * factor)
    }
}

impl Sum for Time {
    fn sum<I: Iterator<Item = Time>>(times: I) -> Time {
        times.fold(Time::ZERO, Add::add)
    }
}
