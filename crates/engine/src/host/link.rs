//! The way between host and device: a fixed time for each request, and a link that moves bytes in
//! both directions at once.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use pumice_types::{FlashTiming, PageAddress, Time};

/// What is due at the front of the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Due {
    /// A request has come in whole.
    Received(u32),
    /// A request's data has gone out whole.
    Sent(u32),
    /// A core of the controller has handled a request as far as the translation layer's decision.
    Handled(u32),
    /// A core of the controller has ended its work.
    CoreFree,
    /// The look-up in the map that this access began is over; it took so long.
    LookedUp(u32, Time),
    /// The time of a page in which mapping units gather is over.
    Gathered(PageAddress),
}

/// One direction of the link.
#[derive(Clone, Copy, Debug, Default)]
struct Direction {
    free_at: Time,
}

impl Direction {
    /// Moves something that takes `time`, not before `now`; returns when it has arrived.
    fn transfer(&mut self, now: Time, time: Time) -> Time {
        self.free_at = self.free_at.max(now) + time;
        self.free_at
    }
}

/// Overhead and link of one device.
#[derive(Clone, Debug)]
pub struct Link {
    overhead: Time,
    /// 10^6 bytes a second; `None` if the link costs no time.
    mb_per_s: Option<f64>,
    inward: Direction,
    outward: Direction,
    due: BinaryHeap<Reverse<(Time, u64, Due)>>,
    sequence: u64,
}

impl Link {
    /// An idle link.
    pub fn new(overhead: Time, mb_per_s: Option<f64>) -> Link {
        let idle = Direction::default();
        Link { overhead, mb_per_s, inward: idle, outward: idle, due: BinaryHeap::new(), sequence: 0 }
    }

    /// Whether nothing here takes any time.
    pub fn is_free(&self) -> bool {
        self.overhead == Time::ZERO && self.mb_per_s.is_none()
    }

    /// Lets a request of so many inward bytes in at `now`.
    pub fn receive(&mut self, slot: u32, bytes: u32, now: Time) {
        let at = self.inward.transfer(now, self.time(bytes)) + self.overhead;
        self.push(at, Due::Received(slot));
    }

    /// Sends so many bytes out from `now` on.
    pub fn send(&mut self, slot: u32, bytes: u32, now: Time) {
        let at = self.outward.transfer(now, self.time(bytes));
        self.push(at, Due::Sent(slot));
    }

    fn time(&self, bytes: u32) -> Time {
        self.mb_per_s.map_or(Time::ZERO, |rate| FlashTiming::transfer(bytes, rate))
    }

    /// Something is due at `at`.
    pub fn push(&mut self, at: Time, due: Due) {
        self.sequence += 1;
        self.due.push(Reverse((at, self.sequence, due)));
    }

    /// Forgets what is on its way; both directions are free at `now`.
    pub fn clear(&mut self, now: Time) {
        self.due.clear();
        (self.inward.free_at, self.outward.free_at) = (now, now);
    }

    /// When something is due next.
    #[inline]
    pub fn next_event(&self) -> Option<Time> {
        self.due.peek().map(|Reverse((at, ..))| *at)
    }

    /// Takes what is due next.
    pub fn pop(&mut self) -> Option<(Time, Due)> {
        self.due.pop().map(|Reverse((at, _, due))| (at, due))
    }
}
