//! How a format tells time.

use std::ops::RangeInclusive;

/// How a format tells time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TimeScale {
    /// Nanoseconds of a tick, the unit that parsed times have.
    pub tick_ns: u64,
    /// Decimals that a written time has behind the point.
    pub decimals: usize,
    /// Ticks at 1970 for a clock of the calendar, `None` for a clock of its own.
    pub epoch: Option<u64>,
    /// Name of the column.
    pub column: &'static str,
    /// What times are allowed, in words.
    pub allowed: &'static str,
}

/// Seconds from 1970 to 1980, and to the end of 2099.
const LIKELY_S: (u64, u64) = (315_532_800, 4_102_444_799);

impl TimeScale {
    /// Ticks of a second.
    pub fn ticks_a_second(&self) -> u64 {
        1_000_000_000 / self.tick_ns
    }

    /// Times in ticks that can be the time of a recorded request: of 1980 to 2099 by the calendar,
    /// any of a clock of its own.
    pub fn likely(&self) -> RangeInclusive<u64> {
        let ticks = self.ticks_a_second();
        let at = |epoch, seconds: u64| epoch + seconds * ticks;
        match self.epoch {
            Some(epoch) => at(epoch, LIKELY_S.0)..=at(epoch, LIKELY_S.1) + (ticks - 1),
            None => 0..=u64::MAX,
        }
    }

    /// A time as the format writes it.
    pub fn written(&self, ticks: u64) -> String {
        let unit = 10u64.pow(self.decimals as u32);
        match self.decimals {
            0 => ticks.to_string(),
            decimals => format!("{}.{:0decimals$}", ticks / unit, ticks % unit),
        }
    }
}
