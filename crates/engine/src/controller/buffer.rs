//! The write buffer: DRAM in front of the flash that holds written pages until they are programmed.

use std::collections::{BTreeMap, VecDeque};

use pumice_config::FlushPolicy;
use pumice_types::Lpn;

#[derive(Clone, Copy, Debug)]
struct BufferedPage {
    lpn: Lpn,
    /// Parts that the buffer holds.
    mask: u64,
    /// Its program is on the way; a write to the page makes a new entry.
    flushing: bool,
    /// Times that it was written; an older place in the order of writes is passed over.
    written: u64,
    /// Number of its program in the order in which programs begin.
    program: u64,
}

/// A page of the buffer that is to be programmed now.
#[derive(Clone, Copy, Debug)]
pub struct DuePage {
    /// Its entry.
    pub entry: u32,
    /// The page.
    pub lpn: Lpn,
    /// Parts that the buffer holds.
    pub mask: u64,
}

/// Somebody who waits for programs of buffered pages.
#[derive(Clone, Copy, Debug)]
struct Waiter {
    request: u32,
    /// The one entry that it waits for; `None` for all whose programs had begun when it came.
    only: Option<u32>,
    /// Programs begun when it came.
    begun: u64,
    /// Programs that it still waits for.
    left: usize,
}

/// Buffered pages.
#[derive(Debug)]
pub struct WriteBuffer {
    capacity: usize,
    policy: FlushPolicy,
    entries: Vec<Option<BufferedPage>>,
    free: Vec<u32>,
    /// The entry that holds the newest data of each page.
    newest: BTreeMap<u32, u32>,
    /// Entries in the order of their last writes, with the number of that write.
    order: VecDeque<(u32, u64)>,
    writes: u64,
    waiting_to_flush: usize,
    /// Programs begun.
    begun: u64,
    waiters: Vec<Waiter>,
}

impl WriteBuffer {
    /// An empty buffer of so many pages.
    pub fn new(capacity: usize, policy: FlushPolicy) -> WriteBuffer {
        WriteBuffer {
            capacity,
            policy,
            entries: vec![None; capacity],
            free: (0..capacity as u32).rev().collect(),
            newest: BTreeMap::new(),
            order: VecDeque::with_capacity(capacity),
            writes: 0,
            waiting_to_flush: 0,
            begun: 0,
            waiters: Vec::new(),
        }
    }

    /// Stores parts of a page and returns its entry. `None` if there is no room and the host must wait.
    pub fn write(&mut self, lpn: Lpn, mask: u64) -> Option<u32> {
        self.writes += 1;
        let newest = self.newest.get(&lpn.0).copied();
        if let Some(at) = newest
            && let Some(entry) = self.entries[at as usize].as_mut().filter(|entry| !entry.flushing)
        {
            entry.mask |= mask;
            entry.written = self.writes;
            self.note_order(at);
            return Some(at);
        }
        // What is being programmed is still in the buffer, so a partial write adds to it.
        let base = newest.and_then(|at| self.entries[at as usize]).map_or(0, |entry| entry.mask);
        let at = self.free.pop()?;
        let (mask, written) = (mask | base, self.writes);
        self.entries[at as usize] = Some(BufferedPage { lpn, mask, flushing: false, written, program: 0 });
        self.newest.insert(lpn.0, at);
        self.note_order(at);
        self.waiting_to_flush += 1;
        Some(at)
    }

    /// Puts an entry last in the order of writes; its former places are dropped now and then.
    fn note_order(&mut self, at: u32) {
        self.order.push_back((at, self.writes));
        if self.order.len() > 8 * self.capacity {
            let entries = &self.entries;
            self.order.retain(|&(at, written)| {
                entries[at as usize].is_some_and(|entry| !entry.flushing && entry.written == written)
            });
        }
    }

    /// Whether the buffer holds all of these parts of a page.
    pub fn holds(&self, lpn: Lpn, mask: u64) -> bool {
        let entry = self.newest.get(&lpn.0).and_then(|&at| self.entries[at as usize]);
        entry.is_some_and(|entry| entry.mask & mask == mask)
    }

    /// Gives up a page that is not being programmed yet.
    pub fn trim(&mut self, lpn: Lpn) {
        if let Some(&at) = self.newest.get(&lpn.0)
            && self.entries[at as usize].is_some_and(|entry| !entry.flushing)
        {
            self.waiting_to_flush -= 1;
            self.newest.remove(&lpn.0);
            self.entries[at as usize] = None;
            self.free.push(at);
        }
    }

    /// The next page to program now.
    pub fn next_flush(&mut self, everything: bool) -> Option<DuePage> {
        let due = everything
            || match self.policy {
                FlushPolicy::Eager => true,
                FlushPolicy::Lru => self.waiting_to_flush * 4 > self.capacity * 3,
            };
        if !due {
            return None;
        }
        while let Some((at, written)) = self.order.pop_front() {
            let is_last_place = |entry: &BufferedPage| entry.written == written;
            if self.entries[at as usize].as_ref().is_some_and(is_last_place)
                && let Some(due) = self.begin_program(at)
            {
                return Some(due);
            }
        }
        None
    }

    /// Takes an entry to be programmed now; `None` if its program is on the way.
    pub fn begin_program(&mut self, at: u32) -> Option<DuePage> {
        let entry = self.entries[at as usize].as_mut().filter(|entry| !entry.flushing)?;
        self.begun += 1;
        self.waiting_to_flush -= 1;
        (entry.flushing, entry.program) = (true, self.begun);
        Some(DuePage { entry: at, lpn: entry.lpn, mask: entry.mask })
    }

    /// Lets a request wait for the program of one entry.
    pub fn wait_for(&mut self, at: u32, request: u32) {
        self.waiters.push(Waiter { request, only: Some(at), begun: self.begun, left: 1 });
    }

    /// Lets a request wait for all programs that are on the way. `false` if there are none.
    pub fn wait_for_all(&mut self, request: u32) -> bool {
        let left = self.capacity - self.free.len() - self.waiting_to_flush;
        if left > 0 {
            self.waiters.push(Waiter { request, only: None, begun: self.begun, left });
        }
        left > 0
    }

    /// Frees an entry whose program is done, and adds the requests that waited for it last to `served`.
    pub fn release(&mut self, at: u32, served: &mut VecDeque<u32>) {
        let Some(entry) = self.entries[at as usize].take() else { return };
        if self.newest.get(&entry.lpn.0) == Some(&at) {
            self.newest.remove(&entry.lpn.0);
        }
        self.free.push(at);
        self.waiters.retain_mut(|waiter| {
            let waited = waiter.only.map_or(entry.program <= waiter.begun, |only| only == at);
            waiter.left -= usize::from(waited);
            if waiter.left == 0 {
                served.push_back(waiter.request);
            }
            waiter.left > 0
        });
    }
}
