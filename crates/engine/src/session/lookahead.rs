//! Requests taken from their source a few before they are due, so that the memory which they touch is fetched
//! meanwhile. No result depends on how many.

use pumice_types::{HostRequest, Time};

use crate::observe::ObserverSlot;
use crate::ssd::Ssd;

/// Requests known beforehand: a few memory latencies' worth of work where a request is one flash command.
const REQUESTS: usize = 24;

/// Position in the window at which a request's map entry is assumed to be in the cache, so that the page it points to
/// can be prefetched.
const SOON: usize = 8;

/// The next requests of a source that may end in an error, the one that is submitted now in front. `R`: a request, with
/// what its source says of it.
pub struct Lookahead<E, R = HostRequest> {
    /// A ring: each is written in its place, and not moved.
    window: [R; REQUESTS],
    /// The place of the one in front.
    front: usize,
    /// Requests in the window.
    known: usize,
    /// The one in front was returned, and leaves the window next.
    is_front_returned: bool,
    /// Requests that may still be taken.
    left: u64,
    /// The error that ended the source, if one did. It is returned after the requests before it.
    error: Option<E>,
}

impl<E> Lookahead<E> {
    /// Nothing taken yet, and no more than `max` ever will be.
    pub fn new(max: Option<u64>) -> Lookahead<E> {
        Lookahead::with(HostRequest::flush(Time::ZERO), max)
    }
}

impl<E, R: Copy + AsRef<HostRequest>> Lookahead<E, R> {
    /// As [`Lookahead::new`]; `none` stands where no request is yet.
    pub fn with(none: R, max: Option<u64>) -> Lookahead<E, R> {
        let left = max.unwrap_or(u64::MAX);
        Lookahead { window: [none; REQUESTS], front: 0, known: 0, is_front_returned: false, left, error: None }
    }

    /// The place of the request that comes `nth`.
    #[inline]
    fn place(&self, nth: usize) -> usize {
        let place = self.front + nth;
        if place < REQUESTS { place } else { place - REQUESTS }
    }

    /// The next request, `None` after the last. Prefetches on the device for the requests after it. `take` puts what
    /// comes next at its source into its place; `false`: nothing does any more.
    ///
    /// # Errors
    /// The error that ended the source, after all requests before it were returned.
    #[inline]
    pub fn next<O: ObserverSlot>(
        &mut self,
        mut take: impl FnMut(&mut R) -> Result<bool, E>,
        ssd: &Ssd<O>,
    ) -> Result<Option<&R>, E> {
        if self.is_front_returned {
            self.front = self.place(1);
            self.known -= 1;
        }
        while self.known < REQUESTS && self.left > 0 {
            self.left -= 1;
            let place = self.place(self.known);
            match take(&mut self.window[place]) {
                Ok(true) => {
                    ssd.expect(self.window[place].as_ref());
                    self.known += 1;
                }
                Ok(false) => self.left = 0,
                Err(error) => (self.left, self.error) = (0, Some(error)),
            }
        }
        if SOON < self.known {
            ssd.expect_soon(self.window[self.place(SOON)].as_ref());
        }
        self.is_front_returned = self.known > 0;
        match self.is_front_returned {
            true => Ok(Some(&self.window[self.front])),
            false => self.error.take().map_or(Ok(None), Err),
        }
    }
}
