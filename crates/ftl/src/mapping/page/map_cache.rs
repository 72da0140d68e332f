//! The cached part of a map that lies in flash: entries in order of use, and which of them are newer
//! than their translation page. Knows nothing of addresses: it says what must be read and written.
//!
//! Plain LRU over single entries. Dirty entries of a translation page stand in one list, so writing
//! the page back cleans them all (batching, as DFTL does on eviction).

use pumice_types::Lpn;

/// No slot, or the end of a list.
const NONE: u32 = u32::MAX;

/// A cached entry.
#[derive(Clone, Copy)]
struct Slot {
    lpn: u32,
    newer: u32,
    older: u32,
    /// Next dirty entry of the same translation page.
    next_dirty: u32,
    dirty: bool,
}

/// What giving up the entry unused longest takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Eviction {
    /// Nothing: the entry is gone.
    Done,
    /// Its translation page must be written back first; the entry is still there.
    WriteBack(u32),
}

/// Entries of the map that are in RAM.
pub(super) struct MapCache {
    entries_max: usize,
    entries_per_page: u32,
    /// Slot of each logical page; [`NONE`] if its entry is not cached. The simulator's index, not the
    /// controller's: that one searches.
    slot_of: Vec<u32>,
    slots: Vec<Slot>,
    free: Vec<u32>,
    newest: u32,
    oldest: u32,
    /// First dirty entry of each translation page.
    dirty_of: Vec<u32>,
}

impl MapCache {
    /// An empty cache for `entries_max` entries of `user_pages`, of which `entries_per_page` share a
    /// translation page.
    pub(super) fn new(entries_max: usize, entries_per_page: u32, user_pages: u32) -> MapCache {
        let entries_max = entries_max.clamp(1, user_pages as usize);
        MapCache {
            entries_max,
            entries_per_page,
            slot_of: vec![NONE; user_pages as usize],
            slots: Vec::with_capacity(entries_max),
            free: Vec::new(),
            newest: NONE,
            oldest: NONE,
            dirty_of: vec![NONE; user_pages.div_ceil(entries_per_page) as usize],
        }
    }

    /// Entries that the budget allows.
    pub(super) fn entries_max(&self) -> usize {
        self.entries_max
    }

    /// Bytes of the simulator's state.
    pub(super) fn state_bytes(&self) -> u64 {
        (self.slot_of.len() * 4 + self.slots.len() * size_of::<Slot>() + self.dirty_of.len() * 4) as u64
    }

    /// Entries beyond the budget once `more` are added.
    pub(super) fn excess(&self, more: usize) -> usize {
        (self.slots.len() - self.free.len() + more).saturating_sub(self.entries_max)
    }

    /// Marks the entry of `lpn` as used just now; `false` if it is not cached.
    pub(super) fn touch(&mut self, lpn: Lpn) -> bool {
        let slot = self.slot_of[lpn.index()];
        if slot == NONE {
            return false;
        }
        if slot != self.newest {
            self.unlink(slot);
            self.link_newest(slot);
        }
        true
    }

    /// Adds the entry of `lpn`, clean, as the one used last.
    pub(super) fn load(&mut self, lpn: Lpn) {
        let slot = self.new_slot(lpn);
        self.link_newest(slot);
    }

    /// Notes that the entry of `lpn` changed. One that is not cached is known by the change itself
    /// and enters as the one unused longest, whatever the budget: it is the first to go.
    pub(super) fn change(&mut self, lpn: Lpn) {
        let mut slot = self.slot_of[lpn.index()];
        if slot == NONE {
            slot = self.new_slot(lpn);
            self.link_oldest(slot);
        }
        let page = (lpn.0 / self.entries_per_page) as usize;
        let entry = &mut self.slots[slot as usize];
        if !entry.dirty {
            entry.dirty = true;
            entry.next_dirty = std::mem::replace(&mut self.dirty_of[page], slot);
        }
    }

