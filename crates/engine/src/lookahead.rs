//! Requests taken from the workload a few before they are due, so that what they touch can be on its way
//! from memory meanwhile. No result depends on how many.

use std::collections::VecDeque;

use pumice_types::HostRequest;
use pumice_workload::{TraceError, Workload};

use crate::observe::Observer;
use crate::ssd::Ssd;

/// Requests known beforehand: a few memory latencies' worth of work where a request is one flash command.
const REQUESTS: usize = 24;

/// Position in the window at which a request's map entry is assumed to be in the cache, so that the page it points to
/// can be prefetched.
const SOON: usize = 8;

/// The next requests of a workload.
pub struct Lookahead {
    window: VecDeque<HostRequest>,
    /// Requests that may still be taken.
    left: u64,
    /// The error that ended the workload, if one did. It is returned after the requests before it.
    error: Option<TraceError>,
}

impl Lookahead {
    /// Nothing taken yet, and no more than `max` ever will be.
    pub fn new(max: Option<u64>) -> Lookahead {
        Lookahead { window: VecDeque::with_capacity(REQUESTS), left: max.unwrap_or(u64::MAX), error: None }
    }

    /// The next request, `None` after the last. Prefetches on the device for the requests after it.
    ///
    /// # Errors
    /// The error that ended the workload, after all requests before it were returned.
    pub fn next<O: Observer>(
        &mut self,
        workload: &mut Workload,
        ssd: &Ssd<O>,
    ) -> Result<Option<HostRequest>, TraceError> {
        while self.window.len() < REQUESTS && self.left > 0 {
            self.left -= 1;
            match workload.next_request() {
                Ok(Some(request)) => {
                    ssd.expect(&request);
                    self.window.push_back(request);
                }
                Ok(None) => self.left = 0,
                Err(error) => (self.left, self.error) = (0, Some(error)),
            }
        }
        if let Some(request) = self.window.get(SOON) {
            ssd.expect_soon(request);
        }
        match self.window.pop_front() {
            Some(request) => Ok(Some(request)),
            None => self.error.take().map_or(Ok(None), Err),
        }
    }
}
