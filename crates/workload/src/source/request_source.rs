//! What everything that yields requests can do.

use std::path::Path;

use pumice_types::{HostRequest, Time};

use crate::source::error::TraceError;
use crate::source::fact::Fact;
use crate::source::notes::Notes;

/// A source of host requests in the order of their arrival; the first arrives at 0.
pub trait RequestSource {
    /// Puts the next request into `request`; `false` after the last. Arrivals never decrease. A request is written where
    /// it stays: one that is returned would be read as whole words right after its small fields were stored one by one,
    /// and the processor waits for each of them.
    ///
    /// # Errors
    /// A bad line of a trace, or a request that does not fit the device.
    fn take_next(&mut self, request: &mut HostRequest) -> Result<bool, TraceError>;

    /// The next request, `None` after the last.
    ///
    /// # Errors
    /// As [`RequestSource::take_next`].
    fn next_request(&mut self) -> Result<Option<HostRequest>, TraceError> {
        let mut request = HostRequest::flush(Time::ZERO);
        Ok(self.take_next(&mut request)?.then_some(request))
    }

    /// Tells a source that nobody reads when requests arrive, so that it need not draw it. A source for which that
    /// is work lets every request arrive at 0 from now on; the others change nothing.
    fn skip_arrivals(&mut self) {}

    /// Number of requests in all, if it is known beforehand.
    fn requests_expected(&self) -> Option<u64>;

    /// How many streams the host names for what it writes; 1 if it names none. A trace knows only of those that it has
    /// read so far.
    fn streams(&self) -> u16 {
        1
    }

    /// Whether the host names streams at all.
    fn names_streams(&self) -> bool {
        self.streams() > 1
    }

    /// Share of the work done, 0 to 1; `None` if it is not known.
    fn progress(&self) -> Option<f64>;

    /// The file that the requests come from, if it is long enough to be read ahead on a thread of its own.
    fn long_file(&self) -> Option<&Path> {
        None
    }

    /// What was changed or overlooked so far.
    fn notes(&self) -> Notes;

    /// What is known about the workload, by name.
    fn facts(&self) -> Vec<(&'static str, Fact)>;
}

/// Share of the requests that were issued; all if there are none.
pub(crate) fn share_of_requests(issued: u64, of: u64) -> Option<f64> {
    Some(if of == 0 { 1.0 } else { issued as f64 / of as f64 })
}
