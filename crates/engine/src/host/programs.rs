//! Which writes of the host each program of a page holds: so a page that is found after a power cut tells how new it is.
//!
//! Without a write buffer every write has its own program. With one, several writes may share a program, or never come
//! to one. A program is known by the number in its spare area, which its copies take along, and by its version.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use super::promises::{Backing, OpenPlace};

/// What a page of flash holds, as its spare area says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoredVersion {
    /// Number of the program that brought it, among all commands that change flash; 0 of the initial fill.
    pub program: u64,
    /// Version of the data.
    pub version: u8,
}

/// Programs of one page that the device may return after a power cut.
#[derive(Clone, Default, Serialize, Deserialize)]
pub struct Programs {
    /// The newest writes of programs that have begun in the write buffer and have no place in flash yet.
    begun: VecDeque<u64>,
    /// Programs with a place, oldest first, each with the newest write that it holds.
    placed: VecDeque<(StoredVersion, u64)>,
    /// Programs that are not listed may be returned too: the host has given the page up, and the layer keeps it.
    others: bool,
}

impl Programs {
    /// Programs of a page that holds a program, which brought this write.
    pub fn of(stored: StoredVersion, write: u64) -> Programs {
        Programs { placed: [(stored, write)].into(), ..Programs::default() }
    }

    /// Programs of a page that may hold anything ever written to it.
    pub fn any() -> Programs {
        Programs { others: true, ..Programs::default() }
    }

    /// The write buffer begins to program the page, up to its newest write.
    pub fn begin(&mut self, newest: u64) {
        self.begun.push_back(newest);
    }

    /// A program of the page is given its place. The device must return what holds the write `last`, or more.
    pub fn place(&mut self, stored: StoredVersion, write: u64, last: u64) {
        self.placed.push_back((stored, write));
        // The last one too old to be returned may go.
        while self.placed.front().is_some_and(|&(_, write)| write < last) {
            self.placed.pop_front();
        }
    }

    /// The newest write in the program that is given its place now, of those that had begun in the write buffer.
    pub fn next_begun(&mut self) -> Option<u64> {
        self.begun.pop_front()
    }

    /// The newest write that a program holds. `None`: the program is too old to be returned, or none of this page.
    fn write_in(&self, stored: StoredVersion) -> Option<u64> {
        let held = self.placed.iter().rfind(|(placed, _)| *placed == stored).map(|&(_, write)| write);
        // A write that was never counted is older than all that are.
        held.or(self.others.then_some(1))
    }
}

impl Backing for Programs {
    fn is_settled(&self, newest: u64, given_up: u64) -> bool {
        let is_placed = self.placed.back().is_some_and(|&(_, write)| write >= newest);
        self.begun.is_empty() && (is_placed || newest == given_up)
    }
}

/// A page whose newest write or trim is not promised, when the power is cut.
pub type OpenPage = OpenPlace<Programs>;

impl OpenPage {
    /// Whether the device may return this after the cut (`None`: nothing).
    pub fn allows(&self, found: Option<StoredVersion>) -> bool {
        match found {
            None => self.promised.allows(0),
            Some(stored) => self.backing.write_in(stored).is_some_and(|write| self.promised.allows(write)),
        }
    }
}
