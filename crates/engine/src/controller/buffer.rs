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
}

/// Most entries for which room is made beforehand. A larger buffer grows as far as it is filled: its size is the
/// user's limit, not what a run needs.
const ENTRIES_BEFOREHAND: usize = 1 << 16;

/// Places in the order of writes for each entry in use, after which former places are dropped.
const PLACES_AN_ENTRY: usize = 4;

/// Entries for which the order of writes always has places.
const ENTRIES_ORDERED: usize = 64;

/// Buffered pages.
#[derive(Debug)]
pub struct WriteBuffer {
    capacity: usize,
    policy: FlushPolicy,
    entries: Vec<Option<BufferedPage>>,
    /// Places whose entry was released.
    free: Vec<u32>,
    /// The entry that holds the newest data of each page.
    newest: BTreeMap<u32, u32>,
    /// Entries in the order of their last writes, with the number of that write.
    order: VecDeque<(u32, u64)>,
    writes: u64,
    waiting_to_flush: usize,
}

impl WriteBuffer {
    /// An empty buffer of so many pages.
    pub fn new(capacity: usize, policy: FlushPolicy) -> WriteBuffer {
        let beforehand = capacity.min(ENTRIES_BEFOREHAND);
        WriteBuffer {
            capacity,
            policy,
            entries: Vec::with_capacity(beforehand),
            free: Vec::with_capacity(beforehand),
            newest: BTreeMap::new(),
            order: VecDeque::with_capacity(PLACES_AN_ENTRY * beforehand.max(ENTRIES_ORDERED) + 1),
            writes: 0,
            waiting_to_flush: 0,
        }
    }

    /// Stores parts of a page. `false` if there is no room and the host must wait.
    pub fn write(&mut self, lpn: Lpn, mask: u64) -> bool {
        self.writes += 1;
        let newest = self.newest.get(&lpn.0).copied();
        if let Some(at) = newest
            && let Some(entry) = self.entries[at as usize].as_mut().filter(|entry| !entry.flushing)
        {
            entry.mask |= mask;
            entry.written = self.writes;
            self.note_order(at);
            return true;
        }
        // What is being programmed is still in the buffer, so a partial write adds to it.
        let base = newest.and_then(|at| self.entries[at as usize]).map_or(0, |entry| entry.mask);
        let Some(at) = self.place() else { return false };
        self.entries[at as usize] =
            Some(BufferedPage { lpn, mask: mask | base, flushing: false, written: self.writes });
        self.newest.insert(lpn.0, at);
        self.note_order(at);
        self.waiting_to_flush += 1;
        true
    }

    /// A place for a new entry; `None` if the buffer is full.
    fn place(&mut self) -> Option<u32> {
        if let Some(at) = self.free.pop() {
            return Some(at);
        }
        if self.entries.len() == self.capacity {
            return None;
        }
        self.entries.push(None);
        Some(self.entries.len() as u32 - 1)
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
        let entry = self.newest.get(&lpn.0).and_then(|&at| self.entries[at as usize]);
        entry.is_some_and(|entry| entry.mask & mask == mask)
    }

    /// Gives up a page that is not being programmed yet.
    pub fn trim(&mut self, lpn: Lpn) {
        if let Some(&at) = self.newest.get(&lpn.0)
            && self.entries[at as usize].is_some_and(|entry| !entry.flushing)
        {
            self.waiting_to_flush -= 1;
            self.release(at);
        }
    }

    /// The next page to program now, as its entry, logical page, and the parts that are there.
    pub fn next_flush(&mut self, everything: bool) -> Option<(u32, Lpn, u64)> {
        let due = everything
            || match self.policy {
                FlushPolicy::Eager => true,
                FlushPolicy::Lru => self.waiting_to_flush * 4 > self.capacity * 3,
            };
        if !due {
            return None;
        }
        while let Some((at, written)) = self.order.pop_front() {
            if let Some(entry) =
                self.entries[at as usize].as_mut().filter(|entry| !entry.flushing && entry.written == written)
            {
                entry.flushing = true;
                self.waiting_to_flush -= 1;
                return Some((at, entry.lpn, entry.mask));
            }
        }
        None
    }

