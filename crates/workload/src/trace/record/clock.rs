//! How fine a trace's clock is, from the times it gives.

/// A clock as coarse as this deserves a note.
const COARSE_NS: u64 = 1_000_000;

/// Coarsest grain that is told apart.
const SECOND_NS: u64 = 1_000_000_000;

/// The largest power of ten in nanoseconds, up to a second, that divides every time so far.
#[derive(Clone, Copy, Debug)]
pub(in crate::trace) struct Grain {
    ns: u64,
    records: u64,
    moved: bool,
}

impl Grain {
    pub fn new() -> Grain {
        Grain { ns: SECOND_NS, records: 0, moved: false }
    }

    /// A record so far from the first one, in ticks of `tick_ns`.
    #[inline]
    pub fn add(&mut self, distance: u64, tick_ns: u64) {
        self.records += 1;
        if self.ns < COARSE_NS || distance == 0 {
            return;
        }
        self.moved = true;
        let ns = distance.saturating_mul(tick_ns);
        while !ns.is_multiple_of(self.ns) {
            self.ns /= 10;
        }
    }

    /// The grain in nanoseconds if it is a millisecond or coarser, otherwise 0. One time alone
    /// says nothing but what the format's own tick says.
    pub fn coarse_ns(&self, tick_ns: u64) -> u64 {
        let grain = if self.moved { self.ns } else { tick_ns };
        if grain >= COARSE_NS { grain } else { 0 }
    }

    /// Whether there are several records and all have the same time.
    pub fn is_still(&self) -> bool {
        self.records > 1 && !self.moved
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn w118_the_grain_is_the_coarsest_that_fits_all_times() {
        let grain = |distances: &[u64], tick_ns| {
            let mut grain = Grain::new();
            distances.iter().for_each(|&distance| grain.add(distance, tick_ns));
            (grain.coarse_ns(tick_ns), grain.is_still())
        };
        assert_eq!(grain(&[0, 1, 5], SECOND_NS), (SECOND_NS, false));
        assert_eq!(grain(&[0, 3_000, 10], COARSE_NS), (10_000_000, false));
        assert_eq!(grain(&[0, 3, 10], COARSE_NS), (COARSE_NS, false));
        assert_eq!(grain(&[0, 1_000_000, 1], 100), (0, false));
        assert_eq!(grain(&[0, 0], 1), (0, true));
        assert_eq!(grain(&[0], SECOND_NS), (SECOND_NS, false));
    }
}
