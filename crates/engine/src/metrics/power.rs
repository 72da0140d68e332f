//! What power cuts did.

use pumice_ftl::RecoveryCounts;
use pumice_types::Time;

/// What power cuts did in a run.
#[derive(Clone, Copy, Debug, Default)]
pub struct PowerFigures {
    /// Cuts, those during a recovery included.
    pub cuts: u64,
    /// Times the device was ready for the host again, which is once for cuts that follow in a recovery.
    pub recoveries: u64,
    /// Time from the cut, or the first of several, until the device was ready: sum and longest.
    pub recovery: [Time; 2],
    /// Spare areas, and whole pages, read to recover.
    pub reads: [u64; 2],
    /// Programs and copies, and erases, of devices that recovered.
    pub written: [u64; 2],
    /// Programs and copies, and erases, that were under way when the power was cut.
    pub torn: [u64; 2],
    /// Time for which the device's own energy had to last: sum over all cuts, and longest.
    pub hold_up: [Time; 2],
    /// Requests in flight that failed.
    pub failed_requests: u64,
    /// Pages that did not return what was promised, nor anything newer.
    pub broken_promises: u64,
    /// What the layer found, summed over its starts.
    pub found: RecoveryCounts,
}

impl PowerFigures {
    /// Adds a cut after which the device's own energy had to last so long.
    pub fn note_hold_up(&mut self, time: Time) {
        self.hold_up = [self.hold_up[0] + time, self.hold_up[1].max(time)];
    }

    /// Counts anew, but for broken promises: measuring begins.
    pub fn restart(&mut self) {
        let broken_promises = self.broken_promises;
        *self = PowerFigures { broken_promises, ..PowerFigures::default() };
    }
}
