//! The write buffer: DRAM in front of the flash that holds written pages until they are programmed.

use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use std::collections::hash_map::Entry;

use pumice_config::FlushPolicy;
use pumice_types::Lpn;
use rustc_hash::{FxBuildHasher, FxHashMap};

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct BufferedPage {
    lpn: Lpn,
    /// Parts that the buffer holds.
    mask: u64,
    /// The stream that the host named last.
    stream: u8,
    /// The page's program is on the way; a write to the page makes a new entry.
    flushing: bool,
    /// Number of writes to the page so far. Entries of the write order with a smaller number are outdated and
    /// skipped.
    written: u64,
    /// Number of its program in the order in which programs begin.
    program: u64,
    /// The page's program has its place in flash, behind the read of the old copy if there was one.
    is_placed: bool,
    /// Pages before it that its command programs with it, and whose places it holds until then.
    holds: u16,
}

/// A page of the buffer that is to be programmed now.
#[derive(Clone, Copy, Debug)]
pub struct DuePage {
    /// The page's entry in the buffer.
    pub entry: u32,
    /// The page.
    pub lpn: Lpn,
    /// Parts that the buffer holds.
    pub mask: u64,
    /// The stream that the host named last.
    pub stream: u8,
}

/// A request that waits for programs of buffered pages.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Waiter {
    request: u32,
    /// The one entry that it waits for; `None` for all whose programs had begun when it came.
    only: Option<u32>,
    /// Programs begun when it came.
    begun: u64,
    /// Programs that it still waits for.
    left: usize,
}

/// Most entries for which room is made beforehand. A larger buffer grows as far as it is filled: its size is the
/// user's limit, not what a run needs.
const ENTRIES_BEFOREHAND: usize = 1 << 16;

/// Places in the order of writes for each entry in use, after which former places are dropped.
const PLACES_AN_ENTRY: usize = 4;

/// Entries for which the order of writes always has places.
const ENTRIES_ORDERED: usize = 64;

