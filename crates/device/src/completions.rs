//! What a device has done for its host, until the host takes it.

use std::collections::VecDeque;

use pumice_engine::observe::Observer;
use pumice_types::{HostRequest, Time};

/// How a request ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Status {
    /// As it was to.
    Done = 0,
    /// The power was cut first.
    PowerLost = 1,
}

/// A request that is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeviceCompletion {
    /// What [`crate::Device::submit`] returned.
    pub id: u64,
    /// When it was done, in nanoseconds.
    pub at_ns: u64,
    /// How it ended.
    pub status: Status,
}

/// Keeps ids of the requests in flight, and the requests that are done.
#[derive(Clone, Default)]
pub struct Completions {
    /// The request in each of the engine's slots; those of free slots are stale.
    ids: Vec<u64>,
    /// Ids given so far.
    given: u64,
    ended: u64,
    done: VecDeque<DeviceCompletion>,
}

impl Completions {
    /// The id of the request that is submitted next.
    pub fn expect(&mut self) -> u64 {
        self.given += 1;
        self.given - 1
    }

    /// Requests under way.
    pub fn outstanding(&self) -> usize {
        (self.given - self.ended) as usize
    }

    /// The completion that is taken first.
    pub fn first(&self) -> Option<&DeviceCompletion> {
        self.done.front()
    }

    /// Takes all completions.
    pub fn take(&mut self) -> impl Iterator<Item = DeviceCompletion> + '_ {
        self.done.drain(..)
    }

    fn end(&mut self, slot: u32, now: Time, status: Status) {
        self.ended += 1;
        self.done.push_back(DeviceCompletion { id: self.ids[slot as usize], at_ns: now.0, status });
    }
}

impl Observer for Completions {
    #[inline]
    fn accepted(&mut self, slot: u32, _request: &HostRequest) {
        let slot = slot as usize;
        if self.ids.len() <= slot {
            self.ids.resize(slot + 1, 0);
        }
        self.ids[slot] = self.given - 1;
    }

    #[inline]
    fn completed(&mut self, slot: u32, now: Time) {
        self.end(slot, now, Status::Done);
    }

    fn failed(&mut self, slot: u32, now: Time) {
        self.end(slot, now, Status::PowerLost);
    }

    fn watches_ageing(&self) -> bool {
        false
    }
}
