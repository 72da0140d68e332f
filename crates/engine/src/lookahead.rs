//! Requests taken from the workload a few before they are due, so that what they touch can be on its way
//! from memory meanwhile. No result depends on how many.

use std::collections::VecDeque;

use pumice_types::HostRequest;
use pumice_workload::{TraceError, Workload};

use crate::observe::Observer;
use crate::ssd::Ssd;

/// Requests known beforehand: a few memory latencies' worth of work where a request is one flash command.
const REQUESTS: usize = 24;

/// Place in the window at which a request's map entry has arrived, and what it leads to is asked for.
const SOON: usize = 8;

/// The next requests of a workload.
pub struct Lookahead {
    window: VecDeque<HostRequest>,
    /// Requests that may still be taken.
    left: u64,
    /// Why the workload ended; told when its turn comes.
    error: Option<TraceError>,
}

impl Lookahead {
    /// Nothing taken yet, and no more than `max` ever will be.
    pub fn new(max: Option<u64>) -> Lookahead {
        Lookahead { window: VecDeque::with_capacity(REQUESTS), left: max.unwrap_or(u64::MAX), error: None }
    }

    /// The next request; `None` behind the last one. The device hears of those that follow.
    ///
    /// # Errors
    /// What the workload ran into, behind the requests before it.
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