    /// Gives up the entry unused longest, if it is clean; otherwise names its translation page.
    pub(super) fn evict(&mut self) -> Eviction {
        let slot = self.oldest;
        let Slot { lpn, dirty, .. } = self.slots[slot as usize];
        if dirty {
            return Eviction::WriteBack(lpn / self.entries_per_page);
        }
        self.unlink(slot);
        self.slot_of[lpn as usize] = NONE;
        self.free.push(slot);
        Eviction::Done
    }

    /// Notes that translation page `page` was written with all its dirty entries.
    pub(super) fn written_back(&mut self, page: u32) {
        let mut slot = std::mem::replace(&mut self.dirty_of[page as usize], NONE);
        while slot != NONE {
            let entry = &mut self.slots[slot as usize];
            entry.dirty = false;
            slot = std::mem::replace(&mut entry.next_dirty, NONE);
        }
    }

    fn new_slot(&mut self, lpn: Lpn) -> u32 {
        let entry = Slot { lpn: lpn.0, newer: NONE, older: NONE, next_dirty: NONE, dirty: false };
        let slot = match self.free.pop() {
            Some(slot) => {
                self.slots[slot as usize] = entry;
                slot
            }
            None => {
                self.slots.push(entry);
                (self.slots.len() - 1) as u32
            }
        };
        self.slot_of[lpn.index()] = slot;
        slot
    }

    fn link_newest(&mut self, slot: u32) {
        let before = std::mem::replace(&mut self.newest, slot);
        self.slots[slot as usize].older = before;
        self.slots[slot as usize].newer = NONE;
        match before {
            NONE => self.oldest = slot,
            before => self.slots[before as usize].newer = slot,
        }
    }

    fn link_oldest(&mut self, slot: u32) {
        let before = std::mem::replace(&mut self.oldest, slot);
        self.slots[slot as usize].newer = before;
        self.slots[slot as usize].older = NONE;
        match before {
            NONE => self.newest = slot,
            before => self.slots[before as usize].older = slot,
        }
    }

    fn unlink(&mut self, slot: u32) {
        let Slot { newer, older, .. } = self.slots[slot as usize];
        match newer {
            NONE => self.newest = older,
            newer => self.slots[newer as usize].older = older,
        }
        match older {
            NONE => self.oldest = newer,
            older => self.slots[older as usize].newer = newer,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn t540_the_entry_unused_longest_goes_first_and_a_write_back_cleans_its_page() {
        let mut cache = MapCache::new(4, 10, 100);
        [1, 2, 33, 34].into_iter().for_each(|lpn| cache.load(Lpn(lpn)));
        assert_eq!((cache.excess(0), cache.excess(1)), (0, 1));
        assert!(cache.touch(Lpn(1)) && !cache.touch(Lpn(3)));
        cache.change(Lpn(2));
        cache.change(Lpn(1));
        cache.change(Lpn(1));
        assert_eq!(cache.evict(), Eviction::WriteBack(0), "page 2 is unused longest, and changed");
        cache.written_back(0);
        assert_eq!((cache.evict(), cache.evict(), cache.evict()), (Eviction::Done, Eviction::Done, Eviction::Done));
        assert!(!cache.touch(Lpn(2)) && !cache.touch(Lpn(34)));
        assert!(cache.touch(Lpn(1)), "used last, and clean since");
        assert_eq!(cache.evict(), Eviction::Done);
    }

    #[test]
    fn t541_what_collection_moved_enters_last_and_goes_first() {
        let mut cache = MapCache::new(2, 10, 100);
        cache.load(Lpn(5));
        cache.load(Lpn(6));
        cache.change(Lpn(77));
        assert_eq!(cache.excess(0), 1);
        assert_eq!(cache.evict(), Eviction::WriteBack(7));
        cache.written_back(7);
        assert_eq!((cache.evict(), cache.excess(0)), (Eviction::Done, 0));
        assert!(cache.touch(Lpn(5)) && cache.touch(Lpn(6)) && !cache.touch(Lpn(77)));
    }
}
