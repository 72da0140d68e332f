//! What is measured of one flow of a workload.

use pumice_types::{HostRequest, RequestKind, Time, ZoneCommand};

use super::KindMetrics;

/// Requests of one flow.
#[derive(Clone, Default)]
pub struct FlowMetrics {
    /// Reads.
    pub read: KindMetrics,
    /// Writes and zone appends.
    pub write: KindMetrics,
    /// Trims, flushes, and other commands to zones.
    pub others: u64,
    /// When the last of its measured requests was done.
    pub last_done: Time,
    /// Requests done, measured or not, since somebody last asked.
    completed: u64,
}

impl FlowMetrics {
    /// Records a measured request.
    pub fn record(&mut self, request: &HostRequest, latency: Time, done: Time) {
        match request.kind {
            RequestKind::Read => self.read.record(request.bytes, latency),
            RequestKind::Write | RequestKind::Zone(ZoneCommand::Append) => self.write.record(request.bytes, latency),
            RequestKind::Trim | RequestKind::Flush | RequestKind::Zone(_) => self.others += 1,
        }
        self.last_done = self.last_done.max(done);
    }

    /// Records a request of a run without a clock.
    pub fn record_untimed(&mut self, request: &HostRequest) {
        match request.kind {
            RequestKind::Read => self.read.record_untimed(request.bytes),
            RequestKind::Write | RequestKind::Zone(ZoneCommand::Append) => self.write.record_untimed(request.bytes),
            RequestKind::Trim | RequestKind::Flush | RequestKind::Zone(_) => self.others += 1,
        }
    }

    /// A request is done, or has failed.
    pub fn note_completed(&mut self) {
        self.completed += 1;
    }

    /// Requests done or failed since this was last asked.
    pub fn take_completed(&mut self) -> u64 {
        std::mem::take(&mut self.completed)
    }

    /// Forgets what was measured.
    pub fn restart(&mut self) {
        *self = FlowMetrics { completed: self.completed, ..FlowMetrics::default() };
    }

    /// Measured requests.
    pub fn requests(&self) -> u64 {
        self.read.requests + self.write.requests + self.others
    }
}