/// Buffered pages.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct WriteBuffer {
    capacity: usize,
    /// Places without entries: of padding of zones, and of pages that have moved to their chips and are being programmed.
    held: usize,
    policy: FlushPolicy,
    entries: Vec<Option<BufferedPage>>,
    /// Places whose entry was released.
    free: Vec<u32>,
    /// The entry that holds the newest data of each page.
    newest: FxHashMap<Lpn, u32>,
    /// Entries that are being programmed and no longer hold the newest data of their page, with that page.
    older: Vec<(Lpn, u32)>,
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
        let beforehand = capacity.min(ENTRIES_BEFOREHAND);
        WriteBuffer {
            capacity,
            held: 0,
            policy,
            entries: Vec::with_capacity(beforehand),
            free: Vec::with_capacity(beforehand),
            newest: FxHashMap::with_capacity_and_hasher(2 * beforehand, FxBuildHasher),
            older: Vec::new(),
            order: VecDeque::with_capacity(PLACES_AN_ENTRY * beforehand.max(ENTRIES_ORDERED) + 1),
            writes: 0,
            waiting_to_flush: 0,
            begun: 0,
            waiters: Vec::new(),
        }
    }

    /// Empties the buffer: the power was cut.
    #[must_use]
    pub fn emptied(self) -> WriteBuffer {
        WriteBuffer::new(self.capacity, self.policy)
    }

    /// Stores parts of a page of a stream and returns its entry. `None` if there is no room and the host must wait.
    pub fn write(&mut self, lpn: Lpn, mask: u64, stream: u8) -> Option<u32> {
        self.writes += 1;
        let newest = self.newest.get(&lpn).copied();
        if let Some(at) = newest
            && let Some(entry) = self.entries[at as usize].as_mut().filter(|entry| !entry.flushing)
        {
            entry.mask |= mask;
            entry.stream = stream;
            entry.written = self.writes;
            self.note_order(at);
            return Some(at);
        }
        // What is being programmed is still in the buffer, so a partial write adds to it.
        let base = newest.and_then(|at| self.entries[at as usize]).map_or(0, |entry| entry.mask);
        let at = self.place()?;
        let (mask, written) = (mask | base, self.writes);
        let (flushing, program, is_placed, holds) = (false, 0, false, 0);
        self.entries[at as usize] =
            Some(BufferedPage { lpn, mask, stream, flushing, written, program, is_placed, holds });
        self.older.extend(self.newest.insert(lpn, at).map(|older| (lpn, older)));
        self.note_order(at);
        self.waiting_to_flush += 1;
        Some(at)
    }

    /// A place for a new entry; `None` if the buffer is full.
    fn place(&mut self) -> Option<u32> {
        if self.entries.len() - self.free.len() + self.held >= self.capacity {
            return None;
        }
        if let Some(at) = self.free.pop() {
            return Some(at);
        }
        self.entries.push(None);
        Some(self.entries.len() as u32 - 1)
    }

    /// Places in all.
    pub fn capacity(&self) -> usize {
        self.capacity
    }

    /// Takes places for so many pages without entries, even if none is free.
    pub fn hold(&mut self, pages: u16) {
        self.held += usize::from(pages);
    }

    /// Frees the places of so many pages without entries.
    pub fn let_go(&mut self, pages: u16) {
        self.held -= usize::from(pages);
    }

    /// Puts an entry last in the order of writes; its former places are dropped now and then.
    fn note_order(&mut self, at: u32) {
        self.order.push_back((at, self.writes));
        if self.order.len() > PLACES_AN_ENTRY * self.entries.len().max(ENTRIES_ORDERED) {
            let entries = &self.entries;
            self.order.retain(|&(at, written)| {
                entries[at as usize].is_some_and(|entry| !entry.flushing && entry.written == written)
            });
        }
    }

    /// Whether the buffer holds all of these parts of a page.
    pub fn holds(&self, lpn: Lpn, mask: u64) -> bool {
        let entry = self.newest.get(&lpn).and_then(|&at| self.entries[at as usize]);
        entry.is_some_and(|entry| entry.mask & mask == mask)
    }

    /// Whether any data of a page is here, however old.
    pub fn holds_any(&self, lpn: Lpn) -> bool {
        self.newest.contains_key(&lpn) || self.older.iter().any(|&(page, _)| page == lpn)
    }

    /// Gives up a page. What is being programmed of it is no longer its newest data: no read finds it here, and no write
    /// adds to it.
    pub fn trim(&mut self, lpn: Lpn) {
        let Some(at) = self.newest.remove(&lpn) else { return };
        if self.entries[at as usize].is_some_and(|entry| entry.flushing) {
            self.older.push((lpn, at));
        } else {
            self.waiting_to_flush -= 1;
            self.entries[at as usize] = None;
            self.free.push(at);
        }
    }

    /// Whether a program of a page has begun and has no place yet.
    pub fn is_placing(&self, lpn: Lpn) -> bool {
        let is_placing = |at: u32| self.entries[at as usize].is_some_and(|entry| entry.flushing && !entry.is_placed);
        self.newest.get(&lpn).is_some_and(|&at| is_placing(at))
            || self.older.iter().any(|&(page, at)| page == lpn && is_placing(at))
    }

    /// The next page to program now.
    pub fn next_flush(&mut self, everything: bool) -> Option<DuePage> {
        let due = everything
            || match self.policy {
                FlushPolicy::Eager => true,
                FlushPolicy::Lru | FlushPolicy::Ignored => self.waiting_to_flush * 4 > self.capacity * 3,
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
        Some(DuePage { entry: at, lpn: entry.lpn, mask: entry.mask, stream: entry.stream })
    }

    /// The program of an entry has been given its place; it is to hold the places of so many others while it runs.
    pub fn note_placed(&mut self, at: u32, holds: u16) {
        self.entries[at as usize].iter_mut().for_each(|entry| (entry.is_placed, entry.holds) = (true, holds));
    }

    /// Whether an older program of the same page has no place yet. The program of this entry must wait for that: what
    /// is placed last counts.
    pub fn must_wait(&self, at: u32) -> bool {
        let Some(entry) = self.entries[at as usize] else { return false };
        let is_before = |older: &BufferedPage| older.program < entry.program && !older.is_placed;
        let older = self.older.iter().filter(|&&(lpn, _)| lpn == entry.lpn);
        older.filter_map(|&(_, at)| self.entries[at as usize].as_ref()).any(is_before)
    }

    /// Lets a request wait for the program of one entry.
    pub fn wait_for(&mut self, at: u32, request: u32) {
        self.waiters.push(Waiter { request, only: Some(at), begun: self.begun, left: 1 });
    }

    /// Lets a request wait for all programs that are on the way. `false` if there are none.
    pub fn wait_for_all(&mut self, request: u32) -> bool {
        let left = self.entries.len() - self.free.len() - self.waiting_to_flush;
        if left > 0 {
            self.waiters.push(Waiter { request, only: None, begun: self.begun, left });
        }
        left > 0
    }

    /// Frees an entry whose program is done, and adds the requests that waited for it last to `served`.
    pub fn release(&mut self, at: u32, served: &mut VecDeque<u32>) {
        let Some(entry) = self.entries[at as usize].take() else { return };
        self.held -= usize::from(entry.holds);
        if let Entry::Occupied(newest) = self.newest.entry(entry.lpn)
            && *newest.get() == at
        {
            newest.remove();
        }
        self.older.retain(|&(_, older)| older != at);
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

#[cfg(test)]
mod tests {
    use super::*;

    const LOW: u64 = 0x0000_0000_FFFF_FFFF;
    const HIGH: u64 = !LOW;

    /// The next program as entry, page and parts.
    fn next(buffer: &mut WriteBuffer, everything: bool) -> Option<(u32, Lpn, u64)> {
        buffer.next_flush(everything).map(|DuePage { entry, lpn, mask, .. }| (entry, lpn, mask))
    }

    fn writes(buffer: &mut WriteBuffer, lpn: u32, mask: u64) -> bool {
        buffer.write(Lpn(lpn), mask, 0).is_some()
    }

    fn release(buffer: &mut WriteBuffer, entry: u32) -> Vec<u32> {
        let mut served = VecDeque::new();
        buffer.release(entry, &mut served);
        served.into()
    }

    #[test]
    fn t627_parts_of_a_page_add_up_while_it_waits_and_only_they_are_held() {
        let mut buffer = WriteBuffer::new(4, FlushPolicy::Lru);
        assert!(writes(&mut buffer, 7, 0b0110));
        assert!(buffer.holds(Lpn(7), 0b0110) && buffer.holds(Lpn(7), 0b0100));
        assert!(!buffer.holds(Lpn(7), 0b1110), "a part is missing");
        assert!(!buffer.holds(Lpn(8), 0b0110), "another page");
        assert!(writes(&mut buffer, 7, 0b1000));
        assert!(buffer.holds(Lpn(7), 0b1110) && !buffer.holds(Lpn(7), 0b1111));
        assert_eq!(next(&mut buffer, true), Some((0, Lpn(7), 0b1110)), "both writes in one program");
        assert_eq!(next(&mut buffer, true), None);
    }

    #[test]
    fn t628_a_page_on_its_way_still_counts_and_what_is_written_meanwhile_goes_with_it() {
        let mut buffer = WriteBuffer::new(4, FlushPolicy::Eager);
        assert!(writes(&mut buffer, 7, LOW));
        let (first, _, mask) = next(&mut buffer, false).expect("eager");
        assert_eq!(mask, LOW);
        assert!(buffer.holds(Lpn(7), LOW), "until its program is done");
        // A new entry, with the parts that are still here: no read of the old copy is needed.
        assert!(writes(&mut buffer, 7, HIGH));
        let (second, lpn, mask) = next(&mut buffer, false).expect("eager");
        assert!(second != first);
        assert_eq!((lpn, mask), (Lpn(7), u64::MAX));
        // The older program ends: the newer entry stays.
        release(&mut buffer, first);
        assert!(buffer.holds(Lpn(7), u64::MAX));
        release(&mut buffer, second);
        assert!(!buffer.holds(Lpn(7), 1));
        assert!(!buffer.holds_any(Lpn(7)));
        // Nothing is left of it: a write of a part is a part again.
        assert!(writes(&mut buffer, 7, HIGH));
        assert_eq!(next(&mut buffer, false).map(|(_, _, mask)| mask), Some(HIGH));
    }

    #[test]
    fn t678_an_older_entry_of_a_page_counts_until_its_own_program_is_done() {
        let mut buffer = WriteBuffer::new(4, FlushPolicy::Eager);
        assert!(writes(&mut buffer, 7, LOW));
        let (first, ..) = next(&mut buffer, false).expect("eager");
        assert!(writes(&mut buffer, 7, HIGH));
        let (second, ..) = next(&mut buffer, false).expect("eager");
        release(&mut buffer, second);
        assert!(!buffer.holds(Lpn(7), 1) && buffer.holds_any(Lpn(7)), "the older program is on its way");
        release(&mut buffer, first);
        assert!(!buffer.holds_any(Lpn(7)));
    }

    #[test]
    fn t629_the_buffer_has_so_many_places_and_a_quarter_of_them_free_before_it_waits() {
        let mut buffer = WriteBuffer::new(4, FlushPolicy::Lru);
        assert!((0..3).all(|lpn| writes(&mut buffer, lpn, u64::MAX)));
        assert_eq!(next(&mut buffer, false), None, "three quarters are not more than three quarters");
        assert!(writes(&mut buffer, 3, u64::MAX) && !writes(&mut buffer, 4, u64::MAX), "four places");
        assert_eq!(next(&mut buffer, false).map(|(_, lpn, _)| lpn), Some(Lpn(0)), "written longest ago");
        assert_eq!(next(&mut buffer, false), None);
        assert!(!writes(&mut buffer, 4, u64::MAX), "its place is taken until its program is done");
        release(&mut buffer, 0);
        assert!(writes(&mut buffer, 4, u64::MAX));
        buffer.trim(Lpn(1));
        assert!(!buffer.holds(Lpn(1), 1) && writes(&mut buffer, 5, u64::MAX), "given up, and its place is free");
    }

    #[test]
    fn t676_a_flush_waits_for_the_programs_that_were_on_the_way_and_for_no_later_ones() {
        let mut buffer = WriteBuffer::new(4, FlushPolicy::Lru);
        assert!(!buffer.wait_for_all(1), "nothing is on the way");
        assert!((0..3).all(|lpn| writes(&mut buffer, lpn, u64::MAX)));
        assert!(next(&mut buffer, true).is_some() && next(&mut buffer, true).is_some());
        assert!(buffer.wait_for_all(1));
        assert!(next(&mut buffer, true).is_some(), "begun after the flush came");
        assert_eq!(release(&mut buffer, 2), Vec::<u32>::new());
        assert_eq!(release(&mut buffer, 0), Vec::<u32>::new());
        assert_eq!(release(&mut buffer, 1), [1]);
    }

    #[test]
    fn t974_of_a_trimmed_page_nothing_is_read_or_written_further_though_its_program_is_on_the_way() {
        let mut buffer = WriteBuffer::new(4, FlushPolicy::Eager);
        assert!(writes(&mut buffer, 7, u64::MAX));
        let (first, ..) = next(&mut buffer, false).expect("eager");
        assert!(buffer.is_placing(Lpn(7)) && !buffer.is_placing(Lpn(8)));
        assert!(writes(&mut buffer, 7, HIGH));
        let (second, ..) = next(&mut buffer, false).expect("eager");
        buffer.note_placed(first, 0);
        assert!(buffer.is_placing(Lpn(7)), "the second program has no place yet");
        buffer.note_placed(second, 0);
        assert!(!buffer.is_placing(Lpn(7)));
        buffer.trim(Lpn(7));
        assert!(!buffer.holds(Lpn(7), 1) && buffer.holds_any(Lpn(7)), "its place in the buffer is still taken");
        assert!(writes(&mut buffer, 7, LOW));
        assert_eq!(next(&mut buffer, false).map(|(_, _, mask)| mask), Some(LOW), "the rest was trimmed");
        for entry in [first, second] {
            release(&mut buffer, entry);
        }
        assert!(buffer.holds(Lpn(7), LOW));
    }

    #[test]
    fn t677_a_write_through_waits_for_its_own_page_alone() {
        let mut buffer = WriteBuffer::new(4, FlushPolicy::Lru);
        let own = buffer.write(Lpn(1), u64::MAX, 0).expect("room");
        let other = buffer.write(Lpn(2), u64::MAX, 0).expect("room");
        assert!(buffer.begin_program(own).is_some() && buffer.begin_program(own).is_none(), "it is on the way");
        assert!(buffer.begin_program(other).is_some());
        buffer.wait_for(own, 9);
        assert_eq!(release(&mut buffer, other), Vec::<u32>::new());
        assert_eq!(release(&mut buffer, own), [9]);
    }
}