    /// Frees an entry whose program is done.
    pub fn release(&mut self, at: u32) {
        if let Some(entry) = self.entries[at as usize].take() {
            if self.newest.get(&entry.lpn.0) == Some(&at) {
                self.newest.remove(&entry.lpn.0);
            }
            self.free.push(at);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOW: u64 = 0x0000_0000_FFFF_FFFF;
    const HIGH: u64 = !LOW;

    #[test]
    fn t627_parts_of_a_page_add_up_while_it_waits_and_only_they_are_held() {
        let mut buffer = WriteBuffer::new(4, FlushPolicy::Lru);
        assert!(buffer.write(Lpn(7), 0b0110));
        assert!(buffer.holds(Lpn(7), 0b0110) && buffer.holds(Lpn(7), 0b0100));
        assert!(!buffer.holds(Lpn(7), 0b1110), "a part is missing");
        assert!(!buffer.holds(Lpn(8), 0b0110), "another page");
        assert!(buffer.write(Lpn(7), 0b1000));
        assert!(buffer.holds(Lpn(7), 0b1110) && !buffer.holds(Lpn(7), 0b1111));
        assert_eq!(buffer.next_flush(true), Some((0, Lpn(7), 0b1110)), "both writes in one program");
        assert_eq!(buffer.next_flush(true), None);
    }

    #[test]
    fn t628_a_page_on_its_way_still_counts_and_what_is_written_meanwhile_goes_with_it() {
        let mut buffer = WriteBuffer::new(4, FlushPolicy::Eager);
        assert!(buffer.write(Lpn(7), LOW));
        let (first, _, mask) = buffer.next_flush(false).expect("eager");
        assert_eq!(mask, LOW);
        assert!(buffer.holds(Lpn(7), LOW), "until its program is done");
        // A new entry, with the parts that are still here: no read of the old copy is needed.
        assert!(buffer.write(Lpn(7), HIGH));
        let (second, lpn, mask) = buffer.next_flush(false).expect("eager");
        assert!(second != first);
        assert_eq!((lpn, mask), (Lpn(7), u64::MAX));
        // The older program ends: the newer entry stays.
        buffer.release(first);
        assert!(buffer.holds(Lpn(7), u64::MAX));
        buffer.release(second);
        assert!(!buffer.holds(Lpn(7), 1));
        // Nothing is left of it: a write of a part is a part again.
        assert!(buffer.write(Lpn(7), HIGH));
        assert_eq!(buffer.next_flush(false).map(|(_, _, mask)| mask), Some(HIGH));
    }

    #[test]
    fn t629_the_buffer_has_so_many_places_and_a_quarter_of_them_free_before_it_waits() {
        let mut buffer = WriteBuffer::new(4, FlushPolicy::Lru);
        assert!((0..3).all(|lpn| buffer.write(Lpn(lpn), u64::MAX)));
        assert_eq!(buffer.next_flush(false), None, "three quarters are not more than three quarters");
        assert!(buffer.write(Lpn(3), u64::MAX) && !buffer.write(Lpn(4), u64::MAX), "four places");
        assert_eq!(buffer.next_flush(false).map(|(_, lpn, _)| lpn), Some(Lpn(0)), "written longest ago");
        assert_eq!(buffer.next_flush(false), None);
        assert!(!buffer.write(Lpn(4), u64::MAX), "its place is taken until its program is done");
        buffer.release(0);
        assert!(buffer.write(Lpn(4), u64::MAX));
        buffer.trim(Lpn(1));
        assert!(!buffer.holds(Lpn(1), 1) && buffer.write(Lpn(5), u64::MAX), "given up, and its place is free");
    }
}
